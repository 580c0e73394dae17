import { believedNow, type ServiceTime, timeOfAnswer } from '../../accounts/service-clock.ts';
import type { AccountSession } from '../../accounts/session.ts';
import { type GpuInstance, type GpuInstanceStatus, MAX_SEALED_KEY } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource, MACHINE_FINALIZER } from '../../api/v1alpha1/names.ts';
import type { Reason } from '../../api/v1alpha1/reasons.ts';
import { keptPerHour, spentThisMonth } from '../../instance/cost.ts';
import { objectIntent } from '../../instance/object-intent.ts';
import { recentRentals, rentalTimes } from '../../instance/rentals.ts';
import type { MachineEnd } from '../../ledger/machine-cost.ts';
import { parseDollars } from '../../lib/money.ts';
import { formatTime, parseDuration, parseTime } from '../../lib/time.ts';
import { MarketplaceError } from '../../market/errors.ts';
import type { Market } from '../../market/market.ts';
import { sealKey } from '../../ownership/sealed-key.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import { objectKey, uidOf } from '../../runtime/kube/kube-object.ts';
import { type Receipt, recordStatus, removeFinalizer } from '../../runtime/writes.ts';
import { noteOwnedChildren, removeOrphans } from './child-writes.ts';
import type { Deps } from './deps.ts';
import { type AfterFailure, decideAfterFailure, type Failure } from './failure.ts';
import { PurchaseReceipt } from './record.ts';
import type { Action, Observed, Purchase, RentedFacts } from './types.ts';

export type ActDeps = Pick<
  Deps,
  | 'clock'
  | 'steady'
  | 'log'
  | 'cluster'
  | 'session'
  | 'statusWriter'
  | 'ledger'
  | 'memory'
  | 'metrics'
  | 'showEvent'
  | 'wrote'
> & {
  /** Returns true if this process may still act, and would decide the same with the facts known now. */
  readonly isStillDecided: () => boolean;
  /** The same on the object as the API server has it at this moment. Rejects with a KubeError. */
  readonly isStillDecidedNow: () => Promise<boolean>;
  /** Returns a check whether a machine existed before this call, or belongs to another object. */
  readonly knownMachines: () => (instanceId: string) => boolean;
};

/** An action, its decision, and the proof that the decision is recorded on the object. */
export interface RecordedAction {
  readonly observed: Observed;
  readonly action: Action;
  readonly receipt: Receipt<GpuInstance>;
}

/** Result of an action. */
export type Acted =
  | { readonly type: 'done' }
  /** Not sent: its basis changed while it waited for a request slot. */
  | { readonly type: 'withdrawn' }
  | { readonly type: 'rented'; readonly rented: RentedFacts }
  | { readonly type: 'failed'; readonly after: AfterFailure; readonly failure: Failure };

const DONE: Acted = { type: 'done' };
const WITHDRAWN: Acted = { type: 'withdrawn' };
/** Actions that only write to the cluster and need no call to the marketplace. */
const NEEDS_NO_KEY: ReadonlySet<Action['type']> = new Set<Action['type']>(['retain', 'release', 'expire']);

/** Actions that raise the cost of a machine. A rental has a ticket and is admitted separately. */
const SPENDS: ReadonlySet<Action['type']> = new Set<Action['type']>(['start']);

/**
 * Carries out one recorded action. A queued call is withdrawn if a new decision no longer contains the action. A
 * failed call of the marketplace is a result; it rejects with any other error, such as a KubeError.
 */
export async function act(recorded: RecordedAction, deps: ActDeps): Promise<Acted> {
  const { observed, action } = recorded;
  if (!deps.session && !NEEDS_NO_KEY.has(action.type)) return DONE;
  const check = lastCheck(recorded, deps);
  try {
    return await carryOut(recorded, { ...deps, ...check });
  } catch (error) {
    if (!(error instanceof MarketplaceError)) throw error;
    if (check.wasTakenBack()) return WITHDRAWN;
    const { kind, outcome, message, retryAfterMs, instanceId } = error;
    const failure = { kind, outcome, message, retryAfterMs, instanceId };
    deps.log.warn('Marketplace call failed', {
      action: action.type,
      kind,
      outcome,
      code: error.code,
      status: error.status,
    });
    return { type: 'failed', failure, after: decideAfterFailure(observed, action, failure) };
  }
}

/**
 * Last check before a call is sent. The call may have waited minutes for its slot; in that time the machine may have
 * recovered, or a person may have decided to keep it.
 */
