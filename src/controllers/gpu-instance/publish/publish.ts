import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { connectionKeys, connectionSecretName } from '../../../api/v1alpha1/names.ts';
import type { KeyRing } from '../../../ownership/key-ring.ts';
import { workerToken } from '../../../ownership/worker-token.ts';
import {
  endpointSliceResource,
  secretResource,
  serviceResource,
} from '../../../runtime/kube/core-resources.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../../runtime/kube/kube-error.ts';
import { type KubeObject, type Resource, refOf, uidOf } from '../../../runtime/kube/kube-object.ts';
import { sameJson } from '../../../runtime/writes/same-json.ts';
import type { ObjectMemory } from '../memory/memory.ts';
import type { Publication } from '../types.ts';
import type { Published } from '../views.ts';
import {
  type ConnectionSecret,
  connectionSecret,
  endpointSlices,
  instanceService,
  unpublished,
} from './children.ts';

export interface SecretPorts {
  readonly cluster: KubeClient;
  readonly keys: KeyRing;
  readonly memory: ObjectMemory;
}

export interface PublishPorts extends SecretPorts {
  readonly allowPrivateAddresses: boolean;
}

/**
 * Writes the children of an instance: one create each, or a patch where something differs. An object of the
 * same name that is not ours is left as it is. Doing it twice does nothing the second time.
 */
export async function publish(
  owner: GpuInstance,
  publication: Publication,
  ports: PublishPorts,
): Promise<Published> {
  const { cluster, memory } = ports;
  const mayExist = owner.status?.binding !== undefined;
  const isKept = memory.keptKeyOf !== undefined && memory.keptKeyOf === publication.fields.attempt;
  for (const [resource, child] of childrenOf(owner, publication, ports)) {
    if (isKept && isConnectionSecret(child) && (await completeSecret(child, cluster))) continue;
    const problem = await writeChild(resource, child, { cluster, mayExist });
    if (problem) return problem;
  }
  if (publication.serving) {
    memory.instanceApiKey = undefined;
    memory.keptKeyOf = undefined;
  }
  const problem = unpublished(owner, publication, { allowPrivate: ports.allowPrivateAddresses });
  const bindingName = connectionSecretName(owner.metadata.name);
  return { type: 'done', bindingName, ...(problem !== undefined && { unpublished: problem }) };
}

/**
 * Puts the key that the marketplace gives out once into the connection Secret, while the result of the rental is
 * being saved: a crash before the machine runs must not lose it. The address follows when there is one. What cannot
 * be written now is written with the address, out of memory.
 */
export async function keepInstanceKey(
  owner: GpuInstance,
  machine: { readonly instanceId: number; readonly attempt: number },
  { cluster, keys, memory }: SecretPorts,
): Promise<void> {
  const { instanceApiKey } = memory;
  if (instanceApiKey?.attempt !== machine.attempt) return;
  const publication: Publication = { fields: machine, serving: false };
  const secret = secretOf(owner, publication, { keys, memory });
  const mayExist = owner.status?.binding !== undefined;
  const isThere = mayExist && (await refillSecret(secret, owner, cluster));
  const problem = isThere
    ? undefined
    : await writeChild(secretResource, secret, { cluster, mayExist: false });
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

interface ChildPorts {
  readonly cluster: KubeClient;
  /** Written before, by what the status says: looking comes before creating. */
  readonly mayExist: boolean;
}

async function writeChild(
  resource: Resource,
  child: KubeObject,
  ports: ChildPorts,
): Promise<Published | undefined> {
  try {
    if (ports.mayExist) return (await updateChild(resource, child, ports)) ?? undefined;
    await ports.cluster.create(resource, child);
    return undefined;
  } catch (error) {
    if (isKubeError(error, 'alreadyExists')) return updateChild(resource, child, ports);
    if (isKubeError(error, 'invalid'))
      return nameTaken(child, 'cannot be made under the name of this object');
    if (!isKubeError(error, 'forbidden', 'terminating')) throw error;
    return { type: 'failed', detail: `The operator may not write ${child.kind} ${child.metadata.name}.` };
  }
}

async function updateChild(
  resource: Resource,
  child: KubeObject,
  { cluster }: ChildPorts,
): Promise<Published | undefined> {
  const present = await cluster.get<KubeObject>(resource, refOf(child));
  if (!present) {
    await cluster.create(resource, child);
    return undefined;
  }
  const owner = child.metadata.ownerReferences?.[0]?.uid;
  if (!present.metadata.ownerReferences?.some((reference) => reference.uid === owner)) {
    return nameTaken(child, 'exists and is not of this object');
  }
  const changes = changesTo(present, child);
  if (changes) await cluster.patch(resource, refOf(child), { type: 'merge', body: changes });
  return undefined;
}

function nameTaken(child: KubeObject, problem: string): Published {
  return { type: 'nameTaken', detail: `${child.kind} ${child.metadata.name} ${problem}.` };
}

/** A merge patch of what differs in the parts that we write; undefined where nothing does. */
function changesTo(present: KubeObject, child: KubeObject): Record<string, unknown> | undefined {
  const before: Readonly<Record<string, unknown>> = { ...present };
  const changes: Record<string, unknown> = {};
  for (const [part, wanted] of Object.entries(child)) {
    if (part === 'apiVersion' || part === 'kind' || part === 'metadata' || part === 'type') continue;
    if (part === 'data') {
      const data = dataChanges(before.data, child);
      if (data) changes.data = data;
    } else if (!contains(before[part], wanted)) changes[part] = wanted;
  }
  return Object.keys(changes).length === 0 ? undefined : changes;
}

/** Keys that went away are removed; the machine's own key stays while the machine does, since it is given out once. */
function dataChanges(before: unknown, child: KubeObject): Record<string, string | null> | undefined {
  const wanted = isConnectionSecret(child) ? child.data : {};
  const present: Readonly<Record<string, unknown>> =
    typeof before === 'object' && before !== null ? { ...before } : {};
  const sameMachine = present[connectionKeys.instanceId] === wanted[connectionKeys.instanceId];
  const stays = (key: string) => key in wanted || (key === connectionKeys.instanceApiKey && sameMachine);
  const changed = Object.entries(wanted).filter(([key, value]) => present[key] !== value);
  const gone = Object.keys(present).filter((key) => !stays(key));
  if (changed.length + gone.length === 0) return undefined;
  return { ...Object.fromEntries(changed), ...Object.fromEntries(gone.map((key) => [key, null])) };
}

function isConnectionSecret(child: KubeObject): child is ConnectionSecret {
  return child.kind === 'Secret';
}

/** Whether `present` says all that `wanted` does; defaults that the API server filled in do not matter. */
function contains(present: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(present) &&
      present.length === wanted.length &&
      wanted.every((value, index) => contains(present[index], value))
    );
  }
  if (typeof wanted !== 'object' || wanted === null) return sameJson(present, wanted);
  if (typeof present !== 'object' || present === null) return false;
  const before: Readonly<Record<string, unknown>> = { ...present };
  return Object.entries(wanted).every(([key, value]) => contains(before[key], value));
}
