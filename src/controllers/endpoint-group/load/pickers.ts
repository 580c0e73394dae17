import type { GatewayGroupReport } from '../../../api/gateway-report.ts';

/** A picker that is silent for longer is not counted: it reports every 5 s at least. Milliseconds. */
export const PICKER_SILENT_MS = 15_000;
/** For so long its counters go on where they were, and requests that it had given to a worker may still run there. */
const REMEMBERED_MS = 600_000;
const MAX_REMEMBERED = 128;

/** What one picker last said of one group. */
interface PickerFigures {
  /** Our clock when it arrived. */
  readonly at: number;
  readonly report: GatewayGroupReport;
  /** Work of requests that were under way when counting began: what proves too much of it was never counted. */
  readonly uncounted: number;
}

/** What pickers said of one group. */
export interface PickersState {
  readonly byName: ReadonlyMap<string, PickerFigures>;
  /** From when on there was always one that was not silent; undefined before the first. */
  readonly since: number | undefined;
  /** Work that was counted and proved too much, and that later work has not made up for yet. */
  readonly debt: number;
}

export const NO_PICKERS: PickersState = { byName: new Map(), since: undefined, debt: 0 };

/** A report as it came in. */
export interface PickerReport {
  readonly picker: string;
  /** Whether its counters have risen from 0 since the last report that was accepted. */
  readonly isFirst: boolean;
  readonly report: GatewayGroupReport;
  readonly at: number;
}

/** What a report adds to the history of load. */
export interface PickerArrivals {
  readonly pickers: PickersState;
  /** Work that arrived since the report before; what proved too much is taken off, at most until nothing is left. */
  readonly amount: number;
  /** Since the report before; undefined where there is none that goes on. */
  readonly spanMs: number | undefined;
  /** Whether requests came in, wait or run. */
  readonly isActive: boolean;
}

/**
 * Takes a report in. Counters count from the report before. Those of a picker that is not known, and those that fell, are a
 * base alone, unless it says that they have risen from 0 since its last accepted report.
 */
export function withPickerReport(state: PickersState, given: PickerReport): PickerArrivals {
  const { picker, report, at } = given;
  const before = state.byName.get(picker);
  const goesOn = before !== undefined && !hasFallen(before.report, report);
  const base = goesOn ? before.report : given.isFirst ? NOTHING : report;
  const arrived = report.arrivedWork - base.arrivedWork;
  const tooMuch = report.overestimatedWork - base.overestimatedWork;
  const uncounted = goesOn ? before.uncounted : given.isFirst ? 0 : underWay(report);
  const neverCounted = Math.min(uncounted, tooMuch);
  const balance = arrived - (tooMuch - neverCounted) - state.debt;
  const figures = { at, report, uncounted: uncounted - neverCounted };
  return {
    pickers: {
      byName: new Map([...remembered(state, given), [picker, figures]]),
      since: livePickers(state, at).length > 0 ? state.since : at,
      debt: Math.max(0, -balance),
    },
    amount: Math.max(0, balance),
    spanMs: goesOn ? Math.max(1, at - before.at) : undefined,
    isActive: arrived > 0 || underWay(report) > 0 || requestsOf(report) > 0,
  };
}

/** All others that are not silent for too long; of those that would be too many the ones that reported last. */
function remembered(
  { byName }: PickersState,
  { picker, at }: PickerReport,
): readonly (readonly [string, PickerFigures])[] {
  return [...byName]
    .filter(([name, one]) => name !== picker && Math.abs(at - one.at) < REMEMBERED_MS)
    .slice(1 - MAX_REMEMBERED);
}

const NOTHING = { arrivedWork: 0, overestimatedWork: 0 } as const;

/** Another process under the name, or figures that overtook each other on their way. */
function hasFallen(before: GatewayGroupReport, now: GatewayGroupReport): boolean {
  return now.arrivedWork < before.arrivedWork || now.overestimatedWork < before.overestimatedWork;
}

function underWay({ heldWork, workers }: GatewayGroupReport): number {
  return workers.reduce((sum, { work }) => sum + work, heldWork);
}

function requestsOf({ heldRequests, workers }: GatewayGroupReport): number {
  return workers.reduce((sum, { requests }) => sum + requests, heldRequests);
}

/** Pickers that reported lately. A time ahead is one of a clock that was set back since. */
export function livePickers({ byName }: PickersState, now: number): readonly PickerFigures[] {
  return [...byName.values()].filter(({ at }) => Math.abs(now - at) < PICKER_SILENT_MS);
}

/** What pickers together say of a worker now. */
export interface GatewayWorker {
  readonly requests: number;
  readonly work: number;
  /** The largest that one of them has measured; undefined where none has. */
  readonly perf: number | undefined;
}

/** By the name of the worker; those that nothing is said of are left out. `except` is a picker that is not counted. */
export function gatewayWorkers(
  state: PickersState,
  now: number,
  except?: string,
): ReadonlyMap<string, GatewayWorker> {
  const silent = { ...state, byName: new Map([...state.byName].filter(([name]) => name !== except)) };
  const workers = new Map<string, GatewayWorker>();
  for (const { report } of livePickers(silent, now))
    for (const { name, requests, work, perf } of report.workers) {
      const sum = workers.get(name) ?? { requests: 0, work: 0, perf: undefined };
      workers.set(name, {
        requests: sum.requests + requests,
        work: sum.work + work,
        perf: perf === undefined ? sum.perf : Math.max(perf, sum.perf ?? 0),
      });
    }
  return workers;
}

/** Requests that a worker has by all pickers, and since when all of them say so. */
export interface GatewayInFlight {
  readonly count: number;
  readonly at: number;
}

/**
 * Requests that a worker may have in flight. Undefined where that is not known: no picker reports, or the first did so a
 * short while ago, and another one that has requests may be yet to report. Those of a picker that fell silent count on for
 * ten minutes: its proxy may still be at them.
 */
export function gatewayInFlight(
  state: PickersState,
  worker: string,
  now: number,
): GatewayInFlight | undefined {
  const live = livePickers(state, now);
  if (state.since === undefined || live.length === 0 || now - state.since < PICKER_SILENT_MS)
    return undefined;
  const counts = [...state.byName.values()]
    .filter(({ at }) => Math.abs(now - at) < REMEMBERED_MS)
    .map(({ report }) => report.workers.find(({ name }) => name === worker)?.requests ?? 0);
  return {
    count: counts.reduce((sum, count) => sum + count, 0),
    at: Math.min(...live.map(({ at }) => at)),
  };
}

/** Requests and work that wait in all pickers. */
export function gatewayHeld(
  state: PickersState,
  now: number,
): { readonly requests: number; readonly work: number } {
  const live = livePickers(state, now).map(({ report }) => report);
  return {
    requests: live.reduce((sum, { heldRequests }) => sum + heldRequests, 0),
    work: live.reduce((sum, { heldWork }) => sum + heldWork, 0),
  };
}
