import { askedWord } from '../../api/v1alpha1/asked-word.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { parseDuration } from '../../lib/duration.ts';
import { parseDollars } from '../../lib/money.ts';
import { parseTime } from '../../lib/rfc3339.ts';
import { autoscale, betweenTicks } from './autoscale.ts';
import { actionKey, cheapestFirst } from './carry-out.ts';
import { chooseWorkers } from './choose-workers.ts';
import { type Counts, countWorkers } from './counts.ts';
import { RULES } from './explain.ts';
import { type LoadView, loadView } from './load/view.ts';
import { type Endpoint, type Endpoints, endpointsOf } from './publish/endpoints.ts';
import type { BoundsInput } from './scaling/bounds.ts';
import { maxUnavailable, scalingOptions } from './scaling/options.ts';
import type { Change, Choice, ChoosableWorker } from './scaling/plan.ts';
import type { ScalingDecision, ScalingMemory } from './scaling/scaling-decision.ts';
import { expectedPerf, priceOfNew, scalingWorkers, type WorkersInput } from './scaling/scaling-workers.ts';
import { hotOf } from './scaling/worker-counts.ts';
import { deletingStatus, statusOf } from './status.ts';
import type { Action, Decision, GroupMemory, Observed, Refusal } from './types.ts';
import { actionsFor, afterDraining, type OrdersInput } from './workers/orders.ts';
import { templateHash, workerName } from './workers/template.ts';
import type { Worker } from './workers/worker.ts';

/** What one pass knows, worked out once. */
interface Known {
  readonly observed: Observed;
  readonly load: LoadView;
  readonly input: WorkersInput;
  readonly scaling: readonly ChoosableWorker[];
  readonly endpoints: Endpoints;
  readonly lastActivity: number;
  readonly wakeAsked: boolean;
}

/** From what was seen to what is recorded, published and done. Pure. */
export function decide(observed: Observed): Decision {
  if (observed.group.metadata.deletionTimestamp !== undefined) return decideDeletion(observed);
  const known = know(observed);
  const decision = scalingDecision(known);
  const choice = choose(known, decision);
  const changes = doneNow(choice, observed);
  const orders = ordersInput(known);
  const decided = cheapestFirst([
    ...observed.orphans.map((object): Action => ({ type: 'adopt', object })),
    ...actionsFor(changes, orders),
    ...afterDraining(orders, changes),
  ]);
  const refused = standing(observed.refused, decided);
  const isRefused = (action: Action) => isRefusedIn(refused, action);
  const memory = memoryOf(known, decision);
  const isSlow = memory.slowSince !== undefined && observed.now - memory.slowSince >= SLOW_FOR_MS;
  const counts = countsOf(known);
  return {
    needsFinalizer: true,
    status: statusOf({
      ...{ observed, decision, choice, counts, refused, isSlow },
      load: known.load,
      problems: known.endpoints.problems,
      templateHash: known.input.templateHash,
      lastActivity: known.lastActivity,
      mustRecord: known.wakeAsked || decided.some((action) => action.type !== 'adopt' && !isRefused(action)),
    }),
    endpoints: staying(known, decided),
    endpointProblems: known.endpoints.problems,
    actions: observed.isTick ? decided : decided.filter((action) => !isRefused(action)),
    waiting: observed.isTick ? [] : refused,
    changes,
    because: because(decision),
    memory,
    requeueAfterMs: nextLook(known, memory),
  };
}

/** What was refused and is still to be done. */
function standing(refused: readonly Refusal[], decided: readonly Action[]): readonly Refusal[] {
  const keys = new Set(decided.map(actionKey));
  return refused.filter(({ action }) => keys.has(action));
}

function isRefusedIn(refused: readonly Refusal[], action: Action): boolean {
  return refused.some((refusal) => refusal.action === actionKey(action));
}

/** Workers that are told to go leave the Service before anything else happens to them. */
function staying({ endpoints }: Known, actions: readonly Action[]): readonly Endpoint[] {
  const going = new Set(actions.flatMap((action) => (isGoing(action) ? [action.worker.name] : [])));
  return endpoints.endpoints.filter(({ worker }) => !going.has(worker.metadata.name));
}

function isGoing(action: Action): action is Extract<Action, { type: 'order' | 'delete' }> {
  return action.type === 'delete' || (action.type === 'order' && action.order.wanted !== 'Hot');
}

/** How long work must look like a queue before the target is called too short. */
const SLOW_FOR_MS = 300_000;

function know(observed: Observed): Known {
  const { group, workers, book, source, now, times, frozen } = observed;
  const everReady = group.status?.everReady === true;
  const load = loadView({ book, workers, source, everReady, now, times });
  const endpoints = endpointsOf(group, workers, { allowPrivate: observed.allowPrivateAddresses });
  const unreachable = new Set(endpoints.problems.map(({ worker }) => worker));
  const input: WorkersInput = {
    ...{ workers, load, now, frozen, unreachable },
    spec: group.spec,
    recordedPerf: group.status?.autoscaling?.perf,
    templateHash: templateHash(group),
  };
  const wakeAsked = observed.wakeAsked || isWakeAnnotated(observed) || isWakeUnfinished(observed);
  return {
    observed,
    load,
    input,
    wakeAsked,
    scaling: scalingWorkers(input),
    endpoints,
    lastActivity: lastActivityOf(observed, wakeAsked),
  };
}

