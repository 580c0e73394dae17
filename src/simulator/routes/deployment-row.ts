import type { JsonObject } from '../json.ts';
import { workersOf } from '../scaling/refresh-workers.ts';
import type { DeploymentRow, DeploymentVersion } from '../tables/deployments.ts';
import type { World } from '../world/world.ts';

/* Deployments and their versions as replies show them; times are epoch seconds. */

/** Where the file of a version is, below the origin. */
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

/** The newest version is current, the newest that was uploaded is healthy. */
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
