import { parseDollars } from '../../../lib/money.ts';
import { formatTime, parseDuration } from '../../../lib/time.ts';
import { decision, type Rule } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { isTimeUp, nextDeadline, untilTimeIsUp } from '../limits.ts';
import { withRow } from '../status.ts';
import type { Decision, Step } from '../types.ts';
import { PERMISSION_RETRY_MS } from './blocked.ts';
import { endMachine } from './ending.ts';
import { machineFinding, type RecordedMachine, type StateIn } from './machine-finding.ts';
import { byRules } from './replacing.ts';

const RULES: readonly Rule<RecordedMachine<StateIn<'stopped'>>>[] = [
  {
    name: 'stopped-as-desired',
    because: 'powerState is Stopped.',
    decide: (facts, recorded) =>
      facts.object.spec.powerState === 'Stopped' ? asDesired(facts, recorded) : undefined,
  },
  {
    name: 'start-not-allowed',
    because: 'A running machine spends more than a stopped one: the account decides who may.',
    decide: notAllowed,
  },
  {
    name: 'start-unsupported',
    because: 'The service has no start; only another machine runs again.',
    decide: withoutStart,
  },
  {
    name: 'start-timed-out',
    because: 'A start that does not work in time will not work.',
    decide: startTimedOut,
  },
  { name: 'start-refused', because: 'What was refused a moment ago is refused again.', decide: startRefused },
  { name: 'start', because: 'powerState is Running.', decide: start },
];

export function whileStopped(facts: Facts, recorded: RecordedMachine<StateIn<'stopped'>>): Step {
  return byRules(RULES, facts, recorded);
}

/** A stopped machine is what is wanted: nothing is done, and its disk bills. */
export function asDesired(facts: Facts, recorded: RecordedMachine<StateIn<'stopped' | 'failing'>>): Decision {
  const { startRequestedAt: _over, ...fields } = withRow(facts, recorded.state.row);
  return decision({
    fields,
    finding: {
      phase: 'Stopped',
      reason: 'Stopped',
      ready: true,
      machine: { ...machineFinding(facts, recorded.state) },
    },
    requeue: nextDeadline(facts),
  });
}

/** It stays stopped, and is not destroyed for another that could not be rented either. */
function notAllowed(facts: Facts, recorded: RecordedMachine<StateIn<'stopped'>>): Decision | undefined {
  const permitted = facts.accountFacts?.permitted;
  if (permitted === true) return undefined;
  if (permitted === undefined) return decision({ requeue: { afterMs: PERMISSION_RETRY_MS } });
  const { startRequestedAt: _over, ...fields } = withRow(facts, recorded.state.row);
  return decision({
    fields,
    finding: {
      phase: 'Stopped',
      reason: 'NamespaceNotAllowed',
      machine: machineFinding(facts, recorded.state),
    },
  });
}

function withoutStart(facts: Facts, recorded: RecordedMachine<StateIn<'stopped'>>): Step | undefined {
  if (facts.accountFacts?.startUnsupported !== true) return undefined;
  const finding = machineFinding(facts, recorded.state);
  if (facts.object.spec.replacement.policy === 'Never') {
    return decision({
      fields: withRow(facts, recorded.state.row),
      finding: { phase: 'Failed', reason: 'StartUnsupported', machine: finding },
    });
  }
  return endMachine(facts, { ...recorded, reason: 'StartUnsupported', kind: 'lost', finding });
}

function startTimedOut(facts: Facts, recorded: RecordedMachine<StateIn<'stopped'>>): Step | undefined {
  const { startAnsweredAt } = facts.memory;
  if (startAnsweredAt === undefined) return undefined;
  if (!isTimeUp(facts, startAnsweredAt + startTimeoutMs(facts))) return undefined;
  const reason = recorded.state.row.interruptible === true ? 'Outbid' : 'CannotStart';
  return endMachine(facts, {
    ...recorded,
    reason,
    kind: 'lost',
    finding: machineFinding(facts, recorded.state),
  });
}

/** A start that was refused, by the account's limits or the service, is said and asked for again: it has not begun. */
function startRefused(facts: Facts, recorded: RecordedMachine<StateIn<'stopped'>>): Decision | undefined {
  const { refusal, notBefore } = facts.memory;
  const wait = notBefore - facts.steadyNow;
  if (wait <= 0 || !refusal) return undefined;
  const { startRequestedAt: _refused, ...fields } = withRow(facts, recorded.state.row);
  return decision({
    fields,
    finding: { ...refusal, phase: 'Stopped', machine: machineFinding(facts, recorded.state) },
    requeue: { afterMs: wait },
  });
}

/**
 * Asks for the start until it is answered once; after that the machine has its time. What was refused is shown as
 * refused while it is asked for again: a status that turns with each try would be written for ever.
 */
function start(facts: Facts, recorded: RecordedMachine<StateIn<'stopped'>>): Decision {
  const { startRequestedAt = formatTime(facts.now), ...fields } = withRow(facts, recorded.state.row);
  const { notBefore, startAnsweredAt, refusal } = facts.memory;
  const machine = machineFinding(facts, recorded.state);
  const wait = notBefore - facts.steadyNow;
  const asks = wait <= 0 && startAnsweredAt === undefined;
  const answeredAt = startAnsweredAt ?? facts.steadyNow;
  const offered = parseDollars(facts.object.status?.offerPricePerHour);
  const pricePerHour = recorded.state.row.pricePerHour ?? offered;
  return decision({
    fields: refusal ? fields : { ...fields, startRequestedAt },
    finding: refusal
      ? { ...refusal, phase: 'Stopped', machine }
      : { phase: 'Starting', reason: 'Starting', machine },
    actions: asks ? [{ type: 'start', instanceId: recorded.machine.instanceId, pricePerHour }] : [],
    record: { type: 'status' },
    requeue: wait > 0 ? { afterMs: wait } : untilTimeIsUp(facts, answeredAt + startTimeoutMs(facts)),
  });
}

function startTimeoutMs({ object }: Facts): number {
  return parseDuration(object.spec.timeouts.start) ?? 0;
}
