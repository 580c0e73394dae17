import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import { endpointGroupResource } from '../../../api/v1alpha1/names.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import type { KubeObject, ObjectRef } from '../../../runtime/kube/kube-object.ts';
import { servicePorts } from './endpoints.ts';
import { samePorts } from './service.ts';

/**
 * Whether every other group that owns the Service declares the ports of this one, as the API server knows it now. A
 * group that is gone or is being deleted has no say, and neither has an owner that is no group. Rejects with a
 * KubeError.
 */
export async function doOthersAgree(
  cluster: Pick<KubeClient, 'list'>,
  group: EndpointGroup,
  { metadata }: KubeObject,
): Promise<boolean> {
  const { namespace, ownerReferences = [] } = metadata;
  for (const { name, uid } of ownerReferences) {
    if (uid === group.metadata.uid) continue;
    const other = await readGroup(cluster, { namespace, name });
    if (other?.metadata.uid === uid && !agrees(other, group)) return false;
  }
  return true;
}

function agrees(other: EndpointGroup, group: EndpointGroup): boolean {
  return (
    other.metadata.deletionTimestamp !== undefined || samePorts(servicePorts(other), servicePorts(group))
  );
}

/** By a list of one: the operator has the right to list groups, and none to get them. */
async function readGroup(
  cluster: Pick<KubeClient, 'list'>,
  { namespace, name }: ObjectRef,
): Promise<EndpointGroup | undefined> {
  const fieldSelector = `metadata.name=${name}`;
  const { items } = await cluster.list<EndpointGroup>(endpointGroupResource, { namespace, fieldSelector });
  return items[0];
}
