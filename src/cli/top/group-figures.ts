import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations, labels } from '../../api/v1alpha1/names.ts';
import { formatTime, parseTime } from '../../lib/time.ts';
import { findCondition } from '../../runtime/conditions.ts';

/** A group and its workers as numbers, at one time. What is not known is left out. Times are ISO 8601. */
export interface GroupFigures {
  readonly namespace: string;
  readonly name: string;
  readonly phase?: string | undefined;
  readonly workers: WorkerCounts;
  readonly gateway?: GatewayFigures | undefined;
  readonly load?: LoadFigures | undefined;
  /** Dollars. */
  readonly cost: { readonly perHour?: number | undefined; readonly maxPerHour?: number | undefined };
  readonly workerList: readonly WorkerFigures[];
}

interface WorkerCounts {
  readonly ready: number;
  readonly hot: number;
  readonly cold: number;
  readonly starting: number;
  readonly draining: number;
  readonly max: number;
}

interface GatewayFigures {
  readonly url?: string | undefined;
  readonly pickers: number;
  readonly heldRequests: number;
  readonly inFlightRequests?: number | undefined;
  /** When pickers said so. */
  readonly reportedAt?: string | undefined;
}

/** In units per second, or units. */
interface LoadFigures {
  /** What one unit is: `requests`, `tokens`, or `units` of `expectedPerf`. */
  readonly unit: string;
  readonly perSecond: number;
  /** Over 10 s. */
  readonly burstPerSecond: number;
  readonly capacityPerSecond: number;
  readonly waiting: number;
  /** How long the ready workers take for what waits; left out where none of them is known to do anything. */
  readonly waitSeconds?: number | undefined;
  readonly at: string;
}

/** A GpuInstance of the group. */
export interface WorkerFigures {
  readonly name: string;
  /** What the group wants of it. */
  readonly role: 'Hot' | 'Cold' | 'Draining' | 'Going';
  readonly ready: boolean;
  readonly phase?: string | undefined;
  /** In flight through the gateway. */
  readonly requests?: number | undefined;
  readonly work?: number | undefined;
  readonly workPerSecond?: number | undefined;
  /** Dollars. */
  readonly pricePerHour?: number | undefined;
  readonly gpu?: { readonly name: string; readonly count: number } | undefined;
  readonly ageSeconds?: number | undefined;
}

/** What the objects tell; `workers` may hold those of other groups. `now`: epoch milliseconds. */
export function groupFigures(
  { metadata, spec, status = {} }: EndpointGroup,
  workers: readonly GpuInstance[],
  now: number,
): GroupFigures {
  const { namespace = '', name } = metadata;
  const { ready = 0, hot = 0, cold = 0, starting = 0, draining = 0, gateway } = status;
  const own = workers.filter(
    (worker) =>
      worker.metadata.namespace === namespace && worker.metadata.labels?.[labels.endpointGroup] === name,
  );
  return {
    ...{ namespace, name },
    phase: metadata.deletionTimestamp ? 'Deleting' : status.phase,
    workers: { ready, hot, cold, starting, draining, max: spec.maxWorkers },
    gateway: gateway && {
      url: gateway.url,
      pickers: gateway.pickers,
      heldRequests: gateway.heldRequests,
      inFlightRequests: gateway.inFlightRequests,
      reportedAt: gateway.reportedAt,
    },
    load: loadFigures(spec, status),
    cost: { perHour: numberOf(status.pricePerHour), maxPerHour: numberOf(spec.maxSpendPerHour) },
    workerList: own
      .map((worker) => workerFigures(worker, gateway, now))
      .sort((left, right) => ROLES.indexOf(left.role) - ROLES.indexOf(right.role) || byName(left, right)),
  };
}

/** `at` in ISO 8601, with the figures of that time: what machines read. */
export function snapshot(groups: readonly GroupFigures[], now: number): Record<string, unknown> {
  return { at: formatTime(now), groups };
}

const ROLES: readonly WorkerFigures['role'][] = ['Hot', 'Draining', 'Going', 'Cold'];

type Status = NonNullable<EndpointGroup['status']>;

function loadFigures(spec: EndpointGroup['spec'], { autoscaling }: Status): LoadFigures | undefined {
  if (!autoscaling) return undefined;
  const { at, load, burstLoad, capacity, queue } = autoscaling;
  const [waiting, capacityPerSecond] = [Number(queue), Number(capacity)];
  return {
    unit: unitOf(spec),
    perSecond: Number(load),
    burstPerSecond: Number(burstLoad),
    capacityPerSecond,
    waiting,
    ...(capacityPerSecond > 0 && { waitSeconds: Math.round((waiting / capacityPerSecond) * 10) / 10 }),
    at,
  };
}

/** What the load counts, where the group says it: what other sources of load count is theirs to know. */
function unitOf({ gateway, load }: EndpointGroup['spec']): string {
  const isCounted = gateway?.enabled && (load.type === undefined || load.type === 'Gateway');
  return (isCounted && UNITS[gateway.work]) || 'units';
}

const UNITS: Readonly<Record<string, string>> = { Requests: 'requests', OpenAITokens: 'tokens' };

function workerFigures(
  { metadata, spec, status = {} }: GpuInstance,
  gateway: Status['gateway'],
  now: number,
): WorkerFigures {
  const { name } = metadata;
  const reported = gateway?.workers?.find((worker) => worker.name === name);
  return {
    name,
    role: roleOf({ metadata, spec }),
    ...statusFigures({ metadata, status }, now),
    requests: reported?.requests,
    work: numberOf(reported?.work),
    workPerSecond: numberOf(reported?.perf),
  };
}

/** What the status of a GpuInstance tells, of a worker as of any other. */
export function statusFigures(
  { metadata, status = {} }: Pick<GpuInstance, 'metadata' | 'status'>,
  now: number,
) {
  const { phase, gpu, cost, conditions } = status;
  const bornAt = parseTime(metadata.creationTimestamp);
  return {
    ready: findCondition(conditions, 'Ready')?.status === 'True',
    phase: metadata.deletionTimestamp ? 'Deleting' : phase,
    pricePerHour: numberOf(cost?.pricePerHour),
    gpu: gpu && { name: gpu.name, count: gpu.count },
    ageSeconds: bornAt === undefined ? undefined : Math.max(0, Math.floor((now - bornAt) / 1000)),
  };
}

function roleOf({ metadata, spec }: Pick<GpuInstance, 'metadata' | 'spec'>): WorkerFigures['role'] {
  const { [annotations.desiredRole]: desired, [annotations.drainSince]: drains } = metadata.annotations ?? {};
  const isRunning = spec.powerState === 'Running';
  if (metadata.deletionTimestamp) return 'Going';
  if (desired === 'Hot' || (desired === undefined && isRunning)) return 'Hot';
  if (drains !== undefined && isRunning) return 'Draining';
  return desired === 'Gone' ? 'Going' : 'Cold';
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

function byName(left: WorkerFigures, right: WorkerFigures): number {
  return left.name < right.name ? -1 : 1;
}
