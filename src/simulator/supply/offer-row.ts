import { microDollars } from '../../lib/money.ts';
import type { Random } from '../../lib/random.ts';
import { type Json, type JsonObject, ownValue } from '../json.ts';
import type { Settings } from '../settings.ts';
import type { Column, Machine, Offer } from '../tables/market.ts';
import { round, span } from '../world/chance.ts';
import { freeGB, listingOn } from '../world/volume-space.ts';
import type { World } from '../world/world.ts';
import type { GpuModel, Traits } from './machine-traits.ts';

/*
 * An offer in the form of a reply: its own columns, and those that depend on the time, the requested storage, the
 * pricing type and the caller. PURE.
 */

export type PricingType = 'on-demand' | 'bid' | 'reserved';

/** Inputs of a row in addition to the offer itself. */
export interface OfferView {
  readonly world: World;
  readonly now: number;
  readonly callerId: number | undefined;
  readonly pricing: PricingType;
  /** GB whose price is part of `dph_total`. */
  readonly storageGB: number;
}

const dollars = (micros: number): number => Math.round(micros) / 1e6;

/** Returns the dollars per hour for a disk of that size. */
export function diskMicrosPerHour(offer: Offer, diskGB: number, settings: Settings): number {
  return Math.round((offer.diskPricePerGBMonth * diskGB) / settings.billing.hoursPerMonth);
}

const gpuMicros = (offer: Offer, view: OfferView): number =>
  view.pricing === 'bid' ? offer.minBidPerHour : offer.gpuPricePerHour;

const totalMicros = (offer: Offer, view: OfferView): number =>
  gpuMicros(offer, view) + diskMicrosPerHour(offer, view.storageGB, view.world.settings);

const number = (offer: Offer, name: string): number => {
  const value = offer.columns[name];
  return typeof value === 'number' ? value : 0;
};

const perDollar = (offer: Offer, view: OfferView, name: string): number =>
  Math.round((number(offer, name) / Math.max(1e-6, totalMicros(offer, view) / 1e6)) * 1000) / 1000;

const reservedMicros = (offer: Offer, view: OfferView): number =>
  totalMicros(offer, view) - gpuMicros(offer, view) * number(offer, 'discount_rate');

/** Returns the seconds until the host withdraws the offer; 0 if that has passed. */
export const secondsLeft = (offer: Offer, view: Pick<OfferView, 'now'>): number =>
  Math.max(0, number(offer, 'end_date') - Math.floor(view.now / 1000));

/** Returns true if the service sells the offer: it is free, or sold twice by a fault. */
export const isForSale = ({ rentedBy, soldAgain }: Offer): boolean => rentedBy === null || soldAgain === true;

function isRentable(offer: Offer, view: OfferView): boolean {
  const machine = view.world.tables.machines[offer.machineId];
  return isForSale(offer) && machine?.state === 'up' && machine.listed && secondsLeft(offer, view) > 0;
}

function isRentedByCaller(offer: Offer, view: OfferView): boolean {
  const contract = offer.rentedBy === null ? undefined : view.world.tables.contracts[offer.rentedBy];
  return contract !== undefined && contract.userId === view.callerId;
}

/** Returns the whole disk that can be rented as a volume in addition to the offer, with its hourly price. */
function volumeOf(
  offer: Offer,
  { world }: OfferView,
): { id: number; sizeGB: number; dph: number } | undefined {
  const listing = listingOn(world, offer.machineId);
  const sizeGB = listing ? freeGB(world, listing) : 0;
  if (!listing || sizeGB <= 0) return undefined;
  const monthly = listing.dollarsPerGBMonth * 1e6 * sizeGB;
  return { id: listing.id, sizeGB, dph: dollars(monthly / world.settings.billing.hoursPerMonth) };
}

