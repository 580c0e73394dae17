import { microDollars } from '../lib/money.ts';
import { type Random, seededRandom } from '../lib/random.ts';
import { GPU_MODELS, type GpuModel } from './gpu-models.ts';
import { PLACES, type Place, placeNamed } from './places.ts';
import type { Column, Machine, Offer } from './world.ts';

/*
 * A market to search: machines of hosts with offers on them, every column of the wire filled with figures
 * that fit together, and the same for the same seed. PURE.
 */

const DAY = 86_400;
/** Ids begin where nobody mistakes them for indexes. */
const FIRST_MACHINE = 10_001;
const FIRST_HOST = 50_001;
const FIRST_OFFER = 8_000_001;

export interface Catalog {
  readonly machines: readonly Machine[];
  readonly offers: readonly Offer[];
}

/** What a test or demo says of an offer; the rest is filled in. Money is dollars. */
export interface OfferSketch {
  readonly id?: number;
  readonly machineId?: number;
  readonly hostId?: number;
  readonly gpuName?: string;
  readonly gpuCount?: number;
  readonly pricePerHour?: number;
  readonly diskPricePerGBMonth?: number;
  readonly minBid?: number;
  readonly reliability?: number;
  readonly verified?: boolean;
  readonly country?: string;
  readonly directPorts?: number;
  readonly diskGB?: number;
  /** Any further wire columns. */
  readonly columns?: Readonly<Record<string, Column>>;
}

/** At least `count` offers of a seeded market. `now` is milliseconds. */
export function seededCatalog(options: { seed: number; count: number; now: number }): Catalog {
  const random = seededRandom(options.seed ^ 0x0ff3);
  const machines: Machine[] = [];
  const offers: Offer[] = [];
  let host = FIRST_HOST;
  while (offers.length < options.count) {
    if (random.next() < 0.45) host += 1;
    const model = pickModel(random);
    const machine = makeMachine(FIRST_MACHINE + machines.length, host, random);
    machines.push(machine);
    const traits = machineTraits(model, random);
    for (const gpuCount of slices(model, random)) {
      offers.push(
        makeOffer({
          id: FIRST_OFFER + offers.length,
          machine,
          model,
          gpuCount,
          traits,
          now: options.now,
          random,
        }),
      );
    }
  }
  return { machines, offers };
}

/** Exactly the offers sketched; offers that name one machine share it. */
export function catalogOf(sketches: readonly OfferSketch[], now: number): Catalog {
  const random = seededRandom(sketches.length + 1);
  const machines = new Map<number, Machine>();
  const offers = sketches.map((sketch, index) => {
    const machineId = sketch.machineId ?? FIRST_MACHINE + index;
    const machine = machines.get(machineId) ?? {
      ...makeMachine(machineId, sketch.hostId ?? FIRST_HOST + index, random),
      pullFactor: 1,
      reliability: sketch.reliability ?? 0.995,
    };
    machines.set(machineId, machine);
    return sketched(sketch, { id: sketch.id ?? FIRST_OFFER + index, machine, now, random });
  });
  return { machines: [...machines.values()], offers };
}

function sketched(
  sketch: OfferSketch,
  base: { id: number; machine: Machine; now: number; random: Random },
): Offer {
  const model = GPU_MODELS.find((known) => known.name === (sketch.gpuName ?? 'RTX 4090'));
  const stand: GpuModel = model ?? { ...defaultModel(), name: sketch.gpuName ?? 'RTX 4090' };
  const traits: Traits = {
    ...machineTraits(stand, base.random),
    place: placeNamed(sketch.country ?? 'California, US'),
    verified: sketch.verified ?? true,
    diskGB: sketch.diskGB ?? 500,
    directPorts: sketch.directPorts ?? 64,
    pricePerGpu: (sketch.pricePerHour ?? stand.price) / (sketch.gpuCount ?? 1),
    diskPrice: sketch.diskPricePerGBMonth ?? 0.15,
  };
  const offer = makeOffer({ ...base, model: stand, gpuCount: sketch.gpuCount ?? 1, traits });
  const minBidPerHour = sketch.minBid === undefined ? offer.minBidPerHour : micros(sketch.minBid);
  return { ...offer, minBidPerHour, columns: { ...offer.columns, ...sketch.columns } };
}

