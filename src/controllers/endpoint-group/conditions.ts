import type { EndpointGroupCondition } from '../../api/v1alpha1/conditions.ts';
import { type Reason, reasons } from '../../api/v1alpha1/reasons.ts';
import { formatDollars, type MicroDollars } from '../../lib/money.ts';
import { agreeing, counted } from '../../lib/plural.ts';
import { formatTime, parseDuration } from '../../lib/time.ts';
import type { DesiredCondition } from '../../runtime/conditions.ts';
import { findCondition } from '../../runtime/conditions.ts';
import type { ScalingDecision } from './autoscale/bounds.ts';
import { isFull, type ScalingOptions } from './autoscale/capacity.ts';
import { type ReplacementPace, readableError } from './autoscale/failing.ts';
import type { Choice, ChoosableWorker } from './autoscale/plan.ts';
import {
  callerKeysUsable,
  endpointsPublished,
  gatewayConnected,
  workersBlocked,
} from './gateway-conditions.ts';
import type { LoadProblem } from './load/state.ts';
import type { LoadView } from './load/view.ts';
import type { EndpointProblem } from './publish/endpoints.ts';
import type { Observed, Refusal } from './types.ts';
import type { Worker } from './workers/worker.ts';

/** Everything that conditions speak about. */
export interface Situation {
  readonly observed: Observed;
  readonly decision: ScalingDecision;
  readonly choice: Choice;
  readonly load: LoadView;
  readonly counts: Counts;
  readonly problems: readonly EndpointProblem[];
  /** Writes that are decided, and that the API server refused when they were last tried. */
  readonly refused: readonly Refusal[];
  readonly pace: ReplacementPace;
  /** Whether waiting has looked longer than the target for five minutes although the capacity suffices. */
  readonly isSlow: boolean;
}

type ConditionState = Omit<DesiredCondition, 'type' | 'reason'> & { readonly reason: Reason };

const yes = (reason: Reason, message: string): ConditionState => ({ status: 'True', reason, message });
const no = (reason: Reason, message: string): ConditionState => ({ status: 'False', reason, message });

type Judge = (situation: Situation) => ConditionState | undefined;

/** In the order in which people read them. One that judges nothing is absent. */
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
    workersBlocked(situation, serviceProblem(situation.observed), refusalProblem(situation)),
  GatewayConnected: gatewayConnected,
  CallerKeysUsable: callerKeysUsable,
  EndpointsPublished: endpointsPublished,
  ReplacementBlocked: replacementBlocked,
};

/** The conditions of a group, and those that must not be there. */
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

/** The beginning of a sentence about so many of them. */
export const workersAre = (count: number): string =>
  `${counted(count, 'worker')} ${agreeing(count, 'is', 'are')}`;

/** Short of workers comes first: an update whose workers all serve is no alarm. */
function ready(situation: Situation): ConditionState {
  const { counts, decision, observed } = situation;
  const blocked = serviceProblem(observed) ?? addressProblem(situation) ?? refusalProblem(situation);
  if (blocked) return no(blocked.reason, blocked.message);
  const failing = stalled(situation);
  if (failing) return no(failing.reason, failing.message);
  if (counts.ready < decision.hot) return short(situation);
  const update = updating(situation);
  if (update) return no(update.reason, update.message);
  const gap = poolGap(situation);
  if (decision.hot > 0) return yes('Stable', `${workersAre(counts.ready)} ready.${broken(situation)}${gap}`);
  return sleepsBlind(situation) ?? yes('ScaledToZero', `No worker is hot, since there is no load.${gap}`);
}

/** What is missing of the pool, and why: the load is served without it, and nothing else would tell. */
function poolGap({ observed }: Situation): string {
  const why = blockedWorkers(observed.workers, 'Cold');
  return why === undefined ? '' : ` Of the pool ${why}`;
}

/** Nobody is hot, and nobody would be for any load: the source that alone knows of it cannot be asked. */
function sleepsBlind({ load: { metrics, problem } }: Situation): ConditionState | undefined {
  if (metrics !== 'missing' || !problem) return undefined;
  return no(
    MISSING_BY[problem.kind],
    `No worker is hot, and whether there is load is not known: ${problem.detail}.`,
  );
}

