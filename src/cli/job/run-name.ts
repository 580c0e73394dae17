import { createHash } from 'node:crypto';
import { labels } from '../../api/v1alpha1/names.ts';

const HASH_CHARACTERS = 10;

/** The work that GpuInstances of a relay do: one owner, and one index of an indexed Job. */
export interface RunKey {
  /** Uid of the Job, or of the Pod. */
  readonly ownerUid: string;
  /** Completion index of an indexed Job; undefined for any other owner. */
  readonly index: number | undefined;
}

/**
 * Returns the name of the GpuInstance of a try, counted from 0. Every Pod of the same Job and index derives the same
 * name, so the API server accepts only one object.
 */
export function runName({ ownerUid, index }: RunKey, attempt: number): string {
  const hash = createHash('sha256')
    .update(`${ownerUid}/${index ?? ''}/${attempt}`)
    .digest('hex');
  return `job-${hash.slice(0, HASH_CHARACTERS)}`;
}

/** Returns the value of the label that all GpuInstances of the same work have. */
export function runLabel({ ownerUid, index }: RunKey): string {
  return index === undefined ? ownerUid : `${ownerUid}.${index}`;
}

/** Returns the label selector of the GpuInstances of the same work. */
export function runSelector(key: RunKey): string {
  return `${labels.jobRun}=${runLabel(key)}`;
}
