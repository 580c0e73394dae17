import type { ScalingTimes } from '../times.ts';
import { bootsSince, type Worker } from '../workers/worker.ts';
import { gatewayHeld, gatewayInFlight, gatewayWorkers, livePickers } from './pickers.ts';
import {
  GROUP_REPORTER,
  type LoadHistory,
  type LoadProblem,
  type LoadRecord,
  type LoadState,
  MIN_PERF,
  type Reporter,
  withArrivals,
} from './state.ts';

/** Load figures of one worker. */
export interface WorkerLoad {
  /** Accepted work that is not finished, in units; 0 without a recent report. */
  readonly currentLoad: number;
  /** Performance that the worker reports; undefined before its first report. */
  readonly maxPerf: number | undefined;
  /** Ready long enough and silent: its capacity does not count. */
  readonly isMissing: boolean;
  readonly error: string;
  /** Requests in progress with the time of the report; undefined if the worker reports none. */
  readonly inFlight: { readonly count: number; readonly at: number } | undefined;
}

/**
 * `available`: figures arrive. `doubtful`: some are invalid, or all reporters are booting, so the group does not shrink.
 * `missing`: none arrive, so it does not grow either, except by a wake request.
 */
export type MetricsState = 'available' | 'doubtful' | 'missing';

/** Load of a group for one decision. */
export interface LoadView {
  readonly history: LoadHistory;
  /** Waiting work, in units. */
  readonly waiting: number;
  /** True if a recent report separates waiting from running work. */
  readonly reportsWaiting: boolean;
  readonly metrics: MetricsState;
  /** Reason why the figures are not `told`. */
  readonly problem: LoadProblem | undefined;
  readonly workers: ReadonlyMap<string, WorkerLoad>;
}

/** Reporters of the load: the workers themselves, one source for the whole `group`, or the pickers of the gateway. */
export type LoadSpeaker = 'workers' | 'group' | 'gateway';

export interface ViewInput {
  readonly loadState: LoadState;
  readonly workers: readonly Worker[];
  readonly source: LoadSpeaker;
  /** True if requests come through a gateway, whatever the source of load. */
  readonly hasGateway: boolean;
  /** True if the group has had a ready worker. */
  readonly everReady: boolean;
  readonly now: number;
  readonly times: ScalingTimes;
}

/**
 * Returns the present load. Between reports, and for up to 90 s after the last one, a reporter's last rate continues.
 * After that it adds no arrivals, and its work does not count.
 */
export function loadView(input: ViewInput): LoadView {
  const { loadState, workers, now, times } = input;
  if (input.source === 'gateway') return viewOfGateway(input);
  const speaking = input.source === 'group' ? [GROUP_REPORTER] : workers.map(({ reporter }) => reporter);
  const known = speaking.flatMap((key) => loadState.reporters.get(key) ?? []);
  const recent = known.filter((reporter) => now - reporter.at < times.missingMs);
  return {
    history: known.reduce((history, reporter) => extended(history, reporter, input), loadState.history),
    waiting: recent.reduce((sum, { record }) => sum + (record.waitingLoad ?? record.currentLoad), 0),
    reportsWaiting: recent.some(({ record }) => record.waitingLoad !== undefined),
    ...(input.source === 'group' ? stateOfGroup(input) : stateOfWorkers(input)),
    workers: new Map(workers.map((worker) => [worker.name, workerLoad(worker, input)])),
  };
}

/** Returns the load of pickers. They count exactly and report often, so no rate continues between reports. */
function viewOfGateway({ loadState, workers, now }: ViewInput): LoadView {
  const { history, pickers } = loadState;
  const routed = gatewayWorkers(pickers, now);
  const isSilent = livePickers(pickers, now).length === 0;
  const silence = { kind: 'silent', detail: 'no gateway picker reports', at: now } as const;
  return {
    history,
    waiting: gatewayHeld(pickers, now).work,
    reportsWaiting: true,
    metrics: isSilent ? 'missing' : 'available',
    problem: isSilent ? (loadState.problems.get(GROUP_REPORTER) ?? silence) : undefined,
    workers: new Map(
      workers.map(({ name }) => {
        const { work = 0, perf } = routed.get(name) ?? {};
        const maxPerf = perf !== undefined && perf >= MIN_PERF ? perf : undefined;
        const inFlight = gatewayInFlight(pickers, name, now);
        return [name, { currentLoad: work, maxPerf, isMissing: false, error: '', inFlight }];
      }),
    ),
  };
}

/** Returns the history with the last rate continued until now, at most until the reporter is missing. */
function extended(history: LoadHistory, reporter: Reporter, { now, times }: ViewInput): LoadHistory {
  const spanMs = Math.min(now - reporter.at, times.missingMs);
  if (spanMs <= 0 || reporter.rate <= 0) return history;
  const amount = (reporter.rate * spanMs) / 1000;
  return withArrivals(history, { at: reporter.at + spanMs, spanMs, amount });
}

