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
export interface Situation extends Pick<Facts, 'group' | 'workers' | 'load' | 'publication' | 'clock'> {
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

/** Conditions to set, and types to remove. */
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

/** Beginning of a sentence about a number of workers. */
export const workersAre = (count: number): string =>
  `${counted(count, 'worker')} ${agreeing(count, 'is', 'are')}`;

/** Missing workers are reported before an update: an update whose workers all serve is no alarm. */
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
  const gap = poolGap(situation);
  if (decision.hot > 0) return yes('Ready', `${workersAre(counts.ready)} ready.${broken(situation)}${gap}`);
  return sleepsBlind(situation) ?? yes('ScaledToZero', `No worker is hot, since there is no load.${gap}`);
}

/** Missing cold workers and the reason: no other condition reports them while the load is served. */
function poolGap({ workers }: Situation): string {
  const why = blockedWorkers(workers.all, 'Cold');
  return why === undefined ? '' : ` Of the pool ${why}`;
}

/** No worker is hot, and no load would change that: the only source of load cannot be read. */
function sleepsBlind({ load }: Situation): ConditionState | undefined {
  const { metrics, problem } = load.view;
  if (metrics !== 'missing' || !problem) return undefined;
  return no(
    'LoadUnavailable',
    `No worker is hot, and whether there is load is not known: ${problem.detail}.`,
  );
}

/** Faults of workers, and the time of the next replacement if it is later than now. */
function broken(situation: Situation): string {
  const { pace } = situation.workers;
  const wrong = `${faults(situation)}${unready(situation)}`;
  if (wrong === '' || situation.clock.now >= pace.from) return wrong;
  const before = pace.inRow > 1 ? `${pace.inRow} were replaced in a row; the` : 'The';
  return `${wrong} ${before} next is replaced after ${formatTime(pace.from)}.`;
}

