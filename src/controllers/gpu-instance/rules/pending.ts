import type { Machine } from '../../../accounts/beliefs/machine.ts';
import { formatDollars } from '../../../lib/money.ts';
import { pricedId } from '../billing.ts';
import { decision } from '../decision.ts';
import type { Facts, IntentOutcome } from '../facts.ts';
import { carriedFields } from '../machine-fields.ts';
import type { Stage } from '../stage.ts';
import type { Step } from '../types.ts';

const AWAIT_SETTLEMENT = {
  rule: 'await-settlement',
  because: 'The rental request has no answer yet, so lists decide whether it created a machine.',
};

const HOLD_UNCERTAIN = {
  rule: 'hold-uncertain-rental',
  because: 'Only a person can decide which machine belongs to the purchase.',
};

/**
 * Waits for the outcome of a rental whose answer is missing. In this time nothing else is rented, neither another
 * offer nor the same one again.
 */
export function awaitSettlement(
  facts: Pick<Facts, 'object' | 'clock'>,
  stage: Extract<Stage, { type: 'pending' }>,
): Step {
  const { settlement } = stage;
  return decision({
    ...(settlement.type === 'unknown' ? AWAIT_SETTLEMENT : HOLD_UNCERTAIN),
    fields: carriedFields(facts),
    finding: {
      phase: 'Renting',
      reason: 'RentalUncertain',
      detail: whatIsMissing(settlement),
      machine: { type: 'none' },
    },
    requeue:
      settlement.type === 'unknown'
        ? { onList: true, afterMs: Math.max(1000, settlement.settlesAt - facts.clock.steadyNow + 1) }
        : { onList: true },
  });
}

/** Returns the missing evidence of a purchase, or the machines about which a person must decide. */
export function whatIsMissing(
  settlement: Extract<IntentOutcome, { readonly type: 'unknown' | 'late' | 'ambiguous' }>,
): string {
  const { attempt, offer } = settlement.intent;
  if (settlement.type === 'unknown')
    return `The answer to purchase ${attempt} of offer ${offer} is missing; it settles by the lists.`;
  if (settlement.type === 'late') return lateDetail(settlement.row, attempt);
  const [first, ...others] = settlement.candidates.map(pricedId);
  return others.length === 0
    ? `Machine ${first} is new and has no label, so it may be from purchase ${attempt}. Destroy it if it is not needed; label it if it is yours.`
    : `Machines ${[first, ...others].join(', ')} are new and have no label, so one may be from purchase ${attempt}. Destroy those that are not needed; label those that are yours.`;
}

/** Returns the detail of a late machine with its price: it bills until it is destroyed. */
export function lateDetail({ id, pricePerHour }: Machine, attempt: number): string {
  const price = pricePerHour === undefined ? 'an unknown price' : `$${formatDollars(pricePerHour)}/h`;
  return `Machine ${id} (${price}) carries the label of purchase ${attempt}, but did not start in its time, so nothing else is rented. Destroy it in the console if it is yours to end; with orphanPolicy Destroy the operator does so after an hour.`;
}
