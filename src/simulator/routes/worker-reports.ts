import { Refusal } from '../calls/refusal.ts';
import { integerField, isObject, listField, requiredInteger, stringField } from '../calls/request-body.ts';
import { json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import { recordArrival } from '../scaling/demand.ts';
import { applyReport } from '../scaling/report.ts';
import { dropRequests, workUntil } from '../scaling/worker-work.ts';
import type { WorkerRow } from '../tables/workers.ts';
import { endpoint } from './endpoint.ts';

/* What workers send: no Authorization header, but the `mtoken` of their container. */

function reportingWorker(ctx: RouteContext, id: number): WorkerRow {
  const worker = ctx.world.tables.workers[id];
  if (!worker) throw new Refusal(404, 'not_found', `There is no worker ${id}.`);
  if (stringField(ctx.body, 'mtoken') === worker.token) return worker;
  throw new Refusal(401, 'auth_error', 'mtoken is not the MASTER_TOKEN of this worker.');
}

function status(ctx: RouteContext): Reply {
  const worker = reportingWorker(ctx, requiredInteger(ctx.body, 'id'));
  const reported = applyReport(worker, ctx.body, ctx.now);
  ctx.write.put('workers', reported.worker);
  const group = ctx.world.tables.endpointGroups[worker.endpointId];
  if (group) ctx.write.put('endpointGroups', recordArrival(group, ctx.now, reported.foreignLoad));
  return json({ success: true });
}

function finished(ctx: RouteContext): Reply {
  const worker = reportingWorker(ctx, requiredInteger(ctx.body, 'worker_id'));
  const rows = (listField(ctx.body, 'requests') ?? []).filter(isObject);
  const indexes = new Set(rows.map((row) => integerField(row, 'request_idx') ?? -1));
  ctx.write.put('workers', dropRequests(workUntil(worker, ctx.now), indexes));
  return json({ success: true });
}

const OPEN = { category: null, access: 'open' } as const;

export const workerReportRoutes: readonly Route[] = [
  endpoint('POST /worker_status', OPEN, status),
  endpoint('POST /delete_requests', OPEN, finished),
];
