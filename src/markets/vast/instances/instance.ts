import * as z from 'zod';
import { isJsonObject } from '../../../lib/json.ts';
import { type MicroDollars, microDollars } from '../../../lib/money.ts';
import { fittingText } from '../../../lib/text.ts';
import type { MarketplaceId } from '../../../market/ids.ts';
import { toId } from '../ids.ts';
import {
  booleanOf,
  countOf,
  epochMs,
  integerOf,
  looseInteger,
  looseRow,
  looseText,
  numberOf,
  textOf,
  textOrNull,
} from '../scalars.ts';

/**
 * State of the machine in the service's words. `unrecognized`: an unknown word, whose text is kept separately.
 */
export type ActualStatus = KnownStatus | 'unrecognized' | null;

/** A rented machine, in this program's names and units. A missing value is undefined, never 0. */
export interface Instance {
  readonly id: MarketplaceId;
  /** null: the machine has no label. undefined: the service does not echo labels. */
  readonly label: string | null | undefined;
  readonly actualStatus: ActualStatus;
  /** The service's own word, even if it is not recognized. */
  readonly actualStatusText: string | null;
  /** State that the service intends: `running`, `stopped`, `frozen`, or another word. */
  readonly intendedStatus: string | undefined;
  /** Power in the service's records, also while the host is unreachable: `running`, `stopped` or `unloaded`. */
  readonly power?: string | undefined;
  readonly machineId: MarketplaceId | undefined;
  readonly hostId: MarketplaceId | undefined;
  /** Epoch milliseconds of the start of billing. */
  readonly startedAt: number | undefined;
  /** Epoch milliseconds of the end of the rental contract, unless the host extends it. */
  readonly endsAt?: number | undefined;
  /** Total price while running, including the disk. */
  readonly pricePerHour: MicroDollars | undefined;
  /** Price of the disk, which is also billed while stopped. */
  readonly storagePricePerHour: MicroDollars | undefined;
  /** Address of SSH: the direct one if it is mapped, otherwise the service's proxy. */
  readonly sshHost: string | undefined;
  readonly sshPort: number | undefined;
  readonly publicAddress: string | undefined;
  /** Host port by container port, e.g. `8080/tcp` → 20001. Empty until running. */
  readonly ports: Readonly<Record<string, number>>;
  readonly gpuName: string | undefined;
  readonly gpuCount: number | undefined;
  readonly gpuMemoryMB: number | undefined;
  /**
   * Utilization of the GPUs, 0 to 1, at the time of the reply. Undefined if the machine does not run or the service
   * does not report it.
   */
  readonly gpuUtilization: number | undefined;
  readonly diskGB: number | undefined;
  readonly image: string | undefined;
  readonly interruptible: boolean | undefined;
  readonly region: string | undefined;
  /** Free text of the host. For people and logs; never parsed, never copied into a condition. */
  readonly statusMessage: string | undefined;
}

/** A complete list: all machines of the login at one time. */
export interface InstanceList {
  readonly instances: readonly Instance[];
}

/**
 * Known values of `actual_status`: those of specification 3.1 and those that the public service adds. null (being
 * provisioned) is not among them.
 */
export const KNOWN_STATUSES = [
  'created',
  'loading',
  'running',
  'stopped',
  'frozen',
  'exited',
  'rebooting',
  'unknown',
  'offline',
  'destroyed',
] as const;

/** A known status word. */
export type KnownStatus = (typeof KNOWN_STATUSES)[number];

const KNOWN: ReadonlySet<string> = new Set(KNOWN_STATUSES);

/** Returns true if the status is a known one. */
export function isKnownStatus(status: string): status is KnownStatus {
  return KNOWN.has(status);
}

/** Returns the text or null; undefined for any other value. */
const textOrNullOf = (value: unknown): string | null | undefined =>
  typeof value === 'string' || value === null ? value : undefined;

/**
 * An instance on the wire (specification 2.3), reduced to the fields that decisions read. All others, above all
 * `extra_env`, `onstart`, `jupyter_token` and arguments, are dropped here and never reach the operator's memory.
 */
export const instanceRow = looseRow({
  label: textOrNullOf,
  actual_status: (value) => textOrNullOf(value) ?? null,
  intended_status: textOf,
  cur_state: textOf,
  machine_id: integerOf,
  host_id: integerOf,
  start_date: numberOf,
  end_date: numberOf,
  dph_total: numberOf,
  storage_total_cost: numberOf,
  ssh_host: textOf,
  ssh_port: integerOf,
  image_runtype: textOf,
  public_ipaddr: textOf,
  ports: (value) => (isJsonObject(value) ? value : {}),
  gpu_name: textOf,
  num_gpus: countOf,
  gpu_ram: numberOf,
  gpu_util: numberOf,
  disk_space: numberOf,
  image_uuid: textOf,
  is_bid: booleanOf,
  geolocation: textOf,
  status_msg: textOf,
});

/** The list after removal of {@link instanceRows}: the key must exist, and the list must be empty. */
const readByRow = z.array(z.never());

/** An instance row in wire names. */
export type WireInstance = z.infer<typeof instanceRow>;

/** Reply of the specification's list (4.3) without its rows. The count reveals a truncated list. */
export const instancesReply = z.object({ instances_found: looseInteger, instances: readByRow });

