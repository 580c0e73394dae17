import type { EndpointGroupSpec } from '../../../api/v1alpha1/endpoint-group.ts';
import { parseDuration } from '../../../lib/time.ts';

/** The options of a group that its targets follow. Loads are work units per second. */
export interface ScalingOptions {
  readonly minLoad: number;
  readonly minColdLoad: number;
  /** Above 0, at most 1. */
  readonly targetUtilization: number;
  readonly coldMultiplier: number;
  readonly coldWorkers: number;
  readonly maxWorkers: number;
  readonly maxQueueSeconds: number;
  readonly targetQueueSeconds: number;
  /** `never` keeps at least one hot; `load` lets the load alone decide; a number is idle milliseconds. */
  readonly idle:
    | { readonly type: 'never' }
    | { readonly type: 'load' }
    | { readonly type: 'after'; readonly ms: number };
}

/** What is measured now. */
export interface Demand {
  /** The load that decides: over 60 s, or the larger of that and over 10 s in panic. */
  readonly load: number;
  /** The largest load of the last hour. */
  readonly longLoad: number;
  /** Work that waits, in units. */
  readonly waiting: number;
}

/** Capacities in work units per second. */
export interface Capacities {
  readonly rate: number;
  readonly queue: number;
  readonly hot: number;
  readonly total: number;
}

/** Against 3.0000000000000004: ratios that are whole up to rounding count as whole. */
const ROUNDING = 1e-9;

/**
 * The capacities that a demand asks for. The floor applies to the load before utilisation; the multiplier and
 * the cold floor describe hot and cold together; a queue asks for as much as clears it in the target time.
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

/** No group has as many workers. What figures that are hardly true ask for still fits the status. */
const MAX_WORKERS = 1e9;

/** How many workers of one performance give that capacity. */
export function workersFor(capacity: number, perf: number): number {
  return capacity <= 0 ? 0 : Math.min(MAX_WORKERS, Math.ceil(capacity / perf - ROUNDING));
}

/** Whether a worker counts as full for the panic rule: at exactly the maximum it still takes one and is full. */
export function isFull(curLoad: number, perf: number, maxQueueSeconds: number): boolean {
  return curLoad / perf >= maxQueueSeconds;
}

/** The options of a spec as numbers: loads in units per second, times in seconds. The CRD has checked them. */
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

/** Workers that may be out of service for a new template: a number, or a share of the hot ones, at least one. */
export function maxUnavailable(spec: EndpointGroupSpec, hot: number): number | undefined {
  if (spec.updateStrategy.type === 'OnDelete') return undefined;
  const { maxUnavailable: allowed } = spec.updateStrategy;
  if (typeof allowed === 'number') return Math.max(1, allowed);
  return Math.max(1, Math.floor((Number.parseInt(allowed, 10) * hot) / 100));
}

/**
 * Work per second to count on where a worker has not told its own: the median of what others told, else what the
 * group states. Undefined while nothing is known at all.
 */
export function usualPerf(reported: readonly number[], stated: string | undefined): number | undefined {
  const middle = median(reported);
  if (middle !== undefined) return middle;
  const perf = stated === undefined ? 0 : Number(stated);
  return perf > 0 ? perf : undefined;
}

/** The middle of some numbers, between the two middle ones where their count is even; undefined for none. */
export function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[sorted.length >> 1];
  if (upper === undefined || sorted.length % 2 === 1) return upper;
  return ((sorted[(sorted.length >> 1) - 1] ?? upper) + upper) / 2;
}
