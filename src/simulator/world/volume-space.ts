import { badRequest, Refusal } from '../calls/refusal.ts';
import { callerOf, type RouteContext } from '../calls/route.ts';
import type { Volume, VolumeKind, VolumeListing } from '../tables/market.ts';
import { creditMicros } from './ledger.ts';
import type { World } from './world.ts';
import { rowsOf } from './world-store.ts';

/* What of a host's listed disk is for rent, and where. PURE. */

/** GB of a listing that is not rented. */
export function freeGB(world: World, listing: VolumeListing): number {
  let free = listing.sizeGB;
  for (const { listingId, sizeGB } of rowsOf(world.tables.volumes)) {
    if (listingId === listing.id) free -= sizeGB;
  }
  return free;
}

/** Listings by machine, for as long as the table is not written. */
const byMachine = new WeakMap<readonly VolumeListing[], ReadonlyMap<number | null, VolumeListing>>();

/** The disk that is listed on a machine; undefined if there is none. */
export function listingOn(world: World, machineId: number): VolumeListing | undefined {
  const listings = rowsOf(world.tables.volumeListings);
  let known = byMachine.get(listings);
  if (known === undefined) {
    const local = listings.filter(({ kind }) => kind === 'local');
    known = new Map(local.map((listing) => [listing.machineId, listing]));
    byMachine.set(listings, known);
  }
  return known.get(machineId);
}

/* Renting a volume, by itself or together with an instance; from then on it is billed until it is deleted. */

/** Size of a volume whose renter names none, GB. */
export const DEFAULT_VOLUME_GB = 15;

const noSuchVolume = (msg: string): Refusal => new Refusal(404, 'no_such_volume', msg);

/** The volume offer of that id and kind. Throws 404 `no_such_volume` if there is none. */
export function rentableListing(ctx: RouteContext, id: number, kind: VolumeKind): VolumeListing {
  const listing = ctx.world.tables.volumeListings[id];
  if (!listing || listing.kind !== kind) throw noSuchVolume(`There is no volume offer ${id}.`);
  return listing;
}

/** The caller's volume of that id. Throws 404 `no_such_volume` if there is none. */
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
    throw new Refusal(400, 'invalid_args', `size: only ${free} GB of this offer are free.`);
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
