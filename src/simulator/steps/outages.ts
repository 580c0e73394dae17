import { machinesBack } from '../instances/contract-state.ts';
import { rowsOf } from '../world/remembered.ts';
import type { AdvanceStep } from './advance.ts';

/** Machines come back when their outage is over; a dead one never does. PURE. */
export const outagesStep: AdvanceStep = {
  name: 'outages',
  nextAt(world) {
    let next = Number.POSITIVE_INFINITY;
    for (const machine of rowsOf(world.tables.machines)) {
      if (machine.stateUntil !== null && machine.stateUntil < next) next = machine.stateUntil;
    }
    return next;
  },
  run(world) {
    const over = rowsOf(world.tables.machines).filter(
      (machine) => machine.stateUntil !== null && machine.stateUntil <= world.now,
    );
    return machinesBack(world, over);
  },
};
