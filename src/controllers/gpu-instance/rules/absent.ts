import type { Reason } from '../../../api/v1alpha1/reasons.ts';
import { parseDuration } from '../../../lib/time.ts';
import { decision } from '../decision.ts';
import { goneProof } from '../gone.ts';
import { judgedTime } from '../judged-time.ts';
import { carriedFields, deadlineAfter, heldSince } from '../machine-fields.ts';
import { factsOf } from '../recorded.ts';
import type { Observed, Step } from '../types.ts';
import { ended, endMachine, reasonOfEnding } from './ending.ts';
import type { Held, StateNamed } from './held-machine.ts';
import { machineFinding } from './machine-finding.ts';
import { isTimeUp, untilTimeIsUp } from './time-is-up.ts';

/** A recorded machine that the latest complete list does not show. */
export function whileAbsent(observed: Observed, held: Held<StateNamed<'absent'>>): Step {
  const begun = reasonOfEnding(observed);
  if (!mayBelieve(observed, begun))
    return observed.list && wasSeen(observed) ? missing(observed, held) : LOOK_AGAIN;
  if (begun === undefined && observed.account.state !== 'ready')
    return wasSeen(observed) ? missing(observed, held) : LOOK_AGAIN;
  return byProof(observed, held, begun);
}

const LOOK_AGAIN = decision({ look: { onList: true, afterMs: 10_000 } });

function byProof(observed: Observed, held: Held<StateNamed<'absent'>>, begun: Reason | undefined): Step {
  const { instanceId } = held.machine;
  const proof = goneProof(observed, instanceId);
  switch (proof.type) {
    case 'gone':
      return vanished(observed, held, begun ?? 'Vanished');
    case 'needsRead':
      return { type: 'read', requests: [{ type: 'machine', instanceId }] };
    case 'needsLogin':
      return { type: 'read', requests: [{ type: 'loginProof' }] };
    case 'present':
    case 'waiting':
      return neverSeen(observed, held) ?? missing(observed, held);
  }
}

/** A machine that was rented a moment ago is not listed at once. */
function wasSeen({ object }: Observed): boolean {
  return object.status?.actualStatus !== undefined;
}

function vanished(observed: Observed, { machine }: Held<StateNamed<'absent'>>, reason: Reason): Step {
  const endedAt = lastSeenBefore(observed, machine.instanceId);
  if (endedAt === undefined) return LOOK_AGAIN;
  return ended(observed, { machine, reason, kind: 'lost' }, endedAt);
}

/**
 * While the breaker is open, no list counts but for what we ended ourselves; after its hold, one object at a time. While
 * the account may not be used, what is missing is said, and counts as vanished only once a key has proved the login again.
 */
function mayBelieve(observed: Observed, begun: Reason | undefined): boolean {
  if (observed.list === undefined) return false;
  const breaker = factsOf(observed)?.breaker;
  const hasTurn = breaker?.type === 'slow' && breaker.turn === observed.uid;
  return begun !== undefined || breaker?.type === 'closed' || hasTurn;
}

function neverSeen(observed: Observed, held: Held<StateNamed<'absent'>>): Step | undefined {
  const { spec } = observed.object;
  if (wasSeen(observed)) return undefined;
  const since = heldSince(observed, undefined);
  const deadline = deadlineAfter(observed, since, parseDuration(spec.timeouts.provisioning) ?? 0);
  const finding = { type: 'booting', held: 'Rented', reason: 'Provisioning' } as const;
  if (isTimeUp(observed, deadline)) {
    return endMachine(observed, {
      machine: held.machine,
      reason: 'ProvisioningTimedOut',
      kind: 'lost',
      finding,
    });
  }
  return decision({
    fields: carriedFields(observed),
    finding: { phase: 'Provisioning', reason: 'Provisioning', machine: finding },
    look: { onList: true, ...untilTimeIsUp(observed, deadline) },
  });
}

/** Two lists in a row without it are said; whether it is gone is another question. */
function missing(observed: Observed, held: Held<StateNamed<'absent'>>): Step {
  const lists = observed.absences.get(held.machine.instanceId)?.lists ?? [];
  const look = { onList: true, afterMs: observed.constants.listLagMs };
  if (lists.length < 2) return decision({ look });
  return decision({
    fields: carriedFields(observed),
    finding: {
      phase: 'Lost',
      reason: 'NotRunning',
      detail: `Machine ${held.machine.instanceId} is missing from the lists of the marketplace.`,
      machine: machineFinding(observed, held.state),
    },
    look,
  });
}

/**
 * Billing of a vanished machine ended between the last list that showed it and the first that did not, by the clock
 * that dates machines. Undefined while that cannot be told; the next list tells.
 */
function lastSeenBefore(observed: Observed, instanceId: number): number | undefined {
  const now = judgedTime(observed);
  const first = observed.absences.get(instanceId)?.lists.find(Number.isFinite);
  if (now === undefined || first === undefined) return now;
  return now - Math.max(0, observed.steadyNow - first);
}
