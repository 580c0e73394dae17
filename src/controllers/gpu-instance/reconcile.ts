import type { TicketDecision } from '../../accounts/admission.ts';
import { reporterOf } from '../../accounts/avoid-list.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations, gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import { accountKey, accountRefOf } from '../../instance/account-ref.ts';
import { formatDollars, parseDollars } from '../../lib/money.ts';
import { storedForm } from '../../lib/stored-form.ts';
import { makeLabel } from '../../ownership/label.ts';
import { conflict, done, type Result, requeueAfter } from '../../runtime/controller.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { compareResourceVersions, objectKey, refOf, uidOf } from '../../runtime/kube/kube-object.ts';
import type { Receipt } from '../../runtime/writes.ts';
import { type ActDeps, type Acted, act, answeredTime, type RecordedAction, rentedFacts } from './act.ts';
import { decide, stillDecides } from './decide.ts';
import type { Deps } from './deps.ts';
import { deriveFacts } from './facts.ts';
import type { AfterFailure, Failure } from './failure.ts';
import { BY_MACHINE, observe } from './observe.ts';
import { publish, replaceConnection } from './publish.ts';
import { decideWithReads, readerOf } from './reads.ts';
import { type Recorded, record } from './record.ts';
import { waitInQueue } from './rules/purchase.ts';
import { saveRented } from './rules/rented.ts';
import { classify } from './stage.ts';
import type { Action, Decision, Observed, Publication, RentedFacts, Requeue } from './types.ts';

/** Delay after which the cache contains the other writer's change. */
const LOST_RACE_RETRY_MS = 50;
const IDENTITY_RETRY_MS = 1_000;
const SHORT_LEASE_RETRY_MS = 1_000;
const NOT_PERMITTED_RETRY_MS = 10_000;
/** A result that cannot be saved now is saved by the next reconcile, out of memory or by the label. */
const SAVE_TRIES = 4;

const LOST_RACE = conflict(LOST_RACE_RETRY_MS);

/**
 * Reconciles one object: observe, decide, record, act, apply the outcome. Level triggered: it reads the present
 * state, and any call may be the first after a crash.
 */
export async function reconcile(object: GpuInstance, deps: Deps): Promise<Result> {
  const first = observe(object, deps);
  if (!first) return requeueAfter(IDENTITY_RETRY_MS);
  reportLabelEcho(first, deps);
  reportUnreadableRecord(object, deps);
  requestListIfAsked(deps);

  const { observed, decision: decided } = await decideWithReads(first, {
    reader: readerOf(deps),
    clocks: deps,
    publish: (seen, publication) => publishChildren(seen, publication, deps),
  });
  if (!decided.waits && decided.record.type !== 'intent') leaveQueues(observed, deps);
  const blocked = await whileBlocked(observed, decided, deps);
  if (blocked) return blocked;

  const { recorded, decision } = await recordChoice(observed, decided, deps);
  switch (recorded.type) {
    case 'lost':
      return LOST_RACE;
    case 'leaseTooShort':
      return requeueAfter(SHORT_LEASE_RETRY_MS);
    case 'refused':
      return applyRefusal(observed, recorded.refusal, deps);
    case 'recorded':
    case 'purchase':
      applyDecision(observed, decision, deps);
      return actOnAll({ observed, decision, receipt: recorded.receipt }, deps);
  }
}

// Observe

/** Reports the label echo: the first machine of a login shows whether the marketplace returns labels. */
function reportLabelEcho(observed: Observed, { session }: Deps): void {
  const {
    machine: { list },
    purchase: { intent: reading, identity, uid },
  } = observed;
  if (session?.observer.labelEcho !== 'unknown' || !list?.recorded || reading.type !== 'intent') return;
  const { attempt, issuedAt } = reading.intent;
  if (attempt !== deriveFacts(observed).machine.owned?.attempt) return;
  const sent = makeLabel(identity, { uid, attempt, issuedAt });
  session.observer.labelReadBack(sent, list.recorded.label, list.begunAt);
}

/** Reports a status that lost its machine: the next decision finds it by its label, and writes a new record. */
function reportUnreadableRecord({ status }: GpuInstance, { showEvent }: Deps): void {
  if (storedForm(status)?.problem?.type !== 'unreadable') return;
  const note = 'status.record cannot be read. The operator searches the machine by its label.';
  showEvent({ type: 'Warning', reason: 'RecordUnreadable', action: 'Observe', note });
}

