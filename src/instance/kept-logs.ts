import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';

/* Logs of finished runs that the operator keeps in Secrets. PURE. */

/** Maximum number of logs in a namespace that are kept in full. */
export const MAX_FULL_LOGS = 100;
/** Maximum bytes of any older log. */
export const CUT_LOG_BYTES = 1_024;

/**
 * Returns the finished runs in the namespace of a new log whose logs are longer than {@link CUT_LOG_BYTES}, and older
 * than the {@link MAX_FULL_LOGS} newest logs, which include the new one. The newest comes first.
 */
export function logsToCut(
  objects: Iterable<GpuInstance>,
  { metadata: { namespace, uid } }: Pick<GpuInstance, 'metadata'>,
): readonly GpuInstance[] {
  const kept: { readonly object: GpuInstance; readonly finishedAt: string }[] = [];
  for (const object of objects) {
    const { log, finishedAt } = object.status?.run ?? {};
    const { metadata } = object;
    if (metadata.namespace !== namespace || metadata.uid === uid || metadata.deletionTimestamp !== undefined)
      continue;
    if (finishedAt !== undefined && log !== undefined && log.bytes > CUT_LOG_BYTES)
      kept.push({ object, finishedAt });
  }
  return kept
    .sort((left, right) => Date.parse(right.finishedAt) - Date.parse(left.finishedAt))
    .slice(MAX_FULL_LOGS - 1)
    .map(({ object }) => object);
}
