/** A worker as the cheapest cover weighs it. */
export interface Candidate {
  readonly name: string;
  /** Work units per second. */
  readonly perf: number;
  /** Micro-dollars per hour while hot. */
  readonly pricePerHour: number;
  /** Lower goes first where prices tie. */
  readonly keepRank: number;
}

/** Beyond this the exact search is too wide and the greedy one serves. */
const EXACT_UP_TO = 20;

interface Subset {
  readonly mask: number;
  readonly perf: number;
  readonly price: number;
  readonly rank: number;
}

/** Among covers of one price the smaller one, then the one that keeps what should be kept. */
function isBetter(a: Subset, b: Subset | undefined): boolean {
  if (!b) return true;
  if (a.price !== b.price) return a.price < b.price;
  const sizes = bits(a.mask) - bits(b.mask);
  return sizes !== 0 ? sizes < 0 : a.rank > b.rank;
}

function bits(mask: number): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

function subsetsOf(candidates: readonly Candidate[], shift: number): Subset[] {
  let subsets: Subset[] = [{ mask: 0, perf: 0, price: 0, rank: 0 }];
  candidates.forEach((candidate, index) => {
    const bit = 1 << (index + shift);
    subsets = subsets.concat(
      subsets.map((subset) => ({
        mask: subset.mask | bit,
        perf: subset.perf + candidate.perf,
        price: subset.price + candidate.pricePerHour,
        rank: subset.rank + candidate.keepRank,
      })),
    );
  });
  return subsets;
}

/** For each index the best subset among those with at least that perf: suffix minimum of a sorted list. */
function bestFrom(sorted: readonly Subset[]): readonly (Subset | undefined)[] {
  const best: (Subset | undefined)[] = new Array(sorted.length);
  let kept: Subset | undefined;
  for (let index = sorted.length - 1; index >= 0; index -= 1) {
    const subset = sorted[index];
    if (subset && isBetter(subset, kept)) kept = subset;
    best[index] = kept;
  }
  return best;
}

function firstWithPerf(sorted: readonly Subset[], perf: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.perf ?? 0) < perf) low = middle + 1;
    else high = middle;
  }
  return low;
}

function joined(a: Subset, b: Subset): Subset {
  return { mask: a.mask | b.mask, perf: a.perf + b.perf, price: a.price + b.price, rank: a.rank + b.rank };
}

/** Meet in the middle: exact, 2 × 2^(n/2) subsets. */
function exactCover(candidates: readonly Candidate[], capacity: number): readonly Candidate[] | undefined {
  const half = candidates.length >> 1;
  const left = subsetsOf(candidates.slice(0, half), 0);
  const right = subsetsOf(candidates.slice(half), half).sort((a, b) => a.perf - b.perf);
  const best = bestFrom(right);
  let found: Subset | undefined;
  for (const subset of left) {
    const partner = best[firstWithPerf(right, capacity - subset.perf - 1e-9)];
    if (!partner) continue;
    const cover = joined(subset, partner);
    if (isBetter(cover, found)) found = cover;
  }
  return found && candidates.filter((_, index) => ((found?.mask ?? 0) & (1 << index)) !== 0);
}

/** Most expensive first, dropped where the rest still covers. */
function greedyCover(candidates: readonly Candidate[], capacity: number): readonly Candidate[] {
  const expensiveFirst = [...candidates].sort(
    (a, b) => b.pricePerHour - a.pricePerHour || a.keepRank - b.keepRank || (a.name < b.name ? 1 : -1),
  );
  let perf = candidates.reduce((sum, candidate) => sum + candidate.perf, 0);
  const dropped = new Set<string>();
  for (const candidate of expensiveFirst) {
    if (perf - candidate.perf + 1e-9 < capacity) continue;
    perf -= candidate.perf;
    dropped.add(candidate.name);
  }
  return candidates.filter((candidate) => !dropped.has(candidate.name));
}

/**
 * The cheapest set of workers whose performance adds up to `capacity`; all of them where they do not reach it.
 * Exact up to twenty workers.
 */
export function cheapestCover(candidates: readonly Candidate[], capacity: number): readonly Candidate[] {
  if (capacity <= 0) return [];
  const sum = candidates.reduce((perf, candidate) => perf + candidate.perf, 0);
  if (sum + 1e-9 < capacity) return candidates;
  const cover = candidates.length <= EXACT_UP_TO ? exactCover(candidates, capacity) : undefined;
  return cover ?? greedyCover(candidates, capacity);
}
