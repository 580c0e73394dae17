import { type Mode, runSchedule, type ScheduleResult } from './schedule.ts';

export interface Shrunk {
  /** Numbers of the faults that are enough. */
  readonly faults: readonly number[];
  readonly result: ScheduleResult;
}

const MOST_RUNS = 120;

/**
 * Leaves out faults as long as the schedule still breaks a promise: halves first, then smaller pieces
 * (delta debugging, Zeller and Hildebrandt 2002).
 */
export async function shrink({
  seed,
  mode,
}: {
  readonly seed: number;
  readonly mode: Mode;
}): Promise<Shrunk> {
  const run = (faults: ReadonlySet<number> | undefined): Promise<ScheduleResult> =>
    runSchedule({ seed, mode, keepTrace: true, ...(faults ? { allow: (index) => faults.has(index) } : {}) });
  let result = await run(undefined);
  let faults = Array.from({ length: result.faults }, (_, index) => index + 1);
  let pieces = 2;
  for (let runs = 0; runs < MOST_RUNS && faults.length > 1 && pieces <= faults.length; ) {
    const size = Math.ceil(faults.length / pieces);
    let smaller: { faults: number[]; result: ScheduleResult } | undefined;
    for (let start = 0; start < faults.length && runs < MOST_RUNS && !smaller; start += size) {
      const kept = [...faults.slice(0, start), ...faults.slice(start + size)];
      const tried = await run(new Set(kept));
      runs += 1;
      if (tried.violations.length > 0) smaller = { faults: kept, result: tried };
    }
    if (smaller) {
      ({ faults, result } = smaller);
      pieces = Math.max(2, pieces - 1);
    } else {
      pieces *= 2;
    }
  }
  return { faults, result };
}
