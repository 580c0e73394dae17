import { decision } from '../decision.ts';
import type { Decision, Observed, Step } from '../types.ts';
import type { EndWish } from './end-wish.ts';
import { endMachine } from './ending.ts';
import { heldBack } from './held-back.ts';
import type { Held, Listed } from './held-machine.ts';
import { machineFinding } from './machine-finding.ts';
import { seenFields } from './seen-fields.ts';
import { askToStop } from './stopping.ts';

/** What happens to the machine when a limit is reached: what the deletion policy says. */
export function applyLimit(observed: Observed, held: Held<Listed>, detail: string): Step {
  const { machine, state } = held;
  const finding = machineFinding(observed, state);
  const wish: EndWish = { machine, reason: 'LimitReached', detail, kind: 'limit', finding };
  const isToEnd = observed.object.spec.deletionPolicy === 'Destroy';
  const kept = isToEnd ? heldBack(observed, wish) : keptBeyond(observed, held, detail);
  return kept ? stoppedWhereWanted(observed, held, kept) : endMachine(observed, wish);
}

function keptBeyond(observed: Observed, { state }: Held<Listed>, detail: string): Decision {
  return decision({
    fields: seenFields(observed, state.row),
    finding: {
      phase: 'Failed',
      reason: 'LimitReached',
      detail,
      machine: machineFinding(observed, state),
      budget: { reason: 'LimitReached', detail },
    },
    record: { type: 'status' },
  });
}

/** By its deletion policy, or since nobody wants it to run. */
function stoppedWhereWanted(observed: Observed, { machine, state }: Held<Listed>, kept: Decision): Decision {
  const { deletionPolicy, powerState } = observed.object.spec;
  const isToStop = deletionPolicy === 'Stop' || powerState === 'Stopped';
  if (!isToStop || state.type === 'stopped') return kept;
  return { ...kept, record: { type: 'status' }, ...askToStop(observed, machine.instanceId) };
}
