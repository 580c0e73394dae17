import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { connectionSecretName } from '../../api/v1alpha1/names.ts';
import type { KeyRing } from '../../ownership/key-ring.ts';
import { workerToken } from '../../ownership/worker-token.ts';
import { endpointSliceResource, secretResource, serviceResource } from '../../runtime/kube/core-resources.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import { type KubeObject, type Resource, refOf, uidOf } from '../../runtime/kube/kube-object.ts';
import { removeLeftOver, writeChild } from './child-writes.ts';
import {
  type ConnectionSecret,
  connectionSecret,
  endpointSlices,
  instanceService,
  isConnectionSecret,
  unpublished,
} from './children.ts';
import type { ObjectMemory } from './memory.ts';
import type { Publication, Published } from './types.ts';

interface SecretPorts {
  readonly cluster: KubeClient;
  readonly keys: KeyRing;
  readonly memory: ObjectMemory;
}

interface PublishPorts extends SecretPorts {
  readonly allowPrivateAddresses: boolean;
}

/**
 * Writes the children of an instance: one create each, or a patch where something differs; what of ours is wanted no
 * more goes first. An object of the same name that is not ours is left as it is. Doing it twice does nothing the
 * second time.
 */
export async function publish(
  owner: GpuInstance,
  publication: Publication,
  ports: PublishPorts,
): Promise<Published> {
  const { memory } = ports;
  const stopped = await writeChildren(owner, publication, ports);
  if (stopped) return stopped;
  if (publication.serving) {
    memory.instanceApiKey = undefined;
    memory.keptKeyOf = undefined;
  }
  const problem = unpublished(owner, publication, { allowPrivate: ports.allowPrivateAddresses });
  const bindingName = connectionSecretName(owner.metadata.name);
  return { type: 'done', bindingName, ...(problem !== undefined && { unpublished: problem }) };
}

async function writeChildren(
  owner: GpuInstance,
  publication: Publication,
  ports: PublishPorts,
): Promise<Published | undefined> {
  const { cluster, memory } = ports;
  const mayExist = owner.status?.binding !== undefined;
  const isKept = memory.keptKeyOf !== undefined && memory.keptKeyOf === publication.fields.attempt;
  const desired = childrenOf(owner, publication, ports);
  const stuck = await removeLeftOver(owner, { desired, serving: publication.serving }, ports);
  if (stuck) return stuck;
  for (const [resource, child] of desired) {
    if (isKept && isConnectionSecret(child) && (await completeSecret(child, cluster))) continue;
    const problem = await writeChild(resource, child, { cluster, owner, mayExist });
    if (!problem) continue;
    // The status announces nothing then, and slices from before would follow no machine any more.
    await removeLeftOver(owner, { desired: [], serving: false }, ports);
    return problem;
  }
  return undefined;
}

/**
 * Puts the key that the marketplace gives out once into the connection Secret, while the result of the rental is
 * being saved: a crash before the machine runs must not lose it. The address follows when there is one. What cannot
 * be written now is written with the address, out of memory.
 */
export async function keepInstanceKey(
  owner: GpuInstance,
  machine: { readonly instanceId: string; readonly attempt: number },
  { cluster, keys, memory }: SecretPorts,
): Promise<void> {
  const { instanceApiKey } = memory;
  if (instanceApiKey?.attempt !== machine.attempt) return;
  const publication: Publication = { fields: machine, serving: false, ready: false };
  const secret = secretOf(owner, publication, { keys, memory });
  const mayExist = owner.status?.binding !== undefined;
  const isThere = mayExist && (await refillSecret(secret, owner, cluster));
  const problem = isThere
    ? undefined
    : await writeChild(secretResource, secret, { cluster, owner, mayExist: false });
  if (!problem) memory.keptKeyOf = machine.attempt;
}

/** Everything in our own Secret anew, in one request: what it says of the machine before is over. False where it is not ours. */
async function refillSecret(
  secret: ConnectionSecret,
  { metadata }: GpuInstance,
  cluster: KubeClient,
): Promise<boolean> {
  const refill = [
    { op: 'test', path: '/metadata/ownerReferences/0/uid', value: metadata.uid },
    { op: 'add', path: '/data', value: secret.data },
  ];
  try {
    await cluster.patch(secretResource, refOf(secret), { type: 'json', body: refill });
    return true;
  } catch (error) {
    if (isKubeError(error, 'notFound', 'invalid')) return false;
    throw error;
  }
}

/** Adds the address to the Secret that this process wrote after the rental. False where it is gone meanwhile. */
async function completeSecret(secret: ConnectionSecret, cluster: KubeClient): Promise<boolean> {
  try {
    await cluster.patch(secretResource, refOf(secret), { type: 'merge', body: { data: secret.data } });
    return true;
  } catch (error) {
    if (isKubeError(error, 'notFound')) return false;
    throw error;
  }
}

function secretOf(
  owner: GpuInstance,
  publication: Publication,
  { keys, memory }: Pick<SecretPorts, 'keys' | 'memory'>,
): ConnectionSecret {
  const attempt = publication.fields.attempt ?? 0;
  const { instanceApiKey } = memory;
  return connectionSecret(owner, publication, {
    workerToken: workerToken(keys, { uid: uidOf(owner), attempt }),
    instanceApiKey: instanceApiKey?.attempt === attempt ? instanceApiKey.key : undefined,
  });
}

/** In this order: who reads the Service finds the Secret. Only slices change while nothing is served. */
function childrenOf(
  owner: GpuInstance,
  publication: Publication,
  ports: PublishPorts,
): readonly (readonly [Resource, KubeObject])[] {
  const policy = { allowPrivate: ports.allowPrivateAddresses };
  const slices = endpointSlices(owner, publication, policy).map(
    (slice) => [endpointSliceResource, slice] as const,
  );
  if (!publication.serving) return slices;
  const secret = secretOf(owner, publication, ports);
  const service = instanceService(owner);
  return [[secretResource, secret], ...(service ? [[serviceResource, service] as const] : []), ...slices];
}
