import { decision, type Rule } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { nextDeadline, unreadableReplaceAt } from '../limits.ts';
import { withRow } from '../status.ts';
import type { Decision, Says, Step } from '../types.ts';
import { stop } from './ending.ts';
import { type Held, machineFinding, reachable, type StateNamed, seenFields } from './machine-finding.ts';
import { byRules, risenPrice } from './replacing.ts';

const RUNNING_RULES: readonly Rule<Held<StateNamed<'running'>>>[] = [
  {
    name: 'stop',
    because: 'powerState is Stopped.',
    decide: (facts, held) => (facts.object.spec.powerState === 'Stopped' ? stop(facts, held) : undefined),
  },
  { name: 'run', because: 'It is what is wanted.', decide: healthy },
];

export function whileRunning(facts: Facts, held: Held<StateNamed<'running'>>): Step {
  return byRules(RUNNING_RULES, facts, held);
}

/** In the words of what does not answer. */
function detailOf({ probe }: Facts, { reason, message }: Says): string | undefined {
  return reason === 'PortsNotMapped' ? message : probe?.detail;
}

function healthy(facts: Facts, held: Held<StateNamed<'running'>>): Decision {
  const answers = reachable(facts);
  const ready = answers.status === 'True';
  const detail = risenPrice(facts, held);
  return decision({
    fields: seenFields(facts, held.state.row),
    finding: {
      phase: 'Running',
      reason: ready ? 'Ready' : answers.reason,
      ...(ready ? {} : { detail: detailOf(facts, answers) }),
      ready,
      machine: machineFinding(facts, held.state),
      ...(detail === undefined ? {} : { budget: { reason: 'PriceRaised', detail } }),
    },
    events: unreadableReplaceAt(facts),
    look: nextDeadline(facts),
  });
}

const UNRECOGNIZED_RULES: readonly Rule<Held<StateNamed<'unrecognized'>>>[] = [
  {
    name: 'stop-unrecognized',
    because: 'powerState is Stopped, and whatever the word says may bill.',
    decide: (facts, held) => (facts.object.spec.powerState === 'Stopped' ? stop(facts, held) : undefined),
  },
  { name: 'show-word', because: 'A word that is not known here is said and never judged.', decide: show },
];

export function whileUnrecognized(facts: Facts, held: Held<StateNamed<'unrecognized'>>): Step {
  return byRules(UNRECOGNIZED_RULES, facts, held);
}

function show(facts: Facts, held: Held<StateNamed<'unrecognized'>>): Decision {
  const fields = withRow(facts, held.state.row);
  return decision({
    fields,
    finding: {
      phase: 'Loading',
      reason: 'StatusUnrecognized',
      machine: machineFinding(facts, held.state),
    },
    look: nextDeadline(facts),
  });
}
