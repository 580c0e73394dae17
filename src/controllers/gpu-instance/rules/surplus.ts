import { decision } from '../decision.ts';
import { isDestroyAwaited } from '../gone.ts';
import { surplusMachines } from '../surplus.ts';
import type { Observed, Step } from '../types.ts';

/**
 * Destroys machines of this object that are one too many. `hold` and `paused` protect the machine that is
 * wanted, not a second one that nobody asked for. Nothing is written first: the attempt on record already
 * says that an older purchase is over.
 */
export function destroySurplus(observed: Observed): Step | undefined {
  const listed = surplusMachines(observed).filter(({ row }) => !isDestroyAwaited(observed, row.id));
  if (listed.length === 0 || observed.memory.destroyNotBefore > observed.steadyNow) return undefined;
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
    look: { afterMs: 0 },
  });
}
