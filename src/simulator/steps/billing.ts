import { shownStatus } from '../instances/boot.ts';
import { holdContract, withCompute, withDiskOnly } from '../instances/contract-state.ts';
import type { Contract, PriceIncrease } from '../tables/contracts.ts';
import type { User } from '../tables/users.ts';
import {
  contractMicros,
  creditMicros,
  ratePerHour,
  rebill,
  secondOf,
  volumeMicros,
} from '../world/ledger.ts';
import type { World } from '../world/world.ts';
import { rowsOf, withoutRows, withRows } from '../world/world-store.ts';
import type { AdvanceStep } from './advance.ts';

/*
 * Machines stop when the credit of their user is used up; their disks go on costing, as at the public
 * service. PURE.
 */

const SECONDS_PER_HOUR = 3600;
const MS_PER_HOUR = 3_600_000;
/** Credit that lasts longer than this is checked again later, instead of being predicted to the second. */
const FAR_HOURS = 1;

/** Cost of one user at `world.now`. */
interface Running {
  readonly user: User;
  readonly leftMicros: number;
  readonly ratePerHour: number;
  /** Contracts whose compute is billed. */
  readonly computing: readonly Contract[];
}

/** Returns the users with contracts whose compute costs now, in one pass over all contracts. */
function runningUsers(world: World): readonly Running[] {
  const byUser = Map.groupBy(rowsOf(world.tables.contracts), (contract) => contract.userId);
  const volumes = Map.groupBy(rowsOf(world.tables.volumes), (volume) => volume.userId);
  return [...byUser].flatMap(([userId, contracts]) => {
    const user = world.tables.users[userId];
    const computing = contracts.filter(costsCompute);
    if (!user || computing.length === 0) return [];
    const disks = volumes.get(userId) ?? [];
    const spent =
      sumOf(contracts, (contract) => contractMicros(contract, world.now)) +
      sumOf(disks, (volume) => volumeMicros(volume, world.now));
    return [
      {
        user,
        leftMicros: user.depositedMicros - user.settledMicros - spent,
        ratePerHour: sumOf(contracts, ratePerHour) + sumOf(disks, ({ pricePerHour }) => pricePerHour),
        computing,
      },
    ];
  });
}

const sumOf = <Row>(rows: readonly Row[], value: (row: Row) => number): number =>
  rows.reduce((sum, row) => sum + value(row), 0);

function costsCompute(contract: Contract): boolean {
  const open = contract.spans.at(-1);
  return open !== undefined && open.until === null && open.gpuPerHour > 0;
}

/** Returns the time of the next check: at once without credit, at the exact second if that is near. */
function nextCheckAt(world: World, running: Running): number {
  if (running.leftMicros <= 0) return world.now;
  const hours = running.leftMicros / running.ratePerHour;
  return hours > FAR_HOURS ? world.now + (hours / 2) * MS_PER_HOUR : exhaustedAt(world, running);
}

/** Returns the first whole second at which no credit is left, at present rates. */
function exhaustedAt(world: World, running: Running): number {
  const leftAt = (second: number): number => creditMicros(world, running.user, second * 1000);
  const now = secondOf(world.now);
  // Money changes in whole seconds, so the estimate differs from the exact second at most by rounding.
  const guess = Math.round((running.leftMicros / running.ratePerHour) * SECONDS_PER_HOUR);
  let second = now + Math.max(1, guess);
  while (leftAt(second) > 0) second += 1;
  while (second > now + 1 && leftAt(second - 1) <= 0) second -= 1;
  return second * 1000;
}

export const creditStep: AdvanceStep = {
  name: 'credit',
  nextAt(world) {
    if (!world.settings.billing.stopAtZeroCredit) return Number.POSITIVE_INFINITY;
    return runningUsers(world).reduce(
      (next, running) => Math.min(next, nextCheckAt(world, running)),
      Number.POSITIVE_INFINITY,
    );
  },
  run(world) {
    const stopped = runningUsers(world)
      .filter(({ leftMicros }) => leftMicros <= 0)
      .flatMap(({ computing }) => computing.map((contract) => holdContract(contract, world.now, 'credit')));
    return withRows(world, 'contracts', stopped);
  },
};

const UNREACHABLE: ReadonlySet<string | null> = new Set(['unknown', 'offline']);

/** Returns true if a machine with that shown status bills its disk alone. */
function isFree(status: string | null, { billing }: World['settings']): boolean {
  return status === 'exited' ? !billing.exitedBills : UNREACHABLE.has(status) && !billing.computeWhileLost;
}

/** Returns the contract billed by its status; the same contract if nothing changes. */
function rebilled(world: World, contract: Contract): Contract {
  if (contract.intendedStatus !== 'running' || contract.blockedBy !== null) return contract;
  const status = shownStatus(contract, world.tables.machines[contract.machineId]);
  const isLost = isFree(status, world.settings);
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

/** Returns the time at which a container will crash, or run again after a crash; its bill then changes. */
function nextTurn(contract: Contract): number {
  const turn = contract.timeline.find(
    ({ status }) => status === 'exited' || contract.actualStatus === 'exited',
  );
  return turn?.at ?? Number.POSITIVE_INFINITY;
}

/** Bills only the disk of a lost machine until it runs again, if the settings of billing say so. PURE. */
export const lostBillingStep: AdvanceStep = {
  name: 'lost billing',
  nextAt(world) {
    const { computeWhileLost, exitedBills } = world.settings.billing;
    if (computeWhileLost && exitedBills) return Number.POSITIVE_INFINITY;
    if (due(world).length > 0) return world.now;
    return rowsOf(world.tables.contracts).reduce(
      (next, contract) => Math.min(next, nextTurn(contract)),
      Number.POSITIVE_INFINITY,
    );
  },
  run: (world) => withRows(world, 'contracts', due(world)),
};

/** Returns the contract at its new price; compute is billed at it from `now` if it is billed at all. PURE. */
export function atNewPrice(contract: Contract, increase: PriceIncrease, now: number): Contract {
  const priced = { ...contract, gpuPricePerHour: increase.gpuPricePerHour };
  const computes = ratePerHour(contract) > contract.diskPricePerHour;
  if (!computes || contract.isBid) return priced;
  return rebill(priced, now, {
    gpuPerHour: increase.gpuPricePerHour,
    diskPerHour: contract.diskPricePerHour,
  });
}

/** Applies a price increase without an answer when it is due. PURE. */
export const priceIncreasesStep: AdvanceStep = {
  name: 'price increases',
  nextAt(world) {
    let next = Number.POSITIVE_INFINITY;
    for (const increase of Object.values(world.tables.priceIncreases)) next = Math.min(next, increase.dueAt);
    return next;
  },
  run(world) {
    const due = Object.values(world.tables.priceIncreases).filter((row) => row.dueAt <= world.now);
    const contracts = due.map((increase) => raised(world, increase)).filter((row) => row !== undefined);
    const ids = due.map((increase) => increase.id);
    return withoutRows(withRows(world, 'contracts', contracts), 'priceIncreases', ids);
  },
};

function raised(world: World, increase: PriceIncrease): Contract | undefined {
  const contract = world.tables.contracts[increase.contractId];
  return contract && atNewPrice(contract, increase, world.now);
}
