import * as z from 'zod';
import { type MicroDollars, microDollars } from '../../lib/money.ts';
import type { CallOptions } from '../../market/call-options.ts';
import type { MarketplaceId } from '../../market/ids.ts';
import type { OfferFilter, OfferOrder } from '../../market/offer.ts';
import { type Change, type ChangeAnswer, type Requester, sendChange } from './http/call.ts';
import { pathId, toId, toWireId } from './ids.ts';
import { toOfferSearch } from './offers/offers.ts';
import { epochMs, looseInteger, looseNumber, looseText, wireId } from './scalars.ts';

/** Disk that a host offers (specification 2.1). */
export interface VolumeOffer {
  readonly id: MarketplaceId;
  readonly machineId: MarketplaceId | undefined;
  readonly hostId: MarketplaceId | undefined;
  readonly sizeGB: number | undefined;
  readonly bandwidthMBps: number | undefined;
  readonly diskName: string | undefined;
  readonly pricePerGBMonth: MicroDollars | undefined;
  readonly reliability: number | undefined;
  readonly remainingSeconds: number | undefined;
  readonly verified: boolean | undefined;
  readonly region: string | undefined;
}

/** A volume that the account rents. */
export interface Volume {
  readonly id: MarketplaceId;
  readonly label: string | undefined;
  readonly status: string | undefined;
  readonly sizeGB: number | undefined;
  readonly diskName: string | undefined;
  readonly machineId: MarketplaceId | undefined;
  /** Epoch milliseconds. */
  readonly startedAt: number | undefined;
}

/** A volume listing in a search (specification 2.1: only `id` is certain). */
export const volumeOfferRow = z.object({
  id: wireId,
  machine_id: looseInteger,
  host_id: looseInteger,
  disk_space: looseNumber,
  disk_bw: looseNumber,
  disk_name: looseText,
  storage_cost: looseNumber,
  reliability: looseNumber,
  duration: looseNumber,
  verification: looseText,
  geolocation: looseText,
});

export const volumeOffersReply = z.object({ offers: z.array(z.unknown()) });

/** A volume that the account owns. */
export const volumeRow = z.object({
  id: wireId,
  label: looseText,
  status: looseText,
  disk_space: looseNumber,
  disk_name: looseText,
  machine_id: looseInteger,
  start_date: looseNumber,
});

export const volumesReply = z.object({ volumes: z.array(volumeRow) });

export const volumeRentReply = z.object({ volume_name: looseText });

/** Returns the listing in this program's names and units. */
export function toVolumeOffer(row: z.infer<typeof volumeOfferRow>): VolumeOffer {
  return {
    id: toId(row.id),
    machineId: toId(row.machine_id),
    hostId: toId(row.host_id),
    sizeGB: row.disk_space,
    bandwidthMBps: row.disk_bw,
    diskName: row.disk_name,
    pricePerGBMonth: row.storage_cost === undefined ? undefined : microDollars(row.storage_cost),
    reliability: row.reliability,
    remainingSeconds: row.duration,
    verified: row.verification === undefined ? undefined : row.verification === 'verified',
    region: row.geolocation,
  };
}

/** Returns the volume in this program's names and units. */
export function toVolume(row: z.infer<typeof volumeRow>): Volume {
  return {
    id: toId(row.id),
    label: row.label,
    status: row.status,
    sizeGB: row.disk_space,
    diskName: row.disk_name,
    machineId: toId(row.machine_id),
    startedAt: epochMs(row.start_date),
  };
}

/** A search of volume listings. */
export interface VolumeQuery {
  readonly filters: readonly OfferFilter[];
  readonly order?: readonly OfferOrder[];
  readonly limit?: number;
  /** Gigabytes that the prices of the reply include. */
  readonly sizeGB?: number;
}

/** A host's offer of disk. */
export interface VolumeListing {
  readonly machineIds: readonly MarketplaceId[];
  readonly sizeGB: number;
  readonly pricePerGBMonth: MicroDollars;
  /** Epoch milliseconds. */
  readonly endsAt?: number;
}

