import { parseTime } from '../../../lib/rfc3339.ts';
import { isDestroyAwaited } from '../gone.ts';
import { recordedMachine } from '../recorded.ts';
import { attemptOf, settlement } from '../settle.ts';
import type { Observed } from '../types.ts';
import type { ListView } from '../views.ts';

/** Until when a machine of this object may still appear; undefined when none can. */
export function unsettledUntil(observed: Observed): number | undefined {
  if (observed.intent.type === 'tampered') return untrustedUntil(observed);
  const outcome = settlement(observed);
  if (outcome.type === 'unknown') return outcome.settlesAt;
  return outcome.type === 'ambiguous' ? observed.steadyNow + 60_000 : undefined;
}

/** An intent that cannot be read may have been written a moment before the deletion. */
function untrustedUntil({ object, constants, listsBegun }: Observed): number | undefined {
  const deletedAt = parseTime(object.metadata.deletionTimestamp) ?? 0;
  const at = deletedAt + constants.rentCallMs + constants.lateCallMs + constants.listLagMs;
  return listsBegun.some((begun) => begun > at) ? undefined : at;
}

/**
 * Machines of this object that a list still shows, or that a rental has just made: the recorded one, and every
 * one that carries its label. Not the one that the deletion policy keeps, and none whose destroy was answered
 * so lately that a list may lag behind it.
 */
export function machinesToDestroy(observed: Observed): readonly number[] {
  const { list } = observed;
  if (!list) return [];
  const kept =
    observed.object.spec.deletionPolicy === 'Destroy' ? undefined : recordedMachine(observed)?.instanceId;
  return [...ownMachines(observed, list)].filter((id) => id !== kept && !isDestroyAwaited(observed, id));
}

function ownMachines(observed: Observed, list: ListView): ReadonlySet<number> {
  const recorded = recordedMachine(observed);
  const labelled = list.labelled.filter(({ ownership }) => attemptOf(ownership) !== undefined);
  const found = settlement(observed);
  return new Set([
    ...(recorded && list.recorded ? [recorded.instanceId] : []),
    ...labelled.map(({ row }) => row.id),
    ...(found.type === 'found' ? [found.instanceId] : []),
  ]);
}

/** Machines that must be proven gone: the recorded one unless it is kept, and all that this process destroyed. */
export function machinesToProve(observed: Observed): ReadonlySet<number> {
  const isKept = observed.object.spec.deletionPolicy !== 'Destroy' && observed.list?.recorded !== undefined;
  const recorded = isKept ? undefined : recordedMachine(observed);
  return new Set([
    ...(recorded ? [recorded.instanceId] : []),
    ...observed.memory.destroys.map((mark) => mark.instanceId),
  ]);
}
