import type { Requester } from '../http/request.ts';
import { offerRow, offersReply, toOffer } from '../wire/offer.ts';
import { toOfferSearch } from '../wire/offer-search.ts';
import type { Offer, OfferQuery } from './offer.ts';

export type { FilterOperator, OfferScalar } from '../wire/filter.ts';
export type { Offer, OfferFilter, OfferOrder, OfferQuery, PricingType } from './offer.ts';

/** What every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Milliseconds for the whole call with waiting and repeats. Where it is not given, each attempt has the
   * client's own deadline and waiting is bounded by the pacer.
   */
  readonly deadlineMs?: number | undefined;
  /** Asked when the call has waited for its place: false, and it is not sent (`aborted`, `refused`). */
  readonly mayLeave?: (() => boolean) | undefined;
}

/** Offers (specification 4.4). */
export interface OffersResource {
  /** Offers that match, in the order asked for. A row that cannot be read is left out. A read: may be repeated. */
  search(query: OfferQuery, options?: CallOptions): Promise<Offer[]>;
}

/** Offers over one requester. */
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
      return readableOffers(value.offers);
    },
  };
}

/** One bad row does not spoil the page. */
function readableOffers(rows: readonly unknown[]): Offer[] {
  return rows.flatMap((row) => {
    const parsed = offerRow.safeParse(row);
    return parsed.success ? [toOffer(parsed.data)] : [];
  });
}
