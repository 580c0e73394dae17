import type { Ticket, TicketDecision } from '../../accounts/admission.ts';
import type { AccountSession } from '../../accounts/session.ts';
import type { GpuInstance, GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations, gpuInstanceResource, MACHINE_FINALIZER } from '../../api/v1alpha1/names.ts';
import { SHORTEST_RENT_CALL_MS } from '../../ownership/constants.ts';
import { type RentalIntent, writeIntent } from '../../ownership/intent.ts';
import { loginText } from '../../ownership/login.ts';
import { Receipt, type RecordOptions, record as recordOn } from '../../runtime/writes.ts';
import { statusOf } from './conditions.ts';
import type { Deps } from './deps.ts';
import type { Decision, Observed, Purchase } from './types.ts';

export type RecordDeps = Pick<Deps, 'cluster' | 'session' | 'memory' | 'wrote' | 'leaseRemainingMs' | 'wake'>;

/** Result of recording. Only `recorded` permits an act. */
export type Recorded =
  | { readonly type: 'recorded'; readonly receipt: Receipt<GpuInstance> }
  | { readonly type: 'purchase'; readonly receipt: PurchaseReceipt }
  /** Another client wrote first, or the object is gone. Nothing was spent. */
  | { readonly type: 'lost' }
  | { readonly type: 'refused'; readonly refusal: Extract<TicketDecision, { type: 'refused' }> }
  /** The lease ends too soon for a call to be answered within it. */
  | { readonly type: 'leaseTooShort' };

/** Writes the record that must exist before any action, under the object's resource version. */
export async function record(
  observed: Pick<Observed, 'object' | 'purchase' | 'clock'>,
  decision: Decision,
  deps: RecordDeps,
): Promise<Recorded> {
  const {
    object,
    clock: { now },
  } = observed;
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
  what: Pick<RecordOptions<GpuInstanceStatus, GpuInstance>, 'object' | 'finalizer' | 'status'>,
  deps: RecordDeps,
): Promise<Recorded> {
  const receipt = await write(what, deps);
  return receipt ? { type: 'recorded', receipt } : { type: 'lost' };
}

function write(
  what: Omit<RecordOptions<GpuInstanceStatus, GpuInstance>, 'client' | 'resource' | 'onWritten'>,
  { cluster: client, wrote: onWritten }: RecordDeps,
): Promise<Receipt<GpuInstance> | undefined> {
  return recordOn({ ...what, client, resource: gpuInstanceResource, onWritten });
}

/**
 * Returns the whole milliseconds for a rent call that begins now: it must end before another process may become
 * leader.
 */
export function rentCallMs(
  { clock: { constants } }: Pick<Observed, 'clock'>,
  leaseRemainingMs: number,
): number | undefined {
  const longest = Math.floor(Math.min(constants.rentCallMs, leaseRemainingMs - constants.leaseMarginMs));
  return longest < SHORTEST_RENT_CALL_MS ? undefined : longest;
}

async function recordIntent(
  observed: Pick<Observed, 'object' | 'purchase' | 'clock'>,
  purchase: Purchase,
  deps: RecordDeps,
): Promise<Recorded> {
  const { session } = deps;
  if (!session) return { type: 'lost' };
  const callMs = rentCallMs(observed, deps.leaseRemainingMs());
  if (callMs === undefined) return { type: 'leaseTooShort' };
  const { offer, pricePerHour } = purchase;
  const { namespace = '', generation = 0 } = observed.object.metadata;
  const ticket = session.admission.request({
    ...{ objectUid: observed.purchase.uid, namespace, generation, wake: deps.wake },
    ...{ offerId: offer.id, pricePerHour },
  });
  if (ticket.type === 'refused') return { type: 'refused', refusal: ticket };
  const intent = intentOf(observed, purchase, { callMs, session });
  try {
    // The fence: finalizer and intent in one write, which succeeds only on the version on which the decision was
    // made.
    const receipt = await write(
      {
        object: observed.object,
        finalizer: MACHINE_FINALIZER,
        annotations: { [annotations.rentalIntent]: writeIntent(session.identity.keys, intent) },
      },
      deps,
    );
    if (!receipt) {
      ticket.settle({ rented: false });
      return { type: 'lost' };
    }
    deps.memory.fields.intent = intent;
    return { type: 'purchase', receipt: purchaseReceipt(receipt, intent, ticket) };
  } catch (error) {
    // Whatever became of the write, the call it announces is never sent.
    ticket.settle({ rented: false });
    deps.memory.fields.intent = intent;
    deps.memory.fields.refused = intent;
    throw error;
  }
}

function intentOf(
  { object, purchase: { uid } }: Pick<Observed, 'object' | 'purchase'>,
  { attempt, offer, issuedAt, specHash, knownIds, fuse }: Purchase,
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
    ...(fuse?.type === 'fuse' && { fuses: fuse.fuses }),
  };
}

/**
 * The receipt of an intent, without which no rent call is permitted. Only {@link purchaseReceipt} creates one.
 */
export class PurchaseReceipt extends Receipt<GpuInstance> {
  readonly intent: RentalIntent;
  readonly ticket: Ticket;

  constructor(
    recorded: Receipt<GpuInstance>,
    { intent, ticket }: { readonly intent: RentalIntent; readonly ticket: Ticket },
    key: typeof INTENT_RECORDED,
  ) {
    if (key !== INTENT_RECORDED) throw new TypeError('a receipt comes from record() alone');
    super(recorded.object, recorded);
    this.intent = intent;
    this.ticket = ticket;
  }
}

const INTENT_RECORDED: unique symbol = Symbol('intent recorded');

export function purchaseReceipt(
  recorded: Receipt<GpuInstance>,
  intent: RentalIntent,
  ticket: Ticket,
): PurchaseReceipt {
  return new PurchaseReceipt(recorded, { intent, ticket }, INTENT_RECORDED);
}
