import type { EndpointGroupStatus } from '../../api/v1alpha1/endpoint-group.ts';
import { endpointGroupSpec } from '../../api/v1alpha1/endpoint-group-spec.ts';
import { parseDollars } from '../../lib/money.ts';
import { newerVersion } from '../../lib/stored-form.ts';
import { isAtLeast, parseDuration, parseTime } from '../../lib/time.ts';
import {
  actionKey,
  actionsFor,
  afterDraining,
  blockEvents,
  cheapestFirst,
  leavingBy,
  needsStatus,
  type OrdersInput,
  startEvents,
} from './actions.ts';
import { autoscale, betweenTicks } from './autoscale/autoscale.ts';
import type { BoundsInput, ScalingDecision, ScalingMemory } from './autoscale/bounds.ts';
import {
  expectedPerf,
  isRenting,
  isToReplace,
  priceOfNew,
  usualPrice,
  type WorkersInput,
} from './autoscale/candidates.ts';
import { maxUnavailable, scalingOptions } from './autoscale/capacity.ts';
import { chooseWorkers } from './autoscale/choose-workers.ts';
import { hotOf } from './autoscale/cover.ts';
import type { Change, Choice } from './autoscale/plan.ts';
import { type Counts, countWorkers } from './counts.ts';
import { targetText } from './explain.ts';
import { deriveFacts, type Facts, isHot } from './facts.ts';
import { type Endpoint, hasGateway, servicePorts } from './publish/endpoints.ts';
import { serviceEvents } from './service-events.ts';
import { deletingStatus, heldStatus, statusOf } from './status.ts';
import type { Action, Decision, IdentityView, MemoryFields, Observed, Refusal } from './types.ts';
import { isToUpdate, templateHash, workerName } from './workers/template.ts';
import type { Worker } from './workers/worker.ts';

/** Returns the decision for an observation: status, endpoints and actions. Pure. */
export function decide(observed: Observed): Decision {
  if (observed.group.metadata.deletionTimestamp !== undefined) return decideDeletion(observed);
  const version = newerVersion(observed.group.status);
  if (version !== undefined) return decideNothing(deriveFacts(observed), version);
  return decideScaling(deriveFacts(observed));
}

/**
 * Keeps all workers as they are. A newer operator wrote the record, so its last decision is unknown. Serving workers
 * stay published.
 */
function decideNothing(facts: Facts, version: number): Decision {
  const { identity, endpoints } = facts.publication;
  const memory = idleMemory(facts);
  return {
    needsFinalizer: true,
    status: heldStatus({ ...facts, counts: countsOf(facts) }, version),
    endpoints,
    checksIdentity: identity.isDue,
    actions: [],
    waiting: [],
    because: '',
    events: [],
    services: [],
    memory,
    requeueAfterMs: requeueAfter(facts, memory),
  };
}

function decideScaling(facts: Facts): Decision {
  const { isTick } = facts.clock;
  const { identity } = facts.publication;
  const decision = scalingDecision(facts);
  const choice = choose(facts, decision);
  const changes = changesOfThisPass(choice, facts);
  const decided = actionsOf(facts, changes);
  const standing = standingRefusals(facts.refused, decided);
  const secrets = identityRefusals(identity);
  const isRefused = (action: Action) => isRefusedIn(standing, action);
  const memory = memoryOf(facts, decision);
  const status = statusOf({
    ...facts,
    ...{ decision, choice, changes },
    counts: countsOf(facts),
    refusals: [...standing, ...secrets],
    isSlow: isSlow(memory, facts.clock),
    mustRecord: facts.load.wakeAsked || decided.some((action) => needsStatus(action) && !isRefused(action)),
  });
  return {
    needsFinalizer: true,
    status,
    endpoints: staying(facts, decided),
    checksIdentity: identity.isDue,
    actions: isTick ? decided : decided.filter((action) => !isRefused(action)),
    waiting: [...(isTick ? [] : standing), ...secrets],
    because: targetText(decision),
    ...eventsOf(facts, status),
    memory,
    requeueAfterMs: requeueAfter(facts, memory),
  };
}

/** Returns the actions of the chosen changes, and actions that continue earlier decisions. */
function actionsOf(facts: Facts, changes: readonly Change[]): readonly Action[] {
  const orders = ordersInput(facts);
  return cheapestFirst([
    ...facts.workers.orphans.map((object): Action => ({ type: 'adopt', object })),
    ...actionsFor(changes, orders),
    ...afterDraining(orders, changes),
    ...updatesOf(facts.workers.input),
  ]);
}

function eventsOf(
  { group, clock: { now } }: Pick<Observed, 'group' | 'clock'>,
  status: EndpointGroupStatus,
): Pick<Decision, 'events' | 'services'> {
  return {
    events: [...startEvents(group), ...blockEvents(group, status)],
    services: serviceEvents(group.status, status, now),
  };
}

