import { shownStatus } from '../instances/boot.ts';
import { withCompute, withDiskOnly } from '../instances/contract-state.ts';
import type { Contract } from '../tables/contracts.ts';
import { ratePerHour } from '../world/ledger.ts';
import { rowsOf } from '../world/remembered.ts';
import { withRows } from '../world/rows.ts';
import type { World } from '../world/world.ts';
import type { AdvanceStep } from './advance.ts';

const LOST: ReadonlySet<string | null> = new Set(['exited', 'unknown', 'offline']);

/** The contract billed as its status asks for; the same contract where that is so already. */
function rebilled(world: World, contract: Contract): Contract {
  if (contract.intendedStatus !== 'running' || contract.heldBy !== null) return contract;
  const isLost = LOST.has(shownStatus(contract, world.tables.machines[contract.machineId]));
  const computes = ratePerHour(contract) > contract.diskPricePerHour;
  if (isLost === !computes) return contract;
  return isLost ? withDiskOnly(contract, world.now) : withCompute(contract, world.now);
}

function due(world: World): readonly Contract[] {
  return rowsOf(world.tables.contracts).flatMap((contract) => {
    const after = rebilled(world, contract);
    return after === contract ? [] : [after];
  });
}

/** When a container will crash, or one that crashed runs again; its bill changes at that moment. */
function nextTurn(contract: Contract): number {
  const turn = contract.timeline.find(
    ({ status }) => status === 'exited' || contract.actualStatus === 'exited',
  );
  return turn?.at ?? Number.POSITIVE_INFINITY;
}

/**
 * Where `billing.computeWhileLost` is off, a lost machine costs its disk alone until it runs again.
 * PURE.
 */
export const lostBillingStep: AdvanceStep = {
  name: 'lost billing',
  nextAt(world) {
    if (world.settings.billing.computeWhileLost) return Number.POSITIVE_INFINITY;
    if (due(world).length > 0) return world.now;
    return rowsOf(world.tables.contracts).reduce(
      (next, contract) => Math.min(next, nextTurn(contract)),
      Number.POSITIVE_INFINITY,
    );
  },
  run: (world) => withRows(world, 'contracts', due(world)),
};
