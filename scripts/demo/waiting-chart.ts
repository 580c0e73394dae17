const ROWS = 10;
const BAR = '█';
const WIDTH = 40;

/**
 * Returns a bar chart of waits: the number of requests in each tenth of the span between the shortest and the longest
 * wait.
 */
export function waitingChart(waitsMs: readonly number[]): readonly string[] {
  if (waitsMs.length === 0) return [];
  const shortest = Math.min(...waitsMs);
  const step = (Math.max(...waitsMs) - shortest) / ROWS || 1;
  const counts = Array.from({ length: ROWS }, () => 0);
  for (const wait of waitsMs) {
    const row = Math.min(ROWS - 1, Math.floor((wait - shortest) / step));
    counts[row] = (counts[row] ?? 0) + 1;
  }
  const most = Math.max(...counts);
  const seconds = (ms: number): string => (ms / 1000).toFixed(2).padStart(6);
  return counts.map((count, row) => {
    const from = shortest + row * step;
    // The longest wait is visible, even if it is one of thousands.
    const bar = BAR.repeat(Math.ceil((count / most) * WIDTH));
    return `${seconds(from)} –${seconds(from + step)} s  ${bar}${bar && ' '}${count}`;
  });
}

/** Returns the maximum wait of this share of all requests, in seconds with two decimals. */
export function waitAt(share: number, waitsMs: readonly number[]): string {
  const sorted = waitsMs.toSorted((one, other) => one - other);
  const at = Math.max(0, Math.ceil(share * sorted.length) - 1);
  return ((sorted[at] ?? 0) / 1000).toFixed(2);
}
