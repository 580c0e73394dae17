import { Refusal } from '../calls/refusal.ts';
import { isObject, textOf } from '../calls/request-body.ts';
import type { Json } from '../json.ts';

/*
 * The query of a paged list: `select_filters`, `order_by`, `limit`, `select_cols`, `after_token`, each as
 * JSON text. Wrong filters are refused with 400 `invalid_request`, a wrong token with `invalid_token`. PURE.
 */

export type RowTest = (read: (column: string) => Json | undefined) => boolean;

export interface ListQuery {
  readonly tests: readonly RowTest[];
  readonly order: readonly { readonly column: string; readonly descending: boolean }[];
  readonly limit: number;
  readonly columns: readonly string[] | undefined;
  readonly after: readonly Json[] | undefined;
}

const invalid = (msg: string): Refusal => new Refusal(400, 'invalid_request', msg);

/** Reads the query; `limits` are those of the list. */
export function readListQuery(
  query: URLSearchParams,
  limits: { defaultPage: number; maxPage: number; smallPage: number },
  computed: ReadonlySet<string>,
): ListQuery {
  return {
    tests: readTests(jsonOf(query, 'select_filters'), computed),
    order: readOrder(jsonOf(query, 'order_by')),
    limit: readLimit(query.get('limit'), limits),
    columns: readColumns(jsonOf(query, 'select_cols')),
    after: readToken(query.get('after_token')),
  };
}

function jsonOf(query: URLSearchParams, name: string): Json | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw invalid(`${name} is not JSON.`);
  }
}

function readLimit(
  text: string | null,
  limits: { defaultPage: number; maxPage: number; smallPage: number },
): number {
  if (text === null || text === '' || text === 'null') return limits.defaultPage;
  const limit = Number(text);
  if (!Number.isFinite(limit)) throw invalid('limit must be a number.');
  return limit <= 0 ? limits.smallPage : Math.min(Math.floor(limit), limits.maxPage);
}

function readColumns(value: Json | undefined): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) throw invalid('select_cols must be a list of column names.');
  const names = (value as readonly Json[]).map(textOf);
  return names.length === 0 || names.includes('*') ? undefined : names;
}

function readOrder(value: Json | undefined): ListQuery['order'] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw invalid('order_by must be a list of {"col", "dir"}.');
  return (value as readonly Json[]).map((entry) => {
    const column = isObject(entry) ? entry.col : undefined;
    if (!isObject(entry) || typeof column !== 'string')
      throw invalid('order_by must be a list of {"col", "dir"}.');
    return { column, descending: textOf(entry.dir ?? 'asc').toLowerCase() === 'desc' };
  });
}

function readTests(value: Json | undefined, computed: ReadonlySet<string>): readonly RowTest[] {
  if (value === undefined || value === null) return [];
  if (!isObject(value)) throw invalid('select_filters must be an object.');
  return Object.entries(value).flatMap(([column, filter]) => {
    if (computed.has(column)) throw invalid(`${column} is computed and cannot be filtered.`);
    if (!isObject(filter)) return [rowTest(column, 'eq', filter)];
    return Object.entries(filter).map(([operator, operand]) => rowTest(column, operator, operand));
  });
}

type Compare = (value: Json, operand: Json) => boolean;

const same: Compare = (value, operand) =>
  (value ?? null) === operand || (value !== null && operand !== null && textOf(value) === textOf(operand));
const order = (value: Json, operand: Json): number => {
  if (value === null || operand === null) return Number.NaN;
  if (typeof value === 'number') return value - (typeof operand === 'object' ? Number.NaN : Number(operand));
  return textOf(value) < textOf(operand) ? -1 : Number(textOf(value) !== textOf(operand));
};
const within: Compare = (value, operand) => {
  if (!Array.isArray(operand)) throw invalid('in and notin take a list.');
  return (operand as readonly Json[]).some((item) => same(value, item));
};

const COMPARE: Readonly<Record<string, Compare>> = {
  eq: same,
  neq: (value, operand) => !same(value, operand),
  gt: (value, operand) => order(value, operand) > 0,
  gte: (value, operand) => order(value, operand) >= 0,
  lt: (value, operand) => order(value, operand) < 0,
  lte: (value, operand) => order(value, operand) <= 0,
  in: within,
  notin: (value, operand) => !within(value, operand),
};

function rowTest(column: string, operator: string, operand: Json): RowTest {
  const compare = Object.hasOwn(COMPARE, operator) ? COMPARE[operator] : undefined;
  if (!compare)
    throw invalid(`${column}: "${operator}" is no operator; use one of ${Object.keys(COMPARE).join(', ')}.`);
  if (operator === 'in' || operator === 'notin') within(null, operand);
  return (read) => compare(read(column) ?? null, operand);
}

/** The opaque token of the page that ends with a row of these sort keys. */
export function pageToken(keys: readonly Json[]): string {
  return Buffer.from(JSON.stringify(keys)).toString('base64url');
}

function readToken(token: string | null): readonly Json[] | undefined {
  if (token === null || token === '' || token === 'null') return undefined;
  try {
    const keys = JSON.parse(Buffer.from(token, 'base64url').toString()) as Json;
    if (Array.isArray(keys) && keys.length > 0) return keys as readonly Json[];
  } catch {
    // Falls through to the one refusal of every wrong token.
  }
  throw new Refusal(400, 'invalid_token', 'after_token is not a token of this list.');
}

/** Order of two values: null first, numbers by size, all else as text. */
export function compareValues(left: Json | undefined, right: Json | undefined): number {
  const [first, second] = [left ?? null, right ?? null];
  if (first === second) return 0;
  if (first === null) return -1;
  if (second === null) return 1;
  if (typeof first === 'number' && typeof second === 'number') return first - second;
  return textOf(first) < textOf(second) ? -1 : Number(textOf(first) > textOf(second));
}
