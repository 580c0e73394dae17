import type { CompleteList } from '../../marketplace/feed/feed-state.ts';

/** A list that seems to have taken longer was cut by a jump of the clock: nobody knows when it began. */
const LONGEST_LIST_MS = 600_000;

/**
 * For how long machines have been missing from every complete list. One list without a machine says little: it is
 * forgotten as soon as a list shows the machine again. All times are steady ones, which no jump of a wall clock moves.
 */
export class Absences {
  /** When the first list without it ended, by id. */
  #since = new Map<number, number>();
  #latestBegunAt = Number.NEGATIVE_INFINITY;

  /** A list that has just arrived, at `now` (`clock.monotonic()`). `ids`: those that matter; of any other nothing is remembered. */
  see({ begunAt, endedAt, rows }: CompleteList, ids: Iterable<number>, now: number): void {
    const missing = [...ids].filter((id) => !rows.has(id));
    this.#since = new Map(missing.map((id) => [id, this.#since.get(id) ?? now]));
    const took = endedAt - begunAt;
    this.#latestBegunAt = took < 0 || took > LONGEST_LIST_MS ? Number.NEGATIVE_INFINITY : now - took;
  }

  /** It is there although lists do not show it: what they say is worth nothing. */
  found(id: number): void {
    this.#since.delete(id);
  }

  /** Ids that two lists which lie further apart than `ms`, and every list between them, did not show. */
  longerThan(ms: number): ReadonlySet<number> {
    const long = [...this.#since].filter(([, since]) => this.#latestBegunAt - since > ms);
    return new Set(long.map(([id]) => id));
  }
}
