import type { Offer, OfferQuery } from './offer.ts';

export type { Offer, OfferFilter, OfferOrder, OfferQuery, PricingType } from './offer.ts';
export type { FilterOperator, OfferScalar } from './wire/filter.ts';

/** What every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Milliseconds for the whole call with waiting and repeats. Where it is not given, each attempt has the
   * client's own deadline and waiting is bounded by the pacer.
   */
  readonly deadlineMs?: number | undefined;
}

/** Offers (specification 4.4). */
export interface OffersResource {
  /** Offers that match, in the order asked for. A row that cannot be read is left out. A read: may be repeated. */
  search(query: OfferQuery, options?: CallOptions): Promise<Offer[]>;
}
