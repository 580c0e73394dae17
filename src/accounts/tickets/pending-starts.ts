import type { InstanceSummary } from '../../instance/summary.ts';
import type { Clock } from '../../lib/clock.ts';
import type { MicroDollars } from '../../lib/money.ts';
import type { PendingRental } from './spend-brake.ts';
import type { StartRequest } from './tickets.ts';

interface Booking {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Of the running machine. */
  readonly pricePerHour: MicroDollars;
  /** On `clock.monotonic()`; undefined while the call waits for its place or its answer. */
  readonly until: number | undefined;
}

/**
 * Starts that were allowed and that no object's record shows yet: a stopped machine is recorded at the price of its
 * disk, so that the rest of its price counts here until the start came to nothing, or the time is over within which it has
 * to run. What the record shows of the price is left out meanwhile, and ends nothing: it may be of before the stop.
 */
export class PendingStarts {
  readonly #clock: Clock;
  readonly #byObject = new Map<string, Booking>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns what to tell when the call was answered or given up. */
  begin({ objectUid, pricePerHour = 0, timeoutMs }: StartRequest): (started: boolean | 'unknown') => void {
    const booking: Booking = { at: this.#clock.now(), pricePerHour, until: undefined };
    this.#byObject.set(objectUid, booking);
    return (started) => {
      if (this.#byObject.get(objectUid) !== booking) return;
      if (started === false) this.#byObject.delete(objectUid);
      else this.#byObject.set(objectUid, { ...booking, until: this.#clock.monotonic() + timeoutMs });
    };
  }

  /** What the records of these objects leave out of the prices of machines that start. */
  pending(objects: readonly InstanceSummary[], exceptUid?: string): readonly PendingRental[] {
    if (this.#byObject.size === 0) return [];
    const now = this.#clock.monotonic();
    const byUid = new Map(objects.map((object) => [object.uid, object]));
    return [...this.#byObject].flatMap(([uid, booking]) => {
      if ((booking.until ?? now + 1) <= now) this.#byObject.delete(uid);
      if (!this.#byObject.has(uid) || uid === exceptUid) return [];
      return unshown(booking, byUid.get(uid));
    });
  }
}

/** What of a start its object's record leaves out. */
function unshown(
  { at, pricePerHour }: Booking,
  object: InstanceSummary | undefined,
): readonly PendingRental[] {
  if (object?.instanceId === undefined) return [];
  const missing = pricePerHour - object.pricePerHour;
  return missing <= 0 ? [] : [{ at, pricePerHour: missing, recorded: true }];
}
