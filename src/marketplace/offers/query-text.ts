import type { FilterOperator } from '../wire/filter.ts';
import type { OfferFilter, OfferOrder } from './offer.ts';
import { findOfferField, type OfferFieldRow, unknownFieldMessage } from './offer-fields.ts';
import { type QueryTerm, scanQuery } from './query-scanner.ts';
import { readQueryValue, textOfValue } from './query-values.ts';

/** A query text that was understood. Filters are in wire names and units. */
export interface ParsedQuery {
  readonly type: 'parsed';
  readonly filters: readonly OfferFilter[];
  /** Fields whose defaults are taken away (`verified=any`). */
  readonly dropped: readonly string[];
}

/** Why a text was not understood: `at` counts characters from 0, `message` names the term and the remedy. */
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
 * Parses a query text: `field operator value` separated by spaces. Memory is given in GB and duration in days;
 * `_` in a text value means a space; `any`, `?` and `*` take a default away.
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
  const read = values.map((value) => value ?? null);
  return {
    type: 'filter',
    filter: { field: field.name, operator, value: wantsList ? read : (read[0] ?? null) },
  };
}

function exampleOf(name: string, field: OfferFieldRow): string {
  switch (field.type) {
    case 'number':
      return `write a number, e.g. ${name}>=2`;
    case 'boolean':
      return `write ${name}=true or ${name}=false`;
    case 'text':
      return `write a word, e.g. ${name}=a_b`;
    default:
      return field.type satisfies never;
  }
}

function invalid(term: QueryTerm, message: string): InvalidQuery {
  return { type: 'invalid', at: term.at, message };
}

/** Defaults under a query: a filter of the query replaces the default with the same field and operator. */
export function withDefaults(query: ParsedQuery, defaults: readonly OfferFilter[]): readonly OfferFilter[] {
  const kept = defaults.filter(
    ({ field, operator }) =>
      !query.dropped.includes(field) &&
      !query.filters.some((filter) => filter.field === field && filter.operator === operator),
  );
  return [...kept, ...query.filters];
}

/** What public clients ask for unless told otherwise. */
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
    const word = part.trim();
    const name = word.replace(/[-+]$/, '');
    const found = findOfferField(name);
    if (found.type === 'unknown') return { type: 'invalid', at, message: unknownFieldMessage(name) };
    order.push({ field: found.field.name, direction: word.endsWith('-') ? 'desc' : 'asc' });
    at += part.length + 1;
  }
  return { type: 'parsed', order };
}

const SYMBOLS: Readonly<Record<FilterOperator, string>> = {
  eq: '=',
  neq: '!=',
  gt: '>',
  gte: '>=',
  lt: '<',
  lte: '<=',
  in: ' in ',
  notin: ' notin ',
};

/** The text that parses to these filters again: the form of `search_params`. */
export function formatQueryText(filters: readonly OfferFilter[]): string {
  return filters
    .map(({ field, operator, value }) => {
      const values = Array.isArray(value) ? value : [value];
      const texts = values.map((entry) => textOfValue(field, entry));
      return `${field}${SYMBOLS[operator]}${Array.isArray(value) ? `[${texts.join(',')}]` : texts[0]}`;
    })
    .join(' ');
}
