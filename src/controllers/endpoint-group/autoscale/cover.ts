import { workersFor } from './capacity.ts';
import type { CountedWorker, CoverWorker } from './scaling-worker.ts';

/** Tolerance for sums that miss a capacity by rounding. */
const ROUNDING = 1e-9;

export function hotOf<W extends CountedWorker>(workers: readonly W[]): readonly W[] {
  return workers.filter((worker) => worker.role === 'hot');
}
export function coldOf<W extends CountedWorker>(workers: readonly W[]): readonly W[] {
  return workers.filter((worker) => worker.role === 'cold');
}

export const sumOfPerf = (workers: readonly { readonly perf: number }[]): number =>
  workers.reduce((sum, worker) => sum + worker.perf, 0);

/** Compares cold workers for a wake: the most performance per dollar first. */
export function byValue(a: CoverWorker, b: CoverWorker): number {
  const difference = b.perf * Math.max(1, a.pricePerHour) - a.perf * Math.max(1, b.pricePerHour);
  return difference || b.keepRank - a.keepRank || (a.name < b.name ? -1 : 1);
}

/** Compares workers for removal: first by `keepRank`, then the most expensive for its performance. */
export function byDrop(a: CoverWorker, b: CoverWorker): number {
  return a.keepRank - b.keepRank || -byValue(a, b);
}

/** Compares workers for staying: the last ones to remove first. */
export function byStay(a: CoverWorker, b: CoverWorker): number {
  return byDrop(b, a);
}

/**
 * Returns the number of workers for a capacity: the cheapest cover if the hot ones reach it, else all hot ones, cold
 * ones in this order, and new ones of the usual performance. 1 while no performance is known.
 *
 * The hot number uses `byValue`, the order of wakes, and the total uses `byStay`. If others stayed than were counted,
 * the pool would be too small and be filled and emptied repeatedly.
 */
export function countFor(
  workers: readonly CountedWorker[],
  capacity: number,
  { perf, order }: { readonly perf: number | undefined; readonly order: typeof byValue },
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

/**
 * Returns true if no worker can be removed without missing the capacity. This is the usual case and needs no search.
 */
function isAllNeeded(workers: readonly CountedWorker[], capacity: number): boolean {
  // Stryker disable all: it saves a search, and the search finds the same
  const least = Math.min(...workers.map((worker) => worker.perf));
  return sumOfPerf(workers) - least + ROUNDING < capacity;
}

// Stryker restore all
function extraFor(cold: readonly CountedWorker[], missing: number, perf: number): number {
  let rest = missing;
  let count = 0;
  for (const worker of cold) {
    if (rest <= ROUNDING) return count;
    rest -= worker.perf;
    count += 1;
  }
  return rest <= ROUNDING ? count : count + workersFor(rest, perf);
}

/** Maximum number of workers for the exact search. The greedy search covers larger groups. */
const EXACT_UP_TO = 20;

interface Subset {
  /** Candidates as bits. */
  readonly mask: number;
  readonly size: number;
  readonly perf: number;
  readonly price: number;
  readonly rank: number;
}

const EMPTY: Subset = { mask: 0, size: 0, perf: 0, price: 0, rank: 0 };

/** Returns true for the better of two covers: lower price, then fewer workers, then higher ranks. */
function isBetter(a: Subset, b: Subset): boolean {
  if (a.price !== b.price) return a.price < b.price;
  return a.size !== b.size ? a.size < b.size : a.rank > b.rank;
}

function joined(a: Subset, b: Subset): Subset {
  return {
    mask: a.mask | b.mask,
    size: a.size + b.size,
    perf: a.perf + b.perf,
    price: a.price + b.price,
    rank: a.rank + b.rank,
  };
}

/**
 * Returns the subsets that are better than all others with at least their performance, by falling performance. A
 * worse subset stays worse with any addition, so it can be left out.
 */
function worthwhile(candidates: readonly CoverWorker[], shift: number): readonly Subset[] {
  return candidates.reduce<readonly Subset[]>(
    (subsets, { perf, pricePerHour, keepRank }, index) => {
      const one = { mask: 1 << (index + shift), size: 1, perf, price: pricePerHour, rank: keepRank };
      return merged(subsets, one);
    },
    [EMPTY],
  );
}

/** Returns the best subsets with and without one more candidate. */
function merged(subsets: readonly Subset[], one: Subset): readonly Subset[] {
  const kept: Subset[] = [];
  let [without, within] = [0, 0];
  let best: Subset | undefined;
  while (without < subsets.length || within < subsets.length) {
    const [alone, base] = [subsets[without], subsets[within]];
    const isAlone = base === undefined || (alone !== undefined && alone.perf > base.perf + one.perf);
    const next = isAlone ? alone : joined(base, one);
    if (isAlone) without += 1;
    else within += 1;
    if (next === undefined || (best && !isBetter(next, best))) continue;
    best = next;
    kept.push(next);
  }
  return kept;
}

/** Searches from both halves: at most 2 × 2^(n/2) subsets. */
function exactCover(candidates: readonly CoverWorker[], capacity: number): readonly CoverWorker[] {
  const half = candidates.length >> 1;
  const [left, right] = [worthwhile(candidates.slice(0, half), 0), worthwhile(candidates.slice(half), half)];
  // All bits if all together do not reach the capacity.
  const mask = bestOfBoth(left, right, capacity)?.mask ?? -1;
  return candidates.filter((_, index) => (mask & (1 << index)) !== 0);
}

/**
 * Returns the best pair of subsets from both halves. The less the left one contributes, the more the right one must:
 * the last sufficient subset there is the best one.
 */
function bestOfBoth(left: readonly Subset[], right: readonly Subset[], capacity: number): Subset | undefined {
  let at = right.length - 1;
  let found: Subset | undefined;
  for (const subset of left) {
    while (at >= 0 && (right[at]?.perf ?? 0) < capacity - subset.perf - ROUNDING) at -= 1;
    const partner = right[at];
    if (!partner) break;
    const cover = joined(subset, partner);
    if (!found || isBetter(cover, found)) found = cover;
  }
  return found;
}

/** Removes workers from the most expensive on, if the rest still covers the capacity. */
function greedyCover(candidates: readonly CoverWorker[], capacity: number): readonly CoverWorker[] {
  const expensiveFirst = [...candidates].sort(
    (a, b) => b.pricePerHour - a.pricePerHour || a.keepRank - b.keepRank || (a.name < b.name ? 1 : -1),
  );
  let perf = candidates.reduce((sum, candidate) => sum + candidate.perf, 0);
  const dropped = new Set<string>();
  for (const candidate of expensiveFirst) {
    if (perf - candidate.perf + ROUNDING < capacity) continue;
    perf -= candidate.perf;
    dropped.add(candidate.name);
  }
  return candidates.filter((candidate) => !dropped.has(candidate.name));
}

/**
 * Returns the cheapest set of workers whose total performance reaches `capacity`, or all of them if they do not reach
 * it. Exact for up to twenty workers.
 */
export function cheapestCover(candidates: readonly CoverWorker[], capacity: number): readonly CoverWorker[] {
  if (capacity <= 0) return [];
  return candidates.length <= EXACT_UP_TO
    ? exactCover(candidates, capacity)
    : greedyCover(candidates, capacity);
}
