import type { EndpointGroupCondition } from '../../api/v1alpha1/conditions.ts';
import { facetsOf, isReason, type Reason, reasons } from '../../api/v1alpha1/reasons.ts';
import { formatDollars } from '../../lib/money.ts';
import { agreeing, counted } from '../../lib/plural.ts';
import { formatTime, parseDuration } from '../../lib/time.ts';
import { type DesiredCondition, findCondition } from '../../runtime/conditions.ts';
import type { ScalingDecision } from './autoscale/bounds.ts';
import { readableError } from './autoscale/failing.ts';
import type { Choice } from './autoscale/plan.ts';
import type { Counts } from './counts.ts';
import { type Facts, isHot } from './facts.ts';
import { livePickers } from './load/pickers.ts';
import type { LoadView } from './load/view.ts';
import { endpointFileName, publishesFile } from './publish/endpoint-file.ts';
import { hasGateway } from './publish/endpoints.ts';
import type { Refusal } from './types.ts';
import { isStatusCurrent, type Worker } from './workers/worker.ts';

/** Facts and decisions that conditions report. */
export interface Situation
  extends Pick<Facts, 'group' | 'workers' | 'account' | 'load' | 'publication' | 'clock'> {
  readonly decision: ScalingDecision;
  readonly choice: Choice;
  readonly counts: Counts;
  /** Writes that are decided, and that the API server refused when they were last tried. */
  readonly refusals: readonly Refusal[];
  /** True if waiting has looked longer than the target for five minutes although the capacity suffices. */
  readonly isSlow: boolean;
}

type ConditionState = Omit<DesiredCondition, 'type' | 'reason'> & { readonly reason: Reason };

const yes = (reason: Reason, message: string): ConditionState => ({ status: 'True', reason, message });
const no = (reason: Reason, message: string): ConditionState => ({ status: 'False', reason, message });

type Judge = (situation: Situation) => ConditionState | undefined;

/** Conditions in the order in which people read them. A condition is absent if its function returns undefined. */
const JUDGES: Readonly<Record<EndpointGroupCondition, Judge>> = {
  Ready: ready,
  Reconciling: reconciling,
  Stalled: stalled,
  MetricsAvailable: metricsAvailable,
  Progressing: progressing,
  AtMaxWorkers: atMaxWorkers,
  AtSpendCeiling: atSpendCeiling,
  Saturated: saturated,
  TargetQueueTimeTooShort: targetQueueTimeTooShort,
  WorkersBlocked: (situation) =>
    workersBlocked(situation, serviceProblem(situation.publication), refusalProblem(situation)),
  GatewayConnected: gatewayConnected,
  CallerKeysUsable: callerKeysUsable,
  EndpointsPublished: endpointsPublished,
  ReplacementBlocked: replacementBlocked,
};

/** Returns the conditions to set, and the types to remove. */
export function conditionsOf(situation: Situation): {
  readonly desired: readonly DesiredCondition[];
  readonly absent: readonly string[];
} {
  const judged = Object.entries(JUDGES).map(([type, judge]) => ({ type, says: judge(situation) }));
  return {
    desired: judged.flatMap(({ type, says }) => (says ? [{ type, ...says }] : [])),
    absent: judged.filter(({ says }) => !says).map(({ type }) => type),
  };
}

/** Returns the beginning of a sentence about a number of workers. */
const workersAre = (count: number): string => `${counted(count, 'worker')} ${agreeing(count, 'is', 'are')}`;

/**
 * Returns the condition Ready. Missing workers come before an update: an update whose workers all serve is no alarm.
 */
function ready(situation: Situation): ConditionState {
  const { counts, decision } = situation;
  const blocked =
    serviceProblem(situation.publication) ?? addressProblem(situation) ?? refusalProblem(situation);
  if (blocked) return no(blocked.reason, blocked.message);
  const failing = stalled(situation);
  if (failing) return no(failing.reason, failing.message);
  if (counts.ready < decision.hot) return short(situation);
  const update = updating(situation);
  if (update) return no(update.reason, update.message);
  const gap = `${poolGap(situation)}${spreadGap(situation)}`;
  if (decision.hot > 0) return yes('Ready', `${workersAre(counts.ready)} ready.${broken(situation)}${gap}`);
  const why = situation.group.spec.replicas === 0 ? 'spec.replicas is 0' : 'no load';
  return sleepsBlind(situation) ?? yes('ScaledToZero', `Scaled to zero: ${why}.${gap}`);
}

