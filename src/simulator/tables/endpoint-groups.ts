import * as z from 'zod';
import { amount, count, type Row, rowId, time } from './row.ts';

/* Endpoint groups. Loads are units of work, rates units per second. */

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
  /** Null: no gate. */
  inactivity_timeout: z.number().nullable(),
});
export type ScalingOptions = Row<typeof scalingOptions>;

/** An amount or a rate, and when it was seen. */
const loadSample = z.strictObject({ at: time, amount });
export type LoadSample = Row<typeof loadSample>;

/** A request that `/route/` could not place yet. */
const queuedRequest = z.strictObject({
  index: count,
  cost: amount,
  /** When it is given up unless it is asked for again. */
  expiresAt: time,
});
export type QueuedRequest = Row<typeof queuedRequest>;

const logLine = z.strictObject({ at: time, level: z.enum(LOG_LEVELS), text: z.string() });
export type ScalingLogLine = Row<typeof logLine>;

export const endpointGroupRow = z.strictObject({
  id: rowId,
  userId: rowId,
  name: z.string(),
  /** Belongs to the endpoint alone; `/route/` needs it. */
  apiKey: z.string(),
  state: z.enum(ENDPOINT_STATES),
  options: scalingOptions,
  autoscalerInstance: z.string(),
  /** Where its workers send their reports: scheme, host and port under which it was made. */
  reportAddress: z.string(),
  createdAt: time,
  nextRequestIndex: count,
  /** Work that arrived, over the last rate span. */
  arrivals: z.array(loadSample),
  /** The rate at each run of the rule, over the last long span. */
  rates: z.array(loadSample),
  queue: z.array(queuedRequest),
  lastActivityAt: time,
  /** When the rule last ran. */
  scaledAt: time,
  /** Until when no worker may leave the hot set. */
  holdUntil: time,
  /** What the rule did, oldest first, a bounded number of lines. */
  log: z.array(logLine),
});
export type EndpointGroupRow = Row<typeof endpointGroupRow>;
