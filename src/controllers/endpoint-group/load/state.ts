import { defaultTimes, type ScalingTimes } from '../times.ts';
import { NO_PICKERS, type PickerReport, type PickersState, withPickerReport } from './pickers.ts';

/** Form in which a source reports the work that arrived at a worker, in work units. New work excludes rejected work. */
export type Arrived =
  /** Work since the last accepted report. */
  | { readonly type: 'amount'; readonly newLoad: number; readonly rejectedLoad: number }
  /** Work since the start of the worker. */
  | { readonly type: 'counter'; readonly series: CounterSeries }
  /** Work per second. */
  | { readonly type: 'rate'; readonly load: number };

/** Report of one worker or of a whole group, in one form for every source. */
export interface LoadRecord {
  readonly arrived: Arrived;
  /** Accepted work that is not finished, waiting or running. */
  readonly currentLoad: number;
  /** Waiting work; undefined if the source does not separate it from running work. */
  readonly waitingLoad: number | undefined;
  /** Work per second that the worker can do; undefined if the worker does not report it. */
  readonly maxPerf: number | undefined;
  /** Accepted requests that are not finished. */
  readonly inFlight: number | undefined;
  /** Fault that the worker reports; empty without a fault. */
  readonly error: string;
}

/** Returns the record of a source that knows only the whole group: a rate, and the work that waits. */
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

/** Maximum lead of a sample's time over the operator's clock, in milliseconds. */
export const MAX_AHEAD_MS = 60_000;

/** Maximum of a believable figure. */
export const MAX_FIGURE = 1e12;

/** Minimum of a believable performance other than 0. */
export const MIN_PERF = 1e-6;

/** A missing, failed, too long or too slow reply. The message is the operator's, never the peer's. */
export class SourceError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SourceError';
  }
}

/** A figure that cannot be true. The message names the figure. */
export class FigureError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FigureError';
  }
}

/** Returns a figure that is finite, not negative and within the maximum. Throws a {@link FigureError} for any other. */
export function believable(name: string, value: unknown): number {
  if (typeof value !== 'number' || Number.isNaN(value)) throw new FigureError(`${name} is not a number`);
  if (value < 0) throw new FigureError(`${name} is negative`);
  if (value > MAX_FIGURE) throw new FigureError(`${name} is larger than ${MAX_FIGURE}`);
  return value;
}

/** Returns an optional figure like {@link believable}; undefined for undefined or null. */
export function believableIfGiven(name: string, value: unknown): number | undefined {
  return value === undefined || value === null ? undefined : believable(name, value);
}

/**
 * Returns a performance; undefined for a missing one or 0, which means that the worker has not measured it yet.
 * Throws a {@link FigureError} for an impossible value.
 */
export function measuredPerf(name: string, value: unknown): number | undefined {
  const perf = believableIfGiven(name, value);
  if (perf === undefined || perf === 0) return undefined;
  if (perf < MIN_PERF) throw new FigureError(`${name} is smaller than ${MIN_PERF}`);
  return perf;
}

/** Counters since the start of a worker, by name and labels. */
export type CounterSeries = ReadonlyMap<string, number>;

/** Maximum number of separate series, so that no worker fills the memory. */
const MAX_SERIES = 1024;
const MAX_NAME_LENGTH = 512;
/** Series that collects all others. */
const OTHERS = '';

/** Returns the sum of the samples of each series. */
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
 * Returns the total rise of the counters. A counter that fell was reset, as in Prometheus, and a new one beside known
 * ones rose from 0. A missing counter adds nothing. If all are new, the result is 0, since they may belong to another
 * metric.
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

/** Returns the present counters with the missing former ones, which continue from their value if they return. */
export function withFormer(before: CounterSeries, now: CounterSeries): CounterSeries {
  const gone = [...before].filter(([name]) => !now.has(name)).slice(0, Math.max(0, MAX_SERIES - now.size));
  return gone.length === 0 ? now : new Map([...now, ...gone]);
}

/** Work that arrived at one worker between two accepted reports. */
export interface Arrivals {
  /** Time of the later report, in milliseconds since the epoch. */
  readonly at: number;
  /** Milliseconds since the earlier report. */
  readonly spanMs: number;
  /** New and rejected work, in work units. */
  readonly amount: number;
}

/** Maximum load of one minute, which the status keeps across restarts. */
export interface LoadMaximum {
  readonly at: number;
  readonly load: number;
}

/** Past load of a group. Immutable. */
export interface LoadHistory {
  /** Time of the first report; undefined before it. */
  readonly since: number | undefined;
  /** Arrivals that overlap the short window. */
  readonly arrivals: readonly Arrivals[];
  /** Maxima of the long window, one a minute. */
  readonly maxima: readonly LoadMaximum[];
}

export const EMPTY_HISTORY: LoadHistory = { since: undefined, arrivals: [], maxima: [] };

/**
 * Returns the work per second of the last `windowMs`, divided by the observed span. `since` may be older than the
 * oldest arrivals.
 */
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

/** Returns the history with the time of the first report as the start of observation. */
export function observedFrom(history: LoadHistory, at: number): LoadHistory {
  return history.since === undefined ? { ...history, since: at } : history;
}

