import { decision } from '../decision.ts';
import { carriedFields } from '../machine-fields.ts';
import type { Stage } from '../stage.ts';
import type { Observed, Step } from '../types.ts';

/**
 * Waits for the outcome of a rental whose answer is missing. Nothing else is rented meanwhile: not another
 * offer, and not the same one again.
 */
export function awaitSettlement(observed: Observed, stage: Extract<Stage, { type: 'pending' }>): Step {
  const { settlement } = stage;
  const { intent } = settlement;
  const ambiguous = settlement.type === 'ambiguous';
  return decision({
    rule: ambiguous ? 'hold-uncertain-rental' : 'await-settlement',
    fields: carriedFields(observed),
    finding: {
      phase: 'Renting',
      reason: 'RentalUncertain',
      detail: ambiguous
        ? `Machines ${settlement.candidates.join(', ')} are new and carry no label; which of them purchase ${intent.attempt} made cannot be told. Destroy those that nobody needs, and give those that are yours a label.`
        : `The answer to purchase ${intent.attempt} of offer ${intent.offer} is missing; it settles by the lists.`,
      machine: { type: 'none' },
    },
    look: ambiguous
      ? { onList: true }
      : { onList: true, afterMs: Math.max(1000, settlement.settlesAt - observed.steadyNow + 1) },
  });
}
