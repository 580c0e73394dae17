import { type Candidate, cheapestCover } from './covering-set.ts';
import { workersFor } from './targets.ts';

/** A worker as scaling counts it. */
export interface ScalingWorker extends Candidate {
  /** `hot` runs or is on its way to it; `cold` is stopped or will be; `leaving` still bills. */
  readonly role: 'hot' | 'cold' | 'leaving';
  readonly isReady: boolean;
  readonly wasEverReady: boolean;
  /** Past the deadline by which it should have booted. */
  readonly isOverdue: boolean;
  /** Work it has taken and not finished, in units. */
  readonly curLoad: number;
}

/** Against sums that miss a capacity by rounding alone. */
const ROUNDING = 1e-9;

export function hotOf<W extends ScalingWorker>(workers: readonly W[]): readonly W[] {
  return workers.filter((worker) => worker.role === 'hot');
}
export function coldOf<W extends ScalingWorker>(workers: readonly W[]): readonly W[] {
  return workers.filter((worker) => worker.role === 'cold');
}

export const sumOfPerf = (workers: readonly { readonly perf: number }[]): number =>
  workers.reduce((sum, worker) => sum + worker.perf, 0);

/** The order in which cold workers are woken: most performance per dollar first. */
export function byWorth(a: Candidate, b: Candidate): number {
  const worth = b.perf * Math.max(1, a.pricePerHour) - a.perf * Math.max(1, b.pricePerHour);
  return worth || b.keepRank - a.keepRank || (a.name < b.name ? -1 : 1);
}

/** Those that go first are at the front: marked, old, unhealthy, newest (by `keepRank`), then dear. */
export function byDrop(a: Candidate, b: Candidate): number {
  return a.keepRank - b.keepRank || -byWorth(a, b);
}

/** The reverse: those at the front are the last to be destroyed. */
export function byStay(a: Candidate, b: Candidate): number {
  return byDrop(b, a);
}

/**
 * How many workers a capacity takes: the cheapest cover where those that are hot reach it, else all of them, cold ones
 * in the order given, and new ones of the usual performance. One while nothing is known of any. Hot ones are counted
 * by `byWorth`, in which cold ones are woken; all of them by `byStay`: where others stayed than were counted, the pool
 * would be too small at once, and be filled up and emptied for ever.
 */
export function countFor(
  workers: readonly ScalingWorker[],
  capacity: number,
  { perf, order }: { readonly perf: number | undefined; readonly order: typeof byWorth },
): number {
  if (capacity <= 0) return 0;
  if (perf === undefined) return 1;
  const hot = hotOf(workers);
  const cold = coldOf(workers);
  // Stryker disable next-line all: the search finds the same; alike workers are the usual case and need none
  if ([...hot, ...cold].every((worker) => worker.perf === perf)) return workersFor(capacity, perf);
  const missing = capacity - sumOfPerf(hot);
  if (missing > ROUNDING) return hot.length + extraFor([...cold].sort(order), missing, perf);
  return isAllNeeded(hot, capacity) ? hot.length : cheapestCover(hot, capacity).length;
}

/** Whether the rest would not reach the capacity whichever worker went: the usual case, and it needs no search. */
function isAllNeeded(workers: readonly ScalingWorker[], capacity: number): boolean {
  // Stryker disable all: it saves a search, and the search finds the same
  const least = Math.min(...workers.map((worker) => worker.perf));
  return sumOfPerf(workers) - least + ROUNDING < capacity;
}

// Stryker restore all
function extraFor(cold: readonly ScalingWorker[], missing: number, perf: number): number {
  let rest = missing;
  let count = 0;
  for (const worker of cold) {
    if (rest <= ROUNDING) return count;
    rest -= worker.perf;
    count += 1;
  }
  return rest <= ROUNDING ? count : count + workersFor(rest, perf);
}
