import { callerOf, type RouteContext } from '../calls/route.ts';
import { type JsonObject, ownValue } from '../json.ts';
import { badRequest, invalidArgs, Refusal } from '../refusal.ts';
import type { Contract } from '../tables/contracts.ts';
import type { Column, Machine, Offer, Volume, VolumeKind, VolumeListing } from '../tables/market.ts';
import { between, chance } from '../world/chance.ts';
import { creditMicros } from '../world/ledger.ts';
import { FIRST_LISTING, freeGB } from '../world/volume-space.ts';
import type { World } from '../world/world.ts';
import { compareColumns, comparison } from './search.ts';
import type { Condition, SearchQuery } from './search-query.ts';

/* Disk volumes and the hosts' listings from which they are rented (specification 2.1, 3.2, 4.1). PURE. */

/** Returns true if a listing is active: a volume rented from it exists. */
export function isActive(world: World, listingId: number): boolean {
  return Object.values(world.tables.volumes).some((volume) => volume.listingId === listingId);
}

/** Returns the listing that its host may unlist now. Throws the refusals of specification 4.1. */
export function listingToUnlist(
  world: World,
  named: { id: number; userId: number; kind: VolumeKind },
): VolumeListing {
  const listing = world.tables.volumeListings[named.id];
  if (!listing || listing.userId !== named.userId || listing.kind !== named.kind) {
    throw new Refusal(400, 'no_such_volume', 'Volume listing does not exist');
  }
  if (isActive(world, listing.id)) {
    throw new Refusal(400, 'volume_listing_active', 'Unable to delete active volume listing');
  }
  if (listing.undeletable) {
    throw new Refusal(400, 'volume_deletion_failed', 'Unable to delete volume listing.');
  }
  return listing;
}

/** Returns the instances to which a volume is attached. */
export function attachedTo(world: World, volume: Volume): readonly Contract[] {
  return Object.values(world.tables.contracts).filter(({ volumes }) =>
    volumes.some(({ id }) => id === volume.id),
  );
}

/** Returns the listings that a search finds, in its order and within its limit, as rows of the wire. */
export function findListings(world: World, query: SearchQuery, kind: VolumeKind): readonly JsonObject[] {
  // One offer of each machine: its board, network and place are those of the volume.
  const boards = new Map(Object.values(world.tables.offers).map((offer) => [offer.machineId, offer]));
  const tests = query.conditions.map(testOf);
  const rows = Object.values(world.tables.volumeListings)
    .filter((listing) => listing.kind === kind && freeGB(world, listing) > 0)
    .map((listing) => listingRow(world, listing, boards.get(listing.machineId ?? -1)))
    .filter((row) => tests.every((test) => test(row)));
  return sorted(rows, query).slice(0, query.limit);
}

type Row = Readonly<Record<string, Column>>;

function listingRow(world: World, listing: VolumeListing, board: Offer | undefined): Row {
  const endsAt = Math.floor((listing.endsAt ?? world.now + 30 * 86_400_000) / 1000);
  return {
    ...board?.columns,
    id: listing.id,
    ask_contract_id: listing.id,
    machine_id: listing.machineId,
    host_id: board?.hostId ?? listing.userId,
    disk_space: freeGB(world, listing),
    storage_cost: listing.dollarsPerGBMonth,
    end_date: endsAt,
    duration: Math.max(0, endsAt - Math.floor(world.now / 1000)),
    score: board?.columns.dlperf ?? 0,
    resource_type: 'volume',
  };
}

function testOf({ column, operator, operand }: Condition): (row: Row) => boolean {
  const compare = comparison(operator, operand);
  return (row) => {
    const value = ownValue(row, column);
    return value === undefined || compare(value);
  };
}

function sorted(rows: readonly Row[], query: SearchQuery): readonly Row[] {
  return rows.toSorted((left, right) => {
    for (const { column, descending } of query.order) {
      const difference = compareColumns(ownValue(left, column) ?? null, ownValue(right, column) ?? null);
      if (difference !== 0) return descending ? -difference : difference;
    }
    return Number(left.id) - Number(right.id);
  });
}

/** The listing of the first user that is not rented, and the one that is rented (active). */
const OWN_FREE_LISTING = 8;
const OWN_ACTIVE_LISTING = 9;

