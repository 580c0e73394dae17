import type { CompleteList } from '../../marketplace/feed/feed-event.ts';

/**
 * For how long machines have been missing from every complete list. One list without a machine says little: it is
 * forgotten as soon as a list shows the machine again.
 */
export class Absences {
  /** When the first list without it ended, by id. */
  #since = new Map<number, number>();
  #latestBegunAt = Number.NEGATIVE_INFINITY;

  /** `ids`: those that matter; of any other nothing is remembered. */
  see({ begunAt, endedAt, rows }: CompleteList, ids: Iterable<number>): void {
    const missing = [...ids].filter((id) => !rows.has(id));
    this.#since = new Map(missing.map((id) => [id, this.#since.get(id) ?? endedAt]));
    this.#latestBegunAt = begunAt;
  }

  /** Ids that two lists which lie further apart than `ms`, and every list between them, did not show. */
  longerThan(ms: number): ReadonlySet<number> {
    const long = [...this.#since].filter(([, since]) => this.#latestBegunAt - since > ms);
    return new Set(long.map(([id]) => id));
  }
}
