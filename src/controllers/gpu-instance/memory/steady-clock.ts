import type { Clock } from '../../../lib/clock.ts';
import type { Feed } from '../../../marketplace/feed/feed.ts';
import type { CompleteList } from '../../../marketplace/feed/feed-state.ts';

/** Times of lists that are remembered per feed. */
const MOST_LISTS = 256;
/** A list that seems to have taken longer was cut by a jump of the clock: nobody knows when it began. */
const LONGEST_LIST_MS = 600_000;

/**
 * Elapsed time that no jump of the wall clock changes: milliseconds that look like those since the epoch and
 * run with the monotonic clock. Times of lists are translated into it as they arrive, so that "begun after"
 * and "so long apart" stay true when the wall clock is set.
 */
export class SteadyClock {
  readonly #clock: Clock;
  readonly #wall: number;
  readonly #monotonic: number;
  readonly #lists = new WeakMap<Feed, Map<number, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#wall = clock.now();
    this.#monotonic = clock.monotonic();
  }

  now(): number {
    return this.#wall + this.#clock.monotonic() - this.#monotonic;
  }

  /** The steady time of a durable wall time: as long ago as the wall clock says now, never in the future. */
  fromWall(wall: number): number {
    return this.now() - Math.max(0, this.#clock.now() - wall);
  }

  /** The steady time of a monotonic one. */
  fromMonotonic(monotonic: number): number {
    return this.#wall + monotonic - this.#monotonic;
  }

  /** A list has just arrived. */
  noteList(feed: Feed, { begunAt, endedAt }: CompleteList): void {
    const took = endedAt - begunAt;
    const begun = took < 0 || took > LONGEST_LIST_MS ? Number.NEGATIVE_INFINITY : this.now() - took;
    const times = this.#lists.get(feed) ?? new Map<number, number>();
    this.#lists.set(feed, times.set(begunAt, begun));
    for (const oldest of times.keys()) {
      if (times.size <= MOST_LISTS) break;
      times.delete(oldest);
    }
  }

  /** When lists were begun, oldest first. One that was not seen to arrive counts as begun before everything. */
  listTimes(feed: Feed, begunAt: readonly number[]): readonly number[] {
    const times = this.#lists.get(feed);
    return begunAt.map((begun) => times?.get(begun) ?? Number.NEGATIVE_INFINITY);
  }
}
