import type { ScalingOptions } from '../tables/endpoint-groups.ts';

/*
 * How many workers an endpoint group needs: the options of specification 4.9 as the service documents
 * them (load over target_util; cold_mult, min_cold_load and cold_workers for hot and cold together). PURE.
 */

/** What the rule looks at. Rates are units of work per second. */
export interface Demand {
  /** Work arriving now. */
  readonly rate: number;
  /** The highest rate of the long span. */
  readonly peakRate: number;
  /** Work waiting or in hand. */
  readonly backlog: number;
  /** Units per second of one worker, and whether any worker has shown it. */
  readonly perf: number;
  readonly isPerfKnown: boolean;
  readonly idleSeconds: number;
}

/** Workers wanted: `hot` run, the rest up to `total` is stopped and quick to wake. */
export interface WorkerTargets {
  readonly hot: number;
  readonly total: number;
}

/** Rounding noise that must not cost a worker: 21 / 0.7 / 10 is three workers. */
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
  const wanted = keepAwake(options, demand, workersFor(hotCapacity, demand.perf));
  const hot = demand.isPerfKnown ? wanted : Math.min(1, wanted);
  const total = Math.max(workersFor(totalCapacity, demand.perf), options.cold_workers, hot);
  return { hot: Math.min(hot, options.max_workers), total: Math.min(total, options.max_workers) };
}

function workersFor(capacity: number, perf: number): number {
  return Math.max(0, Math.ceil(capacity / perf - NOISE));
}

/** `inactivity_timeout`: absent or 0 is no gate, a negative value never lets the last one go. */
function keepAwake(options: ScalingOptions, demand: Demand, hot: number): number {
  const gate = options.inactivity_timeout ?? 0;
  const isAwake = gate < 0 || (gate > 0 && demand.idleSeconds < gate);
  return isAwake ? Math.max(1, hot) : hot;
}
