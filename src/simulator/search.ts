import { COMPUTED, columnOf, type OfferView, offerRow } from './offer-row.ts';
import type { Condition, Operator, SearchQuery } from './search-query.ts';
import type { Column, JsonObject, Offer, World } from './world.ts';

/*
 * Runs a search over all offers: conditions first, then the order, then rows for those that are shown.
 * Ties are broken by offer id. PURE.
 */

type Test = (offer: Offer, view: OfferView) => boolean;

/** Ids in order and the view to render rows with. */
export function findOffers(
  world: World,
  query: SearchQuery,
  callerId: number | undefined,
): readonly JsonObject[] {
  const view: OfferView = {
    world,
    now: world.now,
    callerId,
    pricing: query.pricing,
    storageGB: query.storageGB,
  };
  return matching(world, query, view).map((offer) => offerRow(offer, view));
}

/** The offers that a query finds, in its order and within its limit. */
export function matching(world: World, query: SearchQuery, view: OfferView): readonly Offer[] {
  const tests = query.conditions.map(testOf).filter((test) => test !== undefined);
  const found: Offer[] = [];
  for (const offer of Object.values(world.tables.offers)) {
    if (tests.every((test) => test(offer, view))) found.push(offer);
  }
  return sorted(found, query, view).slice(0, query.limit);
}

/** Undefined for columns that no offer has: clients pass unknown fields on, and none is refused. */
function testOf(condition: Condition): Test | undefined {
  const { column, operator, operand } = condition;
  const compare = comparison(operator, operand);
  const computed = COMPUTED[column];
  if (computed) return (offer, view) => compare(computed(offer, view));
  return (offer) => {
    const value = offer.columns[column];
    return value === undefined || compare(value);
  };
}

type Compare = (value: Column) => boolean;

/** A test of one value against an operand of the wire. */
export function comparison(operator: Operator, operand: Column | readonly Column[]): Compare {
  if (Array.isArray(operand)) {
    const members = new Set(operand as readonly Column[]);
    return operator === 'notin' ? (value) => !members.has(value) : (value) => members.has(value);
  }
  const bound = operand as Column;
  switch (operator) {
    case 'eq':
      return (value) => value === bound;
    case 'neq':
      return (value) => value !== bound;
    case 'gt':
      return (value) => relation(value, bound) > 0;
    case 'gte':
      return (value) => relation(value, bound) >= 0;
    case 'lt':
      return (value) => relation(value, bound) < 0;
    case 'lte':
      return (value) => relation(value, bound) <= 0;
    case 'in':
      return (value) => value === bound;
    case 'notin':
      return (value) => value !== bound;
    default:
      return operator satisfies never;
  }
}

/** Above, equal or below as a number's sign; NaN, which no test accepts, where the two cannot be compared. */
function relation(value: Column, bound: Column): number {
  if (value === null || bound === null || typeof value !== typeof bound) return Number.NaN;
  if (value === bound) return 0;
  return value > bound ? 1 : -1;
}

function sorted(offers: readonly Offer[], query: SearchQuery, view: OfferView): readonly Offer[] {
  const keyed = offers.map((offer) => ({
    offer,
    keys: query.order.map(({ column }) => columnOf(offer, column, view) ?? null),
  }));
  keyed.sort((left, right) => {
    for (const [index, { descending }] of query.order.entries()) {
      const difference = compareColumns(left.keys[index] ?? null, right.keys[index] ?? null);
      if (difference !== 0) return descending ? -difference : difference;
    }
    return left.offer.id - right.offer.id;
  });
  return keyed.map(({ offer }) => offer);
}

/** Null sorts below everything. */
export function compareColumns(left: Column, right: Column): number {
  if (left === right) return 0;
  if (left === null) return -1;
  if (right === null) return 1;
  if (typeof left === 'string' && typeof right === 'string') return left < right ? -1 : 1;
  return Number(left) - Number(right);
}
