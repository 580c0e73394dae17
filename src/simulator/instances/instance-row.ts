import type { Profile } from '../calls/route.ts';
import type { JsonObject } from '../json.ts';
import type { Contract, MountedVolume } from '../tables/contracts.ts';
import type { Column, Machine, Offer } from '../tables/market.ts';
import { chance } from '../world/chance.ts';
import { secondOf } from '../world/ledger.ts';
import type { World } from '../world/world.ts';
import { shownStatus, statusMessage } from './boot.ts';

/* An instance as a reply shows it, with figures of this moment. PURE. */

const dollars = (micros: number): number => micros / 1e6;

/** Display of a row; `shownAs` replaces its status if a fault requires it. */
export interface RowView {
  readonly world: World;
  readonly profile: Profile;
  readonly shownAs?: string | undefined;
}

/** Returns the row in the profile's form: the `specification` shows the id and its three fields. */
export function instanceRow(contract: Contract, view: RowView): JsonObject {
  if (view.profile === 'specification') return specifiedRow(contract, view);
  return { ...fixedFields(view.world, contract), ...movingFields(contract, view) };
}

/** JSON of the constant fields, and their sources in addition to the contract. */
interface FixedJson {
  readonly settings: World['settings'];
  readonly columns: Offer['columns'] | undefined;
  readonly address: string | undefined;
  readonly json: string;
}

const fixedJson = new WeakMap<Contract, FixedJson>();

/** Returns the JSON text of {@link instanceRow}: most of a list is the same in each poll. */
export function instanceJson(contract: Contract, view: RowView): string {
  if (view.profile === 'specification') return JSON.stringify(specifiedRow(contract, view));
  const moving = JSON.stringify(movingFields(contract, view)).slice(1);
  return `${fixedText(contract, view.world)},${moving}`;
}

function fixedText(contract: Contract, world: World): string {
  const { settings, tables } = world;
  const columns = tables.offers[contract.offerId]?.columns;
  const address = tables.machines[contract.machineId]?.publicAddress;
  const kept = fixedJson.get(contract);
  if (kept?.settings === settings && kept.columns === columns && kept.address === address) return kept.json;
  const json = JSON.stringify(fixedFields(world, contract)).slice(0, -1);
  fixedJson.set(contract, { settings, columns, address, json });
  return json;
}

function specifiedRow(contract: Contract, { world, shownAs }: RowView): JsonObject {
  const machine = world.tables.machines[contract.machineId];
  return {
    id: contract.id,
    actual_status: shownAs ?? specifiedStatus(shownStatus(contract, machine)),
    ssh_host: machine?.publicAddress ?? null,
    ssh_port: contract.sshPort,
  };
}

/** The words of specification 3.1. */
const SPECIFIED: ReadonlySet<string | null> = new Set([
  null,
  'loading',
  'running',
  'exited',
  'unknown',
  'offline',
]);

/**
 * Returns the word of specification 3.1 for a state: `created` is still shown as null, and a container that does not
 * run is `exited`, regardless of who stopped it (the specification shows no state after a stop request).
 */
function specifiedStatus(status: string | null): string | null {
  if (SPECIFIED.has(status)) return status;
  if (status === 'created') return null;
  return status === 'rebooting' ? 'loading' : 'exited';
}

/** Status, load, remaining time and, while it runs, ports. */
function movingFields(contract: Contract, { world, shownAs }: RowView): JsonObject {
  const machine = world.tables.machines[contract.machineId];
  const status = shownStatus(contract, machine);
  return {
    actual_status: shownAs ?? status,
    status_msg: status === contract.actualStatus ? statusMessage(contract, world.now) : null,
    template_name: world.tables.templates[contract.templateId ?? -1]?.name ?? null,
    reliability2: machine?.reliability ?? null,
    ...listingFields(world, world.tables.offers[contract.offerId]),
    ...usageFields(world, contract, machine),
    ...portFields(contract, status),
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

/** Returns load and temperatures: they change every second while it runs, and are null otherwise. */
function usageFields(world: World, contract: Contract, machine: Machine | undefined): JsonObject {
  if (shownStatus(contract, machine) !== 'running') return IDLE;
  const second = secondOf(world.now);
  const share = (figure: number): number => chance(world.seed, contract.id, second, figure);
  const diskShare = 0.2 + 0.1 * share(6);
  return {
    gpu_util: isUsed(contract, world.now) ? rounded(60 + 40 * share(1)) : 0,
    gpu_temp: rounded(45 + 30 * share(2)),
    cpu_util: rounded(share(3)),
    mem_usage: rounded(2 + 14 * share(4)),
    mem_limit: 64,
    vmem_usage: rounded(20 * share(5)),
    disk_usage: rounded(contract.diskGB * diskShare),
    disk_util: rounded(diskShare),
    uptime_mins: rounded((second - secondOf(contract.statusSince)) / 60),
  };
}

/** Returns true if a program uses the GPUs of the machine while it runs. */
export function isUsed({ idleUntil }: Contract, now: number): boolean {
  return idleUntil === undefined || (idleUntil !== null && idleUntil <= now);
}

/** Returns the present fields of the listing: the lowest bid, and how long the machine is on offer. */
function listingFields(world: World, offer: Offer | undefined): JsonObject {
  if (!offer) return { min_bid: null, duration: 0 };
  const end = Number(offer.columns.end_date ?? 0);
  return { min_bid: dollars(offer.minBidPerHour), duration: Math.max(0, end - secondOf(world.now)) };
}

/** Returns the port map, which only exists while the machine runs and has direct ports. */
function portFields(contract: Contract, status: string | null): JsonObject {
  const ports = Object.entries(contract.ports);
  if (status !== 'running' || ports.length === 0) return {};
  const map = ports.map(
    ([inside, outside]) => [inside, [{ HostIp: '0.0.0.0', HostPort: String(outside) }]] as const,
  );
  return { ports: Object.fromEntries(map) };
}

/* Fields of an instance's row that stay the same while its contract is unchanged. PURE. */

/** Returns the part of a public row that does not change with time. */
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

/** Columns that an instance shares with its offer. */
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
    cur_state: contract.intendedStatus === 'stopped' || contract.blockedBy !== null ? 'stopped' : 'running',
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

/** Returns the ssh port: clients add one to that of a machine with jupyter, so the wire has one less. */
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
