import type { Clock } from '../../lib/clock.ts';
import { SEARCH_KEPT_MS } from '../queue/search-desk.ts';

interface Reservation {
  readonly objectUid: string;
  /** On `clock.monotonic()`. */
  readonly until: number;
}

/** Longer than a search is kept, so that a taken offer is not chosen again from the same reply. */
export const RESERVATION_MS = SEARCH_KEPT_MS + 15_000;

/**
 * Which object is about to rent which offer of one marketplace, for all its logins. In memory only: two
 * processes that choose the same offer are told apart by the marketplace, which rents it once.
 */
export class OfferReservations {
  readonly #clock: Clock;
  readonly #byOffer = new Map<number, Reservation>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** False where another object holds the offer. Reserving again prolongs. */
  reserve(offerId: number, objectUid: string): boolean {
    this.#forgetOld();
    const held = this.#byOffer.get(offerId);
    if (held && held.objectUid !== objectUid) return false;
    this.#byOffer.delete(offerId);
    this.#byOffer.set(offerId, { objectUid, until: this.#clock.monotonic() + RESERVATION_MS });
    return true;
  }

  release(offerId: number, objectUid: string): void {
    if (this.#byOffer.get(offerId)?.objectUid === objectUid) this.#byOffer.delete(offerId);
  }

  /** Whether some object holds the offer. */
  isHeld(offerId: number): boolean {
    const held = this.#byOffer.get(offerId);
    return held !== undefined && held.until > this.#clock.monotonic();
  }

  /** Whether another object than this one holds the offer. */
  isHeldByOther(offerId: number, objectUid: string): boolean {
    return this.isHeld(offerId) && this.#byOffer.get(offerId)?.objectUid !== objectUid;
  }

  /** What was reserved first comes first: prolonging puts a reservation at the end. */
  #forgetOld(): void {
    const now = this.#clock.monotonic();
    for (const [offerId, held] of this.#byOffer) {
      if (held.until > now) return;
      this.#byOffer.delete(offerId);
    }
  }
}
