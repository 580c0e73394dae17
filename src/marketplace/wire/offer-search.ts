import type { OfferFilter, OfferQuery } from '../offers/offer.ts';
import type { WireFilter, WireSearchControls } from './filter.ts';

/** The body of an offer search: controls and filters side by side. */
export function toOfferSearch(query: OfferQuery): Record<string, unknown> {
  return { ...toWireFilters(query.filters), ...toControls(query) };
}

function toControls({ order = [], pricing, limit, storageGB }: OfferQuery): WireSearchControls {
  return {
    ...(order.length > 0 ? { order: order.map(({ field, direction }) => [field, direction] as const) } : {}),
    ...(pricing === undefined ? {} : { type: pricing }),
    ...(limit === undefined ? {} : { limit }),
    ...(storageGB === undefined ? {} : { allocated_storage: storageGB }),
  };
}

/** Two filters of one field are joined under its name. */
function toWireFilters(filters: readonly OfferFilter[]): Record<string, WireFilter> {
  const wire: Record<string, WireFilter> = {};
  for (const { field, operator, value } of filters) {
    wire[field] = { ...wire[field], [operator]: value };
  }
  return wire;
}
