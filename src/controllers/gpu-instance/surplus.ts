import { listsAgree, readAgrees } from '../../accounts/beliefs/machine.ts';
import { facetsOf } from '../../api/v1alpha1/reasons.ts';
import { pricedId } from './billing.ts';
import { decision } from './decision.ts';
import type { Facts, OwnershipFacts } from './facts.ts';
import { isDestroyPending } from './gone.ts';
import type { ListedMachine, Step } from './types.ts';

/**
 * Returns the surplus machines of this object, lowest id first. A recorded machine with a valid claim always wins
 * over another of the same purchase. An older purchase always loses; a newer one never does, but raises the object's
 * attempt instead. A machine whose destroy was answered remains given up, even if another writer removed it from the
 * status, or if it is listed again after it was proven gone. A machine that the status names without a verified claim
 * is in doubt, and stays. Every returned machine has a label that matches its start date.
 */
export function surplusMachines(
  facts: Pick<Facts, 'object' | 'machine' | 'purchase' | 'memory'>,
): readonly ListedMachine[] {
  const { owned } = facts.machine;
  const named = facts.object.status?.instanceId;
  const isWinner = owned !== undefined && facts.machine.recordProof === 'confirmed';
  const winnerIsListed = isWinner && facts.machine.list?.recorded !== undefined;
  const newest = Math.max(facts.purchase.settledAttempt, facts.purchase.openIntent?.attempt ?? 0);
  return (facts.machine.list?.labelled ?? []).filter(({ row, ownership }) => {
    if (row.id === owned?.instanceId || ownership.type !== 'labelled') return false;
    if (facts.memory.destroys.some(({ instanceId }) => instanceId === row.id)) return true;
    if (row.id === named) return false;
    if (wasGivenUp(facts, row.id)) return true;
    const { attempt } = ownership.facts;
    if (attempt < facts.purchase.settledAttempt) return true;
    if (attempt === facts.purchase.settledAttempt) return winnerIsListed && newest === attempt;
    return false;
  });
}

/** Returns true if this object itself gave up the machine; false if it vanished or ended itself. */
function wasGivenUp({ object }: Pick<Facts, 'object'>, instanceId: string): boolean {
  const past = object.status?.history?.find((machine) => machine.instanceId === instanceId);
  return past !== undefined && facetsOf(past.reason).endsByItself !== true;
}

/**
 * Destroys surplus machines of this object. `hold` and `paused` protect the desired machine, not a second one.
 * Nothing is written first: the recorded attempt already proves that an older purchase is over. A machine is
 * destroyed only when two lists and a read of it agree on its label. Undefined while none may be destroyed.
 */
export function destroySurplus(facts: OwnershipFacts): Step | undefined {
  const listed = surplusMachines(facts).filter(({ row }) => !isDestroyPending(facts, row.id));
  if (listed.length === 0 || facts.memory.destroyNotBefore > facts.clock.steadyNow) return undefined;
  const { read, ids } = confirmedByLabel(facts, listed);
  if (read) return read;
  if (ids.length === 0) return undefined;
  const going = listed.filter(({ row }) => ids.includes(row.id));
  return decision({
    rule: 'destroy-surplus',
    because: 'Lists and a read show more than one machine of this object.',
    record: { type: 'nothing', because: 'attempt' },
    actions: ids.map((instanceId) => ({ type: 'destroy', instanceId, reason: 'Deleting' })),
    events: [
      {
        type: 'Warning',
        reason: 'Deleting',
        action: 'Destroying',
        note: `Destroying surplus machines of this object: ${going.map(({ row }) => pricedId(row)).join(', ')}.`,
      },
    ],
    requeue: { afterMs: 0 },
  });
}

/** Machines that only a label assigns to this object. */
interface ByLabel {
  /** Two lists and a read of the machine agree on the label, or this object had the machine and destroyed it before. */
  readonly ids: readonly string[];
  /** The read that is missing. */
  readonly read?: Extract<Step, { type: 'read' }>;
}

/**
 * Returns the machines of `listed` that may be destroyed by their label, or the missing read of one of them.
 */
export function confirmedByLabel(
  facts: Pick<Facts, 'object' | 'machine' | 'memory'>,
  listed: readonly ListedMachine[],
): ByLabel {
  const isOurDestroy = (id: string) =>
    facts.memory.destroys.some(({ instanceId }) => instanceId === id) || wasGivenUp(facts, id);
  const agreed = listed.filter(({ row }) => isOurDestroy(row.id) || listsAgree(row, 'label'));
  const unread = agreed.filter(({ row }) => !isOurDestroy(row.id) && !facts.machine.labelReads.has(row.id));
  if (unread.length > 0) {
    const requests = unread.map(({ row }) => ({ type: 'confirmLabel', instanceId: row.id }) as const);
    return { ids: [], read: { type: 'read', requests } };
  }
  const isConfirmed = ({ row }: ListedMachine) => {
    const read = facts.machine.labelReads.get(row.id);
    return read !== undefined && typeof read !== 'string' && readAgrees(row, read, 'label');
  };
  const confirmed = agreed.filter((machine) => isOurDestroy(machine.row.id) || isConfirmed(machine));
  return { ids: confirmed.map(({ row }) => row.id) };
}
