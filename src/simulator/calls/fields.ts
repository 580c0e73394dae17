import * as z from 'zod';
import { isObject, type Json, type JsonObject, ownValue } from '../json.ts';
import { badRequest, Refusal } from '../refusal.ts';

/*
 * The fields of a body, as an endpoint declares them. Null counts as absent, numbers may arrive as strings, unknown
 * fields are ignored; a wrong type is refused with 400 `bad_request` that names the field. PURE.
 */

/**
 * The fields that an endpoint reads, with the schemas of their values. The text of an issue follows the field's name.
 */
export type Fields = Readonly<Record<string, z.ZodType>>;

/** Values of a body. A field is read on access: refusals come in that order. */
export type FieldValues<F extends Fields> = { readonly [Name in keyof F]: z.output<F[Name]> };

/** Returns the fields of a body. Reading one throws a 400 Refusal if its value does not match the schema. */
export function fieldsOf<F extends Fields>(fields: F, body: () => JsonObject): FieldValues<F> {
  const getters = Object.entries(fields).map(
    ([name, field]) => [name, { get: () => readField(field, body(), name) }] as const,
  );
  return Object.defineProperties({}, Object.fromEntries(getters)) as FieldValues<F>;
}

/**
 * Reads one field of a body. Throws a 400 Refusal that names the field, `bad_request` unless the schema names a code.
 */
export function readField<S extends z.ZodType>(field: S, body: JsonObject, name: string): z.output<S> {
  const read = field.safeParse(body[name]);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const code = issue?.code === 'custom' ? issue.params?.code : undefined;
  throw new Refusal(400, typeof code === 'string' ? code : 'bad_request', `${name} ${issue?.message}`);
}

const given = (value: unknown): unknown => value ?? undefined;

function numeric(value: unknown): unknown {
  if (value === null || value === '') return undefined;
  return typeof value === 'string' ? Number(value) : value;
}

const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, True: true, false: false, False: false };

const booleanLike = (value: unknown): unknown =>
  typeof value === 'string' ? (ownValue(BOOLEANS, value) ?? value) : given(value);

/** Any JSON value, unchanged. */
export const anything = z.custom<Json | undefined>();

export const text = z.preprocess(given, z.string('must be a string.').optional());

/** A finite number. */
export const number = z.preprocess(numeric, z.number('must be a number.').optional());

export const integer = number.refine(
  (value) => value === undefined || Number.isSafeInteger(value),
  'must be a whole number.',
);

/** Returns the schema of a number from `min` to `max`. */
export const between = ({ min, max }: { readonly min: number; readonly max: number }) =>
  number.refine(
    (value) => value === undefined || (value >= min && value <= max),
    `must be a number from ${min} to ${max}.`,
  );

/** True or false, also as text. */
export const flag = z.preprocess(booleanLike, z.boolean('must be true or false.').optional());

export const object = z.preprocess(
  given,
  z.custom<JsonObject>((value) => isObject(value as Json), 'must be an object.').optional(),
);

export const list = z.preprocess(
  given,
  z.custom<readonly Json[]>((value) => Array.isArray(value), 'must be a list.').optional(),
);

/** Returns the schema of a required field: it refuses an absent field and an empty text. */
export const required = <T>(field: z.ZodType<T>) =>
  field.transform((value, issues): NonNullable<T> => {
    if (value !== undefined && value !== null && value !== '') return value;
    issues.addIssue({ code: 'custom', message: 'is required.' });
    return z.NEVER;
  });

/**
 * Returns the id that a call gives under several names; undefined without one. Throws a 400 `bad_request` Refusal if
 * they contradict each other.
 */
export function sameInteger(named: JsonObject): number | undefined {
  const ids = Object.keys(named).flatMap((name) => readField(integer, named, name) ?? []);
  if (new Set(ids).size <= 1) return ids[0];
  throw badRequest(
    `${Object.keys(named).join(' and ')} name different ids: ${ids.join(', ')}. Send one of them.`,
  );
}

/** Returns the number of characters of a text, not of its UTF-16 units. */
export function characters(text: string): number {
  return [...text].length;
}

/**
 * Returns the id in a path: digits only. Other spellings of a number (`5.0`, `5e0`, `0x5`) are NaN, which matches
 * nothing.
 */
export function pathId(text: string | undefined): number {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : Number.NaN;
}

/**
 * Maximum number of conditions, order entries, columns or ids of one call: more than any client sends, and few enough
 * to delay no other call.
 */
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
 * Returns the fields of a body that the specification names. Throws a 400 `bad_request` Refusal that names a field of
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