/** Returns the reason for missing cold workers, which no other condition reports while the load is served. */
function poolGap({ workers, group, account }: Situation): string {
  if (account.market?.hasStop === false && group.spec.coldWorkers > 0) return WITHOUT_POOL;
  const why = blockedWorkers(workers.all, 'Cold');
  return why === undefined ? '' : ` ${why}`;
}

const WITHOUT_POOL =
  ' spec.coldWorkers has no effect: the marketplace cannot stop machines, so surplus workers are deleted.';

/** Returns the sentence that workers are not spread, which no other condition reports. */
function spreadGap({ group, account }: Situation): string {
  const { spreadBy } = group.spec;
  const isByHost = spreadBy === 'Machine' || spreadBy === 'Host';
  return isByHost && account.market?.namesHosts === false ? withoutSpread(spreadBy) : '';
}

const withoutSpread = (spreadBy: string): string =>
  ` spec.spreadBy ${spreadBy} has no effect: offers of the marketplace do not identify machines and hosts. Set None or Region.`;

/** Returns the problem of a load source that cannot be read while no worker is hot, so that no load would wake one. */
function sleepsBlind({ load }: Situation): ConditionState | undefined {
  const { metrics, problem } = load.view;
  if (metrics !== 'missing' || !problem) return undefined;
  return no('LoadUnavailable', `No worker is hot, and the load is unknown: ${problem.detail}.`);
}

/** Returns the faults of workers, and the time of the next replacement if it is in the future. */
function broken(situation: Situation): string {
  const { pace } = situation.workers;
  const wrong = `${faults(situation)}${unready(situation)}`;
  if (wrong === '' || situation.clock.now >= pace.from) return wrong;
  const before = pace.inRow > 1 ? `${pace.inRow} replaced in a row; next` : 'Next';
  return `${wrong} ${before} replacement after ${formatTime(pace.from)}.`;
}

