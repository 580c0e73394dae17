/** A parsed JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export type JsonObject = { readonly [key: string]: Json };

/** Returns the value under a name from a caller; undefined for inherited names such as `constructor`. */
export function ownValue<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** Returns true if a value is a JSON object, neither null nor a list. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a value as text: texts unchanged, all else as JSON. It never runs code of the value, as `String` would. */
export function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
