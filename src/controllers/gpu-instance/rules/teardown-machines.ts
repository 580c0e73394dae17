import { parseTime } from '../../../lib/time.ts';
import type { Instance } from '../../../marketplace/instances/instance.ts';
import { startsInWindow } from '../../../ownership/ours.ts';
import { attemptOf, type Facts, type OwnedMachine } from '../facts.ts';
import { isDestroyAwaited } from '../gone.ts';
import { newestLabelled } from '../stage.ts';
import type { ListedMachine, ListView } from '../views.ts';

/** A machine that outlives its object, as it is listed. */
export interface KeptMachine extends OwnedMachine {
  readonly row: Instance;
}

/** Until when a machine of this object may still appear; undefined when none can. */
export function unsettledUntil(facts: Facts): number | undefined {
  if (facts.intent.type === 'tampered') return untrustedUntil(facts);
  const outcome = facts.intentOutcome;
  if (outcome.type === 'unknown') return outcome.settlesAt;
  return outcome.type === 'ambiguous' || outcome.type === 'late' ? facts.steadyNow + 60_000 : undefined;
}

/**
 * An intent that cannot be read may have been written a moment before the deletion. How long ago that was, the clock of
 * the service tells: by our own, if it is ahead, no rent call could still be carried out.
 */
function untrustedUntil(facts: Facts): number | undefined {
  const { object, constants, listsBegun, steadyNow } = facts;
  const now = facts.serviceNow;
  const deletedAt = parseTime(object.metadata.deletionTimestamp) ?? 0;
  const agoMs = now === undefined ? 0 : Math.max(0, now - deletedAt);
  const at = steadyNow - agoMs + constants.rentCallMs + constants.lateCallMs + constants.listLagMs;
  return listsBegun.some((begun) => begun > at) ? undefined : at;
}

/**
 * Machines of this object that a list still shows, or that a rental has made and nobody has destroyed: the recorded one,
 * and every one that carries its label. Not the one that the deletion policy keeps, and none whose destroy was answered
 * so lately that a list may lag behind it.
 */
export function machinesToDestroy(facts: Facts): readonly number[] {
  const { list } = facts;
  if (!list) return [];
  const kept = machineToKeep(facts)?.instanceId;
  return [...ownMachines(facts, list)].filter((id) => id !== kept && !isDestroyAwaited(facts, id));
}

function ownMachines(facts: Facts, list: ListView): ReadonlySet<number> {
  const recorded = facts.ownedMachine;
  const labelled = list.labelled.filter(({ ownership }) => attemptOf(ownership) !== undefined);
  const found = facts.intentOutcome;
  const isBought = found.type === 'found' && !isOver(found.instanceId, facts.memory, list);
  return new Set([
    ...(recorded && list.recorded ? [recorded.instanceId] : []),
    ...labelled.map(({ row }) => row.id),
    ...list.labelled.filter((machine) => isTakenBack(facts, machine)).map(({ row }) => row.id),
    ...(isBought ? [found.instanceId] : []),
  ]);
}

/**
 * A machine that was marked as kept, of the purchase whose outcome nobody has recorded, while a person wanted it kept: now
 * it is to go with its object. The intent says when that purchase was made; a mark can be copied.
 */
function isTakenBack(facts: Facts, { row, ownership }: ListedMachine): boolean {
  const { object, constants } = facts;
  const intent = facts.openIntent;
  if (object.spec.deletionPolicy !== 'Destroy' || ownership.type !== 'retained' || !intent) return false;
  const isOfPurchase = ownership.facts.attempt === intent.attempt && row.startedAt !== undefined;
  return isOfPurchase && startsInWindow(row.startedAt, intent.issuedAt, constants);
}

/** What this process has rented it remembers also when it has destroyed that again: then a list has to show it. */
function isOver(id: number, { destroys }: Facts['memory'], { ids }: ListView): boolean {
  return destroys.some(({ instanceId }) => instanceId === id) && !ids.includes(id);
}

/**
 * Machines that must be proven gone: the recorded one, and all that this process destroyed. Not one that is to be kept
 * and is still listed, though its destroy was answered before a person said so.
 */
export function machinesToProve(facts: Facts): ReadonlySet<number> {
  const recorded = facts.ownedMachine;
  const held = [...(recorded ? [recorded] : []), ...facts.memory.destroys];
  const kept = machineToKeep(facts)?.instanceId;
  return new Set(held.map(({ instanceId }) => instanceId).filter((id) => id !== kept));
}

/**
 * The listed machine that the deletion policy keeps: the recorded one, and where no record is to be trusted, the one of
 * the newest purchase.
 */
export function machineToKeep(facts: Facts): KeptMachine | undefined {
  const { object, list } = facts;
  if (object.spec.deletionPolicy === 'Destroy' || !list) return undefined;
  const recorded = facts.ownedMachine;
  if (recorded) return list.recorded && { ...recorded, row: list.recorded };
  const newest = newestLabelled(facts, 0);
  const row = list.labelled.find(({ row: { id } }) => id === newest?.instanceId)?.row;
  return newest && row && { instanceId: newest.instanceId, attempt: newest.attempt, row };
}
