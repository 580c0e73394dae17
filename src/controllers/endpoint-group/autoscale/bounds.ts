import type { LoadHistory } from '../load/state.ts';
import type { MetricsState } from '../load/view.ts';
import type { ScalingTimes } from '../times.ts';
import type { Capacities, ScalingOptions } from './capacity.ts';
import { hotOf } from './cover.ts';
import type { CountedWorker } from './scaling-worker.ts';

/** What one tick asked for: capacities, and `spec.replicas` where it was set. */
export interface Sample {
  readonly at: number;
  readonly hot: number;
  readonly total: number;
  readonly replicas?: number | undefined;
  /** A wake was asked for, or is not answered yet. */
  readonly isWake?: boolean;
}

/** What scaling remembers between ticks. Lost memory only keeps workers longer: a restart acts as in panic. */
export interface ScalingMemory {
  /** What the ticks within the down window asked for, oldest first. */
  readonly recent: readonly Sample[];
  /** No hot decrease before this time. */
  readonly panicUntil: number;
  /** Hot workers of the last decision: what missing metrics never go below. */
  readonly hot: number;
}

export interface ScalingInput {
  readonly now: number;
  readonly options: ScalingOptions;
  readonly history: LoadHistory;
  /** Work that waits, in units: what sources tell apart, else all work in workers and the queue before them. */
  readonly waiting: number;
  readonly metrics: MetricsState;
  readonly workers: readonly CountedWorker[];
  /** Work per second of one more worker; undefined while nothing is known at all. */
  readonly perf: number | undefined;
  /** Undefined before any. */
  readonly lastActivity: number | undefined;
  /** Asked for by queue, push, query, annotation or command since the last tick. */
  readonly wakeAsked: boolean;
  /** Whether the group was ready once, or its boot deadline has passed. */
  readonly mayReachZero: boolean;
  /** False if the market of the workers cannot stop machines. */
  readonly hasStop?: boolean | undefined;
  /** Set by hand or by an autoscaler: the hot need, in place of the load. */
  readonly replicas: number | undefined;
  readonly times: ScalingTimes;
  readonly memory: ScalingMemory;
  /**
   * Hot workers when the tick began that this decision belongs to: what may be added is bounded for each tick, however
   * often it decides. Left out where those that there are now are those.
   */
  readonly hotAtTick?: number | undefined;
}

/** The rule that set the number of hot workers, as status and `explain` name it. */
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

/** Each term of one decision. Loads and capacities are work units per second. */
export interface ScalingTerms {
  readonly load: number;
  readonly burstLoad: number;
  readonly longLoad: number;
  readonly waiting: number;
  /** Of the ready hot workers. */
  readonly readyCapacity: number;
  readonly perf: number | undefined;
  readonly capacities: Capacities;
  /** The largest hot and total capacity of the down window. */
  readonly windowMax: Pick<Capacities, 'hot' | 'total'>;
  /** Before windows, ramp and maximum. */
  readonly hotNeed: number;
  readonly totalNeed: number;
}

export interface ScalingDecision {
  readonly terms: ScalingTerms;
  readonly isPanic: boolean;
  readonly hot: number;
  readonly total: number;
  /** Capacity that the hot workers are to cover: with unequal workers it says which. */
  readonly hotCapacity: number;
  readonly rule: ScalingRule;
  /** Workers beyond `maxWorkers` that the load asks for. */
  readonly missingWorkers: number;
  readonly memory: ScalingMemory;
}

/** How many workers should be hot, and the rule that says so. */
export interface DesiredHot {
  readonly hot: number;
  readonly rule: ScalingRule;
}

/** What bounds ask about. */
export type BoundsInput = Pick<
  ScalingInput,
  'options' | 'metrics' | 'workers' | 'wakeAsked' | 'replicas' | 'memory' | 'hotAtTick'
>;

const MIN_RAMP = 2;

/** Doubtful metrics and panic forbid decreases, missing ones increases too; the ramp bounds increases; the maximum bounds all. */
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

/** One is wanted whatever the load is. */
function minHot({ options: { minLoad, idle } }: BoundsInput): number {
  return minLoad > 0 || idle.type === 'never' ? 1 : 0;
}

/** Nothing says what is needed: the group is kept as it is. */
function isBlind({ metrics, wakeAsked, replicas }: BoundsInput): boolean {
  return metrics === 'missing' && !wakeAsked && replicas === undefined;
}

function unshrunk(input: BoundsInput, desired: DesiredHot & { readonly inPanic: boolean }): DesiredHot {
  const keepable = hotOf(input.workers).filter((worker) => worker.wasEverReady || !worker.isOverdue).length;
  if (input.metrics !== 'told') {
    const kept = Math.max(keepable, Math.min(input.memory.hot, input.options.maxWorkers));
    if (desired.hot < kept) return { hot: kept, rule: 'MetricsMissing' };
  }
  return desired.inPanic && desired.hot < keepable ? { hot: keepable, rule: 'Panic' } : desired;
}

/** What was needed before and is kept says why, even where the maximum bounds it. */
function capped(hot: number, rule: ScalingRule, maxWorkers: number): DesiredHot {
  if (hot <= maxWorkers) return { hot, rule };
  return { hot: maxWorkers, rule: rule === 'DownWindow' ? rule : 'MaxWorkers' };
}

/** The pool is not shrunk by figures that may be wrong, nor grown by none; the maximum bounds it. */
export function limitTotal(input: BoundsInput, desired: number, hot: number): number {
  const present = input.workers.filter((worker) => worker.role !== 'leaving').length;
  if (isBlind(input)) return Math.min(Math.max(present, hot), input.options.maxWorkers);
  const kept =
    input.metrics === 'told' || input.replicas !== undefined ? desired : Math.max(desired, present);
  return Math.min(kept, input.options.maxWorkers);
}