interface LastCheck {
  readonly mayLeave: () => boolean;
  /**
   * Permission for an irreversible call. The watch may lag a minute behind a person's request to keep the machine, so
   * the object is read once more. Rejects with a KubeError: without a successful read nothing is destroyed.
   */
  readonly mayDestroy: () => Promise<boolean>;
  readonly wasTakenBack: () => boolean;
}

type QueuedDeps = ActDeps & LastCheck;

/**
 * Returns the last check before a call. A permission may be withdrawn at any time, so a call that raises spending is
 * checked right before it is sent.
 */
function lastCheck(
  { observed: { object }, action }: RecordedAction,
  { session, isStillDecided, isStillDecidedNow }: ActDeps,
): LastCheck {
  const namespace = object.metadata.namespace ?? '';
  const isPermitted = () => !SPENDS.has(action.type) || maySpend(session, namespace);
  let isTakenBack = false;
  const mayLeave = () => {
    isTakenBack = !isPermitted() || !isStillDecided();
    return !isTakenBack;
  };
  return {
    mayLeave,
    async mayDestroy() {
      isTakenBack = !mayLeave() || !(await isStillDecidedNow());
      return !isTakenBack;
    },
    wasTakenBack: () => isTakenBack,
  };
}

/**
 * Returns true if spending is still allowed: a person may suspend the account, or exclude a namespace, between the
 * decision and the call.
 */
function maySpend(session: AccountSession | undefined, namespace: string): boolean {
  return session !== undefined && session.permits(namespace) === true && !session.admission.isSuspended;
}

async function carryOut({ observed, action, receipt }: RecordedAction, deps: QueuedDeps): Promise<Acted> {
  const { session, mayLeave } = deps;
  switch (action.type) {
    case 'rent':
      return rent(observed, { purchase: action.purchase, receipt }, deps);
    case 'destroy':
      return destroy({ observed, action, receipt }, action, deps);
    case 'stop':
      return stop(receipt, action.instanceId, deps);
    case 'start':
      return start({ observed, action, receipt }, action, deps);
    case 'relabel':
      if (session) await offered(session.market, 'relabel')(action.instanceId, action.label, { mayLeave });
      deps.memory.fields.relabelledAt = deps.steady.now();
      return DONE;
    case 'expire':
      await expire(receipt.object, deps);
      return DONE;
    case 'retain':
      await retain(action, receipt, deps);
      return DONE;
    case 'release':
      await release({ observed, action, receipt }, action, deps);
      return DONE;
  }
}

/**
 * Returns a change that not every market offers. Throws a MarketplaceError, outcome `refused`, if this one does not.
 */
function offered<Name extends 'stop' | 'start' | 'relabel'>(
  market: Market,
  name: Name,
): Required<Market>[Name] {
  const call = market[name];
  if (call) return call;
  const message = `${name} a machine: the market ${market.about.name} does not offer it`;
  throw new MarketplaceError(message, { kind: 'refused', outcome: 'refused' });
}

/** The ticket and this check together: a process that slept between record and call must not call. */
const OLDEST_INTENT_MS = 5_000;

async function rent(
  { purchase: { uid, identity } }: Pick<Observed, 'purchase'>,
  { purchase, receipt }: { readonly purchase: Purchase; readonly receipt: Receipt<GpuInstance> },
  deps: ActDeps,
): Promise<Acted> {
  const { session } = deps;
  if (!(receipt instanceof PurchaseReceipt) || !session)
    throw new TypeError('a rent needs the receipt of its intent');
  const { intent, ticket } = receipt;
  const deadlineMs = callMs(purchase, receipt, deps);
  const isKnown = deps.knownMachines();
  try {
    const options = { deadlineMs, slot: ticket.slot };
    const answer = await session.market.rent(intent.offer, purchase.request, options);
    const { instanceId, instanceApiKey } = answer;
    if (isKnown(instanceId)) throw notNew(instanceId);
    ticket.settle({ rented: true });
    const answeredAt = answeredTime(answer.answeredAt, deps);
    const machine = { uid, attempt: intent.attempt, instanceId };
    const sealed = instanceApiKey && sealKey(identity.keys, machine, instanceApiKey);
    // A field that does not fit would prevent the save of the whole result.
    const sealedKey = sealed && sealed.length <= MAX_SEALED_KEY ? sealed : undefined;
    return {
      type: 'rented',
      rented: { ...rentedFacts(purchase, instanceId, answeredAt), ...(sealedKey && { sealedKey }) },
    };
  } catch (error) {
    ticket.settle({ rented: wasRefused(error) ? false : 'unknown' });
    const named = error instanceof MarketplaceError ? error.instanceId : undefined;
    throw named !== undefined && isKnown(named) ? notNew(named) : error;
  }
}

