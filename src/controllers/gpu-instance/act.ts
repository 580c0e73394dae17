import { type ServiceTime, timeOfAnswer } from '../../accounts/service-clock.ts';
import type { AccountSession } from '../../accounts/session.ts';
import { type GpuInstance, MAX_SEALED_KEY } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource, MACHINE_FINALIZER } from '../../api/v1alpha1/names.ts';
import { keptPerHour, spentThisMonth } from '../../instance/cost.ts';
import { recentRentals, rentalTimes } from '../../instance/rentals.ts';
import { parseDollars } from '../../lib/money.ts';
import { parseDuration } from '../../lib/time.ts';
import { MarketplaceError } from '../../market/errors.ts';
import type { Market } from '../../market/market.ts';
import { sealKey } from '../../ownership/sealed-key.ts';
import { objectKey, uidOf } from '../../runtime/kube/kube-object.ts';
import { type Receipt, removeFinalizer } from '../../runtime/writes.ts';
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
  | 'memory'
  | 'metrics'
  | 'showEvent'
  | 'wrote'
> & {
  /** True if this process may still act, and would decide the same on what is known at this moment. */
  readonly isStillDecided: () => boolean;
  /** The same on the object as the API server has it at this moment. Rejects with a KubeError. */
  readonly isStillDecidedNow: () => Promise<boolean>;
  /** True if a machine existed before the call that is about to leave, or is another object's. */
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
/** Records in the cluster, for which no call to the marketplace is needed. */
const NEEDS_NO_KEY: ReadonlySet<Action['type']> = new Set<Action['type']>(['retain', 'release']);

/** Actions that raise the cost of a machine. A rental has a ticket and is admitted separately. */
const SPENDS: ReadonlySet<Action['type']> = new Set<Action['type']>(['start']);

/**
 * Carries one action out. It needs the receipt of what was recorded, and decides nothing. A failed call of the
 * marketplace is a result; it rejects with any other error, such as a KubeError.
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
 * Last check before a call is sent. The call may have waited minutes for its slot: meanwhile the machine may work
 * again, or a person may decide to keep it.
 */
interface LastCheck {
  readonly mayLeave: () => boolean;
  /**
   * For what cannot be undone. A watch may lag for a minute behind a person who wants the machine kept; one read more does not
   * count beside the call. Rejects with a KubeError: unread, nothing is destroyed.
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
      return destroy(observed, action, deps);
    case 'stop':
      return stop(action.instanceId, deps);
    case 'start':
      return start(observed, action, deps);
    case 'relabel':
      if (session) await offered(session.market, 'relabel')(action.instanceId, action.label, { mayLeave });
      deps.memory.fields.relabelledAt = deps.steady.now();
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
  const { session, clock } = deps;
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
    const answeredAt = timeOfAnswer(answer.answeredAt, session.serviceClock.now(), clock.now());
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

/** Returns the remaining time of the call. Throws if the call may no longer be sent, and gives the ticket back. */
function callMs({ decidedAt }: Purchase, { intent, ticket, object }: PurchaseReceipt, deps: ActDeps): number {
  const { clock, session } = deps;
  const age = clock.now() - decidedAt;
  const left = intent.deadline - intent.issuedAt - age;
  if (!maySpend(session, object.metadata.namespace ?? ''))
    throw notRented(ticket, 'the account is suspended, or its namespace may not use it any more');
  if (ticket.use() && age >= 0 && age <= OLDEST_INTENT_MS && left > 0) return left;
  throw notRented(ticket, 'too much time passed after it was recorded');
}

/** Gives the ticket back. */
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
    image: purchase.request.image,
  };
}

async function destroy(
  { object }: Pick<Observed, 'object'>,
  { instanceId, reason }: Extract<Action, { type: 'destroy' }>,
  deps: QueuedDeps,
): Promise<Acted> {
  const { session, clock, steady, memory, metrics, mayDestroy } = deps;
  const answer = await session?.market.destroy(instanceId, { mayLeave: mayDestroy });
  memory.destroyed({
    instanceId,
    reason,
    answeredAt: steady.now(),
    endedAt: timeOfAnswer(answer?.answeredAt, timeAt(session), clock.now()),
  });
  metrics.destroyed(session ? objectKey(session.ref) : '', reason);
  deps.log.info('Machine destroyed', { instanceId, reason });
  session?.feed.pollNow();
  if (object.metadata.deletionTimestamp !== undefined) await noteOwnedChildren(object, deps);
  return DONE;
}

const timeAt = (session: AccountSession | undefined): ServiceTime =>
  session?.serviceClock.now() ?? { type: 'unknown' };

async function stop(instanceId: string, deps: QueuedDeps): Promise<Acted> {
  const { session, clock, steady, memory, mayLeave } = deps;
  const answer = session && (await offered(session.market, 'stop')(instanceId, { mayLeave }));
  memory.fields.stopAskedAt = steady.now();
  memory.fields.stopAnsweredAt = timeOfAnswer(answer?.answeredAt, timeAt(session), clock.now());
  session?.feed.pollNow();
  return DONE;
}

async function start(
  { purchase: { uid }, object }: Pick<Observed, 'object' | 'purchase'>,
  { instanceId, pricePerHour }: Extract<Action, { type: 'start' }>,
  deps: QueuedDeps,
): Promise<Acted> {
  const { session, steady, memory, mayLeave } = deps;
  if (!session) return DONE;
  if (!mayLeave()) return WITHDRAWN;
  const timeoutMs = parseDuration(object.spec.timeouts.start) ?? 0;
  const permission = session.admission.requestStart({ objectUid: uid, pricePerHour, timeoutMs });
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
  try {
    await offered(session.market, 'start')(instanceId, { mayLeave });
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
  return DONE;
}

/** Returns true if the call was certainly not carried out. */
function wasRefused(error: unknown): boolean {
  return error instanceof MarketplaceError && error.outcome === 'refused';
}

/**
 * Says on the machine that it is kept, and in the account's status: its label may not be changed, or a list may show the
 * old one for a while.
 */
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
      // The object waits for it, and nothing else would tell why.
      const note = `Machine ${action.instanceId} is not given up yet: ${error.message}.`;
      showEvent({ type: 'Warning', reason: 'NotRetained', action: 'Deleting', note });
    }
    throw error;
  }
}

/** Lets the object go: what the brake must not forget first, then the guard, in one write. */
async function release(
  { observed, receipt }: RecordedAction,
  { note, destroyed, keepsChildren }: Extract<Action, { type: 'release' }>,
  deps: ActDeps,
): Promise<void> {
  const { object } = receipt;
  await fold(observed, destroyed, deps);
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

/** Writes the rest of this object into the record of its account, once. */
async function fold(
  observed: Pick<Observed, 'object' | 'purchase' | 'clock' | 'memory'>,
  destroyed: readonly string[],
  { statusWriter, memory }: ActDeps,
): Promise<void> {
  const {
    object,
    purchase: { uid, intent },
    clock: { now },
  } = observed;
  const hasRented = intent.type !== 'none' || (object.status?.attempt ?? 0) > 0;
  if (!statusWriter || memory.folded || !(hasRented || destroyed.length > 0)) return;
  await statusWriter.recordDeleted({
    uid,
    rentals: recentRentals(rentalTimes(object.status), now),
    spentThisMonth: spentThisMonth(object, now, observed.memory.destroys.at(-1)?.endedAt),
    newestRentalAt: intent.type === 'intent' ? intent.intent.issuedAt : undefined,
    destroyed,
  });
  memory.folded = true;
}
