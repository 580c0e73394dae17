import { passTransitions } from '../instances/boot.ts';
import { rowsOf } from '../world/remembered.ts';
import { withRows } from '../world/rows.ts';
import type { World } from '../world/world.ts';
import type { AdvanceStep } from './advance.ts';

/** Each contract enters the last state of its timeline that is due. */
function passAll(world: World, until: number): World {
  const passed = rowsOf(world.tables.contracts)
    .filter((contract) => (contract.timeline[0]?.at ?? Number.POSITIVE_INFINITY) <= until)
    .map((contract) => passTransitions(contract, until));
  return withRows(world, 'contracts', passed);
}

/** Boots, starts and reboots go on. PURE. */
export const transitionsStep: AdvanceStep = {
  name: 'transitions',
  nextAt(world) {
    let next = Number.POSITIVE_INFINITY;
    for (const contract of rowsOf(world.tables.contracts)) {
      const first = contract.timeline[0];
      if (first && first.at < next) next = first.at;
    }
    return next;
  },
  run: (world) => passAll(world, world.now),
  runUntil: passAll,
};
