import * as z from 'zod';
import { amount, count, rowId, time } from '../world/row-shapes.ts';
import {
  ENDPOINT_STATES,
  type EndpointGroupRow,
  LOG_LEVELS,
  type WorkerGroupRow,
  type WorkerRow,
} from './rows.ts';
import type { SigningKey } from './signing-key.ts';

/* What rows of endpoint groups from outside (`PUT /sim/world`) have to look like. PURE. */

const sample = z.strictObject({ at: time, amount });

export const endpointGroup = z.strictObject({
  id: rowId,
  userId: rowId,
  name: z.string(),
  apiKey: z.string(),
  state: z.enum(ENDPOINT_STATES),
  options: z.strictObject({
    min_load: amount,
    min_cold_load: amount,
    target_util: z.number().gt(0).max(1),
    cold_mult: amount,
    cold_workers: count,
    max_workers: count,
    max_queue_time: amount,
    target_queue_time: amount,
    inactivity_timeout: z.number().nullable(),
  }),
  autoscalerInstance: z.string(),
  reportAddress: z.string(),
  createdAt: time,
  nextRequestIndex: count,
  arrivals: z.array(sample),
  rates: z.array(sample),
  queue: z.array(z.strictObject({ index: count, cost: amount, expiresAt: time })),
  lastActivityAt: time,
  scaledAt: time,
  holdUntil: time,
  log: z.array(z.strictObject({ at: time, level: z.enum(LOG_LEVELS), text: z.string() })),
}) satisfies z.ZodType<EndpointGroupRow>;

export const workerGroup = z.strictObject({
  id: rowId,
  userId: rowId,
  endpointId: rowId,
  templateHash: z.string().nullable(),
  templateId: rowId.nullable(),
  searchParams: z.string(),
  launchArgs: z.string(),
  gpuRamGB: amount,
  testWorkers: count,
  apiKey: z.string(),
  createdAt: time,
  updating: z.array(rowId),
}) satisfies z.ZodType<WorkerGroupRow>;

const report = z.strictObject({
  at: time,
  curLoad: amount,
  newLoad: amount,
  requestsWorking: amount,
  errorMessage: z.string(),
  url: z.string().nullable(),
});

export const worker = z.strictObject({
  id: rowId,
  groupId: rowId,
  endpointId: rowId,
  createdAt: time,
  token: z.string(),
  loadedAt: time.nullable(),
  perf: amount,
  taken: z.array(z.strictObject({ index: count, cost: amount })),
  doneOnFirst: amount,
  workedUntil: time,
  report: report.nullable(),
  routedSinceReport: amount,
}) satisfies z.ZodType<WorkerRow>;

export const signingKey = z.strictObject({
  id: rowId,
  publicPem: z.string(),
  privatePem: z.string(),
}) satisfies z.ZodType<SigningKey>;
