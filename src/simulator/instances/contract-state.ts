import type { Settings } from '../settings.ts';
import type { Contract, EndedContract } from '../tables/contracts.ts';
import type { Machine } from '../tables/market.ts';
import { contractMicros, rebill, stopBilling } from '../world/ledger.ts';
import type { World } from '../world/world.ts';
import { rowsOf, withRows } from '../world/world-store.ts';
import { bootTimeline, passTransitions, rebootTimeline, restartsAt, startTimeline } from './boot.ts';

/* Changes of one contract: each function returns the changed contract. PURE. */

/**
 * Returns the contract after a stop that its user requested: compute ends, the disk is still billed (specification
 * 4.7).
 */
export function stopContract(contract: Contract, now: number, settings: Settings): Contract {
  const at = now + settings.boot.stopSeconds * settings.boot.scale * 1000;
  const stopping: Contract = {
    ...withDiskOnly(contract, now),
    intendedStatus: 'stopped',
    blockedBy: null,
    timeline: [{ at, status: 'stopped' }],
  };
  return passTransitions(stopping, now, settings);
}

/** Returns the contract after a stop by the service against its user's intent: outbid, or no credit. */
export function holdContract(
  contract: Contract,
  now: number,
  blockedBy: NonNullable<Contract['blockedBy']>,
): Contract {
  return {
    ...withDiskOnly(contract, now),
    actualStatus: 'stopped',
    statusMessage: null,
    statusSince: now,
    timeline: [],
    blockedBy,
  };
}

/** Returns the contract after a start; compute is billed from now on. */
export function startContract(contract: Contract, now: number, settings: Settings): Contract {
  const starting: Contract = {
    ...withCompute(contract, now),
    intendedStatus: 'running',
    blockedBy: null,
    timeline: startTimeline(settings, now),
  };
  return passTransitions(starting, now, settings);
}

/** Statuses of a container that is still starting. */
const BOOTING: ReadonlySet<string | null> = new Set([null, 'created', 'loading']);

/** Restarts the container in place; one that is still starting has nothing to restart and continues to pull. */
export function rebootContract(contract: Contract, now: number, settings: Settings): Contract {
  if (BOOTING.has(contract.actualStatus)) return contract;
  const rebooting: Contract = { ...contract, timeline: rebootTimeline(settings, now) };
  return passTransitions(rebooting, now, settings);
}

/** Returns the number of the container of a contract: a recycle creates the next one, with an empty disk. */
export function containerOf({ notes }: Pick<Contract, 'notes'>): number {
  return typeof notes.container === 'number' ? notes.container : 0;
}

/** Destroys the container and pulls the image again, on the same machine and with the same id. */
export function recycleContract(
  contract: Contract,
  options: { now: number; settings: Settings; seed: number; machine: Machine },
): Contract {
  const { files: _files, output: _output, ...kept } = contract;
  const booting: Contract = {
    ...withCompute(kept, options.now),
    intendedStatus: 'running',
    blockedBy: null,
    actualStatus: 'loading',
    statusMessage: null,
    statusSince: options.now,
    timeline: bootTimeline(options).filter((transition) => transition.status === 'running'),
    notes: { ...contract.notes, container: containerOf(contract) + 1 },
  };
  return booting;
}

/** Returns the contract after its end: all billing stops (specification 4.6). */
export function endContract(contract: Contract, now: number): EndedContract {
  const last = stopBilling({ ...contract, timeline: [] }, now);
  return {
    id: contract.id,
    userId: contract.userId,
    offerId: contract.offerId,
    machineId: contract.machineId,
    hostId: contract.hostId,
    label: contract.label,
    createdAt: contract.createdAt,
    endedAt: now,
    dollarsMicros: contractMicros(last, now),
    last,
  };
}

/** Returns the contract with a status forced by a fault; with `until` the machine runs again from that time on. */
export function forceStatus(
  contract: Contract,
  now: number,
  forced: { status: string | null; message?: string; until: number | null },
): Contract {
  const back = forced.until === null ? [] : [{ at: forced.until, status: 'running' }];
  return {
    ...contract,
    actualStatus: forced.status,
    statusMessage: forced.message ?? null,
    statusSince: now,
    timeline: back,
  };
}

/** Returns the contract after the end of its program; the service may start it again (`containers.exitedRestarts`). */
export function exitContract(contract: Contract, now: number, settings: Settings): Contract {
  return forceStatus(contract, now, {
    status: 'exited',
    message: 'container exited',
    until: restartsAt(settings, now),
  });
}

/**
 * Ends the outages of machines that are over. Their containers run again or, if a lost machine never runs again
 * (specification 3.1), keep the last status shown.
 */
export function machinesBack(world: World, machines: readonly Machine[]): World {
  const up = machines.map((machine): Machine => ({ ...machine, state: 'up', stateUntil: null }));
  const back = withRows(world, 'machines', up);
  if (!world.settings.boot.lostForGood) return back;
  const states = new Map(machines.map(({ id, state }) => [id, state]));
  const lost = rowsOf(world.tables.contracts).flatMap((contract) => {
    const state = states.get(contract.machineId);
    if (state === undefined) return [];
    return [forceStatus(contract, world.now, { status: state, until: null })];
  });
  return withRows(back, 'contracts', lost);
}

/** Returns the contract with only the disk billed from `now`. */
export function withDiskOnly(contract: Contract, now: number): Contract {
  return rebill(contract, now, { gpuPerHour: 0, diskPerHour: contract.diskPricePerHour });
}

/** Returns the contract with disk and compute billed from `now`, at the bid if there is one. */
export function withCompute(contract: Contract, now: number): Contract {
  return rebill(contract, now, {
    gpuPerHour: contract.bidPerHour ?? contract.gpuPricePerHour,
    diskPerHour: contract.diskPricePerHour,
  });
}
