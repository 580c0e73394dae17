import type { Clock } from '../../lib/clock.ts';

interface Waiting {
  readonly objectUid: string;
  /** On `clock.monotonic()`: when it was told to ask again. */
  readonly dueAt: number;
}

/** Who does not ask again within this time after its turn has given up. */
const PATIENCE_MS = 2_000;

/**
 * Who waits for a paced rental, first come first served: each is told when its own turn comes, so that a
 * thousand objects do not ask a thousand times for every place.
 */
export class RentalLine {
  readonly #clock: Clock;
  readonly #gapMs: number;
  #waiting: readonly Waiting[] = [];

  constructor(clock: Clock, gapMs: number) {
    this.#clock = clock;
    this.#gapMs = gapMs;
  }

  /** How many are before this object. 0: it is its turn. */
  ahead(objectUid: string): number {
    const now = this.#clock.monotonic();
    this.#waiting = this.#waiting.filter((entry) => entry.dueAt + PATIENCE_MS > now);
    const place = this.#waiting.findIndex((entry) => entry.objectUid === objectUid);
    return place < 0 ? this.#waiting.length : place;
  }

  /** Takes or keeps a place in the line. Returns after how many milliseconds to ask again. */
  wait(objectUid: string, nextPlaceMs: number): number {
    const ahead = this.ahead(objectUid);
    // A place that someone holds for a call that is about to start is followed by one gap, not by its expiry.
    const waitMs = Math.max(MIN_WAIT_MS, Math.min(nextPlaceMs, this.#gapMs) + ahead * this.#gapMs);
    const entry: Waiting = { objectUid, dueAt: this.#clock.monotonic() + waitMs };
    const known = this.#waiting.some((other) => other.objectUid === objectUid);
    this.#waiting = known
      ? this.#waiting.map((other) => (other.objectUid === objectUid ? entry : other))
      : [...this.#waiting, entry];
    return waitMs;
  }

  leave(objectUid: string): void {
    this.#waiting = this.#waiting.filter((entry) => entry.objectUid !== objectUid);
  }
}

const MIN_WAIT_MS = 20;
