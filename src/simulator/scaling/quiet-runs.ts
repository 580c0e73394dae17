import type { EndpointGroupRow, WorkerRow } from '../tables/endpoint-groups.ts';
import type { World } from '../world/world.ts';
import { withRows } from '../world/world-store.ts';
import { demandOn, groupsOf, hotWorkers, type WorkerTargets, workerTargets } from './scale-endpoint.ts';
import { isBroken } from './worker.ts';
import { refreshWorkers, runningSince, workersOf } from './worker-lifecycle.ts';

/*
 * Runs of the scaling rule that only record that they ran. A group without load whose workers match its need stays
 * unchanged for months, so these runs need no evaluation every ten seconds. PURE.
 */

/** Returns the milliseconds between two runs of the rule. */
export const tickMs = (world: World): number => Math.max(1, world.settings.workers.tickSeconds) * 1000;

/**
 * Returns the time (ms since the epoch) before which runs have no effect as long as the world does not change
 * otherwise; 0 if the next one may act.
 */
export function quietUntil(world: World, endpoint: EndpointGroupRow): number {
  const workers = workersOf(world, endpoint.id);
  if (hasLoad(endpoint) || !workers.every((worker) => isSettled(world, worker))) return 0;
  switch (endpoint.state) {
    case 'active':
      return isSteady(world, endpoint, workers) ? inactiveAt(world, endpoint) : 0;
    case 'suspended':
      return hotWorkers(world, endpoint).length === 0 ? Number.POSITIVE_INFINITY : 0;
    case 'stopped':
      return workers.length === 0 ? Number.POSITIVE_INFINITY : 0;
    default:
      return endpoint.state satisfies never;
  }
}

const hasLoad = ({ arrivals, queue, rates }: EndpointGroupRow): boolean =>
  arrivals.length > 0 || queue.length > 0 || rates.some(({ amount }) => amount > 0);

/** Returns true if no machine, model, work or report will change the worker. */
function isSettled(world: World, worker: WorkerRow): boolean {
  const contract = world.tables.contracts[worker.id];
  if (!contract || contract.timeline.length > 0 || worker.report !== null) return false;
  const isLoaded = worker.loadedAt !== null;
  return worker.taken.length === 0 && isLoaded === (runningSince(world, worker.id) !== undefined);
}

/** Returns true if no worker has to be replaced, restarted, started, rented, stopped or destroyed. */
function isSteady(world: World, endpoint: EndpointGroupRow, workers: readonly WorkerRow[]): boolean {
  if (groupsOf(world, endpoint.id).some(({ updating }) => updating.length > 0)) return false;
  if (workers.some((worker) => isBroken(world, worker))) return false;
  const targets = workerTargets(endpoint.options, demandOn(world, endpoint, workers));
  const hot = hotWorkers(world, endpoint);
  const coldCount = workers.length - hot.length;
  const isGrowing = workers.length < targets.total || (hot.length < targets.hot && coldCount > 0);
  return !isGrowing && !mayShrink(world, { hot, coldCount, targets });
}

/** Returns true if a group may shrink: each run that needs all ready workers delays shrinking by `scaleDownSeconds`. */
function mayShrink(
  world: World,
  given: { hot: readonly WorkerRow[]; coldCount: number; targets: WorkerTargets },
): boolean {
  const { hot, coldCount, targets } = given;
  const readyCount = hot.filter(({ loadedAt }) => loadedAt !== null).length;
  if (readyCount > targets.hot) return true;
  const isTooMany = hot.length + coldCount > targets.total && coldCount > 0;
  const isTooHot = hot.length > targets.hot && readyCount > 0;
  return world.settings.workers.scaleDownSeconds <= 0 && (isTooMany || isTooHot);
}

/**
 * Returns the time at which `inactivity_timeout` allows the last hot worker to stop; Infinity if that has passed or
 * there is none.
 */
function inactiveAt(world: World, { options, lastActivityAt }: EndpointGroupRow): number {
  const at = lastActivityAt + Math.max(0, options.inactivity_timeout ?? 0) * 1000;
  return at > world.now ? at : Number.POSITIVE_INFINITY;
}

/** Returns the world after the quiet runs of a group up to the one at `last`. */
export function passQuietRuns(world: World, endpoint: EndpointGroupRow, last: number): World {
  const { longSeconds, scaleDownSeconds } = world.settings.workers;
  const tick = tickMs(world);
  const since = last - longSeconds * 1000;
  const skipped = Math.max(0, Math.ceil((since - endpoint.scaledAt) / tick) - 1);
  const rates = endpoint.rates.filter(({ at }) => at > since);
  for (let at = endpoint.scaledAt + (skipped + 1) * tick; at <= last; at += tick) {
    if (at > since) rates.push({ at, amount: 0 });
  }
  const holdUntil = endpoint.state === 'active' ? last + scaleDownSeconds * 1000 : endpoint.holdUntil;
  const passed = refreshWorkers({ ...world, now: last }, endpoint.id);
  const noted = withRows(passed, 'endpointGroups', [{ ...endpoint, rates, holdUntil, scaledAt: last }]);
  return { ...noted, now: world.now };
}
