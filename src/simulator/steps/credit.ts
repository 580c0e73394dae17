import { holdContract } from '../instances/contract-state.ts';
import type { Contract } from '../tables/contracts.ts';
import type { User } from '../tables/users.ts';
import { contractMicros, creditMicros, ratePerHour, secondOf, volumeMicros } from '../world/ledger.ts';
import { rowsOf } from '../world/remembered.ts';
import { withRows } from '../world/rows.ts';
import type { World } from '../world/world.ts';
import type { AdvanceStep } from './advance.ts';

/*
 * Machines stop when the credit of their user is used up; their disks go on costing, as at the public
 * service. PURE.
 */

const SECONDS_PER_HOUR = 3600;
const MS_PER_HOUR = 3_600_000;
/** Credit that lasts longer than this is looked at again later, instead of being foretold to the second. */
const FAR_HOURS = 1;

/** What one user costs at `world.now`. */
interface Running {
  readonly user: User;
  readonly leftMicros: number;
  readonly ratePerHour: number;
  /** Contracts whose compute is billed. */
  readonly computing: readonly Contract[];
}

/** Users with contracts that cost compute now; one pass over all contracts. */
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

/** When to look again: at once where nothing is left, at the very second where that is near. */
function nextLook(world: World, running: Running): number {
  if (running.leftMicros <= 0) return world.now;
  const hours = running.leftMicros / running.ratePerHour;
  return hours > FAR_HOURS ? world.now + (hours / 2) * MS_PER_HOUR : exhaustedAt(world, running);
}

/** The first whole second at which nothing is left, at present rates. */
function exhaustedAt(world: World, running: Running): number {
  const leftAt = (second: number): number => creditMicros(world, running.user, second * 1000);
  const now = secondOf(world.now);
  // Money moves in whole seconds, so the guess is at most a rounding away from the second sought.
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
      (next, running) => Math.min(next, nextLook(world, running)),
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
