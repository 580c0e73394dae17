import type { Reason } from '../../../api/v1alpha1/reasons.ts';
import { dueFuse, dueText } from '../../../instance/machine-fuses.ts';
import { formatTime, parseDuration } from '../../../lib/time.ts';
import { deadlineAfter, isTimeUp, rentedSince, untilTimeIsUp } from '../deadlines.ts';
import { decision } from '../decision.ts';
import type { Facts, HeldFacts } from '../facts.ts';
import { destroyAnsweredAt, goneProof, missingSince } from '../gone.ts';
import { carriedFields } from '../machine-fields.ts';
import type { Decision, Step } from '../types.ts';
import { ended, endMachine, isTurnOf, kindOf, reasonOfEnding } from './ending.ts';
import { machineFinding, type RecordedMachine, type StateIn } from './machine-finding.ts';

/**
 * Returns the step for a recorded machine that is missing from the latest complete list. While the account may not be
 * used, absence is only reported: it counts as vanished once a key has proved the login again.
 */
export function whileAbsent(facts: HeldFacts, recorded: RecordedMachine<StateIn<'absent'>>): Step {
  const begun = reasonOfEnding(facts);
  if (!mayBelieve(facts, begun))
    return facts.machine.list && wasSeen(facts) ? missing(facts, recorded) : RETRY_LATER;
  if (begun === undefined && facts.account.state !== 'ready')
    return wasSeen(facts) ? missing(facts, recorded) : RETRY_LATER;
  const { machine } = recorded;
  const { instanceId } = machine;
  switch (goneProof(facts, instanceId).type) {
    case 'gone':
      return afterGone(facts, machine, begun);
    case 'needsRead':
      return { type: 'read', requests: [{ type: 'machine', instanceId }] };
    case 'needsLogin':
      return { type: 'read', requests: [{ type: 'loginProof' }] };
    case 'present':
    case 'waiting':
      return neverSeen(facts, recorded) ?? missing(facts, recorded);
  }
}

/** Returns the end of a machine that is proven gone, dated when its billing ended. */
function afterGone(facts: HeldFacts, machine: RecordedMachine['machine'], begun: Reason | undefined): Step {
  const { instanceId } = machine;
  const kind = begun === undefined ? 'lost' : kindOf(begun);
  const planned = { machine, reason: begun ?? 'Vanished', kind } as const;
  const answeredAt = destroyAnsweredAt(facts, instanceId);
  if (answeredAt !== undefined) return ended(facts, planned, answeredAt);
  const endedAt = missingSince(facts, instanceId);
  if (endedAt === undefined) return RETRY_LATER;
  const end = begun === undefined ? endByFuse(facts, instanceId, endedAt) : undefined;
  const { reason = planned.reason, detail, at = endedAt } = end ?? {};
  const step = ended(facts, { ...planned, reason, detail }, at, facts.clock.serviceNow);
  return detail === undefined ? step : withNote(step, reason, detail);
}

const RETRY_LATER = decision({ requeue: { onList: true, afterMs: 10_000 } });

/** Returns true if the machine was listed before: a new rental is not listed at once. */
function wasSeen({ object }: Pick<Facts, 'object'>): boolean {
  return object.status?.actualStatus !== undefined;
}

/**
 * Returns true if the absence may be acted on: a list arrived, and the operator ended the machine itself, the breaker
 * is closed, or this object has its turn after the breaker's hold.
 */
function mayBelieve(
  { object, machine: { list }, account }: Pick<Facts, 'object' | 'machine' | 'account'>,
  begun: Reason | undefined,
): boolean {
  if (list === undefined) return false;
  const breaker = account.facts?.breaker;
  return begun !== undefined || breaker?.type === 'closed' || isTurnOf(object, breaker);
}

function neverSeen(facts: HeldFacts, recorded: RecordedMachine<StateIn<'absent'>>): Step | undefined {
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

/** Reports a machine when two consecutive lists lack it; that alone does not prove that it is gone. */
function missing(
  facts: Pick<Facts, 'object' | 'machine' | 'clock'>,
  recorded: RecordedMachine<StateIn<'absent'>>,
): Step {
  const { instanceId } = recorded.machine;
  const lists = facts.machine.absences.get(instanceId)?.lists ?? [];
  const requeue = { onList: true, afterMs: facts.clock.constants.listLagMs };
  if (lists.length < 2) return decision({ requeue });
  const since = missingSince(facts, instanceId);
  return decision({
    fields: {
      ...carriedFields(facts),
      ...(since !== undefined && { missingSince: formatTime(since) }),
    },
    finding: {
      phase: 'Lost',
      reason: 'NotRunning',
      detail: `Machine ${instanceId} is missing from the lists of the marketplace.`,
      machine: machineFinding(facts, recorded.state),
    },
    requeue,
  });
}

function withNote(step: Decision, reason: Reason, note: string): Decision {
  return { ...step, events: [{ type: 'Warning', reason, action: 'Replacing', note }, ...step.events] };
}

interface EndByFuse {
  readonly reason: Reason;
  readonly detail?: string;
  /** End of billing, in service time. */
  readonly at?: number;
}

/**
 * Returns the end of a machine whose own fuse was due when lists first lacked it; undefined otherwise. Whatever ended
 * it, the same proof shows that it is gone. `missingAt`: that time in service time, the latest possible end.
 */
function endByFuse(
  { object, clock, machine: { absences, lease } }: Pick<Facts, 'object' | 'clock' | 'machine'>,
  instanceId: string,
  missingAt: number,
): EndByFuse | undefined {
  const first = absences.get(instanceId)?.lists.find(Number.isFinite);
  const toWall = clock.now - clock.steadyNow;
  const renewedAt = lease?.renewedAt === undefined ? undefined : toWall + lease.renewedAt;
  const due = dueFuse(object, toWall + (first ?? clock.steadyNow), renewedAt);
  if (!due) return undefined;
  const serviceOffset = clock.believedNow - clock.now;
  const at = Math.min(missingAt, due.at + serviceOffset);
  return { reason: 'EndedItself', detail: dueText(instanceId, due), at };
}
