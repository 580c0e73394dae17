import { decision, type Rule } from '../decision.ts';
import { nextDeadline, unreadableReplaceAt } from '../due.ts';
import type { Decision, Observed, Says, Step } from '../types.ts';
import type { Held, StateNamed } from './held-machine.ts';
import { machineFinding, reachable } from './machine-finding.ts';
import { seenFields } from './seen-fields.ts';
import { stop } from './stopping.ts';
import { byRules, risenPrice } from './unwanted.ts';

const RULES: readonly Rule<Held<StateNamed<'running'>>>[] = [
  {
    name: 'stop',
    because: 'powerState is Stopped.',
    decide: (observed, held) =>
      observed.object.spec.powerState === 'Stopped' ? stop(observed, held) : undefined,
  },
  { name: 'run', because: 'It is what is wanted.', decide: healthy },
];

export function whileRunning(observed: Observed, held: Held<StateNamed<'running'>>): Step {
  return byRules(RULES, observed, held);
}

/** In the words of what does not answer. */
function detailOf({ probe }: Observed, { reason, message }: Says): string | undefined {
  return reason === 'PortsNotMapped' ? message : probe?.detail;
}

function healthy(observed: Observed, held: Held<StateNamed<'running'>>): Decision {
  const answers = reachable(observed);
  const ready = answers.status === 'True';
  const detail = risenPrice(observed, held);
  return decision({
    fields: seenFields(observed, held.state.row),
    finding: {
      phase: 'Running',
      reason: ready ? 'Ready' : answers.reason,
      ...(ready ? {} : { detail: detailOf(observed, answers) }),
      ready,
      machine: machineFinding(observed, held.state),
      ...(detail === undefined ? {} : { budget: { reason: 'PriceRaised', detail } }),
    },
    events: unreadableReplaceAt(observed),
    look: nextDeadline(observed),
  });
}
