import * as z from 'zod';
import type { CallOptions } from '../../../market/call-options.ts';
import type { Offer, OfferFilter, OfferQuery, OfferScalar } from '../../../market/offer.ts';
import type { Requester } from '../http/call.ts';
import { toId } from '../ids.ts';
import { wireId } from '../scalars.ts';
import { COLUMN_SHAPE, factsOfRow } from './columns.ts';
import { columnOf, toWireFilters } from './wire-filters.ts';

/**
 * Control keys of a search body (specification 4.4); the body also contains the filters, each under its field.
 */
export interface WireSearchControls {
  readonly order?: readonly (readonly [field: string, direction: 'asc' | 'desc'])[];
  readonly type?: 'on-demand' | 'bid' | 'reserved';
  readonly limit?: number;
  readonly allocated_storage?: number;
}

/** Offers (specification 4.4). */
export interface OffersResource {
  /** Returns the matching offers in the requested order. An unreadable row is left out. A read: may be repeated. */
  search(query: OfferQuery, options?: CallOptions): Promise<Offer[]>;
}

/**
 * An offer on the wire (specification 2.2). Only `id` is required; a value that is missing, null or of the wrong type
 * counts as missing. Unknown fields are kept for filters.
 */
export const offerRow = z.looseObject({
  id: wireId,
  ...COLUMN_SHAPE,
});

/** An offer row in wire names. */
export type WireOffer = z.infer<typeof offerRow>;

/** Reply of an offer search. Rows are parsed one by one, so that an invalid one does not invalidate the page. */
export const offersReply = z.looseObject({ offers: z.array(z.unknown()) });

function scalarFields(row: WireOffer): Record<string, OfferScalar> {
  const fields: Record<string, OfferScalar> = {};
  for (const [name, value] of Object.entries(row)) {
    if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) {
      fields[name] = value as OfferScalar;
    }
  }
  return fields;
}

/** Returns the offer in this program's names and units. */
export function toOffer(row: WireOffer): Offer {
  return { id: toId(row.id), ...factsOfRow(row), fields: scalarFields(row) };
}

/**
 * Returns the body of an offer search: controls and filters side by side. Throws a MarketplaceError if no offer has a
 * field of the query.
 */
export function toOfferSearch(query: OfferQuery): Record<string, unknown> {
  const { filters, storageGB } = query;
  const apart = storageGB === undefined ? filters : filters.map(besideControl);
  return { ...toWireFilters(apart), ...toControls(query) };
}

/** Returns a filter that shares its key with the control of the storage under the column of the disk. */
function besideControl(filter: OfferFilter): OfferFilter {
  return filter.field === 'allocated_storage' ? { ...filter, field: 'diskGB' } : filter;
}

function toControls({ order = [], pricing, limit, storageGB }: OfferQuery): WireSearchControls {
  return {
    ...(order.length > 0
      ? { order: order.map(({ field, direction }) => [columnOf(field).name, direction] as const) }
      : {}),
    ...(pricing === undefined ? {} : { type: pricing }),
    ...(limit === undefined ? {} : { limit }),
    ...(storageGB === undefined ? {} : { allocated_storage: storageGB }),
  };
}

/** Creates the offer calls over one requester. */
export function createOffers(requester: Requester): OffersResource {
  return {
    async search(query, options) {
      const { value } = await requester.send({
        operation: 'search offers',
        endpointClass: 'search',
        area: 'search',
        effect: 'read',
        method: 'POST',
        path: '/api/v0/bundles/',
        body: toOfferSearch(query),
        reply: offersReply,
        bounds: options,
      });
      // An invalid row does not invalidate the page.
      return value.offers.flatMap((row) => {
        const parsed = offerRow.safeParse(row);
        return parsed.success ? [toOffer(parsed.data)] : [];
      });
    },
  };
}
