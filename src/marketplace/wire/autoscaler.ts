import * as z from 'zod';
import type { GroupLogs, RouteReply, Worker, WorkersReply } from '../groups/autoscaler-reply.ts';
import { epochMs, looseInteger, looseNumber, looseText, wireId } from './scalars.ts';

/** A worker as the autoscaler answers it. */
export const workerRow = z.object({
  id: wireId,
  status: looseText,
  cur_load: looseNumber,
  cur_perf: looseNumber,
  perf: looseNumber,
  measured_perf: looseNumber,
  reqs_working: looseInteger,
  disk_usage: looseNumber,
  loaded_at: looseNumber,
  started_at: looseNumber,
  url: looseText,
});

/** A bare list; the wrapped form and the answer while nothing is ready are taken too. */
export const workersReply = z.union([
  z.array(workerRow),
  z.object({ workers: z.array(workerRow) }),
  z.object({ error_msg: z.string() }),
]);

export const routeReply = z.looseObject({
  url: looseText,
  request_idx: looseInteger,
  status: looseText,
});

export const groupLogsReply = z.object({
  info0: looseText,
  info1: looseText,
  trace: looseText,
  debug: looseText,
  error: looseText,
});

export const updateWorkersReply = z.object({ workers_to_update: looseInteger, error_msg: looseText });

/** The workers in our names. */
export function toWorkers(reply: z.infer<typeof workersReply>): WorkersReply {
  if (Array.isArray(reply)) return { type: 'ready', workers: reply.map(toWorker) };
  if ('workers' in reply) return { type: 'ready', workers: reply.workers.map(toWorker) };
  return { type: 'notReady', message: reply.error_msg };
}

function toWorker(row: z.infer<typeof workerRow>): Worker {
  return {
    id: row.id,
    status: row.status?.toLowerCase(),
    load: row.cur_load,
    performance: row.measured_perf ?? row.cur_perf ?? row.perf,
    requestsWorking: row.reqs_working,
    diskUsageGB: row.disk_usage,
    loadedAt: epochMs(row.loaded_at),
    startedAt: epochMs(row.started_at),
    url: row.url,
  };
}

/** Where the request goes, or that it waits. */
export function toRoute(reply: z.infer<typeof routeReply>): RouteReply {
  if (!reply.url) return { type: 'waiting', requestIndex: reply.request_idx, status: reply.status };
  return { type: 'ready', url: reply.url, requestIndex: reply.request_idx, authData: reply };
}

/** The four logs of a group. */
export function toGroupLogs(reply: z.infer<typeof groupLogsReply>): GroupLogs {
  const { info0 = '', info1 = '', trace = '', debug = '', error } = reply;
  return { info0, info1, trace, debug, error };
}