/** Returns the rented workers that the template would replace now if another machine could be rented for each. */
export function endingForTemplate(observed: Observed): readonly Worker[] {
  const { group, workers } = observed;
  const { now } = observed.clock;
  const present = { templateHash: templateHash(group), spec: group.spec, now };
  const isConcerned = (worker: Worker) => worker.isRented && isToReplace(worker, present);
  if (group.metadata.deletionTimestamp !== undefined || newerVersion(group.status) !== undefined) return [];
  if (!workers.all.some(isConcerned)) return [];
  const facts = deriveFacts({ ...observed, workers: { ...workers, outlook: { inHand: EVERY_WORKER } } });
  const { changes } = choose(facts, scalingDecision(facts));
  const byName = new Map(workers.all.map((worker) => [worker.name, worker]));
  return changes.flatMap((change) => {
    const isEnding = change.type === 'destroy' && change.why === 'OldTemplate';
    const worker = isEnding ? byName.get(change.name) : undefined;
    return worker?.isRented ? [worker] : [];
  });
}

const EVERY_WORKER = { has: () => true };

/** Returns updates of workers whose machine fits the current template, unless the strategy is `OnDelete`. */
function updatesOf(input: WorkersInput): readonly Action[] {
  const { workers, spec } = input;
  if (spec.updateStrategy.type === 'OnDelete') return [];
  const staying = workers.filter(({ isDeleting, desiredRole }) => !isDeleting && desiredRole !== 'Gone');
  return staying
    .filter((worker) => isToUpdate(worker, input))
    .map((worker): Action => ({ type: 'update', worker }));
}

/**
 * Returns the endpoints after these actions. A leaving worker first leaves the Service. Behind a gateway it stays
 * published as draining until it is stopped or deleted, since it may have requests.
 */
function staying(
  { group, publication }: Pick<Facts, 'group' | 'publication'>,
  actions: readonly Action[],
): readonly Endpoint[] {
  const leaving = leavingBy(actions);
  return publication.endpoints.flatMap((endpoint) => {
    const how = leaving.get(endpoint.worker.metadata.name);
    if (!how) return [endpoint];
    return hasGateway(group) && how === 'finishes' ? [{ ...endpoint, isDraining: true }] : [];
  });
}

/** Time for which work must look like a queue before the target is reported as too short. */
const SLOW_FOR_MS = 300_000;

function isSlow({ slowSince }: MemoryFields, { now }: Facts['clock']): boolean {
  return now - (slowSince ?? now) >= SLOW_FOR_MS;
}

const WAKE_TIMEOUT = endpointGroupSpec.shape.wakeTimeout.parse(undefined);

function ordersInput({ group, workers, load, clock }: Facts): OrdersInput {
  const { all, orphans, takenNames } = workers;
  const { now, times } = clock;
  const waitMs = parseDuration(group.spec.maxQueueTime) ?? 0;
  const drainMs = parseDuration(group.spec.drainTimeout) ?? waitMs;
  const maxQueueMs = isRouted(group, load) ? drainMs : waitMs;
  const names = new Set(
    [...all.map(({ object }) => object), ...orphans].map(({ metadata }) => metadata.name),
  );
  const isTaken = (ordinal: number) => {
    const name = workerName(group, ordinal);
    return names.has(name) || takenNames.has(name);
  };
  const limits = { maxQueueMs, drainMs, silentMs: times.missingMs };
  const isWakeTimeoutLong = isAtLeast(group.spec.wakeTimeout, WAKE_TIMEOUT);
  return {
    workers: all,
    load: load.view,
    now,
    isTaken,
    isWakeTimeoutLong,
    ...limits,
    settleMs: times.tickMs / 2,
  };
}

/**
 * Returns true if pickers report the requests of workers. While they are silent, a request may take its whole time
 * limit.
 */
function isRouted(group: Facts['group'], { source, state }: Facts['load']): boolean {
  if (source === 'gateway') return true;
  return hasGateway(group) && state.pickers.since !== undefined;
}

function countsOf({
  group,
  workers: { all, scaling },
  publication,
}: Pick<Facts, 'group' | 'workers' | 'publication'>): Counts {
  const portless = servicePorts(group).length === 0;
  const names = portless
    ? all.filter((worker) => worker.isServing).map(({ name }) => name)
    : publication.endpoints.map(({ worker }) => worker.metadata.name);
  return countWorkers({
    workers: all,
    scaling,
    published: new Set(names),
    options: scalingOptions(group.spec),
  });
}

