import * as z from 'zod';
import { microDollars } from '../../lib/money.ts';
import type { Volume, VolumeOffer } from '../volume.ts';
import { epochMs, looseInteger, looseNumber, looseText, wireId } from './scalars.ts';

/** A volume listing as search answers it (specification 2.1: only `id` is certain). */
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

/** The listing in our names and units. */
export function toVolumeOffer(row: z.infer<typeof volumeOfferRow>): VolumeOffer {
  return {
    id: row.id,
    machineId: row.machine_id,
    hostId: row.host_id,
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

/** The volume in our names and units. */
export function toVolume(row: z.infer<typeof volumeRow>): Volume {
  return {
    id: row.id,
    label: row.label,
    status: row.status,
    sizeGB: row.disk_space,
    diskName: row.disk_name,
    machineId: row.machine_id,
    startedAt: epochMs(row.start_date),
  };
}
