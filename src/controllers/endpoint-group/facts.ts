import { annotations } from '../../api/v1alpha1/names.ts';
import { requestToken } from '../../api/v1alpha1/object.ts';
import { parseTime } from '../../lib/time.ts';
import { isFaulty, scalingWorkers, type WorkersInput } from './autoscale/candidates.ts';
import {
  type FailingWorker,
  failingWorkers,
  type ReplacementPace,
  replacementPace,
  withRecordedErrors,
} from './autoscale/failing.ts';
import type { ScalingWorker } from './autoscale/scaling-worker.ts';
import { type LoadView, loadView } from './load/view.ts';
import { type Endpoints, endpointsOf, hasGateway } from './publish/endpoints.ts';
import type { Observed, SeenLoad, SeenPublication, SeenWorkers } from './types.ts';
import { templateHash } from './workers/template.ts';
import type { Worker } from './workers/worker.ts';

/** Workers as input of the autoscaler, and the failing ones. */
export interface KnownWorkers extends SeenWorkers {
  /** Workers in the order of `all`. */
  readonly scaling: readonly ScalingWorker[];
  /** Values that determine `scaling`. */
  readonly input: WorkersInput;
  readonly failing: readonly FailingWorker[];
  readonly pace: ReplacementPace;
}

/** Load figures, with wake requests of the record. */
export interface KnownLoad extends SeenLoad {
  readonly view: LoadView;
  /** Undefined before any activity. */
  readonly lastActivity: number | undefined;
}

/** Endpoints of the publishable workers, and the problems of others. */
export interface KnownPublication extends SeenPublication, Endpoints {}

/** Observation and the values derived from it; the input of every rule. */
export interface Facts extends Observed {
  readonly workers: KnownWorkers;
  readonly load: KnownLoad;
  readonly publication: KnownPublication;
}

/** Returns the observation with every value that more than one rule uses. */
export function deriveFacts(observed: Observed): Facts {
  const { group, workers, load, account, publication } = observed;
  const { now, times } = observed.clock;
  const { all } = workers;
  const reported = loadView({
    ...{ loadState: load.state, source: load.source, workers: all, now, times },
    hasGateway: hasGateway(group),
    everReady: group.status?.everReady === true,
  });
  const failing = failingWorkers(observed, reported);
  const view = withRecordedErrors(reported, failing);
  const pace = replacementPace(observed, new Set(failing.map(({ worker }) => worker)));
  const serving = all.filter(({ name }) => !isFaulty(view.workers.get(name)));
  const endpoints = endpointsOf(group, serving, { allowPrivate: publication.allowPrivateAddresses });
  const input: WorkersInput = {
    ...{ workers: all, load: view, now, frozen: account.frozen, accountCap: account.cap },
    unreachable: new Set(endpoints.problems.map(({ worker }) => worker)),
    inHand: workers.outlook?.inHand,
    spec: group.spec,
    brokenSince: sinceOf(failing, all),
    pace,
    recordedPerf: group.status?.autoscaling?.perf,
    templateHash: templateHash(group),
  };
  const wakeAsked = load.wakeAsked || isWakeAnnotated(group) || isWakeUnfinished(observed);
  const lastActivity = wakeAsked || isAtWork(view) ? now : lastActivityOf(observed);
  return {
    ...observed,
    workers: { ...workers, scaling: scalingWorkers(input), input, failing, pace },
    load: { ...load, view, wakeAsked, lastActivity },
    publication: { ...publication, ...endpoints },
  };
}

/** Returns the times by reporter. A new machine of a worker is another reporter. */
function sinceOf(failing: readonly FailingWorker[], workers: readonly Worker[]): WorkersInput['brokenSince'] {
  const since = new Map(failing.map((one) => [one.worker, parseTime(one.since)]));
  return new Map(
    workers.flatMap(({ name, reporter }) => {
      const at = since.get(name);
      return at === undefined ? [] : [[reporter, at] as const];
    }),
  );
}

/** Returns true if the annotation has a value that the status does not confirm. */
function isWakeAnnotated({ metadata, status }: Observed['group']): boolean {
  const asked = requestToken(metadata, annotations.wakeAt);
  return asked !== undefined && asked !== status?.wokenAt;
}

/** Returns true if an earlier process recorded a wake and stopped before it woke a worker. */
function isWakeUnfinished({
  group,
  memory,
  workers,
}: Pick<Observed, 'group' | 'memory' | 'workers'>): boolean {
  if (memory !== undefined || group.status?.autoscaling?.rule !== 'Wake') return false;
  return !workers.all.some(isHot);
}

/** Returns true if the desired role of the worker is hot, whether it runs or boots. */
export function isHot({ desiredRole, isDeleting }: Worker): boolean {
  return desiredRole === 'Hot' && !isDeleting;
}

/** Returns true if the last reports contain work. A silent reporter keeps its work until its next report. */
function isAtWork({ waiting, workers }: LoadView): boolean {
  if (waiting > 0) return true;
  return [...workers.values()].some(({ currentLoad, inFlight }) => currentLoad + (inFlight?.count ?? 0) > 0);
}

/**
 * Returns the time of the last activity, at most now. A new group counts as active, since no work is visible without
 * a worker; behind a gateway waiting requests are visible. After a restart a recorded load counts as activity now.
 */
function lastActivityOf({
  clock: { now },
  load,
  group,
  memory,
}: Pick<Observed, 'clock' | 'load' | 'group' | 'memory'>): number | undefined {
  const { creationTimestamp } = group.metadata;
  const begun = hasGateway(group) ? undefined : (parseTime(creationTimestamp) ?? now);
  const recorded = parseTime(group.status?.lastActivity) ?? begun;
  const wasBusy = memory === undefined && Number(group.status?.load ?? 0) > 0;
  const known = [recorded, load.state.lastActivity, wasBusy ? now : undefined];
  const latest = Math.max(...known.filter((at) => at !== undefined));
  return Number.isFinite(latest) ? Math.min(now, latest) : undefined;
}
