import { decision } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { isDestroyAwaited } from '../gone.ts';
import { surplusMachines } from '../surplus.ts';
import type { Step } from '../types.ts';

/**
 * Destroys machines of this object that are one too many. `hold` and `paused` protect the machine that is
 * wanted, not a second one that nobody asked for. Nothing is written first: the attempt on record already
 * says that an older purchase is over.
 */
export function destroySurplus(facts: Facts): Step | undefined {
  const listed = surplusMachines(facts).filter(({ row }) => !isDestroyAwaited(facts, row.id));
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
    look: { afterMs: 0 },
  });
}
