import {
  anything,
  type FieldValues,
  integer,
  number,
  pathId,
  readField,
  sameInteger,
  text,
} from '../calls/fields.ts';
import { callerOf, endpoint, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import { knownTemplate } from '../instances/templates.ts';
import { isObject, type JsonObject } from '../json.ts';
import { invalidArgs, Refusal } from '../refusal.ts';
import { readFilters, workersOf } from '../scaling/worker-lifecycle.ts';
import { readSearch } from '../supply/search-query.ts';
import type { EndpointGroupRow, WorkerGroupRow } from '../tables/endpoint-groups.ts';
import { destroyMachine, noSuchEndpoint } from './endpoint-groups.ts';

/* Worker groups: one resource under the names `/autojobs/` and `/workergroups/`. */

/** Default GB of GPU memory of a group (documented). */
const DEFAULT_GPU_RAM_GB = 24;
const DEFAULT_TEST_WORKERS = 3;

/** The fields of a worker group that a deployment may also set. */
export const WORKERS = {
  template_hash: text,
  template_hash_id: text,
  template_id: integer,
  search_params: anything,
  launch_args: text,
  gpu_ram: number,
  test_workers: integer,
};
const NAMED = { endpoint_id: integer, endpoint_name: text };
const GROUP = { ...WORKERS, ...NAMED };

function create(ctx: RouteContext<typeof GROUP>): Reply {
  const target = endpointNamed(ctx);
  if (!target) throw noSuchEndpoint();
  return json({ success: true, id: addWorkerGroup(ctx, target).id });
}

/** Adds a worker group of that endpoint with the fields of the body. */
export function addWorkerGroup(ctx: RouteContext<typeof WORKERS>, target: EndpointGroupRow): WorkerGroupRow {
  const row: WorkerGroupRow = {
    id: ctx.write.nextId('workerGroup'),
    userId: target.userId,
    endpointId: target.id,
    templateHash: null,
    templateId: null,
    ...templateNamed(ctx),
    searchParams: searchParams(ctx.body) ?? '',
    launchArgs: ctx.body.launch_args ?? '',
    gpuRamGB: ctx.body.gpu_ram ?? DEFAULT_GPU_RAM_GB,
    testWorkers: ctx.body.test_workers ?? DEFAULT_TEST_WORKERS,
    apiKey: target.apiKey,
    createdAt: ctx.now,
    updating: [],
  };
  checkSearch(ctx, row);
  ctx.write.put('workerGroups', row);
  return row;
}

/** Returns the template that a body names. An unknown one may be public: its name is kept. */
function templateNamed(
  ctx: RouteContext<typeof WORKERS>,
): Partial<Pick<WorkerGroupRow, 'templateHash' | 'templateId'>> {
  const hash = ctx.body.template_hash || ctx.body.template_hash_id || null;
  const id = ctx.body.template_id ?? null;
  if (hash === null && id === null) return {};
  const known = knownTemplate(ctx.world, { hash, id });
  if (!known) return { templateHash: hash, templateId: id };
  sameInteger({ template_hash: known.id, template_id: id });
  return { templateHash: known.hashId, templateId: known.id };
}

/** Returns the caller's endpoint by `endpoint_id`, else by `endpoint_name`; undefined if neither is given or found. */
function endpointNamed(ctx: RouteContext<typeof NAMED>): EndpointGroupRow | undefined {
  const id = ctx.body.endpoint_id;
  const name = ctx.body.endpoint_name;
  const own = Object.values(ctx.world.tables.endpointGroups).filter(
    ({ userId }) => userId === callerOf(ctx).user.id,
  );
  return id === undefined ? own.find((row) => row.name === name) : own.find((row) => row.id === id);
}

/** Returns `search_params` of a body as text. */
export function searchParams({ search_params: given }: FieldValues<typeof WORKERS>): string | undefined {
  return isObject(given)
    ? JSON.stringify(given)
    : readField(text, { search_params: given ?? null }, 'search_params');
}

/** Throws for unreadable filters, which would never find an offer. */
function checkSearch(ctx: RouteContext, row: WorkerGroupRow): void {
  try {
    readSearch(readFilters(row), ctx.settings);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw invalidArgs('search_params must be terms such as num_gpus>=1, or an object.');
  }
}

function ownGroup(ctx: RouteContext): WorkerGroupRow {
  const id = pathId(ctx.params.id);
  const row = ctx.world.tables.workerGroups[id];
  if (row) sameInteger({ 'the path': id, autojob_id: ctx.json.autojob_id ?? null });
  if (row && row.userId === callerOf(ctx).user.id) return row;
  throw new Refusal(404, 'no_such_workergroup', `There is no worker group ${ctx.params.id}.`);
}

/** Updates a worker group; null keeps the present value. */
function update(ctx: RouteContext<typeof GROUP>): Reply {
  const row = ownGroup(ctx);
  const target = endpointNamed(ctx);
  const changed: WorkerGroupRow = {
    ...row,
    ...templateNamed(ctx),
    ...(target ? { endpointId: target.id, apiKey: target.apiKey } : {}),
    searchParams: searchParams(ctx.body) ?? row.searchParams,
    launchArgs: ctx.body.launch_args ?? row.launchArgs,
    gpuRamGB: ctx.body.gpu_ram ?? row.gpuRamGB,
    testWorkers: ctx.body.test_workers ?? row.testWorkers,
  };
  checkSearch(ctx, changed);
  ctx.write.put('workerGroups', changed);
  return json({ success: true });
}

/** Deletes a worker group. By a setting its machines remain, as at the public service. */
function remove(ctx: RouteContext): Reply {
  const row = ownGroup(ctx);
  const workers = workersOf(ctx.world, row.endpointId).filter(({ groupId }) => groupId === row.id);
  for (const { id } of workers) {
    if (ctx.settings.workers.keepWorkersOfDeletedGroup) ctx.write.remove('workers', id);
    else destroyMachine(ctx, id);
  }
  ctx.write.remove('workerGroups', row.id);
  return json({ success: true });
}

function list(ctx: RouteContext): Reply {
  const { user } = callerOf(ctx);
  const rows = Object.values(ctx.world.tables.workerGroups).filter(({ userId }) => userId === user.id);
  return json({ success: true, results: rows.map((row) => groupRow(ctx, row)) });
}

function groupRow(ctx: RouteContext, row: WorkerGroupRow): JsonObject {
  return {
    id: row.id,
    endpoint_id: row.endpointId,
    endpoint_name: ctx.world.tables.endpointGroups[row.endpointId]?.name ?? null,
    template_hash: row.templateHash,
    template_id: row.templateId,
    search_params: row.searchParams,
    search_query: readFilters(row),
    launch_args: row.launchArgs,
    gpu_ram: row.gpuRamGB,
    test_workers: row.testWorkers,
    api_key: row.apiKey,
    created_at: row.createdAt / 1000,
    user_id: row.userId,
  };
}

/** Returns the endpoints of one of the two names. */
function under(name: 'autojobs' | 'workergroups'): readonly Route[] {
  return [
    endpoint(`POST /api/v0/${name}`, { category: 'misc', pause: 'endpointGroup', body: GROUP }, create),
    endpoint(`GET /api/v0/${name}`, { category: 'misc', pause: 'list' }, list),
    endpoint(`GET /api/v0/${name}/:id`, { category: 'misc', pause: 'get' }, (ctx) =>
      json({ success: true, result: groupRow(ctx, ownGroup(ctx)) }),
    ),
    endpoint(`PUT /api/v0/${name}/:id`, { category: 'misc', pause: 'change', body: GROUP }, update),
    endpoint(`DELETE /api/v0/${name}/:id`, { category: 'misc', pause: 'change' }, remove),
  ];
}

export const workerGroupRoutes: readonly Route[] = [...under('autojobs'), ...under('workergroups')];