/** Requests the next list immediately if a person requested a reconcile. */
function requestListIfAsked({ memory, clock, session }: Deps): void {
  if (!memory.asksForList) return;
  memory.asksForList = false;
  memory.fields.askedAt = clock.monotonic();
  session?.feed.pollNow();
}

// Decide

/** Writes the children before a status that mentions them. */
async function publishChildren(observed: Observed, publication: Publication, deps: Deps): Promise<Observed> {
  const { cluster, memory, steady, allowPrivateAddresses } = deps;
  const {
    object,
    purchase: { identity },
  } = observed;
  const ports = { cluster, keys: identity.keys, memory, allowPrivateAddresses };
  const published = await publish(object, publication, ports).catch((error: unknown) => {
    // The machine of a deleted object is destroyed even if the cluster accepts no writes: it would keep billing.
    if (object.metadata.deletionTimestamp === undefined || !(error instanceof KubeError)) throw error;
    return { type: 'failed', detail: error.message } as const;
  });
  if (published.type === 'done') memory.childrenWritten(steady.now());
  const machine = { ...observed.machine, published };
  return { ...observed, machine, memory: memory.view(steady.now()) };
}

/**
 * Removes the object from the queues of every login: a queue outlives the session of an account that shares its login.
 */
function leaveQueues({ purchase: { uid } }: Pick<Observed, 'purchase'>, { accounts }: Deps): void {
  for (const { queue } of accounts.sessions()) queue.leave(uid);
}

/** Returns the obstacle that prevents this process from acting; undefined if there is none. */
async function whileBlocked(
  { object }: Pick<Observed, 'object'>,
  { actions, record: { type } }: Decision,
  deps: Deps,
): Promise<Result | undefined> {
  const { reviews, memory, steady, log, showEvent } = deps;
  if (actions.length > 0 && !isLeading(deps)) return requeueAfter(SHORT_LEASE_RETRY_MS);
  if (type !== 'intent') return undefined;
  // A machine whose id cannot be written down is not worth having.
  const namespace = object.metadata.namespace ?? '';
  const right = { verb: 'update', resource: gpuInstanceResource, subresource: 'status', namespace } as const;
  if (await reviews.may(right)) return undefined;
  const detail = 'The operator may not update gpuinstances/status here.';
  log.warn('Nothing is rented', { detail });
  showEvent({ type: 'Warning', reason: 'NotPermitted', action: 'Rent', note: detail });
  memory.backOff(steady.now(), NOT_PERMITTED_RETRY_MS, { reason: 'NotPermitted', detail });
  return requeueAfter(NOT_PERMITTED_RETRY_MS);
}

/**
 * Returns true while this process leads: another process may otherwise act on newer facts. A rent call has a deadline
 * of its own.
 */
function isLeading({ leaseRemainingMs, constants }: Deps): boolean {
  return leaseRemainingMs() > constants.leaseMarginMs;
}

// Record

/**
 * Records the decision. Objects with equal requests choose the same offer at the same time: the first reserves it,
 * and the others choose again immediately from their remaining offers. No await separates that choice from its
 * reservation, so no third object can take the offer in between.
 */
async function recordChoice(
  observed: Observed,
  decision: Decision,
  deps: Deps,
): Promise<{ readonly recorded: Recorded; readonly decision: Decision }> {
  const recorded = await record(observed, decision, deps);
  if (recorded.type !== 'refused' || recorded.refusal.reason !== 'OfferReserved')
    return { recorded, decision };
  const step = decide(observed);
  if (step.type !== 'decision' || step.record.type !== 'intent') return { recorded, decision };
  return { recorded: await record(observed, step, deps), decision: step };
}

/** Applies the refusal of an account without room, or without a slot yet. */
async function applyRefusal(
  observed: Observed,
  { reason, message, retryAfterMs }: Extract<TicketDecision, { type: 'refused' }>,
  deps: Deps,
): Promise<Result> {
  const { memory, steady, session } = deps;
  if (reason === 'OfferReserved') return requeueAfter(Math.min(retryAfterMs, 50));
  if (reason !== 'Queued') {
    leaveQueues(observed, deps);
    memory.refusedByAccount(steady.now(), retryAfterMs, { reason, detail: message });
    return requeueAfter(0);
  }
  // The object waits for a rental slot; the queue enqueues it when a slot is free.
  const facts = deriveFacts(observed);
  const {
    purchase: { uid },
    object,
  } = facts;
  const stage = classify(facts);
  const place = session?.queue.place(uid, object.metadata.generation ?? 0);
  if (stage.type !== 'unrented' || !place) return requeueAfter(retryAfterMs);
  const waits = waitInQueue(facts, stage, place);
  const recorded = await record(observed, waits, deps);
  if (recorded.type === 'lost') return LOST_RACE;
  applyDecision(observed, waits, deps);
  return resultOf(waits.requeue, deps);
}

