import { endCost } from '../../../instance/cost.ts';
import { parseTime } from '../../../lib/time.ts';
import type { EventNote } from '../../../runtime/events.ts';
import { decision } from '../decision.ts';
import type { Facts, OwnedMachine } from '../facts.ts';
import { disownConfirmation } from '../record-proof.ts';
import type { Stage } from '../stage.ts';
import { carriedFields, withoutMachine } from '../status.ts';
import type { Decision, Step } from '../types.ts';

/** Lists come at each poll; a failing one must not leave the object asleep. */
const LABEL_RETRY_MS = 30_000;

/** Waits for the list that settles the label of the recorded machine: one list alone neither confirms nor drops a record. */
export const awaitSecondLabel = (): Decision =>
  decision({
    rule: 'await-second-list',
    because: 'One list neither confirms nor drops a label.',
    requeue: { onList: true, afterMs: LABEL_RETRY_MS },
  });

/** Returns the missing read, or the wait for lists and read to agree, before the record of this machine is given up. */
export function confirmDisowned(
  facts: Pick<Facts, 'machine' | 'purchase' | 'memory'>,
  machine: OwnedMachine,
): Step | undefined {
  const confirmation = disownConfirmation(facts, machine);
  if (confirmation === 'confirmed') return undefined;
  return confirmation === 'unconfirmed' ? awaitSecondLabel() : confirmation;
}

/**
 * Drops the record of a machine that is not of its purchase, once lists prove that the purchase made no machine. The
 * machine is neither stopped nor relabelled nor destroyed; from now on it counts as foreign.
 */
export function dropRecord(
  facts: Facts,
  machine: OwnedMachine,
  stage: Extract<Stage, { type: 'unrented' }>,
): Step {
  const missing = confirmDisowned(facts, machine);
  if (missing) return missing;
  const { cost, ...fields } = withoutMachine(carriedFields(facts));
  // Nothing was rented: what the record accrued since the reply is taken back.
  const before = endCost(cost, parseTime(cost?.since) ?? facts.clock.now);
  return decision({
    rule: 'drop-wrong-record',
    because: 'The recorded machine does not carry the label of its purchase, which made no machine.',
    record: { type: 'status' },
    fields: { ...fields, attempt: stage.attempt, ...(before && { cost: before }) },
    finding: {
      phase: 'Pending',
      reason: 'RentalUncertain',
      detail: `${wronglyNamed(machine)} Purchase ${machine.attempt} made no machine; another is rented.`,
      machine: { type: 'none' },
    },
    events: [noteDisowned(machine, 'No machine of the purchase exists.')],
    requeue: { afterMs: 0 },
  });
}

/** Returns the Event when a record is dropped or moves to another machine. */
export function noteDisowned(machine: OwnedMachine, outcome: string): EventNote {
  return {
    type: 'Warning',
    reason: 'RentalUncertain',
    action: 'Renting',
    note: `${wronglyNamed(machine)} The operator leaves it untouched. ${outcome}`,
  };
}

/** Returns the reason why a record is given up, as text. */
export function wronglyNamed({ instanceId, attempt }: OwnedMachine): string {
  return `The reply to purchase ${attempt} named machine ${instanceId}, which does not carry the label of that purchase.`;
}
