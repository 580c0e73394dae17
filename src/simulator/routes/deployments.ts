import { fileOf } from '../calls/body.ts';
import { integer, number, object, pathId, required, text } from '../calls/fields.ts';
import { callerOf, endpoint, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import type { JsonObject } from '../json.ts';
import { badRequest, notFound, type Refusal } from '../refusal.ts';
import { readOptions } from '../scaling/options.ts';
import { workersOf } from '../scaling/worker-lifecycle.ts';
import type { DeploymentRow, DeploymentVersion, EndpointState } from '../tables/endpoint-groups.ts';
import type { World } from '../world/world.ts';
import { addEndpoint, dropEndpoint, ENDPOINT_OPTIONS } from './endpoint-groups.ts';
import { addWorkerGroup, searchParams, WORKERS } from './worker-groups.ts';

/* Deployments: a user's code on the workers of a separate endpoint group. */

const DEFAULT_TAG = 'default';
/** Number of kept versions; older ones are evicted. */
const KEPT_VERSIONS = 5;

function ownDeployments(ctx: RouteContext): readonly DeploymentRow[] {
  const { user } = callerOf(ctx);
  return Object.values(ctx.world.tables.deployments).filter(({ userId }) => userId === user.id);
}

function ownDeployment(ctx: RouteContext): DeploymentRow {
  const row = ownDeployments(ctx).find(({ id }) => String(id) === ctx.params.id);
  if (!row) throw notFound(`There is no deployment ${ctx.params.id}.`);
  return row;
}

const NAMED = { name: required(text), tag: text };
const DEPLOYMENT = {
  ...ENDPOINT_OPTIONS,
  ...WORKERS,
  ...NAMED,
  file_hash: required(text),
  file_size: integer,
  version_label: text,
  image: text,
  env: object,
  storage: text,
  ttl: number,
};
type Deploy = RouteContext<typeof DEPLOYMENT>;

/** Creates a deployment, or updates the one with the same name and tag; `action` reports which. */
function deploy(ctx: Deploy): Reply {
  const { name } = ctx.body;
  const tag = ctx.body.tag || DEFAULT_TAG;
  const known = ownDeployments(ctx).find((row) => row.name === name && row.tag === tag);
  return known ? redeploy(ctx, known) : deployNew(ctx, { name, tag });
}

function deployNew(ctx: Deploy, named: { name: string; tag: string }): Reply {
  const { image } = ctx.body;
  if (!image) throw badRequest('image is required.');
  const version = newVersion(ctx);
  const group = addEndpoint(ctx, `${named.name}-${named.tag}`);
  const workers = addWorkerGroup(ctx, group);
  const row: DeploymentRow = {
    id: ctx.write.nextId('deployment'),
    userId: group.userId,
    ...named,
    image,
    endpointId: group.id,
    workerGroupId: workers.id,
    versions: [version],
    storage: null,
    ttlSeconds: null,
    env: {},
    searchParams: workers.searchParams,
    lastHeartbeatAt: null,
    createdAt: ctx.now,
    updatedAt: ctx.now,
    ...changedFields(ctx),
  };
  ctx.write.put('deployments', row);
  return deployReply(ctx, { row, action: 'created', upload: version, evicted: [] });
}

/** Updates a deployment: new code is a `soft_update`, another scaling or image an `autoscale_update`. */
function redeploy(ctx: Deploy, row: DeploymentRow): Reply {
  const hash = ctx.body.file_hash;
  const version = row.versions.at(-1)?.fileHash === hash ? undefined : newVersion(ctx);
  const versions = version ? [...row.versions, version] : row.versions;
  const changed = { ...row, ...changedFields(ctx), versions: versions.slice(-KEPT_VERSIONS) };
  const isRescaled = rescale(ctx, row);
  const isChanged = isRescaled || JSON.stringify(changed) !== JSON.stringify(row);
  ctx.write.put('deployments', isChanged ? { ...changed, updatedAt: ctx.now } : row);
  const updated = isChanged ? 'autoscale_update' : 'exists';
  const evicted = versions.slice(0, -KEPT_VERSIONS).map(({ id }) => id);
  return deployReply(ctx, {
    row: changed,
    action: version ? 'soft_update' : updated,
    upload: version,
    evicted,
  });
}

/** Returns the fields that every deploy may change. */
function changedFields(ctx: Deploy): Partial<DeploymentRow> {
  const given = {
    image: ctx.body.image || undefined,
    env: ctx.body.env,
    storage: ctx.body.storage,
    ttlSeconds: ctx.body.ttl,
    searchParams: searchParams(ctx.body),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** Sets the scaling fields of the body on the endpoint group, and its search on the worker group. */
function rescale(ctx: Deploy, row: DeploymentRow): boolean {
  const group = ctx.world.tables.endpointGroups[row.endpointId];
  const workers = ctx.world.tables.workerGroups[row.workerGroupId];
  const search = searchParams(ctx.body);
  if (workers && search !== undefined) ctx.write.put('workerGroups', { ...workers, searchParams: search });
  if (!group) return false;
  const options = readOptions(ctx.body, group.options);
  ctx.write.put('endpointGroups', { ...group, options });
  return JSON.stringify(options) !== JSON.stringify(group.options);
}

function newVersion(ctx: Deploy): DeploymentVersion {
  return {
    id: ctx.write.nextId('deploymentVersion'),
    fileHash: ctx.body.file_hash,
    fileSize: ctx.body.file_size ?? 0,
    label: ctx.body.version_label ?? null,
    createdAt: ctx.now,
    file: null,
  };
}

interface Deployed {
  readonly row: DeploymentRow;
  readonly action: 'created' | 'soft_update' | 'autoscale_update' | 'exists';
  /** The version whose code has not been uploaded yet. */
  readonly upload: DeploymentVersion | undefined;
  readonly evicted: readonly number[];
}

function deployReply(ctx: RouteContext, { row, action, upload, evicted }: Deployed): Reply {
  const key = upload && fileKey(row, upload);
  return json({
    success: true,
    action,
    deployment_id: row.id,
    endpoint_id: row.endpointId,
    workergroup_id: row.workerGroupId,
    ...(key ? { upload_url: `${ctx.origin}/${key}`, upload_fields: { key } } : {}),
    ...(evicted.length > 0 ? { evicted_versions: evicted } : {}),
  });
}

/** Returns the version of a file address. */
function versionAt(ctx: RouteContext): { row: DeploymentRow; version: DeploymentVersion } {
  const row = ctx.world.tables.deployments[pathId(ctx.params.id)];
  const version = row?.versions.find(({ id }) => String(id) === ctx.params.version);
  if (row && version) return { row, version };
  throw notFound('There is no such file.');
}

const FORM = { base64: text, contentType: text };

/** Stores the uploaded file unchanged: the simulator runs no code. */
function upload(ctx: RouteContext<typeof FORM>): Reply {
  const { row, version } = versionAt(ctx);
  const form = Buffer.from(ctx.body.base64 ?? '', 'base64');
  const file = Buffer.from(fileOf(form, ctx.body.contentType ?? '')).toString('base64');
  const versions = row.versions.map((known) => (known.id === version.id ? { ...known, file } : known));
  ctx.write.put('deployments', { ...row, versions });
  return json({ success: true });
}

const nothingUploaded = (): Refusal => notFound('Nothing was uploaded yet.');

function download(ctx: RouteContext): Reply {
  const { file } = versionAt(ctx).version;
  if (file === null) throw nothingUploaded();
  return {
    type: 'text',
    status: 200,
    body: Buffer.from(file, 'base64'),
    contentType: 'application/octet-stream',
  };
}

function downloadUrl(ctx: RouteContext): Reply {
  const row = ownDeployment(ctx);
  const uploaded = row.versions.findLast(({ file }) => file !== null);
  if (!uploaded) throw nothingUploaded();
  return json({ success: true, download_url: `${ctx.origin}/${fileKey(row, uploaded)}` });
}

function setState(state: EndpointState): (ctx: RouteContext) => Reply {
  return (ctx) => {
    const row = ownDeployment(ctx);
    const group = ctx.world.tables.endpointGroups[row.endpointId];
    if (group) ctx.write.put('endpointGroups', { ...group, state });
    if (state === 'active') ctx.write.put('deployments', { ...row, lastHeartbeatAt: ctx.now });
    return json({ success: true, endpoint_state: state });
  };
}

function heartbeat(ctx: RouteContext): Reply {
  ctx.write.put('deployments', { ...ownDeployment(ctx), lastHeartbeatAt: ctx.now });
  return json({ success: true });
}

function removeOne(ctx: RouteContext): Reply {
  drop(ctx, ownDeployment(ctx));
  return json({ success: true });
}

function removeNamed(ctx: RouteContext<typeof NAMED>): Reply {
  const { name, tag } = ctx.body;
  const named = ownDeployments(ctx).filter(
    (row) => row.name === name && (tag === undefined || row.tag === tag),
  );
  for (const row of named) drop(ctx, row);
  return json({ success: true, count: named.length });
}

function drop(ctx: RouteContext, row: DeploymentRow): void {
  dropEndpoint(ctx, row.endpointId);
  ctx.write.remove('deployments', row.id);
}

const READ = { category: 'instance_read' } as const;
const WRITE = { category: 'instance_write' } as const;
const OPEN = { category: null, access: 'open' } as const;

export const deploymentRoutes: readonly Route[] = [
  endpoint('PUT /api/v0/deployments', { ...WRITE, body: DEPLOYMENT }, deploy),
  endpoint('GET /api/v0/deployments', READ, (ctx) =>
    json({ deployments: ownDeployments(ctx).map((row) => deploymentRow(ctx.world, row)) }),
  ),
  endpoint('DELETE /api/v0/deployments', { ...WRITE, body: NAMED }, removeNamed),
  endpoint('GET /api/v0/deployment/:id', READ, (ctx) =>
    json({ deployment: deploymentRow(ctx.world, ownDeployment(ctx)) }),
  ),
  endpoint('DELETE /api/v0/deployment/:id', WRITE, removeOne),
  endpoint('GET /api/v0/deployment/:id/versions', READ, (ctx) =>
    json({ success: true, versions: versionRows(ownDeployment(ctx)) }),
  ),
  endpoint('POST /api/v0/deployment/:id/stop', WRITE, setState('stopped')),
  endpoint('POST /api/v0/deployment/:id/start', WRITE, setState('active')),
  endpoint('POST /api/v0/deployment/:id/heartbeat', WRITE, heartbeat),
  endpoint('GET /api/v0/deployment/:id/download_url', READ, downloadUrl),
  endpoint('POST /uploads/:id/:version', { ...OPEN, rawBody: true, body: FORM }, upload),
  endpoint('GET /uploads/:id/:version', OPEN, download),
];

/* Deployments and their versions as replies show them; times are epoch seconds. */

/** Returns the path of a version's file below the origin. */
export const fileKey = (row: DeploymentRow, version: DeploymentVersion): string =>
  `uploads/${row.id}/${version.id}`;

export function deploymentRow(world: World, row: DeploymentRow): JsonObject {
  return {
    id: row.id,
    name: row.name,
    tag: row.tag,
    image: row.image,
    endpoint_id: row.endpointId,
    endpoint_state: world.tables.endpointGroups[row.endpointId]?.state ?? null,
    worker_count: workersOf(world, row.endpointId).length,
    ...versionFields(row),
    storage: row.storage,
    ttl: row.ttlSeconds,
    env: row.env,
    search_params: row.searchParams,
    last_client_heartbeat: row.lastHeartbeatAt === null ? null : row.lastHeartbeatAt / 1000,
    created_at: row.createdAt / 1000,
    updated_at: row.updatedAt / 1000,
  };
}

/** Returns the versions: the newest is current, the newest uploaded one is healthy. */
function versionFields(row: DeploymentRow): JsonObject {
  const current = row.versions.at(-1);
  const healthy = row.versions.findLast(({ file }) => file !== null);
  return {
    file_hash: current?.fileHash ?? null,
    s3_key: current ? fileKey(row, current) : null,
    current_version_id: current?.id ?? null,
    last_healthy_version_id: healthy?.id ?? null,
  };
}

export function versionRows(row: DeploymentRow): readonly JsonObject[] {
  return row.versions.map((version) => ({
    id: version.id,
    file_hash: version.fileHash,
    file_size: version.fileSize,
    version_label: version.label,
    created_at: version.createdAt / 1000,
    uploaded: version.file !== null,
  }));
}