/** Reply of one page of the paged list without its rows. */
export const instancesPageReply = z.object({
  instances_found: looseInteger,
  total_instances: looseInteger,
  instances: readByRow,
  next_token: textOrNull,
});

/** Reply of reading one instance: null if it is absent. */
export const instanceReply = z.object({ instances: instanceRow.nullable() });

/** Reply of a request for logs or of a command: the address of the text, or a message without one. */
export const resultReply = z.object({ result_url: looseText, msg: looseText });

function toStatus(status: string | null): ActualStatus {
  if (status === null) return null;
  return isKnownStatus(status) ? status : 'unrecognized';
}

/**
 * Returns the host ports by `22/tcp`. A key in another spelling counts if that one is missing; any other key is
 * ignored.
 */
function hostPorts(ports: WireInstance['ports']): Record<string, number> {
  const mapped: Record<string, number> = {};
  for (const [key, bindings] of Object.entries(ports)) {
    const containerPort = containerPortOf(key);
    const first: unknown = Array.isArray(bindings) ? bindings[0] : undefined;
    const hostPort = isJsonObject(first) ? integerOf(first['HostPort']) : undefined;
    if (containerPort === undefined || !isPort(hostPort)) continue;
    if (key === containerPort || mapped[containerPort] === undefined) mapped[containerPort] = hostPort;
  }
  return mapped;
}

const CONTAINER_PORT = /^(\d{1,5})(?:\/(tcp|udp))?$/;

function containerPortOf(key: string): string | undefined {
  const [, port, protocol = 'tcp'] = CONTAINER_PORT.exec(key.toLowerCase()) ?? [];
  return isPort(Number(port)) ? `${Number(port)}/${protocol}` : undefined;
}

function isPort(value: number | undefined): value is number {
  return value !== undefined && value >= 1 && value <= 65_535;
}

/**
 * Returns the direct address if port 22 is mapped, otherwise the proxy's, whose port is one higher for images started
 * in a jupyter mode.
 */
function sshAddress(row: WireInstance, ports: Readonly<Record<string, number>>) {
  const direct = ports['22/tcp'];
  const publicAddress = address(row.public_ipaddr);
  if (direct !== undefined && publicAddress !== undefined) return { host: publicAddress, port: direct };
  const shift = row.image_runtype?.includes('jupyter') ? 1 : 0;
  const proxy = row.ssh_port === undefined ? undefined : row.ssh_port + shift;
  return { host: address(row.ssh_host), port: isPort(proxy) ? proxy : undefined };
}

/** Maximum length of a domain name. */
const MAX_ADDRESS = 253;

/** Returns the address; undefined if it is empty or too long. */
function address(text: string | undefined): string | undefined {
  return text === undefined || text === '' || text.length > MAX_ADDRESS ? undefined : text;
}

const MAX_GPU_NAME = 128;
/** Maximum plausible hourly price in dollars. */
const MAX_DOLLARS_PER_HOUR = 1_000_000;
/** Maximum time that a status can contain. */
const LAST_MOMENT_MS = Date.UTC(9999, 11, 31);

function price(dollars: number | undefined) {
  return dollars === undefined || dollars > MAX_DOLLARS_PER_HOUR ? undefined : microDollars(dollars);
}

/** Returns the start date; undefined for a time before the epoch. */
function startDate(seconds: number | undefined): number | undefined {
  const moment = epochMs(seconds);
  return moment !== undefined && moment >= 0 && moment <= LAST_MOMENT_MS ? moment : undefined;
}

function wholeMB(size: number | undefined): number | undefined {
  const whole = Math.round(size ?? Number.NaN);
  return Number.isSafeInteger(whole) ? whole : undefined;
}

/** Returns a percentage as a share; undefined if it is invalid. */
function shareOf(percent: number | undefined): number | undefined {
  return percent === undefined || percent < 0 || percent > 100 ? undefined : percent / 100;
}

/**
 * Returns the instance in this program's names and units, without values that a status could not contain. An empty text
 * counts as missing.
 */
export function toInstance(row: WireInstance): Instance {
  const ports = hostPorts(row.ports);
  const ssh = sshAddress(row, ports);
  const status = row.actual_status || null;
  return {
    id: toId(row.id),
    label: row.label,
    actualStatus: toStatus(status),
    actualStatusText: status,
    intendedStatus: row.intended_status,
    power: row.cur_state,
    machineId: toId(row.machine_id),
    hostId: toId(row.host_id),
    startedAt: startDate(row.start_date),
    endsAt: startDate(row.end_date),
    pricePerHour: price(row.dph_total),
    storagePricePerHour: price(row.storage_total_cost),
    sshHost: ssh.host,
    sshPort: ssh.port,
    publicAddress: address(row.public_ipaddr),
    ports,
    gpuName: fittingText(row.gpu_name, MAX_GPU_NAME),
    gpuCount: row.num_gpus,
    gpuMemoryMB: wholeMB(row.gpu_ram),
    gpuUtilization: shareOf(row.gpu_util),
    diskGB: row.disk_space,
    image: row.image_uuid,
    interruptible: row.is_bid,
    region: row.geolocation,
    statusMessage: row.status_msg,
  };
}

/** The rows of a list of instances. */
export const instanceRows = { key: 'instances', row: instanceRow.transform(toInstance) };