/**
 * Returns the error of a reply that named a machine which cannot be the new one: lists decide the outcome of the
 * rental.
 */
function notNew(instanceId: string): MarketplaceError {
  const why = `the reply to a rental names machine ${instanceId}, which existed before it or is another object's`;
  return new MarketplaceError(`rent an offer: ${why}`, { kind: 'malformedReply', outcome: 'unknown' });
}

/** Returns the remaining time of the call. Throws if the call may no longer be sent, and returns the ticket. */
function callMs({ decidedAt }: Purchase, { intent, ticket, object }: PurchaseReceipt, deps: ActDeps): number {
  const { clock, session } = deps;
  const age = clock.now() - decidedAt;
  const left = intent.deadline - intent.issuedAt - age;
  if (!maySpend(session, object.metadata.namespace ?? ''))
    throw notRented(ticket, 'the account is suspended, or its namespace may not use it any more');
  if (ticket.use() && age >= 0 && age <= OLDEST_INTENT_MS && left > 0) return left;
  throw notRented(ticket, 'too much time passed after it was recorded');
}

/** Returns the ticket to the admission. */
function notRented(ticket: PurchaseReceipt['ticket'], why: string): MarketplaceError {
  ticket.settle({ rented: false });
  const options = { kind: 'aborted', outcome: 'refused' } as const;
  return new MarketplaceError(`The rental was not sent: ${why}.`, options);
}

/** Returns the record of a purchase that worked, without the key of the machine. */
export function rentedFacts(purchase: Purchase, instanceId: string, answeredAt: number): RentedFacts {
  return {
    attempt: purchase.attempt,
    instanceId,
    answeredAt,
    offer: purchase.offer,
    offerIndex: purchase.offerIndex,
    pricePerHour: purchase.pricePerHour,
    specHash: purchase.specHash,
    facts: purchase.facts,
    ...(purchase.fuse && { fuse: purchase.fuse }),
    image: purchase.request.image,
  };
}

async function destroy(
  { observed: { object }, receipt }: RecordedAction,
  { instanceId, reason }: Extract<Action, { type: 'destroy' }>,
  deps: QueuedDeps,
): Promise<Acted> {
  const { session, steady, memory, metrics, mayDestroy } = deps;
  const answer = await session?.market.destroy(instanceId, { mayLeave: mayDestroy });
  const endedAt = billedUntil(object, answer?.answeredAt, deps);
  memory.destroyed({ instanceId, reason, answeredAt: steady.now(), endedAt });
  metrics.destroyed(session ? objectKey(session.ref) : '', reason);
  deps.log.info('Machine destroyed', { instanceId, reason });
  session?.feed.pollNow();
  await recordAnswer(receipt, instanceId, { action: 'Destroy', at: endedAt, reason }, deps);
  if (object.metadata.deletionTimestamp !== undefined) await noteOwnedChildren(object, deps);
  return DONE;
}

interface Answer {
  readonly action: 'Destroy' | 'Stop' | 'Start';
  /** The service's clock in the reply. */
  readonly at: number;
  readonly reason?: Reason;
}

/**
 * Records the reply to a call that changes the billing of the recorded machine. Only this reply dates the change: a
 * process that starts later would charge the machine until its own first list. If the write fails, that date is lost;
 * nothing else depends on it.
 */
async function recordAnswer(
  { object }: Receipt<GpuInstance>,
  instanceId: string,
  { at, ...answer }: Answer,
  { cluster: client, wrote, log }: QueuedDeps,
): Promise<void> {
  if (object.status?.instanceId !== instanceId) return;
  const status = { ...object.status, answered: { ...answer, at: formatTime(at) } };
  try {
    const write = await recordStatus<GpuInstanceStatus, GpuInstance>({
      ...{ client, resource: gpuInstanceResource, object, status },
    });
    if (write.type === 'written') wrote(write.object);
  } catch (error) {
    log.warn('Answer was not recorded', { instanceId, action: answer.action, error });
  }
}

