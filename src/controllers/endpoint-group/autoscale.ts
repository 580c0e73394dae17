import { type Candidate, cheapestCover } from './covering-set.ts';
import { type LoadHistory, loadOver, longestLoad, PANIC_WINDOW_MS, SHORT_WINDOW_MS } from './load-history.ts';
import { type Capacities, capacitiesFor, isFull, type ScalingOptions, workersFor } from './targets.ts';

/** A worker as scaling counts it. */
export interface ScalingWorker extends Candidate {
  /** `hot` runs or is on its way to it; `cold` is stopped; `leaving` still bills. */
  readonly role: 'hot' | 'cold' | 'leaving';
  readonly isReady: boolean;
  readonly wasEverReady: boolean;
  /** Past the deadline by which it should have booted. */
  readonly isOverdue: boolean;
  /** Work it has taken and not finished, in units. */
  readonly curLoad: number;
}

/** What scaling remembers between ticks. Lost memory only keeps workers longer: a restart acts as in panic. */
export interface ScalingMemory {
  /** Capacities of the ticks within the down window, oldest first. */
  readonly recent: readonly { readonly at: number; readonly hot: number; readonly total: number }[];
  /** No hot decrease before this time. */
  readonly panicUntil: number;
}

export interface ScalingInput {
  readonly now: number;
  readonly options: ScalingOptions;
  readonly history: LoadHistory;
  /** Work that waits, in units: what sources tell apart, else all work in workers and the queue before them. */
  readonly waiting: number;
  /** False where every report is missing. */
  readonly metricsAvailable: boolean;
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
  readonly downWindowMs: number;
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

const PANIC_HOLD_MS = 60_000;
const PANIC_FACTOR = 2;
const LEAST_RAMP = 2;

const hotOf = (workers: readonly ScalingWorker[]) => workers.filter((worker) => worker.role === 'hot');

/**
 * One tick: how many workers should be hot, and how many there should be. Pure: the same input gives the same
 * decision. Increases happen at once within the ramp; decreases only when every tick of the down window, panic,
 * missing metrics and the idle rule allow it.
 */
export function autoscale(input: ScalingInput): ScalingDecision {
  const { now, options, history, memory } = input;
  const load = loadOver(history, now, SHORT_WINDOW_MS);
  const burstLoad = loadOver(history, now, PANIC_WINDOW_MS);
  const readyCapacity = sumOfPerf(hotOf(input.workers).filter((worker) => worker.isReady));
  const isPanic = panics(input, { burstLoad, readyCapacity });
  const panicUntil = isPanic ? now + PANIC_HOLD_MS : memory.panicUntil;
  const inPanic = now < panicUntil;
  const longLoad = longestLoad(history, now);
  const capacities = capacitiesFor(options, {
    load: inPanic ? Math.max(load, burstLoad) : load,
    longLoad,
    waiting: input.waiting,
  });
  const held = holdCapacities(input, capacities);
  const wanted = wantedHot(input, { capacities, held: held.hot });
  const hot = limitHot(input, { ...wanted, inPanic });
  const hotNeed = input.replicas ?? countFor(input, capacities.hot);
  const totalNeed = Math.max(countAll(input, capacities.total), options.coldWorkers, hotNeed, wanted.hot);
  const heldTotal = Math.max(countAll(input, held.total), options.coldWorkers, hot.hot, wanted.hot);
  return {
    terms: {
      load,
      burstLoad,
      longLoad,
      waiting: input.waiting,
      readyCapacity,
      perf: input.perf,
      capacities,
      hotNeed,
      totalNeed,
    },
    isPanic,
    hot: hot.hot,
    total: limitTotal(input, heldTotal),
    hotCapacity: held.hot,
    rule: hot.rule,
    missingWorkers: Math.max(0, totalNeed - options.maxWorkers),
    memory: { recent: held.recent, panicUntil },
  };
}

const sumOfPerf = (workers: readonly ScalingWorker[]): number =>
  workers.reduce((sum, worker) => sum + worker.perf, 0);

/** A burst: twice the ready capacity asked for, or work without any capacity, or every ready worker full. */
function panics(
  input: ScalingInput,
  { burstLoad, readyCapacity }: { readonly burstLoad: number; readonly readyCapacity: number },
): boolean {
  const { options } = input;
  if (readyCapacity === 0) return burstLoad + input.waiting > 0;
  if (burstLoad / options.targetUtilization >= PANIC_FACTOR * readyCapacity) return true;
  const ready = hotOf(input.workers).filter((worker) => worker.isReady);
  return ready.every((worker) => isFull(worker.curLoad, worker.perf, options.maxQueueSeconds));
}

/** The largest capacities asked for within the down window. */
function holdCapacities(
  input: ScalingInput,
  { hot, total }: Capacities,
): { hot: number; total: number; recent: ScalingMemory['recent'] } {
  const { now, downWindowMs } = input;
  const kept = input.memory.recent.filter((sample) => now - sample.at < downWindowMs);
  const recent = [...kept, { at: now, hot, total }];
  return {
    hot: Math.max(...recent.map((sample) => sample.hot)),
    total: Math.max(...recent.map((sample) => sample.total)),
    recent: downWindowMs > 0 ? recent : [],
  };
}

/** The hot workers for a capacity: the cheapest cover of those at hand, then new ones of the usual performance. */
function countFor(input: ScalingInput, capacity: number): number {
  return countAmong(
    input,
    input.workers.filter((worker) => worker.role !== 'leaving'),
    capacity,
  );
}

const countAll = countFor;

function countAmong(input: ScalingInput, workers: readonly ScalingWorker[], capacity: number): number {
  if (capacity <= 0) return 0;
  const { perf } = input;
  if (perf === undefined) return 1;
  if (workers.every((worker) => worker.perf === perf)) return workersFor(capacity, perf);
  const present = sumOfPerf(workers);
  if (present + 1e-9 >= capacity) return cheapestCover(workers, capacity).length;
  return workers.length + workersFor(capacity - present, perf);
}

interface WantedHot {
  readonly hot: number;
  readonly rule: ScalingRule;
}

/** Load or replicas through the down window, then the rules about zero. */
function wantedHot(
  input: ScalingInput,
  { capacities, held }: { readonly capacities: Capacities; readonly held: number },
): WantedHot {
  const now = countFor(input, capacities.hot);
  if (input.replicas !== undefined) return { hot: input.replicas, rule: 'Replicas' };
  const kept = countFor(input, held);
  const wanted: WantedHot =
    kept > now ? { hot: kept, rule: 'DownWindow' } : { hot: now, rule: baseRule(input, capacities) };
  return wanted.hot > 0 ? wanted : atZero(input);
}

function baseRule(input: ScalingInput, { rate, queue }: Capacities): ScalingRule {
  if (input.perf === undefined && rate + queue > 0) return 'MeasureFirst';
  if (queue > rate) return 'Queue';
  return loadOver(input.history, input.now, SHORT_WINDOW_MS) < input.options.minLoad ? 'Floor' : 'Load';
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

/** Missing metrics and panic forbid decreases; the ramp bounds increases; the maximum bounds all. */
function limitHot(input: ScalingInput, wanted: WantedHot & { readonly inPanic: boolean }): WantedHot {
  const present = hotOf(input.workers);
  const keepable = present.filter((worker) => worker.wasEverReady || !worker.isOverdue).length;
  const capped = (hot: number, rule: ScalingRule): WantedHot =>
    hot > input.options.maxWorkers ? { hot: input.options.maxWorkers, rule: 'MaxWorkers' } : { hot, rule };
  if (wanted.hot < keepable) {
    if (!input.metricsAvailable && input.replicas === undefined) return capped(keepable, 'MetricsMissing');
    if (wanted.inPanic && input.replicas === undefined) return capped(keepable, 'Panic');
  }
  if (
    !input.metricsAvailable &&
    !input.wakeAsked &&
    input.replicas === undefined &&
    wanted.hot > present.length
  ) {
    return capped(present.length, 'MetricsMissing');
  }
  const ramp = present.length + Math.max(LEAST_RAMP, present.length);
  if (present.length > 0 && wanted.hot > ramp) return capped(ramp, 'RampUp');
  return capped(wanted.hot, wanted.rule);
}

function limitTotal(input: ScalingInput, wanted: number): number {
  const present = input.workers.filter((worker) => worker.role !== 'leaving').length;
  const kept = input.metricsAvailable || input.replicas !== undefined ? wanted : Math.max(wanted, present);
  return Math.min(kept, input.options.maxWorkers);
}
