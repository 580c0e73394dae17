import { shownStatus } from '../instances/boot.ts';
import type { WorkerRow } from '../tables/workers.ts';
import { withoutRows, withRows } from '../world/rows.ts';
import type { World } from '../world/world.ts';
import { workUntil } from './worker-work.ts';

/* What became of workers since the last look. PURE. */

/** Workers of an endpoint, oldest first. */
export function workersOf(world: World, endpointId: number): readonly WorkerRow[] {
  return Object.values(world.tables.workers).filter((worker) => worker.endpointId === endpointId);
}

/** The world with the workers of an endpoint as they are now; those whose machine is gone have left. */
export function refreshWorkers(world: World, endpointId: number): World {
  const workers = workersOf(world, endpointId);
  const gone = workers.filter(({ id }) => world.tables.contracts[id] === undefined);
  const present = workers.filter(({ id }) => world.tables.contracts[id] !== undefined);
  const refreshed = present.map((worker) => workUntil(loaded(world, trusted(world, worker)), world.now));
  return withRows(
    withoutRows(
      world,
      'workers',
      gone.map(({ id }) => id),
    ),
    'workers',
    refreshed,
  );
}

/** Without its report where that is stale. */
function trusted(world: World, worker: WorkerRow): WorkerRow {
  const staleMs = world.settings.workers.staleReportSeconds * 1000;
  const isStale = worker.report !== null && world.now - worker.report.at > staleMs;
  return isStale ? { ...worker, report: null } : worker;
}

/** A model is loaded some time after its machine runs, and lost with it. Reporting workers say it themselves. */
function loaded(world: World, worker: WorkerRow): WorkerRow {
  const since = runningSince(world, worker.id);
  if (since === undefined) return { ...worker, loadedAt: null, taken: [], doneOnFirst: 0 };
  if (worker.loadedAt !== null || worker.report) return worker;
  const { settings } = world;
  const at = since + settings.workers.modelLoadSeconds * settings.boot.scale * 1000;
  return at > world.now ? worker : { ...worker, loadedAt: at, workedUntil: at };
}

/** Since when the machine of a worker runs and shall run; undefined where it does not. */
export function runningSince(world: World, contractId: number): number | undefined {
  const contract = world.tables.contracts[contractId];
  if (contract?.intendedStatus !== 'running') return undefined;
  const status = shownStatus(contract, world.tables.machines[contract.machineId]);
  return status === 'running' ? contract.statusSince : undefined;
}
