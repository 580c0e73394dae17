import { decide } from '../../src/controllers/gpu-instance/decide.ts';
import type { Step } from '../../src/controllers/gpu-instance/types.ts';
import { goldenTables } from './golden-tables.ts';
import { type Given, given } from './observed.ts';
import { outline } from './outline.ts';
import { wholeDecision } from './whole-decision.ts';

/** Tables of what objects decide: what a decision says to people and in fields is golden text. */
export function decisionTables(name: string, always: Given = {}) {
  return goldenTables(name, (situation: Given) => {
    const observed = given({ ...always, ...situation });
    const step = decide(observed);
    return {
      outline: outline(step),
      text: wholeDecision(step, observed.object.status),
      conditions: conditionsIn(step),
    };
  });
}

function conditionsIn(step: Step) {
  const verdict = step.type === 'decision' ? step.status?.verdict : undefined;
  return Object.entries(verdict ?? {}).flatMap(([type, says]) =>
    typeof says === 'object' ? [{ type, status: says.status }] : [],
  );
}
