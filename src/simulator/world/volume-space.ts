import type { VolumeListing } from '../tables/market.ts';
import type { World } from './world.ts';
import { rowsOf } from './world-store.ts';

/* Rentable space of a host's listed disk. PURE. */

/** First id of the listings of a seeded market. */
export const FIRST_LISTING = 6_000_001;

/** Returns the GB of a listing that are not rented. */
export function freeGB(world: World, listing: VolumeListing): number {
  let free = listing.sizeGB;
  for (const { listingId, sizeGB } of rowsOf(world.tables.volumes)) {
    if (listingId === listing.id) free -= sizeGB;
  }
  return free;
}

/** Listings by machine, cached until the table is written. */
const byMachine = new WeakMap<readonly VolumeListing[], ReadonlyMap<number | null, VolumeListing>>();

/** Returns the listed disk of a machine; undefined if there is none. */
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
