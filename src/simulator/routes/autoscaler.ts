import {
  booleanField,
  boundedNumber,
  integerField,
  isObject,
  listField,
  requiredInteger,
  requiredString,
  stringField,
} from '../calls/fields.ts';
import { Refusal } from '../calls/refusal.ts';
import { endpoint, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import { MAX_WORK } from '../scaling/options.ts';
import { newSigningKey, routeRequest, signRoute } from '../scaling/route-request.ts';
import { recordArrival } from '../scaling/scale-endpoint.ts';
import { applyReport, dropRequests, workerRow, workerUrl, workUntil } from '../scaling/worker.ts';
import { refreshWorkers, workersOf } from '../scaling/worker-lifecycle.ts';
import {
  type EndpointGroupRow,
  LOG_LEVELS,
  type SigningKey,
  type WorkerGroupRow,
  type WorkerRow,
} from '../tables/endpoint-groups.ts';

/* The autoscaler, at the root of the same origin: routes, workers, logs and updates. */

/** Whether the caller owns the row, or shows the key that belongs to its endpoint. */
function mayUse(ctx: RouteContext, row: { userId: number; apiKey: string }): boolean {
  if (ctx.caller?.user.id === row.userId) return true;
  return stringField(ctx.body, 'api_key') === row.apiKey || ctx.query.get('api_key') === row.apiKey;
}

function endpointById(ctx: RouteContext): EndpointGroupRow | undefined {
  const row = ctx.world.tables.endpointGroups[integerField(ctx.body, 'id') ?? -1];
  return row && mayUse(ctx, row) ? row : undefined;
}

function groupById(ctx: RouteContext, field: 'id' | 'workergroup_id'): WorkerGroupRow | undefined {
  const row = ctx.world.tables.workerGroups[integerField(ctx.body, field) ?? -1];
  return row && mayUse(ctx, row) ? row : undefined;
}

/** Workers as of this moment. */
function currentWorkers(ctx: RouteContext, endpointId: number): readonly WorkerRow[] {
  return workersOf(refreshWorkers(ctx.world, endpointId), endpointId);
}

/** A bare array, or `error_msg` while the endpoint has nothing that could have workers. */
function endpointWorkers(ctx: RouteContext): Reply {
  const row = endpointById(ctx);
  if (!row) return json({ error_msg: 'Endpoint not found for this key.' });
  return json(currentWorkers(ctx, row.id).map((worker) => workerRow(ctx.world, worker)));
}

function groupWorkers(ctx: RouteContext): Reply {
  const row = groupById(ctx, 'id');
  if (!row) return json({ error_msg: 'Worker group not found for this key.' });
  const workers = currentWorkers(ctx, row.endpointId).filter(({ groupId }) => groupId === row.id);
  return json(workers.map((worker) => workerRow(ctx.world, worker)));
}

/** All four levels as text, each line with its epoch second, newest last. */
function logsOf(ctx: RouteContext, row: EndpointGroupRow | undefined): Reply {
  if (!row) return json({ error: 'Not found for this key.' });
  const tail = integerField(ctx.body, 'tail') ?? row.log.length;
  const levels = LOG_LEVELS.map((level) => {
    const lines = row.log.filter((line) => line.level === level).slice(-Math.max(0, tail));
    const text = lines.map(({ at, text }) => `${Math.floor(at / 1000)} ${text}`);
    return [level, tail === 0 ? '' : text.join('\n')] as const;
  });
  return json(Object.fromEntries(levels));
}

function groupLogs(ctx: RouteContext): Reply {
  const group = groupById(ctx, 'id');
  return logsOf(ctx, group && ctx.world.tables.endpointGroups[group.endpointId]);
}

/** Restarts the workers of a group one after the other, or calls that off. */
function updateWorkers(ctx: RouteContext): Reply {
  const group = groupById(ctx, 'workergroup_id');
  if (!group) return json({ error_msg: 'Worker group not found for this key.' });
  if (booleanField(ctx.body, 'cancel_update')) {
    ctx.write.put('workerGroups', { ...group, updating: [] });
    return json({ success: true, cancelled: group.updating.length });
  }
  const workers = workersOf(ctx.world, group.endpointId).filter(({ groupId }) => groupId === group.id);
  const updating = workers.map(({ id }) => id);
  ctx.write.put('workerGroups', { ...group, updating });
  return json({ success: true, workers_to_update: updating.length });
}

/** `POST /route/`: a signed address once a worker takes the request, else the index to ask again with. */
function route(ctx: RouteContext): Reply {
  const name = requiredString(ctx.body, 'endpoint');
  const row = Object.values(ctx.world.tables.endpointGroups).find(
    (candidate) => candidate.name === name && mayUse(ctx, candidate),
  );
  if (!row) throw new Refusal(401, 'auth_error', 'Invalid user key');
  const cost = boundedNumber(ctx.body, 'cost', { min: 0, max: MAX_WORK }) ?? 0;
  const asked = integerField(ctx.body, 'request_idx') ?? 0;
  const routed = routeRequest(refreshWorkers(ctx.world, row.id), row, {
    cost,
    index: asked > 0 && asked < row.nextRequestIndex ? asked : undefined,
  });
  ctx.write.put('endpointGroups', routed.endpoint);
  if (routed.type === 'waiting') return json(waiting(ctx, row, routed.index));
  ctx.write.put('workers', routed.worker);
  const url = workerUrl(ctx.world, routed.worker);
  return json({
    endpoint: row.name,
    url,
    cost,
    request_idx: routed.index,
    reqnum: routed.index,
    signature: signRoute(signingKey(ctx), url),
  });
}

function waiting(ctx: RouteContext, row: EndpointGroupRow, index: number) {
  const workers = workersOf(ctx.world, row.id).length;
  const status = workers === 0 ? 'No workers yet' : `${workers} workers, none ready`;
  return { endpoint: row.name, request_idx: index, status };
}

/** The pair of this world, made at the first look. */
function signingKey(ctx: RouteContext): SigningKey {
  const known = ctx.world.tables.signingKeys[1];
  if (known) return known;
  const key = newSigningKey(1);
  ctx.write.put('signingKeys', key);
  return key;
}

function publicKey(ctx: RouteContext): Reply {
  return {
    type: 'text',
    status: 200,
    body: signingKey(ctx).publicPem,
    contentType: 'application/x-pem-file',
  };
}

const ROOT = { category: 'misc', access: 'optional' } as const;
const OPEN = { category: null, access: 'open' } as const;

export const autoscalerRoutes: readonly Route[] = [
  endpoint('POST /get_endpoint_workers', ROOT, endpointWorkers),
  endpoint('POST /get_autogroup_workers', ROOT, groupWorkers),
  endpoint('POST /get_endpoint_logs', ROOT, (ctx) => logsOf(ctx, endpointById(ctx))),
  endpoint('POST /get_autogroup_logs', ROOT, groupLogs),
  endpoint('POST /update_workers', ROOT, updateWorkers),
  endpoint('POST /route', ROOT, route),
  endpoint('GET /pubkey', OPEN, publicKey),
];

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

export const workerReportRoutes: readonly Route[] = [
  endpoint('POST /worker_status', OPEN, status),
  endpoint('POST /delete_requests', OPEN, finished),
];
