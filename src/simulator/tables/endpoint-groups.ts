import * as z from 'zod';
import { amount, count, jsonObject, type Row, rowId, time } from './row.ts';

/* Endpoint groups, their worker groups and workers, and the deployments that run on them. Loads are units of work, rates units per second. */

export const ENDPOINT_STATES = ['active', 'suspended', 'stopped'] as const;
export type EndpointState = (typeof ENDPOINT_STATES)[number];

export const LOG_LEVELS = ['info0', 'info1', 'trace', 'debug'] as const;

/** The options of specification 4.9, under their own names. Times are seconds. */
const scalingOptions = z.strictObject({
  min_load: amount,
  min_cold_load: amount,
  target_util: z.number().gt(0).max(1),
  cold_mult: amount,
  cold_workers: count,
  max_workers: count,
  max_queue_time: amount,
  target_queue_time: amount,
  /** Null: no condition. */
  inactivity_timeout: z.number().nullable(),
});
export type ScalingOptions = Row<typeof scalingOptions>;

/** An amount or a rate, with its time. */
const loadSample = z.strictObject({ at: time, amount });
export type LoadSample = Row<typeof loadSample>;

/** A request that `/route/` could not place yet. */
const queuedRequest = z.strictObject({
  index: count,
  cost: amount,
  /** Time at which it is dropped unless it is repeated. */
  expiresAt: time,
});
export type QueuedRequest = Row<typeof queuedRequest>;

const logLine = z.strictObject({ at: time, level: z.enum(LOG_LEVELS), text: z.string() });
export type ScalingLogLine = Row<typeof logLine>;

export const endpointGroupRow = z.strictObject({
  id: rowId,
  userId: rowId,
  name: z.string(),
  /** Key of the endpoint alone; `/route/` requires it. */
  apiKey: z.string(),
  state: z.enum(ENDPOINT_STATES),
  options: scalingOptions,
  autoscalerInstance: z.string(),
  /** Address for the reports of its workers: scheme, host and port under which it was created. */
  reportAddress: z.string(),
  createdAt: time,
  nextRequestIndex: count,
  /** Work that arrived within the last rate span. */
  arrivals: z.array(loadSample),
  /** The rate at each run of the rule, within the last long span. */
  rates: z.array(loadSample),
  queue: z.array(queuedRequest),
  lastActivityAt: time,
  /** Time of the last run of the rule. */
  scaledAt: time,
  /** Time until which no worker may leave the hot set. */
  holdUntil: time,
  /** Actions of the rule, oldest first, a bounded number of lines. */
  log: z.array(logLine),
});
export type EndpointGroupRow = Row<typeof endpointGroupRow>;

export const workerGroupRow = z.strictObject({
  id: rowId,
  userId: rowId,
  endpointId: rowId,
  templateHash: z.string().nullable(),
  templateId: rowId.nullable(),
  /** The text grammar of offer search, or the JSON text of an object. */
  searchParams: z.string(),
  launchArgs: z.string(),
  gpuRamGB: amount,
  testWorkers: count,
  apiKey: z.string(),
  createdAt: time,
  /** Workers that still need a restart with a newer version, in order. */
  updating: z.array(rowId),
});
export type WorkerGroupRow = Row<typeof workerGroupRow>;

/** Accepted work of a worker that is not finished. */
const takenRequest = z.strictObject({ index: count, cost: amount });
export type TakenRequest = Row<typeof takenRequest>;

const workerReport = z.strictObject({
  at: time,
  curLoad: amount,
  newLoad: amount,
  requestsWorking: amount,
  errorMessage: z.string(),
  url: z.string().nullable(),
});
export type WorkerReport = Row<typeof workerReport>;

/** A simulated worker; `id` is that of its contract. */
export const workerRow = z.strictObject({
  id: rowId,
  groupId: rowId,
  endpointId: rowId,
  createdAt: time,
  /** `MASTER_TOKEN` of its container: its reports carry it as `mtoken`. */
  token: z.string(),
  /** Time since which it accepts requests; null while it cannot. */
  loadedAt: time.nullable(),
  /** Units per second: estimated from the GPU until it reports. */
  perf: amount,
  /** Accepted requests, oldest first. */
  taken: z.array(takenRequest),
  /** Work done on the first of {@link taken}, as of {@link workedUntil}. */
  doneOnFirst: amount,
  workedUntil: time,
  /** Last report of the worker; null for a worker that only the simulator runs. */
  report: workerReport.nullable(),
  /** Work routed to it since its last report, which that report's `new_load` includes. */
  routedSinceReport: amount,
});
export type WorkerRow = Row<typeof workerRow>;

/* Deployments: a user's code that runs on the workers of a separate endpoint group. */

/** An upload of the code. */
const deploymentVersion = z.strictObject({
  id: rowId,
  fileHash: z.string(),
  fileSize: amount,
  label: z.string().nullable(),
  createdAt: time,
  /** The uploaded bytes, in base64; null until they arrive. */
  file: z.string().nullable(),
});
export type DeploymentVersion = Row<typeof deploymentVersion>;

export const deploymentRow = z.strictObject({
  id: rowId,
  userId: rowId,
  name: z.string(),
  tag: z.string(),
  image: z.string(),
  endpointId: rowId,
  workerGroupId: rowId,
  /** Versions, oldest first; the last one is current. */
  versions: z.array(deploymentVersion).min(1),
  storage: z.string().nullable(),
  /** Seconds without a heartbeat after which it is stopped; null: never. */
  ttlSeconds: amount.nullable(),
  env: jsonObject,
  searchParams: z.string(),
  lastHeartbeatAt: time.nullable(),
  createdAt: time,
  updatedAt: time,
});
export type DeploymentRow = Row<typeof deploymentRow>;

/** The RSA pair with which routes are signed, in PEM. */
export const signingKeyRow = z.strictObject({
  id: rowId,
  publicPem: z.string(),
  privatePem: z.string(),
});
export type SigningKey = Row<typeof signingKeyRow>;
