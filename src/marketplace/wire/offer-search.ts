import type { OfferFilter, OfferQuery } from '../offer.ts';
import type { OfferScalar, WireOfferSearch } from './filter.ts';

/** The body of an offer search; two filters of one field are joined under its name. */
export function toOfferSearch(query: OfferQuery): WireOfferSearch {
  return {
    ...toWireFilters(query.filters),
    ...(query.order && query.order.length > 0
      ? { order: query.order.map(({ field, direction }): [string, 'asc' | 'desc'] => [field, direction]) }
      : {}),
    ...(query.pricing === undefined ? {} : { type: query.pricing }),
    ...(query.limit === undefined ? {} : { limit: query.limit }),
    ...(query.storageGB === undefined ? {} : { allocated_storage: query.storageGB }),
  };
}

/** Filters as `{field: {op: value}}`. */
export function toWireFilters(
  filters: readonly OfferFilter[],
): Record<string, Record<string, OfferScalar | readonly OfferScalar[]>> {
  const wire: Record<string, Record<string, OfferScalar | readonly OfferScalar[]>> = {};
  for (const { field, operator, value } of filters) {
    wire[field] = { ...wire[field], [operator]: value };
  }
  return wire;
}
