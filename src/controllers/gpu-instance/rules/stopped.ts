import { parseDollars } from '../../../lib/money.ts';
import { formatTime, parseDuration } from '../../../lib/time.ts';
import { conditionState } from '../conditions.ts';
import { isTimeUp, untilTimeIsUp } from '../deadlines.ts';
import { decision, type Rule } from '../decision.ts';
import type { Facts, HeldFacts } from '../facts.ts';
import { idleStopOf } from '../idle.ts';
import { budgetStopOf, isToStop, nextDeadline } from '../limits.ts';
import { carriedFields, withRow } from '../machine-fields.ts';
import type { Decision, Step } from '../types.ts';
import { PERMISSION_RETRY_MS } from './blocked.ts';
import { contractEnded } from './contract-end.ts';
import { endMachine, type PlannedEnd, showBlockedEnd } from './ending.ts';
import { withKeptMachine } from './kept.ts';
import { machineFinding, type RecordedMachine, type StateIn } from './machine-finding.ts';
import { waitingEvents } from './purchase.ts';
import { byRules, replaceInHand } from './replacing.ts';

const RULES: readonly Rule<RecordedMachine<StateIn<'stopped'>>>[] = [
  {
    name: 'stopped-as-desired',
    because: 'powerState is Stopped.',
    decide: (facts, recorded) => (isToStop(facts) ? asDesired(facts, recorded) : undefined),
  },
  {
    name: 'start-not-allowed',
    because: 'The account decides which namespaces may start machines with it.',
    decide: notAllowed,
  },
  {
    name: 'account-suspended',
    because: 'The account is suspended, so it refuses every start.',
    decide: (facts, recorded) =>
      facts.account.facts?.suspended && facts.memory.startAnsweredAt === undefined
        ? notStarted(facts, recorded, 'Suspended')
        : undefined,
  },
  {
    name: 'contract-ended',
    because: 'The contract ended: the machine cannot start, but its disk may still be read.',
    decide: contractEnded,
  },
  {
    name: 'start-unsupported',
    because: 'The marketplace cannot start a stopped machine.',
    decide: withoutStart,
  },
  {
    name: 'start-timed-out',
    because: 'The machine did not start within spec.timeouts.start.',
    decide: startTimedOut,
  },
  {
    name: 'start-refused',
    because: 'The last start was refused, and its backoff is not over.',
    decide: startRefused,
  },
  { name: 'start', because: 'powerState is Running, and the machine is stopped.', decide: decideStart },
];

export function whileStopped(facts: Facts, recorded: RecordedMachine<StateIn<'stopped'>>): Step {
  return byRules(RULES, facts, recorded);
}

/** Returns the step for a machine that is stopped as desired: no action, and its disk bills. */
export function asDesired(
  facts: HeldFacts,
  recorded: RecordedMachine<StateIn<'stopped' | 'failing'>>,
): Decision {
  const { startRequestedAt: _over, ...fields } = withRow(facts, recorded.state.row);
  const stop = budgetStopOf(facts);
  const idle = idleStopOf(facts);
  const machine = { ...machineFinding(facts, recorded.state) };
  return decision({
    fields,
    finding: {
      phase: 'Stopped',
      ...(stop !== undefined
        ? { reason: 'BudgetReached', detail: `${stop} Its disk bills.` }
        : idle !== undefined
          ? { reason: 'Idle', detail: idle }
          : { reason: 'Stopped', ready: true }),
      machine,
    },
    requeue: nextDeadline(facts),
  });
}

/**
 * Returns the decision that keeps the machine stopped if its namespace may not use the account. A replacement could
 * not be rented either.
 */
function notAllowed(facts: HeldFacts, recorded: RecordedMachine<StateIn<'stopped'>>): Decision | undefined {
  const permitted = facts.account.facts?.permitted;
  if (permitted === true) return undefined;
  if (permitted === undefined) return decision({ requeue: { afterMs: PERMISSION_RETRY_MS } });
  return notStarted(facts, recorded, 'NotAllowedByAccount');
}

function notStarted(
  facts: HeldFacts,
  recorded: RecordedMachine<StateIn<'stopped'>>,
  reason: 'NotAllowedByAccount' | 'Suspended',
): Decision {
  const { startRequestedAt: _over, ...fields } = withRow(facts, recorded.state.row);
  const machine = machineFinding(facts, recorded.state);
  return decision({ fields, finding: { phase: 'Stopped', reason, machine } });
}

