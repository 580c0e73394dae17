import type { WorldFaultName } from '../fault-catalogue.ts';
import { CRASH_MESSAGE, restartsAt } from '../instances/boot.ts';
import { endContract, forceStatus, holdContract, machinesBack } from '../instances/contract-state.ts';
import { badRequest } from '../refusal.ts';
import type { Contract } from '../tables/contracts.ts';
import type { ActiveFault } from '../tables/faults.ts';
import type { Machine } from '../tables/market.ts';
import type { User } from '../tables/users.ts';
import { creditMicros } from '../world/ledger.ts';
import type { World } from '../world/world.ts';
import { withoutRows, withRows } from '../world/world-store.ts';
import {
  type FaultTargets,
  targetContracts,
  targetMachines,
  targetsOf,
  type WorldFault,
} from './active-faults.ts';

/* Faults that change the world itself, immediately. PURE. */

/** Effect of a fault on its targets. */
type Apply = (world: World, fault: ActiveFault, targets: FaultTargets) => World;

const OUTAGE_SECONDS = 60;
const ANNOUNCED_SECONDS = 3600;
const RAISE = 1.25;

/** Effects by fault. */
const APPLY: Readonly<Record<WorldFaultName, Apply>> = {
  offline: (world, fault, targets) =>
    darken(world, targetMachines(world, targets), { state: 'offline', until: untilOf(world, fault) }),
  unknown: (world, fault, targets) =>
    darken(world, targetMachines(world, targets), { state: 'unknown', until: untilOf(world, fault) }),
  'host-death': (world, _fault, targets) =>
    darken(world, targetMachines(world, targets), { state: 'dead', until: null }),
  'mass-outage': (world, fault, targets) =>
    darken(world, targetMachines(world, targets), {
      state: 'offline',
      until: world.now + (fault.seconds ?? OUTAGE_SECONDS) * 1000,
    }),
  idle: (world, fault, targets) =>
    withRows(
      world,
      'contracts',
      targetContracts(world, targets).map((contract) => ({ ...contract, idleUntil: untilOf(world, fault) })),
    ),
  exited: crash,
  outbid: raiseBid,
  'destroyed-elsewhere': destroyElsewhere,
  'credit-out': (world) =>
    withRows(
      world,
      'users',
      Object.values(world.tables.users).map((user) => spent(world, user)),
    ),
  'price-increase': announcePrice,
};

/** Returns the world after the fault, and the fault with its targets. Throws a Refusal if there are none. */
export function applyWorldFault(world: World, given: WorldFault): { world: World; fault: ActiveFault } {
  const { fault } = given;
  const targets = targetsOf(world, given);
  return { world: APPLY[fault.name](world, fault, targets), fault: { ...fault, targets: targets } };
}

const OUTAGES: ReadonlySet<string> = new Set(['offline', 'unknown', 'mass-outage']);

/** Ends an outage or an idle time early; other faults of the world cannot be undone. */
export function endOutage(world: World, { name, targets }: ActiveFault): World {
  if (!targets) return world;
  if (name === 'idle') {
    const used = targetContracts(world, targets).map(({ idleUntil: _over, ...contract }) => contract);
    return withRows(world, 'contracts', used);
  }
  if (!OUTAGES.has(name)) return world;
  const dark = targetMachines(world, targets).filter(
    ({ state }) => state === 'offline' || state === 'unknown',
  );
  return machinesBack(world, dark);
}

function untilOf(world: World, fault: ActiveFault): number | null {
  return fault.seconds === null ? null : world.now + fault.seconds * 1000;
}

function darken(
  world: World,
  machines: readonly Machine[],
  outage: { state: Machine['state']; until: number | null },
): World {
  const dark = machines
    .filter((machine) => machine.state !== 'dead')
    .map((machine): Machine => ({ ...machine, state: outage.state, stateUntil: outage.until }));
  return withRows(world, 'machines', dark);
}

/** Crashes the containers of the targets; a stopped container does not crash. */
function crash(world: World, fault: ActiveFault, targets: FaultTargets): World {
  const inUse = ({ intendedStatus, blockedBy }: Contract) =>
    intendedStatus === 'running' && blockedBy === null;
  const crashed = targetContracts(world, targets)
    .filter(inUse)
    .map((contract) =>
      forceStatus(contract, world.now, {
        status: 'exited',
        message: CRASH_MESSAGE,
        until: world.settings.boot.lostForGood
          ? null
          : (untilOf(world, fault) ?? restartsAt(world.settings, world.now)),
      }),
    );
  return withRows(world, 'contracts', crashed);
}

/** Raises the price above the bid and stops the instance immediately, without waiting for the outbid step. */
function raiseBid(world: World, _fault: ActiveFault, targets: FaultTargets): World {
  const bids = targetContracts(world, targets).filter((contract) => contract.isBid);
  if (bids.length === 0) throw badRequest('outbid: name an instance that was rented with a bid.');
  const offers = bids
    .map((contract) => ({ contract, offer: world.tables.offers[contract.offerId] }))
    .flatMap(({ contract, offer }) =>
      offer ? [{ ...offer, minBidPerHour: Math.round((contract.bidPerHour ?? 0) * 1.2) + 1 }] : [],
    );
  const outbid = bids.map((contract) => holdContract(contract, world.now, 'outbid'));
  return withRows(withRows(world, 'offers', offers), 'contracts', outbid);
}

function destroyElsewhere(world: World, _fault: ActiveFault, targets: FaultTargets): World {
  const gone = targetContracts(world, targets);
  const ended = gone.map((contract) => endContract(contract, world.now));
  const freed = gone.flatMap((contract) => {
    const offer = world.tables.offers[contract.offerId];
    return offer?.rentedBy === contract.id ? [{ ...offer, rentedBy: null }] : [];
  });
  const users = Object.values(world.tables.users).map((user) => settled(user, ended));
  const keys = Object.values(world.tables.apiKeys).filter((key) =>
    gone.some(({ id }) => id === key.instanceId),
  );
  const without = withoutRows(
    world,
    'contracts',
    gone.map(({ id }) => id),
  );
  const keyless = withoutRows(
    without,
    'apiKeys',
    keys.map(({ id }) => id),
  );
  return withRows(withRows(withRows(keyless, 'endedContracts', ended), 'offers', freed), 'users', users);
}

function settled(user: User, ended: readonly { userId: number; dollarsMicros: number }[]): User {
  const micros = ended
    .filter((row) => row.userId === user.id)
    .reduce((sum, row) => sum + row.dollarsMicros, 0);
  return micros === 0 ? user : { ...user, settledMicros: user.settledMicros + micros };
}

/** Returns the user with the remaining credit removed, so that the credit step changes nothing. */
function spent(world: World, user: User): User {
  const left = creditMicros(world, user, world.now);
  return left > 0 ? { ...user, depositedMicros: user.depositedMicros - left } : user;
}

function announcePrice(world: World, fault: ActiveFault, targets: FaultTargets): World {
  const dueAt = world.now + (fault.seconds ?? ANNOUNCED_SECONDS) * 1000;
  let last = world.counters.priceIncrease ?? 0;
  const rows = targetContracts(world, targets).map((contract) => ({
    id: ++last,
    contractId: contract.id,
    userId: contract.userId,
    gpuPricePerHour: Math.round(contract.gpuPricePerHour * RAISE),
    announcedAt: world.now,
    dueAt,
  }));
  return { ...withRows(world, 'priceIncreases', rows), counters: { ...world.counters, priceIncrease: last } };
}
