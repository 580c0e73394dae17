import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import type { Reason } from '../../../api/v1alpha1/reasons.ts';
import { parseTime } from '../../../lib/time.ts';
import { findCondition } from '../../../runtime/conditions.ts';

/** What keeps a machine from being asked to start, and is not its own or its host's. */
const NOT_ITS_OWN: ReadonlySet<string> = new Set<Reason>([
  'AccountLimitReached',
  'AccountMissing',
  'AccountNotReady',
  'BreakerOpen',
  'Held',
  'InsufficientCredit',
  'InvalidRequest',
  'NamespaceNotAllowed',
  'Paused',
  'Throttled',
  'TooManyRentals',
  'Unreachable',
]);

/**
 * Since when the machine of a worker that was woken could have started. Undefined where it is another than was woken, or
 * was lost, and while nobody asks it to start: there is nothing to blame its host for then.
 */
export function wakeSinceOf(object: GpuInstance, wokenAt: number | undefined): number | undefined {
  if (wokenAt === undefined || !holdsSince(object, wokenAt) || !isAsked(object)) return undefined;
  return Math.max(wokenAt, parseTime(object.status?.startRequestedAt) ?? 0);
}

/** Whether it has the machine that was woken. Rentals are noted in whole seconds. */
function holdsSince({ status }: GpuInstance, wokenAt: number): boolean {
  const rentedAt = parseTime(status?.rentals?.at(-1));
  return status?.instanceId !== undefined && (rentedAt === undefined || rentedAt + 1000 <= wokenAt);
}

function isAsked({ metadata, status }: GpuInstance): boolean {
  const ready = findCondition(status?.conditions, 'Ready');
  const isLookedAt = (status?.observedGeneration ?? -1) >= (metadata.generation ?? 0);
  return isLookedAt && !(ready && NOT_ITS_OWN.has(ready.reason));
}
