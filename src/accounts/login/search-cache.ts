import type { Clock } from '../../lib/clock.ts';
import type { Offer, OfferQuery } from '../../marketplace/offers/offers.ts';

/** Equal searches within this time share one reply (and one request, while it is on its way). */
export const SEARCH_SHARED_MS = 15_000;
/** A reply of which every offer is taken is asked for again, but not sooner than this. */
export const SEARCH_AGAIN_MS = 1_000;

interface Shared {
  /** On `clock.monotonic()`. */
  readonly begunAt: number;
  readonly offers: Promise<readonly Offer[]>;
  answered: boolean;
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

  /** `isTaken` says which offers nobody who asks now could have: a reply of such offers alone is used up. */
  async offers(
    query: OfferQuery,
    isTaken: (offer: Offer) => boolean = () => false,
  ): Promise<readonly Offer[]> {
    this.#forgetOld();
    const key = JSON.stringify(query);
    const shared = this.#byQuery.get(key) ?? this.#begin(key, query);
    const offers = await shared.offers;
    const mayAskAgain = this.#clock.monotonic() - shared.begunAt >= SEARCH_AGAIN_MS;
    if (offers.length === 0 || !mayAskAgain || !offers.every(isTaken)) return offers;
    const newer = this.#byQuery.get(key);
    return (newer === undefined || newer === shared ? this.#begin(key, query) : newer).offers;
  }

  /** Whether a search asked now would share a reply that is there. */
  isAnswered(query: OfferQuery): boolean {
    this.#forgetOld();
    return this.#byQuery.get(JSON.stringify(query))?.answered === true;
  }

  #forgetOld(): void {
    const oldest = this.#clock.monotonic() - SEARCH_SHARED_MS;
    for (const [key, shared] of this.#byQuery) {
      if (shared.begunAt <= oldest) this.#byQuery.delete(key);
    }
  }

  #begin(key: string, query: OfferQuery): Shared {
    const offers = this.#search(query);
    const shared: Shared = { begunAt: this.#clock.monotonic(), offers, answered: false };
    this.#byQuery.set(key, shared);
    offers.then(
      () => {
        shared.answered = true;
      },
      () => {
        if (this.#byQuery.get(key) === shared) this.#byQuery.delete(key);
      },
    );
    return shared;
  }
}
