import type { GatewayGroupReport } from '../../../api/gateway-report.ts';

/** Silence, in milliseconds, after which a picker does not count. It reports at least every 5 s. */
export const PICKER_SILENT_MS = 15_000;
/** Time for which the counters of a silent picker continue, and its requests may still run in a worker. */
const REMEMBERED_MS = 600_000;
const MAX_REMEMBERED = 128;

/** Last report of one picker on one group. */
interface PickerFigures {
  /** Time of its arrival on the operator's clock. */
  readonly at: number;
  readonly report: GatewayGroupReport;
  /** Work that was in progress when counting began. An overestimate of this work was never counted. */
  readonly uncounted: number;
}

/** Reports of pickers on one group. */
export interface PickersState {
  readonly byName: ReadonlyMap<string, PickerFigures>;
  /** Start of the period in which at least one picker always reported; undefined before the first report. */
  readonly since: number | undefined;
  /** Overestimated work that later arrivals have not offset yet. */
  readonly debt: number;
}

export const NO_PICKERS: PickersState = { byName: new Map(), since: undefined, debt: 0 };

/** A received report. */
export interface PickerReport {
  readonly picker: string;
  /** True if its counters have risen from 0 since its last accepted report. */
  readonly isFirst: boolean;
  readonly report: GatewayGroupReport;
  readonly at: number;
}

/** Contribution of a report to the history of load. */
export interface PickerArrivals {
  readonly pickers: PickersState;
  /** Work that arrived since the report before, less overestimates; at least 0. */
  readonly amount: number;
  /** Milliseconds since the report before; undefined without one to continue. */
  readonly spanMs: number | undefined;
  /** True if requests arrived, wait or run. */
  readonly isActive: boolean;
}

/**
 * Adds a report. Counters count from the report before. For an unknown picker, or if a counter fell, the report is
 * only a base, unless its counters have risen from 0 since the last accepted report.
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

/** Returns the other pickers that are still remembered, at most the last ones to report. */
function remembered(
  { byName }: PickersState,
  { picker, at }: PickerReport,
): readonly (readonly [string, PickerFigures])[] {
  return [...byName]
    .filter(([name, one]) => name !== picker && Math.abs(at - one.at) < REMEMBERED_MS)
    .slice(1 - MAX_REMEMBERED);
}

const NOTHING = { arrivedWork: 0, overestimatedWork: 0 } as const;

/** Returns true if a counter fell: another process with this name, or reports out of order. */
function hasFallen(before: GatewayGroupReport, now: GatewayGroupReport): boolean {
  return now.arrivedWork < before.arrivedWork || now.overestimatedWork < before.overestimatedWork;
}

function underWay({ heldWork, workers }: GatewayGroupReport): number {
  return workers.reduce((sum, { work }) => sum + work, heldWork);
}

function requestsOf({ heldRequests, workers }: GatewayGroupReport): number {
  return workers.reduce((sum, { requests }) => sum + requests, heldRequests);
}

/** Returns the pickers that reported recently. A time in the future is from before the clock went back. */
export function livePickers({ byName }: PickersState, now: number): readonly PickerFigures[] {
  return [...byName.values()].filter(({ at }) => Math.abs(now - at) < PICKER_SILENT_MS);
}

/** Figures of all pickers on one worker. */
export interface GatewayWorker {
  readonly requests: number;
  readonly work: number;
  /** Maximum performance that a picker measured; undefined if none did. */
  readonly perf: number | undefined;
}

/**
 * Returns the figures by name of the worker, without workers that no picker reports. It leaves out the picker
 * `except`.
 */
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

/** Requests of all pickers in a worker, and the oldest time of their reports. */
export interface GatewayInFlight {
  readonly count: number;
  readonly at: number;
}

/**
 * Returns the requests that a worker may have in progress. Undefined if no picker reports, or the first one reported
 * only recently, since another one with requests may not have reported yet. Requests of a silent picker count for ten
 * minutes, since its proxy may still serve them.
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

/** Returns the requests and the work that wait in all pickers. */
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
