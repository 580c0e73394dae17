import { isObject, type Json, type JsonObject } from './json.ts';
import { memberSchema, type Shape, shapeOf } from './schema-shape.ts';

/**
 * Parts of objects that were found to fit their schema, and had its defaults. Nothing stored is changed in place, so
 * that a write of the status alone need not look at the specification again.
 */
const fitting = new WeakMap<JsonObject, WeakSet<JsonObject>>();

const isKnownToFit = (value: JsonObject, schema: JsonObject): boolean =>
  fitting.get(schema)?.has(value) ?? false;

/** Notes that this value, pruned and with its defaults, has no problem. */
function noteFitting(value: JsonObject, schema: JsonObject): void {
  const known = fitting.get(schema) ?? new WeakSet();
  fitting.set(schema, known.add(value));
}

/** Drops unknown fields, as a structural schema does on every write. `root` keeps apiVersion, kind and metadata. */
export function prune(value: Json, schema: JsonObject, root = false): Json {
  const shape = shapeOf(schema);
  if (Array.isArray(value)) return value.map((item) => prune(item, shape.items));
  if (!isObject(value) || shape.type !== 'object' || isKnownToFit(value, schema)) return value;
  const pruned: JsonObject = {};
  for (const key of Object.keys(value)) {
    const member = value[key];
    if (member === undefined) continue;
    const inner = memberSchema(shape, key);
    if (root && (key === 'apiVersion' || key === 'kind' || key === 'metadata')) pruned[key] = member;
    else if (inner) pruned[key] = prune(member, inner);
    else if (shape.keepsUnknown) pruned[key] = member;
  }
  return pruned;
}

/** Fills defaults in: missing members, and nulls of members that are not nullable. */
export function applyDefaults(value: Json, schema: JsonObject): Json {
  const shape = shapeOf(schema);
  if (Array.isArray(value)) return value.map((item) => applyDefaults(item, shape.items));
  if (!isObject(value) || isKnownToFit(value, schema)) return value;
  const filled: JsonObject = { ...value };
  for (const [key, { isNullable, fallback }] of shape.filled) {
    if (filled[key] === null && !isNullable) delete filled[key];
    if (filled[key] === undefined && fallback !== undefined) filled[key] = fallback;
  }
  for (const key of Object.keys(filled)) {
    const member = filled[key];
    const inner = memberSchema(shape, key);
    if (inner && typeof member === 'object' && member !== null) filled[key] = applyDefaults(member, inner);
  }
  return filled;
}

const TYPES: Readonly<Record<string, (value: Json) => boolean>> = {
  string: (value) => typeof value === 'string',
  integer: (value) => Number.isInteger(value),
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  object: isObject,
  array: Array.isArray,
};

function typeProblem(value: Json, { isIntOrString, type }: Shape, path: string): string | undefined {
  if (isIntOrString) {
    const fits = Number.isInteger(value) || typeof value === 'string';
    return fits ? undefined : `${path}: Invalid value: must be integer or string`;
  }
  if (!type || TYPES[type]?.(value)) return undefined;
  return `${path}: Invalid value: ${path} in body must be of type ${type}`;
}

function valueProblems(value: Json, { pattern, choices, bounds }: Shape, path: string): string[] {
  const problems: string[] = [];
  if (pattern && typeof value === 'string' && !pattern.expression.test(value)) {
    problems.push(`${path}: Invalid value: "${value}": should match '${pattern.text}'`);
  }
  if (choices.length > 0 && !choices.includes(value)) {
    const supported = choices.map((choice) => `"${choice}"`).join(', ');
    problems.push(`${path}: Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}`);
  }
  for (const { name, bound, measure, breaks } of bounds) {
    const measured = measure(value);
    if (measured !== undefined && breaks(measured, bound)) {
      problems.push(`${path}: Invalid value: breaks ${name} ${bound}`);
    }
  }
  return problems;
}

function duplicateProblems(value: Json[], { identity }: Shape, path: string): string[] {
  if (!identity) return [];
  const seen = new Set<string>();
  return value.flatMap((item, index) => {
    const id = identity(item);
    if (seen.has(id)) return [`${path}[${index}]: Duplicate value`];
    seen.add(id);
    return [];
  });
}

/**
 * Returns every schema violation, worded like the API server's causes. CEL rules are not evaluated. The value must be
 * pruned and defaulted.
 */
export function problemsOf(value: Json, schema: JsonObject, path = ''): string[] {
  const shape = shapeOf(schema);
  if (value === null && shape.isNullable) return [];
  const wrongType = typeProblem(value, shape, path || '<nil>');
  if (wrongType) return [wrongType];
  const problems = valueProblems(value, shape, path);
  if (Array.isArray(value)) {
    problems.push(...duplicateProblems(value, shape, path));
    value.forEach((item, index) => {
      problems.push(...problemsOf(item, shape.items, `${path}[${index}]`));
    });
  }
  if (isObject(value)) problems.push(...memberProblems(value, shape, path));
  return problems;
}

function memberProblems(value: JsonObject, shape: Shape, path: string): string[] {
  const inside = (key: string): string => (path === '' ? key : `${path}.${key}`);
  const problems = shape.required
    .filter((key) => value[key] === undefined)
    .map((key) => `${inside(key)}: Required value`);
  for (const key of Object.keys(value)) {
    const member = value[key];
    const inner = path === '' && key === 'metadata' ? undefined : memberSchema(shape, key);
    if (!inner || member === undefined || (isObject(member) && isKnownToFit(member, inner))) continue;
    const found = problemsOf(member, inner, inside(key));
    if (path === '' && isObject(member) && found.length === 0) noteFitting(member, inner);
    problems.push(...found);
  }
  return problems;
}
