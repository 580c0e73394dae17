import * as z from 'zod';
import { isJsonObject } from '../../lib/json.ts';

/**
 * Scalars in the forms that services send: numbers as strings, nulls, and fields of the wrong type. An optional field
 * never makes its object invalid: an unreadable value counts as missing.
 */

const NUMERIC = /^\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?\s*$/;

/** Returns the value with null as undefined: an error for null would cost more than parsing the rest of a row. */
function readNumber(value: unknown): unknown {
  if (value === null) return undefined;
  if (typeof value === 'string' && NUMERIC.test(value)) return Number(value);
  return value;
}

function readText(value: unknown): unknown {
  if (value === null) return undefined;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
}

const BOOLEAN_WORDS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  ['true', true],
  ['false', false],
  ['True', true],
  ['False', false],
  [1, true],
  [0, false],
]);

/** An identifier: a whole number of at least 0, also as text. */
export const wireId = z.preprocess(readNumber, z.int().min(0));

/** Returns a schema that reads a field in one step: each of a thousand rows has dozens of fields. */
const loosely = <Value>(read: (value: unknown) => Value | undefined) =>
  z.unknown().optional().transform(read);

/** Returns a number; undefined for null, a missing value and any other value. */
export function numberOf(value: unknown): number | undefined {
  const number = readNumber(value);
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** Returns a whole number; undefined for null, a missing value and any other value. */
export function integerOf(value: unknown): number | undefined {
  const number = readNumber(value);
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
}

/** Maximum plausible number of parts of a machine. */
const MOST = 1_000_000;

/** Returns a number of parts, from 0 to a million; undefined for null, a missing value and any other value. */
export function countOf(value: unknown): number | undefined {
  const number = integerOf(value);
  return number !== undefined && number >= 0 && number <= MOST ? number : undefined;
}

/** Returns the text (a number or boolean as text); undefined for null, a missing value and any other value. */
export function textOf(value: unknown): string | undefined {
  const text = readText(value);
  return typeof text === 'string' ? text : undefined;
}

/** Returns a boolean, also from a word or 0 and 1; undefined for null, a missing value and any other value. */
export function booleanOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : BOOLEAN_WORDS.get(value);
}

/** A field read by {@link numberOf}. */
export const looseNumber = loosely(numberOf);
/** A field read by {@link integerOf}. */
export const looseInteger = loosely(integerOf);
/** A field read by {@link textOf}. */
export const looseText = loosely(textOf);
/** A field read by {@link booleanOf}. */
export const looseBoolean = loosely(booleanOf);

/** Text, or null if the service sends null or leaves the field out. */
export const textOrNull = z.string().nullable().catch(null);

/** Maximum date, in epoch milliseconds. */
const LAST_MOMENT_MS = 8.64e15;

/** Returns the epoch milliseconds of seconds on the wire; undefined for a value that no date can have. */
export function epochMs(seconds: number | undefined): number | undefined {
  const moment = Math.round((seconds ?? Number.NaN) * 1000);
  return Math.abs(moment) <= LAST_MOMENT_MS ? moment : undefined;
}

/** Epoch milliseconds of a time in seconds or as a date in text; undefined for any other value. */
export const looseMoment = loosely((value) => {
  const seconds = readNumber(value);
  if (typeof seconds === 'number') return epochMs(seconds);
  const moment = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(moment) ? undefined : moment;
});

/** Readers of a row's fields. A reader accepts any value and never throws. */
type FieldReaders = Readonly<Record<string, (value: unknown) => unknown>>;
type RowRead<Readers extends FieldReaders> = { readonly id: number } & {
  readonly [Name in keyof Readers]: ReturnType<Readers[Name]>;
};

/**
 * Returns the schema of a row of a long list. Only the id must be valid. An object schema with a schema per field would
 * take seven times as long, which is most of the cost of a poll.
 */
export function looseRow<Readers extends FieldReaders>(readers: Readers) {
  const fields = Object.entries(readers);
  return z.unknown().transform((value, context): RowRead<Readers> => {
    const given = isJsonObject(value) ? value : {};
    const id = wireId.safeParse(given['id']);
    if (!id.success) {
      const issues = id.error.issues.map((issue) => ({ ...issue, path: ['id'], input: undefined }));
      context.issues.push(...issues);
      return z.NEVER;
    }
    const row: Record<string, unknown> = { id: id.data };
    for (const [name, read] of fields) row[name] = read(given[name]);
    return row as RowRead<Readers>;
  });
}
