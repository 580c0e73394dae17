import { endContract, startContract, stopContract } from '../instances/contract-state.ts';
import { withoutRows, withRows } from '../world/rows.ts';
import type { World } from '../world/world.ts';

/* What the scaling rule does to the machine of a worker, without a request of its user. PURE. */

/** The machine is destroyed, its offer is free again, the worker is gone. */
export function destroyWorker(world: World, id: number): World {
  const without = withoutRows(world, 'workers', [id]);
  const contract = world.tables.contracts[id];
  if (!contract) return without;
  const ended = endContract(contract, world.now);
  const user = world.tables.users[contract.userId];
  const offer = world.tables.offers[contract.offerId];
  const paid = user ? [{ ...user, settledMicros: user.settledMicros + ended.dollarsMicros }] : [];
  const freed = offer?.rentedBy === id ? [{ ...offer, rentedBy: null }] : [];
  const settled = withRows(withoutRows(without, 'contracts', [id]), 'endedContracts', [ended]);
  return withRows(withRows(settled, 'users', paid), 'offers', freed);
}

/** It becomes cold: compute is no longer billed, its disk is kept. */
export function stopWorker(world: World, id: number): World {
  const contract = world.tables.contracts[id];
  if (!contract) return world;
  return withRows(world, 'contracts', [stopContract(contract, world.now, world.settings)]);
}

/** A cold one wakes up. */
export function startWorker(world: World, id: number): World {
  const contract = world.tables.contracts[id];
  if (!contract) return world;
  return withRows(world, 'contracts', [startContract(contract, world.now, world.settings)]);
}