interface Traits {
  readonly place: Place;
  readonly verified: boolean;
  readonly datacenter: boolean;
  readonly diskGB: number;
  readonly directPorts: number;
  readonly pricePerGpu: number;
  readonly diskPrice: number;
  readonly cpu: { readonly name: string; readonly cores: number; readonly ghz: number };
  readonly ramMB: number;
  readonly cuda: number;
  readonly driver: string;
  readonly inetDown: number;
  readonly startSecondsAgo: number;
  readonly endSecondsAhead: number;
}

function defaultModel(): GpuModel {
  const [first] = GPU_MODELS;
  if (!first) throw new Error('The list of GPU models is empty.');
  return first;
}

function pickModel(random: Random): GpuModel {
  const total = GPU_MODELS.reduce((sum, model) => sum + model.weight, 0);
  let mark = random.next() * total;
  for (const model of GPU_MODELS) {
    mark -= model.weight;
    if (mark < 0) return model;
  }
  return defaultModel();
}

/** GPU counts of the offers that a machine is cut into. */
function slices(model: GpuModel, random: Random): readonly number[] {
  const cuts: readonly (readonly number[])[] = model.serverCpu
    ? [[8], [4, 4], [4, 2, 1, 1], [2, 2], [1], [1, 1], [8]]
    : [[1], [1], [1], [2], [1, 1], [4], [2, 1, 1]];
  return pick(cuts, random) ?? [1];
}

const pick = <T>(list: readonly T[], random: Random): T | undefined =>
  list[Math.floor(random.next() * list.length)];

const round = (value: number, digits: number): number => Number(value.toFixed(digits));
const span = (random: Random, low: number, high: number): number => low + random.next() * (high - low);
const micros = (dollars: number): number => microDollars(dollars) ?? 0;

function makeMachine(id: number, hostId: number, random: Random): Machine {
  return {
    id,
    hostId,
    publicAddress: `203.0.113.${1 + (id % 254)}`,
    state: 'up',
    stateUntil: null,
    pullFactor: round(span(random, 0.6, 1.6), 3),
    reliability: round(1 - 0.08 * random.next() ** 3, 6),
    listed: true,
  };
}

const SERVER_CPUS = [
  'AMD EPYC 7763 64-Core Processor',
  'AMD EPYC 9354 32-Core Processor',
  'Xeon® Platinum 8480+',
];
const DESK_CPUS = ['AMD Ryzen 9 5950X 16-Core Processor', 'Core™ i7-12700K', 'AMD Ryzen Threadripper 3960X'];
const DRIVERS = [
  ['535.183.01', 12.2],
  ['550.127.05', 12.4],
  ['560.35.03', 12.6],
  ['570.133.07', 12.8],
  ['580.82.09', 13],
] as const;

function machineTraits(model: GpuModel, random: Random): Traits {
  const [driver, cuda] = pick(DRIVERS, random) ?? DRIVERS[1];
  const cores = model.serverCpu
    ? 64 + 32 * Math.floor(random.next() * 5)
    : 12 + 4 * Math.floor(random.next() * 9);
  return {
    place: pick(PLACES, random) ?? placeNamed('California, US'),
    verified: random.next() < 0.72,
    datacenter: model.serverCpu && random.next() < 0.5,
    diskGB: round(span(random, 60, model.serverCpu ? 8000 : 1800), 1),
    directPorts: random.next() < 0.12 ? 0 : Math.floor(span(random, 2, 500)),
    pricePerGpu: model.price * span(random, 0.75, 1.6),
    diskPrice: round(span(random, 0.05, 0.3), 4),
    cpu: {
      name: pick(model.serverCpu ? SERVER_CPUS : DESK_CPUS, random) ?? 'AMD EPYC 7763 64-Core Processor',
      cores,
      ghz: round(span(random, 2.4, 4.9), 1),
    },
    ramMB: (model.serverCpu ? 256_000 : 32_000) * (1 + Math.floor(random.next() * 4)),
    cuda,
    driver,
    inetDown: round(span(random, 80, model.serverCpu ? 9000 : 1500), 1),
    startSecondsAgo: Math.floor(span(random, 1, 200)) * DAY,
    endSecondsAhead: Math.floor(span(random, 3, 365)) * DAY,
  };
}

function makeOffer(given: {
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

/** Three-part driver versions compare as nine digits: `535.86.05` is 535086005. */
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
    avail_vol_ask_id: null,
    avail_vol_dph: null,
    avail_vol_size: null,
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
