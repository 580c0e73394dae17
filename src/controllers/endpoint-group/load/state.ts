import { defaultTimes, type ScalingTimes } from '../times.ts';
import { NO_PICKERS, type PickerReport, type PickersState, withPickerReport } from './pickers.ts';

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

/** The record of a source that knows the group as a whole: a rate, and work that waits in front of it. */
export function groupRecord(load: number, waiting: number): LoadRecord {
  return {
    arrived: { type: 'rate', load },
    currentLoad: 0,
    waitingLoad: waiting,
    maxPerf: undefined,
    inFlight: undefined,
    error: '',
  };
}

/** Times of samples this far ahead of our clock, in milliseconds, are lies. */
export const MAX_AHEAD_MS = 60_000;

/** No worker does as much: figures above are lies or mistakes. */
export const MAX_FIGURE = 1e12;

/** No worker does as little: performances below, but 0, are lies or mistakes. */
export const MIN_PERF = 1e-6;

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
  if (value > MAX_FIGURE) throw new FigureError(`${name} is larger than anything a worker does`);
  return value;
}

/** The same for a figure that may be left out. */
export function believableIfGiven(name: string, value: unknown): number | undefined {
  return value === undefined || value === null ? undefined : believable(name, value);
}

/**
 * A performance of 0 says that the worker has not measured itself yet. Throws a {@link FigureError} for what cannot be
 * one.
 */
export function measuredPerf(name: string, value: unknown): number | undefined {
  const perf = believableIfGiven(name, value);
  if (perf === undefined || perf === 0) return undefined;
  if (perf < MIN_PERF) throw new FigureError(`${name} is smaller than anything a worker does`);
  return perf;
}

/** What counters show since a worker began, by name and labels. */
export type CounterSeries = ReadonlyMap<string, number>;

/** No more are told apart, so that no worker fills the memory. */
const MAX_SERIES = 1024;
const MAX_NAME_LENGTH = 512;
/** All that are not told apart. */
const OTHERS = '';

