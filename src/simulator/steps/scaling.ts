import { passQuietRuns, quietUntil, tickMs } from '../scaling/quiet-runs.ts';
import { groupsOf, scaleEndpoint } from '../scaling/scale-endpoint.ts';
import { workersOf } from '../scaling/worker-lifecycle.ts';
import type { DeploymentRow, EndpointGroupRow } from '../tables/endpoint-groups.ts';
import type { World } from '../world/world.ts';
import { withRows } from '../world/world-store.ts';
import type { AdvanceStep } from './advance.ts';

/* Endpoint groups scale their workers at every tick, each group in its own rhythm. PURE. */

/** Ticks of a group: the next one, and the next at which the rule may act. Infinity: never. */
interface Ticks {
  readonly next: number;
  readonly acting: number;
}

const NEVER: Ticks = { next: Number.POSITIVE_INFINITY, acting: Number.POSITIVE_INFINITY };

function ticksOf(world: World, endpoint: EndpointGroupRow): Ticks {
  const isAtWork = groupsOf(world, endpoint.id).length > 0 || workersOf(world, endpoint.id).length > 0;
  if (!isAtWork) return NEVER;
  const tick = tickMs(world);
  const quietMs = quietUntil(world, endpoint) - endpoint.scaledAt;
  return {
    next: endpoint.scaledAt + tick,
    acting: endpoint.scaledAt + Math.max(1, Math.ceil(quietMs / tick)) * tick,
  };
}

const actingAt = (world: World, endpoint: EndpointGroupRow): number => ticksOf(world, endpoint).acting;

export const scalingStep: AdvanceStep = {
  name: 'scaling',
  nextAt(world) {
    let next = Number.POSITIVE_INFINITY;
    for (const endpoint of Object.values(world.tables.endpointGroups)) {
      next = Math.min(next, actingAt(world, endpoint));
    }
    return next;
  },
  run(world) {
    return Object.values(world.tables.endpointGroups)
      .filter((endpoint) => actingAt(world, endpoint) <= world.now)
      .reduce((current, { id }) => scaleEndpoint(current, id), world);
  },
};

/** Handles all ticks at once that only record a run, up to the next other event. */
export const quietScalingStep: AdvanceStep = {
  name: 'quiet scaling',
  nextAt(world) {
    let first = Number.POSITIVE_INFINITY;
    for (const endpoint of Object.values(world.tables.endpointGroups)) {
      const { next, acting } = ticksOf(world, endpoint);
      if (next < acting) first = Math.min(first, next);
    }
    return first;
  },
  run: (world) => passTicks(world, world.now, true),
  runUntil: (world, until, isFree) => passTicks(world, until, isFree),
};

function passTicks(world: World, until: number, isFree: boolean): World {
  let current = world;
  for (const endpoint of Object.values(world.tables.endpointGroups)) {
    const last = lastQuietTick(world, endpoint, { until, isFree });
    if (last > endpoint.scaledAt) current = passQuietRuns(current, endpoint, last);
  }
  return current;
}

/** Returns the last quiet tick. If another event happens at `until`, the tick of that time must see its result. */
function lastQuietTick(
  world: World,
  endpoint: EndpointGroupRow,
  { until, isFree }: { until: number; isFree: boolean },
): number {
  const { next, acting } = ticksOf(world, endpoint);
  if (next >= acting) return endpoint.scaledAt;
  const tick = tickMs(world);
  const ticks = (Math.min(until, acting) - endpoint.scaledAt) / tick;
  const count = isFree && until < acting ? Math.floor(ticks) : Math.ceil(ticks) - 1;
  return endpoint.scaledAt + Math.max(0, count) * tick;
}

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