function workerLoad(worker: Worker, input: ViewInput): WorkerLoad {
  const { loadState, now, times } = input;
  const reporter = loadState.reporters.get(worker.reporter);
  const recent = reporter && now - reporter.at < times.missingMs ? reporter.record : undefined;
  return {
    currentLoad: recent?.currentLoad ?? 0,
    maxPerf: reporter?.record.maxPerf,
    isMissing: recent === undefined && isExpected(worker, input),
    error: recent?.error ?? '',
    inFlight: inFlightOf(worker, reporter, input),
  };
}

/**
 * Returns the requests in progress by worker and gateway, the larger count and the older time: either may know of
 * requests that the other does not.
 */
function inFlightOf(
  { name }: Worker,
  reporter: Reporter | undefined,
  { loadState: { pickers }, hasGateway, now }: ViewInput,
): WorkerLoad['inFlight'] {
  const own = reporter && { count: requestsIn(reporter.record), at: reporter.at };
  if (!hasGateway || pickers.since === undefined) return own;
  const routed = gatewayInFlight(pickers, name, now);
  if (!own || !routed) return routed;
  return { count: Math.max(own.count, routed.count), at: Math.min(own.at, routed.at) };
}

/** Returns the requests of a record; 1 if it has work but reports no requests. */
function requestsIn({ inFlight, currentLoad }: LoadRecord): number {
  return inFlight ?? (currentLoad > 0 ? 1 : 0);
}

/** Returns true for a hot worker that has served long enough to have reported. */
function isExpected(worker: Worker, { source, now, times }: ViewInput): boolean {
  const isHot = worker.isServing && worker.desiredRole === 'Hot';
  // A time in the future was noted before the clock went back, long enough ago.
  return source === 'workers' && isHot && Math.abs(now - worker.readySince) >= times.missingMs;
}

function stateOfGroup({ loadState, now, times }: ViewInput): Pick<LoadView, 'metrics' | 'problem'> {
  const problem = loadState.problems.get(GROUP_REPORTER);
  const reporter = loadState.reporters.get(GROUP_REPORTER);
  if (reporter && now - reporter.at < times.missingMs) {
    return { metrics: problem?.kind === 'invalid' ? 'doubtful' : 'available', problem };
  }
  return { metrics: problem || reporter ? 'missing' : 'available', problem };
}

function stateOfWorkers(input: ViewInput): Pick<LoadView, 'metrics' | 'problem'> {
  const { loadState, workers, now, times } = input;
  if (isScalingFromZero(input)) return { metrics: 'doubtful', problem: absence(input) };
  const serving = workers.filter((worker) => worker.isServing && worker.desiredRole === 'Hot');
  const problems = serving.flatMap((worker) => loadState.problems.get(worker.reporter) ?? []);
  // A pushed report may be invalid once and then stop: after that the worker counts as silent.
  const invalid = problems.find(({ kind, at }) => kind === 'invalid' && now - at < times.missingMs);
  const expected = serving.filter((worker) => isExpected(worker, input));
  if (expected.length > 0 && serving.every((worker) => isSilent(worker, input)))
    return { metrics: 'missing', problem: problems[0] };
  return invalid ? { metrics: 'doubtful', problem: invalid } : { metrics: 'available', problem: undefined };
}

function isSilent({ reporter }: Worker, { loadState, now, times }: ViewInput): boolean {
  return now - (loadState.reporters.get(reporter)?.at ?? 0) >= times.missingMs;
}

/**
 * Returns true if no worker serves and reports, and a hot one is booting: the load is unknown then, not zero. A group
 * that was never ready has missed no load.
 */
function isScalingFromZero(input: ViewInput): boolean {
  const hot = hotOf(input);
  const isOneComing = hot.some(({ isServing, isOverdue }) => !isServing && !isOverdue);
  if (!input.everReady || !isOneComing || hot.some(({ isServing }) => isServing)) return false;
  return hot.every((worker) => isSilent(worker, input));
}

/** Returns the problem when no hot worker has served for the maximum silence. A normal wake is no problem. */
function absence(input: ViewInput): LoadProblem | undefined {
  const { now, times } = input;
  const since = Math.max(...hotOf(input).map(bootsSince));
  const detail = 'no hot worker is serving';
  return now - since < times.missingMs ? undefined : { kind: 'silent', detail, at: since };
}

function hotOf({ workers }: ViewInput): readonly Worker[] {
  return workers.filter(({ desiredRole, isDeleting }) => desiredRole === 'Hot' && !isDeleting);
}
