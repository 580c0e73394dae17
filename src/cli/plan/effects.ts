import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource, labels } from '../../api/v1alpha1/names.ts';
import { systemClock } from '../../lib/clock.ts';
import { machineEffect } from '../../views/machine-effect.ts';
import type { Effects } from '../../views/plan.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import type { Applied } from './dry-run.ts';
import { groupEffect } from './group-effect.ts';

export const NO_EFFECTS: Effects = { machine: undefined, group: undefined };

/** Reads the workers of a group. Rejects with a KubeError. */
export async function effectsOf({ kube }: ClusterSession, { before, after }: Applied): Promise<Effects> {
  const now = systemClock.now();
  if (isInstance(after))
    return {
      ...NO_EFFECTS,
      machine: machineEffect(after, now, before && isInstance(before) ? before : undefined),
    };
  if (before === undefined || isInstance(before)) return NO_EFFECTS;
  const { items } = await kube.list<GpuInstance>(gpuInstanceResource, {
    namespace: before.metadata.namespace,
    labelSelector: `${labels.endpointGroup}=${before.metadata.name}`,
  });
  return { ...NO_EFFECTS, group: groupEffect({ before, after }, items, now) };
}

function isInstance(object: GpuInstance | EndpointGroup): object is GpuInstance {
  return object.kind === gpuInstanceResource.kind;
}
