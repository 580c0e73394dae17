import { requireFewTerms } from '../calls/most-terms.ts';
import { badRequest, Refusal } from '../calls/refusal.ts';
import { isObject, numberField } from '../calls/request-body.ts';
import type { Profile } from '../calls/route.ts';
import { type Json, type JsonObject, ownValue } from '../json.ts';
import type { Settings } from '../settings.ts';
import type { Column } from '../tables/offers.ts';
import { coerce, invalidFilter, numberFrom, renamed } from './filter-values.ts';
import { COMPUTED, type PricingType } from './offer-row.ts';
import { checkWrittenSearch } from './written-search.ts';

/*
 * The body of an offer search, read into tests and an order. Values are coerced by the type of their
 * column; unknown keys are passed over; a wrong operator is refused with 400 `invalid_request`. PURE.
 */

const OPERATORS = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'notin'] as const;
export type Operator = (typeof OPERATORS)[number];

/** One test that an offer has to pass. */
export interface Condition {
  readonly column: string;
  readonly operator: Operator;
  readonly operand: Column | readonly Column[];
}

export interface SearchQuery {
  readonly conditions: readonly Condition[];
  readonly order: readonly { readonly column: string; readonly descending: boolean }[];
  readonly pricing: PricingType;
  readonly limit: number;
  readonly storageGB: number;
}

/** Keys that steer the search and are no columns. */
const CONTROL_KEYS: ReadonlySet<string> = new Set([
  'order',
  'type',
  'limit',
  'allocated_storage',
  'disable_bundling',
  'extra_ids',
  'gpu_option',
  'show_incompatible',
  'sort_option',
  'template_id',
  'select_cols',
  'q',
  'api_key',
  'client_id',
  'owner',
]);

const PRICING: Readonly<Record<string, PricingType>> = {
  'on-demand': 'on-demand',
  ondemand: 'on-demand',
  'on demand': 'on-demand',
  bid: 'bid',
  interruptible: 'bid',
  reserved: 'reserved',
};

/** Reads the body of a search; in the `specification` profile what is written down has to be so. */
export function readSearch(body: JsonObject, settings: Settings, profile: Profile = 'public'): SearchQuery {
  if (profile === 'specification') checkWrittenSearch(body);
  const filters = Object.entries(body).filter(([key, value]) => !CONTROL_KEYS.has(key) && value !== null);
  requireFewTerms(filters.length, 'filters');
  const conditions = filters.flatMap(([key, value]) => readFilter(key, value));
  const storageGB = readStorage(body);
  if (isObject(body.allocated_storage) || numberFrom(body.allocated_storage) !== undefined) {
    conditions.push({ column: 'disk_space', operator: 'gte', operand: storageGB });
  }
  return {
    conditions,
    order: readOrder(body.order),
    pricing: readPricing(body.type),
    limit: profile === 'public' ? readLimit(body, settings) : writtenLimit(body, settings),
    storageGB,
  };
}

function readFilter(key: string, value: Json): Condition[] {
  const column = renamed(key);
  if (!isObject(value)) return [{ column, operator: meant(key, 'eq'), operand: coerce(key, value) }];
  return Object.entries(value).map(([operator, operand]) => {
    if (!isOperator(operator)) {
      throw new Refusal(
        400,
        'invalid_request',
        `${key}: "${operator}" is no operator; use one of ${OPERATORS.join(', ')}.`,
      );
    }
    return { column, operator: meant(key, operator), operand: readOperand(key, operator, operand) };
  });
}

/** A reliability that is aimed at is one to reach, not one to meet exactly. */
const meant = (key: string, operator: Operator): Operator =>
  key === 'target_reliability' && operator === 'eq' ? 'gte' : operator;

const isOperator = (word: string): word is Operator => (OPERATORS as readonly string[]).includes(word);

function readOperand(key: string, operator: Operator, operand: Json): Column | readonly Column[] {
  if (operator !== 'in' && operator !== 'notin') {
    if (Array.isArray(operand)) throw invalidFilter(key, `${operator} takes one value, not a list`);
    return coerce(key, operand);
  }
  if (!Array.isArray(operand)) throw invalidFilter(key, `${operator} takes a list`);
  return (operand as readonly Json[]).map((item) => coerce(key, item));
}

/** Whether a direction descends. */
const DIRECTIONS: Readonly<Record<string, boolean>> = { asc: false, desc: true };

function readOrder(order: Json | undefined): SearchQuery['order'] {
  if (order === undefined || order === null) return [{ column: 'score', descending: true }];
  if (!Array.isArray(order)) throw badRequest('order must be a list of [field, "asc" or "desc"].');
  requireFewTerms(order.length, 'order');
  const read = (order as readonly Json[]).map(readOrderEntry);
  // Later entries of a column never decide.
  return read.filter(({ column }, index) => read.findIndex((entry) => entry.column === column) === index);
}

function readOrderEntry(entry: Json): SearchQuery['order'][number] {
  const [field, direction = 'asc'] = Array.isArray(entry) ? (entry as readonly Json[]) : [entry];
  const descending =
    typeof direction === 'string' ? ownValue(DIRECTIONS, direction.toLowerCase()) : undefined;
  if (typeof field !== 'string' || descending === undefined) {
    throw badRequest('order must be a list of [field, "asc" or "desc"].');
  }
  return { column: orderColumn(field), descending };
}

/** What a field is sorted by: places by name, flags by their codes. */
function orderColumn(field: string): string {
  return field === 'geolocation' || Object.hasOwn(COMPUTED, field) ? field : renamed(field);
}

function readPricing(type: Json | undefined): PricingType {
  if (type === undefined || type === null) return 'on-demand';
  const pricing = typeof type === 'string' ? ownValue(PRICING, type) : undefined;
  if (!pricing) throw badRequest('type must be on-demand, bid or reserved.');
  return pricing;
}

function readLimit(body: JsonObject, settings: Settings): number {
  const limit = numberField(body, 'limit');
  if (limit === undefined || limit <= 0) return settings.lists.searchDefault;
  return Math.min(Math.floor(limit), settings.lists.searchMax);
}

/** At most so many, to the letter: 0 and less are none. */
function writtenLimit(body: JsonObject, settings: Settings): number {
  const limit = typeof body.limit === 'number' ? body.limit : settings.lists.searchDefault;
  return Math.max(0, Math.min(limit, settings.lists.searchMax));
}

function readStorage(body: JsonObject): number {
  const given = body.allocated_storage;
  const value = isObject(given) ? (given.eq ?? given.gte ?? null) : given;
  const number = numberFrom(value);
  return number === undefined || number < 0 ? 5 : number;
}
