import type { CounterSeries } from './counter-series.ts';

/** How a source tells what arrived at a worker. Work units; rejected work is never part of the new one. */
export type Arrived =
  /** Since the last report that was accepted. */
  | { readonly type: 'amount'; readonly newLoad: number; readonly rejectedLoad: number }
  /** Since the worker began. */
  | { readonly type: 'counter'; readonly series: CounterSeries }
  /** Per second. */
  | { readonly type: 'rate'; readonly load: number };

/** One report of one worker, or of a whole group, in one shape for every source. */
export interface LoadRecord {
  readonly arrived: Arrived;
  /** Work taken and not finished, waiting or running. */
  readonly currentLoad: number;
  /** Work that waits, where the source tells it apart from running work. */
  readonly waitingLoad: number | undefined;
  /** Work per second that the worker can do; undefined where it does not say. */
  readonly maxPerf: number | undefined;
  /** Requests taken and not finished. */
  readonly inFlight: number | undefined;
  /** Not empty: the worker says that it is broken. */
  readonly error: string;
}

/** No worker does as much: figures above are lies or mistakes. */
export const LARGEST_FIGURE = 1e12;

/** No worker does as little: performances below, but 0, are lies or mistakes. */
export const SMALLEST_PERF = 1e-6;

/** A reply that did not come, was no success, was too long or too slow. The message is our own, never the peer's. */
export class SourceError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SourceError';
  }
}

/** Figures that cannot be true. The message names the figure. */
export class FigureError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FigureError';
  }
}

/** A figure that may be believed: finite, not negative, not absurd. Throws {@link FigureError} naming it otherwise. */
export function believable(name: string, value: unknown): number {
  if (typeof value !== 'number' || Number.isNaN(value)) throw new FigureError(`${name} is not a number`);
  if (value < 0) throw new FigureError(`${name} is negative`);
  if (value > LARGEST_FIGURE) throw new FigureError(`${name} is larger than anything a worker does`);
  return value;
}

/** The same for a figure that may be left out. */
export function believableIfGiven(name: string, value: unknown): number | undefined {
  return value === undefined || value === null ? undefined : believable(name, value);
}

/** A performance of 0 says that the worker has not measured itself yet. */
export function measuredPerf(name: string, value: unknown): number | undefined {
  const perf = believableIfGiven(name, value);
  if (perf === undefined || perf === 0) return undefined;
  if (perf < SMALLEST_PERF) throw new FigureError(`${name} is smaller than anything a worker does`);
  return perf;
}
