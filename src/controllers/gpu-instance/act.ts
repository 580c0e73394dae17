import { type ServiceTime, timeOfAnswer } from '../../accounts/service-clock.ts';
import type { AccountSession } from '../../accounts/session.ts';
import { type GpuInstance, MAX_SEALED_KEY } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource, MACHINE_FINALIZER } from '../../api/v1alpha1/names.ts';
import { spentThisMonth } from '../../instance/cost.ts';
import { recentRentals, rentalTimes } from '../../instance/rentals.ts';
import { parseDollars } from '../../lib/money.ts';
import { parseDuration } from '../../lib/time.ts';
import { MarketplaceError } from '../../marketplace/errors/errors.ts';
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
  /** Whether this process may still act, and would decide the same on what is known at this moment. */
  readonly isStillDecided: () => boolean;
  /** The same on the object as the API server has it at this moment. Rejects with a KubeError. */
  readonly isStillDecidedNow: () => Promise<boolean>;
};

/** An action, what it was decided on, and the proof that it stands on the object. */
export interface RecordedAction {
  readonly observed: Observed;
  readonly action: Action;
  readonly receipt: Receipt<GpuInstance>;
}

/** How an action ended. */
export type Acted =
  | { readonly type: 'done' }
  /** Not sent: while it waited for its place, what it was decided on changed. */
  | { readonly type: 'withdrawn' }
  | { readonly type: 'rented'; readonly rented: RentedFacts }
  | { readonly type: 'failed'; readonly after: AfterFailure; readonly failure: Failure };

const DONE: Acted = { type: 'done' };
const WITHDRAWN: Acted = { type: 'withdrawn' };
/** What is written down in the cluster, where nothing can be asked of the marketplace. */
const NEEDS_NO_KEY: ReadonlySet<Action['type']> = new Set<Action['type']>(['retain', 'release']);

/** What makes a machine cost more than before. A rental, which has a ticket, asks by itself. */
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
 * What was decided is decided again at the moment in which its call leaves: it may wait for its place for minutes, and by
 * then the machine may work again, or a person may want it kept.
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

/** A permission may be taken back at any time: what raises spending is asked for while the account allows it. */
function lastCheck(
  { observed: { object }, action }: RecordedAction,
  { session, isStillDecided, isStillDecidedNow }: ActDeps,
): LastCheck {
  const namespace = object.metadata.namespace ?? '';
  const isPermitted = () => !SPENDS.has(action.type) || session?.permits(namespace) === true;
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
      await session?.client.instances.label(action.instanceId, action.label, { mayLeave });
      deps.memory.relabelledAt = deps.steady.now();
      return DONE;
    case 'retain':
      await retain(action, receipt, deps);
      return DONE;
    case 'release':
      await release({ observed, action, receipt }, action, deps);
      return DONE;
  }
}

/** The ticket and this check together: a process that slept between record and call must not call. */
const OLDEST_INTENT_MS = 5_000;

async function rent(
  { uid, identity }: Observed,
  { purchase, receipt }: { readonly purchase: Purchase; readonly receipt: Receipt<GpuInstance> },
  deps: ActDeps,
): Promise<Acted> {
  const { session, clock } = deps;
  if (!(receipt instanceof PurchaseReceipt) || !session)
    throw new TypeError('a rent needs the receipt of its intent');
  const { intent, ticket } = receipt;
  const deadlineMs = callMs(purchase, receipt, deps);
  try {
    const options = { deadlineMs, slot: ticket.slot };
    const answer = await session.client.instances.rent(intent.offer, purchase.request, options);
    ticket.settle({ rented: true });
    const { instanceId, instanceApiKey } = answer;
    const answeredAt = timeOfAnswer(answer.answeredAt, session.serviceClock.now(), clock.now());
    const machine = { uid, attempt: intent.attempt, instanceId };
    const sealed = instanceApiKey && sealKey(identity.keys, machine, instanceApiKey);
    // What does not fit would keep the whole result from being saved.
    const sealedKey = sealed && sealed.length <= MAX_SEALED_KEY ? sealed : undefined;
    return {
      type: 'rented',
      rented: { ...rentedFacts(purchase, instanceId, answeredAt), ...(sealedKey && { sealedKey }) },
    };
  } catch (error) {
    ticket.settle({ rented: wasRefused(error) ? false : 'unknown' });
    throw error;
  }
}

/** How long the call may still take. Throws where it may not be sent any more, and gives the ticket back. */
function callMs({ decidedAt }: Purchase, { intent, ticket, object }: PurchaseReceipt, deps: ActDeps): number {
  const { clock, session } = deps;
  const age = clock.now() - decidedAt;
  const left = intent.deadline - intent.issuedAt - age;
  const isPermitted = session?.permits(object.metadata.namespace ?? '') === true;
  if (!isPermitted) throw notRented(ticket, 'its namespace may not rent by this account any more');
  if (ticket.use() && age >= 0 && age <= OLDEST_INTENT_MS && left > 0) return left;
  throw notRented(ticket, 'too much time passed after it was recorded');
}

/** Gives the ticket back. */
function notRented(ticket: PurchaseReceipt['ticket'], why: string): MarketplaceError {
  ticket.settle({ rented: false });
  const options = { kind: 'aborted', outcome: 'refused' } as const;
  return new MarketplaceError(`The rental was not sent: ${why}.`, options);
}

/** What is saved of a purchase that worked, without the key of the machine. */
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
  { object }: Observed,
  { instanceId, reason }: Extract<Action, { type: 'destroy' }>,
  deps: QueuedDeps,
): Promise<Acted> {
  const { session, clock, steady, memory, metrics, mayDestroy } = deps;
  const answer = await session?.client.instances.destroy(instanceId, { mayLeave: mayDestroy });
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
  const answer = await session?.client.instances.stop(instanceId, { mayLeave });
  memory.stopAskedAt = steady.now();
  memory.stopAnsweredAt = timeOfAnswer(answer?.answeredAt, timeAt(session), clock.now());
  session?.feed.pollNow();
  return DONE;
}

async function start(
  { uid, object }: Observed,
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
  try {
    await session.client.instances.start(instanceId, { mayLeave });
  } catch (error) {
    permission.settle({ started: wasRefused(error) ? false : 'unknown' });
    throw error;
  }
  permission.settle({ started: true });
  memory.startAnsweredAt = steady.now();
  memory.stopAskedAt = undefined;
  memory.stopAnsweredAt = undefined;
  session.feed.pollNow();
  return DONE;
}

/** Whether the call was certainly not carried out. */
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
      await session.client.instances.label(action.instanceId, action.label, { mayLeave });
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
      pricePerHour: parseDollars(object.status?.cost?.pricePerHour),
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
  { note, keepsChildren }: Extract<Action, { type: 'release' }>,
  deps: ActDeps,
): Promise<void> {
  const { object } = receipt;
  await fold(observed, deps);
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

/** Tells the account once what this object leaves. */
async function fold(observed: Observed, { statusWriter, memory }: ActDeps): Promise<void> {
  const { object, uid, now, intent } = observed;
  const hasRented = intent.type !== 'none' || (object.status?.attempt ?? 0) > 0;
  if (!statusWriter || memory.folded || !hasRented) return;
  await statusWriter.recordDeleted({
    uid,
    rentals: recentRentals(rentalTimes(object.status), now),
    spentThisMonth: spentThisMonth(object, now, observed.memory.destroys.at(-1)?.endedAt),
    newestRentalAt: intent.type === 'intent' ? intent.intent.issuedAt : undefined,
  });
  memory.folded = true;
}
