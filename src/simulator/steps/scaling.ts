import { workersOf } from '../scaling/refresh-workers.ts';
import type { EndpointGroupRow } from '../scaling/rows.ts';
import { groupsOf, scaleEndpoint } from '../scaling/scale-endpoint.ts';
import type { World } from '../world/world.ts';
import type { AdvanceStep } from './advance.ts';

/* Endpoint groups scale their workers at every tick, each group in its own rhythm. PURE. */

function dueAt(world: World, endpoint: EndpointGroupRow): number {
  const isAtWork = groupsOf(world, endpoint.id).length > 0 || workersOf(world, endpoint.id).length > 0;
  if (!isAtWork) return Number.POSITIVE_INFINITY;
  return endpoint.scaledAt + Math.max(1, world.settings.workers.tickSeconds) * 1000;
}

export const scalingStep: AdvanceStep = {
  name: 'scaling',
  nextAt(world) {
    let next = Number.POSITIVE_INFINITY;
    for (const endpoint of Object.values(world.tables.endpointGroups)) {
      next = Math.min(next, dueAt(world, endpoint));
    }
    return next;
  },
  run(world) {
    return Object.values(world.tables.endpointGroups)
      .filter((endpoint) => dueAt(world, endpoint) <= world.now)
      .reduce((current, { id }) => scaleEndpoint(current, id), world);
  },
};