/** Logs one line when the state of an object changes, and none while it stays the same, perhaps for hours. */
function logState(object: GpuInstance, { status }: Decision, { log }: Pick<Deps, 'log'>): void {
  const ready = status?.verdict.Ready;
  const before = object.status?.conditions?.find(({ type }) => type === 'Ready')?.reason;
  if (ready && ready.reason !== before)
    log.info('State changed', { phase: status.verdict.phase, reason: ready.reason, message: ready.message });
}

type ApplyDeps = Pick<Deps, 'memory' | 'metrics' | 'steady' | 'session' | 'showEvent' | 'log'>;

/** Applies a recorded decision: events for people, notes to the account, memory of this process. */
function applyDecision({ object }: Pick<Observed, 'object'>, decision: Decision, deps: ApplyDeps): void {
  logState(object, decision, deps);
  const { events, avoid, forgiven, settled, ended, waits, backOff, explained, blocked } = decision;
  const { memory, metrics, steady, session, showEvent } = deps;
  const now = steady.now();
  for (const note of events) showEvent(note);
  session?.observer.planEnd(uidOf(object), decision.plansEnd === true);
  session?.observer.announceEnd(uidOf(object), decision.announcesEnd === true);
  for (const { target, reason } of avoid) session?.avoid.add(target, reason, reporterOf(object, reason));
  if (forgiven) session?.avoid.takeBack(forgiven.target, reporterOf(object, forgiven.reason));
  for (const instanceId of settled) memory.settled(instanceId);
  if (decision.finishesRun) metrics.runFinished(accountOf(object), decision.finishesRun);
  if (ended) metrics.ended(accountOf(object), ended.reason, ended.cost);
  if (decision.savesRental) rentalSaved(deps);
  memory.fields.queued = waits?.notice;
  if (backOff) memory.refusedByAccount(now, backOff.afterMs, backOff.refusal);
  else if (decision.isFailure) memory.failures++;
  if (explained) memory.explain(explained, now);
  if (blocked) memory.replacement.refusedByAccount(now, blocked.afterMs, blocked.refusal);
  if (blocked?.explained) memory.replacement.explain(blocked.explained, now);
}

// Act

/**
 * Actions that may wait long for the marketplace's rate limit or the account's record; a rental has its slot already.
 */
const WAITS: ReadonlySet<Action['type']> = new Set<Action['type']>([
  'destroy',
  'stop',
  'start',
  'relabel',
  'retain',
  'release',
]);

interface RecordedDecision {
  readonly observed: Observed;
  readonly decision: Decision;
  readonly receipt: Receipt<GpuInstance>;
}

async function actOnAll({ observed, decision, receipt }: RecordedDecision, deps: Deps): Promise<Result> {
  let again: Result | undefined;
  for (const action of decision.actions) {
    if (action.type !== 'rent' && !isLeading(deps)) return requeueAfter(SHORT_LEASE_RETRY_MS);
    deps.log.info('Acting', {
      rule: decision.rule,
      because: decision.because,
      action: action.type,
      ...(action.type === 'rent' && { offerId: action.purchase.offer.id, attempt: action.purchase.attempt }),
      ...('instanceId' in action && { instanceId: action.instanceId }),
      ...(action.type === 'destroy' && { reason: action.reason }),
    });
    const recorded = { observed, action, receipt };
    const knownMachines = () => knownBefore(observed, deps);
    const carryOut = () => act(recorded, { ...deps, ...decidedAgain(recorded, deps), knownMachines });
    const acted = await (WAITS.has(action.type) ? deps.aside(carryOut) : carryOut());
    const result = await applyOutcome(recorded, acted, deps);
    // A machine that cannot be destroyed must not keep the next one billing.
    if (result && !(action.type === 'destroy' && acted.type === 'failed')) return result;
    again = result ?? again;
  }
  return again ?? resultOf(decision.requeue, deps);
}

/** Requests the next reconcile as decided: after a time, or after the next list, whichever is first. */
function resultOf(
  { afterMs, onList, asksForList }: Requeue,
  { onNextList, session }: Pick<Deps, 'onNextList' | 'session'>,
): Result {
  if (onList) onNextList();
  if (asksForList && session?.feed.health().state === 'healthy') session.feed.pollNow(asksForList);
  return afterMs === undefined ? done : requeueAfter(afterMs);
}

