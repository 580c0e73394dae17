import type { MicroDollars } from '../lib/money.ts';
import { type Change, type ChangeAnswer, pathId, sendChange } from './http/change.ts';
import type { Requester } from './http/request.ts';
import type { OfferFilter, OfferOrder } from './offers/offer.ts';
import type { CallOptions } from './offers/offers.ts';
import type { Volume, VolumeOffer } from './volume.ts';
import { toOfferSearch } from './wire/offer-search.ts';
import {
  toVolume,
  toVolumeOffer,
  volumeOfferRow,
  volumeOffersReply,
  volumeRentReply,
  volumesReply,
} from './wire/volume.ts';

/** A search of volume listings. */
export interface VolumeQuery {
  readonly filters: readonly OfferFilter[];
  readonly order?: readonly OfferOrder[];
  readonly limit?: number;
  /** GB that the prices of the reply are for. */
  readonly sizeGB?: number;
}

/** What a host puts up. */
export interface VolumeListing {
  readonly machineIds: readonly number[];
  readonly sizeGB: number;
  readonly pricePerGBMonth: MicroDollars;
  /** Epoch milliseconds. */
  readonly endsAt?: number;
}

/** Volumes: search, rent, own, delete; and the host's side (specification 4.1). */
export interface VolumesResource {
  search(query: VolumeQuery, options?: CallOptions): Promise<VolumeOffer[]>;
  /** Rents a part of a listing and answers the volume's name. */
  rent(
    request: { offerId: number; sizeGB: number; name?: string },
    options?: CallOptions,
  ): Promise<{ name: string | undefined }>;
  list(type?: 'all' | 'local' | 'network', options?: CallOptions): Promise<Volume[]>;
  delete(id: number, options?: CallOptions): Promise<ChangeAnswer>;
  /** Host: puts disk up for rent. */
  offer(listing: VolumeListing, options?: CallOptions): Promise<ChangeAnswer>;
  /** Host: takes a listing down, so that nobody can rent it any more. */
  unlist(id: number, options?: CallOptions): Promise<ChangeAnswer>;
}

const VOLUMES = { area: 'volumes', endpointClass: 'volume' } as const;

/** Volumes over one requester. */
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
        query: { id: pathId(id) },
        body: { id },
        bounds,
      }),
    offer: async (listing, bounds) =>
      change({
        operation: 'offer a volume',
        method: 'POST',
        path: '/api/v0/volumes/',
        body: {
          size: listing.sizeGB,
          machine: listing.machineIds,
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
        body: { id: Number(pathId(id)) },
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
  { offerId, sizeGB, name }: { offerId: number; sizeGB: number; name?: string },
  bounds: CallOptions | undefined,
): Promise<{ name: string | undefined }> {
  const { value } = await requester.send({
    ...VOLUMES,
    operation: 'rent a volume',
    effect: 'write',
    method: 'PUT',
    path: '/api/v0/volumes/',
    body: { id: offerId, size: sizeGB, name },
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
