import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import {
  isOutdated,
  isToUpdate,
  maxUnavailable,
  templateHash,
  workerOf,
} from '../../controllers/endpoint-group/public.ts';
import { isControlledBy } from '../../runtime/kube/kube-object.ts';
import type { GroupEffect } from '../../views/group-effect.ts';

/**
 * Returns the effect on a group by the operator's own comparison of workers with the template. Other objects in
 * `instances` are ignored.
 */
export function groupEffect(
  { before, after }: { readonly before: EndpointGroup; readonly after: EndpointGroup },
  instances: readonly GpuInstance[],
  now: number,
): GroupEffect {
  const workers = instances.filter((one) => isControlledBy(one, before)).map((one) => workerOf(one, now));
  const template = { templateHash: templateHash(after), spec: after.spec };
  const outdated = workers.filter((worker) => isOutdated(worker, template));
  const hot = workers.filter(({ desiredRole }) => desiredRole === 'Hot').length;
  const atATime = outdated.length === 0 ? undefined : maxUnavailable(after.spec, hot);
  return {
    workers: workers.length,
    outdated: outdated.map(({ name }) => name),
    effect: atATime === undefined ? 'keeps' : 'replaces',
    updated: isByHand(after) ? 0 : workers.filter((worker) => isToUpdate(worker, template)).length,
    atATime,
    scaling: scalingOf(before, after, workers.length),
    detail: outdated.length === 0 ? undefined : whyNotNow(after),
  };
}

function isByHand({ spec }: EndpointGroup): boolean {
  return spec.updateStrategy.type === 'OnDelete';
}

function whyNotNow(group: EndpointGroup): string | undefined {
  const { pause } = group.spec;
  if (isByHand(group))
    return 'They do not match the template, and stay by updateStrategy OnDelete: only new workers use it.';
  return pause.scaleUp || pause.scaleDown ? 'The replacement waits for the end of the pause.' : undefined;
}

const COUNTS = ['replicas', 'coldWorkers', 'maxWorkers'] as const;

function scalingOf(before: EndpointGroup, after: EndpointGroup, workers: number): readonly string[] {
  const changed = COUNTS.filter((field) => before.spec[field] !== after.spec[field]).map(
    (field) => `${field} ${before.spec[field] ?? 'by load'} → ${after.spec[field] ?? 'by load'}`,
  );
  const surplus = workers - after.spec.maxWorkers;
  return surplus > 0 ? [...changed, `removes ${surplus} above maxWorkers`] : changed;
}
