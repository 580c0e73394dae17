import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { endpointSliceResource, serviceResource } from '../../../runtime/kube/core-resources.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../../runtime/kube/kube-error.ts';
import type { KubeObject, ObjectRef, Resource } from '../../../runtime/kube/kube-object.ts';
import type { ObjectMemory } from '../memory/memory.ts';
import type { Publication } from '../types.ts';
import type { Published } from '../views.ts';
import { isOrphanOf, isOwnedBy, SLICE_SUFFIXES, sliceName } from './children.ts';

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
  for (const [resource, ref] of mayBeThere(owner, serving)) {
    const key = keyOf(resource, ref);
    if (kept.has(key) || memory.absentChildren.has(key)) continue;
    const problem = await removeOwn(owner, [resource, ref], cluster);
    if (problem) return problem;
    memory.absentChildren.add(key);
  }
  return undefined;
}

async function removeOwn(
  owner: GpuInstance,
  [resource, ref]: Place,
  cluster: KubeClient,
): Promise<Published | undefined> {
  try {
    const present = await cluster.get<KubeObject>(resource, ref);
    if (present && (isOwnedBy(present, owner) || isOrphanOf(present, owner)))
      await cluster.delete(resource, ref, { uid: present.metadata.uid });
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
