import { ownValue } from '../json.ts';
import type { Column, Offer } from '../tables/market.ts';
import type { World } from '../world/world.ts';
import { rowsOf } from '../world/world-store.ts';
import { COMPUTED, columnReader, type OfferView } from './offer-row.ts';
import type { Condition, Operator, SearchQuery } from './search-query.ts';

/*
 * Runs a search over all offers: conditions first, then the order, as far as the limit goes. Ties are
 * broken by offer id. PURE.
 */

type Test = (offer: Offer, index: number, view: OfferView) => boolean;

/** Returns the inputs of this search's rows. */
export function viewOf(world: World, query: SearchQuery, callerId: number | undefined): OfferView {
  return { world, now: world.now, callerId, pricing: query.pricing, storageGB: query.storageGB };
}

/** Returns the offers that a query finds, in its order and within its limit. */
export function matching(query: SearchQuery, view: OfferView): readonly Offer[] {
  const offers = rowsOf(view.world.tables.offers);
  const tests = query.conditions.flatMap((condition) => testOf(condition, offers) ?? []);
  const found = offers.filter((offer, index) => tests.every((test) => test(offer, index, view)));
  return firstInOrder(found, query, view);
}

/**
 * Returns the test of a condition; undefined for a column that no offer has: clients send unknown fields, and none is
 * refused.
 */
function testOf({ column, operator, operand }: Condition, offers: readonly Offer[]): Test | undefined {
  const compare = comparison(operator, operand);
  const computed = ownValue(COMPUTED, column);
  if (computed) return (offer, _index, view) => compare(computed(offer, view));
  const values = valuesOf(offers, column);
  if (!values) return undefined;
  return (_offer, index) => {
    const value = values[index];
    return value === undefined || compare(value);
  };
}

type Values = readonly (Column | undefined)[];

/** Constant columns of offers, side by side: reading each offer takes most of a search. */
const known = new WeakMap<readonly Offer[], Map<string, Values>>();

function valuesOf(offers: readonly Offer[], column: string): Values | undefined {
  const columns = known.get(offers) ?? new Map<string, Values>();
  const kept = columns.get(column);
  if (kept) return kept;
  const values = offers.map((offer) => ownValue(offer.columns, column));
  // Names that clients invent are not worth caching.
  if (values.every((value) => value === undefined)) return undefined;
  known.set(offers, columns.set(column, values));
  return values;
}

/** Returns true if a value passes a test. */
export type Compare = (value: Column) => boolean;

/** Tests of each operator on the relation between a value and its operand. */
const BY_RELATION: Readonly<Record<'gt' | 'gte' | 'lt' | 'lte', (relation: number) => boolean>> = {
  gt: (relation) => relation > 0,
  gte: (relation) => relation >= 0,
  lt: (relation) => relation < 0,
  lte: (relation) => relation <= 0,
};

/** Returns the test of an operator and its operand. */
export function comparison(operator: Operator, operand: Column | readonly Column[]): Compare {
  const members = new Set(Array.isArray(operand) ? (operand as readonly Column[]) : [operand as Column]);
  switch (operator) {
    case 'eq':
    case 'in':
      return (value) => members.has(value);
    case 'neq':
    case 'notin':
      return (value) => !members.has(value);
    default: {
      const accepts = BY_RELATION[operator];
      const bound = operand as Column;
      return (value) => accepts(relation(value, bound));
    }
  }
}

/**
 * Returns the sign of the comparison: above, equal or below; NaN, which no test accepts, if the two cannot be compared.
 */
function relation(value: Column, bound: Column): number {
  if (value === null || bound === null || typeof value !== typeof bound) return Number.NaN;
  if (value === bound) return 0;
  return value > bound ? 1 : -1;
}

interface Keyed {
  readonly offer: Offer;
  readonly keys: readonly Column[];
}

/** Returns the first `limit` offers in order, without sorting the others. */
function firstInOrder(offers: readonly Offer[], query: SearchQuery, view: OfferView): readonly Offer[] {
  const { order, limit } = query;
  const readers = order.map(({ column }) => columnReader(column));
  const best: Keyed[] = [];
  for (const offer of offers) {
    const keyed = { offer, keys: readers.map((read) => read(offer, view) ?? null) };
    const last = best.at(-1);
    if (best.length >= limit && last && compareKeyed(keyed, last, order) >= 0) continue;
    best.splice(placeOf(best, keyed, order), 0, keyed);
    if (best.length > limit) best.pop();
  }
  return best.map(({ offer }) => offer);
}

/** Returns the position of a row among ordered rows. */
function placeOf(rows: readonly Keyed[], row: Keyed, order: SearchQuery['order']): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = rows[middle];
    if (other && compareKeyed(other, row, order) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function compareKeyed(left: Keyed, right: Keyed, order: SearchQuery['order']): number {
  for (let index = 0; index < order.length; index += 1) {
    const difference = compareColumns(left.keys[index] ?? null, right.keys[index] ?? null);
    if (difference !== 0) return order[index]?.descending ? -difference : difference;
  }
  return left.offer.id - right.offer.id;
}

/** Compares two columns; null is below everything. */
export function compareColumns(left: Column, right: Column): number {
  if (left === right) return 0;
  if (left === null) return -1;
  if (right === null) return 1;
  if (typeof left === 'string' && typeof right === 'string') return left < right ? -1 : 1;
  return Number(left) - Number(right);
}
