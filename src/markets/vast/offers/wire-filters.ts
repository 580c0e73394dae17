import { MarketplaceError } from '../../../market/errors.ts';
import type { FilterOperator, OfferFilter, OfferScalar } from '../../../market/offer.ts';
import { columnOfFact, type OfferColumn } from './columns.ts';
import { findOfferField, unknownFieldMessage } from './offer-fields.ts';

/** Filters of one column: `{op: value}`, joined by AND. The wire has one value for each operator. */
export interface WireFilter
  extends Partial<Record<Exclude<FilterOperator, ListOperator>, OfferScalar>>,
    Partial<Record<ListOperator, readonly OfferScalar[]>> {}

type ListOperator = 'in' | 'notin';

/**
 * Returns the column of a fact, or of a field that only this market has. Throws a MarketplaceError for any other name:
 * the service would ignore the filter, and offers that it excludes would be rented.
 */
export function columnOf(field: string): Pick<OfferColumn, 'name' | 'toWire'> {
  const column = columnOfFact(field);
  if (column) return column;
  if (findOfferField(field).type === 'known') return { name: field, toWire: (value) => value };
  const why = `search not sent: ${unknownFieldMessage(field)}`;
  throw new MarketplaceError(why, { kind: 'invalidRequest', outcome: 'refused' });
}

/**
 * Returns the filters by column. They accept exactly the offers that every given filter accepts, also if several use
 * one operator on one column. Throws a MarketplaceError if no offer has a field of a filter.
 */
export function toWireFilters(filters: readonly OfferFilter[]): Record<string, WireFilter> {
  const wire: Record<string, WireFilter> = {};
  for (const { field, operator, value } of filters) {
    const { name, toWire } = columnOf(field);
    const values = [value].flat().map((each: OfferScalar) => toWire(each));
    wire[name] = joined(wire[name] ?? {}, operator, values);
  }
  return wire;
}

/** Value of `eq` that removes a default filter of the service, and requires nothing. */
const ANY = 'any';

/** Returns the filters of a column with one more condition. */
function joined(before: WireFilter, operator: FilterOperator, values: readonly OfferScalar[]): WireFilter {
  const [value = null] = values;
  switch (operator) {
    case 'in': {
      const common = before.in?.filter((each) => values.includes(each)) ?? values;
      return common.length > 0 ? { ...before, in: common } : without(before, before.in ?? []);
    }
    case 'notin':
      return without(before, values);
    case 'eq': {
      if (before.eq === undefined || before.eq === ANY) return { ...before, eq: value };
      return value === before.eq || value === ANY ? before : joined(before, 'neq', [before.eq]);
    }
    case 'neq':
      if (before.neq === undefined) return { ...before, neq: value };
      return value === before.neq ? before : without(before, [value]);
    case 'gt':
    case 'gte':
      return { ...before, [operator]: outermost(before[operator], value, Math.max) };
    case 'lt':
    case 'lte':
      return { ...before, [operator]: outermost(before[operator], value, Math.min) };
  }
}

/** Returns the filters that also exclude these values. */
function without(before: WireFilter, values: readonly OfferScalar[]): WireFilter {
  return { ...before, notin: [...new Set([...(before.notin ?? []), ...values])] };
}

/** Returns the tighter of two bounds. Texts have no order at the service: the later one is sent. */
function outermost(
  before: OfferScalar | undefined,
  bound: OfferScalar,
  tighter: (left: number, right: number) => number,
): OfferScalar {
  return typeof before === 'number' && typeof bound === 'number' ? tighter(before, bound) : bound;
}
