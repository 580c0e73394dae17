import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../api/v1alpha1/names.ts';
import { parseTime } from '../lib/time.ts';

/** Returns the time of a requested replacement that is still pending; undefined without one. */
export function requestedReplacement({
  metadata,
  status,
}: Pick<GpuInstance, 'metadata' | 'status'>): number | undefined {
  const annotation = metadata.annotations?.[annotations.replaceAt];
  const [at, rentedAt] = [parseTime(annotation), parseTime(status?.rentedAt)];
  if (at === undefined || rentedAt === undefined) return undefined;
  return status?.replacedAt === asHandled(annotation ?? '') || rentedAt >= at ? undefined : at;
}

/** Returns a value of the annotation in the form of the status. */
export function asHandled(annotation: string): string {
  return annotation.slice(0, 253);
}