/** Volumes: search, rent, own, delete; and the host's side (specification 4.1). */
export interface VolumesResource {
  search(query: VolumeQuery, options?: CallOptions): Promise<VolumeOffer[]>;
  /** Rents a part of a listing and returns the volume's name. */
  rent(
    request: { offerId: MarketplaceId; sizeGB: number; name?: string },
    options?: CallOptions,
  ): Promise<{ name: string | undefined }>;
  list(type?: 'all' | 'local' | 'network', options?: CallOptions): Promise<Volume[]>;
  delete(id: MarketplaceId, options?: CallOptions): Promise<ChangeAnswer>;
  /** Offers disk for rent, as a host. */
  offer(listing: VolumeListing, options?: CallOptions): Promise<ChangeAnswer>;
  /** Removes a listing, as a host, so that it can no longer be rented. */
  unlist(id: MarketplaceId, options?: CallOptions): Promise<ChangeAnswer>;
}

const VOLUMES = { area: 'volumes', endpointClass: 'volume' } as const;

/** Creates the volume calls over one requester. */
export function createVolumes(requester: Requester): VolumesResource {
  const change = (call: Pick<Change, 'operation' | 'method' | 'path' | 'query' | 'body' | 'bounds'>) =>
    sendChange(requester, { ...VOLUMES, ...call });
  return {
    search: (query, options) => search(requester, query, options),
    rent: (request, options) => rent(requester, request, options),
    list: (type = 'all', options) => list(requester, type, options),
    delete: async (id, bounds) =>
      change({
        operation: 'delete a volume',
        method: 'DELETE',
        path: '/api/v0/volumes/',
        query: { id: pathId(id, 'volumeId') },
        body: { id: toWireId(id, 'volumeId') },
        bounds,
      }),
    offer: async (listing, bounds) =>
      change({
        operation: 'offer a volume',
        method: 'POST',
        path: '/api/v0/volumes/',
        body: {
          size: listing.sizeGB,
          machine: listing.machineIds.map((id) => toWireId(id, 'machineId')),
          price_disk: listing.pricePerGBMonth / 1_000_000,
          end_date: listing.endsAt === undefined ? undefined : listing.endsAt / 1000,
        },
        bounds,
      }),
    unlist: async (id, bounds) =>
      change({
        operation: 'unlist a volume',
        method: 'POST',
        path: '/api/v0/volumes/unlist',
        body: { id: toWireId(id, 'volumeId') },
        bounds,
      }),
  };
}

async function search(
  requester: Requester,
  { sizeGB, ...query }: VolumeQuery,
  bounds: CallOptions | undefined,
): Promise<VolumeOffer[]> {
  const { value } = await requester.send({
    ...VOLUMES,
    operation: 'search volumes',
    effect: 'read',
    method: 'POST',
    path: '/api/v0/volumes/search/',
    body: toOfferSearch({ ...query, ...(sizeGB === undefined ? {} : { storageGB: sizeGB }) }),
    reply: volumeOffersReply,
    bounds,
  });
  return value.offers.flatMap((row) => {
    const parsed = volumeOfferRow.safeParse(row);
    return parsed.success ? [toVolumeOffer(parsed.data)] : [];
  });
}

async function rent(
  requester: Requester,
  { offerId, sizeGB, name }: { offerId: MarketplaceId; sizeGB: number; name?: string },
  bounds: CallOptions | undefined,
): Promise<{ name: string | undefined }> {
  const { value } = await requester.send({
    ...VOLUMES,
    operation: 'rent a volume',
    effect: 'write',
    method: 'PUT',
    path: '/api/v0/volumes/',
    body: { id: toWireId(offerId, 'offerId'), size: sizeGB, name },
    reply: volumeRentReply,
    bounds,
  });
  return { name: value.volume_name };
}

async function list(
  requester: Requester,
  type: 'all' | 'local' | 'network',
  bounds: CallOptions | undefined,
): Promise<Volume[]> {
  const { value } = await requester.send({
    ...VOLUMES,
    operation: 'list volumes',
    effect: 'read',
    method: 'GET',
    path: '/api/v0/volumes',
    query: { owner: 'me', type: `${type}_volume` },
    reply: volumesReply,
    bounds,
  });
  return value.volumes.map(toVolume);
}