/** Machines that no present rental can create: listed, recorded or answered before, or ended. */
function knownBefore(
  {
    object,
    machine: { list },
    purchase: { uid },
    memory,
  }: Pick<Observed, 'object' | 'machine' | 'purchase' | 'memory'>,
  deps: Deps,
): (instanceId: string) => boolean {
  const { session, instances } = deps;
  const latest = session?.feed.latest()?.rows;
  const own = [...(object.status?.history ?? []), ...memory.destroys].map(({ instanceId }) => instanceId);
  const known = new Set([...own, ...(list?.ids ?? []), ...(latest?.keys() ?? [])]);
  const isOfOther = (id: string) =>
    instances.byIndex(BY_MACHINE, id).some((other) => uidOf(other) !== uid) ||
    session?.isAnswered(id, uid) === true;
  return (id) => known.has(id) || isOfOther(id);
}

/** Decides again right before an action, with the cached object and with a fresh read. */
function decidedAgain(
  recorded: RecordedAction,
  deps: Deps,
): Pick<ActDeps, 'isStillDecided' | 'isStillDecidedNow'> {
  const { object } = recorded.observed;
  const copy = () => deps.instances.get(objectKey(object.metadata));
  return {
    isStillDecided: () => isStillDecided(recorded, newestOf(object, copy()), deps),
    async isStillDecidedNow() {
      const present = newestOf(object, await deps.readNow());
      // The object is gone and the watch lags: another process may have released it, and kept its machine.
      if (!present && newestOf(object, copy())) return false;
      return isStillDecided(recorded, present, deps);
    },
  };
}

/** Returns true if the decision stays the same with the newest list and the newest object. */
function isStillDecided(
  { observed, action }: RecordedAction,
  newest: GpuInstance | undefined,
  deps: Deps,
): boolean {
  const { object } = observed;
  if (!isLeading(deps) || isSuperseded(object, newest)) return false;
  const seen = observe(newest ?? object, deps);
  return seen !== undefined && stillDecides(seen, { before: observed, action });
}

/**
 * Returns the newer of `decidedOn` and a later read of the object. A cached copy may be older, because the API server
 * is read after a conflict. Undefined if the object was deleted, or another one has its name.
 */
export function newestOf(decidedOn: GpuInstance, read: GpuInstance | undefined): GpuInstance | undefined {
  if (read?.metadata.uid !== decidedOn.metadata.uid) return undefined;
  const { resourceVersion: known = '' } = decidedOn.metadata;
  const isBehind = compareResourceVersions(read?.metadata.resourceVersion ?? '', known) < 0;
  return isBehind ? decidedOn : read;
}

/**
 * Returns true if a person has changed the desired state since `decidedOn` was read: its spec, its deletion, or a hold
 * on its machine. An older `newest` changes nothing. Without `newest` the object was deleted, and only the action of
 * its deletion still counts.
 */
export function isSuperseded(decidedOn: GpuInstance, newest: GpuInstance | undefined): boolean {
  if (!newest) return decidedOn.metadata.deletionTimestamp === undefined;
  const isNewer = (newest.metadata.generation ?? 0) > (decidedOn.metadata.generation ?? 0);
  return isNewer || (hasHold(newest) && !hasHold(decidedOn));
}

const hasHold = ({ metadata }: GpuInstance): boolean =>
  metadata.annotations?.[annotations.hold] !== undefined;

// Apply the outcome

/** Saves, remembers and counts the result of an action. Undefined if the next action may follow immediately. */
async function applyOutcome(recorded: RecordedAction, acted: Acted, deps: Deps): Promise<Result | undefined> {
  const { memory, metrics } = deps;
  const { action, observed } = recorded;
  switch (acted.type) {
    case 'rented':
      metrics.rented(accountOf(observed.object));
      return saveResult(recorded, acted.rented, deps);
    case 'failed':
      return applyFailure(recorded, acted, deps);
    case 'withdrawn':
      return requeueAfter(0);
    case 'done':
      if (action.type !== 'destroy') memory.succeeded();
      else metrics.destroyFailing(objectKey(observed.object.metadata), 0);
      return undefined;
  }
}