/** Workers that report an error; quotes the first by name. */
function faults({ workers, load }: Situation): string {
  const faulty = workers.all
    .flatMap(({ name }) => {
      const error = readableError(load.view.workers.get(name)?.error);
      return error === undefined ? [] : [{ name, error }];
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const [first] = faulty;
  if (!first) return '';
  const more =
    faulty.length > 1
      ? ` ${faulty.length - 1} more ${agreeing(faulty.length - 1, 'reports', 'report')} errors.`
      : '';
  return ` Worker ${first.name} reports: ${JSON.stringify(first.error)}.${more}`;
}

/** Workers that have run without serving for longer than `notReadyTimeout`. */
function unready({ workers, group, clock: { now } }: Situation): string {
  const limitMs = parseDuration(group.spec.notReadyTimeout) ?? Number.POSITIVE_INFINITY;
  const late = workers.all.filter(
    ({ unreadySince, desiredRole }) =>
      desiredRole !== 'Gone' && unreadySince !== undefined && now >= unreadySince + limitMs,
  );
  const [first] = late.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  if (!first) return '';
  const reason = first.object.status?.conditions?.find(({ type }) => type === 'Ready')?.reason ?? 'unknown';
  return ` Worker ${first.name} runs and is not ready (${reason}) for longer than notReadyTimeout ${group.spec.notReadyTimeout}.`;
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
  const more =
    problems.length > 1
      ? ` ${problems.length - 1} more ${agreeing(problems.length - 1, 'is', 'are')} like it.`
      : '';
  return {
    reason: 'EndpointsLeftOut',
    message: `Worker ${first.worker} ${first.detail}; it is not used.${more}`,
  };
}

/** Text of the first refused write, and the number of others. */
function refusalProblem({ refusals }: Situation): Obstacle | undefined {
  const [first] = refusals;
  if (!first) return undefined;
  const more =
    refusals.length > 1
      ? ` And so ${agreeing(refusals.length - 1, 'is', 'are')} ${refusals.length - 1} more.`
      : '';
  return { reason: 'NotPermitted', message: `${first.detail}.${more}` };
}

/** Present while the spec is not carried out. A group that serves as desired is done, even while its pool changes. */
function reconciling(situation: Situation): ConditionState | undefined {
  if (stalled(situation) || ready(situation).status === 'True') return undefined;
  return underWay(situation);
}

/** Workers of an old template stay, since no machine can be rented by the current one. */
function replacementBlocked({ counts, group, workers }: Situation): ConditionState | undefined {
  if (counts.old === 0 || isAnyInHand(workers)) return undefined;
  const blocked = workers.outlook?.blocked;
  if (blocked === undefined) return recordedBlock(group);
  const kept = `${workersAre(counts.old)} kept with an old template: no machine can be rented by the new one (${blocked.reason}).`;
  return yes('ReplacementBlocked', `${kept} ${blocked.detail}`);
}

/** True if a machine can be rented for one of the workers and nothing blocks the others. */
function isAnyInHand({ outlook, all }: Situation['workers']): boolean {
  return outlook?.blocked === undefined && all.some(({ name }) => outlook?.inHand.has(name) === true);
}

/** The recorded result for this generation, until another search replaces it. */
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
  return yes('Scaling', `${workersAre(counts.old)} of an old template.`);
}

/** The change that the workers go through now. */
function underWay(situation: Situation): ConditionState | undefined {
  const { counts, decision } = situation;
  const update = updating(situation);
  if (update) return update;
  if (counts.draining > 0) return yes('Scaling', `${workersAre(counts.draining)} finishing work.`);
  if (counts.waking > 0) return yes('Starting', `${workersAre(counts.waking)} being woken.`);
  if (counts.hot < decision.hot || counts.starting > 0)
    return yes(
      'Scaling',
      `${counts.hot} of ${counted(decision.hot, 'hot worker')} ${agreeing(decision.hot, 'exists', 'exist')}, ${counts.starting} ${agreeing(counts.starting, 'starts', 'start')}.${poolGap(situation)}`,
    );
  const kept = counts.hot + counts.cold;
  if (kept < decision.total)
    return yes(
      'Scaling',
      `${kept} of ${counted(decision.total, 'worker')} ${agreeing(decision.total, 'exists', 'exist')}.`,
    );
  if (counts.leaving > 0) return yes('Scaling', `${workersAre(counts.leaving)} being destroyed.`);
  return undefined;
}

function stalled({ counts }: Situation): ConditionState | undefined {
  const existing = counts.hot + counts.cold;
  if (existing === 0 || counts.stalled < existing) return undefined;
  return yes('WorkersFailing', 'No worker can go on; look at the conditions of the workers.');
}

/** Absent for a group of fixed size, which does not follow its load. */
function metricsAvailable({ load, group }: Situation): ConditionState | undefined {
  if (group.spec.replicas !== undefined) return undefined;
  const { metrics, problem } = load.view;
  if (metrics === 'told' || (metrics === 'doubtful' && !problem))
    return yes('Ready', 'Load figures arrive and are believable.');
  if (metrics === 'doubtful' && problem?.kind === 'invalid') {
    return no(
      'LoadUnavailable',
      `Load figures cannot be true: ${problem.detail}. No worker is removed by them.`,
    );
  }
  return metricsMissing(problem);
}

function metricsMissing(problem: LoadView['problem']): ConditionState {
  const detail = problem?.detail ?? 'no worker has reported for 90 s';
  return no('LoadUnavailable', `No load figures arrive: ${detail}. The number of workers is not lowered.`);
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
      `${workersAre(counts.stalled)} stuck; look at the conditions of the workers.`,
    );
  const refusal = refusalProblem(situation);
  if (refusal) return no(refusal.reason, refusal.message);
  const busy = underWay(situation);
  if (busy) return yes(busy.reason, busy.message);
  return unmeasured(situation) ?? yes('Ready', 'The number of workers is the desired one.');
}

/** Most sources never report the performance of a worker: such a group would wait for it forever. */
function unmeasured({ decision, group }: Situation): ConditionState | undefined {
  const { perf, capacities } = decision.terms;
  if (perf !== undefined || capacities.hot === 0 || group.spec.replicas !== undefined) return undefined;
  return no(
    'LoadUnavailable',
    'No worker tells what it can do, and spec.expectedPerf is not set: one worker is hot, whatever the load.',
  );
}

function atMaxWorkers({ decision, group }: Situation): ConditionState | undefined {
  const { maxWorkers } = group.spec;
  if (decision.missingWorkers === 0) return undefined;
  return yes(
    'AtLimit',
    `The load needs ${counted(maxWorkers + decision.missingWorkers, 'worker')}, maxWorkers is ${maxWorkers}.`,
  );
}

function atSpendCeiling({ choice, group, counts }: Situation): ConditionState | undefined {
  if (choice.cutByCeiling === 0) return undefined;
  return yes(
    'AtLimit',
    `${choice.cutByCeiling} more ${agreeing(choice.cutByCeiling, 'worker', 'workers')} would be rented or woken; the present ones cost $${formatDollars(counts.pricePerHour)}/h of maxSpendPerHour $${group.spec.maxSpendPerHour}.`,
  );
}