/** Returns the first error of a worker by name, and the number of others. */
function faults({ workers, load }: Situation): string {
  const faulty = workers.all
    .flatMap(({ name }) => {
      const error = readableError(load.view.workers.get(name)?.error);
      return error === undefined ? [] : [{ name, error }];
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const [first] = faulty;
  if (!first) return '';
  const others = faulty.length - 1;
  const more =
    others > 0
      ? ` ${counted(others, 'other worker')} ${agreeing(others, 'reports an error', 'report errors')}.`
      : '';
  return ` Worker ${first.name} reports: ${JSON.stringify(first.error)}.${more}`;
}

/** Returns the first worker by name that has run without serving for longer than `notReadyTimeout`. */
function unready({ workers, group, clock: { now } }: Situation): string {
  const limitMs = parseDuration(group.spec.notReadyTimeout) ?? Number.POSITIVE_INFINITY;
  const late = workers.all.filter(
    ({ unreadySince, desiredRole }) =>
      desiredRole !== 'Gone' && unreadySince !== undefined && now >= unreadySince + limitMs,
  );
  const [first] = late.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  if (!first) return '';
  const reason = first.object.status?.conditions?.find(({ type }) => type === 'Ready')?.reason ?? 'unknown';
  return ` Worker ${first.name} has been running but not ready (${reason}) for longer than notReadyTimeout (${group.spec.notReadyTimeout}).`;
}

function short(situation: Situation): ConditionState {
  const { counts, decision, workers } = situation;
  const ready = `${counts.ready} of ${counted(decision.hot, 'hot worker')} ${agreeing(decision.hot, 'is', 'are')} ready.${broken(situation)}`;
  if (faults(situation) !== '' && counts.ready === 0) return no('WorkersFailing', ready);
  const why = blockedWorkers(workers.all, 'Hot');
  const wanting = why === undefined ? ready : `${ready} ${why}`;
  if (counts.ready > 0) return no('Scaling', wanting);
  return no(counts.waking > 0 ? 'Starting' : 'NoReadyWorkers', wanting);
}

function serviceProblem({ service }: Situation['publication']): Obstacle | undefined {
  return service.type === 'problem' ? { reason: service.reason, message: service.detail } : undefined;
}

function addressProblem({ publication: { problems } }: Situation): Obstacle | undefined {
  const [first] = problems;
  if (!first) return undefined;
  const others = problems.length - 1;
  const more =
    others > 0
      ? ` ${counted(others, 'other worker')} ${agreeing(others, 'is', 'are')} not published either.`
      : '';
  return {
    reason: 'EndpointsLeftOut',
    message: `Worker ${first.worker} is not published: ${first.detail}.${more}`,
  };
}

/** Returns the text of the first refused write, and the number of others. */
function refusalProblem({ refusals }: Situation): Obstacle | undefined {
  const [first] = refusals;
  if (!first) return undefined;
  const others = refusals.length - 1;
  const more =
    others > 0 ? ` ${counted(others, 'other write')} ${agreeing(others, 'is', 'are')} refused too.` : '';
  return { reason: 'NotPermitted', message: `${first.detail}.${more}` };
}

/** Returns the condition Reconciling; undefined if the group serves as desired, even while its pool changes. */
function reconciling(situation: Situation): ConditionState | undefined {
  if (stalled(situation) || ready(situation).status === 'True') return undefined;
  return underWay(situation);
}

/** Returns the condition for kept workers of an old template, if no machine can be rented with the current one. */
function replacementBlocked({ counts, group, workers }: Situation): ConditionState | undefined {
  if (counts.old === 0 || isAnyInHand(workers)) return undefined;
  const blocked = workers.outlook?.blocked;
  if (blocked === undefined) return recordedBlock(group);
  const kept = `${counted(counts.old, 'worker')} of an old template kept: no machine can be rented with the new one (${blocked.reason}).`;
  return yes('ReplacementBlocked', `${kept} ${blocked.detail}`);
}

/** Returns true if a machine can be rented for one worker and nothing blocks the others. */
function isAnyInHand({ outlook, all }: Situation['workers']): boolean {
  return outlook?.blocked === undefined && all.some(({ name }) => outlook?.inHand.has(name) === true);
}

/** Returns the recorded result for this generation, until another search replaces it. */
function recordedBlock({ metadata, status }: Situation['group']): ConditionState | undefined {
  const found = findCondition(status?.conditions, 'ReplacementBlocked');
  const isCurrent = found?.status === 'True' && found.observedGeneration === metadata.generation;
  return isCurrent ? yes('ReplacementBlocked', found.message) : undefined;
}

function updating(situation: Situation): ConditionState | undefined {
  const { counts, group } = situation;
  if (counts.old === 0 || group.spec.updateStrategy.type !== 'RollingUpdate') return undefined;
  const blocked = replacementBlocked(situation);
  if (blocked) return blocked;
  return yes(
    'Scaling',
    `${counted(counts.old, 'worker')} ${agreeing(counts.old, 'has', 'have')} an old template.`,
  );
}

/** Returns the change of the workers that is in progress. */
function underWay(situation: Situation): ConditionState | undefined {
  const { counts, decision } = situation;
  const update = updating(situation);
  if (update) return update;
  if (counts.draining > 0) return yes('Scaling', `Draining ${counted(counts.draining, 'worker')}.`);
  if (counts.waking > 0) return yes('Starting', `Waking ${counted(counts.waking, 'worker')}.`);
  if (counts.hot < decision.hot)
    return yes(
      'Scaling',
      `${counts.hot} of ${counted(decision.hot, 'hot worker')} ${agreeing(decision.hot, 'exists', 'exist')}; ${counts.starting} starting.${poolGap(situation)}`,
    );
  if (counts.starting > 0)
    return yes('Scaling', `${workersAre(counts.starting)} starting.${poolGap(situation)}`);
  const kept = counts.hot + counts.cold;
  if (kept < decision.total)
    return yes(
      'Scaling',
      `${kept} of ${counted(decision.total, 'worker')} ${agreeing(decision.total, 'exists', 'exist')}.`,
    );
  if (counts.leaving > 0) return yes('Scaling', `Deleting ${counted(counts.leaving, 'worker')}.`);
  return undefined;
}

function stalled({ counts }: Situation): ConditionState | undefined {
  const existing = counts.hot + counts.cold;
  if (existing === 0 || counts.stalled < existing) return undefined;
  return yes('WorkersFailing', 'All workers are stalled; see their conditions.');
}

/** Returns the condition MetricsAvailable; undefined for a group of fixed size, which does not follow its load. */
function metricsAvailable({ load, group }: Situation): ConditionState | undefined {
  if (group.spec.replicas !== undefined) return undefined;
  const { metrics, problem } = load.view;
  if (metrics === 'available' || (metrics === 'doubtful' && !problem))
    return yes('Ready', 'Load figures are available.');
  if (metrics === 'doubtful' && problem?.kind === 'invalid') {
    return no('LoadUnavailable', `Invalid load figures: ${problem.detail}. Scale-down is blocked.`);
  }
  return metricsMissing(problem);
}

function metricsMissing(problem: LoadView['problem']): ConditionState {
  const detail = problem?.detail ?? 'no worker has reported for 90 s';
  return no('LoadUnavailable', `No load figures: ${detail}. Scale-down is blocked.`);
}

function progressing(situation: Situation): ConditionState {
  const { group, counts, decision } = situation;
  const { pause } = group.spec;
  if (pause.scaleUp || pause.scaleDown) {
    const directions = [pause.scaleUp ? 'up' : '', pause.scaleDown ? 'down' : ''].filter(Boolean);
    return yes('Paused', `Scaling ${directions.join(' and ')} is paused.`);
  }
  if (counts.stalled > 0 && counts.ready < decision.hot)
    return no(
      'WorkersFailing',
      `${workersAre(counts.stalled)} stalled; see ${agreeing(counts.stalled, 'its', 'their')} conditions.`,
    );
  const refusal = refusalProblem(situation);
  if (refusal) return no(refusal.reason, refusal.message);
  const busy = underWay(situation);
  if (busy) return yes(busy.reason, busy.message);
  return unmeasured(situation) ?? yes('Ready', 'The number of workers matches the target.');
}

/** Returns the condition for an unknown performance. Most sources never report one, so the group would wait forever. */
function unmeasured({ decision, group }: Situation): ConditionState | undefined {
  const { perf, capacities } = decision.terms;
  if (perf !== undefined || capacities.hot === 0 || group.spec.replicas !== undefined) return undefined;
  return no(
    'LoadUnavailable',
    'No worker reports its performance, so one worker stays hot regardless of load. Set spec.expectedPerf.',
  );
}

function atMaxWorkers({ decision, group }: Situation): ConditionState | undefined {
  const { maxWorkers } = group.spec;
  if (decision.missingWorkers === 0) return undefined;
  return yes(
    'AtLimit',
    `The load needs ${counted(maxWorkers + decision.missingWorkers, 'worker')}; maxWorkers is ${maxWorkers}.`,
  );
}

function atSpendCeiling({ choice, group, counts }: Situation): ConditionState | undefined {
  if (choice.cutByCeiling === 0) return undefined;
  return yes(
    'AtLimit',
    `maxSpendPerHour $${group.spec.maxSpendPerHour} blocks ${counted(choice.cutByCeiling, 'more worker')}; current workers cost $${formatDollars(counts.pricePerHour)}/h.`,
  );
}

function saturated({ counts }: Situation): ConditionState | undefined {
  if (counts.ready === 0 || counts.full < counts.ready) return undefined;
  return yes(
    'Saturated',
    `${counts.full} of ${counted(counts.ready, 'ready worker')} ${agreeing(counts.ready, 'is', 'are')} full.`,
  );
}

function targetQueueTimeTooShort({ isSlow, group }: Situation): ConditionState | undefined {
  if (!isSlow) return undefined;
  return yes(
    'Saturated',
    `Work in workers has exceeded targetQueueTime ${group.spec.targetQueueTime} for 5m although capacity suffices. Raise targetQueueTime.`,
  );
}

/**
 * Returns the reason why workers of a role have no machine: the reason of the first worker by name, and the number of
 * workers that share it. Undefined if no worker has an obstacle.
 */
export function blockedWorkers(workers: readonly Worker[], desiredRole: 'Hot' | 'Cold'): string | undefined {
  const waiting = workers
    .filter((worker) => !worker.isDeleting && worker.desiredRole === desiredRole && !worker.isRented)
    .flatMap(({ name, object }) => {
      const rented = findCondition(object.status?.conditions, 'Rented');
      return rented?.status === 'False' && isObstacle(rented.reason) ? [{ name, reason: rented.reason }] : [];
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const [first] = waiting;
  if (!first) return undefined;
  const count = waiting.filter(({ reason }) => reason === first.reason).length;
  return `${counted(count, `${desiredRole.toLowerCase()} worker`)} ${agreeing(count, 'has', 'have')} no machine (${first.reason}); see the conditions of worker ${first.name}.`;
}

function isObstacle(reason: string): boolean {
  if (!Object.hasOwn(reasons, reason)) return false;
  const { kind } = reasons[reason as Reason];
  return kind === 'retryable' || kind === 'terminal';
}

// Gateway

interface Obstacle {
  readonly reason: Reason;
  readonly message: string;
}

/**
 * Returns the reason why the group cannot serve any request: no worker is ready or booting, and none can be rented.
 * The gateway then rejects requests instead of holding them. Obstacles that pass within seconds, such as a refused
 * rental, do not count. `service` prevents publishing; `refused` is a refused write that the group needs.
 */
function workersBlocked(
  situation: Situation,
  service: Obstacle | undefined,
  refused: Obstacle | undefined,
): ConditionState | undefined {
  const { group, counts } = situation;
  if (!hasGateway(group) || counts.ready > 0) return undefined;
  const obstacle = service ?? groupObstacle(situation, refused) ?? obstacleOfAll(situation);
  return obstacle && { status: 'True', ...obstacle };
}

/** Returns the obstacle that prevents the first hot worker of a group. */
function groupObstacle(
  { group, workers, choice, decision }: Situation,
  refused: Obstacle | undefined,
): Obstacle | undefined {
  const { spec } = group;
  if (workers.all.some(isHot)) return undefined;
  if (spec.pause.scaleUp) return { reason: 'Paused', message: 'spec.pause.scaleUp is true.' };
  if (spec.replicas === 0) return { reason: 'NoReadyWorkers', message: 'spec.replicas is 0.' };
  // Obstacles are found only when a worker is desired.
  if (decision.hot === 0) return undefined;
  if (refused) return refused;
  if (choice.cutByCeiling === 0 || choice.changes.length > 0) return undefined;
  return {
    reason: 'AtLimit',
    message: `maxSpendPerHour $${spec.maxSpendPerHour} allows no worker.`,
  };
}

/** Returns the obstacle of the first worker by name, if every hot worker has one. */
function obstacleOfAll({ workers, load }: Situation): Obstacle | undefined {
  const hot = workers.all.filter(isHot).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const obstacles = hot.map((worker) => obstacleOf(worker, load.view.workers.get(worker.name)?.error));
  return obstacles.every((obstacle) => obstacle !== undefined) ? obstacles[0] : undefined;
}

/** Returns the reason why a worker will not serve until something else changes; undefined if it is booting. */
function obstacleOf({ name, object, isRented, isServing }: Worker, error?: string): Obstacle | undefined {
  const { conditions } = object.status ?? {};
  const fault = readableError(error);
  if (fault !== undefined)
    return { reason: 'WorkersFailing', message: `Worker ${name} reports: ${JSON.stringify(fault)}.` };
  if (isServing || !isStatusCurrent(object)) return undefined;
  const stalled = findCondition(conditions, 'Stalled');
  const found =
    stalled?.status === 'True' ? stalled : findCondition(conditions, isRented ? 'Ready' : 'Rented');
  if (!found || !isReason(found.reason)) return undefined;
  const isLasting = found === stalled || facetsOf(found.reason).isLasting;
  return isLasting ? { reason: found.reason, message: `Worker ${name}: ${found.message}` } : undefined;
}

/** Reports whether pickers report requests to the operator. */
function gatewayConnected({ group, load, clock: { now } }: Situation): ConditionState | undefined {
  const { pickers } = load.state;
  if (!hasGateway(group)) return undefined;
  const live = livePickers(pickers, now).length;
  if (live > 0)
    return {
      status: 'True',
      reason: 'Ready',
      message: `${counted(live, 'picker')} ${agreeing(live, 'is', 'are')} reporting.`,
    };
  if (pickers.since === undefined)
    return {
      status: 'Unknown',
      reason: 'LoadUnavailable',
      message: 'No picker has reported since this operator became the leader.',
    };
  return {
    status: 'False',
    reason: 'LoadUnavailable',
    message: 'No picker has reported for 15 s.',
  };
}

/** Reports whether pickers can identify callers by the keys in the Secret. */
function callerKeysUsable({ group, load, clock: { now } }: Situation): ConditionState | undefined {
  const secret = group.spec.gateway?.keys?.secretName;
  if (secret === undefined || !hasGateway(group)) return undefined;
  const reports = livePickers(load.state.pickers, now).flatMap(({ report }) => report.keys ?? []);
  const states = new Set(reports.map(({ state }) => state));
  if (states.has('Missing'))
    return { status: 'False', reason: 'InputMissing', message: `Secret ${secret} does not exist.` };
  const unusable = [...new Set(reports.flatMap((report) => report.unusable))].join(', ');
  if (states.has('Unusable'))
    return {
      status: 'False',
      reason: 'InputMissing',
      message: `Secret ${secret} has no usable key. ${HASH_REMEDY}${unusable && ` Not a SHA-256: ${unusable}.`}`,
    };
  if (unusable !== '')
    return {
      status: 'False',
      reason: 'InputMissing',
      message: `Secret ${secret}: not a SHA-256: ${unusable}. ${HASH_REMEDY}`,
    };
  if (states.has('Read'))
    return {
      status: 'True',
      reason: 'Ready',
      message: `Pickers identify callers by Secret ${secret}.`,
    };
  const message = `No picker has read Secret ${secret}. Allow pickers to get it (chart: gateway.secrets).`;
  return { status: 'Unknown', reason: 'InputMissing', message };
}

const HASH_REMEDY = 'Store the SHA-256 of each key: printf %s "$KEY" | sha256sum.';

/** Returns the condition for the ConfigMap: whether it lists all ready workers for another router. */
function endpointsPublished({ group, publication }: Situation): ConditionState | undefined {
  const { file = { type: 'unknown' } } = publication;
  if (file.type === 'problem') return { status: 'False', reason: file.reason, message: file.detail };
  if (!publishesFile(group)) return undefined;
  const name = endpointFileName(group);
  const { unlisted, tooMany } = file.type === 'written' ? file : { unlisted: 0, tooMany: 0 };
  if (unlisted + tooMany === 0)
    return {
      status: 'True',
      reason: 'Ready',
      message: `ConfigMap ${name} lists all ready workers.`,
    };
  const why = [
    ...(unlisted > 0 ? [`${unlisted} without an IPv4 address or serving port`] : []),
    ...(tooMany > 0 ? [`${tooMany} over its size limit`] : []),
  ];
  const message = `ConfigMap ${name} omits ready workers: ${why.join(', ')}.`;
  return { status: 'False', reason: 'EndpointsLeftOut', message };
}
