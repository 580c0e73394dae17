import * as z from 'zod';
import type { EndpointGroup } from '../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { annotations, labels } from '../api/v1alpha1/names.ts';
import { formatTime, parseTime } from '../lib/time.ts';
import { findCondition } from '../runtime/conditions.ts';

const countsSchema = z.strictObject({
  ready: z.number(),
  hot: z.number(),
  cold: z.number(),
  starting: z.number(),
  draining: z.number(),
  max: z.number().describe('`spec.maxWorkers`.'),
});

const gatewaySchema = z.strictObject({
  url: z.string().optional(),
  pickers: z.number(),
  heldRequests: z.number(),
  inFlightRequests: z.number().optional(),
  reportedAt: z.string().optional().describe('Time of the last report of pickers.'),
});

const loadSchema = z.strictObject({
  unit: z.string().describe('`requests`, `tokens`, or `units` of `expectedPerf`.'),
  perSecond: z.number(),
  burstPerSecond: z.number().describe('Over 10 s.'),
  capacityPerSecond: z.number().describe('Of ready workers.'),
  utilizationPercent: z.number().optional().describe('Load as a share of the capacity of ready workers.'),
  waiting: z.number().describe('Units that wait.'),
  waitSeconds: z
    .number()
    .optional()
    .describe('Time that ready workers need for the waiting load; left out if their capacity is 0.'),
  at: z.string().describe('Time of the scaling decision.'),
});

const gpuSchema = z.strictObject({ name: z.string(), count: z.number() });

/** Fields of every GpuInstance, worker or not. */
export const machineFigures = {
  ready: z.boolean(),
  phase: z.string().optional(),
  pricePerHour: z.number().optional().describe('Dollars.'),
  gpu: gpuSchema.optional(),
  ageSeconds: z.number().optional(),
};

const workerSchema = z.strictObject({
  name: z.string(),
  role: z.enum(['Hot', 'Cold', 'Draining', 'Going']).describe('Role that the group gives it.'),
  ...machineFigures,
  endpoint: z.string().optional(),
  requests: z.number().optional().describe('In flight through the gateway.'),
  work: z.number().optional().describe('Units in flight.'),
  workPerSecond: z.number().optional(),
});

export const groupFiguresSchema = z.strictObject({
  namespace: z.string(),
  name: z.string(),
  phase: z.string().optional(),
  workers: countsSchema,
  gateway: gatewaySchema.optional(),
  load: loadSchema.optional(),
  cost: z
    .strictObject({
      perHour: z.number().optional(),
      maxPerHour: z.number().optional().describe('`spec.maxSpendPerHour`.'),
    })
    .describe('Dollars.'),
  workerList: z.array(workerSchema).readonly(),
});

/** A group and its workers as numbers, at one time. An unknown figure is left out. Times are ISO 8601. */
export type GroupFigures = z.infer<typeof groupFiguresSchema>;
type LoadFigures = z.infer<typeof loadSchema>;
/** A GpuInstance of the group. */
export type WorkerFigures = z.infer<typeof workerSchema>;

/**
 * Returns the figures of a group from its objects at `now` (epoch milliseconds); `workers` may contain those of other
 * groups.
 */
export function groupFigures(
  { metadata, spec, status = {} }: EndpointGroup,
  workers: readonly GpuInstance[],
  now: number,
): GroupFigures {
  const { namespace = '', name } = metadata;
  const { ready = 0, replicas: hot = 0, cold = 0, starting = 0, draining = 0, gateway } = status;
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

/** Figures of all groups at one time, for programs. */
export const groupSnapshotSchema = z.strictObject({
  at: z.string(),
  groups: z.array(groupFiguresSchema).readonly(),
});

/** Returns the figures of all groups at `now` (epoch milliseconds). */
export function groupSnapshot(
  groups: readonly GroupFigures[],
  now: number,
): z.infer<typeof groupSnapshotSchema> {
  return { at: formatTime(now), groups };
}

const ROLES: readonly WorkerFigures['role'][] = ['Hot', 'Draining', 'Going', 'Cold'];

type Status = NonNullable<EndpointGroup['status']>;

function loadFigures(
  spec: EndpointGroup['spec'],
  { autoscaling, utilizationPercent }: Status,
): LoadFigures | undefined {
  if (!autoscaling) return undefined;
  const { at, load, burstLoad, capacity, queue } = autoscaling;
  const [waiting, capacityPerSecond] = [Number(queue), Number(capacity)];
  return {
    unit: unitOf(spec),
    perSecond: Number(load),
    burstPerSecond: Number(burstLoad),
    capacityPerSecond,
    utilizationPercent,
    waiting,
    ...(capacityPerSecond > 0 && { waitSeconds: Math.round((waiting / capacityPerSecond) * 10) / 10 }),
    at,
  };
}

/** Returns the unit of the load if the group defines it; other sources define their own. */
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
    endpoint: status.endpoint,
    requests: reported?.requests,
    work: numberOf(reported?.work),
    workPerSecond: numberOf(reported?.perf),
  };
}

/** Returns the figures in the status of a GpuInstance, worker or not. */
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

/** Returns the role that a group gives its worker. */
export function roleOf({ metadata, spec }: Pick<GpuInstance, 'metadata' | 'spec'>): WorkerFigures['role'] {
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
