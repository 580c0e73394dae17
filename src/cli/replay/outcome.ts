import { type Fleet, readyWorkers, type Totals, waitingWork } from './fleet.ts';
import { oldestWaitMs } from './queueing.ts';

/**
 * A printed tick. It begins at `seconds` with a decision: `hot`, `cold`, `ready` and the desired numbers are those
 * after it. `load` is the offered and `rejected` the rejected work during it; `queueSeconds` and `dollars` (the total
 * so far) are those at its end.
 */
export interface Tick {
  readonly seconds: number;
  /** Work units per second. */
  readonly load: number;
  /** Workers that run or are starting. */
  readonly hot: number;
  /** Workers that are stopped or stopping. */
  readonly cold: number;
  /** Returns the hot workers that serve. */
  readonly ready: number;
  readonly desiredHot: number;
  readonly desiredTotal: number;
  /** Time that ready workers need for the waiting work; while none is ready, the wait of the oldest work. */
  readonly queueSeconds: number;
  /** Work units. */
  readonly rejected: number;
  readonly dollars: number;
}

/** A whole replay in figures. Work is in units: offered work was served or rejected, or waits at the end. */
export interface Summary {
  /** From the beginning of the first tick to the end of the last. */
  readonly seconds: number;
  readonly offered: number;
  readonly served: number;
  readonly rejected: number;
  /** Waiting work at the end, including initial values. */
  readonly queued: number;
  readonly rejectedPercent: number;
  /** Average over all accepted work. */
  readonly meanQueueSeconds: number;
  /** Maximum over the ticks. */
  readonly peakQueueSeconds: number;
  readonly peakHot: number;
  /** Maximum workers at one time, including draining ones. */
  readonly peakTotal: number;
  readonly rented: number;
  readonly woken: number;
  readonly dollars: number;
}

/** The ticks of a replay and their summary. */
export interface Outcome {
  readonly ticks: readonly Tick[];
  readonly summary: Summary;
}

/** Counters of a fleet beyond its ticks. */
export interface Counted {
  readonly fleet: Fleet;
  readonly now: number;
  readonly rented: number;
  readonly woken: number;
  readonly peakTotal: number;
}

export function dollarsOf({ priceSeconds }: Totals): number {
  return Math.round(priceSeconds / 3600) / 1e6;
}

/** Returns a number with six digits after the point: enough for any figure, and the same text on every machine. */
export function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

/** Returns the wait in front of ready workers; the age of the oldest work if there are none. */
export function queueSecondsOf(fleet: Fleet, now: number): number {
  const perf = readyWorkers(fleet, now).reduce((sum, { model }) => sum + model.perf, 0);
  if (perf === 0) return oldestWaitMs(fleet.front, now) / 1000;
  return rounded(waitingWork(fleet) / perf);
}

export function summaryOf(ticks: readonly Tick[], seconds: number, counted: Counted): Summary {
  const { fleet, rented, woken, peakTotal } = counted;
  const { totals } = fleet;
  const queued = waitingWork(fleet);
  const taken = totals.served + queued;
  const most = (valueOfTick: (tick: Tick) => number) =>
    ticks.reduce((peak, tick) => Math.max(peak, valueOfTick(tick)), 0);
  return {
    seconds,
    offered: rounded(totals.offered),
    served: rounded(totals.served),
    rejected: rounded(totals.rejected),
    queued: rounded(queued),
    rejectedPercent: totals.offered > 0 ? rounded((100 * totals.rejected) / totals.offered) : 0,
    meanQueueSeconds: taken > 0 ? rounded(totals.waited / taken) : 0,
    peakQueueSeconds: most((tick) => tick.queueSeconds),
    peakHot: most((tick) => tick.hot),
    peakTotal,
    rented,
    woken,
    dollars: dollarsOf(totals),
  };
}

/** Columns in the order in which they are printed. */
export const TICK_COLUMNS = [
  'seconds',
  'load',
  'hot',
  'cold',
  'ready',
  'desiredHot',
  'desiredTotal',
  'queueSeconds',
  'rejected',
  'dollars',
] as const satisfies readonly (keyof Tick)[];

/** Returns one line per tick below a line of names. */
export function csvOf({ ticks }: Outcome): string {
  const lines = ticks.map((tick) => TICK_COLUMNS.map((column) => plain(tick[column])).join(','));
  return `${[TICK_COLUMNS.join(','), ...lines].join('\n')}\n`;
}

/** Returns two lines, each one JSON value: the array of ticks, then the summary. */
export function jsonOf({ ticks, summary }: Outcome): string {
  return `${JSON.stringify(ticks)}\n${JSON.stringify(summary)}\n`;
}

/** Returns a number without exponent, which every reader of CSV accepts. */
function plain(value: number): string {
  const text = String(value);
  return /e/.test(text) ? value.toFixed(6).replace(/\.?0+$/, '') : text;
}

/** Returns the summary as sentences for people. */
export function summaryText(summary: Summary): string {
  const { offered, served, rejected, rejectedPercent, queued } = summary;
  return [
    `${hours(summary.seconds)}: offered ${short(offered)}, served ${short(served)}, rejected ${short(rejected)} (${short(rejectedPercent)} %), waiting at the end ${short(queued)}`,
    `queue ${short(summary.meanQueueSeconds)} s in the mean, ${short(summary.peakQueueSeconds)} s at most`,
    `workers ${summary.peakHot} hot and ${summary.peakTotal} in all at most, ${summary.rented} rented, ${summary.woken} woken`,
    `$${summary.dollars.toFixed(2)}`,
    '',
  ].join('\n');
}

function hours(seconds: number): string {
  return seconds >= 3600 ? `${short(seconds / 3600)} h` : `${seconds} s`;
}

/** Returns a number with two digits after the point. */
export function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}
