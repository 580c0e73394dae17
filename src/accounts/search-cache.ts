import type { Clock } from '../lib/clock.ts';
import type { Offer, OfferQuery } from '../marketplace/offers.ts';

/** Equal searches within this time share one reply (and one request, while it is on its way). */
export const SEARCH_SHARED_MS = 15_000;

interface Shared {
  /** On `clock.monotonic()`. */
  readonly until: number;
  readonly offers: Promise<readonly Offer[]>;
}

/** Searches of one login. A failed search is shared only while it is on its way. */
export class SearchCache {
  readonly #clock: Clock;
  readonly #search: (query: OfferQuery) => Promise<readonly Offer[]>;
  readonly #byQuery = new Map<string, Shared>();

  constructor(clock: Clock, search: (query: OfferQuery) => Promise<readonly Offer[]>) {
    this.#clock = clock;
    this.#search = search;
  }

  offers(query: OfferQuery): Promise<readonly Offer[]> {
    const now = this.#clock.monotonic();
    for (const [key, shared] of this.#byQuery) {
      if (shared.until <= now) this.#byQuery.delete(key);
    }
    const key = JSON.stringify(query);
    const shared = this.#byQuery.get(key) ?? this.#begin(key, query, now + SEARCH_SHARED_MS);
    return shared.offers;
  }

  #begin(key: string, query: OfferQuery, until: number): Shared {
    const offers = this.#search(query);
    const shared: Shared = { until, offers };
    this.#byQuery.set(key, shared);
    offers.catch(() => {
      if (this.#byQuery.get(key) === shared) this.#byQuery.delete(key);
    });
    return shared;
  }
}
