import type { EndpointGroup, EndpointGroupStatus } from '../../api/v1alpha1/endpoint-group.ts';
import { endpointGroupResource, GROUP_FINALIZER } from '../../api/v1alpha1/names.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { addFinalizer, recordStatus } from '../../runtime/writes.ts';

declare const receipt: unique symbol;

/** Shows that a decision stands in the group's status; only {@link record} makes one. */
export interface Receipt {
  readonly [receipt]: true;
  /** As last written. */
  readonly group: EndpointGroup;
}

/**
 * Writes the finalizer, where it is missing, and then the status, each under the resource version and only where it
 * differs. Undefined when someone else wrote first or the group is gone: the pass ends, and nothing was done.
 */
export async function record(
  group: EndpointGroup,
  decision: { readonly needsFinalizer: boolean; readonly status: EndpointGroupStatus },
  options: { readonly client: KubeClient; readonly onWritten: (group: EndpointGroup) => void },
): Promise<Receipt | undefined> {
  const { client, onWritten } = options;
  const resource = endpointGroupResource;
  let object = group;
  if (decision.needsFinalizer) {
    const write = await addFinalizer({ client, resource, object, finalizer: GROUP_FINALIZER });
    if (write.type !== 'written' && write.type !== 'unchanged') return undefined;
    object = write.object;
    if (write.type === 'written') onWritten(object);
  }
  const write = await recordStatus({ client, resource, object, status: decision.status });
  if (write.type === 'written') onWritten(write.object);
  if (write.type === 'conflict' || write.type === 'gone') return undefined;
  // The one place where a receipt is made.
  return { group: write.object } as Receipt;
}
