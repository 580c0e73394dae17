import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import type { Reason } from '../../../api/v1alpha1/reasons.ts';
import { parseTime } from '../../../lib/time.ts';
import { findCondition } from '../../../runtime/conditions.ts';

/** What lets a GpuInstance rent no other machine until a person changes its spec. */
const FOR_GOOD: ReadonlySet<string> = new Set<Reason>(['LimitReached', 'ReplacementOff']);

const HOUR_MS = 3_600_000;

/**
 * Whether its machine is gone and it gets no other by itself: stopped ones rent none, and those of a limit or of a
 * policy rent none either. Its history proves that it had one: a status that was lost says nothing. One that was made a
 * short while ago waits as `maxPerHour` asks for, so that machines which end at once are not rented over and over.
 */
export function hasEnded(object: GpuInstance, now: number): boolean {
  const { instanceId, history } = object.status ?? {};
  if (instanceId !== undefined || !history?.length) return false;
  return isLookedAt(object) && isOldEnough(object, now) && rentsNoOther(object);
}

/** What its status says is of its present spec. */
function isLookedAt({ metadata, status }: GpuInstance): boolean {
  return (status?.observedGeneration ?? -1) >= (metadata.generation ?? 0);
}

function isOldEnough({ metadata, spec }: GpuInstance, now: number): boolean {
  const createdAt = parseTime(metadata.creationTimestamp) ?? now;
  return now >= createdAt + HOUR_MS / spec.replacement.maxPerHour;
}

function rentsNoOther({ spec, status }: GpuInstance): boolean {
  const stalled = findCondition(status?.conditions, 'Stalled');
  if (stalled?.status === 'True') return FOR_GOOD.has(stalled.reason);
  return spec.powerState === 'Stopped' && findCondition(status?.conditions, 'Ready')?.reason === 'Stopped';
}
