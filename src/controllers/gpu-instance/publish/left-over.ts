import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { connectionSecretName } from '../../../api/v1alpha1/names.ts';
import {
  endpointSliceResource,
  secretResource,
  serviceResource,
} from '../../../runtime/kube/core-resources.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../../runtime/kube/kube-error.ts';
import type { KubeObject, ObjectRef, Resource } from '../../../runtime/kube/kube-object.ts';
import type { ObjectMemory } from '../memory/memory.ts';
import type { Publication } from '../types.ts';
import type { Published } from '../views.ts';
import { instanceService, isOrphanOf, isOwnedBy, SLICE_SUFFIXES, sliceName } from './children.ts';

type Child = readonly [resource: Resource, child: KubeObject];
type Place = readonly [resource: Resource, ref: ObjectRef];

/**
 * Deletes what of an object's Service and slices is not wanted now: a former machine, spec, or version of the operator
 * may have left it, and it would lead to a machine that is somebody else's by now. A process asks once for each and
 * remembers that there is none; nothing was left by an object that never published. Objects of other owners stay.
 * Undefined where that worked, or what keeps it from it.
 */
export async function removeLeftOver(
  owner: GpuInstance,
  { wanted, serving }: { readonly wanted: readonly Child[] } & Pick<Publication, 'serving'>,
  { cluster, memory }: { readonly cluster: KubeClient; readonly memory: ObjectMemory },
): Promise<Published | undefined> {
  if (owner.status?.binding === undefined) return undefined;
  const kept = new Set(wanted.map(([resource, { metadata }]) => keyOf(resource, metadata)));
  for (const key of kept) memory.absentChildren.delete(key);
  const goes = (child: KubeObject) => isOwnedBy(child, owner) || isOrphanOf(child, owner);
  for (const place of mayBeThere(owner, serving)) {
    const key = keyOf(...place);
    if (kept.has(key) || memory.absentChildren.has(key)) continue;
    const problem = await removeOne(place, goes, cluster);
    if (problem) return problem;
    memory.absentChildren.add(key);
  }
  return undefined;
}

/**
 * Deletes the children that `kubectl delete --cascade=orphan` leaves of an object whose machine has ended: they would
 * lead nowhere, and keep their names from the next object. Those that are owned go by garbage collection. What the
 * operator may not delete keeps no object from going.
 */
export async function removeOrphans(
  owner: GpuInstance,
  { cluster, memory }: { readonly cluster: KubeClient; readonly memory: ObjectMemory },
): Promise<void> {
  if (owner.status?.binding === undefined) return;
  const { namespace, name } = owner.metadata;
  const secret: Place = [secretResource, { namespace, name: connectionSecretName(name) }];
  const isOrphaning = owner.metadata.finalizers?.includes(ORPHAN_FINALIZER) ?? false;
  const goes = (child: KubeObject) => isOrphanOf(child, owner) || (isOrphaning && isOwnedBy(child, owner));
  for (const place of [secret, ...(instanceService(owner) ? mayBeThere(owner, true) : [])]) {
    if (memory.absentChildren.has(keyOf(...place))) continue;
    await removeOne(place, goes, cluster);
  }
}

/** Stands on an object until the garbage collector has taken its owner references away. */
const ORPHAN_FINALIZER = 'orphan';

async function removeOne(
  [resource, ref]: Place,
  goes: (present: KubeObject) => boolean,
  cluster: KubeClient,
): Promise<Published | undefined> {
  try {
    const present = await cluster.get<KubeObject>(resource, ref);
    if (present && goes(present)) await cluster.delete(resource, ref, { uid: present.metadata.uid });
    return undefined;
  } catch (error) {
    if (!isKubeError(error, 'forbidden')) throw error;
    return { type: 'failed', detail: `The operator may not delete ${keyOf(resource, ref)}.` };
  }
}

/** The Service outlasts a machine that is away for a while: what it leads to is told by the slices. */
function mayBeThere(owner: GpuInstance, serving: boolean): readonly Place[] {
  const { namespace, name } = owner.metadata;
  const slices = SLICE_SUFFIXES.map(
    (suffix) => [endpointSliceResource, { namespace, name: sliceName(owner, suffix) }] as const,
  );
  return serving ? [...slices, [serviceResource, { namespace, name }]] : slices;
}

function keyOf({ kind }: Resource, { name }: { readonly name: string }): string {
  return `${kind} ${name}`;
}
