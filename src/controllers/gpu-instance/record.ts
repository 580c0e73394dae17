import type { Ticket, TicketDecision } from '../../accounts/admission.ts';
import type { AccountSession } from '../../accounts/session.ts';
import type { GpuInstance, GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations, gpuInstanceResource, MACHINE_FINALIZER } from '../../api/v1alpha1/names.ts';
import { SHORTEST_RENT_CALL_MS } from '../../ownership/constants.ts';
import { type RentalIntent, writeIntent } from '../../ownership/intent.ts';
import { loginText } from '../../ownership/login.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import { refOf } from '../../runtime/kube/kube-object.ts';
import { wholeMetadata } from '../../runtime/kube/whole-object.ts';
import { Receipt, receiptOf, record as recordOn } from '../../runtime/writes.ts';
import type { Deps } from './deps.ts';
import { statusOf } from './status.ts';
import type { Decision, Observed, Purchase } from './types.ts';

export type RecordDeps = Pick<Deps, 'cluster' | 'session' | 'memory' | 'wrote' | 'leaseRemainingMs' | 'wake'>;

/** How recording ended. Only `recorded` permits an act. */
export type Recorded =
  | { readonly type: 'recorded'; readonly receipt: Receipt<GpuInstance> }
  | { readonly type: 'purchase'; readonly receipt: PurchaseReceipt }
  /** Someone else wrote first, or the object is gone. Nothing was spent. */
  | { readonly type: 'lost' }
  | { readonly type: 'refused'; readonly refusal: Extract<TicketDecision, { type: 'refused' }> }
  /** The lease ends too soon for a call to be answered within it. */
  | { readonly type: 'leaseTooShort' };

/** Writes what has to stand on the object before anything is done, under its resource version. */
export async function record(observed: Observed, decision: Decision, deps: RecordDeps): Promise<Recorded> {
  const { object, now } = observed;
  switch (decision.record.type) {
    case 'intent':
      return recordIntent(observed, decision.record.purchase, deps);
    case 'finalizer':
      return recordObject({ object, finalizer: MACHINE_FINALIZER }, deps);
    case 'status':
    case 'nothing':
      return recordObject(
        { object, status: decision.status && statusOf(object, decision.status, now) },
        deps,
      );
  }
}

async function recordObject(
  what: {
    readonly object: GpuInstance;
    readonly finalizer?: string;
    readonly status?: GpuInstanceStatus | undefined;
  },
  { cluster, wrote }: RecordDeps,
): Promise<Recorded> {
  const receipt = await recordOn({
    ...what,
    client: cluster,
    resource: gpuInstanceResource,
    onWritten: wrote,
  });
  return receipt ? { type: 'recorded', receipt } : { type: 'lost' };
}

/** Whole milliseconds that a rent call may take if it begins now: none may still be under way when another process may lead. */
export function rentCallMs({ constants }: Observed, leaseRemainingMs: number): number | undefined {
  const longest = Math.floor(Math.min(constants.rentCallMs, leaseRemainingMs - constants.leaseMarginMs));
  return longest < SHORTEST_RENT_CALL_MS ? undefined : longest;
}

async function recordIntent(observed: Observed, purchase: Purchase, deps: RecordDeps): Promise<Recorded> {
  const { session } = deps;
  if (!session) return { type: 'lost' };
  const callMs = rentCallMs(observed, deps.leaseRemainingMs());
  if (callMs === undefined) return { type: 'leaseTooShort' };
  const { offer, pricePerHour } = purchase;
  const { namespace = '', generation = 0 } = observed.object.metadata;
  const ticket = session.admission.request({
    ...{ objectUid: observed.uid, namespace, generation, wake: deps.wake },
    ...{ offerId: offer.id, pricePerHour },
  });
  if (ticket.type === 'refused') return { type: 'refused', refusal: ticket };
  const intent = intentOf(observed, purchase, { callMs, session });
  try {
    const object = await writeIntentOn(
      observed.object,
      writeIntent(session.identity.keys, intent),
      deps.cluster,
    );
    deps.wrote(object);
    deps.memory.intent = intent;
    return { type: 'purchase', receipt: purchaseReceipt(object, intent, ticket) };
  } catch (error) {
    // Whatever became of the write, the call it announces is never sent.
    ticket.settle({ rented: false });
    if (isKubeError(error, 'conflict', 'notFound')) return { type: 'lost' };
    deps.memory.intent = intent;
    deps.memory.refused = intent;
    throw error;
  }
}

function intentOf(
  { object, uid }: Observed,
  { attempt, offer, issuedAt, specHash, knownIds }: Purchase,
  { callMs, session }: { readonly callMs: number; readonly session: AccountSession },
): RentalIntent {
  return {
    uid,
    attempt,
    offer: offer.id,
    generation: object.metadata.generation ?? 0,
    spec: specHash,
    login: loginText(session.login),
    issuedAt,
    deadline: issuedAt + callMs,
    ...(knownIds === undefined ? {} : { knownIds }),
  };
}

/**
 * The fence: guard and intent in one write that only succeeds on the version that was judged. It carries the
 * uid as well, so that an object deleted and made anew under the same name is never bought for by mistake.
 */
async function writeIntentOn(object: GpuInstance, intent: string, cluster: KubeClient): Promise<GpuInstance> {
  const { uid, resourceVersion, finalizers = [] } = await wholeMetadata(cluster, gpuInstanceResource, object);
  const guarded = finalizers.includes(MACHINE_FINALIZER) ? finalizers : [...finalizers, MACHINE_FINALIZER];
  const metadata = {
    uid,
    resourceVersion,
    finalizers: guarded,
    annotations: { [annotations.rentalIntent]: intent },
  };
  return cluster.patch<GpuInstance>(gpuInstanceResource, refOf(object), {
    type: 'merge',
    body: { metadata },
  });
}

/** The receipt of an intent: what alone permits a rent call. Only {@link purchaseReceipt} makes one. */
export class PurchaseReceipt extends Receipt<GpuInstance> {
  readonly intent: RentalIntent;
  readonly ticket: Ticket;

  constructor(
    object: GpuInstance,
    { intent, ticket }: { readonly intent: RentalIntent; readonly ticket: Ticket },
    key: typeof INTENT_RECORDED,
  ) {
    if (key !== INTENT_RECORDED) throw new TypeError('a receipt comes from record() alone');
    super(object, receiptOf(object));
    this.intent = intent;
    this.ticket = ticket;
  }
}

const INTENT_RECORDED: unique symbol = Symbol('intent recorded');

export function purchaseReceipt(object: GpuInstance, intent: RentalIntent, ticket: Ticket): PurchaseReceipt {
  return new PurchaseReceipt(object, { intent, ticket }, INTENT_RECORDED);
}
