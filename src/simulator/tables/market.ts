import * as z from 'zod';
import { amount, type Row, rowId, time } from './row.ts';

/* Offers of hosts: machines, offers and disk volumes. */

/** A physical machine of a host. */
export const machineRow = z.strictObject({
  id: rowId,
  hostId: rowId,
  publicAddress: z.string(),
  /** `up`, `offline` (host disconnected), `unknown` (no heartbeat), `dead` (never comes back). */
  state: z.enum(['up', 'offline', 'unknown', 'dead']),
  /** End of a passing outage; null while up and for ever when dead. */
  stateUntil: time.nullable(),
  /** Factor of the image pull of this machine. */
  pullFactor: amount,
  reliability: amount,
  listed: z.boolean(),
});
export type Machine = Row<typeof machineRow>;

/** Value of an offer's column. */
const column = z.union([z.string(), z.number(), z.boolean(), z.null()], {
  error: 'a text, a number, true, false or null',
});
export type Column = Row<typeof column>;

/** A listing that can be rented once at a time. */
export const offerRow = z.strictObject({
  id: rowId,
  machineId: rowId,
  hostId: rowId,
  /** Contract that rents it now. */
  rentedBy: rowId.nullable(),
  /** True if the service sells it once more although it is rented. */
  soldAgain: z.literal(true).exactOptional(),
  gpuPricePerHour: amount,
  diskPricePerGBMonth: amount,
  minBidPerHour: amount,
  /** Columns by wire name that are constant over time, requests and callers. */
  columns: z.record(z.string(), column),
});
export type Offer = Row<typeof offerRow>;

/** Disk on one machine, or reached over the network. */
const volumeKind = z.enum(['local', 'network']);
export type VolumeKind = Row<typeof volumeKind>;

/**
 * A host's disk volume ask listing (specification 2.1, 3.2). It is active while a volume rented from it
 * exists; unlisting removes the row.
 */
export const volumeListingRow = z.strictObject({
  id: rowId,
  /** The user who listed it. */
  userId: rowId,
  kind: volumeKind,
  /** Null for network disks. */
  machineId: rowId.nullable(),
  sizeGB: amount,
  dollarsPerGBMonth: amount,
  endsAt: time.nullable(),
  /** True if unlisting fails with `Unable to delete volume listing.`: only a world document can set it. */
  undeletable: z.boolean(),
  createdAt: time,
});
export type VolumeListing = Row<typeof volumeListingRow>;

/** A rented volume. */
export const volumeRow = z.strictObject({
  id: rowId,
  userId: rowId,
  listingId: rowId,
  kind: volumeKind,
  machineId: rowId.nullable(),
  sizeGB: amount,
  name: z.string(),
  /** Price at the rental; 0 bills nothing. */
  pricePerHour: amount,
  createdAt: time,
});
export type Volume = Row<typeof volumeRow>;

/** Remaining row of a deleted volume. */
export const endedVolumeRow = z.strictObject({
  id: rowId,
  userId: rowId,
  name: z.string(),
  createdAt: time,
  endedAt: time,
  dollarsMicros: z.number(),
});
export type EndedVolume = Row<typeof endedVolumeRow>;