function saturated({ counts }: Situation): ConditionState | undefined {
  if (counts.ready === 0 || counts.full < counts.ready) return undefined;
  return yes('Saturated', `${workersAre(counts.ready)} ready, none of them with room for more work.`);
}

function targetQueueTimeTooShort({ isSlow, group }: Situation): ConditionState | undefined {
  if (!isSlow) return undefined;
  return yes(
    'Saturated',
    `Work in the workers has looked like a queue above targetQueueTime ${group.spec.targetQueueTime} for five minutes although the capacity suffices.`,
  );
}

/**
 * Reason for which workers of this role have no machine: that of the first by name, with the number of workers that share
 * it. Undefined if none of them names an obstacle.
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
  return `${count} ${agreeing(count, 'has', 'have')} no machine (${first.reason}): look at the conditions of worker ${first.name}.`;
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
 * Reason for which no request can be served: no worker is ready, booting or possible. The gateway then refuses requests
 * instead of holding them. Obstacles that pass within seconds, such as a refused rental, do not count. `service` keeps
 * workers from being published; `refused` is a refused write that the group needs.
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

/** Obstacle that keeps a group without a hot worker from having one. */
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
    message: `maxSpendPerHour $${spec.maxSpendPerHour} leaves no room for a worker.`,
  };
}

/** Obstacle of the first worker by name, if every hot worker has one. */
function obstacleOfAll({ workers, load }: Situation): Obstacle | undefined {
  const hot = workers.all.filter(isHot).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const obstacles = hot.map((worker) => obstacleOf(worker, load.view.workers.get(worker.name)?.error));
  return obstacles.every((obstacle) => obstacle !== undefined) ? obstacles[0] : undefined;
}

/** Reason for which a worker will not serve until something else changes; undefined if it is booting. */
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
      message: `${counted(live, 'picker')} ${agreeing(live, 'reports', 'report')} what the gateway counts.`,
    };
  if (pickers.since === undefined)
    return {
      status: 'Unknown',
      reason: 'LoadUnavailable',
      message: 'No picker of the gateway has reported since this operator leads.',
    };
  return {
    status: 'False',
    reason: 'LoadUnavailable',
    message: 'No picker of the gateway has reported for 15 s.',
  };
}

/** Reports whether pickers can identify callers by the keys in the Secret. */
function callerKeysUsable({ group, load, clock: { now } }: Situation): ConditionState | undefined {
  const secret = group.spec.gateway?.keys?.secretName;
  if (secret === undefined || !hasGateway(group)) return undefined;
  const reports = livePickers(load.state.pickers, now).flatMap(({ report }) => report.keys ?? []);
  const states = new Set(reports.map(({ state }) => state));
  if (states.has('Missing'))
    return { status: 'False', reason: 'InputMissing', message: `There is no Secret ${secret}.` };
  const unusable = [...new Set(reports.flatMap((report) => report.unusable))].join(', ');
  if (states.has('Unusable'))
    return {
      status: 'False',
      reason: 'InputMissing',
      message: `Secret ${secret} has no usable key. ${HASH_REMEDY}${unusable && ` No SHA-256: ${unusable}.`}`,
    };
  if (unusable !== '')
    return {
      status: 'False',
      reason: 'InputMissing',
      message: `Secret ${secret}: values of ${unusable} are no SHA-256. ${HASH_REMEDY}`,
    };
  if (states.has('Read'))
    return {
      status: 'True',
      reason: 'Ready',
      message: `The gateway knows callers by Secret ${secret}.`,
    };
  const message = `No picker has read Secret ${secret}. Allow pickers to get it (chart: gateway.secrets).`;
  return { status: 'Unknown', reason: 'InputMissing', message };
}

const HASH_REMEDY = 'Store the SHA-256 of each key: printf %s "$KEY" | sha256sum.';

/** Reports whether the ConfigMap lists all ready workers for another router. */
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
      message: `ConfigMap ${name} lists the ready workers.`,
    };
  const why = [
    ...(unlisted > 0 ? [`${unlisted} without an IPv4 address and the port that serves`] : []),
    ...(tooMany > 0 ? [`${tooMany} for which it has no room`] : []),
  ];
  const message = `ConfigMap ${name} leaves ready workers out: ${why.join(', ')}.`;
  return { status: 'False', reason: 'EndpointsLeftOut', message };
}
