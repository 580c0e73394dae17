import type { Reason } from '../../../api/v1alpha1/reasons.ts';
import { parseDuration } from '../../../lib/time.ts';
import { decision } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { goneProof } from '../gone.ts';
import { isTimeUp, untilTimeIsUp } from '../limits.ts';
import { carriedFields, deadlineAfter, rentedSince } from '../status.ts';
import type { Step } from '../types.ts';
import { ended, endMachine, reasonOfEnding } from './ending.ts';
import { machineFinding, type RecordedMachine, type StateIn } from './machine-finding.ts';

/** Returns the step for a recorded machine that is missing from the latest complete list. */
export function whileAbsent(facts: Facts, recorded: RecordedMachine<StateIn<'absent'>>): Step {
  const begun = reasonOfEnding(facts);
  if (!mayBelieve(facts, begun))
    return facts.machine.list && wasSeen(facts) ? missing(facts, recorded) : RETRY_LATER;
  if (begun === undefined && facts.account.state !== 'ready')
    return wasSeen(facts) ? missing(facts, recorded) : RETRY_LATER;
  const { machine } = recorded;
  const { instanceId } = machine;
  switch (goneProof(facts, instanceId).type) {
    case 'gone': {
      const endedAt = lastSeenBefore(facts, instanceId);
      if (endedAt === undefined) return RETRY_LATER;
      return ended(
        facts,
        { machine, reason: begun ?? 'Vanished', kind: 'lost' },
        endedAt,
        facts.clock.serviceNow,
      );
    }
    case 'needsRead':
      return { type: 'read', requests: [{ type: 'machine', instanceId }] };
    case 'needsLogin':
      return { type: 'read', requests: [{ type: 'loginProof' }] };
    case 'present':
    case 'waiting':
      return neverSeen(facts, recorded) ?? missing(facts, recorded);
  }
}

const RETRY_LATER = decision({ requeue: { onList: true, afterMs: 10_000 } });

/** Returns true if the machine was listed before: a new rental is not listed at once. */
function wasSeen({ object }: Pick<Facts, 'object'>): boolean {
  return object.status?.actualStatus !== undefined;
}

/**
 * Returns true if a missing machine counts. While the breaker is open only machines that the operator ended count;
 * after its hold, one object at a time. While the account may not be used, absence is reported, and counts as vanished
 * only after a key has proved the login again.
 */
function mayBelieve(
  facts: Pick<Facts, 'machine' | 'account' | 'purchase'>,
  begun: Reason | undefined,
): boolean {
  if (facts.machine.list === undefined) return false;
  const breaker = facts.account.facts?.breaker;
  const hasTurn = breaker?.type === 'slow' && breaker.turn === facts.purchase.uid;
  return begun !== undefined || breaker?.type === 'closed' || hasTurn;
}

function neverSeen(facts: Facts, recorded: RecordedMachine<StateIn<'absent'>>): Step | undefined {
  const { spec } = facts.object;
  if (wasSeen(facts)) return undefined;
  const since = rentedSince(facts, undefined);
  const deadline = deadlineAfter(facts, since, parseDuration(spec.timeouts.provisioning) ?? 0);
  const finding = { type: 'booting', origin: 'Rented', reason: 'Provisioning' } as const;
  if (isTimeUp(facts, deadline)) {
    return endMachine(facts, {
      machine: recorded.machine,
      reason: 'ProvisioningTimedOut',
      kind: 'lost',
      finding,
    });
  }
  return decision({
    fields: carriedFields(facts),
    finding: { phase: 'Provisioning', reason: 'Provisioning', machine: finding },
    requeue: { onList: true, ...untilTimeIsUp(facts, deadline) },
  });
}

/** Reports a machine that is missing from two consecutive lists; that alone does not prove that it is gone. */
function missing(
  facts: Pick<Facts, 'object' | 'machine' | 'clock'>,
  recorded: RecordedMachine<StateIn<'absent'>>,
): Step {
  const lists = facts.machine.absences.get(recorded.machine.instanceId)?.lists ?? [];
  const requeue = { onList: true, afterMs: facts.clock.constants.listLagMs };
  if (lists.length < 2) return decision({ requeue });
  return decision({
    fields: carriedFields(facts),
    finding: {
      phase: 'Lost',
      reason: 'NotRunning',
      detail: `Machine ${recorded.machine.instanceId} is missing from the lists of the marketplace.`,
      machine: machineFinding(facts, recorded.state),
    },
    requeue,
  });
}

/**
 * Returns the end of billing of a vanished machine: between the last list with it and the first without, by the clock
 * that dates machines. Undefined while that is unknown; the next list decides.
 */
function lastSeenBefore(facts: Pick<Facts, 'machine' | 'clock'>, instanceId: string): number | undefined {
  const now = facts.clock.serviceNow;
  const first = facts.machine.absences.get(instanceId)?.lists.find(Number.isFinite);
  if (now === undefined || first === undefined) return now;
  return now - Math.max(0, facts.clock.steadyNow - first);
}
