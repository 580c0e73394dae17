import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { ACCOUNT_FINALIZER, marketplaceAccountResource } from '../../api/v1alpha1/names.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { addFinalizer, recordStatus } from '../../runtime/writes.ts';
import type { Decision } from './types.ts';

declare const receipt: unique symbol;

/** Shows that a decision is written down; only {@link record} makes one. */
export interface Receipt {
  readonly [receipt]: true;
  /** As last written. */
  readonly account: MarketplaceAccount;
}

/**
 * Writes the finalizer, where it is missing, and then the status, each under the resource version and only
 * where it differs. Undefined when someone else wrote first or the object is gone: the pass ends.
 */
export async function record(
  account: MarketplaceAccount,
  decision: Decision,
  options: { readonly client: KubeClient; readonly onWritten: (account: MarketplaceAccount) => void },
): Promise<Receipt | undefined> {
  const { client, onWritten } = options;
  const resource = marketplaceAccountResource;
  let object = account;
  if (decision.needsFinalizer) {
    const write = await addFinalizer({ client, resource, object, finalizer: ACCOUNT_FINALIZER });
    if (write.type !== 'written' && write.type !== 'unchanged') return undefined;
    object = write.object;
    onWritten(object);
  }
  const write = await recordStatus({ client, resource, object, status: decision.status });
  if (write.type === 'written') onWritten(write.object);
  if (write.type === 'conflict' || write.type === 'gone') return undefined;
  // The one place where a receipt is made.
  return { account: write.object } as Receipt;
}