/** A new value of the annotation asks again; the one that was answered stands in the status. */
function isWakeAnnotated({ group }: Observed): boolean {
  const asked = askedWord(group.metadata, annotations.wakeAt);
  return asked !== undefined && asked !== group.status?.wokenAt;
}

/** The process before this one recorded that a worker wakes, and ended before it asked one to. */
function isWakeUnfinished({ group, memory, workers }: Observed): boolean {
  if (memory !== undefined || group.status?.autoscaling?.rule !== 'Wake') return false;
  return !workers.some(isHot);
}

function isHot({ wanted, isDeleting }: Worker): boolean {
  return wanted === 'Hot' && !isDeleting;
}

/**
 * A restart does not know since when a load that was on record has been over: it counts from now. Never later than
 * now, whatever a clock that was ahead has noted.
 */
function lastActivityOf({ now, book, group, memory }: Observed, wakeAsked: boolean): number {
  if (wakeAsked) return now;
  const created = parseTime(group.metadata.creationTimestamp) ?? now;
  const recorded = parseTime(group.status?.lastActivity) ?? created;
  const wasBusy = memory === undefined && Number(group.status?.load ?? 0) > 0;
  return Math.min(now, Math.max(wasBusy ? now : recorded, recorded, book.lastActivity ?? 0));
}

/** The decision of this tick, or that of the last one between ticks. */
function scalingDecision(known: Known): ScalingDecision {
  const { observed, load, input, scaling } = known;
  const { memory, group, now, times, isTick, hasLateFigures } = observed;
  const bounds: BoundsInput = {
    options: scalingOptions(group.spec),
    metrics: load.metrics,
    workers: scaling,
    wakeAsked: known.wakeAsked,
    replicas: group.spec.replicas,
    memory: memory?.scaling ?? afterRestart(observed),
    hotAtTick: isTick ? undefined : memory?.hotAtTick,
  };
  if (!isTick && !hasLateFigures && !known.wakeAsked && memory?.decision)
    return betweenTicks(memory.decision, now, bounds);
  return autoscale({
    ...bounds,
    ...{ now, times },
    history: load.history,
    waiting: load.waiting,
    perf: expectedPerf(input),
    lastActivity: known.lastActivity,
    mayReachZero: mayReachZero(observed),
  });
}

/** Before it was ready once, neither the group nor a worker that boots for it is given up within its time to boot. */
function mayReachZero({ group, workers, now }: Observed): boolean {
  if (group.status?.everReady === true) return true;
  if (workers.some((worker) => isHot(worker) && !worker.isServing && !worker.isOverdue)) return false;
  const { timeouts } = group.spec.template.spec;
  const bootMs = (parseDuration(timeouts.provisioning) ?? 0) + (parseDuration(timeouts.loading) ?? 0);
  return now > (parseTime(group.metadata.creationTimestamp) ?? now) + bootMs;
}

/** As if in panic, with the workers that there are: what was needed before the restart is known by its record alone. */
function afterRestart({ group, workers, now, times }: Observed): ScalingMemory {
  const hot = workers.filter(isHot).length;
  const { panicUntil, autoscaling } = group.status ?? {};
  const recorded = parseTime(panicUntil) ?? 0;
  const total = Number(autoscaling?.heldTotalCapacity ?? autoscaling?.totalCapacity ?? 0);
  return {
    // Whether fewer replicas are wanted since a moment ago is not known: they wait out the window from now on.
    recent: [{ at: now, hot: 0, total, replicas: group.spec.replicas === undefined ? undefined : hot }],
    panicUntil: hot > 0 ? Math.max(recorded, now + times.panicMs) : recorded,
    hot,
  };
}

function choose({ observed, input, scaling }: Known, decision: ScalingDecision): Choice {
  const { spec } = observed.group;
  const { hot, total, hotCapacity } = decision;
  return chooseWorkers({
    ...{ hot, total, hotCapacity },
    workers: scaling,
    maxWorkers: spec.maxWorkers,
    ceiling: parseDollars(spec.maxSpendPerHour),
    priceOfNew: priceOfNew(input),
    pause: spec.pause,
    // New workers would serve nobody, while those that are published serve on.
    maxUnavailable: observed.published.type === 'problem' ? undefined : maxUnavailable(spec, hot),
  });
}

/** What of the choice is done in this pass: the rest is chosen again in a later one. */
function doneNow(choice: Choice, observed: Observed): readonly Change[] {
  let room = roomToRent(observed);
  return choice.changes.filter((change) => change.type !== 'rent' || room-- > 0);
}

/**
 * Workers that are taken in count from the next pass on, and may be all that is needed; one that cannot be taken in has
 * its place all the same, since it may bill. Where workers are to stand apart, each is rented before the next is made,
 * since it must know where they are; one that can rent none, or has found none for longer than a boot may take, is not
 * waited for.
 */
