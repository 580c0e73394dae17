import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations, labels } from '../../api/v1alpha1/names.ts';
import { cancelAt } from '../../instance/run.ts';
import { type RunKey, runLabel, runName } from './run-name.ts';
import { resultOf } from './run-result.ts';

/** Next action of a relay that starts, from the GpuInstances of its work. */
export type RunStep =
  /** `supersedes`: failed object of the try before, which is deleted afterwards. */
  | { readonly type: 'create'; readonly attempt: number; readonly supersedes?: GpuInstance }
  | { readonly type: 'attach'; readonly object: GpuInstance }
  /** The last try has to be gone, or its cancellation carried out, before another one begins. */
  | { readonly type: 'wait'; readonly name: string; readonly until: 'is deleted' | 'has ended' }
  | { readonly type: 'refuse'; readonly reason: string; readonly message: string };

/**
 * Decides what a starting relay does. It attaches to an object that runs, and to one whose result no relay has reported
 * yet; a reported success is reported again. After a reported failure its owner wants another try.
 */
export function runStep(existing: readonly GpuInstance[], key: RunKey): RunStep {
  const own = existing
    .flatMap((object) => {
      const attempt = attemptOf(object, key);
      return attempt === undefined ? [] : [{ object, attempt }];
    })
    .sort((left, right) => right.attempt - left.attempt);
  const [newest] = own;
  if (newest === undefined) return { type: 'create', attempt: 0 };
  const { object, attempt } = newest;
  const { name } = object.metadata;
  if (object.metadata.deletionTimestamp !== undefined) return { type: 'wait', name, until: 'is deleted' };
  const result = resultOf(object);
  // A relay cancelled it for an owner that goes on again, as a suspended Job that is resumed.
  if (result === undefined && isReported(object) && typeof cancelAt(object) === 'number')
    return { type: 'wait', name, until: 'has ended' };
  if (result === undefined || result.succeeded || !isReported(object)) return { type: 'attach', object };
  // Its machine and disk may hold a checkpoint, and another try would bill beside it.
  if (object.status?.instanceId !== undefined)
    return {
      type: 'refuse',
      reason: 'MachineKept',
      message: `gpui/${name} failed and keeps its machine ${object.status.instanceId}: delete it before another try`,
    };
  return { type: 'create', attempt: attempt + 1, supersedes: object };
}

/**
 * Returns the try of an object; undefined if it belongs to other work. Owner and name are checked, because labels and
 * annotations can be copied together with a manifest.
 */
export function attemptOf({ metadata }: GpuInstance, key: RunKey): number | undefined {
  const text = metadata.annotations?.[annotations.jobTry] ?? '';
  if (metadata.ownerReferences?.some(({ uid }) => uid === key.ownerUid) !== true) return undefined;
  if (metadata.labels?.[labels.jobRun] !== runLabel(key) || !/^\d{1,6}$/.test(text)) return undefined;
  return metadata.name === runName(key, Number(text)) ? Number(text) : undefined;
}

function isReported({ metadata }: GpuInstance): boolean {
  return metadata.annotations?.[annotations.jobReported] !== undefined;
}
