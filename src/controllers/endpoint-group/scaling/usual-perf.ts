/**
 * Work per second to count on where a worker has not told its own: the median of what others told, else what the
 * group states. Undefined while nothing is known at all.
 */
export function usualPerf(told: readonly number[], stated: string | undefined): number | undefined {
  const middle = median(told);
  if (middle !== undefined) return middle;
  const perf = stated === undefined ? 0 : Number(stated);
  return perf > 0 ? perf : undefined;
}

/** The middle of some numbers, between the two middle ones where their count is even; undefined for none. */
export function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[sorted.length >> 1];
  if (upper === undefined || sorted.length % 2 === 1) return upper;
  return ((sorted[(sorted.length >> 1) - 1] ?? upper) + upper) / 2;
}
