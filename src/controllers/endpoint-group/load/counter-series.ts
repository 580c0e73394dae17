/** What counters show since a worker began, by name and labels. */
export type CounterSeries = ReadonlyMap<string, number>;

/** No more are told apart, so that no worker fills the memory. */
const MOST_SERIES = 1024;
const LONGEST_NAME = 512;
/** All that are not told apart. */
const OTHERS = '';

/** Adds samples up by their series. */
export function seriesOf(samples: readonly (readonly [name: string, value: number])[]): CounterSeries {
  const series = new Map<string, number>();
  for (const [name, value] of samples) {
    const isApart = series.has(name) || (series.size < MOST_SERIES && name.length <= LONGEST_NAME);
    const key = isApart ? name : OTHERS;
    series.set(key, (series.get(key) ?? 0) + value);
  }
  return series;
}

/**
 * How much they rose together. One that went back began anew, as Prometheus reads it, and one that is new beside others
 * began since; one that is not told any more says nothing. Where all are new they are a base alone: another metric may
 * be read than before.
 */
export function riseOf(before: CounterSeries, now: CounterSeries): number {
  if (![...now.keys()].some((name) => before.has(name))) return 0;
  let rise = 0;
  for (const [name, value] of now) {
    const former = before.get(name) ?? 0;
    rise += value >= former ? value - former : value;
  }
  return rise;
}

/** Those of now, and such as are not told any more: when they come back, they go on from there. */
export function withFormer(before: CounterSeries, now: CounterSeries): CounterSeries {
  const gone = [...before].filter(([name]) => !now.has(name)).slice(0, Math.max(0, MOST_SERIES - now.size));
  return gone.length === 0 ? now : new Map([...now, ...gone]);
}
