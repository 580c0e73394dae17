import type { Machine } from '../../../accounts/beliefs/machine.ts';
import { parseTime } from '../../../lib/time.ts';
import { type Added, decision, type StatusDecision } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { nextDeadline } from '../limits.ts';
import { withRow } from '../machine-fields.ts';
import type { Step } from '../types.ts';
import { type PlannedEnd, showBlockedEnd } from './ending.ts';
import { withKeptMachine } from './kept.ts';
import { machineFinding, type RecordedMachine, type StateIn } from './machine-finding.ts';
import { replaceInHand } from './replacing.ts';

/**
 * Returns the step after the end of the contract. A stopped machine cannot be started then, and its disk may be
 * readable for days: it is replaced if another can be rented, or kept for a person. Undefined before the end.
 */
export function contractEnded(
  facts: Facts,
  recorded: RecordedMachine<StateIn<'stopped' | 'failing'>>,
): Step | undefined {
  const { row } = recorded.state;
  const { object } = facts;
  if (row.unsettled.has('state') || !isContractOver(facts, row)) return undefined;
  const finding = machineFinding(facts, recorded.state);
  const fields = withRow(facts, row);
  if (object.spec.onContractEnd === 'Keep')
    return decision({
      fields,
      finding: { phase: 'Stopped', reason: 'ContractEnd', machine: finding },
      requeue: nextDeadline(facts),
    });
  const { machine } = recorded;
  const planned: PlannedEnd = { machine, reason: 'ContractEnd', kind: 'lost', finding };
  const kept = decision({
    fields,
    finding: {
      ...{ phase: 'Stopped', reason: 'ContractEnd', machine: finding },
      atWork: { reason: 'ReplacementBlocked' },
    },
  });
  return (
    showBlockedEnd(facts, planned) ?? replaceInHand(facts, planned) ?? withKeptMachine(facts, planned, kept)
  );
}

/** Returns true if the contract is over, by lists that agree on its end and by the record. */
export function isContractOver(
  { object, clock: { confirmedNow } }: Pick<Facts, 'object' | 'clock'>,
  row: Machine | undefined,
): boolean {
  const recorded = parseTime(object.status?.contractEnd?.at);
  if (row === undefined || row.unsettled.has('endsAt')) return false;
  const { endsAt } = row;
  if (endsAt === undefined || recorded === undefined || confirmedNow === undefined) return false;
  return confirmedNow >= Math.max(endsAt, recorded);
}

/** Returns the event that the contract ends within a day, for the decision that records it. */
export function addedContractEnd({ object }: Pick<Facts, 'object'>, decided: StatusDecision): Added {
  const { spec, status } = object;
  const { contractEnd, instanceId } = decided.status.fields;
  const wasReported = status?.contractEnd?.at === contractEnd?.at && status?.contractEnd?.isReported === true;
  if (contractEnd?.isReported !== true || wasReported) return {};
  const follows =
    spec.onContractEnd === 'Keep'
      ? 'It is kept stopped then (spec.onContractEnd: Keep).'
      : 'It is replaced then and its disk is lost; to keep it, set spec.onContractEnd: Keep.';
  const note = `The rental contract of machine ${instanceId} ends at ${contractEnd.at}. ${follows}`;
  return { events: [{ type: 'Warning', reason: 'ContractEnd', action: 'Renting', note }] };
}
