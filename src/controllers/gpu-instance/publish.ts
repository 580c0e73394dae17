import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { connectionSecretName } from '../../api/v1alpha1/names.ts';
import type { KeyRing } from '../../ownership/key-ring.ts';
import { openKey } from '../../ownership/sealed-key.ts';
import { workerToken } from '../../ownership/worker-token.ts';
import { endpointSliceResource, secretResource, serviceResource } from '../../runtime/kube/core-resources.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import { type KubeObject, type Resource, refOf, uidOf } from '../../runtime/kube/kube-object.ts';
import { type ChildProblem, removeLeftOver, tryChild, writeChild } from './child-writes.ts';
import {
  type ConnectionSecret,
  connectionSecret,
  endpointSlices,
  instanceService,
  reachedEverywhere,
  unpublished,
} from './children.ts';
import type { ObjectMemory } from './memory.ts';
import type { Publication, Published, RentedFacts } from './types.ts';

interface SecretPorts {
  readonly cluster: KubeClient;
  readonly keys: KeyRing;
}

interface PublishPorts extends SecretPorts {
  readonly memory: ObjectMemory;
  readonly allowPrivateAddresses: boolean;
}

/**
 * Writes the children of an instance: one create each, or a patch of a difference, after it deletes children that are
 * no longer desired. An object of the same name with another owner stays unchanged. A repeated call has no effect.
 */
export async function publish(
  owner: GpuInstance,
  publication: Publication,
  ports: PublishPorts,
): Promise<Published> {
  const stopped = await writeChildren(owner, publication, ports);
  if (stopped) return stopped;
  const problem = unpublished(owner, publication, { allowPrivate: ports.allowPrivateAddresses });
  const bindingName = connectionSecretName(owner.metadata.name);
  return { type: 'done', bindingName, ...(problem !== undefined && { unpublished: problem }) };
}

async function writeChildren(
  owner: GpuInstance,
  publication: Publication,
  ports: PublishPorts,
): Promise<Published | undefined> {
  const { cluster } = ports;
  const mayExist = owner.status?.binding !== undefined;
  const desired = childrenOf(owner, publication, ports);
  const stuck = await removeLeftOver(owner, { desired, serving: publication.serving }, ports);
  if (stuck) return stuck;
  for (const [resource, child] of desired) {
    const problem = await writeChild(resource, child, { cluster, owner, mayExist });
    if (!problem) continue;
    // The status publishes no address then, and old slices would follow no machine any more.
    await removeLeftOver(owner, { desired: [], serving: false }, ports);
    return problem;
  }
  return undefined;
}

/**
 * Checks by a dry run whether all children of an object could be written, with any machine. Undefined if they could;
 * else the first problem. Stores nothing. Rejects with a KubeError if the API server does not answer.
 */
export async function tryChildren(owner: GpuInstance, ports: SecretPorts): Promise<ChildProblem | undefined> {
  const publication = { fields: reachedEverywhere(owner), serving: true, ready: false };
  const children = childrenOf(owner, publication, { ...ports, allowPrivateAddresses: true });
  const mayExist = owner.status?.binding !== undefined;
  const { cluster } = ports;
  const problems = await Promise.all(
    children.map(([resource, child]) => tryChild(resource, child, { cluster, owner, mayExist })),
  );
  return problems.find((problem) => problem !== undefined);
}

/**
 * Replaces the previous machine in the connection Secret by the new one, in one request, while the result of the rental
 * is being saved. No effect without a Secret, or if it has another owner.
 */
export async function replaceConnection(
  owner: GpuInstance,
  { instanceId, attempt, sealedKey }: Pick<RentedFacts, 'instanceId' | 'attempt' | 'sealedKey'>,
  { cluster, keys }: SecretPorts,
): Promise<void> {
  if (owner.status?.binding === undefined) return;
  const fields = { instanceId, attempt, ...(sealedKey && { sealedKey }) };
  const secret = secretOf(owner, { fields, serving: false, ready: false }, keys);
  const refill = [
    { op: 'test', path: '/metadata/ownerReferences/0/uid', value: owner.metadata.uid },
    { op: 'add', path: '/data', value: secret.data },
  ];
  try {
    await cluster.patch(secretResource, refOf(secret), { type: 'json', body: refill });
  } catch (error) {
    if (!isKubeError(error, 'notFound', 'invalid')) throw error;
  }
}

function secretOf(owner: GpuInstance, publication: Publication, keys: KeyRing): ConnectionSecret {
  const { attempt = 0, instanceId = '', sealedKey } = publication.fields;
  const machine = { uid: uidOf(owner), attempt, instanceId };
  return connectionSecret(owner, publication, {
    workerToken: workerToken(keys, machine),
    instanceApiKey: sealedKey === undefined ? undefined : openKey(keys, machine, sealedKey),
  });
}

/**
 * Returns the children in order: a client that reads the Service finds the Secret. Only slices change while nothing is
 * served.
 */
function childrenOf(
  owner: GpuInstance,
  publication: Publication,
  ports: SecretPorts & Pick<PublishPorts, 'allowPrivateAddresses'>,
): readonly (readonly [Resource, KubeObject])[] {
  const policy = { allowPrivate: ports.allowPrivateAddresses };
  const slices = endpointSlices(owner, publication, policy).map(
    (slice) => [endpointSliceResource, slice] as const,
  );
  if (!publication.serving) return slices;
  const secret = secretOf(owner, publication, ports.keys);
  const service = instanceService(owner);
  return [[secretResource, secret], ...(service ? [[serviceResource, service] as const] : []), ...slices];
}
