import type { GpuInstanceSpec, GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { formatDollars } from '../../lib/money.ts';
import { formatTime, parseTime } from '../../lib/rfc3339.ts';
import type { Instance } from '../../marketplace/instances/instances.ts';
import { beginCost, corrected, repriced } from './cost.ts';
import { known } from './known-fields.ts';
import type { Observed, StatusFields } from './types.ts';

const MACHINE_FIELDS = [
  'instanceId',
  'claim',
  'offerId',
  'offerIndex',
  'offerPricePerHour',
  'machineId',
  'hostId',
  'actualStatus',
  'actualStatusSince',
  'badSeen',
  'rentedAt',
  'runningAt',
  'startRequestedAt',
  'progressAt',
  'specHash',
  'image',
  'endpoint',
  'ssh',
  'publicAddress',
  'ports',
  'gpu',
] as const satisfies readonly (keyof StatusFields)[];

/** The fields as they stand, with the request that is handled by looking echoed. */
export function carriedFields(observed: Observed): StatusFields {
  const {
    conditions: _conditions,
    phase: _phase,
    observedGeneration: _seen,
    ...fields
  } = observed.object.status ?? {};
  const requestedAt = observed.object.metadata.annotations?.[annotations.requestedAt];
  return requestedAt === undefined ? fields : { ...fields, requestedAt: requestedAt.slice(0, 253) };
}

/** The fields without anything that belongs to one machine. */
export function withoutMachine(fields: StatusFields): StatusFields {
  const rest: Record<string, unknown> = { ...fields };
  for (const field of MACHINE_FIELDS) delete rest[field];
  return rest;
}

/** Since when the service has said the word that it says now: by the status, or by the list that first showed it. */
export function wordSince(observed: Observed, row: Instance): number {
  const { status } = observed.object;
  const word = wordOf(row);
  if (status?.actualStatus === word) return parseTime(status.actualStatusSince) ?? observed.now;
  return observed.list?.begunAt ?? observed.now;
}

/** Since when the service has said so, in steady time: what this process saw, else what is on record. */
export function wordSeenSince(observed: Observed, row: Instance): number {
  const { status } = observed.object;
  const word = wordOf(row);
  if (observed.memory.seenWord?.word === word) return observed.memory.seenWord.since;
  const onRecord = status?.actualStatus === word ? parseTime(status.actualStatusSince) : undefined;
  return onRecord ?? observed.list?.begunSteady ?? observed.steadyNow;
}

/** A machine is watched by this very process for so long before a timeout that began earlier may end it. */
const LEAST_WATCH_MS = 60_000;

/** When a timeout strikes at the earliest: a restart with a wrong wall clock must not make it look long over. */
export function deadlineAfter(observed: Observed, since: number, timeoutMs: number): number {
  const watched = observed.memory.watchedSince ?? Number.NEGATIVE_INFINITY;
  return Math.max(since + timeoutMs, watched + Math.min(timeoutMs, LEAST_WATCH_MS));
}

/** Since when the present machine is held, in steady time. */
export function heldSince({ memory, object, steadyNow }: Observed, startedAt: number | undefined): number {
  return memory.heldSince ?? startedAt ?? parseTime(object.status?.cost?.since) ?? steadyNow;
}

/** The service's word, and `provisioning` while it has none yet. */
export function wordOf(row: Instance): string {
  return row.actualStatusWord === null ? 'provisioning' : row.actualStatusWord.slice(0, 64);
}

/** The fields with everything that the listed machine tells. Figures that move by themselves are not among them. */
export function withRow(observed: Observed, row: Instance): StatusFields {
  const fields = carriedFields(observed);
  const ports = mappedPorts(row, observed.object.spec);
  const endpoint = endpointOf(row, ports);
  return {
    ...fields,
    actualStatus: wordOf(row),
    actualStatusSince: formatTime(wordSince(observed, row)),
    ...known({ machineId: row.machineId, hostId: row.hostId }),
    ...known({ publicAddress: row.publicAddress, endpoint }),
    ...(row.sshHost === undefined || row.sshPort === undefined
      ? {}
      : { ssh: { host: row.sshHost, port: row.sshPort } }),
    ...(ports.length === 0 ? {} : { ports }),
    ...(row.gpuName === undefined ? {} : { gpu: gpuOf(row, fields) }),
    ...(row.startedAt === undefined ? {} : { rentedAt: formatTime(row.startedAt) }),
    ...costFields(fields, observed, row),
  };
}

function gpuOf(row: Instance, fields: StatusFields): NonNullable<StatusFields['gpu']> {
  return {
    name: row.gpuName ?? '',
    count: row.gpuCount ?? fields.gpu?.count ?? 1,
    ...known({ memoryMB: row.gpuMemoryMB ?? fields.gpu?.memoryMB }),
  };
}

/** A stopped machine costs its disk, any other its whole price. */
export function currentPrice(row: Instance): number | undefined {
  return isStopped(row) ? row.storagePricePerHour : row.pricePerHour;
}

function isStopped({ actualStatus }: Instance): boolean {
  return actualStatus === 'stopped' || actualStatus === 'frozen';
}

function costFields(fields: StatusFields, observed: Observed, row: Instance): Pick<StatusFields, 'cost'> {
  const price = currentPrice(row);
  const storage =
    row.storagePricePerHour === undefined
      ? {}
      : { storagePricePerHour: formatDollars(row.storagePricePerHour) };
  const cost = fields.cost ?? beginCost(undefined, row.startedAt ?? observed.now, price);
  if (fields.rentedAt === undefined && row.startedAt !== undefined) {
    return { cost: { ...corrected(cost, row.startedAt, price), ...storage } };
  }
  return {
    cost: { ...(price === undefined ? cost : repriced(cost, pricedFrom(observed, row), price)), ...storage },
  };
}

/** From when a new price counts: from the change of state that made it, else from now. */
function pricedFrom(observed: Observed, row: Instance): number {
  const { status } = observed.object;
  if (status?.actualStatus === wordOf(row)) return observed.now;
  const stoppedAt = isStopped(row) ? observed.memory.stopAnsweredAt : undefined;
  const changed = stoppedAt ?? wordSince(observed, row);
  return Math.max(changed, parseTime(status?.cost?.since) ?? 0);
}

type MappedPort = NonNullable<GpuInstanceStatus['ports']>[number];

function mappedPorts(row: Instance, spec: GpuInstanceSpec): MappedPort[] {
  const names = new Map(
    (spec.ports ?? []).map((port) => [`${port.containerPort}/${port.protocol}`, port.name]),
  );
  return Object.entries(row.ports)
    .flatMap(([key, publicPort]) => {
      const [port = '', transport = ''] = key.split('/');
      const protocol: MappedPort['protocol'] = transport === 'udp' ? 'UDP' : 'TCP';
      const name = names.get(`${port}/${protocol}`);
      return [{ containerPort: Number(port), protocol, publicPort, ...known({ name }) }];
    })
    .filter((port) => Number.isInteger(port.containerPort))
    .sort(
      (left, right) => left.containerPort - right.containerPort || (left.protocol < right.protocol ? -1 : 1),
    )
    .slice(0, 64);
}

function endpointOf(row: Instance, ports: readonly MappedPort[]): string | undefined {
  if (row.sshHost !== undefined && row.sshPort !== undefined) return `${row.sshHost}:${row.sshPort}`;
  const [first] = ports;
  return first && row.publicAddress !== undefined ? `${row.publicAddress}:${first.publicPort}` : undefined;
}
