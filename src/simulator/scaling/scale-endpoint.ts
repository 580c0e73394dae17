import { rebootContract } from '../instances/contract-state.ts';
import type { EndpointGroupRow, ScalingLogLine } from '../tables/endpoint-groups.ts';
import type { WorkerGroupRow } from '../tables/worker-groups.ts';
import type { WorkerRow } from '../tables/workers.ts';
import { withRows } from '../world/rows.ts';
import type { World } from '../world/world.ts';
import { demandOn, noteRate } from './demand.ts';
import { destroyWorker, startWorker, stopWorker } from './end-worker.ts';
import { refreshWorkers, workersOf } from './refresh-workers.ts';
import { rentWorker } from './rent-worker.ts';
import { type WorkerTargets, workerTargets } from './targets.ts';
import { isBroken } from './worker-word.ts';

/*
 * One run of the scaling rule for one endpoint group: see what became of its workers, replace broken ones,
 * then bring the hot and the cold set to what the load needs. PURE.
 */

const LOG_LINES = 200;

/** A run in progress: the world so far and what is to be said of it. */
interface Run {
  readonly world: World;
  readonly lines: readonly ScalingLogLine[];
}

export function scaleEndpoint(world: World, endpointId: number): World {
  const refreshed = refreshWorkers(world, endpointId);
  const endpoint = refreshed.tables.endpointGroups[endpointId];
  if (!endpoint) return refreshed;
  const noted = noteRate(refreshed, { ...endpoint, scaledAt: world.now });
  const start: Run = { world: withRows(refreshed, 'endpointGroups', [noted]), lines: [] };
  return keepLog(runState(start, noted), endpointId);
}

function runState(run: Run, endpoint: EndpointGroupRow): Run {
  switch (endpoint.state) {
    case 'active':
      return scaleActive(restartOutdated(dropBroken(run, endpoint), endpoint), endpoint);
    case 'suspended':
      return hotWorkers(run.world, endpoint).reduce(stop, run);
    case 'stopped':
      return workersOf(run.world, endpoint.id).reduce(destroy, run);
    default:
      return endpoint.state satisfies never;
  }
}

function dropBroken(run: Run, endpoint: EndpointGroupRow): Run {
  const broken = workersOf(run.world, endpoint.id).filter((worker) => isBroken(run.world, worker));
  return broken.reduce(destroy, run);
}

/** One worker of each group at a time is restarted for an update, and only while all others are up. */
function restartOutdated(run: Run, endpoint: EndpointGroupRow): Run {
  return groupsOf(run.world, endpoint.id).reduce(restartNext, run);
}

function restartNext(run: Run, group: WorkerGroupRow): Run {
  const [next, ...rest] = group.updating;
  if (next === undefined) return run;
  const isBusy = Object.values(run.world.tables.workers).some(
    ({ id, groupId }) => groupId === group.id && run.world.tables.contracts[id]?.actualStatus === 'rebooting',
  );
  if (isBusy) return run;
  const contract = run.world.tables.contracts[next];
  const noted = withRows(run.world, 'workerGroups', [{ ...group, updating: rest }]);
  if (contract?.intendedStatus !== 'running') return { ...run, world: noted };
  const rebooted = rebootContract(contract, noted.now, noted.settings);
  return say(
    { ...run, world: withRows(noted, 'contracts', [rebooted]) },
    `worker ${next} restarts to update`,
  );
}

function scaleActive(run: Run, endpoint: EndpointGroupRow): Run {
  const workers = workersOf(run.world, endpoint.id);
  const demand = demandOn(run.world, endpoint, workers);
  const targets = workerTargets(endpoint.options, demand);
  const held = holdHot(run, endpoint, targets);
  return shrink(grow(held, endpoint, targets), endpoint, targets);
}

/** A need that has to last before a hot worker is let go: the clock starts anew whenever all are needed. */
function holdHot(run: Run, endpoint: EndpointGroupRow, targets: WorkerTargets): Run {
  const ready = hotWorkers(run.world, endpoint).filter(({ loadedAt }) => loadedAt !== null);
  if (targets.hot < ready.length) return run;
  const current = run.world.tables.endpointGroups[endpoint.id] ?? endpoint;
  const holdUntil = run.world.now + run.world.settings.workers.scaleDownSeconds * 1000;
  return { ...run, world: withRows(run.world, 'endpointGroups', [{ ...current, holdUntil }]) };
}

