import { decision, type Rule } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { nextDeadline } from '../limits.ts';
import { withRow } from '../machine-fields.ts';
import type { Decision, Step } from '../types.ts';
import { type Held, machineFinding, type StateNamed } from './machine-finding.ts';
import { stop } from './stopping.ts';
import { byRules } from './unwanted.ts';

const RULES: readonly Rule<Held<StateNamed<'unrecognized'>>>[] = [
  {
    name: 'stop-unrecognized',
    because: 'powerState is Stopped, and whatever the word says may bill.',
    decide: (facts, held) => (facts.object.spec.powerState === 'Stopped' ? stop(facts, held) : undefined),
  },
  { name: 'show-word', because: 'A word that is not known here is said and never judged.', decide: show },
];

export function whileUnrecognized(facts: Facts, held: Held<StateNamed<'unrecognized'>>): Step {
  return byRules(RULES, facts, held);
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
