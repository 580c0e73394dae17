import { makeLabel } from '../../../ownership/label.ts';
import { decision } from '../decision.ts';
import type { Facts } from '../facts.ts';
import type { Step } from '../types.ts';
import type { Held, Listed } from './held-machine.ts';

/** The label of an adopted machine is asked for until a list shows one. */
export function labelAdopted(facts: Facts, { machine, state }: Held<Listed>): Step | undefined {
  const { object, memory, identity, uid } = facts;
  const isAdopted = object.spec.adopt?.policy === 'Manage' && machine.attempt === 1;
  if (!isAdopted || (state.row.label !== null && state.row.label !== '')) return undefined;
  const again = (memory.relabelledAt ?? Number.NEGATIVE_INFINITY) + facts.constants.listLagMs;
  if (facts.steadyNow < Math.max(again, memory.notBefore)) return undefined;
  const issuedAt = state.row.startedAt ?? facts.now;
  const label = makeLabel(identity, { uid, attempt: machine.attempt, issuedAt });
  return decision({
    record: { type: 'nothing', because: 'attempt' },
    actions: [{ type: 'relabel', instanceId: machine.instanceId, label }],
    look: { afterMs: 0 },
  });
}