/** Cold workers wake first, then new ones are rented. */
function grow(run: Run, endpoint: EndpointGroupRow, targets: WorkerTargets): Run {
  let current = run;
  let missing = targets.hot - hotWorkers(run.world, endpoint).length;
  for (const worker of byValue(run.world, coldWorkers(run.world, endpoint))) {
    if (missing <= 0) break;
    current = wake(current, worker);
    missing -= 1;
  }
  const groups = groupsOf(run.world, endpoint.id);
  while (workersOf(current.world, endpoint.id).length < targets.total) {
    const rented = rentWorker(current.world, endpoint, groups);
    if (!rented) return say(current, 'no offer matches the search of any worker group');
    current = say({ ...current, world: rented.world }, `worker ${rented.worker.id} rented`);
  }
  return current;
}

/** The least performance per dollar goes first: hot ones that have been ready to the cold set, cold ones for good. */
function shrink(run: Run, endpoint: EndpointGroupRow, targets: WorkerTargets): Run {
  const holdUntil = run.world.tables.endpointGroups[endpoint.id]?.holdUntil ?? 0;
  if (run.world.now < holdUntil) return run;
  const hot = hotWorkers(run.world, endpoint);
  const idle = byValue(run.world, hot).filter(
    ({ loadedAt, taken }) => loadedAt !== null && taken.length === 0,
  );
  const stopped = idle
    .toReversed()
    .slice(0, Math.max(0, hot.length - targets.hot))
    .reduce(stop, run);
  const surplus = workersOf(stopped.world, endpoint.id).length - targets.total;
  const cold = byValue(stopped.world, coldWorkers(stopped.world, endpoint)).toReversed();
  return cold.slice(0, Math.max(0, surplus)).reduce(destroy, stopped);
}

const stop = (run: Run, { id }: WorkerRow): Run =>
  say({ ...run, world: stopWorker(run.world, id) }, `worker ${id} stopped`);
const wake = (run: Run, { id }: WorkerRow): Run =>
  say({ ...run, world: startWorker(run.world, id) }, `worker ${id} started`);
const destroy = (run: Run, { id }: WorkerRow): Run =>
  say({ ...run, world: destroyWorker(run.world, id) }, `worker ${id} destroyed`);

function say(run: Run, text: string): Run {
  return { ...run, lines: [...run.lines, { at: run.world.now, level: 'info0', text }] };
}

function keepLog(run: Run, endpointId: number): World {
  const endpoint = run.world.tables.endpointGroups[endpointId];
  if (!endpoint || run.lines.length === 0) return run.world;
  const log = [...endpoint.log, ...run.lines].slice(-LOG_LINES);
  return withRows(run.world, 'endpointGroups', [{ ...endpoint, log }]);
}

/** Worker groups of an endpoint. */
export function groupsOf(world: World, endpointId: number): readonly WorkerGroupRow[] {
  return Object.values(world.tables.workerGroups).filter((group) => group.endpointId === endpointId);
}

/** Workers that run or shall run, oldest first. */
export function hotWorkers(world: World, endpoint: EndpointGroupRow): readonly WorkerRow[] {
  return workersOf(world, endpoint.id).filter(
    ({ id }) => world.tables.contracts[id]?.intendedStatus === 'running',
  );
}

function coldWorkers(world: World, endpoint: EndpointGroupRow): readonly WorkerRow[] {
  return workersOf(world, endpoint.id).filter(
    ({ id }) => world.tables.contracts[id]?.intendedStatus !== 'running',
  );
}

/** Most performance per dollar first, then the oldest. */
function byValue(world: World, workers: readonly WorkerRow[]): readonly WorkerRow[] {
  const value = ({ id, perf }: WorkerRow): number =>
    perf / Math.max(1, world.tables.contracts[id]?.gpuPricePerHour ?? 1);
  return workers.toSorted((left, right) => value(right) - value(left) || left.id - right.id);
}
