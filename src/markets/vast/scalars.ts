import * as z from 'zod';
import { isJsonObject } from '../../lib/json.ts';

/**
 * Scalars as services really send them: numbers that arrive as strings, nulls, and fields of the wrong type.
 * An optional field never fails its object: what cannot be read counts as not given.
 */

const NUMERIC = /^\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?\s*$/;

/** null counts as not given; failing on it would cost more than all else of a row. */
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

/** A field in one step: a list has dozens of them in each of a thousand rows. */
const loosely = <Value>(read: (value: unknown) => Value | undefined) =>
  z.unknown().optional().transform(read);

/** A number, or undefined for null, absent and anything that is none. */
export function numberOf(value: unknown): number | undefined {
  const number = readNumber(value);
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** A whole number, or undefined for null, absent and anything that is none. */
export function integerOf(value: unknown): number | undefined {
  const number = readNumber(value);
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
}

/** More of anything than a machine has. */
const MOST = 1_000_000;

/** A number of parts, from 0 to a million; undefined for null, absent and anything that is none. */
export function countOf(value: unknown): number | undefined {
  const number = integerOf(value);
  return number !== undefined && number >= 0 && number <= MOST ? number : undefined;
}

/** Text (a number or boolean as its text), or undefined for null, absent and anything else. */
export function textOf(value: unknown): string | undefined {
  const text = readText(value);
  return typeof text === 'string' ? text : undefined;
}

/** A boolean, also as a word or 0 and 1, or undefined for null, absent and anything else. */
export function booleanOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : BOOLEAN_WORDS.get(value);
}

/** A field as {@link numberOf} reads it. */
export const looseNumber = loosely(numberOf);
/** A field as {@link integerOf} reads it. */
export const looseInteger = loosely(integerOf);
/** A field as {@link textOf} reads it. */
export const looseText = loosely(textOf);
/** A field as {@link booleanOf} reads it. */
export const looseBoolean = loosely(booleanOf);

/** Text, or null if the service says null or nothing. */
export const textOrNull = z.string().nullable().catch(null);

/** The last moment that a date can stand for, in epoch milliseconds. */
const LAST_MOMENT_MS = 8.64e15;

/** Epoch milliseconds of the seconds that services send; what no date can stand for counts as not given. */
export function epochMs(seconds: number | undefined): number | undefined {
  const moment = Math.round((seconds ?? Number.NaN) * 1000);
  return Math.abs(moment) <= LAST_MOMENT_MS ? moment : undefined;
}

/** Epoch milliseconds of a moment in seconds or as a date in text, or undefined for anything else. */
export const looseMoment = loosely((value) => {
  const seconds = readNumber(value);
  if (typeof seconds === 'number') return epochMs(seconds);
  const moment = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(moment) ? undefined : moment;
});

/** How each field of a row is read; a reader takes whatever stands there, and never throws. */
type FieldReaders = Readonly<Record<string, (value: unknown) => unknown>>;
type RowRead<Readers extends FieldReaders> = { readonly id: number } & {
  readonly [Name in keyof Readers]: ReturnType<Readers[Name]>;
};

/**
 * The schema of a row of a long list, of which the id alone has to be right. As an object of as many schemas it would
 * take seven times as long, which is most of what a poll costs.
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
