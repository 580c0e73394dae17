import * as z from 'zod';
import type { CallOptions } from '../../../market/call-options.ts';
import { MarketplaceError } from '../../../market/errors.ts';
import type { FilterOperator, Offer, OfferFilter, OfferQuery, OfferScalar } from '../../../market/offer.ts';
import type { Requester } from '../http/call.ts';
import { toId } from '../ids.ts';
import { wireId } from '../scalars.ts';
import { COLUMN_SHAPE, columnOfFact, factsOfRow, type OfferColumn } from './columns.ts';
import { findOfferField, unknownFieldMessage } from './offer-fields.ts';

/** Filters of one field: `{op: value}`, joined by AND. */
export type WireFilter = Partial<Record<FilterOperator, OfferScalar | readonly OfferScalar[]>>;

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
 * Returns the column of a fact, or of a field that only this market has. Throws a MarketplaceError for any other name:
 * the service would ignore the filter, and offers that it excludes would be rented.
 */
function columnOf(field: string): Pick<OfferColumn, 'name' | 'toWire'> {
  const column = columnOfFact(field);
  if (column) return column;
  if (findOfferField(field).type === 'known') return { name: field, toWire: (value) => value };
  const why = `search not sent: ${unknownFieldMessage(field)}`;
  throw new MarketplaceError(why, { kind: 'invalidRequest', outcome: 'refused' });
}

/**
 * Returns the body of an offer search: controls and filters side by side. Throws a MarketplaceError if no offer has a
 * field of the query.
 */
export function toOfferSearch(query: OfferQuery): Record<string, unknown> {
  return { ...toWireFilters(query.filters), ...toControls(query) };
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

/** Returns the filters by column; two filters of one field are joined under its column. */
function toWireFilters(filters: readonly OfferFilter[]): Record<string, WireFilter> {
  const wire: Record<string, WireFilter> = {};
  for (const { field, operator, value } of filters) {
    const { name, toWire } = columnOf(field);
    wire[name] = {
      ...wire[name],
      [operator]: Array.isArray(value)
        ? value.map((each: OfferScalar) => toWire(each))
        : toWire(value as OfferScalar),
    };
  }
  return wire;
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
