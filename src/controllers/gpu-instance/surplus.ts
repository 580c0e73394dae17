import { recordedMachine, settledAttempt } from './recorded.ts';
import { openIntent } from './settle.ts';
import type { Observed } from './types.ts';
import type { ListedMachine } from './views.ts';

/**
 * Machines of this object that are one too many, lowest id first. A recorded machine with a valid claim always
 * wins over another of the same purchase; an older purchase always loses; a newer one never does: it raises
 * the object's attempt instead. One whose destroy was answered stays given up, also where somebody took it out of
 * the status since, and where it is listed again after it was proven gone; one that the status names without a claim
 * that verifies is in doubt, and stays. Only a machine whose label fits its start date is ever named here.
 */
export function surplusMachines(observed: Observed): readonly ListedMachine[] {
  const recorded = recordedMachine(observed);
  const named = observed.object.status?.instanceId;
  const winnerIsListed = recorded !== undefined && observed.list?.recorded !== undefined;
  const newest = Math.max(settledAttempt(observed), openIntent(observed)?.attempt ?? 0);
  return (observed.list?.labelled ?? []).filter(({ row, ownership }) => {
    if (row.id === recorded?.instanceId || ownership.type !== 'labelled') return false;
    if (observed.memory.destroys.some(({ instanceId }) => instanceId === row.id)) return true;
    if (row.id === named) return false;
    if (wasGivenUp(observed, row.id)) return true;
    const { attempt } = ownership.facts;
    if (attempt < settledAttempt(observed)) return true;
    if (attempt === settledAttempt(observed)) return winnerIsListed && newest === attempt;
    return false;
  });
}

/** By this object itself: nobody gave up one that vanished. */
function wasGivenUp({ object }: Observed, instanceId: number): boolean {
  const past = object.status?.history?.find((machine) => machine.instanceId === instanceId);
  return past !== undefined && past.reason !== 'Vanished';
}
