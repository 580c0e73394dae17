import type { InstanceSummary } from '../../instance/summary.ts';
import type { Clock } from '../../lib/clock.ts';
import type { MicroDollars } from '../../lib/money.ts';
import type { PendingRental } from './spend-brake.ts';

/** A ticket is worth nothing after this. */
export const TICKET_MS = 5_000;
/** A call that no record ever shows has come to something or to nothing by then, with the default times of a purchase. */
const UNSEEN_MS = 300_000;

/** What became of a ticket. Only `nothing` costs nothing for sure. */
type Outcome = 'asked' | 'called' | 'rented' | 'unknown' | 'nothing';

interface Booking {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly pricePerHour: MicroDollars;
  /** The newest rental on the object's record when it asked: a newer one is this one. */
  readonly recordedBefore: number;
  readonly outcome: Outcome;
  /** On `clock.monotonic()`: how long it counts where no record shows it. */
  readonly until: number;
}

/** One object's right to rent, as its ticket knows it. */
export interface RentalBooking {
  /** The call goes out now: true once, while the ticket is valid and the object has not asked for another. */
  use(): boolean;
  /** Something was rented, or nothing, or nobody can say. */
  settle(rented: boolean | 'unknown'): void;
}

/**
 * Rentals that were allowed and that no object's record shows in full yet, so that ten workers at once cannot all pass
 * a limit that leaves room for one. A call that was sent counts until the record of its object says what became of
 * it, however long that takes.
 */
export class PendingRentals {
  readonly #clock: Clock;
  readonly #byObject = new Map<string, Booking>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Who asks knows that its last rental came to nothing, also where its record does not say so yet. */
  asksAnew(objectUid: string): void {
    this.#byObject.set(objectUid, { ...NOTHING, at: this.#clock.now() });
  }

  /** A ticket is given to this object, which the account's cache shows like that. */
  begin(objectUid: string, pricePerHour: MicroDollars, object: InstanceSummary | undefined): RentalBooking {
    let booking: Booking = {
      at: this.#clock.now(),
      pricePerHour,
      recordedBefore: object?.newestRentalAt ?? 0,
      outcome: 'asked',
      until: this.#clock.monotonic() + TICKET_MS,
    };
    const becomes = (change: Partial<Booking>): boolean => {
      if (this.#byObject.get(objectUid) !== booking) return false;
      booking = { ...booking, ...change };
      this.#byObject.set(objectUid, booking);
      return true;
    };
    this.#byObject.set(objectUid, booking);
    return {
      use: () => {
        const now = this.#clock.monotonic();
        const isValid = booking.outcome === 'asked' && booking.until > now;
        return isValid && becomes({ outcome: 'called', until: now + UNSEEN_MS });
      },
      settle: (rented) => {
        becomes({ outcome: OUTCOMES[`${rented}`] });
      },
    };
  }

  /** What the records of these objects do not show in full yet. */
  pending(objects: readonly InstanceSummary[]): readonly PendingRental[] {
    if (this.#byObject.size === 0) return [];
    const now = this.#clock.monotonic();
    const byUid = new Map(objects.map((object) => [object.uid, object]));
    return [...this.#byObject].flatMap(([uid, booking]) => {
      const object = byUid.get(uid);
      if (isOver(booking, object, now)) this.#byObject.delete(uid);
      return this.#byObject.has(uid) ? unshown(booking, object) : [];
    });
  }

  /** Uids of objects whose ticket is neither used nor over. Who uses one has its intent on record by then. */
  unused(): readonly string[] {
    const now = this.#clock.monotonic();
    return [...this.#byObject].flatMap(([uid, { outcome, until }]) =>
      outcome === 'asked' && until > now ? [uid] : [],
    );
  }

  /** Whether this process knows what the rental may cost that is open on this object's record. */
  knows(objectUid: string): boolean {
    return this.#byObject.has(objectUid);
  }

  /** Whether an object other than this one, or any at all, is between its ticket and its result. */
  isBusyFor(objectUid: string | undefined): boolean {
    const now = this.#clock.monotonic();
    return [...this.#byObject].some(
      ([uid, { outcome, until }]) => uid !== objectUid && UNSETTLED.has(outcome) && until > now,
    );
  }
}

const NOTHING = { pricePerHour: 0, recordedBefore: 0, outcome: 'nothing', until: 0 } as const;
const UNSETTLED: ReadonlySet<Outcome> = new Set<Outcome>(['asked', 'called', 'unknown']);
const OUTCOMES = { true: 'rented', false: 'nothing', unknown: 'unknown' } as const;

/** Whether the object's record shows the intent of this booking, or more of it. */
function isRecorded({ recordedBefore }: Booking, object: InstanceSummary | undefined): boolean {
  return (object?.newestRentalAt ?? 0) > recordedBefore;
}

/** A ticket ends with its time, a call when its record is closed, and what came to nothing is kept as long as a record still shows it. */
function isOver(booking: Booking, object: InstanceSummary | undefined, now: number): boolean {
  if (booking.outcome === 'nothing') return object?.hasOpenIntent !== true;
  if (booking.outcome === 'asked' || !isRecorded(booking, object)) return booking.until <= now;
  return object?.hasOpenIntent !== true;
}

/** What of a booking its object's record leaves out. */
function unshown(booking: Booking, object: InstanceSummary | undefined): readonly PendingRental[] {
  const { at, pricePerHour, outcome } = booking;
  const recorded = isRecorded(booking, object);
  const isShown = outcome === 'nothing' || (recorded && (object?.pricePerHour ?? 0) > 0);
  return isShown ? [] : [{ at, pricePerHour, recorded }];
}
