import { countryCode } from '../../../lib/country.ts';
import type { FilterOperator, OfferFilter, OfferOrder, OfferScalar } from '../../../market/offer.ts';
import {
  exampleFilter,
  findOfferField,
  impossibleValue,
  type OfferFieldRow,
  unknownFieldMessage,
} from './offer-fields.ts';

/** A parsed query text. Filters have wire names and units. */
export interface ParsedQuery {
  readonly type: 'parsed';
  readonly filters: readonly OfferFilter[];
  /** Fields whose defaults are removed (`verified=any`). */
  readonly dropped: readonly string[];
}

/** Error of a query text: `at` counts characters from 0, `message` names the term and the remedy. */
export interface InvalidQuery {
  readonly type: 'invalid';
  readonly at: number;
  readonly message: string;
}

const OPERATORS: ReadonlyMap<string, FilterOperator> = new Map([
  ['=', 'eq'],
  ['==', 'eq'],
  ['eq', 'eq'],
  ['!=', 'neq'],
  ['neq', 'neq'],
  ['noteq', 'neq'],
  ['not eq', 'neq'],
  ['>', 'gt'],
  ['gt', 'gt'],
  ['>=', 'gte'],
  ['gte', 'gte'],
  ['<', 'lt'],
  ['lt', 'lt'],
  ['<=', 'lte'],
  ['lte', 'lte'],
  ['in', 'in'],
  ['nin', 'notin'],
  ['notin', 'notin'],
  ['not in', 'notin'],
]);

const WILDCARDS: ReadonlySet<string> = new Set(['any', '?', '*']);

/**
 * Parses a query text: `field operator value` separated by spaces. Memory is given in GB and duration in days; `_` in a
 * text value means a space; `any`, `?` and `*` remove a default.
 */
export function parseQueryText(text: string): ParsedQuery | InvalidQuery {
  const scanned = scanQuery(text);
  if (scanned.type === 'invalid') return scanned;
  const filters: OfferFilter[] = [];
  const dropped: string[] = [];
  for (const term of scanned.terms) {
    const found = findOfferField(term.field);
    if (found.type === 'unknown') return invalid(term, unknownFieldMessage(term.field));
    if (typeof term.value === 'string' && WILDCARDS.has(term.value)) {
      dropped.push(found.field.name);
      continue;
    }
    const filter = toFilter(term, found.field);
    if (filter.type === 'invalid') return filter;
    filters.push(filter.filter);
  }
  return { type: 'parsed', filters, dropped };
}

function toFilter(
  term: QueryTerm,
  field: OfferFieldRow,
): { type: 'filter'; filter: OfferFilter } | InvalidQuery {
  const operator = OPERATORS.get(term.operator) ?? 'eq';
  const wantsList = operator === 'in' || operator === 'notin';
  if (wantsList !== Array.isArray(term.value)) {
    const example = wantsList ? `${term.field} in [a,b]` : `${term.field}=a`;
    return invalid(
      term,
      `"${term.field}" ${wantsList ? 'needs a list' : 'takes one value'} here: write ${example}`,
    );
  }
  const entries = typeof term.value === 'string' ? [term.value] : term.value;
  const values = entries.map((entry) => readQueryValue(field, entry));
  const wrong = values.indexOf(undefined);
  if (wrong >= 0) {
    return invalid(
      term,
      `"${entries[wrong]}" is no ${field.type} for "${term.field}": ${exampleOf(term.field, field)}`,
    );
  }
  const impossible = values.map((value) =>
    typeof value === 'number' ? impossibleValue(field, value) : undefined,
  );
  const [first] = impossible.filter((text) => text !== undefined);
  if (first !== undefined) return invalid(term, first);
  const read = values.map((value) => value ?? null);
  return {
    type: 'filter',
    filter: { field: field.name, operator, value: wantsList ? read : (read[0] ?? null) },
  };
}

function exampleOf(name: string, field: OfferFieldRow): string {
  const example = exampleFilter(name, field);
  switch (field.type) {
    case 'number':
      return `write a number, e.g. ${example}`;
    case 'boolean':
      return `write ${example} or ${name}=false`;
    case 'text':
      return `write a word, e.g. ${example}`;
    default:
      return field.type satisfies never;
  }
}

function invalid(term: QueryTerm, message: string): InvalidQuery {
  return { type: 'invalid', at: term.at, message };
}

/** Adds defaults to a query: a filter of the query replaces the default with the same field and operator. */
export function withDefaults(query: ParsedQuery, defaults: readonly OfferFilter[]): readonly OfferFilter[] {
  const kept = defaults.filter(
    ({ field, operator }) =>
      !query.dropped.includes(field) &&
      !query.filters.some((filter) => filter.field === field && filter.operator === operator),
  );
  const anyOf = query.dropped.filter((field) => SERVICE_DEFAULTS.has(field));
  return [
    ...kept,
    ...query.filters,
    ...anyOf.map((field): OfferFilter => ({ field, operator: 'eq', value: 'any' })),
  ];
}

/** Fields by which the service filters if a search leaves them out; public clients send "any" to disable the filter. */
const SERVICE_DEFAULTS: ReadonlySet<string> = new Set(['verified', 'rentable', 'rented']);

/** Default filters of public clients. */
export const USUAL_DEFAULTS: readonly OfferFilter[] = [
  { field: 'verified', operator: 'eq', value: true },
  { field: 'external', operator: 'eq', value: false },
  { field: 'rentable', operator: 'eq', value: true },
];

