import { badRequest } from '../calls/refusal.ts';
import type { Contract } from '../tables/contracts.ts';
import type { ActiveFault } from '../tables/faults.ts';
import type { Machine } from '../tables/machines.ts';
import { chance } from '../world/chance.ts';
import type { World } from '../world/world.ts';
import type { WorldFaultName } from './faults.ts';

/* Whom a fault of the world strikes; settled once, when it is set. PURE. */

/** Ids of what a fault of the world struck. */
export interface Struck {
  readonly contracts: readonly number[];
  readonly machines: readonly number[];
}

/** A fault of the world that is about to be carried out. `share` is its `probability`. */
export interface WorldFault {
  readonly fault: ActiveFault & { readonly name: WorldFaultName };
  readonly share: number | null;
}

/**
 * What the fault strikes: the instance or all of the host that it names. One that names neither strikes as
 * many live instances as its count says (one unless given), or each with its probability, drawn by the seed.
 * Refuses a name of nothing, and where nothing is left to draw.
 */
export function struckBy(world: World, given: WorldFault): Struck {
  const { fault, share } = given;
  if (fault.name === 'credit-out') return { contracts: [], machines: [] };
  if (fault.name === 'mass-outage') {
    const machines = Object.values(world.tables.machines);
    return {
      contracts: [],
      machines: idsOf(machines.filter(({ id }) => draw(world, fault, id) < (share ?? 1))),
    };
  }
  if (fault.host !== null) return struckHost(world, fault.host);
  return struckContracts(fault.instance === null ? drawn(world, given) : named(world, fault.instance));
}

const idsOf = (rows: readonly { readonly id: number }[]): readonly number[] => rows.map(({ id }) => id);

const draw = (world: World, fault: ActiveFault, id: number): number => chance(world.seed, id, fault.id);

function struckHost(world: World, host: number): Struck {
  const machines = Object.values(world.tables.machines).filter(({ hostId }) => hostId === host);
  if (machines.length === 0) throw badRequest(`host: there is no host ${host}.`);
  const contracts = Object.values(world.tables.contracts).filter(({ hostId }) => hostId === host);
  return { contracts: idsOf(contracts), machines: idsOf(machines) };
}

function struckContracts(contracts: readonly Contract[]): Struck {
  return { contracts: idsOf(contracts), machines: [...new Set(contracts.map(({ machineId }) => machineId))] };
}

function named(world: World, instance: number): readonly Contract[] {
  const contract = world.tables.contracts[instance];
  if (!contract) throw badRequest(`instance: there is no live instance ${instance}.`);
  return [contract];
}

function drawn(world: World, { fault, share }: WorldFault): readonly Contract[] {
  const live = Object.values(world.tables.contracts).filter(({ isBid }) => isBid || fault.name !== 'outbid');
  if (live.length === 0) {
    const kind = fault.name === 'outbid' ? 'live instance that was rented with a bid' : 'live instance';
    throw badRequest(`${fault.name}: there is no ${kind} to strike; rent one, or name a host.`);
  }
  const lots = live.map((contract) => ({ contract, lot: draw(world, fault, contract.id) }));
  const hit =
    share === null
      ? lots.toSorted((left, right) => left.lot - right.lot).slice(0, fault.remaining ?? 1)
      : lots.filter(({ lot }) => lot < share);
  return hit.map(({ contract }) => contract);
}

/** The machines that a fault struck, as they are now. */
export function struckMachines(world: World, { machines }: Struck): readonly Machine[] {
  return machines.flatMap((id) => world.tables.machines[id] ?? []);
}

/** The contracts that a fault struck and that are still live. */
export function contractsStruck(world: World, { contracts }: Struck): readonly Contract[] {
  return contracts.flatMap((id) => world.tables.contracts[id] ?? []);
}
