import { between, flag, integer, list, readField, required, text } from '../calls/fields.ts';
import { endpoint, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import { isObject } from '../json.ts';
import { notFound, Refusal } from '../refusal.ts';
import { MAX_WORK } from '../scaling/options.ts';
import { newSigningKey, routeRequest, signRoute } from '../scaling/route-request.ts';
import { recordArrival } from '../scaling/scale-endpoint.ts';
import { applyReport, dropRequests, REPORT, workerRow, workerUrl, workUntil } from '../scaling/worker.ts';
import { refreshWorkers, workersOf } from '../scaling/worker-lifecycle.ts';
import {
  type EndpointGroupRow,
  LOG_LEVELS,
  type SigningKey,
  type WorkerGroupRow,
  type WorkerRow,
} from '../tables/endpoint-groups.ts';

/* The autoscaler, at the root of the same origin: routes, workers, logs and updates. */

/** The body may contain the key of an endpoint. */
const KEY = { api_key: text };
const GROUP = { ...KEY, id: integer, tail: integer };
const UPDATE = { ...KEY, workergroup_id: integer, cancel_update: flag };
const ROUTED = {
  ...KEY,
  endpoint: required(text),
  cost: between({ min: 0, max: MAX_WORK }),
  request_idx: integer,
};

/** Returns true if the caller owns the row, or sends the key of its endpoint. */
function mayUse(ctx: RouteContext<typeof KEY>, row: { userId: number; apiKey: string }): boolean {
  if (ctx.caller?.user.id === row.userId) return true;
  return ctx.body.api_key === row.apiKey || ctx.query.get('api_key') === row.apiKey;
}

function endpointById(ctx: RouteContext<typeof GROUP>): EndpointGroupRow | undefined {
  const row = ctx.world.tables.endpointGroups[ctx.body.id ?? -1];
  return row && mayUse(ctx, row) ? row : undefined;
}

function groupById(ctx: RouteContext<typeof KEY>, id = -1): WorkerGroupRow | undefined {
  const row = ctx.world.tables.workerGroups[id];
  return row && mayUse(ctx, row) ? row : undefined;
}

/** Returns the workers as of now. */
function currentWorkers(ctx: RouteContext, endpointId: number): readonly WorkerRow[] {
  return workersOf(refreshWorkers(ctx.world, endpointId), endpointId);
}

/** Returns a bare array, or `error_msg` while the endpoint has no worker group. */
function endpointWorkers(ctx: RouteContext<typeof GROUP>): Reply {
  const row = endpointById(ctx);
  if (!row) return json({ error_msg: 'Endpoint not found for this key.' });
  return json(currentWorkers(ctx, row.id).map((worker) => workerRow(ctx.world, worker)));
}

function groupWorkers(ctx: RouteContext<typeof GROUP>): Reply {
  const row = groupById(ctx, ctx.body.id);
  if (!row) return json({ error_msg: 'Worker group not found for this key.' });
  const workers = currentWorkers(ctx, row.endpointId).filter(({ groupId }) => groupId === row.id);
  return json(workers.map((worker) => workerRow(ctx.world, worker)));
}

/** Returns all four levels as text, each line with its epoch second, newest last. */
function logsOf(ctx: RouteContext<typeof GROUP>, row: EndpointGroupRow | undefined): Reply {
  if (!row) return json({ error: 'Not found for this key.' });
  const tail = ctx.body.tail ?? row.log.length;
  const levels = LOG_LEVELS.map((level) => {
    const lines = row.log.filter((line) => line.level === level).slice(-Math.max(0, tail));
    const text = lines.map(({ at, text }) => `${Math.floor(at / 1000)} ${text}`);
    return [level, tail === 0 ? '' : text.join('\n')] as const;
  });
  return json(Object.fromEntries(levels));
}

function groupLogs(ctx: RouteContext<typeof GROUP>): Reply {
  const group = groupById(ctx, ctx.body.id);
  return logsOf(ctx, group && ctx.world.tables.endpointGroups[group.endpointId]);
}

/** Restarts the workers of a group one after the other, or cancels that. */
function updateWorkers(ctx: RouteContext<typeof UPDATE>): Reply {
  const group = groupById(ctx, ctx.body.workergroup_id);
  if (!group) return json({ error_msg: 'Worker group not found for this key.' });
  if (ctx.body.cancel_update) {
    ctx.write.put('workerGroups', { ...group, updating: [] });
    // Public clients treat any value but true as a started update.
    return json({ success: true, cancelled: true });
  }
  const workers = workersOf(ctx.world, group.endpointId).filter(({ groupId }) => groupId === group.id);
  const updating = workers.map(({ id }) => id);
  ctx.write.put('workerGroups', { ...group, updating });
  return json({ success: true, workers_to_update: updating.length });
}

/** Serves `POST /route/`: a signed address if a worker accepts the request, else the index to repeat it with. */
function route(ctx: RouteContext<typeof ROUTED>): Reply {
  const name = ctx.body.endpoint;
  const row = Object.values(ctx.world.tables.endpointGroups).find(
    (candidate) => candidate.name === name && mayUse(ctx, candidate),
  );
  if (!row) throw new Refusal(401, 'auth_error', 'Invalid user key');
  const cost = ctx.body.cost ?? 0;
  const asked = ctx.body.request_idx ?? 0;
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

/** Returns the key pair of this world, created on first use. */
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
  endpoint('POST /get_endpoint_workers', { ...ROOT, body: GROUP }, endpointWorkers),
  endpoint('POST /get_autogroup_workers', { ...ROOT, body: GROUP }, groupWorkers),
  endpoint('POST /get_endpoint_logs', { ...ROOT, body: GROUP }, (ctx) => logsOf(ctx, endpointById(ctx))),
  endpoint('POST /get_autogroup_logs', { ...ROOT, body: GROUP }, groupLogs),
  endpoint('POST /update_workers', { ...ROOT, body: UPDATE }, updateWorkers),
  endpoint('POST /route', { ...ROOT, body: ROUTED }, route),
  endpoint('GET /pubkey', OPEN, publicKey),
];

/* Calls of workers, with the `mtoken` of their container in place of an Authorization header. */

const REPORTER = { mtoken: text };

function reportingWorker(ctx: RouteContext<typeof REPORTER>, id: number): WorkerRow {
  const worker = ctx.world.tables.workers[id];
  if (!worker) throw notFound(`There is no worker ${id}.`);
  if (ctx.body.mtoken === worker.token) return worker;
  throw new Refusal(401, 'auth_error', 'mtoken is not the MASTER_TOKEN of this worker.');
}

const STATUS = { ...REPORTER, ...REPORT, id: required(integer) };

function status(ctx: RouteContext<typeof STATUS>): Reply {
  const worker = reportingWorker(ctx, ctx.body.id);
  const reported = applyReport(worker, ctx.body, ctx.now);
  ctx.write.put('workers', reported.worker);
  const group = ctx.world.tables.endpointGroups[worker.endpointId];
  if (group) ctx.write.put('endpointGroups', recordArrival(group, ctx.now, reported.foreignLoad));
  return json({ success: true });
}

const FINISHED = { ...REPORTER, worker_id: required(integer), requests: list };

function finished(ctx: RouteContext<typeof FINISHED>): Reply {
  const worker = reportingWorker(ctx, ctx.body.worker_id);
  const rows = (ctx.body.requests ?? []).filter(isObject);
  const indexes = new Set(rows.map((row) => readField(integer, row, 'request_idx') ?? -1));
  ctx.write.put('workers', dropRequests(workUntil(worker, ctx.now), indexes));
  return json({ success: true });
}

export const workerReportRoutes: readonly Route[] = [
  endpoint('POST /worker_status', { ...OPEN, body: STATUS }, status),
  endpoint('POST /delete_requests', { ...OPEN, body: FINISHED }, finished),
];