const timeAt = (session: AccountSession | undefined): ServiceTime =>
  session?.serviceClock.now() ?? { type: 'unknown' };

/**
 * Returns the time of an answer by the service's clock (epoch milliseconds). `date`: its own time, undefined if it could
 * not be read.
 */
export function answeredTime(
  date: number | undefined,
  { session, clock }: Pick<ActDeps, 'session' | 'clock'>,
): number {
  return timeOfAnswer(date, timeAt(session), clock.now());
}

/**
 * Returns the time of an answer that ends what a machine bills. A time before the machine began to bill is that of a wrong
 * clock of the operator: then the later `date` of the answer counts.
 */
function billedUntil({ status }: GpuInstance, date: number | undefined, deps: ActDeps): number {
  const at = answeredTime(date, deps);
  const since = parseTime(status?.cost?.since) ?? at;
  return date !== undefined && at < since && since <= date ? date : at;
}

async function stop(receipt: Receipt<GpuInstance>, instanceId: string, deps: QueuedDeps): Promise<Acted> {
  const { session, steady, memory, mayLeave } = deps;
  const answer = session && (await offered(session.market, 'stop')(instanceId, { mayLeave }));
  memory.fields.stopAskedAt = steady.now();
  // The start before it is over: the next one has its own time.
  memory.fields.startAnsweredAt = undefined;
  const at = billedUntil(receipt.object, answer?.answeredAt, deps);
  memory.fields.stopAnsweredAt = at;
  session?.feed.pollNow();
  await recordAnswer(receipt, instanceId, { action: 'Stop', at }, deps);
  return DONE;
}

async function start(
  { observed, receipt }: RecordedAction,
  { instanceId, pricePerHour }: Extract<Action, { type: 'start' }>,
  deps: QueuedDeps,
): Promise<Acted> {
  const { session, steady, memory, mayLeave } = deps;
  const {
    object,
    purchase: { uid },
  } = observed;
  if (!session) return DONE;
  if (!mayLeave()) return WITHDRAWN;
  const timeoutMs = parseDuration(object.spec.timeouts.start) ?? 0;
  const permission = session.admission.requestStart({
    ...{ objectUid: uid, namespace: object.metadata.namespace ?? '' },
    ...{ pricePerHour, timeoutMs },
  });
  if (permission.type === 'refused') {
    const { message, retryAfterMs, reason } = permission;
    const refusal = reason === 'OfferReserved' ? undefined : { reason, detail: message };
    return {
      type: 'failed',
      failure: { kind: 'refused', outcome: 'refused', message, retryAfterMs, instanceId: undefined },
      after: { type: 'retry', afterMs: retryAfterMs, ...(refusal && { refusal }) },
    };
  }
  const sentBefore = memory.fields.startSentAt;
  memory.fields.startSentAt = steady.now();
  let answeredAt: number | undefined;
  try {
    ({ answeredAt } = await offered(session.market, 'start')(instanceId, { mayLeave }));
  } catch (error) {
    permission.settle({ started: wasRefused(error) ? false : 'unknown' });
    // A call that waits for its place leaves later than it was decided.
    memory.fields.startSentAt = wasRefused(error) ? sentBefore : steady.now();
    throw error;
  }
  permission.settle({ started: true });
  memory.fields.startAnsweredAt = steady.now();
  memory.fields.stopAskedAt = undefined;
  memory.fields.stopAnsweredAt = undefined;
  session.feed.pollNow();
  const at = answeredTime(answeredAt, deps);
  await recordAnswer(receipt, instanceId, { action: 'Start', at }, deps);
  return DONE;
}

/** Returns true if the call was certainly not carried out. */
function wasRefused(error: unknown): boolean {
  return error instanceof MarketplaceError && error.outcome === 'refused';
}

/**
 * Marks the machine as kept by its label, and records it in the account's status: the label may be immutable, or a
 * list may show the old one for a while.
 */
/** Deletes the object of a finished run. Nothing is deleted if the object changed meanwhile. */
async function expire({ metadata }: GpuInstance, { cluster }: ActDeps): Promise<void> {
  try {
    const { uid, resourceVersion } = metadata;
    const ref = { namespace: metadata.namespace, name: metadata.name };
    await cluster.delete(gpuInstanceResource, ref, { uid, resourceVersion, propagation: 'Background' });
  } catch (error) {
    if (!isKubeError(error, 'conflict', 'notFound')) throw error;
  }
}

