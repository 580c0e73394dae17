import type { ScalingTimes } from '../scaling/scaling-times.ts';
import { riseOf, withFormer } from './counter-series.ts';
import { EMPTY_HISTORY, type LoadHistory, observedFrom, rolledTo, withArrivals } from './load-history.ts';
import type { Arrived, LoadRecord } from './record.ts';

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
export interface LoadBook {
  readonly reporters: ReadonlyMap<string, Reporter>;
  /** The last failed try of each reporter that has not succeeded since. */
  readonly problems: ReadonlyMap<string, LoadProblem>;
  readonly history: LoadHistory;
  /** Epoch milliseconds at which work was last seen. */
  readonly lastActivity: number | undefined;
}

export const EMPTY_BOOK: LoadBook = {
  reporters: new Map(),
  problems: new Map(),
  history: EMPTY_HISTORY,
  lastActivity: undefined,
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
export function withReport(book: LoadBook, report: Report): LoadBook {
  const { reporter, record, at, times } = report;
  const before = book.reporters.get(reporter);
  const spanMs = spanOf(before, report);
  if (before && spanMs === 0) return book;
  const amount = amountOf(record.arrived, { before: before?.record.arrived, spanMs });
  const history =
    spanMs > 0 ? withArrivals(book.history, { at, spanMs, amount }) : observedFrom(book.history, at);
  const rate = spanMs > 0 ? (amount * 1000) / spanMs : 0;
  return {
    reporters: new Map(book.reporters).set(reporter, { record: noted(record, before), at, rate }),
    problems: without(book.problems, reporter),
    history: rolledTo(history, at, times),
    lastActivity: isActive(record, amount) ? at : book.lastActivity && Math.min(book.lastActivity, at),
  };
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
export function withProblem(book: LoadBook, reporter: string, problem: LoadProblem): LoadBook {
  return { ...book, problems: new Map(book.problems).set(reporter, problem) };
}

/** Forgets reporters that are not among those that exist; what arrived at them stays in the history. */
export function onlyReporters(book: LoadBook, existing: ReadonlySet<string>): LoadBook {
  const keep = <T>(map: ReadonlyMap<string, T>) =>
    [...map.keys()].every((key) => existing.has(key))
      ? map
      : new Map([...map].filter(([key]) => existing.has(key)));
  return { ...book, reporters: keep(book.reporters), problems: keep(book.problems) };
}

/**
 * What was heard by a clock that was ahead counts as heard one tick ago, so that who is silent since is missed in his
 * time, and work that he tells of next came in no less than a tick.
 */
export function notAhead(book: LoadBook, now: number, { tickMs }: ScalingTimes): LoadBook {
  if (![...book.reporters.values()].some(({ at }) => at > now)) return book;
  const heard = [...book.reporters].map(
    ([name, one]) => [name, one.at > now ? { ...one, at: now - tickMs } : one] as const,
  );
  return { ...book, reporters: new Map(heard) };
}

interface Before {
  readonly before: Arrived | undefined;
  readonly spanMs: number;
}

function amountOf(arrived: Arrived, { before, spanMs }: Before): number {
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
