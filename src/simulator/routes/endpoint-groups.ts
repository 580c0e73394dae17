import { pathId, sameInteger, text } from '../calls/fields.ts';
import { BOTH, callerOf, endpoint, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import type { JsonObject } from '../json.ts';
import { invalidArgs, type Refusal } from '../refusal.ts';
import { defaultOptions, readOptions, SCALING } from '../scaling/options.ts';
import { groupsOf } from '../scaling/scale-endpoint.ts';
import { workersOf } from '../scaling/worker-lifecycle.ts';
import { ENDPOINT_STATES, type EndpointGroupRow, type EndpointState } from '../tables/endpoint-groups.ts';
import { destroy } from './instances.ts';

/* Endpoint groups (specification 4.9) under their path of the public service. */

/** Options of a group that every call may name, including that of a deployment. */
export const ENDPOINT_OPTIONS = { ...SCALING, endpoint_state: text, autoscaler_instance: text };
const GROUP_BODY = { ...ENDPOINT_OPTIONS, endpoint_name: text };

/** Returns the refusal of an endpoint group that the caller does not own. */
export const noSuchEndpoint = (): Refusal => invalidArgs('Endpointgroup not found for user');

/** Returns the caller's endpoint group with the id of the path. */
function ownEndpoint(ctx: RouteContext): EndpointGroupRow {
  const id = pathId(ctx.params.id);
  const row = ctx.world.tables.endpointGroups[id];
  if (row) sameInteger({ 'the path': id, endptjob_id: ctx.json.endptjob_id ?? null });
  if (!row || row.userId !== callerOf(ctx).user.id) throw noSuchEndpoint();
  return row;
}

function create(ctx: RouteContext<typeof GROUP_BODY>): Reply {
  const name = ctx.body.endpoint_name || undefined;
  return json({ success: true, result: addEndpoint(ctx, name).id });
}

/**
 * Adds an endpoint group with the options of the body. Its name is an option without a default (specification 4.9):
 * without one it is named after its id, because requests are routed by name.
 */
export function addEndpoint(
  ctx: RouteContext<typeof ENDPOINT_OPTIONS>,
  name: string | undefined,
): EndpointGroupRow {
  const tickMs = ctx.settings.workers.tickSeconds * 1000;
  const id = ctx.write.nextId('endpointGroup');
  const row: EndpointGroupRow = {
    id,
    userId: callerOf(ctx).user.id,
    name: name ?? `endpoint-${id}`,
    apiKey: Buffer.from(ctx.random.bytes(32)).toString('hex'),
    state: readState(ctx.body.endpoint_state) ?? 'active',
    options: readOptions(ctx.body, defaultOptions),
    autoscalerInstance: ctx.body.autoscaler_instance ?? 'prod',
    reportAddress: ctx.origin,
    createdAt: ctx.now,
    nextRequestIndex: 1,
    arrivals: [],
    rates: [],
    queue: [],
    lastActivityAt: ctx.now,
    scaledAt: ctx.now - tickMs,
    holdUntil: 0,
    log: [],
  };
  ctx.write.put('endpointGroups', row);
  return row;
}

function readState(name: string | undefined): EndpointState | undefined {
  if (name === undefined) return undefined;
  const state = ENDPOINT_STATES.find((known) => known === name);
  if (state) return state;
  throw invalidArgs(`endpoint_state must be one of ${ENDPOINT_STATES.join(', ')}.`);
}

/** Updates a group; null keeps the present value (14 keys come with every update). */
function update(ctx: RouteContext<typeof GROUP_BODY>): Reply {
  const row = ownEndpoint(ctx);
  ctx.write.put('endpointGroups', {
    ...row,
    name: ctx.body.endpoint_name || row.name,
    state: readState(ctx.body.endpoint_state) ?? row.state,
    options: readOptions(ctx.body, row.options),
    autoscalerInstance: ctx.body.autoscaler_instance ?? row.autoscalerInstance,
  });
  return json({ success: true });
}

function remove(ctx: RouteContext): Reply {
  const deleted = dropEndpoint(ctx, ownEndpoint(ctx).id);
  return json({ success: true, deleted_workers: deleted, failed_workers: 0 });
}

/** Deletes a group with its worker groups and machines; returns the number of machines. */
export function dropEndpoint(ctx: RouteContext, id: number): number {
  const workers = workersOf(ctx.world, id);
  for (const worker of workers) destroyMachine(ctx, worker.id);
  for (const group of groupsOf(ctx.world, id)) ctx.write.remove('workerGroups', group.id);
  ctx.write.remove('endpointGroups', id);
  return workers.length;
}

/** Ends the contract of a worker and removes it. */
export function destroyMachine(ctx: RouteContext, workerId: number): void {
  const contract = ctx.world.tables.contracts[workerId];
  if (contract) destroy(ctx, contract);
  ctx.write.remove('workers', workerId);
}

function list(ctx: RouteContext): Reply {
  const { user } = callerOf(ctx);
  const rows = Object.values(ctx.world.tables.endpointGroups).filter(({ userId }) => userId === user.id);
  return json({ success: true, results: rows.map(endpointRow) });
}

function endpointRow(row: EndpointGroupRow): JsonObject {
  return {
    id: row.id,
    endpoint_name: row.name,
    api_key: row.apiKey,
    user_id: row.userId,
    created_at: row.createdAt / 1000,
    ...row.options,
    endpoint_state: row.state,
    autoscaler_instance: row.autoscalerInstance,
  };
}

/** The specification shows no path for them (4.9): those of the public service are used. */
const GROUP = { category: 'misc', profiles: BOTH } as const;

export const endpointGroupRoutes: readonly Route[] = [
  endpoint('POST /api/v0/endptjobs', { ...GROUP, pause: 'endpointGroup', body: GROUP_BODY }, create),
  endpoint('GET /api/v0/endptjobs', { ...GROUP, pause: 'list' }, list),
  endpoint('GET /api/v0/endptjobs/:id', { ...GROUP, pause: 'get' }, (ctx) =>
    json({ success: true, result: endpointRow(ownEndpoint(ctx)) }),
  ),
  endpoint('PUT /api/v0/endptjobs/:id', { ...GROUP, pause: 'change', body: GROUP_BODY }, update),
  endpoint('DELETE /api/v0/endptjobs/:id', { ...GROUP, pause: 'change' }, remove),
];
