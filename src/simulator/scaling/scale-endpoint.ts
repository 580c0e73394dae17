import { rebootContract } from '../instances/contract-state.ts';
import type {
  EndpointGroupRow,
  ScalingLogLine,
  ScalingOptions,
  WorkerGroupRow,
  WorkerRow,
} from '../tables/endpoint-groups.ts';
import type { World } from '../world/world.ts';
import { withRows } from '../world/world-store.ts';
import { isBroken, loadOf } from './worker.ts';
import {
  destroyWorker,
  refreshWorkers,
  rentWorker,
  startWorker,
  stopWorker,
  workersOf,
} from './worker-lifecycle.ts';

/*
 * A single run of the scaling rule for one endpoint group: update the state of its workers, replace broken ones, then
 * adjust hot and cold workers to the load. PURE.
 */

const LOG_LINES = 200;

/** A run in progress: the world so far and its log lines. */
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

/** Restarts one worker of each group at a time for an update, only while all others are up. */
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
  return logLine(
    { ...run, world: withRows(noted, 'contracts', [rebooted]) },
    `worker ${next} restarts to update`,
  );
}

function scaleActive(run: Run, endpoint: EndpointGroupRow): Run {
  const workers = workersOf(run.world, endpoint.id);
  const demand = demandOn(run.world, endpoint, workers);
  const targets = workerTargets(endpoint.options, demand);
  const adjusted = holdHot(run, endpoint, targets);
  return shrink(grow(adjusted, endpoint, targets), endpoint, targets);
}

/** Records the time of the last full need for hot workers: a low need must last before one is stopped. */
function holdHot(run: Run, endpoint: EndpointGroupRow, targets: WorkerTargets): Run {
  const ready = hotWorkers(run.world, endpoint).filter(({ loadedAt }) => loadedAt !== null);
  if (targets.hot < ready.length) return run;
  const current = run.world.tables.endpointGroups[endpoint.id] ?? endpoint;
  const holdUntil = run.world.now + run.world.settings.workers.scaleDownSeconds * 1000;
  return { ...run, world: withRows(run.world, 'endpointGroups', [{ ...current, holdUntil }]) };
}

/** Starts cold workers first, then rents new ones. */
function grow(run: Run, endpoint: EndpointGroupRow, targets: WorkerTargets): Run {
  let current = run;
  let missing = targets.hot - hotWorkers(run.world, endpoint).length;
  for (const worker of byValue(run.world, coldWorkers(run.world, endpoint))) {
    if (missing <= 0) break;
    current = logLine(
      { ...current, world: startWorker(current.world, worker.id) },
      `worker ${worker.id} started`,
    );
    missing -= 1;
  }
  const groups = groupsOf(run.world, endpoint.id);
  while (workersOf(current.world, endpoint.id).length < targets.total) {
    const rented = rentWorker(current.world, endpoint, groups);
    if (!rented) return logLine(current, 'no offer matches the search of any worker group');
    current = logLine({ ...current, world: rented.world }, `worker ${rented.worker.id} rented`);
  }
  return current;
}

/**
 * Removes the workers with the least performance per dollar first: hot ones that were ready become cold, cold ones are
 * destroyed.
 */
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
  logLine({ ...run, world: stopWorker(run.world, id) }, `worker ${id} stopped`);
const destroy = (run: Run, { id }: WorkerRow): Run =>
  logLine({ ...run, world: destroyWorker(run.world, id) }, `worker ${id} destroyed`);

function logLine(run: Run, text: string): Run {
  return { ...run, lines: [...run.lines, { at: run.world.now, level: 'info0', text }] };
}

function keepLog(run: Run, endpointId: number): World {
  const endpoint = run.world.tables.endpointGroups[endpointId];
  if (!endpoint || run.lines.length === 0) return run.world;
  const log = [...endpoint.log, ...run.lines].slice(-LOG_LINES);
  return withRows(run.world, 'endpointGroups', [{ ...endpoint, log }]);
}

/** Returns the worker groups of an endpoint. */
export function groupsOf(world: World, endpointId: number): readonly WorkerGroupRow[] {
  return Object.values(world.tables.workerGroups).filter((group) => group.endpointId === endpointId);
}

/** Returns the workers that run or should run, oldest first. */
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

/** Returns the workers by performance per dollar, the best first, then the oldest. */
function byValue(world: World, workers: readonly WorkerRow[]): readonly WorkerRow[] {
  const value = ({ id, perf }: WorkerRow): number =>
    perf / Math.max(1, world.tables.contracts[id]?.gpuPricePerHour ?? 1);
  return workers.toSorted((left, right) => value(right) - value(left) || left.id - right.id);
}

/* Known load of an endpoint group. PURE. */

