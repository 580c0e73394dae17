import { parseDuration, parseTime } from '../../../lib/time.ts';
import { findCondition } from '../../../runtime/conditions.ts';
import type { EventNote } from '../../../runtime/events.ts';
import { isTimeUp } from '../deadlines.ts';
import { decision, type Rule } from '../decision.ts';
import type { Facts, HeldFacts } from '../facts.ts';
import { isStopDue, nextDeadline, unreadableReplaceAt } from '../limits.ts';
import { withRow } from '../machine-fields.ts';
import type { Decision, Step } from '../types.ts';
import { canStop, notStopped } from '../unsupported.ts';
import { decideStop, endMachine } from './ending.ts';
import { endIdle, IDLE_END } from './idle.ts';
import {
  machineFinding,
  type RecordedMachine,
  reachability,
  type StateIn,
  seenFields,
  UNRECOGNIZED,
} from './machine-finding.ts';
import { byRules, risenPrice } from './replacing.ts';

const RUNNING_RULES: readonly Rule<RecordedMachine<StateIn<'running'>>>[] = [
  {
    name: 'stop',
    because: 'powerState is Stopped.',
    decide: (facts, recorded) =>
      isStopDue(facts) && canStop(facts) ? decideStop(facts, recorded) : undefined,
  },
  {
    name: 'sold-twice',
    because: 'The marketplace sold one offer twice, and the later machine is never reachable.',
    decide: soldTwice,
  },
  { ...IDLE_END, decide: endIdle },
  { name: 'run', because: 'The machine runs, as powerState requests.', decide: healthy },
];

export function whileRunning(facts: Facts, recorded: RecordedMachine<StateIn<'running'>>): Step {
  return byRules(RUNNING_RULES, facts, recorded);
}

/**
 * Returns the end of a running machine whose offer was sold twice, if it has not been reachable within
 * spec.timeouts.start.
 */
function soldTwice(facts: HeldFacts, recorded: RecordedMachine<StateIn<'running'>>): Step | undefined {
  const {
    object,
    machine: { isOfferSoldBefore },
    clock: { steadyNow, now },
  } = facts;
  const runningAt = parseTime(object.status?.runningAt);
  const before = findCondition(object.status?.conditions, 'Running');
  const wasReady = object.status?.readyAt !== undefined;
  if (!isOfferSoldBefore || wasReady || runningAt === undefined || before?.status !== 'False')
    return undefined;
  if (reachability(facts).status === 'True') return undefined;
  const wasReachable = (parseTime(before.lastTransitionTime) ?? 0) > runningAt;
  const patience = parseDuration(object.spec.timeouts.start) ?? 0;
  if (wasReachable || !isTimeUp(facts, steadyNow - now + runningAt + patience)) return undefined;
  const finding = machineFinding(facts, recorded.state);
  return endMachine(facts, { ...recorded, reason: 'SoldToOther', kind: 'lost', finding });
}

function healthy(facts: HeldFacts, recorded: RecordedMachine<StateIn<'running'>>): Decision {
  const answers = reachability(facts);
  const unstoppable = notStopped(facts);
  const isReachable = answers.status === 'True';
  const ready = isReachable && unstoppable === undefined;
  const reason = isReachable ? 'Ready' : answers.reason;
  const detail = risenPrice(facts, recorded);
  return decision({
    fields: seenFields(facts, recorded.state.row),
    finding: {
      phase: 'Running',
      reason,
      ...(!ready && { detail: answers.detail }),
      ...unstoppable,
      ready,
      machine: machineFinding(facts, recorded.state),
      ...(detail === undefined ? {} : { budget: { reason: 'PriceRaised', detail } }),
    },
    events: [...(ready ? becameReady(facts, recorded) : []), ...unreadableReplaceAt(facts)],
    requeue:
      facts.machine.isOfferSoldBefore && !ready
        ? { ...nextDeadline(facts), onList: true }
        : nextDeadline(facts),
  });
}

/** Returns the event when the machine becomes ready, each time. */
function becameReady(
  { object: { status } }: Pick<Facts, 'object'>,
  { state: { row } }: RecordedMachine<StateIn<'running'>>,
): readonly EventNote[] {
  if (findCondition(status?.conditions, 'Ready')?.status === 'True') return [];
  const note = `Machine ${row.id} runs and is ready.`;
  return [{ type: 'Normal', reason: 'InstanceReady', action: 'Provisioning', note }];
}

const UNRECOGNIZED_RULES: readonly Rule<RecordedMachine<StateIn<'unrecognized'>>>[] = [
  {
    name: 'stop-unrecognized',
    because: 'powerState is Stopped, and a machine in an unknown state may bill.',
    decide: (facts, recorded) =>
      isStopDue(facts) && canStop(facts) ? decideStop(facts, recorded) : undefined,
  },
  {
    name: 'show-word',
    because: 'The state is unknown to this version, so it is reported and never acted on.',
    decide: show,
  },
];

export function whileUnrecognized(facts: Facts, recorded: RecordedMachine<StateIn<'unrecognized'>>): Step {
  return byRules(UNRECOGNIZED_RULES, facts, recorded);
}

function show(facts: HeldFacts, recorded: RecordedMachine<StateIn<'unrecognized'>>): Decision {
  const fields = withRow(facts, recorded.state.row);
  return decision({
    fields,
    finding: {
      phase: 'Loading',
      reason: 'NotRunning',
      detail: UNRECOGNIZED,
      machine: machineFinding(facts, recorded.state),
    },
    requeue: nextDeadline(facts),
  });
}
