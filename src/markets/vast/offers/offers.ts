import * as z from 'zod';
import { microDollars } from '../../../lib/money.ts';
import type { CallOptions } from '../../../market/call-options.ts';
import type { FilterOperator, Offer, OfferFilter, OfferQuery, OfferScalar } from '../../../market/offer.ts';
import type { Requester } from '../http/call.ts';
import { toId } from '../ids.ts';
import { looseBoolean, looseInteger, looseNumber, looseText, wireId } from '../scalars.ts';

/** Filters of one field: `{op: value}`, joined by AND. */
export type WireFilter = Partial<Record<FilterOperator, OfferScalar | readonly OfferScalar[]>>;

/** Control keys of a search body (specification 4.4); the filters are beside them, each under its field. */
export interface WireSearchControls {
  readonly order?: readonly (readonly [field: string, direction: 'asc' | 'desc'])[];
  readonly type?: 'on-demand' | 'bid' | 'reserved';
  readonly limit?: number;
  readonly allocated_storage?: number;
}

/** Offers (specification 4.4). */
export interface OffersResource {
  /** Returns the matching offers in the requested order. An unreadable row is left out. A read: may be repeated. */
  search(query: OfferQuery, options?: CallOptions): Promise<Offer[]>;
}

/**
 * An offer on the wire (specification 2.2). Only `id` is required; a value that is missing, null or of the wrong type
 * counts as missing. Unknown fields are kept for filters.
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
  storage_total_cost: looseNumber,
  geolocation: looseText,
  cuda_max_good: looseNumber,
  dlperf: looseNumber,
  duration: looseNumber,
});

/** An offer row in wire names. */
export type WireOffer = z.infer<typeof offerRow>;

/** Reply of an offer search. Rows are parsed one by one, so that an invalid one does not invalidate the page. */
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

/** Returns the offer in this program's names and units. */
export function toOffer(row: WireOffer): Offer {
  return {
    id: toId(row.id),
    machineId: toId(row.machine_id),
    hostId: toId(row.host_id),
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
    storagePricePerHour: price(row.storage_total_cost),
    region: row.geolocation,
    cudaVersion: row.cuda_max_good,
    performance: row.dlperf,
    remainingSeconds: row.duration,
    fields: scalarFields(row),
  };
}

/** Column and units per column unit of each {@link Offer} field that a search may name. */
const COLUMNS: Readonly<Partial<Record<keyof Offer, readonly [column: string, unit?: number]>>> = {
  // An id is a number on the wire.
  machineId: ['machine_id', 1],
  hostId: ['host_id', 1],
  gpuName: ['gpu_name'],
  gpuCount: ['num_gpus'],
  gpuMemoryMB: ['gpu_ram'],
  memoryMB: ['cpu_ram'],
  cpuCores: ['cpu_cores_effective'],
  diskGB: ['disk_space'],
  directPorts: ['direct_port_count'],
  pricePerHour: ['dph_total', 1_000_000],
  minBid: ['min_bid', 1_000_000],
  storagePricePerHour: ['storage_total_cost', 1_000_000],
  region: ['geolocation'],
  cudaVersion: ['cuda_max_good'],
  performance: ['dlperf'],
  remainingSeconds: ['duration'],
};

function columnOf(field: string): readonly [column: string, unit?: number] {
  return Object.hasOwn(COLUMNS, field) ? (COLUMNS[field as keyof Offer] ?? [field]) : [field];
}

function inUnit(value: OfferScalar, unit: number | undefined): OfferScalar {
  return unit === undefined || value === null ? value : Number(value) / unit;
}

/** Returns the body of an offer search: controls and filters side by side. */
export function toOfferSearch(query: OfferQuery): Record<string, unknown> {
  return { ...toWireFilters(query.filters), ...toControls(query) };
}

function toControls({ order = [], pricing, limit, storageGB }: OfferQuery): WireSearchControls {
  return {
    ...(order.length > 0
      ? { order: order.map(({ field, direction }) => [columnOf(field)[0], direction] as const) }
      : {}),
    ...(pricing === undefined ? {} : { type: pricing }),
    ...(limit === undefined ? {} : { limit }),
    ...(storageGB === undefined ? {} : { allocated_storage: storageGB }),
  };
}

/** Returns the filters by column; two filters of one field are joined under its column. */
function toWireFilters(filters: readonly OfferFilter[]): Record<string, WireFilter> {
  const wire: Record<string, WireFilter> = {};
  for (const { field, operator, value } of filters) {
    const [column, unit] = columnOf(field);
    wire[column] = {
      ...wire[column],
      [operator]: Array.isArray(value)
        ? value.map((each: OfferScalar) => inUnit(each, unit))
        : inUnit(value as OfferScalar, unit),
    };
  }
  return wire;
}

/** Creates the offer calls over one requester. */
export function createOffers(requester: Requester): OffersResource {
  return {
    async search(query, options) {
      const { value } = await requester.send({
        operation: 'search offers',
        endpointClass: 'search',
        area: 'search',
        effect: 'read',
        method: 'POST',
        path: '/api/v0/bundles/',
        body: toOfferSearch(query),
        reply: offersReply,
        bounds: options,
      });
      // An invalid row does not invalidate the page.
      return value.offers.flatMap((row) => {
        const parsed = offerRow.safeParse(row);
        return parsed.success ? [toOffer(parsed.data)] : [];
      });
    },
  };
}
