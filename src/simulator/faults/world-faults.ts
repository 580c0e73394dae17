import { badRequest } from '../calls/refusal.ts';
import { endContract, forceStatus, holdContract } from '../instances/contract-state.ts';
import { chance } from '../world/chance.ts';
import { creditMicros } from '../world/ledger.ts';
import { withoutRows, withRows } from '../world/rows.ts';
import type { ActiveFault, Contract, Machine, User, World } from '../world/world.ts';
import type { WorldFaultName } from './faults.ts';

/* Faults that strike the world itself, at once. PURE. */

type Apply = (world: World, fault: ActiveFault, probability: number | null) => World;

const OUTAGE_SECONDS = 60;
const ANNOUNCED_SECONDS = 3600;
const RAISE = 1.25;

/** What each of them does. */
const APPLY: Readonly<Record<WorldFaultName, Apply>> = {
  offline: (world, fault) =>
    darken(world, targets(world, fault), { state: 'offline', until: untilOf(world, fault) }),
  unknown: (world, fault) =>
    darken(world, targets(world, fault), { state: 'unknown', until: untilOf(world, fault) }),
  'host-death': (world, fault) => darken(world, targets(world, fault), { state: 'dead', until: null }),
  'mass-outage': massOutage,
  exited: (world, fault) =>
    withRows(
      world,
      'contracts',
      contractsHit(world, fault).map((contract) =>
        forceStatus(contract, world.now, {
          status: 'exited',
          message: 'container exited with code 1',
          until: untilOf(world, fault),
        }),
      ),
    ),
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

/** The world after the fault. `probability` is the share that a mass outage hits. */
export function applyWorldFault(
  world: World,
  fault: ActiveFault & { readonly name: WorldFaultName },
  probability: number | null,
): World {
  return APPLY[fault.name](world, fault, probability);
}

/** Ends an outage before its time; other faults of the world leave nothing to take back. */
export function endOutage(world: World, fault: ActiveFault): World {
  if (!['offline', 'unknown', 'mass-outage'].includes(fault.name)) return world;
  const scope = fault.name === 'mass-outage' ? Object.values(world.tables.machines) : targets(world, fault);
  const dark = scope.filter((machine) => machine.state === 'offline' || machine.state === 'unknown');
  return withRows(
    world,
    'machines',
    dark.map((machine): Machine => ({ ...machine, state: 'up', stateUntil: null })),
  );
}

function untilOf(world: World, fault: ActiveFault): number | null {
  return fault.seconds === null ? null : world.now + fault.seconds * 1000;
}

/** Machines of the instance or host that the fault names. */
function targets(world: World, fault: ActiveFault): readonly Machine[] {
  if (fault.host !== null)
    return Object.values(world.tables.machines).filter((machine) => machine.hostId === fault.host);
  const contract = fault.instance === null ? undefined : world.tables.contracts[fault.instance];
  const machine = contract && world.tables.machines[contract.machineId];
  if (!machine) throw badRequest(`${fault.name}: name a live instance or a host.`);
  return [machine];
}

function contractsHit(world: World, fault: ActiveFault): readonly Contract[] {
  const contracts = Object.values(world.tables.contracts);
  if (fault.instance !== null) return contracts.filter((contract) => contract.id === fault.instance);
  if (fault.host !== null) return contracts.filter((contract) => contract.hostId === fault.host);
  throw badRequest(`${fault.name}: name a live instance or a host.`);
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

function massOutage(world: World, fault: ActiveFault, probability: number | null): World {
  const share = probability ?? 1;
  const hit = Object.values(world.tables.machines).filter(
    (machine) => chance(world.seed, machine.id, fault.id) < share,
  );
  return darken(world, hit, {
    state: 'offline',
    until: world.now + (fault.seconds ?? OUTAGE_SECONDS) * 1000,
  });
}

/** The price rises above the bid; the outbid step would do the rest, but the stop is seen at once. */
function raiseBid(world: World, fault: ActiveFault): World {
  const bids = contractsHit(world, fault).filter((contract) => contract.isBid);
  if (bids.length === 0) throw badRequest('outbid: name an instance that was rented with a bid.');
  const offers = bids
    .map((contract) => ({ contract, offer: world.tables.offers[contract.offerId] }))
    .flatMap(({ contract, offer }) =>
      offer ? [{ ...offer, minBidPerHour: Math.round((contract.bidPerHour ?? 0) * 1.2) + 1 }] : [],
    );
  const held = bids.map((contract) => holdContract(contract, world.now, 'outbid'));
  return withRows(withRows(world, 'offers', offers), 'contracts', held);
}

function destroyElsewhere(world: World, fault: ActiveFault): World {
  const gone = contractsHit(world, fault);
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

/** What is left is taken away, so that the credit step finds nothing. */
function spent(world: World, user: User): User {
  const left = creditMicros(world, user, world.now);
  return left > 0 ? { ...user, depositedMicros: user.depositedMicros - left } : user;
}

function announcePrice(world: World, fault: ActiveFault): World {
  const dueAt = world.now + (fault.seconds ?? ANNOUNCED_SECONDS) * 1000;
  let last = world.counters.priceIncrease ?? 0;
  const rows = contractsHit(world, fault).map((contract) => ({
    id: ++last,
    contractId: contract.id,
    userId: contract.userId,
    gpuPricePerHour: Math.round(contract.gpuPricePerHour * RAISE),
    announcedAt: world.now,
    dueAt,
  }));
  return { ...withRows(world, 'priceIncreases', rows), counters: { ...world.counters, priceIncrease: last } };
}
