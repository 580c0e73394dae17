import { endCost } from '../../../instance/cost.ts';
import { parseTime } from '../../../lib/time.ts';
import type { EventNote } from '../../../runtime/events.ts';
import { decision } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { carriedFields, withoutMachine } from '../machine-fields.ts';
import { disownConfirmation } from '../record-proof.ts';
import type { Stage } from '../stage.ts';
import type { Decision, OwnedMachine, Step } from '../types.ts';
import { keepsNoLabels } from '../unlabelled-proof.ts';

/** Requeue in case lists fail; otherwise the next list requeues the object. */
const LABEL_RETRY_MS = 30_000;

/** Waits for the list that settles the label of the recorded machine: one list alone neither confirms nor drops a record. */
export const awaitSecondLabel = (): Decision =>
  decision({
    rule: 'await-second-list',
    because: 'One list neither confirms nor drops a label.',
    requeue: { onList: true, afterMs: LABEL_RETRY_MS },
  });

/**
 * Returns the missing read, or the wait for lists and read to agree, before the record of this machine is dropped.
 */
export function confirmDisowned(
  facts: Pick<Facts, 'machine' | 'account' | 'purchase' | 'memory'>,
  machine: OwnedMachine,
): Step | undefined {
  const confirmation = disownConfirmation(facts, machine);
  if (confirmation === 'confirmed') return undefined;
  return confirmation === 'unconfirmed' ? awaitSecondLabel() : confirmation;
}

/**
 * Drops the record of a machine of another purchase, once lists prove that this purchase created none. The machine is
 * not stopped, relabelled or destroyed; from now on it counts as foreign.
 */
export function dropRecord(
  facts: Facts,
  machine: OwnedMachine,
  stage: Extract<Stage, { type: 'unrented' }>,
): Step {
  const missing = confirmDisowned(facts, machine);
  if (missing) return missing;
  const { cost, ...fields } = withoutMachine(carriedFields(facts));
  // Nothing was rented, so the cost accrued since the reply is removed.
  const before = endCost(cost, parseTime(cost?.since) ?? facts.clock.believedNow);
  return decision({
    rule: 'drop-wrong-record',
    because: 'Lists contradict the reply that named the recorded machine, and the purchase made none.',
    record: { type: 'status' },
    fields: { ...fields, attempt: stage.attempt, ...(before && { cost: before }) },
    finding: {
      phase: 'Pending',
      reason: 'RentalUncertain',
      detail: `${wronglyNamed(facts, machine)} Purchase ${machine.attempt} made no machine; another is rented.`,
      machine: { type: 'none' },
    },
    events: [noteDisowned(facts, machine, 'No machine of the purchase exists.')],
    requeue: { afterMs: 0 },
  });
}

/** Returns the Event when a record is dropped or moves to another machine. */
export function noteDisowned(
  facts: Pick<Facts, 'account'>,
  machine: OwnedMachine,
  outcome: string,
): EventNote {
  return {
    type: 'Warning',
    reason: 'RentalUncertain',
    action: 'Renting',
    note: `${wronglyNamed(facts, machine)} The operator leaves it untouched. ${outcome}`,
  };
}

/** Returns the reason why a record is dropped, as text. */
export function wronglyNamed(facts: Pick<Facts, 'account'>, { instanceId, attempt }: OwnedMachine): string {
  const why = keepsNoLabels(facts)
    ? 'but lists show that another one is of that purchase'
    : 'which does not carry the label of that purchase';
  return `The reply to purchase ${attempt} named machine ${instanceId}, ${why}.`;
}
