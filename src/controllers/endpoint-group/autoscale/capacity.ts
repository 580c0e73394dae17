import type { EndpointGroupSpec } from '../../../api/v1alpha1/endpoint-group.ts';
import { parseDuration } from '../../../lib/time.ts';

/** Scaling options of a group. Loads are work units per second. */
export interface ScalingOptions {
  readonly minLoad: number;
  readonly minColdLoad: number;
  /** Between 0 (exclusive) and 1. */
  readonly targetUtilization: number;
  readonly coldMultiplier: number;
  readonly coldWorkers: number;
  readonly maxWorkers: number;
  readonly maxQueueSeconds: number;
  readonly targetQueueSeconds: number;
  /** `never` keeps at least one hot worker, `load` follows the load alone, and `after` waits for an idle time. */
  readonly idle:
    | { readonly type: 'never' }
    | { readonly type: 'load' }
    | { readonly type: 'after'; readonly ms: number };
}

/** Measured demand. */
export interface Demand {
  /** Load of the last 60 s; in panic at least that of the last 10 s. */
  readonly load: number;
  /** Maximum load of the last hour. */
  readonly longLoad: number;
  /** Waiting work, in units. */
  readonly waiting: number;
}

/** Capacities in work units per second. */
export interface Capacities {
  readonly rate: number;
  readonly queue: number;
  readonly hot: number;
  readonly total: number;
}

/** Tolerance for ratios such as 3.0000000000000004, which count as integers. */
const ROUNDING = 1e-9;

/**
 * Returns the capacities for a demand. The minimum applies to the load before utilization. Multiplier and cold
 * minimum apply to hot and cold workers together. A queue needs the capacity that clears it within the target time.
 */
export function capacitiesFor(options: ScalingOptions, demand: Demand): Capacities {
  const { targetUtilization, minLoad, minColdLoad } = options;
  const rate = Math.max(demand.load, minLoad) / targetUtilization;
  const queue = demand.waiting / options.targetQueueSeconds;
  const hot = Math.max(rate, queue);
  const multiplier = Math.max(1, options.coldMultiplier);
  const pooled = (multiplier * Math.max(demand.longLoad, minLoad)) / targetUtilization;
  return { rate, queue, hot, total: Math.max(pooled, minColdLoad / targetUtilization, hot) };
}

/** Maximum number of workers, so that a result from implausible figures fits the status. */
const MAX_WORKERS = 1e9;

/** Returns the number of workers of this performance for a capacity. */
export function workersFor(capacity: number, perf: number): number {
  return capacity <= 0 ? 0 : Math.min(MAX_WORKERS, Math.ceil(capacity / perf - ROUNDING));
}

/** Returns true if a worker is full for the panic rule: its queue has reached the maximum time. */
export function isFull(curLoad: number, perf: number, maxQueueSeconds: number): boolean {
  return curLoad / perf >= maxQueueSeconds;
}

/** Returns the options of a validated spec as numbers: loads in units per second, times in seconds. */
export function scalingOptions(spec: EndpointGroupSpec): ScalingOptions {
  return {
    minLoad: Number(spec.minLoad),
    minColdLoad: Number(spec.minColdLoad),
    targetUtilization: spec.targetUtilizationPercent / 100,
    coldMultiplier: Number(spec.coldMultiplier),
    coldWorkers: spec.coldWorkers,
    maxWorkers: spec.maxWorkers,
    maxQueueSeconds: seconds(spec.maxQueueTime),
    targetQueueSeconds: seconds(spec.targetQueueTime),
    idle: idleRule(spec),
  };
}

function seconds(duration: string): number {
  return (parseDuration(duration) ?? 0) / 1000;
}

function idleRule({ scaleToZero, inactivityTimeout }: EndpointGroupSpec): ScalingOptions['idle'] {
  if (scaleToZero === 'Never') return { type: 'never' };
  const ms = parseDuration(inactivityTimeout);
  return ms === undefined || ms === 0 ? { type: 'load' } : { type: 'after', ms };
}

/**
 * Returns the number of workers that may be unavailable in a rollout: a number, or a share of the hot ones, at least
 * 1. Undefined for `OnDelete`.
 */
export function maxUnavailable(spec: EndpointGroupSpec, hot: number): number | undefined {
  if (spec.updateStrategy.type === 'OnDelete') return undefined;
  const { maxUnavailable: allowed } = spec.updateStrategy;
  if (typeof allowed === 'number') return Math.max(1, allowed);
  return Math.max(1, Math.floor((Number.parseInt(allowed, 10) * hot) / 100));
}

/**
 * Returns the work per second of a worker without a report: the median of reported ones, else the stated one.
 * Undefined if neither is known.
 */
export function usualPerf(reported: readonly number[], stated: string | undefined): number | undefined {
  const middle = median(reported);
  if (middle !== undefined) return middle;
  const perf = stated === undefined ? 0 : Number(stated);
  return perf > 0 ? perf : undefined;
}

/** Returns the median; undefined for no values. */
export function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[sorted.length >> 1];
  if (upper === undefined || sorted.length % 2 === 1) return upper;
  return ((sorted[(sorted.length >> 1) - 1] ?? upper) + upper) / 2;
}
