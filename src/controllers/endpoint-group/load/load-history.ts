import { defaultTimes, type ScalingTimes } from '../scaling/scaling-times.ts';

/** Work that arrived at one worker between two of its accepted reports. */
export interface Arrivals {
  /** Epoch milliseconds of the later report. */
  readonly at: number;
  /** Milliseconds since the report before it. */
  readonly spanMs: number;
  /** Work units: new and rejected together. */
  readonly amount: number;
}

/** The largest load of one minute, as the status keeps it over a restart. */
export interface LoadMaximum {
  readonly at: number;
  readonly load: number;
}

/** Everything about past load that a decision needs. A plain value: a new one for each change. */
export interface LoadHistory {
  /** When the first report was taken as a base; undefined before any. */
  readonly since: number | undefined;
  /** Those that still reach into the short window. */
  readonly arrivals: readonly Arrivals[];
  /** One entry a minute, of the long window. */
  readonly maxima: readonly LoadMaximum[];
}

export const EMPTY_HISTORY: LoadHistory = { since: undefined, arrivals: [], maxima: [] };

/** Work per second over the last `windowMs`, divided by the span really observed. `since` may lie in a past that has been forgotten. */
export function loadOver(history: LoadHistory, now: number, windowMs: number): number {
  if (history.since === undefined) return 0;
  const observedMs = Math.min(windowMs, now - history.since);
  if (observedMs <= 0) return 0;
  const from = now - windowMs;
  let amount = 0;
  for (const arrivals of history.arrivals) {
    const overlapMs = Math.min(arrivals.at, now) - Math.max(arrivals.at - arrivals.spanMs, from);
    if (overlapMs > 0 && arrivals.spanMs > 0) amount += (arrivals.amount * overlapMs) / arrivals.spanMs;
  }
  return (amount * 1000) / observedMs;
}

/** Takes a worker's first report as the base from which load is observed. */
export function observedFrom(history: LoadHistory, at: number): LoadHistory {
  return history.since === undefined ? { ...history, since: at } : history;
}

/** Adds what arrived at a worker. Load counts from the beginning of its span. */
export function withArrivals(history: LoadHistory, arrivals: Arrivals): LoadHistory {
  const begin = arrivals.at - arrivals.spanMs;
  return {
    ...history,
    since: Math.min(history.since ?? begin, begin),
    arrivals: [...history.arrivals, arrivals],
  };
}

/**
 * Forgets what no window reaches, and notes the present load in the maximum of its minute. Maxima that lie ahead, since
 * the clock was set back, count as of this minute; arrivals that lie far ahead are forgotten.
 */
export function rolledTo(history: LoadHistory, now: number, times: ScalingTimes = defaultTimes): LoadHistory {
  const minute = Math.floor(now / times.maximumMs) * times.maximumMs;
  const load = loadOver(history, now, times.shortMs);
  const older = history.maxima.filter((max) => max.at < minute && isOfLongWindow(max, now, times));
  const present = history.maxima.filter((max) => max.at >= minute);
  const peak = Math.max(load, ...present.map((max) => max.load));
  return {
    ...history,
    arrivals: history.arrivals.filter(({ at }) => Math.abs(now - at) < times.shortMs),
    maxima: peak > 0 ? [...older, { at: minute, load: peak }] : older,
  };
}

/** Whether the end of its minute lies in the long window: no load of the last hour is forgotten. */
export function isOfLongWindow({ at }: LoadMaximum, now: number, times: ScalingTimes): boolean {
  return at + times.maximumMs > now - times.longMs;
}

/** The largest short-window load of the long window. */
export function longestLoad(history: LoadHistory, now: number, times: ScalingTimes = defaultTimes): number {
  const kept = history.maxima.filter((max) => isOfLongWindow(max, now, times));
  return Math.max(0, loadOver(history, now, times.shortMs), ...kept.map((max) => max.load));
}