/** Returns the group with `amount` of work arriving now. */
export function recordArrival(endpoint: EndpointGroupRow, now: number, amount: number): EndpointGroupRow {
  if (amount <= 0) return endpoint;
  return { ...endpoint, arrivals: [...endpoint.arrivals, { at: now, amount }], lastActivityAt: now };
}

/** Returns the group without expired entries of its windows, and with the present rate recorded. */
export function noteRate(world: World, endpoint: EndpointGroupRow): EndpointGroupRow {
  const { rateSeconds, longSeconds } = world.settings.workers;
  const arrivals = endpoint.arrivals.filter(({ at }) => at > world.now - rateSeconds * 1000);
  const rate = { at: world.now, amount: rateOf(world, { ...endpoint, arrivals }) };
  const rates = [...endpoint.rates, rate].filter(({ at }) => at > world.now - longSeconds * 1000);
  const queue = endpoint.queue.filter(({ expiresAt }) => expiresAt > world.now);
  return { ...endpoint, arrivals, rates, queue };
}

/** Returns the demand on a group whose rate was just recorded. */
export function demandOn(world: World, endpoint: EndpointGroupRow, workers: readonly WorkerRow[]): Demand {
  const queued = endpoint.queue.reduce((sum, { cost }) => sum + cost, 0);
  const inHand = workers.reduce((sum, worker) => sum + loadOf(worker), 0);
  const perfs = workers.map(({ perf }) => perf);
  return {
    rate: endpoint.rates.at(-1)?.amount ?? 0,
    peakRate: Math.max(0, ...endpoint.rates.map(({ amount }) => amount)),
    backlog: queued + inHand,
    perf:
      perfs.length === 0
        ? world.settings.workers.unknownPerf
        : perfs.reduce((sum, perf) => sum + perf, 0) / perfs.length,
    isPerfKnown: perfs.length > 0,
    idleSeconds: (world.now - endpoint.lastActivityAt) / 1000,
  };
}

/** Returns the work per second over the rate span, or over the life of a younger group. */
function rateOf(world: World, endpoint: EndpointGroupRow): number {
  const { rateSeconds, tickSeconds } = world.settings.workers;
  const ageSeconds = (world.now - endpoint.createdAt) / 1000;
  const seconds = Math.max(1, Math.min(rateSeconds, Math.max(ageSeconds, tickSeconds)));
  return endpoint.arrivals.reduce((sum, { amount }) => sum + amount, 0) / seconds;
}

/*
 * How many workers an endpoint group needs: the options of specification 4.9 as the service documents
 * them (load over target_util; cold_mult, min_cold_load and cold_workers for hot and cold together). PURE.
 */

/** Input of the rule. Rates are units of work per second. */
export interface Demand {
  /** Rate of arriving work. */
  readonly rate: number;
  /** The highest rate of the long span. */
  readonly peakRate: number;
  /** Waiting or running work. */
  readonly backlog: number;
  /** Units per second of one worker, and whether any worker has proven it. */
  readonly perf: number;
  readonly isPerfKnown: boolean;
  readonly idleSeconds: number;
}

/** Desired workers: `hot` run; the rest up to `total` is stopped and quick to start. */
export interface WorkerTargets {
  readonly hot: number;
  readonly total: number;
}

/** Tolerance for rounding, which must not cost a worker: 21 / 0.7 / 10 is three workers. */
const NOISE = 1e-9;

export function workerTargets(options: ScalingOptions, demand: Demand): WorkerTargets {
  const hotCapacity = Math.max(
    Math.max(demand.rate, options.min_load) / options.target_util,
    demand.backlog / options.target_queue_time,
  );
  const totalCapacity = Math.max(
    (Math.max(1, options.cold_mult) * Math.max(demand.peakRate, options.min_load)) / options.target_util,
    options.min_cold_load / options.target_util,
    hotCapacity,
  );
  const desired = keepAwake(options, demand, workersFor(hotCapacity, demand.perf));
  const hot = demand.isPerfKnown ? desired : Math.min(1, desired);
  const total = Math.max(workersFor(totalCapacity, demand.perf), options.cold_workers, hot);
  return { hot: Math.min(hot, options.max_workers), total: Math.min(total, options.max_workers) };
}

function workersFor(capacity: number, perf: number): number {
  return Math.max(0, Math.ceil(capacity / perf - NOISE));
}

/**
 * Returns the hot workers, at least one while `inactivity_timeout` keeps the last one: absent or 0 is no condition, a
 * negative value keeps it for ever.
 */
function keepAwake(options: ScalingOptions, demand: Demand, hot: number): number {
  const gate = options.inactivity_timeout ?? 0;
  const isAwake = gate < 0 || (gate > 0 && demand.idleSeconds < gate);
  return isAwake ? Math.max(1, hot) : hot;
}
