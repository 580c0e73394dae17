import { microDollars } from '../../lib/money.ts';
import type { Random } from '../../lib/random.ts';
import type { Machine } from '../tables/machines.ts';
import type { Column, Offer } from '../tables/offers.ts';
import { round, span } from './draw.ts';
import type { GpuModel } from './gpu-models.ts';
import type { Traits } from './machine-traits.ts';

/* An offer with every column of the wire that neither time nor caller changes. PURE. */

/** Ids of the offers that a catalog draws begin here, where nobody mistakes them for indexes. */
export const FIRST_OFFER = 8_000_001;

/** The nearest whole micro-dollar of a price of the catalog. */
export const micros = (dollars: number): number => microDollars(dollars) ?? 0;

/** An offer of some GPUs of a machine. `now` is milliseconds. */
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
