import { type LoadHistory, loadOver, longestLoad } from './load/load-history.ts';
import type { ScalingTimes } from './scaling/scaling-times.ts';
import { type Capacities, capacitiesFor, isFull, type ScalingOptions } from './scaling/targets.ts';
import { hotCount, hotOf, type ScalingWorker, sumOfPerf, totalCount } from './scaling/worker-counts.ts';

/** What one tick asked for: capacities, and `spec.replicas` where it was set. */
interface Sample {
  readonly at: number;
  readonly hot: number;
  readonly total: number;
  readonly replicas?: number | undefined;
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
 * `told`: figures arrive. `doubtful`: some that arrive cannot be true, so nothing shrinks. `missing`: none
 * arrive, so nothing grows either, unless someone asks for a wake.
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

const PANIC_FACTOR = 2;
const LEAST_RAMP = 2;

/**
 * One tick: how many workers should be hot, and how many there should be. Pure: the same input gives the same
 * decision. Increases happen at once within the ramp; decreases only when every tick of the down window, panic,
 * missing metrics and the idle rule allow it.
 */
export function autoscale(input: ScalingInput): ScalingDecision {
  const { options, memory } = input;
  const measured = measure(input);
  const isPanic = panics(input, measured);
  const panicUntil = isPanic ? input.now + input.times.panicMs : memory.panicUntil;
  const inPanic = input.now < panicUntil;
  const load = inPanic ? Math.max(measured.load, measured.burstLoad) : measured.load;
  const capacities = capacitiesFor(options, { ...measured, load, waiting: input.waiting });
  const held = holdCapacities(input, capacities);
  const counts = countsFor(input, capacities, held);
  const wanted = wantedHot(input, { capacities, held, counts, load: measured.load });
  const hot = limitHot(input, { ...wanted, inPanic });
  const needs = needsOf(input, counts, wanted.hot);
  const pooled = Math.max(counts.keptTotal, options.coldWorkers, hot.hot, wanted.hot);
  const total = limitTotal(input, pooled, hot.hot);
  return {
    terms: {
      ...measured,
      ...needs,
      waiting: input.waiting,
      perf: input.perf,
      capacities,
      held: { hot: held.hot, total: held.total },
    },
    isPanic,
    hot: hot.hot,
    total,
    hotCapacity: input.replicas === undefined ? held.hot : 0,
    rule: hot.rule,
    missingWorkers: Math.max(0, needs.totalNeed - options.maxWorkers),
    memory: { recent: held.recent, panicUntil, hot: hot.hot },
  };
}

type Measured = Pick<ScalingTerms, 'load' | 'burstLoad' | 'longLoad' | 'readyCapacity'>;

function measure({ now, history, times, workers }: ScalingInput): Measured {
  return {
    load: loadOver(history, now, times.shortMs),
    burstLoad: loadOver(history, now, times.burstMs),
    longLoad: longestLoad(history, now, times),
    readyCapacity: sumOfPerf(hotOf(workers).filter((worker) => worker.isReady)),
  };
}

/** Workers for the capacities of now, and for those that the down window keeps. */
interface CountsFor {
  readonly hot: number;
  readonly total: number;
  readonly keptHot: number;
  readonly keptTotal: number;
}

/** Each capacity is counted once: with unequal workers that is a search for the cheapest set. */
function countsFor({ workers, perf }: ScalingInput, now: Capacities, held: Held): CountsFor {
  const hot = hotCount(workers, now.hot, perf);
  const total = totalCount(workers, now.total, perf);
  return {
    ...{ hot, total },
    keptHot: held.hot === now.hot ? hot : hotCount(workers, held.hot, perf),
    keptTotal: held.total === now.total ? total : totalCount(workers, held.total, perf),
  };
}

function needsOf(
  { replicas, options }: ScalingInput,
  counts: CountsFor,
  wantedHotCount: number,
): Pick<ScalingTerms, 'hotNeed' | 'totalNeed'> {
  const hotNeed = replicas ?? counts.hot;
  return { hotNeed, totalNeed: Math.max(counts.total, options.coldWorkers, hotNeed, wantedHotCount) };
}

/** A burst: twice the ready capacity asked for, or work without any capacity, or every ready worker full. */
function panics(input: ScalingInput, { burstLoad, readyCapacity }: Measured): boolean {
  const { options } = input;
  if (readyCapacity === 0) return burstLoad + input.waiting > 0;
  if (burstLoad / options.targetUtilization >= PANIC_FACTOR * readyCapacity) return true;
  const telling = hotOf(input.workers).filter((worker) => worker.isReady && worker.perf > 0);
  return telling.every((worker) => isFull(worker.curLoad, worker.perf, options.maxQueueSeconds));
}

/** The most that was asked for within the down window. */
interface Held extends Omit<Sample, 'at'> {
  readonly recent: ScalingMemory['recent'];
}

/** A wake asks for one worker. */
function holdCapacities(
  { now, times, memory, wakeAsked, perf, replicas }: ScalingInput,
  { hot, total }: Capacities,
): Held {
  const kept = memory.recent.filter((sample) => now - sample.at < times.downMs);
  const woken = wakeAsked ? (perf ?? 1) : 0;
  const sample = { at: now, hot: Math.max(hot, woken), total: Math.max(total, woken), replicas };
  const recent = [...kept, sample];
  return {
    hot: Math.max(...recent.map((one) => one.hot)),
    total: Math.max(...recent.map((one) => one.total)),
    replicas: replicas === undefined ? undefined : Math.max(...recent.map((one) => one.replicas ?? 0)),
    recent,
  };
}

interface WantedHot {
  readonly hot: number;
  readonly rule: ScalingRule;
}

interface Needed {
  readonly capacities: Capacities;
  readonly held: Held;
  readonly counts: CountsFor;
  readonly load: number;
}

/** Load or replicas through the down window, then the rules about zero. */
function wantedHot(input: ScalingInput, needed: Needed): WantedHot {
  const { replicas } = input;
  const { held, counts } = needed;
  if (replicas !== undefined && held.replicas !== undefined)
    return { hot: held.replicas, rule: held.replicas > replicas ? 'DownWindow' : 'Replicas' };
  const { hot: now, keptHot: kept } = counts;
  if (kept === 0) return atZero(input);
  if (kept > now && now < input.options.maxWorkers)
    return { hot: kept, rule: input.wakeAsked && now === 0 ? 'Wake' : 'DownWindow' };
  return { hot: now, rule: baseRule(input, needed) };
}

function baseRule(input: ScalingInput, { capacities, load }: Needed): ScalingRule {
  const { rate, queue } = capacities;
  if (input.perf === undefined && rate + queue > 0) return 'MeasureFirst';
  if (queue > rate) return 'Queue';
  return load < input.options.minLoad ? 'Floor' : 'Load';
}

/** What keeps the last hot worker although no load asks for it. */
function atZero(input: ScalingInput): WantedHot {
  const { idle } = input.options;
  if (input.wakeAsked) return { hot: 1, rule: 'Wake' };
  if (idle.type === 'never') return { hot: 1, rule: 'NeverZero' };
  if (idle.type === 'after' && input.now - input.lastActivity < idle.ms)
    return { hot: 1, rule: 'Inactivity' };
  const present = hotOf(input.workers).length;
  if (!input.mayReachZero && present > 0) return { hot: 1, rule: 'NotReadyYet' };
  return { hot: 0, rule: 'Load' };
}

/** Doubtful metrics and panic forbid decreases, missing ones increases too; the ramp bounds increases; the maximum bounds all. */
function limitHot(input: ScalingInput, wanted: WantedHot & { readonly inPanic: boolean }): WantedHot {
  const { options } = input;
  const limited = input.replicas === undefined ? unshrunk(input, wanted) : wanted;
  const { maxWorkers } = options;
  const present = hotOf(input.workers).length;
  const known = Math.max(present, Math.min(input.memory.hot, maxWorkers));
  if (isBlind(input) && limited.hot > known) return capped(known, 'MetricsMissing', maxWorkers);
  const ramp = present + Math.max(LEAST_RAMP, present);
  if (present > 0 && limited.hot > ramp) return capped(ramp, 'RampUp', maxWorkers);
  return capped(limited.hot, limited.rule, maxWorkers);
}

/** Nothing says what is needed: the group is kept as it is. */
function isBlind({ metrics, wakeAsked, replicas }: ScalingInput): boolean {
  return metrics === 'missing' && !wakeAsked && replicas === undefined;
}

function unshrunk(input: ScalingInput, wanted: WantedHot & { readonly inPanic: boolean }): WantedHot {
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

function limitTotal(input: ScalingInput, wanted: number, hot: number): number {
  const present = input.workers.filter((worker) => worker.role !== 'leaving').length;
  if (isBlind(input)) return Math.min(Math.max(present, hot), input.options.maxWorkers);
  const kept = input.metrics === 'told' || input.replicas !== undefined ? wanted : Math.max(wanted, present);
  return Math.min(kept, input.options.maxWorkers);
}
