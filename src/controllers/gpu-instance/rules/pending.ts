import { decision } from '../decision.ts';
import { carriedFields } from '../machine-fields.ts';
import type { Settlement } from '../settle.ts';
import type { Stage } from '../stage.ts';
import type { Observed, Step } from '../types.ts';

/**
 * Waits for the outcome of a rental whose answer is missing. Nothing else is rented meanwhile: not another
 * offer, and not the same one again.
 */
export function awaitSettlement(observed: Observed, stage: Extract<Stage, { type: 'pending' }>): Step {
  const { settlement } = stage;
  const ambiguous = settlement.type === 'ambiguous';
  return decision({
    rule: ambiguous ? 'hold-uncertain-rental' : 'await-settlement',
    fields: carriedFields(observed),
    finding: {
      phase: 'Renting',
      reason: 'RentalUncertain',
      detail: whatIsMissing(settlement),
      machine: { type: 'none' },
    },
    look: ambiguous
      ? { onList: true }
      : { onList: true, afterMs: Math.max(1000, settlement.settlesAt - observed.steadyNow + 1) },
  });
}

/** Which answer is missing, or which machines a person has to say something about. */
export function whatIsMissing(
  settlement: Extract<Settlement, { readonly type: 'unknown' | 'ambiguous' }>,
): string {
  const { attempt, offer } = settlement.intent;
  if (settlement.type === 'unknown')
    return `The answer to purchase ${attempt} of offer ${offer} is missing; it settles by the lists.`;
  const [first, ...others] = settlement.candidates;
  return others.length === 0
    ? `Machine ${first} is new and carries no label; whether purchase ${attempt} made it cannot be told. Destroy it if nobody needs it, and give it a label if it is yours.`
    : `Machines ${settlement.candidates.join(', ')} are new and carry no label; which of them purchase ${attempt} made cannot be told. Destroy those that nobody needs, and give those that are yours a label.`;
}
