import type { Clock } from '../../lib/clock.ts';
import type { MicroDollars } from '../../lib/money.ts';
import type { AccountObject } from '../account-object.ts';
import type { PendingRental } from './spend-brake.ts';

/** A ticket is worth nothing after this. */
export const TICKET_MS = 5_000;
/** A call that was begun is over after this at the latest; by then the object's record shows it. */
const CALL_MS = 60_000;

interface Pending {
  readonly objectUid: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly pricePerHour: MicroDollars;
  readonly settled: boolean;
  /** On `clock.monotonic()`. */
  readonly until: number;
}

/**
 * Rentals that were allowed and that no object's record shows yet, so that ten workers at once cannot all
 * pass a limit that leaves room for one.
 */
export class PendingRentals {
  readonly #clock: Clock;
  readonly #byTicket = new Map<number, Pending>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(ticketId: number, objectUid: string, pricePerHour: MicroDollars): void {
    const until = this.#clock.monotonic() + TICKET_MS;
    const at = this.#clock.now();
    this.#byTicket.set(ticketId, { at, objectUid, pricePerHour, until, settled: false });
  }

  /** The call goes out now: true once, while the ticket is valid. */
  use(ticketId: number): boolean {
    const pending = this.#byTicket.get(ticketId);
    const now = this.#clock.monotonic();
    if (!pending || pending.until <= now || pending.until > now + TICKET_MS) return false;
    this.#byTicket.set(ticketId, { ...pending, until: now + CALL_MS });
    return true;
  }

  /** Nothing was rented: it counts no more. */
  drop(ticketId: number): void {
    this.#byTicket.delete(ticketId);
  }

  /** Something was rented: others may go on, and it counts until the object's record shows it. */
  settle(ticketId: number): void {
    const pending = this.#byTicket.get(ticketId);
    if (pending) this.#byTicket.set(ticketId, { ...pending, settled: true });
  }

  /** What the records of these objects do not show in full yet. */
  pending(objects: readonly AccountObject[]): readonly PendingRental[] {
    this.#forgetOld();
    if (this.#byTicket.size === 0) return [];
    const byUid = new Map(objects.map((object) => [object.uid, object]));
    return [...this.#byTicket.values()].flatMap(({ objectUid, at, pricePerHour }) => {
      const object = byUid.get(objectUid);
      // An intent carries the time at which its pass began, a moment before the ticket.
      const recorded = (object?.newestRentalAt ?? 0) > at - TICKET_MS;
      return recorded && (object?.pricePerHour ?? 0) > 0 ? [] : [{ at, pricePerHour, recorded }];
    });
  }

  /** Whether an object other than this one is between its ticket and its result. */
  isBusyFor(objectUid: string): boolean {
    this.#forgetOld();
    return [...this.#byTicket.values()].some((entry) => entry.objectUid !== objectUid && !entry.settled);
  }

  #forgetOld(): void {
    const now = this.#clock.monotonic();
    for (const [id, entry] of this.#byTicket) {
      if (entry.until <= now) this.#byTicket.delete(id);
    }
  }
}