/** Returns the listings of the first user as a host, so that unlisting can be tried at once. */
export function firstUserVolumes(
  userId: number,
  now: number,
): { listings: readonly VolumeListing[]; volumes: readonly Volume[] } {
  const common = {
    userId,
    kind: 'local',
    machineId: null,
    sizeGB: 100,
    dollarsPerGBMonth: 0.2,
    endsAt: null,
    undeletable: false,
    createdAt: now,
  } as const;
  const rented: Volume = {
    id: 1,
    userId: userId + 1,
    listingId: OWN_ACTIVE_LISTING,
    kind: 'local',
    machineId: null,
    sizeGB: 20,
    name: 'V.1',
    // Rented by another account: it makes the listing active and costs nothing.
    pricePerHour: 0,
    createdAt: now,
  };
  return {
    listings: [
      { ...common, id: OWN_FREE_LISTING },
      { ...common, id: OWN_ACTIVE_LISTING },
    ],
    volumes: [rented],
  };
}

/**
 * Returns the disk listings: of every fourth machine, and of every sixteenth of these over the network; the same for
 * the same seed.
 */
export function seededListings(
  seed: number,
  machines: readonly Machine[],
  now: number,
): readonly VolumeListing[] {
  return machines
    .filter((_, index) => index % 4 === 0)
    .map((machine, index) => ({
      id: FIRST_LISTING + index,
      userId: machine.hostId,
      kind: index % 16 === 0 ? 'network' : 'local',
      machineId: machine.id,
      sizeGB: Math.round(between(50, 2000, chance(seed, machine.id, 71))),
      dollarsPerGBMonth: Math.round(between(0.05, 0.25, chance(seed, machine.id, 72)) * 1000) / 1000,
      endsAt: now + Math.round(between(10, 300, chance(seed, machine.id, 73))) * 86_400_000,
      undeletable: false,
      createdAt: now,
    }));
}

/* Rental of a volume, by itself or together with an instance; it is billed until it is deleted. */

/** Default size of a volume, GB. */
export const DEFAULT_VOLUME_GB = 15;

const noSuchVolume = (msg: string): Refusal => new Refusal(404, 'no_such_volume', msg);

/** Returns the volume offer of that id and kind. Throws 404 `no_such_volume` if there is none. */
export function rentableListing(ctx: RouteContext, id: number, kind: VolumeKind): VolumeListing {
  const listing = ctx.world.tables.volumeListings[id];
  if (!listing || listing.kind !== kind) throw noSuchVolume(`There is no volume offer ${id}.`);
  return listing;
}

/** Returns the caller's volume of that id. Throws 404 `no_such_volume` if there is none. */
export function ownVolume(ctx: RouteContext, id: number): Volume {
  const volume = ctx.world.tables.volumes[id];
  if (!volume || volume.userId !== callerOf(ctx).user.id) throw noSuchVolume(`There is no volume ${id}.`);
  return volume;
}

/** Rents space of a listing for the caller. Throws a 400 refusal if the space is not free or no credit is left. */
export function rentVolume(
  ctx: RouteContext,
  listing: VolumeListing,
  request: { readonly sizeGB: number; readonly name: string | undefined },
): Volume {
  const { user } = callerOf(ctx);
  if (request.sizeGB < 1) throw badRequest('size must be at least 1 GB.');
  const free = freeGB(ctx.world, listing);
  if (request.sizeGB > free) {
    throw invalidArgs(`size: only ${free} GB of this offer are free.`);
  }
  if (creditMicros(ctx.world, user, ctx.now) <= 0) {
    throw new Refusal(400, 'insufficient_credit', 'Your credit is used up. Add credit to rent a volume.');
  }
  const id = ctx.write.nextId('volume');
  const monthly = listing.dollarsPerGBMonth * 1e6 * request.sizeGB;
  const volume: Volume = {
    id,
    userId: user.id,
    listingId: listing.id,
    kind: listing.kind,
    machineId: listing.machineId,
    sizeGB: request.sizeGB,
    name: request.name ?? `V.${id}`,
    pricePerHour: Math.round(monthly / ctx.settings.billing.hoursPerMonth),
    createdAt: ctx.now,
  };
  ctx.write.put('volumes', volume);
  return volume;
}