/** Parses sort keys, `dph_total,score-`: a trailing `-` means descending. */
export function parseOrderText(
  text: string,
): { type: 'parsed'; order: readonly OfferOrder[] } | InvalidQuery {
  const order: OfferOrder[] = [];
  let at = 0;
  for (const part of text.split(',')) {
    const term = part.trim();
    const name = term.replace(/[-+]$/, '');
    const found = findOfferField(name);
    if (found.type === 'unknown') return { type: 'invalid', at, message: unknownFieldMessage(name) };
    order.push({ field: found.field.name, direction: term.endsWith('-') ? 'desc' : 'asc' });
    at += part.length + 1;
  }
  return { type: 'parsed', order };
}

/** A term `field operator value` of a query text, unchanged. */
export interface QueryTerm {
  readonly field: string;
  readonly operator: string;
  /** Text of the value, or of each entry of a list. */
  readonly value: string | readonly string[];
  /** Start of the term, from 0. */
  readonly at: number;
}

/** Terms, or the position and reason of the error. */
export type ScannedQuery =
  | { readonly type: 'scanned'; readonly terms: readonly QueryTerm[] }
  | { readonly type: 'invalid'; readonly at: number; readonly message: string };

const SPACE = /\s*/y;
const FIELD = /[A-Za-z_][A-Za-z0-9_]*/y;
const OPERATOR =
  /\s*(==|!=|>=|<=|=|>|<)\s*|\s+(not\s+eq|not\s+in|noteq|notin|neq|nin|gte|lte|eq|gt|lt|in)(?=[\s[])\s*/y;
const LIST = /\[([^\]]*)\]/y;
const QUOTED = /"([^"]*)"|'([^']*)'/y;
const BARE = /[^\s[\]"']+/y;

/** Splits a query text such as `num_gpus>=2 gpu_name in [RTX_4090,H100_SXM]` into its terms. */
export function scanQuery(text: string): ScannedQuery {
  const terms: QueryTerm[] = [];
  let position = skipSpace(text, 0);
  while (position < text.length) {
    const term = scanTerm(text, position);
    if (term.type === 'invalid') return term;
    terms.push(term.term);
    position = skipSpace(text, term.end);
  }
  return { type: 'scanned', terms };
}

type ScannedTerm =
  | { readonly type: 'term'; readonly term: QueryTerm; readonly end: number }
  | { readonly type: 'invalid'; readonly at: number; readonly message: string };

function scanTerm(text: string, at: number): ScannedTerm {
  const field = matchAt(FIELD, text, at);
  if (!field) return scanError(at, `a field name is expected at "${text.slice(at, at + 20)}"`);
  const afterField = at + field[0].length;
  const operator = matchAt(OPERATOR, text, afterField);
  if (!operator) {
    return scanError(afterField, `an operator is expected after "${field[0]}", e.g. ${field[0]}>=1`);
  }
  const afterOperator = afterField + operator[0].length;
  const value = scanValue(text, afterOperator);
  if (!value)
    return scanError(afterOperator, `a value is expected after "${text.slice(at, afterOperator).trim()}"`);
  const symbol = (operator[1] ?? operator[2] ?? '').replace(/\s+/g, ' ');
  return {
    type: 'term',
    term: { field: field[0], operator: symbol, value: value.value, at },
    end: afterOperator + value.length,
  };
}

function scanValue(
  text: string,
  at: number,
): { value: string | readonly string[]; length: number } | undefined {
  const list = matchAt(LIST, text, at);
  if (list) return { value: listEntries(list[1] ?? ''), length: list[0].length };
  const quoted = matchAt(QUOTED, text, at);
  if (quoted) return { value: quoted[1] ?? quoted[2] ?? '', length: quoted[0].length };
  const bare = matchAt(BARE, text, at);
  return bare ? { value: bare[0], length: bare[0].length } : undefined;
}

function listEntries(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim().replace(/^(["'])(.*)\1$/, '$2'))
    .filter((entry) => entry !== '');
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function skipSpace(text: string, at: number): number {
  return at + (matchAt(SPACE, text, at)?.[0].length ?? 0);
}

function scanError(at: number, message: string): { type: 'invalid'; at: number; message: string } {
  return { type: 'invalid', at, message };
}

/** Wire units per unit that people write: memory in GB of 1000 MB, duration in days. */
export const WIRE_UNITS_PER_WRITTEN: ReadonlyMap<string, number> = new Map([
  ['gpu_ram', 1000],
  ['gpu_total_ram', 1000],
  ['cpu_ram', 1000],
  ['duration', 86_400],
]);

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
]);

/** Returns the value of a written word for that field, in wire units; undefined if it is invalid. */
export function readQueryValue(field: OfferFieldRow, text: string): OfferScalar | undefined {
  if (text === 'None' || text === 'null') return null;
  switch (field.type) {
    case 'boolean':
      return BOOLEANS.get(text);
    case 'number':
      return readNumber(field.name, text);
    case 'text':
      return textValue(field.name, text);
    default:
      return field.type satisfies never;
  }
}

function readNumber(name: string, text: string): number | undefined {
  if (!/^[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d{1,2})?$/i.test(text)) return undefined;
  return Number(text) * (WIRE_UNITS_PER_WRITTEN.get(name) ?? 1);
}

function textValue(name: string, text: string): OfferScalar {
  if (name === 'driver_version') return driverNumber(text);
  return name === 'geolocation' ? countryCode(text) : text.replaceAll('_', ' ');
}

/** Returns a driver version of exactly three parts as one number for comparison: `535.86.05` is 535086005. */
function driverNumber(text: string): OfferScalar {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  if (!parts) return text;
  const [, major, minor, patch] = parts;
  return Number(major) * 1_000_000 + Number(minor) * 1000 + Number(patch);
}
