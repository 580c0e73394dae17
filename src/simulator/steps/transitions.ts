import type { AdvanceStep } from '../advance.ts';
import { passTransitions } from '../boot.ts';
import { withRows } from '../rows.ts';

/** Boots, starts and reboots go on: each contract enters the next state of its timeline. PURE. */
export const transitionsStep: AdvanceStep = {
  name: 'transitions',
  nextAt(world) {
    let next = Number.POSITIVE_INFINITY;
    for (const contract of Object.values(world.tables.contracts)) {
      const first = contract.timeline[0];
      if (first && first.at < next) next = first.at;
    }
    return next;
  },
  run(world) {
    const due = Object.values(world.tables.contracts)
      .map((contract) => ({ contract, after: passTransitions(contract, world.now) }))
      .filter(({ contract, after }) => contract !== after);
    return withRows(
      world,
      'contracts',
      due.map(({ after }) => after),
    );
  },
};
