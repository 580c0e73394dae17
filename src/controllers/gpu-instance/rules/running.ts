import { findCondition } from '../../../runtime/conditions.ts';
import type { EventNote } from '../../../runtime/events.ts';
import { decision, type Rule } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { nextDeadline, unreadableReplaceAt } from '../limits.ts';
import { withRow } from '../status.ts';
import type { Decision, Step } from '../types.ts';
import { stop } from './ending.ts';
import {
  machineFinding,
  type RecordedMachine,
  reachability,
  type StateIn,
  seenFields,
} from './machine-finding.ts';
import { byRules, risenPrice } from './replacing.ts';

const RUNNING_RULES: readonly Rule<RecordedMachine<StateIn<'running'>>>[] = [
  {
    name: 'stop',
    because: 'powerState is Stopped.',
    decide: (facts, recorded) =>
      facts.object.spec.powerState === 'Stopped' ? stop(facts, recorded) : undefined,
  },
  { name: 'run', because: 'It is what is wanted.', decide: healthy },
];

export function whileRunning(facts: Facts, recorded: RecordedMachine<StateIn<'running'>>): Step {
  return byRules(RUNNING_RULES, facts, recorded);
}

function healthy(facts: Facts, recorded: RecordedMachine<StateIn<'running'>>): Decision {
  const answers = reachability(facts);
  const ready = answers.status === 'True';
  const detail = risenPrice(facts, recorded);
  return decision({
    fields: seenFields(facts, recorded.state.row),
    finding: {
      phase: 'Running',
      reason: ready ? 'Ready' : answers.reason,
      ...(!ready && { detail: answers.detail }),
      ready,
      machine: machineFinding(facts, recorded.state),
      ...(detail === undefined ? {} : { budget: { reason: 'PriceRaised', detail } }),
    },
    events: [...(ready ? becameReady(facts, recorded) : []), ...unreadableReplaceAt(facts)],
    requeue: nextDeadline(facts),
  });
}

/** Said when it is ready for the first time, and each time that it is ready again. */
function becameReady(
  { object: { status } }: Facts,
  { state: { row } }: RecordedMachine<StateIn<'running'>>,
): readonly EventNote[] {
  if (findCondition(status?.conditions, 'Ready')?.status === 'True') return [];
  const note = `Machine ${row.id} runs and is ready.`;
  return [{ type: 'Normal', reason: 'InstanceReady', action: 'Provisioning', note }];
}

const UNRECOGNIZED_RULES: readonly Rule<RecordedMachine<StateIn<'unrecognized'>>>[] = [
  {
    name: 'stop-unrecognized',
    because: 'powerState is Stopped, and whatever the word says may bill.',
    decide: (facts, recorded) =>
      facts.object.spec.powerState === 'Stopped' ? stop(facts, recorded) : undefined,
  },
  { name: 'show-word', because: 'A word that is not known here is said and never judged.', decide: show },
];

export function whileUnrecognized(facts: Facts, recorded: RecordedMachine<StateIn<'unrecognized'>>): Step {
  return byRules(UNRECOGNIZED_RULES, facts, recorded);
}

function show(facts: Facts, recorded: RecordedMachine<StateIn<'unrecognized'>>): Decision {
  const fields = withRow(facts, recorded.state.row);
  return decision({
    fields,
    finding: {
      phase: 'Loading',
      reason: 'StatusUnrecognized',
      machine: machineFinding(facts, recorded.state),
    },
    requeue: nextDeadline(facts),
  });
}
