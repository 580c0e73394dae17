import type { DeploymentRow } from '../tables/deployments.ts';
import { withRows } from '../world/rows.ts';
import type { World } from '../world/world.ts';
import type { AdvanceStep } from './advance.ts';

/* A deployment whose client sent no heartbeat for its `ttl` is stopped. PURE. */

function expiresAt(world: World, row: DeploymentRow): number {
  if (row.ttlSeconds === null) return Number.POSITIVE_INFINITY;
  if (world.tables.endpointGroups[row.endpointId]?.state !== 'active') return Number.POSITIVE_INFINITY;
  return (row.lastHeartbeatAt ?? row.createdAt) + row.ttlSeconds * 1000;
}

export const deploymentsStep: AdvanceStep = {
  name: 'deployments',
  nextAt(world) {
    let next = Number.POSITIVE_INFINITY;
    for (const row of Object.values(world.tables.deployments)) next = Math.min(next, expiresAt(world, row));
    return next;
  },
  run(world) {
    const stopped = Object.values(world.tables.deployments)
      .filter((row) => expiresAt(world, row) <= world.now)
      .flatMap(({ endpointId }) => world.tables.endpointGroups[endpointId] ?? [])
      .map((group) => ({ ...group, state: 'stopped' as const }));
    return withRows(world, 'endpointGroups', stopped);
  },
};
