import type { ScalingInput, ScalingRule } from './scaling-decision.ts';
import { hotOf } from './worker-counts.ts';

/** How many workers should be hot, and the rule that says so. */
export interface WantedHot {
  readonly hot: number;
  readonly rule: ScalingRule;
}

/** What bounds ask about. */
export type BoundsInput = Pick<
  ScalingInput,
  'options' | 'metrics' | 'workers' | 'wakeAsked' | 'replicas' | 'memory' | 'hotAtTick'
>;

const LEAST_RAMP = 2;

/** Doubtful metrics and panic forbid decreases, missing ones increases too; the ramp bounds increases; the maximum bounds all. */
export function limitHot(input: BoundsInput, wanted: WantedHot & { readonly inPanic: boolean }): WantedHot {
  const { options } = input;
  const limited = input.replicas === undefined ? unshrunk(input, wanted) : wanted;
  const { maxWorkers } = options;
  const present = hotOf(input.workers).length;
  const known = Math.max(present, Math.min(input.memory.hot, maxWorkers), leastHot(input));
  if (isBlind(input) && limited.hot > known) return capped(known, 'MetricsMissing', maxWorkers);
  const before = input.hotAtTick ?? present;
  const ramp = before + Math.max(LEAST_RAMP, before);
  if (before > 0 && limited.hot > ramp) return capped(ramp, 'RampUp', maxWorkers);
  return capped(limited.hot, limited.rule, maxWorkers);
}

/** One is wanted whatever the load is. */
function leastHot({ options: { minLoad, idle } }: BoundsInput): number {
  return minLoad > 0 || idle.type === 'never' ? 1 : 0;
}

/** Nothing says what is needed: the group is kept as it is. */
function isBlind({ metrics, wakeAsked, replicas }: BoundsInput): boolean {
  return metrics === 'missing' && !wakeAsked && replicas === undefined;
}

function unshrunk(input: BoundsInput, wanted: WantedHot & { readonly inPanic: boolean }): WantedHot {
  const keepable = hotOf(input.workers).filter((worker) => worker.wasEverReady || !worker.isOverdue).length;
  if (input.metrics !== 'told') {
    const kept = Math.max(keepable, Math.min(input.memory.hot, input.options.maxWorkers));
    if (wanted.hot < kept) return { hot: kept, rule: 'MetricsMissing' };
  }
  return wanted.inPanic && wanted.hot < keepable ? { hot: keepable, rule: 'Panic' } : wanted;
}

/** What was needed before and is kept says why, even where the maximum bounds it. */
function capped(hot: number, rule: ScalingRule, maxWorkers: number): WantedHot {
  if (hot <= maxWorkers) return { hot, rule };
  return { hot: maxWorkers, rule: rule === 'DownWindow' ? rule : 'MaxWorkers' };
}

/** The pool is not shrunk by figures that may be wrong, nor grown by none; the maximum bounds it. */
export function limitTotal(input: BoundsInput, wanted: number, hot: number): number {
  const present = input.workers.filter((worker) => worker.role !== 'leaving').length;
  if (isBlind(input)) return Math.min(Math.max(present, hot), input.options.maxWorkers);
  const kept = input.metrics === 'told' || input.replicas !== undefined ? wanted : Math.max(wanted, present);
  return Math.min(kept, input.options.maxWorkers);
}