function withoutStart(facts: Facts, recorded: RecordedMachine<StateIn<'stopped'>>): Step | undefined {
  if (facts.account.facts?.startUnsupported !== true) return undefined;
  const finding = machineFinding(facts, recorded.state);
  if (facts.object.spec.replacement.policy === 'Never') {
    return decision({
      fields: withRow(facts, recorded.state.row),
      finding: { phase: 'Failed', reason: 'ReplacementOff', detail: NO_START, machine: finding },
    });
  }
  const planned = {
    ...recorded,
    ...({ reason: 'CannotStart', detail: NO_START, kind: 'lost', finding } as const),
  };
  return showBlockedEnd(facts, planned) ?? replaceInHand(facts, planned) ?? keptStopped(facts, planned);
}

const NO_START = 'The marketplace has no request that starts a stopped machine.';

/** Keeps the stopped machine and its disk while no other machine can be rented. */
function keptStopped(facts: Facts, planned: PlannedEnd): Step {
  const { reason, detail } = planned;
  const waits = decision({
    fields: carriedFields(facts),
    finding: {
      ...{ phase: 'Stopped', reason, detail, machine: planned.finding },
      atWork: { reason: 'ReplacementBlocked' },
    },
  });
  return withKeptMachine(facts, planned, waits);
}

function startTimedOut(facts: HeldFacts, recorded: RecordedMachine<StateIn<'stopped'>>): Step | undefined {
  const { startAnsweredAt } = facts.memory;
  if (startAnsweredAt === undefined) return undefined;
  if (!isTimeUp(facts, startAnsweredAt + startTimeoutMs(facts))) return undefined;
  const reason = recorded.state.row.interruptible === true ? 'SoldToOther' : 'CannotStart';
  return endMachine(facts, {
    ...recorded,
    reason,
    kind: 'lost',
    finding: machineFinding(facts, recorded.state),
  });
}

/**
 * Returns the decision until the next attempt after the account's limits or the service refused a start. The refusal
 * is reported; the start does not count as begun.
 */
function startRefused(facts: HeldFacts, recorded: RecordedMachine<StateIn<'stopped'>>): Decision | undefined {
  const { refusal, notBefore } = facts.memory;
  const wait = notBefore - facts.clock.steadyNow;
  if (wait <= 0 || !refusal) return undefined;
  const { startRequestedAt: _refused, ...fields } = withRow(facts, recorded.state.row);
  return decision({
    fields,
    finding: { ...refusal, phase: 'Stopped', machine: machineFinding(facts, recorded.state) },
    events: waitingEvents(facts, conditionState('False', refusal.reason, refusal.detail)),
    requeue: { afterMs: wait },
  });
}

/**
 * Requests the start until the marketplace answers; spec.timeouts.start then applies. A refused start stays reported
 * while it is retried: a status that changed with each attempt would be written forever.
 */
function decideStart(facts: HeldFacts, recorded: RecordedMachine<StateIn<'stopped'>>): Decision {
  const { startRequestedAt = formatTime(facts.clock.now), ...fields } = withRow(facts, recorded.state.row);
  const { notBefore, startAnsweredAt, refusal } = facts.memory;
  const machine = machineFinding(facts, recorded.state);
  const wait = notBefore - facts.clock.steadyNow;
  // A single list may wrongly show the machine as stopped; the next one decides.
  const isSettled = !recorded.state.row.unsettled.has('state');
  const asks = wait <= 0 && startAnsweredAt === undefined && isSettled;
  const answeredAt = startAnsweredAt ?? facts.clock.steadyNow;
  const offered = parseDollars(facts.object.status?.offerPricePerHour);
  const { pricePerHour: believed = offered, reports } = recorded.state.row;
  // Refusing a start does no harm, so the higher price counts even if it is not confirmed.
  const pricePerHour = believed && Math.max(believed, reports.pricePerHour?.value ?? 0);
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

function startTimeoutMs({ object }: Pick<Facts, 'object'>): number {
  return parseDuration(object.spec.timeouts.start) ?? 0;
}