async function retain(
  action: Extract<Action, { type: 'retain' }>,
  receipt: Receipt<GpuInstance>,
  deps: QueuedDeps,
): Promise<void> {
  const { session, statusWriter, log, showEvent, mayLeave } = deps;
  const { object } = receipt;
  try {
    if (session && action.label !== undefined)
      await offered(session.market, 'relabel')(action.instanceId, action.label, { mayLeave });
  } catch (error) {
    if (!(error instanceof MarketplaceError) || deps.wasTakenBack()) throw error;
    log.warn('Kept machine could not be relabelled', { instanceId: action.instanceId, kind: error.kind });
  }
  try {
    await statusWriter?.recordRetained({
      instanceId: action.instanceId,
      objectUid: uidOf(object),
      owner: objectKey(object.metadata),
      policy: action.policy,
      pricePerHour: parseDollars(keptPerHour(object.status ?? {}, action.policy)),
    });
  } catch (error) {
    if (error instanceof RangeError) {
      // The object waits for this, and nothing else reports the reason.
      const note = `Machine ${action.instanceId} is not given up yet: ${error.message}.`;
      showEvent({ type: 'Warning', reason: 'NotRetained', action: 'Deleting', note });
    }
    throw error;
  }
}

/**
 * Records the cost of the object, and the part that its account counts, then removes the finalizer. If recording
 * fails the finalizer stays, and the release is retried.
 */
async function release(
  { observed, receipt }: RecordedAction,
  { note, endedAt, destroyed, keepsChildren }: Extract<Action, { type: 'release' }>,
  deps: ActDeps,
): Promise<void> {
  const { object } = receipt;
  await recordCosts(observed, { at: endedAt, reason: note.reason }, deps);
  await recordInAccount(observed, { endedAt, destroyed }, deps);
  if (!keepsChildren) await removeOrphans(object, deps);
  deps.showEvent(note);
  const written = await removeFinalizer({
    client: deps.cluster,
    resource: gpuInstanceResource,
    object,
    finalizer: MACHINE_FINALIZER,
  });
  if (written.type === 'conflict') throw written.error;
  if (written.type === 'written') deps.wrote(written.object);
}

/**
 * Writes the costs of the object's machines to the ledger. The object waits for this, unless the write can never
 * succeed.
 */
async function recordCosts(
  { object }: Pick<Observed, 'object'>,
  { at, reason }: MachineEnd,
  { ledger, showEvent }: ActDeps,
): Promise<void> {
  if (object.status?.instanceId === undefined && object.status?.history === undefined) return;
  const isDestroyed = reason === 'InstanceDestroyed';
  try {
    await ledger.recordDeleted(object, { at, reason: isDestroyed ? 'Deleting' : reason });
  } catch (error) {
    if (!isKubeError(error, 'forbidden', 'notFound', 'invalid')) throw error;
    // No retry would succeed, and an endless deletion is worse, because the machine is gone.
    const note = `The cost of this object is not in the ledger: ${error.message}`;
    showEvent({ type: 'Warning', reason: 'NotPermitted', action: 'Deleting', note });
  }
}

/** Writes rentals, costs and destroyed machines of this object into the record of its account, once. */
async function recordInAccount(
  observed: Pick<Observed, 'object' | 'purchase' | 'clock'>,
  { endedAt, destroyed }: Pick<Extract<Action, { type: 'release' }>, 'endedAt' | 'destroyed'>,
  { statusWriter, memory, session }: ActDeps,
): Promise<void> {
  const {
    object,
    purchase: { uid, intent, identity },
    clock: { now },
  } = observed;
  // The machine of an open purchase was destroyed by its label, and only the intent dates its rental.
  const { hasOpenIntent, issuedAt } = objectIntent(object, now, identity.keys);
  const unrecorded = hasOpenIntent && issuedAt !== undefined ? [issuedAt] : [];
  const hasRented = intent.type !== 'none' || (object.status?.attempt ?? 0) > 0;
  if (!statusWriter || memory.isInAccountRecord || !(hasRented || destroyed.length > 0)) return;
  await statusWriter.recordDeleted({
    uid,
    rentals: recentRentals([...rentalTimes(object.status), ...unrecorded], now),
    spentThisMonth: spentThisMonth(object, believedNow(timeAt(session), now), endedAt),
    newestRentalAt: intent.type === 'intent' ? intent.intent.issuedAt : undefined,
    destroyed,
  });
  memory.isInAccountRecord = true;
}
