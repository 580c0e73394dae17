import type { Json, JsonObject } from '../json.ts';
import { badRequest, Refusal } from './refusal.ts';

/*
 * Readers of one field of a body. Null counts as absent, numbers may arrive as strings, unknown keys are
 * ignored; a wrong type is refused with 400 `bad_request` that names the field.
 */

/** A finite number, or undefined if absent or null. Throws a 400 `bad_request` Refusal for anything else. */
export function numberField(body: JsonObject, name: string): number | undefined {
  const value = body[name];
  if (value === undefined || value === null || value === '') return undefined;
  const number = typeof value === 'string' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) throw badRequest(`${name} must be a number.`);
  return number;
}

/**
 * A number from `min` to `max`, or undefined if absent or null. Throws a 400 `bad_request` Refusal for anything
 * else.
 */
export function boundedNumber(
  body: JsonObject,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
): number | undefined {
  const value = numberField(body, name);
  if (value === undefined || (value >= min && value <= max)) return value;
  throw badRequest(`${name} must be a number from ${min} to ${max}.`);
}

/** A whole number, or undefined if absent or null. Throws a 400 `bad_request` Refusal for anything else. */
export function integerField(body: JsonObject, name: string): number | undefined {
  const value = numberField(body, name);
  if (value !== undefined && !Number.isSafeInteger(value))
    throw badRequest(`${name} must be a whole number.`);
  return value;
}

/** A whole number. Throws a 400 `bad_request` Refusal if it is absent, null or anything else. */
export function requiredInteger(body: JsonObject, name: string): number {
  const value = integerField(body, name);
  if (value === undefined) throw badRequest(`${name} is required.`);
  return value;
}

/**
 * The one id that a call gives under several names, or undefined if under none. Throws a 400 `bad_request` Refusal
 * if they contradict each other.
 */
export function sameInteger(given: JsonObject): number | undefined {
  const ids = Object.keys(given).flatMap((name) => integerField(given, name) ?? []);
  if (new Set(ids).size <= 1) return ids[0];
  throw badRequest(
    `${Object.keys(given).join(' and ')} name different ids: ${ids.join(', ')}. Send one of them.`,
  );
}

/** A string, or undefined if absent or null. Throws a 400 `bad_request` Refusal for anything else. */
export function stringField(body: JsonObject, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw badRequest(`${name} must be a string.`);
  return value;
}

/** A string that is not empty. Throws a 400 `bad_request` Refusal for anything else. */
export function requiredString(body: JsonObject, name: string): string {
  const value = stringField(body, name);
  if (!value) throw badRequest(`${name} is required.`);
  return value;
}

/**
 * True or false (also as text), or undefined if absent or null. Throws a 400 `bad_request` Refusal for anything
 * else.
 */
export function booleanField(body: JsonObject, name: string): boolean | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (value === true || value === 'true' || value === 'True') return true;
  if (value === false || value === 'false' || value === 'False') return false;
  throw badRequest(`${name} must be true or false.`);
}

/** An object, or undefined if absent or null. Throws a 400 `bad_request` Refusal for anything else. */
export function objectField(body: JsonObject, name: string): JsonObject | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) throw badRequest(`${name} must be an object.`);
  return value;
}

/** A list, or undefined if absent or null. Throws a 400 `bad_request` Refusal for anything else. */
export function listField(body: JsonObject, name: string): readonly Json[] | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) throw badRequest(`${name} must be a list.`);
  return value as readonly Json[];
}

/** How many characters a text has, as people count them and not as UTF-16 does. */
export function characters(text: string): number {
  return [...text].length;
}

/** A value as text: texts as they are, all else as JSON. Never runs code of the value, as `String` would. */
export function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Whether a value is a JSON object, neither null nor a list. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The id in a path: digits alone. Other spellings of a number (`5.0`, `5e0`, `0x5`) are NaN, which names nothing. */
export function pathId(text: string | undefined): number {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : Number.NaN;
}

/** Maximum number of conditions, order entries, columns or ids of one call: more than any client sends, few enough to hold up nobody. */
export const MAX_TERMS = 256;

/** Throws a 400 `invalid_request` for a longer list; `what` names the field in the plural. */
export function assertTermCount(count: number, what: string): void {
  if (count <= MAX_TERMS) return;
  throw new Refusal(400, 'invalid_request', `${what}: ${count} are given; send at most ${MAX_TERMS}.`);
}

/*
 * Requests as the specification writes them down, for its profile: these fields with these types. Other fields
 * have no meaning there and are dropped; null counts as absent. PURE.
 */

type FieldType = 'text' | 'integer' | 'number' | 'flag';

/** The fields of a request that the specification names, with their types. */
export type WrittenFields = Readonly<Record<string, FieldType>>;

const TYPES: Readonly<Record<FieldType, { readonly is: (value: Json) => boolean; readonly name: string }>> = {
  text: { is: (value) => typeof value === 'string', name: 'a string' },
  integer: { is: Number.isSafeInteger, name: 'an integer' },
  number: { is: Number.isFinite, name: 'a number' },
  flag: { is: (value) => typeof value === 'boolean', name: 'true or false' },
};

/**
 * The fields of a body that the specification names. Throws a 400 `bad_request` Refusal that names a field of
 * another type.
 */
export function writtenBody(written: WrittenFields, body: JsonObject): JsonObject {
  const fields = Object.entries(written).flatMap(([name, type]) => {
    const value = Object.hasOwn(body, name) ? (body[name] ?? null) : null;
    if (value === null) return [];
    if (!TYPES[type].is(value)) throw badRequest(`${name} must be ${TYPES[type].name}.`);
    return [[name, value] as const];
  });
  return Object.fromEntries(fields);
}
