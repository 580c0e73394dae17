import type { Clock } from '../../lib/clock.ts';

interface Reservation {
  readonly objectUid: string;
  /** On `clock.monotonic()`. */
  readonly until: number;
}

/** Longer than a search is shared, so that a taken offer is not chosen again from the same reply. */
export const RESERVATION_MS = 20_000;

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

  /** Offers that others than this object hold. */
  heldByOthers(objectUid: string): ReadonlySet<number> {
    this.#forgetOld();
    const others = [...this.#byOffer].filter(([, held]) => held.objectUid !== objectUid);
    return new Set(others.map(([offerId]) => offerId));
  }

  #forgetOld(): void {
    const now = this.#clock.monotonic();
    for (const [offerId, held] of this.#byOffer) {
      if (held.until <= now) this.#byOffer.delete(offerId);
    }
  }
}
