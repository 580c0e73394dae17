import * as z from 'zod';
import { microDollars } from '../../lib/money.ts';
import type { Offer } from '../offers/offer.ts';
import type { OfferScalar } from './filter.ts';
import { looseBoolean, looseInteger, looseNumber, looseText, wireId } from './scalars.ts';

/**
 * An offer as it arrives (specification 2.2). Only `id` is needed; whatever else is missing, null or of the
 * wrong type counts as not said. Unknown fields are kept for filters.
 */
export const offerRow = z.looseObject({
  id: wireId,
  machine_id: looseInteger,
  host_id: looseInteger,
  gpu_name: looseText,
  num_gpus: looseInteger,
  gpu_ram: looseNumber,
  cpu_ram: looseNumber,
  cpu_cores_effective: looseNumber,
  disk_space: looseNumber,
  direct_port_count: looseInteger,
  reliability: looseNumber,
  reliability2: looseNumber,
  verified: looseBoolean,
  verification: looseText,
  rentable: looseBoolean,
  dph_total: looseNumber,
  min_bid: looseNumber,
  geolocation: looseText,
  cuda_max_good: looseNumber,
  dlperf: looseNumber,
  duration: looseNumber,
});

/** An offer row in wire names. */
export type WireOffer = z.infer<typeof offerRow>;

/** Reply of an offer search. Rows are parsed one by one, so that a bad one does not spoil the page. */
export const offersReply = z.looseObject({ offers: z.array(z.unknown()) });

function isVerified(row: WireOffer): boolean | undefined {
  if (row.verified !== undefined) return row.verified;
  return row.verification === undefined ? undefined : row.verification === 'verified';
}

function scalarFields(row: WireOffer): Record<string, OfferScalar> {
  const fields: Record<string, OfferScalar> = {};
  for (const [name, value] of Object.entries(row)) {
    if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) {
      fields[name] = value as OfferScalar;
    }
  }
  return fields;
}

const price = (dollars: number | undefined) => (dollars === undefined ? undefined : microDollars(dollars));

/** The offer in our names and units. */
export function toOffer(row: WireOffer): Offer {
  return {
    id: row.id,
    machineId: row.machine_id,
    hostId: row.host_id,
    gpuName: row.gpu_name,
    gpuCount: row.num_gpus,
    gpuMemoryMB: row.gpu_ram,
    memoryMB: row.cpu_ram,
    cpuCores: row.cpu_cores_effective,
    diskGB: row.disk_space,
    directPorts: row.direct_port_count,
    reliability: row.reliability ?? row.reliability2,
    verified: isVerified(row),
    rentable: row.rentable,
    pricePerHour: price(row.dph_total),
    minBid: price(row.min_bid),
    region: row.geolocation,
    cudaVersion: row.cuda_max_good,
    performance: row.dlperf,
    remainingSeconds: row.duration,
    fields: scalarFields(row),
  };
}
