import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import {
  isChildOf,
  isOutdated,
  isToUpdate,
  maxUnavailable,
  templateHash,
  workerOf,
} from '../../controllers/endpoint-group/public.ts';

/** What a manifest does to the workers that its EndpointGroup has. */
export interface GroupEffect {
  /** Workers that it has now. */
  readonly workers: number;
  /** Names of those whose machine does not fit the new template, and what becomes of them. */
  readonly outdated: readonly string[];
  readonly effect: 'keeps' | 'replaces';
  /** Workers that take over the new text and keep their machine. */
  readonly updated: number;
  /** Hot workers that may be out of service at a time; undefined if none is replaced. */
  readonly atATime: number | undefined;
  /** What changes of the number of workers, e.g. `replicas 2 → 5`. */
  readonly scaling: readonly string[];
  readonly detail: string | undefined;
}

/** By the operator's own comparison of workers with the template. Other objects in `instances` are not considered. */
export function groupEffect(
  { before, after }: { readonly before: EndpointGroup; readonly after: EndpointGroup },
  instances: readonly GpuInstance[],
  now: number,
): GroupEffect {
  const workers = instances.filter((one) => isChildOf(one, before)).map((one) => workerOf(one, now));
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
    return 'They are not what the template asks for, and stay by updateStrategy OnDelete: only new workers use it.';
  return pause.scaleUp || pause.scaleDown ? 'It waits for the end of the pause.' : undefined;
}

const COUNTS = ['replicas', 'coldWorkers', 'maxWorkers'] as const;

function scalingOf(before: EndpointGroup, after: EndpointGroup, workers: number): readonly string[] {
  const changed = COUNTS.filter((field) => before.spec[field] !== after.spec[field]).map(
    (field) => `${field} ${before.spec[field] ?? 'by load'} → ${after.spec[field] ?? 'by load'}`,
  );
  const surplus = workers - after.spec.maxWorkers;
  return surplus > 0 ? [...changed, `removes ${surplus} above maxWorkers`] : changed;
}

/** `replaces 3 of 4 workers, at most 1 at a time (disks lost); updates 1 in place; replicas 2 → 5.` */
export function groupEffectText(group: GroupEffect): string {
  const { workers, outdated, effect, updated, atATime, scaling, detail } = group;
  const all = workers === 1 ? 'its worker' : `its ${workers} workers`;
  const parts = [
    effect === 'replaces'
      ? `replaces ${outdated.length} of ${workers} ${workers === 1 ? 'worker' : 'workers'}, at most ${atATime} at a time (disks lost)`
      : workers === 0
        ? 'has no workers'
        : `keeps ${all}`,
    ...(updated === 0 ? [] : [`updates ${updated} in place`]),
    ...scaling,
  ];
  return `${parts.join('; ')}${detail === undefined ? '.' : `: ${detail}`}`;
}
