import type { Machine } from '../../../accounts/beliefs/machine.ts';
import { LOADING_HARD_CAP } from '../../../api/v1alpha1/gpu-instance-spec.ts';
import { recordedState } from '../../../instance/machine-state.ts';
import { parseDollars } from '../../../lib/money.ts';
import { formatTime, parseDuration, parseTime } from '../../../lib/time.ts';
import { deadlineAfter, isTimeUp, rentedSince, statusSeenSince, untilTimeIsUp } from '../deadlines.ts';
import { decision, type Rule } from '../decision.ts';
import type { Facts, HeldFacts } from '../facts.ts';
import { isStopDue, nextDeadline } from '../limits.ts';
import { carriedFields, withRow } from '../machine-fields.ts';
import type { Decision, Step } from '../types.ts';
import { canStop } from '../unsupported.ts';
import { decideStop, endMachine } from './ending.ts';
import { bootReason, machineFinding, type RecordedMachine, type StateIn } from './machine-finding.ts';
import { byRules, risenPrice } from './replacing.ts';

const RULES: readonly Rule<RecordedMachine<StateIn<'booting'>>>[] = [
  {
    name: 'stop-while-booting',
    because: 'powerState is Stopped, and a booting machine bills like a running one.',
    decide: (facts, recorded) =>
      isStopDue(facts) && canStop(facts) ? decideStop(facts, recorded) : undefined,
  },
  {
    name: 'boot-timed-out',
    because: 'A machine that does not boot within its timeout only costs money.',
    decide: timedOut,
  },
  { name: 'boot', because: 'The machine boots and is within its timeout.', decide: wait },
];

export function whileBooting(facts: Facts, recorded: RecordedMachine<StateIn<'booting'>>): Step {
  return byRules(RULES, facts, recorded);
}

interface Deadline {
  readonly at: number;
  readonly reason: 'ProvisioningTimedOut' | 'LoadingTimedOut';
}

/** Returns the deadline of this step of the boot. Progress extends it, up to the hard limit. */
export function bootDeadline(
  facts: Pick<Facts, 'object' | 'machine' | 'clock' | 'memory'>,
  row: Machine,
): Deadline {
  const { spec, status } = facts.object;
  const isLoading = bootReason(row) === 'Loading';
  // A machine that returns from loading to `created` gets no new provisioning timeout, unless it has run, as
  // after a start.
  const hasRun = status?.runningAt !== undefined;
  const wasLoading =
    !hasRun && status?.actualStatus !== undefined && bootReason(recordedState(status)) === 'Loading';
  if (!isLoading && !wasLoading) {
    const since = hasRun ? statusSeenSince(facts, row) : rentedSince(facts, row.startedAt);
    const at = deadlineAfter(facts, since, durationMs(spec.timeouts.provisioning));
    return { at, reason: 'ProvisioningTimedOut' };
  }
  const since = isLoading
    ? statusSeenSince(facts, row)
    : (parseTime(status?.actualStatusSince) ?? facts.clock.steadyNow);
  const progressAt = Math.max(since, facts.memory.progress?.at ?? 0, facts.memory.progressOnRecord ?? 0);
  const at = Math.min(
    deadlineAfter(facts, progressAt, durationMs(spec.timeouts.loading)),
    deadlineAfter(facts, since, durationMs(LOADING_HARD_CAP)),
  );
  return { at, reason: 'LoadingTimedOut' };
}

function timedOut(facts: HeldFacts, recorded: RecordedMachine<StateIn<'booting'>>): Step | undefined {
  const deadline = bootDeadline(facts, recorded.state.row);
  if (!isTimeUp(facts, deadline.at)) return undefined;
  return endMachine(facts, {
    ...recorded,
    reason: deadline.reason,
    kind: 'lost',
    finding: machineFinding(facts, recorded.state),
  });
}

/** Waits. Writes the status when the boot advances, not at each list. */
function wait(facts: HeldFacts, recorded: RecordedMachine<StateIn<'booting'>>): Decision {
  const { row } = recorded.state;
  const reason = bootReason(row);
  const risen = risenPrice(facts, recorded);
  const untilTimedOut = untilTimeIsUp(facts, bootDeadline(facts, row).at);
  const times = [untilTimedOut.afterMs, nextDeadline(facts).afterMs].filter((time) => time !== undefined);
  return decision({
    fields: fieldsFor(facts, row),
    finding: {
      phase: reason === 'Provisioning' ? 'Provisioning' : 'Loading',
      reason,
      machine: machineFinding(facts, recorded.state),
      ...(risen !== undefined && { budget: { reason: 'PriceRaised', detail: risen } }),
    },
    requeue: times.length === 0 ? untilTimedOut : { ...untilTimedOut, afterMs: Math.min(...times) },
  });
}

/**
 * Returns the fields to record during a boot. Until it loads, a new machine has nothing to record except a changed
 * price. A machine that ran before is always recorded, because its recreation must survive a restart. Progress is
 * recorded once a quarter of the timeout has passed since the last record, not at each poll.
 */
function fieldsFor(facts: HeldFacts, row: Machine): ReturnType<typeof withRow> {
  const isRepriced =
    row.reports.pricePerHour !== undefined ||
    (row.pricePerHour !== undefined &&
      row.pricePerHour !== parseDollars(facts.object.status?.cost?.pricePerHour));
  const hasChange = bootReason(row) === 'Loading' || isRepriced;
  if (!hasChange)
    return facts.object.status?.runningAt === undefined ? carriedFields(facts) : withRow(facts, row);
  const fields = withRow(facts, row);
  const seen = facts.memory.progress?.at;
  if (seen === undefined) return fields;
  const seenAt = facts.clock.now - (facts.clock.steadyNow - seen);
  const written = parseTime(fields.progressAt) ?? parseTime(fields.actualStatusSince) ?? seenAt;
  const patience = durationMs(facts.object.spec.timeouts.loading);
  return seenAt > written + patience / 4 ? { ...fields, progressAt: formatTime(seenAt) } : fields;
}

/** Returns a duration of the spec in milliseconds; the CRD accepts no other text. */
function durationMs(text: string): number {
  return parseDuration(text) ?? 0;
}
