import type { Ticket } from '../../accounts/admission.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { RentalIntent } from '../../ownership/intent.ts';

/**
 * Proof that what is about to be done stands on the object. Only {@link receiptOf} and {@link purchaseReceipt}
 * make one, and only `record` calls them, so that an act without a record does not compile.
 */
export class Receipt {
  /** As the API server answered the write, or as read where the object already says what is done. */
  readonly object: GpuInstance;
  readonly #recorded = true;

  constructor(object: GpuInstance, key: typeof RECORDED) {
    if (key !== RECORDED) throw new TypeError('a receipt comes from record() alone');
    this.object = object;
  }

  /** Always true: keeps another class of the same shape from passing as a receipt. */
  get isRecorded(): boolean {
    return this.#recorded;
  }
}

/** The receipt of an intent: what alone permits a rent call. */
export class PurchaseReceipt extends Receipt {
  readonly intent: RentalIntent;
  readonly ticket: Ticket;

  constructor(object: GpuInstance, purchase: { intent: RentalIntent; ticket: Ticket }, key: typeof RECORDED) {
    super(object, key);
    this.intent = purchase.intent;
    this.ticket = purchase.ticket;
  }
}

const RECORDED: unique symbol = Symbol('recorded');

export function receiptOf(object: GpuInstance): Receipt {
  return new Receipt(object, RECORDED);
}

export function purchaseReceipt(object: GpuInstance, intent: RentalIntent, ticket: Ticket): PurchaseReceipt {
  return new PurchaseReceipt(object, { intent, ticket }, RECORDED);
}
