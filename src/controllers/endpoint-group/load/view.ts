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

/** What the load figures say about one worker. */
export interface WorkerLoad {
  /** Work taken and not finished, in units; 0 where nothing recent says it. */
  readonly currentLoad: number;
  /** Its own figure; undefined while it has not told one. */
  readonly maxPerf: number | undefined;
  /** Ready for long and silent: it counts as no capacity. */
  readonly isMissing: boolean;
  readonly error: string;
  /** Requests that it works on, and when it said so; undefined where it does not tell. */
  readonly inFlight: { readonly count: number; readonly at: number } | undefined;
}

/**
 * `told`: figures arrive. `doubtful`: some that arrive cannot be true, or all who would tell are on their way, so
 * nothing shrinks. `missing`: none arrive, so nothing grows either, unless someone asks for a wake.
 */
export type MetricsState = 'told' | 'doubtful' | 'missing';

/** The load of a group as one decision sees it. */
export interface LoadView {
  readonly history: LoadHistory;
  /** Work that waits, in units. */
  readonly waiting: number;
  /** Whether waiting work is told apart from running work. */
  readonly reportsWaiting: boolean;
  readonly metrics: MetricsState;
  /** Why they are not `told`. */
  readonly problem: LoadProblem | undefined;
  readonly workers: ReadonlyMap<string, WorkerLoad>;
}

/** `workers` report for themselves; `group`: one source speaks for all; `gateway`: pickers tell of the group and its workers. */
export type LoadSpeaker = 'workers' | 'group' | 'gateway';

export interface ViewInput {
  readonly loadState: LoadState;
  readonly workers: readonly Worker[];
  readonly source: LoadSpeaker;
  /** Whether requests come through a gateway, whoever tells the load. */
  readonly hasGateway: boolean;
  /** True if the group has had a ready worker. */
  readonly everReady: boolean;
  readonly now: number;
  readonly times: ScalingTimes;
}

/**
 * What is known now. Between reports, and for 90 s when they stop, a reporter's last rate stands for it; after that
 * nothing arrives at it and its work no longer counts.
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

/** Pickers count exactly and often: nothing is added between their reports. */
function viewOfGateway({ loadState, workers, now }: ViewInput): LoadView {
  const { history, pickers } = loadState;
  const routed = gatewayWorkers(pickers, now);
  const isSilent = livePickers(pickers, now).length === 0;
  const silence = { kind: 'silent', detail: 'no picker of the gateway reports', at: now } as const;
  return {
    history,
    waiting: gatewayHeld(pickers, now).work,
    reportsWaiting: true,
    metrics: isSilent ? 'missing' : 'told',
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

/** The last rate goes on until there is another report, at most until the reporter counts as missing. */
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

/** Both the worker and its gateway have to say that there are none: either may know of some that the other does not. */
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

/** Where it does not tell requests, work that it has is one at least. */
function requestsIn({ inFlight, currentLoad }: LoadRecord): number {
  return inFlight ?? (currentLoad > 0 ? 1 : 0);
}

/** A worker that has served for as long as a silence may last should have reported. */
function isExpected(worker: Worker, { source, now, times }: ViewInput): boolean {
  const isHot = worker.isServing && worker.desiredRole === 'Hot';
  // A time that lies ahead was noted by a clock that was ahead, long enough ago.
  return source === 'workers' && isHot && Math.abs(now - worker.readySince) >= times.missingMs;
}

function stateOfGroup({ loadState, now, times }: ViewInput): Pick<LoadView, 'metrics' | 'problem'> {
  const problem = loadState.problems.get(GROUP_REPORTER);
  const reporter = loadState.reporters.get(GROUP_REPORTER);
  if (reporter && now - reporter.at < times.missingMs) {
    return { metrics: problem?.kind === 'invalid' ? 'doubtful' : 'told', problem };
  }
  return { metrics: problem || reporter ? 'missing' : 'told', problem };
}

function stateOfWorkers(input: ViewInput): Pick<LoadView, 'metrics' | 'problem'> {
  const { loadState, workers, now, times } = input;
  if (isScalingFromZero(input)) return { metrics: 'doubtful', problem: absence(input) };
  const serving = workers.filter((worker) => worker.isServing && worker.desiredRole === 'Hot');
  const problems = serving.flatMap((worker) => loadState.problems.get(worker.reporter) ?? []);
  // Who reports by himself may lie once and then say nothing for ever: that is a silence, and no lie any more.
  const lie = problems.find(({ kind, at }) => kind === 'invalid' && now - at < times.missingMs);
  const expected = serving.filter((worker) => isExpected(worker, input));
  if (expected.length > 0 && serving.every((worker) => isSilent(worker, input)))
    return { metrics: 'missing', problem: problems[0] };
  return lie ? { metrics: 'doubtful', problem: lie } : { metrics: 'told', problem: undefined };
}

function isSilent({ reporter }: Worker, { loadState, now, times }: ViewInput): boolean {
  return now - (loadState.reporters.get(reporter)?.at ?? 0) >= times.missingMs;
}

/**
 * Whether no worker serves that could report load, and a hot one is booting: what arrives is unknown, and not zero. A
 * group that has never been ready has missed no load.
 */
function isScalingFromZero(input: ViewInput): boolean {
  const hot = hotOf(input);
  const isOneComing = hot.some(({ isServing, isOverdue }) => !isServing && !isOverdue);
  if (!input.everReady || !isOneComing || hot.some(({ isServing }) => isServing)) return false;
  return hot.every((worker) => isSilent(worker, input));
}

/** Worth telling once it lasts as long as a silence may: a worker that wakes is no trouble. */
function absence(input: ViewInput): LoadProblem | undefined {
  const { now, times } = input;
  const since = Math.max(...hotOf(input).map(bootsSince));
  const detail = 'no hot worker serves, so none reports';
  return now - since < times.missingMs ? undefined : { kind: 'silent', detail, at: since };
}

function hotOf({ workers }: ViewInput): readonly Worker[] {
  return workers.filter(({ desiredRole, isDeleting }) => desiredRole === 'Hot' && !isDeleting);
}
