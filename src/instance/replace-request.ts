import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../api/v1alpha1/names.ts';
import { parseTime } from '../lib/time.ts';

/** The time of a requested replacement that the machine has not met yet; undefined without one. */
export function requestedReplacement({
  metadata,
  status,
}: Pick<GpuInstance, 'metadata' | 'status'>): number | undefined {
  const annotation = metadata.annotations?.[annotations.replaceAt];
  const [at, rentedAt] = [parseTime(annotation), parseTime(status?.rentedAt)];
  if (at === undefined || rentedAt === undefined) return undefined;
  return status?.replacedAt === asHandled(annotation ?? '') || rentedAt >= at ? undefined : at;
}

/** A value of the annotation as the status holds it. */
export function asHandled(annotation: string): string {
  return annotation.slice(0, 253);
}
