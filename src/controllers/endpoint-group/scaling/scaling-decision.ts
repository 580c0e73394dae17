import type { LoadHistory } from '../load/load-history.ts';
import type { ScalingTimes } from './scaling-times.ts';
import type { Capacities, ScalingOptions } from './targets.ts';
import type { ScalingWorker } from './worker-counts.ts';

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

/**
 * `told`: figures arrive. `doubtful`: some that arrive cannot be true, or all who would tell are on their way, so
 * nothing shrinks. `missing`: none arrive, so nothing grows either, unless someone asks for a wake.
 */
export type MetricsState = 'told' | 'doubtful' | 'missing';

export interface ScalingInput {
  readonly now: number;
  readonly options: ScalingOptions;
  readonly history: LoadHistory;
  /** Work that waits, in units: what sources tell apart, else all work in workers and the queue before them. */
  readonly waiting: number;
  readonly metrics: MetricsState;
  readonly workers: readonly ScalingWorker[];
  /** Work per second of one more worker; undefined while nothing is known at all. */
  readonly perf: number | undefined;
  readonly lastActivity: number;
  /** Asked for by queue, push, query, annotation or command since the last tick. */
  readonly wakeAsked: boolean;
  /** Whether the group was ready once, or its boot deadline has passed. */
  readonly mayReachZero: boolean;
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
  readonly held: Pick<Capacities, 'hot' | 'total'>;
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