function memoryOf(facts: Facts, decision: ScalingDecision): MemoryFields {
  const { group, memory } = facts;
  const { now } = facts.clock;
  const { waiting, readyCapacity, load: rate } = decision.terms;
  const targetSeconds = (parseDuration(group.spec.targetQueueTime) ?? 0) / 1000;
  const reportsWaiting = facts.load.view.reportsWaiting;
  const appearsSlow = !reportsWaiting && readyCapacity > rate && waiting > targetSeconds * readyCapacity;
  return {
    scaling: decision.memory,
    decision,
    ...tickOf(facts),
    slowSince: appearsSlow ? Math.min(memory?.slowSince ?? now, now) : undefined,
  };
}

/** Returns the values of the tick that begins with this reconcile, or of the last tick. */
function tickOf({
  workers: { scaling },
  memory,
  clock: { isTick, beganAt, times },
}: Pick<Facts, 'workers' | 'memory' | 'clock'>): Pick<MemoryFields, 'nextTickAt' | 'hotAtTick'> {
  if (!isTick && memory) return { nextTickAt: memory.nextTickAt, hotAtTick: memory.hotAtTick };
  return { nextTickAt: beganAt + times.tickMs, hotAtTick: hotOf(scaling).length };
}

/** Returns the time until the next tick or the end of a wake or drain, whichever is first. */
function requeueAfter(
  { group: { spec }, workers, clock: { now } }: Pick<Facts, 'group' | 'workers' | 'clock'>,
  memory: MemoryFields,
): number {
  const wakeMs = parseDuration(spec.wakeTimeout) ?? 0;
  const limits = [spec.maxQueueTime, spec.drainTimeout].map((span) => parseDuration(span) ?? 0);
  const due = workers.all.flatMap((worker) => [
    ...(worker.wakeSince !== undefined && !worker.ranSinceWoken ? [worker.wakeSince + wakeMs] : []),
    ...limits.flatMap((limitMs) =>
      worker.drainSince !== undefined && worker.isUp ? [worker.drainSince + limitMs] : [],
    ),
  ]);
  const next = Math.min(memory.nextTickAt, ...due.filter((at) => at > now));
  return Math.max(MIN_REQUEUE_MS, next - now);
}

const MIN_REQUEUE_MS = 10;

/** Returns the decision of this tick; between ticks, the decision of the last tick. */
export function scalingDecision(facts: Facts): ScalingDecision {
  const { group, memory } = facts;
  const { scaling, input } = facts.workers;
  const { view, wakeAsked, hasLateFigures, lastActivity } = facts.load;
  const { now, times, isTick } = facts.clock;
  const bounds: BoundsInput = {
    options: scalingOptions(group.spec),
    metrics: view.metrics,
    workers: scaling,
    wakeAsked,
    replicas: group.spec.replicas,
    memory: memory?.scaling ?? afterRestart(facts),
    hotAtTick: isTick ? undefined : memory?.hotAtTick,
  };
  if (!isTick && !hasLateFigures && !wakeAsked && memory?.decision)
    return betweenTicks(memory.decision, now, bounds);
  return autoscale({
    ...bounds,
    ...{ now, times, lastActivity },
    history: view.history,
    waiting: view.waiting,
    perf: expectedPerf(input),
    mayReachZero: mayReachZero(facts),
    hasStop: facts.account.market?.hasStop,
  });
}

/**
 * Returns true if the group was ready once, or its boot deadline and those of its booting workers have passed.
 */
function mayReachZero({
  group,
  workers,
  clock: { now },
}: Pick<Facts, 'group' | 'workers' | 'clock'>): boolean {
  if (group.status?.everReady === true) return true;
  if (workers.all.some((worker) => isHot(worker) && !worker.isServing && !worker.isOverdue)) return false;
  const { timeouts } = group.spec.template.spec;
  const bootMs = (parseDuration(timeouts.provisioning) ?? 0) + (parseDuration(timeouts.loading) ?? 0);
  return now > (parseTime(group.metadata.creationTimestamp) ?? now) + bootMs;
}

/**
 * Returns the memory after a restart: panic with the present workers, since only the record contains the earlier
 * need.
 */
export function afterRestart({
  group,
  workers,
  clock: { now, times },
}: Pick<Observed, 'group' | 'workers' | 'clock'>): ScalingMemory {
  const present = workers.all.filter(isHot);
  const hot = present.length;
  // After a restart a wake request is unknown: if only booting workers exist, they keep their time to boot.
  const isWake = hot > 0 && !present.some(({ isServing }) => isServing);
  const replicas = group.spec.replicas === undefined ? undefined : hot;
  const { panicUntil, autoscaling } = group.status ?? {};
  const recorded = parseTime(panicUntil) ?? 0;
  const total = Number(autoscaling?.stabilizedTotalCapacity ?? autoscaling?.totalCapacity ?? 0);
  return {
    // After a restart the time at which replicas were lowered is unknown: the down window begins now.
    recent: [{ at: now, hot: 0, total, replicas, isWake }],
    panicUntil: hot > 0 ? Math.max(recorded, now + times.panicMs) : recorded,
    hot,
  };
}

