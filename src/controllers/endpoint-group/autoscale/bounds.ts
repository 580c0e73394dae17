import type { LoadHistory } from '../load/state.ts';
import type { MetricsState } from '../load/view.ts';
import type { ScalingTimes } from '../times.ts';
import type { Capacities, ScalingOptions } from './capacity.ts';
import { hotOf } from './cover.ts';
import type { CountedWorker } from './scaling-worker.ts';

/** Targets of one tick: capacities, and `spec.replicas` if set. */
export interface Sample {
  readonly at: number;
  readonly hot: number;
  readonly total: number;
  readonly replicas?: number | undefined;
  /** True if a wake was requested or is still pending. */
  readonly isWake?: boolean;
}

/**
 * Memory of scaling between ticks. If it is lost, workers only stay longer: after a restart the group acts as in
 * panic.
 */
export interface ScalingMemory {
  /** Samples within the down window, oldest first. */
  readonly recent: readonly Sample[];
  /** Time before which the number of hot workers does not decrease. */
  readonly panicUntil: number;
  /** Hot workers of the last decision, the minimum while metrics are missing. */
  readonly hot: number;
}

export interface ScalingInput {
  readonly now: number;
  readonly options: ScalingOptions;
  readonly history: LoadHistory;
  /**
   * Waiting work, in units: separate work if sources report it, else all work of workers, and the queue before them.
   */
  readonly waiting: number;
  readonly metrics: MetricsState;
  readonly workers: readonly CountedWorker[];
  /** Work per second of one more worker; undefined while no performance is known. */
  readonly perf: number | undefined;
  /** Undefined before any activity. */
  readonly lastActivity: number | undefined;
  /** True if queue, push, query, annotation or command requested a wake since the last tick. */
  readonly wakeAsked: boolean;
  /** True if the group was ready once, or its boot deadline has passed. */
  readonly mayReachZero: boolean;
  /** False if the market of the workers cannot stop machines. */
  readonly hasStop?: boolean | undefined;
  /** Number of hot workers that a person or an autoscaler set; it replaces the load. */
  readonly replicas: number | undefined;
  readonly times: ScalingTimes;
  readonly memory: ScalingMemory;
  /**
   * Hot workers at the start of the tick, since the ramp limits each tick and not each decision. Undefined means the
   * present number.
   */
  readonly hotAtTick?: number | undefined;
}

/** Rule that determined the number of hot workers, for status and `explain`. */
export type ScalingRule =
  | 'Load'
  | 'Queue'
  | 'Floor'
  | 'Replicas'
  | 'MeasureFirst'
  | 'Inactivity'
  | 'NeverZero'
  | 'NotReadyYet'
  | 'Wake'
  | 'DownWindow'
  | 'Panic'
  | 'RampUp'
  | 'MaxWorkers'
  | 'MetricsMissing';

/** Terms of one decision. Loads and capacities are work units per second. */
export interface ScalingTerms {
  readonly load: number;
  readonly burstLoad: number;
  readonly longLoad: number;
  readonly waiting: number;
  /** Capacity of the ready hot workers. */
  readonly readyCapacity: number;
  readonly perf: number | undefined;
  readonly capacities: Capacities;
  /** Maximum hot and total capacity of the down window. */
  readonly windowMax: Pick<Capacities, 'hot' | 'total'>;
  /** Numbers before windows, ramp and maximum. */
  readonly hotNeed: number;
  readonly totalNeed: number;
}

export interface ScalingDecision {
  readonly terms: ScalingTerms;
  readonly isPanic: boolean;
  readonly hot: number;
  readonly total: number;
  /** Capacity that the hot workers must cover. With unequal workers it selects the ones that stay. */
  readonly hotCapacity: number;
  readonly rule: ScalingRule;
  /** Workers that the load needs beyond `maxWorkers`. */
  readonly missingWorkers: number;
  readonly memory: ScalingMemory;
}

/** Desired number of hot workers, and its rule. */
export interface DesiredHot {
  readonly hot: number;
  readonly rule: ScalingRule;
}

/** Input of the bounds. */
export type BoundsInput = Pick<
  ScalingInput,
  'options' | 'metrics' | 'workers' | 'wakeAsked' | 'replicas' | 'memory' | 'hotAtTick'
>;

const MIN_RAMP = 2;

/**
 * Returns the number of hot workers within its bounds. Doubtful metrics and panic prevent decreases; missing metrics
 * also prevent increases. The ramp limits increases, and `maxWorkers` limits all.
 */
export function limitHot(
  input: BoundsInput,
  desired: DesiredHot & { readonly inPanic: boolean },
): DesiredHot {
  const { options } = input;
  const limited = input.replicas === undefined ? unshrunk(input, desired) : desired;
  const { maxWorkers } = options;
  const present = hotOf(input.workers).length;
  const known = Math.max(present, Math.min(input.memory.hot, maxWorkers), minHot(input));
  if (isBlind(input) && limited.hot > known) return capped(known, 'MetricsMissing', maxWorkers);
  const before = input.hotAtTick ?? present;
  const ramp = before + Math.max(MIN_RAMP, before);
  if (before > 0 && limited.hot > ramp) return capped(ramp, 'RampUp', maxWorkers);
  return capped(limited.hot, limited.rule, maxWorkers);
}

/** Returns the minimum of hot workers, which does not depend on the load. */
function minHot({ options: { minLoad, idle } }: BoundsInput): number {
  return minLoad > 0 || idle.type === 'never' ? 1 : 0;
}

/** Returns true if neither metrics, a wake nor replicas give a target: the group stays unchanged. */
function isBlind({ metrics, wakeAsked, replicas }: BoundsInput): boolean {
  return metrics === 'missing' && !wakeAsked && replicas === undefined;
}

function unshrunk(input: BoundsInput, desired: DesiredHot & { readonly inPanic: boolean }): DesiredHot {
  const keepable = hotOf(input.workers).filter((worker) => worker.wasEverReady || !worker.isOverdue).length;
  if (input.metrics !== 'available') {
    const kept = Math.max(keepable, Math.min(input.memory.hot, input.options.maxWorkers));
    if (desired.hot < kept) return { hot: kept, rule: 'MetricsMissing' };
  }
  return desired.inPanic && desired.hot < keepable ? { hot: keepable, rule: 'Panic' } : desired;
}

/** Returns the number within the maximum. It keeps the rule DownWindow, which explains the number better. */
function capped(hot: number, rule: ScalingRule, maxWorkers: number): DesiredHot {
  if (hot <= maxWorkers) return { hot, rule };
  return { hot: maxWorkers, rule: rule === 'DownWindow' ? rule : 'MaxWorkers' };
}

/**
 * Returns the total number within its bounds. Doubtful metrics prevent decreases, missing ones also increases, and
 * `maxWorkers` limits all.
 */
export function limitTotal(input: BoundsInput, desired: number, hot: number): number {
  const present = input.workers.filter((worker) => worker.role !== 'leaving').length;
  if (isBlind(input)) return Math.min(Math.max(present, hot), input.options.maxWorkers);
  const kept =
    input.metrics === 'available' || input.replicas !== undefined ? desired : Math.max(desired, present);
  return Math.min(kept, input.options.maxWorkers);
}
