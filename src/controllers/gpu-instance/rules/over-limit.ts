import { decision } from '../decision.ts';
import type { Facts } from '../facts.ts';
import type { Decision, Step } from '../types.ts';
import type { EndWish } from './end-wish.ts';
import { endMachine } from './ending.ts';
import { heldBack } from './held-back.ts';
import { type Held, type Listed, machineFinding, seenFields } from './machine-finding.ts';
import { askToStop } from './stopping.ts';

/** What happens to the machine when a limit is reached: what the deletion policy says. */
export function applyLimit(facts: Facts, held: Held<Listed>, detail: string): Step {
  const { machine, state } = held;
  const finding = machineFinding(facts, state);
  const wish: EndWish = { machine, reason: 'LimitReached', detail, kind: 'limit', finding };
  const isToEnd = facts.object.spec.deletionPolicy === 'Destroy';
  const kept = isToEnd ? heldBack(facts, wish) : keptBeyond(facts, held, detail);
  return kept ? stoppedWhereWanted(facts, held, kept) : endMachine(facts, wish);
}

function keptBeyond(facts: Facts, { state }: Held<Listed>, detail: string): Decision {
  return decision({
    fields: seenFields(facts, state.row),
    finding: {
      phase: 'Failed',
      reason: 'LimitReached',
      detail,
      machine: machineFinding(facts, state),
      budget: { reason: 'LimitReached', detail },
    },
    record: { type: 'status' },
  });
}

/** By its deletion policy, or since nobody wants it to run. */
function stoppedWhereWanted(facts: Facts, { machine, state }: Held<Listed>, kept: Decision): Decision {
  const { deletionPolicy, powerState } = facts.object.spec;
  const isToStop = deletionPolicy === 'Stop' || powerState === 'Stopped';
  if (!isToStop || state.type === 'stopped') return kept;
  return { ...kept, record: { type: 'status' }, ...askToStop(facts, machine.instanceId) };
}
