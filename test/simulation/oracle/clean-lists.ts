import type { Machine } from '../machine.ts';

export interface CleanListsOptions {
  /** So many lists have to be read by one process. */
  readonly lists: number;
  /** From the last of them until what they told has to be acted upon. */
  readonly withinMs: number;
  readonly now: () => number;
}

/** Lists agree if they begin a poll apart; one that comes sooner, as after an action, proves nothing more. */
const APART_MS = 9_500;

interface Count {
  /** Who has read lists, and how many in a row without any call failing. */
  reader: Machine | undefined;
  lists: number;
  /** When the last list that counts was sent for. */
  listedAt: number;
  overdueAt: number;
}

/**
 * How long something that is wrong may stand: until one process has read so many complete, undamaged lists in a row,
 * nothing failed or was held up meanwhile, and time was left to act.
 */
export class CleanLists<Key> {
  readonly #options: CleanListsOptions;
  readonly #counts = new Map<Key, Count>();

  constructor(options: CleanListsOptions) {
    this.#options = options;
  }

  /** Something is wrong; it counts from the first time that this is said. */
  begin(key: Key): void {
    if (!this.#counts.has(key)) this.#counts.set(key, fresh());
  }

  end(key: Key): void {
    this.#counts.delete(key);
  }

  keys(): readonly Key[] {
    return [...this.#counts.keys()];
  }

  /** A process has sent for a list that it will get as it is, and that shows what `concerns` some of it. */
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

  /** Something stood in a process's way: what it learnt may have to be learnt again. */
  hindered(): void {
    for (const count of this.#counts.values()) Object.assign(count, fresh());
  }

  /** One of several wrong things is being put right: the others wait for their turn. */
  acted(): void {
    const { withinMs, now } = this.#options;
    for (const count of this.#counts.values())
      if (Number.isFinite(count.overdueAt)) count.overdueAt = now() + withinMs;
  }

  /** What was not put right in time. */
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
