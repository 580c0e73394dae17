import * as z from 'zod';
import { microDollars } from '../../lib/money.ts';
import type { ActualStatus, Instance } from '../instances/instance.ts';
import { isKnownStatus } from './instance-status.ts';
import {
  epochMs,
  looseBoolean,
  looseInteger,
  looseNumber,
  looseText,
  textOrNull,
  wireId,
} from './scalars.ts';

const portBindings = z.array(z.looseObject({ HostPort: looseInteger }));

/**
 * An instance as it arrives (specification 2.3), reduced to what decisions read. Everything else, above all
 * `extra_env`, `onstart`, `jupyter_token` and arguments, is dropped here and reaches no memory of ours.
 */
export const instanceRow = z.object({
  id: wireId,
  label: z.string().nullable().optional().catch(undefined),
  actual_status: textOrNull,
  intended_status: looseText,
  machine_id: looseInteger,
  host_id: looseInteger,
  start_date: looseNumber,
  dph_total: looseNumber,
  storage_total_cost: looseNumber,
  ssh_host: looseText,
  ssh_port: looseInteger,
  image_runtype: looseText,
  public_ipaddr: looseText,
  ports: z.record(z.string(), z.unknown()).optional().catch(undefined),
  gpu_name: looseText,
  num_gpus: looseInteger,
  gpu_ram: looseNumber,
  disk_space: looseNumber,
  image_uuid: looseText,
  is_bid: looseBoolean,
  geolocation: looseText,
  status_msg: looseText,
});

/** The list that {@link instanceRows} have been taken out of: it has to be there, and nothing may be left in it. */
const readByRow = z.array(z.never());

/** An instance row in wire names. */
export type WireInstance = z.infer<typeof instanceRow>;

/** Reply of the specification's list (4.3) around its rows. The count is what shows a cut list. */
export const instancesReply = z.object({ instances_found: looseInteger, instances: readByRow });

/** Reply of one page of the paged list around its rows. */
export const instancesPageReply = z.object({
  instances_found: looseInteger,
  total_instances: looseInteger,
  instances: readByRow,
  next_token: textOrNull,
});

/** Reply of reading one instance: null where it is absent. */
export const instanceReply = z.object({ instances: instanceRow.nullable() });

/** Reply of asking for logs: where they can be read, or a message while there is nothing. */
export const logsReply = z.object({ result_url: looseText, msg: looseText });

function toStatus(word: string | null): ActualStatus {
  if (word === null) return null;
  return isKnownStatus(word) ? word : 'unrecognized';
}

function hostPorts(ports: WireInstance['ports']): Record<string, number> {
  const mapped: Record<string, number> = {};
  for (const [containerPort, bindings] of Object.entries(ports ?? {})) {
    const parsed = portBindings.safeParse(bindings);
    const hostPort = parsed.success ? parsed.data[0]?.HostPort : undefined;
    if (isPort(hostPort)) mapped[containerPort] = hostPort;
  }
  return mapped;
}

function isPort(value: number | undefined): value is number {
  return value !== undefined && value >= 1 && value <= 65_535;
}

/**
 * The direct address where port 22 is mapped, otherwise the proxy's, whose port is one higher for images
 * started in a jupyter mode.
 */
function sshAddress(row: WireInstance, ports: Readonly<Record<string, number>>) {
  const direct = ports['22/tcp'];
  if (direct !== undefined && row.public_ipaddr) return { host: row.public_ipaddr, port: direct };
  const shift = row.image_runtype?.includes('jupyter') ? 1 : 0;
  const proxy = row.ssh_port === undefined ? undefined : row.ssh_port + shift;
  return { host: row.ssh_host || undefined, port: isPort(proxy) ? proxy : undefined };
}

const price = (dollars: number | undefined) => (dollars === undefined ? undefined : microDollars(dollars));

/** The instance in our names and units. */
export function toInstance(row: WireInstance): Instance {
  const ports = hostPorts(row.ports);
  const ssh = sshAddress(row, ports);
  return {
    id: row.id,
    label: row.label,
    actualStatus: toStatus(row.actual_status),
    actualStatusWord: row.actual_status,
    intendedStatus: row.intended_status,
    machineId: row.machine_id,
    hostId: row.host_id,
    startedAt: epochMs(row.start_date),
    pricePerHour: price(row.dph_total),
    storagePricePerHour: price(row.storage_total_cost),
    sshHost: ssh.host,
    sshPort: ssh.port,
    publicAddress: row.public_ipaddr || undefined,
    ports,
    gpuName: row.gpu_name,
    gpuCount: row.num_gpus,
    gpuMemoryMB: row.gpu_ram,
    diskGB: row.disk_space,
    image: row.image_uuid,
    interruptible: row.is_bid,
    region: row.geolocation,
    statusMessage: row.status_msg,
  };
}

/** The rows of a list of instances. */
export const instanceRows = { key: 'instances', row: instanceRow.transform(toInstance) };