function roomToRent({ group, workers, orphans, refused }: Observed): number {
  const lost = orphans.filter((object) => isRefusedIn(refused, { type: 'adopt', object }));
  if (lost.length < orphans.length) return 0;
  const places = group.spec.maxWorkers - workers.length - lost.length;
  if (group.spec.spreadBy === 'None') return places;
  return workers.some(isRenting) ? 0 : Math.min(1, places);
}

function isRenting({ isRented, isStopped, isDeleting, isStalled, isOverdue }: Worker): boolean {
  return !isRented && !isStopped && !isDeleting && !isStalled && !isOverdue;
}

function ordersInput({ observed, load }: Known): OrdersInput {
  const { workers, orphans, takenNames, now, times, group } = observed;
  const maxQueueMs = parseDuration(group.spec.maxQueueTime) ?? 0;
  const names = new Set(
    [...workers.map(({ object }) => object), ...orphans].map(({ metadata }) => metadata.name),
  );
  const isTaken = (ordinal: number) => {
    const name = workerName(group, ordinal);
    return names.has(name) || takenNames.has(name);
  };
  return { workers, load, now, maxQueueMs, isTaken, settleMs: times.tickMs / 2 };
}

function countsOf({ observed, scaling, endpoints }: Known): Counts {
  const portless = (observed.group.spec.template.spec.ports ?? []).length === 0;
  const names = portless
    ? observed.workers.filter((worker) => worker.isServing).map(({ name }) => name)
    : endpoints.endpoints.map(({ worker }) => worker.metadata.name);
  return countWorkers({
    workers: observed.workers,
    scaling,
    published: new Set(names),
    options: scalingOptions(observed.group.spec),
  });
}

function memoryOf(known: Known, decision: ScalingDecision): GroupMemory {
  const { observed, load } = known;
  const { now, memory, group } = observed;
  const { waiting, readyCapacity, load: rate } = decision.terms;
  const targetSeconds = (parseDuration(group.spec.targetQueueTime) ?? 0) / 1000;
  const looksSlow =
    !load.tellsWaiting &&
    readyCapacity > rate &&
    waiting > targetSeconds * readyCapacity &&
    readyCapacity > 0;
  return {
    scaling: decision.memory,
    decision,
    ...tickOf(known),
    slowSince: looksSlow ? Math.min(memory?.slowSince ?? now, now) : undefined,
  };
}

/** Of the tick that begins with this pass, else of the last one. */
function tickOf({ observed, scaling }: Known): Pick<GroupMemory, 'nextTickAt' | 'hotAtTick'> {
  const { isTick, memory, beganAt, times } = observed;
  if (!isTick && memory) return { nextTickAt: memory.nextTickAt, hotAtTick: memory.hotAtTick };
  return { nextTickAt: beganAt + times.tickMs, hotAtTick: hotOf(scaling).length };
}

/** At the next tick, or when a wake or a drain is over, whichever comes first. */
function nextLook({ observed, input }: Known, memory: GroupMemory): number {
  const { now, workers } = observed;
  const wakeMs = parseDuration(input.spec.wakeTimeout) ?? 0;
  const queueMs = parseDuration(input.spec.maxQueueTime) ?? 0;
  const due = workers.flatMap((worker) => [
    ...(worker.wakeSince !== undefined && !worker.ranSinceWoken ? [worker.wakeSince + wakeMs] : []),
    ...(worker.drainSince !== undefined && worker.isUp ? [worker.drainSince + queueMs] : []),
  ]);
  const next = Math.min(memory.nextTickAt, ...due.filter((at) => at > now));
  return Math.max(LEAST_LOOK_MS, next - now);
}

const LEAST_LOOK_MS = 10;

function because({ rule, hot, total }: ScalingDecision): string {
  return `Wanted are ${hot} hot and ${total} in all: ${RULES[rule]}.`;
}

/** All workers go; the group goes when they are gone. Deletion with orphans leaves them as they are. */
function decideDeletion(observed: Observed): Decision {
  const { group, workers, memory, now, times } = observed;
  const orphans = group.metadata.finalizers?.includes('orphan') === true;
  const left = orphans ? [] : workers;
  const actions = left
    .filter((worker) => !worker.isDeleting)
    .map((worker): Action => ({ type: 'delete', worker }));
  return {
    needsFinalizer: false,
    status: deletingStatus(observed, left.length),
    // Nobody is led to a worker that is about to go.
    endpoints: orphans ? undefined : [],
    endpointProblems: [],
    actions: left.length === 0 ? [{ type: 'release' }] : actions,
    waiting: [],
    changes: [],
    because: '',
    memory: {
      ...(memory ?? {
        scaling: afterRestart(observed),
        decision: undefined,
        hotAtTick: 0,
        slowSince: undefined,
      }),
      // Nothing is decided by load any more: it is not read at each look.
      nextTickAt: now + times.tickMs,
    },
    requeueAfterMs: 5000,
  };
}
