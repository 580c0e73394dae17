import { equalJson, isObject, type Json, type JsonObject, objectAt } from '../memory-kube/json.ts';
import type { Edit } from './edit.ts';
import type { Examples } from './examples/examples.ts';
import { validValues, wrongValues } from './values.ts';

/** Sources of the edits of a kind. */
export interface EditSources {
  /** Schema of `spec`. */
  readonly schema: JsonObject;
  /** The spec that is edited, with its defaults. */
  readonly first: JsonObject;
  /** Examples for fields whose schema says too little. */
  readonly examples: Examples;
}

/** A field of a schema; items of a list are at `[]`. */
export interface Field {
  readonly path: readonly string[];
  readonly schema: JsonObject;
}

/** Returns every path of a schema, such as `offers.[].gpuCount`. */
export function pathsOf(schema: JsonObject): readonly string[] {
  return fieldsOf(schema, []).map(({ path }) => path.join('.'));
}

/** Edits of every field: what the schema takes and what it refuses, then the examples. */
export function editsOf({ schema, first, examples }: EditSources): readonly Edit[] {
  const fields = fieldsOf(schema, []);
  const derived = fields.flatMap((field) => [...taken(field, first, examples), ...refused(field, first)]);
  return [...derived, ...examples.edits(first)];
}

/** Returns every field below a schema whose path is given. */
export function fieldsOf(schema: JsonObject, path: readonly string[]): readonly Field[] {
  const members = Object.entries(objectAt(schema, 'properties'));
  const inner = isObject(schema['items']) ? [...members, ['[]', schema['items']] as const] : members;
  return inner.flatMap(([key, field]) => {
    if (!isObject(field)) return [];
    const here = [...path, key];
    return [{ path: here, schema: field }, ...fieldsOf(field, here)];
  });
}

/** Returns other values of a field whose parent exists in the spec, unless the examples have better ones. */
function taken({ path, schema }: Field, first: JsonObject, examples: Examples): readonly Edit[] {
  const name = path.join('.');
  if (examples.isOwn(name) || !isObject(valueAt(first, path.slice(0, -1)))) return [];
  const now = valueAt(first, path);
  const values = validValues(schema).filter((value) => !equalJson(value, now));
  return values.map((value) => editAt(path, { first, value, answer: 'taken' }));
}

function refused({ path, schema }: Field, first: JsonObject): readonly Edit[] {
  return wrongValues(schema).map((value) => editAt(path, { first, value, answer: 'refused' }));
}

function editAt(
  path: readonly string[],
  { first, value, answer }: { first: JsonObject; value: Json; answer: Edit['answer'] },
): Edit {
  const [key = ''] = path;
  const text = JSON.stringify(value);
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  const change = { [key]: withValue(first[key], path.slice(1), value) };
  return { name: `${path.join('.')} = ${shown}`, change, answer };
}

/** Returns the value at that path; for a list, of its first item. */
export function valueAt(value: Json | undefined, path: readonly string[]): Json | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (key === '[]') return Array.isArray(value) ? valueAt(value[0], rest) : undefined;
  return isObject(value) ? valueAt(value[key], rest) : undefined;
}

/** Returns the value with another one at that path; for a list, in its first item. Missing parents are created. */
export function withValue(parent: Json | undefined, path: readonly string[], value: Json): Json {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (key === '[]') {
    const [item, ...others] = Array.isArray(parent) ? parent : [];
    return [withValue(item, rest, value), ...others];
  }
  const members = isObject(parent) ? parent : {};
  return { ...members, [key]: withValue(members[key], rest, value) };
}