/** Returns the history with arrivals added. The observed time covers their span. */
export function withArrivals(history: LoadHistory, arrivals: Arrivals): LoadHistory {
  const begin = arrivals.at - arrivals.spanMs;
  return {
    ...history,
    since: Math.min(history.since ?? begin, begin),
    arrivals: [...history.arrivals, arrivals],
  };
}

/**
 * Removes what is outside all windows, and updates the maximum of the present minute with the present load. After the
 * clock went back, future maxima count for the present minute, and arrivals far in the future are removed.
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

/** Returns true if the end of the maximum's minute is in the long window, so that no load of the last hour is lost. */
export function isOfLongWindow({ at }: LoadMaximum, now: number, times: ScalingTimes): boolean {
  return at + times.maximumMs > now - times.longMs;
}

/** Returns the maximum, over the long window, of the load in a short window. */
export function longestLoad(history: LoadHistory, now: number, times: ScalingTimes = defaultTimes): number {
  const kept = history.maxima.filter((max) => isOfLongWindow(max, now, times));
  return Math.max(0, loadOver(history, now, times.shortMs), ...kept.map((max) => max.load));
}

/** Last report of one reporter: the machine of a worker, or the group as a whole. */
export interface Reporter {
  readonly record: LoadRecord;
  /** Time of the last accepted report, in milliseconds since the epoch. */
  readonly at: number;
  /** Work per second between the last two accepted reports. */
  readonly rate: number;
}

/** An attempt without an accepted report. `invalid`: the report cannot be true. `silent`: there is no reporter. */
export interface LoadProblem {
  readonly kind: 'unreachable' | 'invalid' | 'silent';
  readonly detail: string;
  readonly at: number;
}

/** Load figures of one group. Immutable. */
export interface LoadState {
  readonly reporters: ReadonlyMap<string, Reporter>;
  /** Last failed attempt of each reporter, until it succeeds. */
  readonly problems: ReadonlyMap<string, LoadProblem>;
  readonly history: LoadHistory;
  /** Time of the last observed work, in milliseconds since the epoch. */
  readonly lastActivity: number | undefined;
  /** Reports of the group's pickers. */
  readonly pickers: PickersState;
}

export const EMPTY_LOAD: LoadState = {
  reporters: new Map(),
  problems: new Map(),
  history: EMPTY_HISTORY,
  lastActivity: undefined,
  pickers: NO_PICKERS,
};

/** Name of the reporter for sources that know only the whole group. */
export const GROUP_REPORTER = '';

export interface Report {
  readonly reporter: string;
  readonly record: LoadRecord;
  /** Time of its arrival on the operator's clock. */
  readonly at: number;
  readonly times: ScalingTimes;
}

/**
 * Adds a report. Amounts and counters count from the reporter's last accepted report, so a lost report loses no load;
 * the first report is only a base. A rate counts from the first report.
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
 * Adds the report of a picker. Its load counts only if `isSource`; otherwise another source of the group counts
 * it.
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

/**
 * Returns the span of a report. The first rate also covers the tick before it. The span is negative if the clock went
 * back: such a report is only a base.
 */
function spanOf(before: Reporter | undefined, { record, at, times }: Report): number {
  if (before) return at - before.at;
  return record.arrived.type === 'rate' ? times.tickMs : 0;
}

function isActive({ currentLoad, waitingLoad = 0 }: LoadRecord, amount: number): boolean {
  return amount > 0 || currentLoad > 0 || waitingLoad > 0;
}

/** Records a failed attempt. The reporter's last report stays and ages. */
export function withProblem(state: LoadState, reporter: string, problem: LoadProblem): LoadState {
  return { ...state, problems: new Map(state.problems).set(reporter, problem) };
}

/** Removes reporters that no longer exist. Work that arrived there stays in the history. */
export function onlyReporters(state: LoadState, existing: ReadonlySet<string>): LoadState {
  const keep = <T>(map: ReadonlyMap<string, T>) =>
    [...map.keys()].every((key) => existing.has(key))
      ? map
      : new Map([...map].filter(([key]) => existing.has(key)));
  return { ...state, reporters: keep(state.reporters), problems: keep(state.problems) };
}

/**
 * Moves reports from the future, received before the clock went back, to one tick ago. A silent reporter is then
 * missing in time, and its next work has a span of at least a tick.
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

/** Returns the record as the base for the next report. */
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

/** Load of all groups in this process, by uid of the group. */
export class LoadStore {
  readonly #states = new Map<string, LoadState>();

  get(uid: string): LoadState {
    return this.#states.get(uid) ?? EMPTY_LOAD;
  }

  has(uid: string): boolean {
    return this.#states.has(uid);
  }

  /** Adds the recorded maxima of the status to the state of a group. */
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

  /** Records activity that no report contains. */
  active(uid: string, at: number): void {
    const state = this.get(uid);
    this.#states.set(uid, { ...state, lastActivity: Math.max(at, state.lastActivity ?? 0) });
  }

  forget(uid: string): void {
    this.#states.delete(uid);
  }
}
