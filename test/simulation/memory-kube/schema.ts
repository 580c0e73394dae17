import { isObject, type Json, type JsonObject, listAt, objectAt, textAt } from './json.ts';

const isIntOrString = (schema: JsonObject): boolean => schema['x-kubernetes-int-or-string'] === true;
const keepsUnknown = (schema: JsonObject): boolean => schema['x-kubernetes-preserve-unknown-fields'] === true;

/** The schema of a member, or undefined where the field is not known. */
function memberSchema(schema: JsonObject, key: string): JsonObject | undefined {
  const known = objectAt(schema, 'properties')[key];
  if (isObject(known)) return known;
  const rest = schema['additionalProperties'];
  return isObject(rest) ? rest : undefined;
}

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
  if (Array.isArray(value)) return value.map((item) => prune(item, objectAt(schema, 'items')));
  if (!isObject(value) || schema['type'] !== 'object' || isKnownToFit(value, schema)) return value;
  const pruned: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const inner = memberSchema(schema, key);
    if (root && (key === 'apiVersion' || key === 'kind' || key === 'metadata')) pruned[key] = member;
    else if (inner) pruned[key] = prune(member, inner);
    else if (keepsUnknown(schema) || isFree(schema)) pruned[key] = member;
  }
  return pruned;
}

/** An object whose members the schema says nothing about at all (`additionalProperties: true`). */
const isFree = (schema: JsonObject): boolean => schema['additionalProperties'] === true;

/** Fills defaults in: missing members, and nulls of members that are not nullable. */
export function applyDefaults(value: Json, schema: JsonObject): Json {
  if (Array.isArray(value)) return value.map((item) => applyDefaults(item, objectAt(schema, 'items')));
  if (!isObject(value) || isKnownToFit(value, schema)) return value;
  const filled: JsonObject = { ...value };
  for (const [key, inner] of Object.entries(objectAt(schema, 'properties'))) {
    if (!isObject(inner)) continue;
    if (filled[key] === null && inner['nullable'] !== true) delete filled[key];
    if (filled[key] === undefined && inner['default'] !== undefined) filled[key] = inner['default'];
  }
  for (const [key, member] of Object.entries(filled)) {
    const inner = memberSchema(schema, key);
    if (inner && member !== undefined) filled[key] = applyDefaults(member, inner);
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

function typeProblem(value: Json, schema: JsonObject, path: string): string | undefined {
  if (isIntOrString(schema)) {
    const fits = Number.isInteger(value) || typeof value === 'string';
    return fits ? undefined : `${path}: Invalid value: must be integer or string`;
  }
  const type = textAt(schema, 'type');
  if (!type || TYPES[type]?.(value)) return undefined;
  return `${path}: Invalid value: ${path} in body must be of type ${type}`;
}

const boundOf = (schema: JsonObject, name: string): number | undefined => {
  const bound = schema[name];
  return typeof bound === 'number' ? bound : undefined;
};

interface Bound {
  readonly name: string;
  readonly measure: (value: Json) => number | undefined;
  readonly breaks: (measure: number, bound: number) => boolean;
}

const textLength = (value: Json) => (typeof value === 'string' ? [...value].length : undefined);
const itemCount = (value: Json) => (Array.isArray(value) ? value.length : undefined);
const memberCount = (value: Json) => (isObject(value) ? Object.keys(value).length : undefined);
const amount = (value: Json) => (typeof value === 'number' ? value : undefined);
const below = (measure: number, bound: number) => measure < bound;
const above = (measure: number, bound: number) => measure > bound;

const BOUNDS: readonly Bound[] = [
  { name: 'minLength', measure: textLength, breaks: below },
  { name: 'maxLength', measure: textLength, breaks: above },
  { name: 'minItems', measure: itemCount, breaks: below },
  { name: 'maxItems', measure: itemCount, breaks: above },
  { name: 'minProperties', measure: memberCount, breaks: below },
  { name: 'maxProperties', measure: memberCount, breaks: above },
  { name: 'minimum', measure: amount, breaks: below },
  { name: 'maximum', measure: amount, breaks: above },
];

const patterns = new Map<string, RegExp>();

/** A pattern, made once: there are as many as the definitions hold. */
function expressionOf(pattern: string): RegExp {
  const known = patterns.get(pattern) ?? new RegExp(pattern);
  patterns.set(pattern, known);
  return known;
}

function valueProblems(value: Json, schema: JsonObject, path: string): string[] {
  const problems: string[] = [];
  const pattern = textAt(schema, 'pattern');
  if (pattern && typeof value === 'string' && !expressionOf(pattern).test(value)) {
    problems.push(`${path}: Invalid value: "${value}": should match '${pattern}'`);
  }
  const choices = listAt(schema, 'enum');
  if (choices.length > 0 && !choices.includes(value)) {
    const supported = choices.map((choice) => `"${choice}"`).join(', ');
    problems.push(`${path}: Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}`);
  }
  for (const { name, measure, breaks } of BOUNDS) {
    const bound = boundOf(schema, name);
    const measured = bound === undefined ? undefined : measure(value);
    if (bound !== undefined && measured !== undefined && breaks(measured, bound)) {
      problems.push(`${path}: Invalid value: breaks ${name} ${bound}`);
    }
  }
  return problems;
}

function duplicateProblems(value: Json[], schema: JsonObject, path: string): string[] {
  const keys = listAt(schema, 'x-kubernetes-list-map-keys').map(String);
  const isSet = schema['x-kubernetes-list-type'] === 'set';
  if (keys.length === 0 && !isSet) return [];
  const identity = (item: Json): string =>
    isSet || !isObject(item) ? JSON.stringify(item) : JSON.stringify(keys.map((key) => item[key] ?? null));
  const seen = new Set<string>();
  return value.flatMap((item, index) => {
    const id = identity(item);
    if (seen.has(id)) return [`${path}[${index}]: Duplicate value`];
    seen.add(id);
    return [];
  });
}

/**
 * Every way in which a value breaks its schema, worded like the API server's causes. CEL rules are not evaluated. The
 * value has been pruned and has its defaults.
 */
export function problemsOf(value: Json, schema: JsonObject, path = ''): string[] {
  if (value === null && schema['nullable'] === true) return [];
  const wrongType = typeProblem(value, schema, path || '<nil>');
  if (wrongType) return [wrongType];
  const problems = valueProblems(value, schema, path);
  if (Array.isArray(value)) {
    problems.push(...duplicateProblems(value, schema, path));
    value.forEach((item, index) => {
      problems.push(...problemsOf(item, objectAt(schema, 'items'), `${path}[${index}]`));
    });
  }
  if (isObject(value)) problems.push(...memberProblems(value, schema, path));
  return problems;
}

function memberProblems(value: JsonObject, schema: JsonObject, path: string): string[] {
  const inside = (key: string): string => (path === '' ? key : `${path}.${key}`);
  const missing = listAt(schema, 'required')
    .map(String)
    .filter((key) => value[key] === undefined)
    .map((key) => `${inside(key)}: Required value`);
  const wrong = Object.entries(value).flatMap(([key, member]) => {
    const inner = path === '' && key === 'metadata' ? undefined : memberSchema(schema, key);
    if (!inner || member === undefined || (isObject(member) && isKnownToFit(member, inner))) return [];
    const problems = problemsOf(member, inner, inside(key));
    if (path === '' && isObject(member) && problems.length === 0) noteFitting(member, inner);
    return problems;
  });
  return [...missing, ...wrong];
}
