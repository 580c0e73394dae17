import type { Machine } from '../machine.ts';

export interface CleanListsOptions {
  /** Number of lists that one process must read. */
  readonly lists: number;
  /** From the last of them until what they told has to be acted upon. */
  readonly withinMs: number;
  readonly now: () => number;
}

/** Lists agree if they begin a poll apart; one that comes sooner, as after an action, proves nothing more. */
const APART_MS = 9_500;

interface Count {
  /** The process that has read lists, and their number in a row without a failed call. */
  reader: Machine | undefined;
  lists: number;
  /** When the last list that counts was sent for. */
  listedAt: number;
  overdueAt: number;
}

/**
 * Deadlines for wrong states: one process must have read that many complete, undamaged lists in a row, without a
 * failure or obstacle meanwhile, and have had time to act.
 */
export class CleanLists<Key> {
  readonly #options: CleanListsOptions;
  readonly #counts = new Map<Key, Count>();

  constructor(options: CleanListsOptions) {
    this.#options = options;
  }

  /** Begins a wrong state; it counts from the first call. */
  begin(key: Key): void {
    if (!this.#counts.has(key)) this.#counts.set(key, fresh());
  }

  end(key: Key): void {
    this.#counts.delete(key);
  }

  keys(): readonly Key[] {
    return [...this.#counts.keys()];
  }

  /** Records a request for an undamaged list that shows the states for which `concerns` is true. */
  listed(machine: Machine, concerns: (key: Key) => boolean): void {
    const { lists, withinMs, now } = this.#options;
    for (const [key, count] of this.#counts) {
      if (!concerns(key) || (count.reader === machine && now() - count.listedAt < APART_MS)) continue;
      count.listedAt = now();
      count.lists = count.reader === machine ? count.lists + 1 : 1;
      count.reader = machine;
      if (count.lists === lists) count.overdueAt = now() + withinMs;
    }
  }

  /** Records an obstacle of a process: it may have to read again. */
  hindered(): void {
    for (const count of this.#counts.values()) Object.assign(count, fresh());
  }

  /** Records that one of several wrong states is being repaired: the others wait for their turn. */
  acted(): void {
    const { withinMs, now } = this.#options;
    for (const count of this.#counts.values())
      if (Number.isFinite(count.overdueAt)) count.overdueAt = now() + withinMs;
  }

  /** Returns the states that were not repaired in time. */
  overdue(): readonly Key[] {
    if (this.#counts.size === 0) return [];
    return [...this.#counts]
      .filter(([, { overdueAt }]) => this.#options.now() >= overdueAt)
      .map(([key]) => key);
  }
}

const fresh = (): Count => ({
  reader: undefined,
  lists: 0,
  listedAt: Number.NEGATIVE_INFINITY,
  overdueAt: Number.POSITIVE_INFINITY,
});
