/** JSON as the API server holds it. Objects are never changed in place once they are stored. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the object at that key, or a detached empty object. */
export function objectAt(parent: JsonObject, key: string): JsonObject {
  const value = parent[key];
  return isObject(value) ? value : {};
}

export function textAt(parent: JsonObject, key: string): string | undefined {
  const value = parent[key];
  return typeof value === 'string' ? value : undefined;
}

/** Returns the numeric ID of an API field, which is a string there and a number in the tables of the marketplace. */
export function idAt(parent: JsonObject, key: string): number | undefined {
  const value = parent[key];
  return typeof value === 'string' ? Number(value) : undefined;
}

export function listAt(parent: JsonObject, key: string): Json[] {
  const value = parent[key];
  return Array.isArray(value) ? value : [];
}

/** Returns the objects of a list, without other items. */
export function objectsAt(parent: JsonObject, key: string): JsonObject[] {
  return listAt(parent, key).filter(isObject);
}

export function metadataOf(object: JsonObject): JsonObject {
  return objectAt(object, 'metadata');
}

const texts = new WeakMap<JsonObject, string>();

/** Returns the JSON text of an object, cached: stored objects are sent often and never change. */
export function textOf(object: JsonObject): string {
  const known = texts.get(object);
  if (known !== undefined) return known;
  const text = JSON.stringify(object);
  texts.set(object, text);
  return text;
}

/** Returns a deep copy without undefined members. */
export function copyOf(object: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(object)) as JsonObject;
}

/** Returns true if both are the same JSON; key order does not matter. */
export function equalJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => equalJson(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  return (
    Object.keys(a).every((key) => equalJson(a[key], b[key])) &&
    Object.keys(b).every((key) => b[key] === undefined || a[key] !== undefined)
  );
}
