import { type Mode, runSchedule, type ScheduleResult } from './schedule.ts';
import type { MarketName } from './simulated-market.ts';
import type { Fault } from './storm.ts';

export interface Shrunk {
  /** The faults that are enough. */
  readonly faults: readonly Fault[];
  readonly result: ScheduleResult;
}

export interface ShrinkOptions {
  readonly seed: number;
  readonly mode: Mode;
  readonly market?: MarketName;
  /** Maximum number of schedules to run; the best result so far counts. */
  readonly mostRuns?: number;
}

/**
 * Leaves out faults as long as the schedule still breaks the same promise: all of them, then whole kinds, then halves of
 * what is left, then smaller pieces (delta debugging, Zeller and Hildebrandt 2002).
 */
export async function shrink(options: ShrinkOptions): Promise<Shrunk> {
  const search = new Search(options);
  await search.begin();
  if (await search.dropAll()) return search.best();
  await search.dropKinds();
  await search.dropPieces();
  return search.best();
}

class Search {
  readonly #options: ShrinkOptions;
  #runsLeft: number;
  #best: Shrunk | undefined;
  #invariant: string | undefined;

  constructor(options: ShrinkOptions) {
    this.#options = options;
    this.#runsLeft = options.mostRuns ?? 120;
  }

  best(): Shrunk {
    if (!this.#best) throw new Error('a search has to begin first');
    return this.#best;
  }

  async begin(): Promise<void> {
    const result = await this.#run(() => true);
    this.#best = { faults: result.faults, result };
    this.#invariant = result.violations[0]?.invariant;
  }

  /** Returns true if the promise is violated without any fault. */
  dropAll(): Promise<boolean> {
    return this.#stillBreaks(() => false);
  }

  /** Kinds keep the order of draws, so that leaving one out changes little else. */
  async dropKinds(): Promise<void> {
    const dropped = new Set<string>();
    for (const kind of new Set(this.best().faults.map((fault) => fault.kind))) {
      const without = new Set([...dropped, kind]);
      if (await this.#stillBreaks((fault) => !without.has(fault.kind))) dropped.add(kind);
    }
  }

  async dropPieces(): Promise<void> {
    for (let pieces = 2; pieces <= this.best().faults.length && this.#runsLeft > 0; ) {
      pieces = (await this.#dropOne(pieces)) ? Math.max(2, pieces - 1) : pieces * 2;
    }
  }

  async #dropOne(pieces: number): Promise<boolean> {
    const { faults } = this.best();
    const size = Math.ceil(faults.length / pieces);
    for (let start = 0; start < faults.length; start += size) {
      const kept = new Set(
        faults.filter((_fault, at) => at < start || at >= start + size).map(({ index }) => index),
      );
      if (await this.#stillBreaks(({ index }) => kept.has(index))) return true;
    }
    return false;
  }

  async #stillBreaks(allow: (fault: Fault) => boolean): Promise<boolean> {
    if (this.#runsLeft === 0) return false;
    const result = await this.#run(allow);
    if (!result.violations.some(({ invariant }) => invariant === this.#invariant)) return false;
    this.#best = { faults: result.faults, result };
    return true;
  }

  #run(allow: (fault: Fault) => boolean): Promise<ScheduleResult> {
    this.#runsLeft -= 1;
    const { seed, mode, market } = this.#options;
    return runSchedule({ seed, mode, ...(market && { market }), keepTrace: true, allow });
  }
}