/** Computed columns by wire name. */
export const COMPUTED: Readonly<Record<string, (offer: Offer, view: OfferView) => Column>> = {
  id: (offer) => offer.id,
  ask_contract_id: (offer) => offer.id,
  machine_id: (offer) => offer.machineId,
  host_id: (offer) => offer.hostId,
  dph_base: (offer, view) => dollars(gpuMicros(offer, view)),
  dph_total: (offer, view) =>
    dollars(view.pricing === 'reserved' ? reservedMicros(offer, view) : totalMicros(offer, view)),
  dph_total_adj: (offer, view) => dollars(totalMicros(offer, view)),
  discounted_dph_total: (offer, view) => dollars(reservedMicros(offer, view)),
  discounted_hourly: (offer, view) => dollars(gpuMicros(offer, view) * number(offer, 'discount_rate')),
  min_bid: (offer) => dollars(offer.minBidPerHour),
  storage_total_cost: (offer, view) => dollars(diskMicrosPerHour(offer, view.storageGB, view.world.settings)),
  flops_per_dphtotal: (offer, view) => perDollar(offer, view, 'total_flops'),
  dlperf_per_dphtotal: (offer, view) => perDollar(offer, view, 'dlperf'),
  score: (offer, view) =>
    Math.round(perDollar(offer, view, 'dlperf') * number(offer, 'reliability_mult') * 100) / 100,
  duration: secondsLeft,
  time_remaining: (offer, view) => `${Math.floor(secondsLeft(offer, view) / 86_400)} days`,
  rentable: isRentable,
  rented: isRentedByCaller,
  is_bid: (_offer, view) => view.pricing === 'bid',
  avail_vol_ask_id: (offer, view) => volumeOf(offer, view)?.id ?? null,
  avail_vol_dph: (offer, view) => volumeOf(offer, view)?.dph ?? null,
  avail_vol_size: (offer, view) => volumeOf(offer, view)?.sizeGB ?? null,
};

const COMPUTED_NAMES = Object.keys(COMPUTED);

/** Returns a reader of one column, found by its name once; undefined if the column does not exist. */
export function columnReader(name: string): (offer: Offer, view: OfferView) => Column | undefined {
  return ownValue(COMPUTED, name) ?? ((offer) => ownValue(offer.columns, name));
}

/**
 * Returns the row of the `specification` profile: the id, and the names by which it filters and sorts (2.2). It shows
 * no other field of an offer, and no price.
 */
export function specifiedOffer(offer: Offer, view: OfferView): JsonObject {
  const columns = ['gpu_name', 'num_gpus', 'gpu_ram', 'direct_port_count', 'rentable', 'dlperf_per_dphtotal'];
  const shown = columns.map((name) => [name, columnReader(name)(offer, view) ?? null] as const);
  return { id: offer.id, verified: offer.columns.vericode === 1, ...Object.fromEntries(shown) };
}

/** Cached starts of rows with the constant columns, by their object: most of a reply is the same each time. */
const fixedJson = new WeakMap<Offer['columns'], string>();

/** Returns the complete row of a reply as JSON text. */
export function offerJson(offer: Offer, view: OfferView): string {
  let fixed = fixedJson.get(offer.columns);
  if (fixed === undefined) {
    const columns = JSON.stringify(offer.columns).slice(0, -1);
    fixed = columns === '{' ? columns : `${columns},`;
    fixedJson.set(offer.columns, fixed);
  }
  return `${fixed}${JSON.stringify(computedColumns(offer, view)).slice(1)}`;
}

function computedColumns(offer: Offer, view: OfferView): Record<string, Json> {
  const row: Record<string, Json> = {};
  for (const name of COMPUTED_NAMES) row[name] = COMPUTED[name]?.(offer, view) ?? null;
  const gpu = gpuMicros(offer, view);
  const prices = {
    gpuCostPerHour: dollars(gpu),
    diskHour: dollars(diskMicrosPerHour(offer, view.storageGB, view.world.settings)),
    totalHour: dollars(totalMicros(offer, view)),
    discountTotalHour: dollars(gpu * number(offer, 'discount_rate')),
    discountedTotalPerHour: dollars(reservedMicros(offer, view)),
  };
  row.search = prices;
  row.instance = prices;
  row.bundled_results = 1;
  return row;
}

/* Offer columns that depend neither on time nor on the caller. PURE. */

/** First id of an offer in the catalog, high enough never to be confused with an index. */
export const FIRST_OFFER = 8_000_001;

/** Returns the nearest whole micro-dollar of a price of the catalog. */
export const micros = (dollars: number): number => microDollars(dollars) ?? 0;

/** Returns an offer of some GPUs of a machine. `now` is milliseconds. */
export function makeOffer(given: {
  id: number;
  machine: Machine;
  model: GpuModel;
  gpuCount: number;
  traits: Traits;
  now: number;
  random: Random;
}): Offer {
  const { id, machine, gpuCount, traits, random } = given;
  const price = micros(traits.pricePerGpu * gpuCount);
  return {
    id,
    machineId: machine.id,
    hostId: machine.hostId,
    rentedBy: null,
    gpuPricePerHour: price,
    diskPricePerGBMonth: micros(traits.diskPrice),
    minBidPerHour: Math.round(price * span(random, 0.35, 0.7)),
    columns: {
      ...gpuColumns(given),
      ...boardColumns(given),
      ...networkColumns(given),
      ...trustColumns(given),
    },
  };
}

