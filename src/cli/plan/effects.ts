import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource, labels } from '../../api/v1alpha1/names.ts';
import { systemClock } from '../../lib/clock.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import type { Applied } from './dry-run.ts';
import { type GroupEffect, groupEffect, groupEffectText } from './group-effect.ts';
import { effectText, type MachineEffect, machineEffect } from './machine-effect.ts';

/** What a manifest does to machines that are there. */
export interface Effects {
  /** Of a GpuInstance that has a machine. */
  readonly machine: MachineEffect | undefined;
  /** Of an EndpointGroup that exists. */
  readonly group: GroupEffect | undefined;
}

export const NO_EFFECTS: Effects = { machine: undefined, group: undefined };

/** Reads the workers of a group. Rejects with a KubeError. */
export async function effectsOf({ kube }: ClusterSession, { before, after }: Applied): Promise<Effects> {
  const now = systemClock.now();
  if (isInstance(after)) return { ...NO_EFFECTS, machine: machineEffect(after, now) };
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

/** `gpui/trainer replaces machine 20000006 (up 17m, $0.09, disk lost): …`; undefined if nothing is there. */
export function effectsText(object: string, { machine, group }: Effects): string | undefined {
  if (machine) return `${object} ${effectText(machine)}`;
  return group && `${object} ${groupEffectText(group)}`;
}