/** What is wrong with workers, and when the next of them is replaced if that is not now. */
function broken(situation: Situation): string {
  const { pace, observed } = situation;
  const wrong = `${faults(situation)}${unready(situation)}`;
  if (wrong === '' || observed.now >= pace.from) return wrong;
  const before = pace.inRow > 1 ? `${pace.inRow} were replaced in a row; the` : 'The';
  return `${wrong} ${before} next is replaced after ${formatTime(pace.from)}.`;
}

/** Workers that say themselves that they are broken; the first by name is quoted. */
function faults({ observed, load }: Situation): string {
  const faulty = observed.workers
    .flatMap(({ name }) => {
      const error = readableError(load.workers.get(name)?.error);
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

/** Workers that run, do not serve, and have done so for longer than they may. */
function unready({ observed: { workers, group, now } }: Situation): string {
  const limitMs = parseDuration(group.spec.notReadyTimeout) ?? Number.POSITIVE_INFINITY;
  const late = workers.filter(
    ({ unreadySince, desiredRole }) =>
      desiredRole !== 'Gone' && unreadySince !== undefined && now >= unreadySince + limitMs,
  );
  const [first] = late.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  if (!first) return '';
  const reason = first.object.status?.conditions?.find(({ type }) => type === 'Ready')?.reason ?? 'unknown';
  return ` Worker ${first.name} runs and is not ready (${reason}) for longer than notReadyTimeout ${group.spec.notReadyTimeout}.`;
}

function short(situation: Situation): ConditionState {
  const { counts, decision, observed } = situation;
  const ready = `${counts.ready} of ${counted(decision.hot, 'hot worker')} ${agreeing(decision.hot, 'is', 'are')} ready.${broken(situation)}`;
  if (faults(situation) !== '' && counts.ready === 0) return no('WorkersFailing', ready);
  const why = blockedWorkers(observed.workers, 'Hot');
  const wanting = why === undefined ? ready : `${ready} ${why}`;
  if (counts.ready > 0) return no('ScalingUp', wanting);
  return no(counts.waking > 0 ? 'Waking' : 'NoReadyWorkers', wanting);
}

function serviceProblem({ published }: Observed): { reason: Reason; message: string } | undefined {
  return published.type === 'problem' ? { reason: published.reason, message: published.detail } : undefined;
}

function addressProblem({ problems }: Situation): { reason: Reason; message: string } | undefined {
  const [first] = problems;
  if (!first) return undefined;
  const more =
    problems.length > 1
      ? ` ${problems.length - 1} more ${agreeing(problems.length - 1, 'is', 'are')} like it.`
      : '';
  return {
    reason: 'AddressNotPublishable',
    message: `Worker ${first.worker} ${first.detail}; it is not used.${more}`,
  };
}

/** Of those that are decided the first says what all are like. */
function refusalProblem({ refused }: Situation): { reason: Reason; message: string } | undefined {
  const [first] = refused;
  if (!first) return undefined;
  const more =
    refused.length > 1
      ? ` And so ${agreeing(refused.length - 1, 'is', 'are')} ${refused.length - 1} more.`
      : '';
  return { reason: 'WriteRefused', message: `${first.detail}.${more}` };
}

/** A spec that is not carried out yet. A group whose pool follows the load, and serves what is wanted, is done. */
function reconciling(situation: Situation): ConditionState | undefined {
  if (stalled(situation) || ready(situation).status === 'True') return undefined;
  return underWay(situation);
}

/** Workers of an old template are kept: no other machine could be rented by the present one. */
function replacementBlocked({ counts, observed }: Situation): ConditionState | undefined {
  const { outlook, group } = observed;
  if (counts.old === 0 || isAnyInHand(observed)) return undefined;
  const blocked = outlook?.blocked;
  if (blocked === undefined) return recordedBlock(group);
  const kept = `${workersAre(counts.old)} kept with an old template: no machine can be rented by the new one (${blocked.reason}).`;
  return yes('ReplacementBlocked', `${kept} ${blocked.detail}`);
}

/** A machine was seen for one of the workers, and nothing blocks the others. */
function isAnyInHand({ outlook, workers }: Observed): boolean {
  return outlook?.blocked === undefined && workers.some(({ name }) => outlook?.inHand.has(name) === true);
}

/** While no search has said anything else, what was found for this spec holds. */
function recordedBlock({ metadata, status }: Observed['group']): ConditionState | undefined {
  const found = findCondition(status?.conditions, 'ReplacementBlocked');
  const isCurrent = found?.status === 'True' && found.observedGeneration === metadata.generation;
  return isCurrent ? yes('ReplacementBlocked', found.message) : undefined;
}

function updating(situation: Situation): ConditionState | undefined {
  const { counts, observed } = situation;
  if (counts.old === 0 || observed.group.spec.updateStrategy.type !== 'RollingUpdate') return undefined;
  const blocked = replacementBlocked(situation);
  if (blocked) return blocked;
  return yes('RollingUpdate', `${workersAre(counts.old)} of an old template.`);
}

/** What happens to the workers now. */
function underWay(situation: Situation): ConditionState | undefined {
  const { counts, decision } = situation;
  const update = updating(situation);
  if (update) return update;
  if (counts.draining > 0) return yes('Draining', `${workersAre(counts.draining)} finishing work.`);
  if (counts.waking > 0) return yes('Waking', `${workersAre(counts.waking)} being woken.`);
  if (counts.hot < decision.hot || counts.starting > 0)
    return yes(
      'ScalingUp',
      `${counts.hot} of ${counted(decision.hot, 'hot worker')} ${agreeing(decision.hot, 'exists', 'exist')}, ${counts.starting} ${agreeing(counts.starting, 'starts', 'start')}.${poolGap(situation)}`,
    );
  const kept = counts.hot + counts.cold;
  if (kept < decision.total)
    return yes(
      'ScalingUp',
      `${kept} of ${counted(decision.total, 'worker')} ${agreeing(decision.total, 'exists', 'exist')}.`,
    );
  if (counts.leaving > 0) return yes('ScalingDown', `${workersAre(counts.leaving)} being destroyed.`);
  return undefined;
}

function stalled({ counts }: Situation): ConditionState | undefined {
  const existing = counts.hot + counts.cold;
  if (existing === 0 || counts.stalled < existing) return undefined;
  return yes('WorkersFailing', 'No worker can go on; look at the conditions of the workers.');
}

/** Nothing is said of figures that decide nothing: a group of fixed size does not follow its load. */
function metricsAvailable({ load, observed }: Situation): ConditionState | undefined {
  if (observed.group.spec.replicas !== undefined) return undefined;
  const { metrics, problem } = load;
  if (metrics === 'told' || (metrics === 'doubtful' && !problem))
    return yes('MetricsFresh', 'Load figures arrive and are believable.');
  if (metrics === 'doubtful' && problem?.kind === 'invalid') {
    return no(
      'MetricsInvalid',
      `Load figures cannot be true: ${problem.detail}. No worker is removed by them.`,
    );
  }
  return metricsMissing(problem);
}

function metricsMissing(problem: LoadView['problem']): ConditionState {
  const detail = problem?.detail ?? 'no worker has reported for 90 s';
  const reason = problem ? MISSING_BY[problem.kind] : 'MetricsMissing';
  return no(reason, `No load figures arrive: ${detail}. The number of workers is not lowered.`);
}

const MISSING_BY: Readonly<Record<LoadProblem['kind'], Reason>> = {
  unreachable: 'LoadSourceUnreachable',
  invalid: 'MetricsInvalid',
  silent: 'MetricsMissing',
};

function progressing(situation: Situation): ConditionState {
  const { observed, counts, decision } = situation;
  const { pause } = observed.group.spec;
  if (pause.scaleUp || pause.scaleDown) {
    const directions = [pause.scaleUp ? 'up' : '', pause.scaleDown ? 'down' : ''].filter(Boolean);
    return yes('ScalingPaused', `Scaling ${directions.join(' and ')} is paused.`);
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
  return unmeasured(situation) ?? yes('Stable', 'The number of workers is the desired one.');
}

/** Most sources never tell what a worker can do: then a group waits for it for ever. */
function unmeasured({ decision, observed }: Situation): ConditionState | undefined {
  const { perf, capacities } = decision.terms;
  if (perf !== undefined || capacities.hot === 0 || observed.group.spec.replicas !== undefined)
    return undefined;
  return no(
    'PerfUnknown',
    'No worker tells what it can do, and spec.expectedPerf is not set: one worker is hot, whatever the load.',
  );
}

function atMaxWorkers({ decision, observed }: Situation): ConditionState | undefined {
  if (decision.missingWorkers === 0) return undefined;
  return yes(
    'AtMaxWorkers',
    `The load needs ${counted(observed.group.spec.maxWorkers + decision.missingWorkers, 'worker')}, maxWorkers is ${observed.group.spec.maxWorkers}.`,
  );
}

function atSpendCeiling({ choice, observed, counts }: Situation): ConditionState | undefined {
  if (choice.cutByCeiling === 0) return undefined;
  return yes(
    'AtSpendCeiling',
    `${choice.cutByCeiling} more ${agreeing(choice.cutByCeiling, 'worker', 'workers')} would be rented or woken; the present ones cost $${formatDollars(counts.pricePerHour)}/h of maxSpendPerHour $${observed.group.spec.maxSpendPerHour}.`,
  );
}

function saturated({ counts }: Situation): ConditionState | undefined {
  if (counts.ready === 0 || counts.full < counts.ready) return undefined;
  return yes('Saturated', `${workersAre(counts.ready)} ready, none of them with room for more work.`);
}

function targetQueueTimeTooShort({ isSlow, observed }: Situation): ConditionState | undefined {
  if (!isSlow) return undefined;
  return yes(
    'TargetQueueTimeTooShort',
    `Work in the workers has looked like a queue above targetQueueTime ${observed.group.spec.targetQueueTime} for five minutes although the capacity suffices.`,
  );
}

/** The workers of a group by what they do. */
export interface Counts {
  /** Run or are on their way to it, and are wanted to. */
  readonly hot: number;
  /** Stopped or on their way to it. */
  readonly cold: number;
  /** Published. */
  readonly ready: number;
  readonly starting: number;
  readonly waking: number;
  readonly draining: number;
  readonly leaving: number;
  readonly total: number;
  readonly updated: number;
  readonly old: number;
  readonly stalled: number;
  /** Ready ones that take no more requests. */
  readonly full: number;
  readonly pricePerHour: MicroDollars;
}

export interface CountsInput {
  readonly workers: readonly Worker[];
  readonly scaling: readonly ChoosableWorker[];
  readonly published: ReadonlySet<string>;
  readonly options: ScalingOptions;
}

export function countWorkers({ workers, scaling, published, options }: CountsInput): Counts {
  const count = (holds: (worker: Worker) => boolean) => workers.filter(holds).length;
  const staying = (worker: Worker) => !worker.isDeleting && worker.desiredRole !== 'Gone';
  const hot = (worker: Worker) => staying(worker) && worker.desiredRole === 'Hot';
  const isReady = (worker: Worker) => hot(worker) && published.has(worker.name);
  const starts = (worker: Worker) => staying(worker) && worker.powerState === 'Running' && !worker.isServing;
  const current = new Set(scaling.filter((worker) => worker.isCurrentTemplate).map(({ name }) => name));
  const ready = scaling.filter(({ name, role }) => role === 'hot' && published.has(name));
  return {
    hot: count(hot),
    cold: count((worker) => staying(worker) && worker.desiredRole === 'Cold'),
    ready: count(isReady),
    starting: count(starts),
    waking: count((worker) => starts(worker) && worker.wokenAt !== undefined && !worker.ranSinceWoken),
    draining: count((worker) => worker.drainSince !== undefined && worker.isUp && !worker.isDeleting),
    leaving: count((worker) => !staying(worker)),
    total: workers.length,
    updated: count((worker) => staying(worker) && current.has(worker.name)),
    old: count((worker) => staying(worker) && !current.has(worker.name)),
    stalled: count((worker) => staying(worker) && worker.isStalled),
    // Of one whose performance nobody knows it cannot be said how long its work takes.
    full: ready.filter(({ curLoad, perf }) => perf > 0 && isFull(curLoad, perf, options.maxQueueSeconds))
      .length,
    pricePerHour: workers.reduce((sum, worker) => sum + billedPrice(worker), 0),
  };
}

/** What a worker bills in an hour now, as far as the marketplace has told. */
function billedPrice(worker: Worker): MicroDollars {
  if (!worker.isRented) return 0;
  return (worker.isStopped ? worker.coldPricePerHour : worker.pricePerHour) ?? 0;
}

/**
 * Why workers that are wanted hot, or cold, have no machine, as far as they tell more than that the operator is at work on it: the reason of the
 * first by name, how many share it, and that one's name. Undefined where none of them waits for anything.
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
