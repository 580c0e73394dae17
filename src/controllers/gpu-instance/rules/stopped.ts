import { parseDollars } from '../../../lib/money.ts';
import { formatTime, parseDuration } from '../../../lib/time.ts';
import { decision, type Rule } from '../decision.ts';
import { nextDeadline } from '../due.ts';
import { withRow } from '../machine-fields.ts';
import { factsOf } from '../recorded.ts';
import type { Action, Decision, Observed, Step } from '../types.ts';
import { endMachine } from './ending.ts';
import { PERMISSION_LOOK_MS } from './held.ts';
import type { Held, StateNamed } from './held-machine.ts';
import { machineFinding } from './machine-finding.ts';
import { isTimeUp, untilTimeIsUp } from './time-is-up.ts';
import { byRules } from './unwanted.ts';

const RULES: readonly Rule<Held<StateNamed<'stopped'>>>[] = [
  {
    name: 'stopped-as-wanted',
    because: 'powerState is Stopped.',
    decide: (observed, held) =>
      observed.object.spec.powerState === 'Stopped' ? asWanted(observed, held) : undefined,
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

export function whileStopped(observed: Observed, held: Held<StateNamed<'stopped'>>): Step {
  return byRules(RULES, observed, held);
}

/** A stopped machine is what is wanted: nothing is done, and its disk bills. */
export function asWanted(observed: Observed, held: Held<StateNamed<'stopped' | 'failing'>>): Decision {
  const { startRequestedAt: _over, ...fields } = withRow(observed, held.state.row);
  return decision({
    fields,
    finding: {
      phase: 'Stopped',
      reason: 'Stopped',
      ready: true,
      machine: { ...machineFinding(observed, held.state) },
    },
    look: nextDeadline(observed),
  });
}

/** It stays stopped, and is not destroyed for another that could not be rented either. */
function notAllowed(observed: Observed, held: Held<StateNamed<'stopped'>>): Decision | undefined {
  const permitted = factsOf(observed)?.permitted;
  if (permitted === true) return undefined;
  if (permitted === undefined) return decision({ look: { afterMs: PERMISSION_LOOK_MS } });
  const { startRequestedAt: _over, ...fields } = withRow(observed, held.state.row);
  return decision({
    fields,
    finding: {
      phase: 'Stopped',
      reason: 'NamespaceNotAllowed',
      machine: machineFinding(observed, held.state),
    },
  });
}

function withoutStart(observed: Observed, held: Held<StateNamed<'stopped'>>): Step | undefined {
  if (factsOf(observed)?.startUnsupported !== true) return undefined;
  const finding = machineFinding(observed, held.state);
  if (observed.object.spec.replacement.policy === 'Never') {
    return decision({
      fields: withRow(observed, held.state.row),
      finding: { phase: 'Failed', reason: 'StartUnsupported', machine: finding },
    });
  }
  return endMachine(observed, { ...held, reason: 'StartUnsupported', kind: 'lost', finding });
}

function startTimedOut(observed: Observed, held: Held<StateNamed<'stopped'>>): Step | undefined {
  const { startAnsweredAt } = observed.memory;
  if (startAnsweredAt === undefined) return undefined;
  if (!isTimeUp(observed, startAnsweredAt + startTimeoutMs(observed))) return undefined;
  const reason = held.state.row.interruptible === true ? 'Outbid' : 'CannotStart';
  return endMachine(observed, {
    ...held,
    reason,
    kind: 'lost',
    finding: machineFinding(observed, held.state),
  });
}

/** A start that was refused, by the account's limits or the service, is said and asked for again: it has not begun. */
function startRefused(observed: Observed, held: Held<StateNamed<'stopped'>>): Decision | undefined {
  const { refusal, notBefore } = observed.memory;
  const wait = notBefore - observed.steadyNow;
  if (wait <= 0 || !refusal) return undefined;
  const { startRequestedAt: _refused, ...fields } = withRow(observed, held.state.row);
  return decision({
    fields,
    finding: { ...refusal, phase: 'Stopped', machine: machineFinding(observed, held.state) },
    look: { afterMs: wait },
  });
}

/**
 * Asks for the start until it is answered once; after that the machine has its time. What was refused is shown as
 * refused while it is asked for again: a status that turns with each try would be written for ever.
 */
function start(observed: Observed, held: Held<StateNamed<'stopped'>>): Decision {
  const { startRequestedAt = formatTime(observed.now), ...fields } = withRow(observed, held.state.row);
  const { notBefore, startAnsweredAt, refusal } = observed.memory;
  const machine = machineFinding(observed, held.state);
  const wait = notBefore - observed.steadyNow;
  const asks = wait <= 0 && startAnsweredAt === undefined;
  const answeredAt = startAnsweredAt ?? observed.steadyNow;
  return decision({
    fields: refusal ? fields : { ...fields, startRequestedAt },
    finding: refusal
      ? { ...refusal, phase: 'Stopped', machine }
      : { phase: 'Starting', reason: 'Starting', machine },
    actions: asks ? [startAction(observed, held)] : [],
    record: { type: 'status' },
    look: wait > 0 ? { afterMs: wait } : untilTimeIsUp(observed, answeredAt + startTimeoutMs(observed)),
  });
}

function startAction({ object }: Observed, { machine, state }: Held<StateNamed<'stopped'>>): Action {
  const offered = parseDollars(object.status?.offerPricePerHour);
  return { type: 'start', instanceId: machine.instanceId, pricePerHour: state.row.pricePerHour ?? offered };
}

function startTimeoutMs({ object }: Observed): number {
  return parseDuration(object.spec.timeouts.start) ?? 0;
}