async function applyFailure(
  recorded: RecordedAction,
  { after, failure }: { readonly after: AfterFailure; readonly failure: Failure },
  deps: Deps,
): Promise<Result> {
  const { memory, metrics, session, withoutStart } = deps;
  const { action, observed } = recorded;
  const { object } = observed;
  const account = accountOf(object);
  const now = deps.steady.now();
  if (action.type === 'rent') metrics.rentalFailed(account, failure.kind);
  switch (after.type) {
    case 'settle':
      return requeueAfter(0);
    case 'retry': {
      const { afterMs, refusal, avoid, unsupported } = after;
      if (action.type === 'destroy') {
        memory.destroyFailed(now, afterMs);
        const pricePerHour = parseDollars(object.status?.cost?.pricePerHour) ?? 0;
        metrics.destroyFailing(objectKey(object.metadata), pricePerHour);
        return requeueAfter(afterMs);
      }
      if (action.type === 'rent') memory.fields.refused = action.purchase;
      // A sold offer is a fact; a refused one may be the fault of the request.
      const witness = failure.kind === 'offerGone' ? undefined : reporterOf(object, failure.kind);
      if (avoid) session?.avoid.add(avoid, failure.kind, witness);
      if (unsupported && session) withoutStart.add(session.uid);
      if (failure.kind === 'refused' && refusal) memory.refusedByAccount(now, afterMs, refusal);
      else if (afterMs > 0) memory.backOff(now, afterMs, refusal);
      return requeueAfter(refusal ? 0 : afterMs);
    }
    case 'rented': {
      if (action.type !== 'rent') return requeueAfter(0);
      metrics.rented(account);
      return saveResult(
        recorded,
        rentedFacts(action.purchase, after.instanceId, answeredTime(undefined, deps)),
        deps,
      );
    }
  }
}

/** Observation behind a rental, and the object as the intent was written. */
type Rental = Pick<RecordedAction, 'observed' | 'receipt'>;
type SaveDeps = Pick<
  Deps,
  | 'cluster'
  | 'memory'
  | 'metrics'
  | 'clock'
  | 'steady'
  | 'log'
  | 'session'
  | 'wrote'
  | 'leaseRemainingMs'
  | 'wake'
  | 'showEvent'
  | 'onNextList'
>;

/**
 * Saves the result of a rental, the key of its machine with it. Rejects if the status could not be written; the result
 * stays in memory then.
 */
export async function saveResult(rental: Rental, rented: RentedFacts, deps: SaveDeps): Promise<Result> {
  const { cluster, memory, log } = deps;
  const { keys } = rental.observed.purchase.identity;
  memory.fields.rented = rented;
  deps.session?.answered(rented.instanceId, rental.observed.purchase.uid);
  memory.succeeded();
  logRental(rented, log);
  const [saved] = await Promise.all([
    saveStatus(rental, rented, deps),
    replaceConnection(rental.receipt.object, rented, { cluster, keys }).catch((error: unknown) => {
      log.warn('The connection Secret still has the address of the machine before', { error });
    }),
  ]);
  return resultOf(saved?.requeue ?? { afterMs: 0 }, deps);
}

/** Logs the line that gives a person the machine, offer and price of a rental. */
function logRental({ attempt, instanceId, offer, pricePerHour }: RentedFacts, log: SaveDeps['log']): void {
  log.info('Machine rented', {
    attempt,
    instanceId,
    offerId: offer?.id,
    machineId: offer?.machineId,
    dollarsPerHour: pricePerHour === undefined ? undefined : formatDollars(pricePerHour),
  });
}

/** Records that the result of a rental is saved. While rentals are serial, the next one may start. */
function rentalSaved({ memory, session }: Pick<Deps, 'memory' | 'session'>): void {
  memory.fields.rented = undefined;
  session?.queue.slotEnded();
}

/**
 * Saves the result of a rental as the next write of the object, retried on newer versions. Undefined if it was not
 * saved.
 */
async function saveStatus(
  { observed, receipt }: Rental,
  rented: RentedFacts,
  deps: SaveDeps,
): Promise<Decision | undefined> {
  const { cluster, clock } = deps;
  let object: GpuInstance | undefined = receipt.object;
  for (let tries = 0; object && tries < SAVE_TRIES; tries++) {
    if ((object.status?.attempt ?? 0) >= rented.attempt) break;
    const now = deriveFacts({ ...observed, object, clock: { ...observed.clock, now: clock.now() } });
    const decision = saveRented(now, rented);
    const recorded = await record(now, decision, deps);
    if (recorded.type === 'recorded') {
      applyDecision(now, decision, deps);
      return decision;
    }
    object = await cluster.get<GpuInstance>(gpuInstanceResource, refOf(object));
    if (object?.metadata.uid !== observed.purchase.uid) object = undefined;
  }
  return undefined;
}

const accountOf = (object: GpuInstance): string => accountKey(accountRefOf(object));
