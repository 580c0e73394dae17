import { shownStatus, statusMessage } from './boot.ts';
import { chance } from './chance.ts';
import { secondOf } from './ledger.ts';
import type { Profile } from './route.ts';
import type { Column, Contract, Json, JsonObject, Machine, Offer, World } from './world.ts';

/* An instance as a reply shows it, with figures of this moment. PURE. */

const dollars = (micros: number): number => micros / 1e6;

/** The row in the profile's form: the `specification` shows the id and the three fields it names. */
export function instanceRow(world: World, contract: Contract, profile: Profile): JsonObject {
  return profile === 'public' ? publicRow(world, contract) : specifiedRow(world, contract);
}

function specifiedRow(world: World, contract: Contract): JsonObject {
  const machine = world.tables.machines[contract.machineId];
  return {
    id: contract.id,
    actual_status: shownStatus(contract, machine),
    ssh_host: machine?.publicAddress ?? null,
    ssh_port: contract.sshPort,
  };
}

function publicRow(world: World, contract: Contract): JsonObject {
  const machine = world.tables.machines[contract.machineId];
  const offer = world.tables.offers[contract.offerId];
  return {
    ...offerColumns(offer),
    ...identityFields(world, contract, machine),
    ...imageFields(contract),
    ...usageFields(world, contract, machine),
    ...moneyFields(world, contract, offer),
    ...addressFields(world, contract, machine),
  };
}

/** Columns that an instance shares with the offer it came from. */
const SHARED = [
  'num_gpus',
  'gpu_name',
  'gpu_arch',
  'gpu_frac',
  'gpu_ram',
  'cuda_max_good',
  'driver_version',
  'cpu_name',
  'cpu_arch',
  'cpu_cores',
  'cpu_cores_effective',
  'cpu_ram',
  'compute_cap',
  'total_flops',
  'dlperf',
  'disk_bw',
  'disk_name',
  'inet_up',
  'inet_down',
  'internet_up_cost_per_tb',
  'internet_down_cost_per_tb',
  'inet_up_cost',
  'inet_down_cost',
  'verification',
  'geolocation',
  'hosting_type',
  'mobo_name',
  'os_version',
  'pci_gen',
  'pcie_bw',
  'static_ip',
  'end_date',
  'bundle_id',
  'storage_cost',
  'external',
  'logo',
  'webpage',
] as const;

function offerColumns(offer: Offer | undefined): JsonObject {
  const row: Record<string, Column> = {};
  for (const name of SHARED) row[name] = offer?.columns[name] ?? null;
  row.gpu_totalram = offer?.columns.gpu_total_ram ?? null;
  return row;
}

function identityFields(world: World, contract: Contract, machine: Machine | undefined): JsonObject {
  const status = shownStatus(contract, machine);
  const stopped = contract.intendedStatus === 'stopped' || contract.heldBy !== null;
  return {
    id: contract.id,
    machine_id: contract.machineId,
    host_id: contract.hostId,
    template_id: contract.templateId,
    template_hash_id: contract.templateHash,
    template_name: world.tables.templates[contract.templateId ?? -1]?.name ?? null,
    label: contract.label,
    actual_status: status,
    intended_status: contract.intendedStatus,
    cur_state: stopped ? 'stopped' : 'running',
    next_state: contract.intendedStatus,
    status_msg: status === contract.actualStatus ? statusMessage(contract, world.now) : null,
    reliability2: machine?.reliability ?? null,
    hostname: null,
    client_run_time: 1.1,
    host_run_time: 2_592_000,
  };
}

function imageFields(contract: Contract): JsonObject {
  return {
    image_uuid: contract.image,
    image_args: contract.args,
    image_runtype: contract.runtype,
    extra_env: Object.entries(contract.env),
    onstart: contract.onstart,
    jupyter_token: contract.jupyterToken,
    volume_info: contract.volumes,
  };
}

const HUNDREDTHS = 100;
const rounded = (value: number): number => Math.round(value * HUNDREDTHS) / HUNDREDTHS;

const IDLE: JsonObject = {
  gpu_util: null,
  gpu_temp: null,
  cpu_util: null,
  mem_usage: null,
  mem_limit: null,
  vmem_usage: null,
  disk_usage: -1,
  disk_util: -1,
  uptime_mins: null,
};

/** Load and temperatures move every second while it runs, and are null while it does not. */
function usageFields(world: World, contract: Contract, machine: Machine | undefined): JsonObject {
  const disk = { disk_space: contract.diskGB };
  if (shownStatus(contract, machine) !== 'running') return { ...IDLE, ...disk };
  const second = secondOf(world.now);
  const share = (figure: number): number => chance(world.seed, contract.id, second, figure);
  const diskShare = 0.2 + 0.1 * share(6);
  return {
    gpu_util: rounded(60 + 40 * share(1)),
    gpu_temp: rounded(45 + 30 * share(2)),
    cpu_util: rounded(share(3)),
    mem_usage: rounded(2 + 14 * share(4)),
    mem_limit: 64,
    vmem_usage: rounded(20 * share(5)),
    disk_usage: rounded(contract.diskGB * diskShare),
    disk_util: rounded(diskShare),
    uptime_mins: rounded((second - secondOf(contract.statusSince)) / 60),
    ...disk,
  };
}

function moneyFields(world: World, contract: Contract, offer: Offer | undefined): JsonObject {
  const gpu = contract.bidPerHour ?? contract.gpuPricePerHour;
  const disk = dollars(contract.diskPricePerHour);
  const total = dollars(gpu + contract.diskPricePerHour);
  const prices = { gpuCostPerHour: dollars(gpu), diskHour: disk, totalHour: total };
  return {
    dph_base: dollars(gpu),
    dph_total: total,
    min_bid: offer ? dollars(offer.minBidPerHour) : null,
    is_bid: contract.isBid,
    storage_total_cost: disk,
    start_date: secondOf(contract.createdAt),
    duration: Math.max(0, Number(offer?.columns.end_date ?? 0) - secondOf(world.now)),
    credit_balance: dollars(contract.prepaidMicros),
    instance: prices,
    search: prices,
  };
}

/** Clients add one to the ssh port of a machine that also runs jupyter, so the wire has one less. */
function wireSshPort(contract: Contract): number {
  return contract.runtype.includes('jupyter') ? contract.sshPort - 1 : contract.sshPort;
}

function addressFields(world: World, contract: Contract, machine: Machine | undefined): JsonObject {
  const hostPorts = Object.values(contract.ports);
  const runs = shownStatus(contract, machine) === 'running';
  const fields: Record<string, Json> = {
    ssh_host: world.settings.addresses.sshProxyHost ?? machine?.publicAddress ?? null,
    ssh_port: wireSshPort(contract),
    ssh_idx: String(1 + (contract.id % 9)),
    public_ipaddr: machine?.publicAddress ?? null,
    local_ipaddrs: '192.168.1.2',
    direct_port_start: hostPorts.length > 0 ? Math.min(...hostPorts) : -1,
    direct_port_end: hostPorts.length > 0 ? Math.max(...hostPorts) : -1,
    direct_port_count: hostPorts.length,
    machine_dir_ssh_port: contract.sshPort,
  };
  if (runs && hostPorts.length > 0) fields.ports = portMap(contract);
  return fields;
}

function portMap(contract: Contract): JsonObject {
  return Object.fromEntries(
    Object.entries(contract.ports).map(([inside, outside]) => [
      inside,
      [{ HostIp: '0.0.0.0', HostPort: String(outside) }],
    ]),
  );
}
