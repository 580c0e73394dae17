import type { JsonObject } from '../json.ts';
import type { Contract, MountedVolume } from '../tables/contracts.ts';
import type { Machine } from '../tables/machines.ts';
import type { Column, Offer } from '../tables/offers.ts';
import { secondOf } from '../world/ledger.ts';
import type { World } from '../world/world.ts';

/* What an instance's row shows as long as nobody changes its contract. PURE. */

const dollars = (micros: number): number => micros / 1e6;

/** The part of a public row that time does not move. */
export function fixedFields(world: World, contract: Contract): JsonObject {
  const machine = world.tables.machines[contract.machineId];
  const offer = world.tables.offers[contract.offerId];
  return {
    ...offerColumns(offer),
    ...identityFields(contract),
    ...imageFields(contract),
    ...moneyFields(contract),
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

function identityFields(contract: Contract): JsonObject {
  return {
    id: contract.id,
    machine_id: contract.machineId,
    host_id: contract.hostId,
    template_id: contract.templateId,
    template_hash_id: contract.templateHash,
    label: contract.label,
    intended_status: contract.intendedStatus,
    cur_state: contract.intendedStatus === 'stopped' || contract.heldBy !== null ? 'stopped' : 'running',
    next_state: contract.intendedStatus,
    disk_space: contract.diskGB,
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
    volume_info: contract.volumes.map(volumeInfo),
  };
}

function volumeInfo({ id, mountPath, sizeGB }: MountedVolume): JsonObject {
  return { id, volume_id: id, mount_path: mountPath, avail_space: sizeGB, total_space: sizeGB };
}

function moneyFields(contract: Contract): JsonObject {
  const gpu = contract.bidPerHour ?? contract.gpuPricePerHour;
  const disk = dollars(contract.diskPricePerHour);
  const total = dollars(gpu + contract.diskPricePerHour);
  const prices = { gpuCostPerHour: dollars(gpu), diskHour: disk, totalHour: total };
  return {
    dph_base: dollars(gpu),
    dph_total: total,
    is_bid: contract.isBid,
    storage_total_cost: disk,
    start_date: secondOf(contract.createdAt),
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
  return {
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
}
