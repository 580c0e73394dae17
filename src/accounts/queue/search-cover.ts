import { comparedPart, searchCover, valueIn } from '../../api/v1alpha1/offer-fields.ts';
import type { Offer, OfferFilter, OfferQuery, OfferScalar } from '../../market/offer.ts';

/** Maximum number of rows that one search requests: all offers of a usual marketplace. */
export const MAX_ROWS = 2_000;

/**
 * Fields for which two filters can be compared, by their values or by their bound. A shared search filters by these
 * fields only.
 */
const JOINED = searchCover();

/** Cached keys: the queue looks a query up at each change, and a query is immutable. */
const keys = new WeakMap<OfferQuery, string>();

/** Returns the text that is the same for equal queries. */
export function queryKey(query: OfferQuery): string {
  const known = keys.get(query);
  if (known !== undefined) return known;
  const key = JSON.stringify(query);
  keys.set(query, key);
  return key;
}

/**
 * Searches with the same base share replies: prices of a reply apply to one kind of price and one disk size.
 */
export function baseOf({ pricing, storageGB }: OfferQuery): string {
  return `${pricing}|${storageGB}`;
}

/**
 * Returns a search that finds every offer of any of these queries, and others; the caller filters its reply. All
 * queries have the same {@link baseOf}. A single query, or equal ones, are returned unchanged. Throws a RangeError
 * without a query.
 */
export function coverOf(queries: readonly OfferQuery[]): OfferQuery {
  const [first, ...others] = [...new Map(queries.map((query) => [queryKey(query), query])).values()];
  if (!first) throw new RangeError('no query to cover');
  if (others.length === 0) return first;
  const { pricing, storageGB } = first;
  const filters = Object.keys(JOINED).flatMap((field) => joined(field, [first, ...others]) ?? []);
  const wide = { filters, order: [{ field: 'pricePerHour', direction: 'asc' as const }], limit: MAX_ROWS };
  return {
    ...wide,
    ...(pricing !== undefined && { pricing }),
    ...(storageGB !== undefined && { storageGB }),
  };
}

/** Returns true if a complete reply contains every offer that a query finds. */
export type Coverage = (query: OfferQuery) => boolean;

/** Returns the coverage of a complete reply to `wide`. Create it once for each reply: 500 objects may use it. */
export function coverageOf(wide: OfferQuery): Coverage {
  const base = baseOf(wide);
  const tests = wide.filters.map(coverageOfFilter);
  return (query) => baseOf(query) === base && tests.every((test) => test(query));
}

/**
 * Queries that also find nothing if a complete reply to `wide` has no offer: queries that it covers, also with a
 * larger disk, which fits on fewer machines and costs more on each.
 */
export function emptinessOf(wide: OfferQuery): Coverage {
  const covers = coverageOf(wide);
  const { storageGB: least } = wide;
  return (query) => {
    const { storageGB } = query;
    const isLarger = least !== undefined && storageGB !== undefined && storageGB > least;
    return covers(isLarger ? { ...query, storageGB: least } : query);
  };
}

/** Returns true if one of these offers passes the filters of a query that shared searches can compare. */
export function mayFind({ filters }: OfferQuery, offers: readonly Offer[]): boolean {
  const tests = filters.map(testOf);
  return offers.some((offer) => tests.every((test) => test(offer)));
}

function testOf(filter: OfferFilter): (offer: Offer) => boolean {
  const { field, operator, value } = filter;
  const joins = JOINED[field];
  const allowed = joins === 'any' && valuesOf([filter]);
  if (allowed) {
    const set = new Set(allowed);
    const part = comparedPart(field);
    return (offer) => {
      const known = valueIn(offer, field) ?? null;
      return known === null || set.has(part(known));
    };
  }
  if (operator !== joins || typeof value !== 'number') return () => true;
  const isWithin =
    operator === 'gte' ? (offered: number) => offered >= value : (offered: number) => offered <= value;
  return (offer) => {
    const known = valueIn(offer, field);
    return typeof known !== 'number' || isWithin(known);
  };
}

function coverageOfFilter(filter: OfferFilter): Coverage {
  const { field, operator, value } = filter;
  const joins = JOINED[field];
  const own = ({ filters }: OfferQuery) => filters.filter((other) => other.field === field);
  if (joins === 'any') {
    const allowed = new Set(valuesOf([filter]));
    return (query) => valuesOf(own(query))?.every((each) => allowed.has(each)) ?? false;
  }
  if (operator !== joins || typeof value !== 'number') return () => false;
  return joins === 'gte'
    ? (query) => boundOf(own(query), 'gte') >= value
    : (query) => boundOf(own(query), 'lte') <= value;
}

/**
 * Returns the narrowest filter of a field that accepts everything that each query accepts; undefined if one query
 * does not filter by it.
 */
function joined(field: string, queries: readonly Pick<OfferQuery, 'filters'>[]): OfferFilter | undefined {
  const operator = JOINED[field];
  const own = queries.map(({ filters }) => filters.filter((filter) => filter.field === field));
  if (operator === 'gte' || operator === 'lte') {
    const bounds = own.map((filters) => boundOf(filters, operator));
    const value = operator === 'gte' ? Math.min(...bounds) : Math.max(...bounds);
    return Number.isFinite(value) ? { field, operator, value } : undefined;
  }
  const allowed = own.map((filters) => valuesOf(filters));
  if (allowed.includes(undefined)) return undefined;
  return oneOf(
    field,
    allowed.flatMap((each) => each ?? []),
  );
}

/** Returns the values that filters on one field accept; undefined if they use another form. */
function valuesOf(filters: readonly OfferFilter[]): readonly OfferScalar[] | undefined {
  const [filter] = filters;
  if (filters.length > 1 || !filter) return undefined;
  const { operator, value } = filter;
  if (operator === 'eq' && !Array.isArray(value)) return [value as OfferScalar];
  return operator === 'in' && Array.isArray(value) ? (value as readonly OfferScalar[]) : undefined;
}

/**
 * Returns the bound that filters on one field set together; without one, minus infinity for `gte` and infinity for
 * `lte`.
 */
function boundOf(filters: readonly OfferFilter[], operator: 'gte' | 'lte'): number {
  const own = filters.flatMap((filter) =>
    filter.operator === operator && typeof filter.value === 'number' ? [filter.value] : [],
  );
  return operator === 'gte' ? Math.max(...own) : Math.min(...own);
}

function oneOf(field: string, allowed: readonly OfferScalar[]): OfferFilter {
  const values = [...new Set(allowed)].sort(byText);
  const [only = null] = values;
  return values.length === 1
    ? { field, operator: 'eq', value: only }
    : { field, operator: 'in', value: values };
}

const byText = (left: OfferScalar, right: OfferScalar): number => (String(left) < String(right) ? -1 : 1);
