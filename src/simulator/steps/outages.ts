import { rowsOf } from '../world/remembered.ts';
import { withRows } from '../world/rows.ts';
import type { Machine } from '../world/world.ts';
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
    const back = rowsOf(world.tables.machines)
      .filter((machine) => machine.stateUntil !== null && machine.stateUntil <= world.now)
      .map((machine): Machine => ({ ...machine, state: 'up', stateUntil: null }));
    return withRows(world, 'machines', back);
  },
};
