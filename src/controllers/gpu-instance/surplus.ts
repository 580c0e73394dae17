import { decision } from './decision.ts';
import type { Facts } from './facts.ts';
import { isDestroyPending } from './gone.ts';
import type { ListedMachine, Step } from './types.ts';

/**
 * Machines of this object that are one too many, lowest id first. A recorded machine with a valid claim always
 * wins over another of the same purchase; an older purchase always loses; a newer one never does: it raises
 * the object's attempt instead. One whose destroy was answered stays given up, also where somebody took it out of
 * the status since, and where it is listed again after it was proven gone; one that the status names without a claim
 * that verifies is in doubt, and stays. Only a machine whose label fits its start date is ever named here.
 */
export function surplusMachines(facts: Facts): readonly ListedMachine[] {
  const recorded = facts.ownedMachine;
  const named = facts.object.status?.instanceId;
  const winnerIsListed = recorded !== undefined && facts.list?.recorded !== undefined;
  const newest = Math.max(facts.settledAttempt, facts.openIntent?.attempt ?? 0);
  return (facts.list?.labelled ?? []).filter(({ row, ownership }) => {
    if (row.id === recorded?.instanceId || ownership.type !== 'labelled') return false;
    if (facts.memory.destroys.some(({ instanceId }) => instanceId === row.id)) return true;
    if (row.id === named) return false;
    if (wasGivenUp(facts, row.id)) return true;
    const { attempt } = ownership.facts;
    if (attempt < facts.settledAttempt) return true;
    if (attempt === facts.settledAttempt) return winnerIsListed && newest === attempt;
    return false;
  });
}

/** By this object itself: nobody gave up one that vanished. */
function wasGivenUp({ object }: Facts, instanceId: string): boolean {
  const past = object.status?.history?.find((machine) => machine.instanceId === instanceId);
  return past !== undefined && past.reason !== 'Vanished';
}

/**
 * Destroys machines of this object that are one too many. `hold` and `paused` protect the machine that is
 * wanted, not a second one that nobody asked for. Nothing is written first: the attempt on record already
 * says that an older purchase is over.
 */
export function destroySurplus(facts: Facts): Step | undefined {
  const listed = surplusMachines(facts).filter(({ row }) => !isDestroyPending(facts, row.id));
  if (listed.length === 0 || facts.memory.destroyNotBefore > facts.steadyNow) return undefined;
  const ids = listed.map(({ row }) => row.id);
  return decision({
    rule: 'destroy-surplus',
    record: { type: 'nothing', because: 'attempt' },
    actions: ids.map((instanceId) => ({ type: 'destroy', instanceId, reason: 'Surplus' })),
    events: [
      {
        type: 'Warning',
        reason: 'Surplus',
        action: 'Destroying',
        note: `Machines ${ids.join(', ')} of this object are one too many and are being destroyed.`,
      },
    ],
    requeue: { afterMs: 0 },
  });
}