type Given = Parameters<typeof makeOffer>[0];
type Columns = Readonly<Record<string, Column>>;

function gpuColumns({ model, gpuCount, traits, machine }: Given): Columns {
  return {
    gpu_name: model.name,
    num_gpus: gpuCount,
    gpu_frac: gpuCount >= 8 ? 1 : round(gpuCount / 8, 4),
    gpu_ram: model.memoryMB,
    gpu_total_ram: model.memoryMB * gpuCount,
    gpu_arch: model.arch,
    gpu_mem_bw: model.bandwidthGBps,
    bw_nvlink: model.nvlinkGBps,
    gpu_max_power: model.watts,
    gpu_max_temp: 90,
    gpu_display_active: false,
    gpu_lanes: 16,
    gpu_ids: `${machine.id}:${gpuCount}`,
    compute_cap: model.computeCap,
    cuda_max_good: model.arch === 'nvidia' ? traits.cuda : 0,
    driver_version: traits.driver,
    driver_vers: driverNumber(traits.driver),
    total_flops: round(model.tflops * gpuCount, 2),
    dlperf: round(model.dlperf * gpuCount * 0.98, 3),
    vram_costperhour: round((traits.pricePerGpu / model.memoryMB) * 1000, 8),
    resource_type: 'gpu',
  };
}

/** Returns a three-part driver version as nine digits for comparison: `535.86.05` is 535086005. */
export function driverNumber(version: string): number {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  return major * 1_000_000 + minor * 1000 + patch;
}

function boardColumns({ id, model, gpuCount, traits, machine }: Given): Columns {
  return {
    cpu_name: traits.cpu.name,
    cpu_arch: 'amd64',
    cpu_cores: traits.cpu.cores,
    cpu_cores_effective: round(Math.max(2, (traits.cpu.cores * gpuCount) / 8), 1),
    cpu_ghz: traits.cpu.ghz,
    cpu_ram: traits.ramMB,
    has_avx: 1,
    mobo_name: model.serverCpu ? 'H12DSG-O-CPU' : 'X570 Taichi',
    pci_gen: 4,
    pcie_bw: model.serverCpu ? 24.5 : 12.3,
    os_version: '22.04',
    ubuntu_version: '22.04',
    disk_space: traits.diskGB,
    disk_bw: model.serverCpu ? 5200 : 2100,
    disk_name: model.serverCpu ? 'SAMSUNG MZQL23T8' : 'WD_BLACK SN850X',
    storage_cost: traits.diskPrice,
    cluster_id: null,
    bundle_id: id - FIRST_OFFER + 900_000,
    hostname: null,
    logo: '/static/logos/simulated.svg',
    webpage: null,
    nw_disk_min_bw: null,
    nw_disk_max_bw: null,
    nw_disk_avg_bw: null,
    rn: 1 + (machine.id % 3),
  };
}

function networkColumns({ traits, machine }: Given): Columns {
  return {
    inet_down: traits.inetDown,
    inet_up: round(traits.inetDown * 0.6, 1),
    inet_up_cost: 0.003,
    inet_down_cost: 0.002,
    internet_up_cost_per_tb: 3,
    internet_down_cost_per_tb: 2,
    direct_port_count: traits.directPorts,
    static_ip: traits.datacenter,
    public_ipaddr: machine.publicAddress,
    geolocation: traits.place.geolocation,
    geolocode: traits.place.geolocode,
  };
}

function trustColumns({ traits, machine, now }: Given): Columns {
  const nowSeconds = Math.floor(now / 1000);
  return {
    start_date: nowSeconds - traits.startSecondsAgo,
    end_date: nowSeconds + traits.endSecondsAhead,
    reliability: machine.reliability,
    reliability2: machine.reliability,
    expected_reliability: round(machine.reliability * 0.998, 6),
    reliability_mult: round(machine.reliability ** 2, 6),
    verification: traits.verified ? 'verified' : 'unverified',
    vericode: traits.verified ? 1 : 0,
    hosting_type: traits.datacenter ? 1 : 0,
    external: false,
    vms_enabled: traits.datacenter,
    is_vm_deverified: false,
    credit_discount_max: 0.1,
    platform_fee: null,
    discount_rate: 0.1,
  };
}