/** Adds samples up by their series. */
export function seriesOf(samples: readonly (readonly [name: string, value: number])[]): CounterSeries {
  const series = new Map<string, number>();
  for (const [name, value] of samples) {
    const isApart = series.has(name) || (series.size < MAX_SERIES && name.length <= MAX_NAME_LENGTH);
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
  const gone = [...before].filter(([name]) => !now.has(name)).slice(0, Math.max(0, MAX_SERIES - now.size));
  return gone.length === 0 ? now : new Map([...now, ...gone]);
}

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

/** What is known of the load at one reporter: a worker's machine, or the group as a whole. */
export interface Reporter {
  readonly record: LoadRecord;
  /** Epoch milliseconds of the last accepted report. */
  readonly at: number;
  /** Work per second between the last two accepted reports. */
  readonly rate: number;
}

/** A try that brought no report. `invalid`: one came and cannot be true. `silent`: there is nobody to ask. */
export interface LoadProblem {
  readonly kind: 'unreachable' | 'invalid' | 'silent';
  readonly detail: string;
  readonly at: number;
}

/** All load figures of one group. A plain value: a new one for each report. */
export interface LoadState {
  readonly reporters: ReadonlyMap<string, Reporter>;
  /** The last failed try of each reporter that has not succeeded since. */
  readonly problems: ReadonlyMap<string, LoadProblem>;
  readonly history: LoadHistory;
  /** Epoch milliseconds at which work was last seen. */
  readonly lastActivity: number | undefined;
  /** What the gateway of the group says. */
  readonly pickers: PickersState;
}

export const EMPTY_LOAD: LoadState = {
  reporters: new Map(),
  problems: new Map(),
  history: EMPTY_HISTORY,
  lastActivity: undefined,
  pickers: NO_PICKERS,
};

/** The reporter of sources that know the group and no workers. */
export const GROUP_REPORTER = '';

export interface Report {
  readonly reporter: string;
  readonly record: LoadRecord;
  /** Our clock when it arrived. */
  readonly at: number;
  readonly times: ScalingTimes;
}

/**
 * Takes a report in. Amounts and counters count from the last accepted report of that reporter, so lost reports lose
 * no load; the first one only sets the base. A rate counts from its first report on.
 */
export function withReport(state: LoadState, report: Report): LoadState {
  const { reporter, record, at, times } = report;
  const before = state.reporters.get(reporter);
  const spanMs = spanOf(before, report);
  if (before && spanMs === 0) return state;
  const amount = arrivedAmount(record.arrived, { before: before?.record.arrived, spanMs });
  const history =
    spanMs > 0 ? withArrivals(state.history, { at, spanMs, amount }) : observedFrom(state.history, at);
  const rate = spanMs > 0 ? (amount * 1000) / spanMs : 0;
  return {
    ...state,
    reporters: new Map(state.reporters).set(reporter, { record: noted(record, before), at, rate }),
    problems: without(state.problems, reporter),
    history: rolledTo(history, at, times),
    lastActivity: isActive(record, amount) ? at : state.lastActivity && Math.min(state.lastActivity, at),
  };
}

/**
 * Takes in what a picker reports. Its load counts where `isSource`: a group that reads its load elsewhere would count it
 * twice.
 */
export function withGatewayReport(
  state: LoadState,
  given: PickerReport & { readonly isSource: boolean; readonly times: ScalingTimes },
): LoadState {
  const { at, times, isSource } = given;
  const { pickers, amount, spanMs = times.tickMs, isActive } = withPickerReport(state.pickers, given);
  const lastActivity = isActive ? at : state.lastActivity && Math.min(state.lastActivity, at);
  if (!isSource) return { ...state, pickers, lastActivity };
  const observed = observedFrom(state.history, at);
  const history = amount > 0 ? withArrivals(observed, { at, spanMs, amount }) : observed;
  return { ...state, pickers, lastActivity, history: rolledTo(history, at, times) };
}

/** A rate speaks for the tick before it as well. Negative where our clock was set back: that report is a base alone. */
function spanOf(before: Reporter | undefined, { record, at, times }: Report): number {
  if (before) return at - before.at;
  return record.arrived.type === 'rate' ? times.tickMs : 0;
}

function isActive({ currentLoad, waitingLoad = 0 }: LoadRecord, amount: number): boolean {
  return amount > 0 || currentLoad > 0 || waitingLoad > 0;
}

/** Notes a try that brought nothing. What was known of the reporter stays, and ages. */
export function withProblem(state: LoadState, reporter: string, problem: LoadProblem): LoadState {
  return { ...state, problems: new Map(state.problems).set(reporter, problem) };
}

/** Forgets reporters that are not among those that exist; what arrived at them stays in the history. */
export function onlyReporters(state: LoadState, existing: ReadonlySet<string>): LoadState {
  const keep = <T>(map: ReadonlyMap<string, T>) =>
    [...map.keys()].every((key) => existing.has(key))
      ? map
      : new Map([...map].filter(([key]) => existing.has(key)));
  return { ...state, reporters: keep(state.reporters), problems: keep(state.problems) };
}

/**
 * What was heard by a clock that was ahead counts as heard one tick ago, so that who is silent since is missed in his
 * time, and work that he tells of next came in no less than a tick.
 */
export function notAhead(state: LoadState, now: number, { tickMs }: ScalingTimes): LoadState {
  if (![...state.reporters.values()].some(({ at }) => at > now)) return state;
  const reporters = [...state.reporters].map(
    ([name, one]) => [name, one.at > now ? { ...one, at: now - tickMs } : one] as const,
  );
  return { ...state, reporters: new Map(reporters) };
}

interface Before {
  readonly before: Arrived | undefined;
  readonly spanMs: number;
}

function arrivedAmount(arrived: Arrived, { before, spanMs }: Before): number {
  switch (arrived.type) {
    case 'rate':
      return (arrived.load * spanMs) / 1000;
    case 'amount':
      return before ? arrived.newLoad + arrived.rejectedLoad : 0;
    case 'counter':
      return before?.type === 'counter' ? riseOf(before.series, arrived.series) : 0;
  }
}

/** What the next report is compared with. */
function noted(record: LoadRecord, before: Reporter | undefined): LoadRecord {
  const { arrived } = record;
  const former = before?.record.arrived;
  if (arrived.type !== 'counter' || former?.type !== 'counter') return record;
  return { ...record, arrived: { type: 'counter', series: withFormer(former.series, arrived.series) } };
}

function without<T>(map: ReadonlyMap<string, T>, key: string): ReadonlyMap<string, T> {
  if (!map.has(key)) return map;
  const rest = new Map(map);
  rest.delete(key);
  return rest;
}

/** The load of all groups in this process, by the uid of the group. */
export class LoadStore {
  readonly #states = new Map<string, LoadState>();

  get(uid: string): LoadState {
    return this.#states.get(uid) ?? EMPTY_LOAD;
  }

  has(uid: string): boolean {
    return this.#states.has(uid);
  }

  /** Opens the state of a group with what its status records; earlier reports are kept. */
  open(uid: string, maxima: LoadHistory['maxima']): void {
    const state = this.get(uid);
    const history = { ...state.history, maxima: [...maxima, ...state.history.maxima] };
    this.#states.set(uid, { ...state, history });
  }

  put(uid: string, state: LoadState): void {
    this.#states.set(uid, state);
  }

  report(uid: string, report: Report): void {
    this.#states.set(uid, withReport(this.get(uid), report));
  }

  gatewayReport(uid: string, report: Parameters<typeof withGatewayReport>[1]): void {
    this.#states.set(uid, withGatewayReport(this.get(uid), report));
  }

  problem(uid: string, reporter: string, problem: LoadProblem): void {
    this.#states.set(uid, withProblem(this.get(uid), reporter, problem));
  }

  /** Work was seen otherwise than in a report. */
  active(uid: string, at: number): void {
    const state = this.get(uid);
    this.#states.set(uid, { ...state, lastActivity: Math.max(at, state.lastActivity ?? 0) });
  }

  forget(uid: string): void {
    this.#states.delete(uid);
  }
}
