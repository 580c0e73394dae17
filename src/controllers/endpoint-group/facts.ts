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
import type { Observed } from './types.ts';
import { templateHash } from './workers/template.ts';
import type { Worker } from './workers/worker.ts';

/** What one pass knows, worked out once. */
export interface GroupFacts {
  readonly observed: Observed;
  readonly load: LoadView;
  readonly input: WorkersInput;
  readonly scaling: readonly ScalingWorker[];
  readonly endpoints: Endpoints;
  readonly failing: readonly FailingWorker[];
  readonly pace: ReplacementPace;
  /** Undefined before any. */
  readonly lastActivity: number | undefined;
  readonly wakeAsked: boolean;
}

/** Everything that is worked out before anything is decided. */
export function deriveFacts(observed: Observed): GroupFacts {
  const { group, workers, loadState, source, now, times, frozen, accountCap } = observed;
  const everReady = group.status?.everReady === true;
  const reported = loadView({
    loadState,
    workers,
    source,
    hasGateway: hasGateway(group),
    everReady,
    now,
    times,
  });
  const failing = failingWorkers(observed, reported);
  const load = withRecordedErrors(reported, failing);
  const pace = replacementPace(observed, new Set(failing.map(({ worker }) => worker)));
  const serving = workers.filter(({ name }) => !isFaulty(load.workers.get(name)));
  const endpoints = endpointsOf(group, serving, { allowPrivate: observed.allowPrivateAddresses });
  const unreachable = new Set(endpoints.problems.map(({ worker }) => worker));
  const input: WorkersInput = {
    ...{ workers, load, now, frozen, unreachable, accountCap, inHand: observed.outlook?.inHand },
    spec: group.spec,
    brokenSince: sinceOf(failing, workers),
    pace,
    recordedPerf: group.status?.autoscaling?.perf,
    templateHash: templateHash(group),
  };
  const wakeAsked = observed.wakeAsked || isWakeAnnotated(observed) || isWakeUnfinished(observed);
  return {
    observed,
    load,
    failing,
    pace,
    input,
    wakeAsked,
    scaling: scalingWorkers(input),
    endpoints,
    lastActivity: wakeAsked || isAtWork(load) ? now : lastActivityOf(observed),
  };
}

/** By the reporter's name: another machine of the same worker is another reporter. */
function sinceOf(failing: readonly FailingWorker[], workers: readonly Worker[]): WorkersInput['brokenSince'] {
  const since = new Map(failing.map((one) => [one.worker, parseTime(one.since)]));
  return new Map(
    workers.flatMap(({ name, reporter }) => {
      const at = since.get(name);
      return at === undefined ? [] : [[reporter, at] as const];
    }),
  );
}

/** A new value of the annotation asks again; the one that was answered stands in the status. */
function isWakeAnnotated({ group }: Observed): boolean {
  const asked = requestToken(group.metadata, annotations.wakeAt);
  return asked !== undefined && asked !== group.status?.wokenAt;
}

/** The process before this one recorded that a worker wakes, and ended before it asked one to. */
function isWakeUnfinished({ group, memory, workers }: Observed): boolean {
  if (memory !== undefined || group.status?.autoscaling?.rule !== 'Wake') return false;
  return !workers.some(isHot);
}

/** Whether it is to serve, be it up or on its way. */
export function isHot({ desiredRole, isDeleting }: Worker): boolean {
  return desiredRole === 'Hot' && !isDeleting;
}

/** Work that was reported goes on until another report says that it ended: who has nothing new to report may be silent. */
function isAtWork({ waiting, workers }: LoadView): boolean {
  if (waiting > 0) return true;
  return [...workers.values()].some(({ currentLoad, inFlight }) => currentLoad + (inFlight?.count ?? 0) > 0);
}

/**
 * A new group counts as active, since without a worker no work could be seen; not behind a gateway, where requests wait.
 * A restart does not know since when a load that was on record has been over: it counts from now. Never later than now,
 * whatever a clock that was ahead has noted.
 */
function lastActivityOf({ now, loadState, group, memory }: Observed): number | undefined {
  const { creationTimestamp } = group.metadata;
  const begun = hasGateway(group) ? undefined : (parseTime(creationTimestamp) ?? now);
  const recorded = parseTime(group.status?.lastActivity) ?? begun;
  const wasBusy = memory === undefined && Number(group.status?.load ?? 0) > 0;
  const known = [recorded, loadState.lastActivity, wasBusy ? now : undefined];
  const latest = Math.max(...known.filter((at) => at !== undefined));
  return Number.isFinite(latest) ? Math.min(now, latest) : undefined;
}