/** Returns the workers to rent, wake, stop and delete for a decision. */
export function choose(
  {
    group: { spec },
    workers: { scaling, input },
    publication,
  }: Pick<Facts, 'group' | 'workers' | 'publication'>,
  decision: ScalingDecision,
): Choice {
  const { hot, total, hotCapacity } = decision;
  return chooseWorkers({
    ...{ hot, total, hotCapacity },
    workers: scaling,
    maxWorkers: spec.maxWorkers,
    ceiling: parseDollars(spec.maxSpendPerHour),
    priceOfNew: priceOfNew(input),
    usualPrice: usualPrice(input),
    pause: spec.pause,
    // New workers could not be published, while the published ones still serve.
    maxUnavailable: publication.service.type === 'problem' ? undefined : maxUnavailable(spec, hot),
  });
}

/** Returns the chosen changes for this reconcile; a later one chooses the rest again. */
export function changesOfThisPass(
  choice: Choice,
  seen: Pick<Observed, 'group' | 'workers' | 'publication' | 'refused'>,
): readonly Change[] {
  let room = createLimit(seen);
  // A machine that cannot be published would bill without serving.
  const isHidden = isKeptFromAll(seen.publication);
  return choice.changes.filter((change) => {
    if (change.type !== 'rent') return change.type !== 'wake' || !isHidden;
    return !isHidden && room-- > 0;
  });
}

const isKeptFromAll = ({ service }: Observed['publication']): boolean =>
  service.type === 'problem' && service.forAll === true;

/**
 * Returns the maximum number of new workers now. Adopted workers count from the next reconcile on and may be enough.
 * A worker that cannot be adopted keeps its place, since it may be billed.
 *
 * With `spreadBy`, each worker must be rented before the next is created, which needs its location. A worker that can
 * rent nothing, or is past its boot deadline, does not delay others.
 */
function createLimit({
  group,
  workers: { all, orphans },
  refused,
}: Pick<Observed, 'group' | 'workers' | 'refused'>): number {
  const lost = orphans.filter((object) => isRefusedIn(refused, { type: 'adopt', object }));
  if (lost.length < orphans.length) return 0;
  const places = group.spec.maxWorkers - all.length - lost.length;
  if (group.spec.spreadBy === 'None') return places;
  return all.some(isRenting) ? 0 : Math.min(1, places);
}

/** Returns the refusals of actions that this decision contains again. */
function standingRefusals(refused: readonly Refusal[], decided: readonly Action[]): readonly Refusal[] {
  const keys = new Set(decided.map(actionKey));
  return refused.filter(({ action }) => keys.has(action));
}

/** Returns the reason why the machines of the group get no certificates, as a refusal. */
function identityRefusals({ problem }: IdentityView): readonly Refusal[] {
  return problem === undefined ? [] : [{ action: 'identity', detail: problem.slice(0, 1024) }];
}

/** Returns true if this action was refused the last time. */
function isRefusedIn(refused: readonly Refusal[], action: Action): boolean {
  return refused.some((refusal) => refusal.action === actionKey(action));
}

/** Deletes all workers, then releases the group. Deletion with `--cascade=orphan` keeps the workers. */
export function decideDeletion(observed: Observed): Decision {
  const {
    group,
    workers: { all: workers },
  } = observed;
  const orphans = group.metadata.finalizers?.includes('orphan') === true;
  const left = orphans ? [] : workers;
  const actions = left
    .filter((worker) => !worker.isDeleting)
    .map((worker): Action => ({ type: 'delete', worker }));
  const status = deletingStatus(observed, left.length);
  return {
    needsFinalizer: false,
    status,
    // No worker stays published while the group is deleted.
    endpoints: orphans ? undefined : [],
    checksIdentity: false,
    actions: left.length === 0 ? [{ type: 'release' }] : actions,
    waiting: [],
    because: '',
    ...eventsOf(observed, status),
    memory: idleMemory(observed),
    requeueAfterMs: 5000,
  };
}

/** Returns the memory of a group that does not follow its load; only a tick reads it. */
function idleMemory(observed: Observed): MemoryFields {
  const { now, times } = observed.clock;
  const first = {
    scaling: afterRestart(observed),
    decision: undefined,
    hotAtTick: 0,
    slowSince: undefined,
  };
  return { ...(observed.memory ?? first), nextTickAt: now + times.tickMs };
}
