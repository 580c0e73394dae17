import { loadOver, longestLoad } from '../load/state.ts';
import {
  type BoundsInput,
  type DesiredHot,
  limitHot,
  limitTotal,
  type Sample,
  type ScalingDecision,
  type ScalingInput,
  type ScalingMemory,
  type ScalingRule,
  type ScalingTerms,
} from './bounds.ts';
import { type Capacities, capacitiesFor, isFull } from './capacity.ts';
import { byStay, byValue, countFor, hotOf, sumOfPerf } from './cover.ts';

const PANIC_FACTOR = 2;

/**
 * Decides the numbers of hot and of all workers for one tick, from its input alone. Increases apply immediately
 * within the ramp. Decreases need the consent of every tick in the down window, of panic, metrics and the idle rule.
 */
export function autoscale(input: ScalingInput): ScalingDecision {
  const { options, memory } = input;
  const measured = measure(input);
  // Hot workers exist, but none reports load: the load is unknown, not zero.
  const isUnreported =
    input.metrics !== 'available' && measured.readyCapacity === 0 && hotOf(input.workers).length > 0;
  const isPanic = isUnreported || panics(input, measured);
  // Maximum end of a panic: a later end dates from before the clock went back.
  const panicEnd = input.now + input.times.panicMs;
  const panicUntil = isPanic ? panicEnd : Math.min(memory.panicUntil, panicEnd);
  const inPanic = input.now < panicUntil;
  const load = inPanic ? Math.max(measured.load, measured.burstLoad) : measured.load;
  const capacities = capacitiesFor(options, { ...measured, load, waiting: input.waiting });
  const windowMax = holdCapacities(input, isUnreported ? asBefore(input, capacities) : capacities);
  const counts = countsFor(input, capacities, windowMax);
  const desired = desiredHot(input, { capacities, windowMax, counts, load: measured.load });
  const hot = limitHot(input, { ...desired, inPanic });
  const hotNeed = input.replicas ?? counts.hot;
  const totalNeed = Math.max(counts.total, options.coldWorkers, hotNeed, desired.hot);
  const pooled = Math.max(counts.keptTotal, options.coldWorkers, hot.hot, desired.hot);
  // Without stop there is no pool: a worker beyond the load would be billed like a hot one.
  const total = input.hasStop === false ? hot.hot : limitTotal(input, pooled, hot.hot);
  return {
    terms: {
      ...measured,
      ...{ hotNeed, totalNeed },
      waiting: input.waiting,
      perf: input.perf,
      capacities,
      windowMax: { hot: windowMax.hot, total: windowMax.total },
    },
    isPanic,
    hot: hot.hot,
    total,
    hotCapacity: input.replicas === undefined ? windowMax.hot : 0,
    rule: hot.rule,
    missingWorkers: Math.max(0, totalNeed - options.maxWorkers),
    memory: { recent: windowMax.recent, panicUntil, hot: hot.hot },
  };
}

/**
 * Applies the last tick's decision to the present workers. Panic and doubtful metrics also prevent a decrease of
 * workers that became ready since.
 */
export function betweenTicks(decision: ScalingDecision, now: number, input: BoundsInput): ScalingDecision {
  const inPanic = now < decision.memory.panicUntil;
  const { hot, rule } = limitHot(input, { hot: decision.hot, rule: decision.rule, inPanic });
  return hot > decision.hot ? { ...decision, hot, rule, total: Math.max(decision.total, hot) } : decision;
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

/** Number of workers for the present capacities, and for those of the down window. */
interface CountsFor {
  readonly hot: number;
  readonly total: number;
  readonly keptHot: number;
  readonly keptTotal: number;
}

/** Counts each capacity once: with unequal workers this is a search for the cheapest set. */
function countsFor({ workers, perf }: ScalingInput, now: Capacities, windowMax: WindowMaxima): CountsFor {
  const hotFor = (capacity: number) => countFor(workers, capacity, { perf, order: byValue });
  const totalFor = (capacity: number) => countFor(workers, capacity, { perf, order: byStay });
  const [hot, total] = [hotFor(now.hot), totalFor(now.total)];
  return {
    ...{ hot, total },
    keptHot: windowMax.hot === now.hot ? hot : hotFor(windowMax.hot),
    keptTotal: windowMax.total === now.total ? total : totalFor(windowMax.total),
  };
}

/**
 * Returns true in a burst: the load needs twice the ready capacity, there is work without capacity, or every ready
 * worker is full.
 */
function panics(input: ScalingInput, { burstLoad, readyCapacity }: Measured): boolean {
  const { options } = input;
  if (readyCapacity === 0) return burstLoad + input.waiting > 0;
  if (burstLoad / options.targetUtilization >= PANIC_FACTOR * readyCapacity) return true;
  const telling = hotOf(input.workers).filter((worker) => worker.isReady && worker.perf > 0);
  return telling.every((worker) => isFull(worker.curLoad, worker.perf, options.maxQueueSeconds));
}

/** Returns the maximum of the down window as the present capacity, so that the window does not shrink. */
function asBefore({ memory }: ScalingInput, now: Capacities): Capacities {
  const most = (of: 'hot' | 'total') => Math.max(now[of], ...memory.recent.map((sample) => sample[of]));
  return { ...now, hot: most('hot'), total: most('total') };
}

/** Maxima of the down window. */
interface WindowMaxima extends Omit<Sample, 'at'> {
  readonly recent: ScalingMemory['recent'];
}

/**
 * Returns the maxima of the down window with the present sample. A wake counts as one worker until one of the booting
 * workers is ready.
 */
function holdCapacities(
  { now, times, memory, wakeAsked, perf, replicas, workers }: ScalingInput,
  { hot, total }: Capacities,
): WindowMaxima {
  // A sample from before the clock went back counts as of now, so that it expires in time.
  const past = memory.recent.map((one) => (one.at > now ? { ...one, at: now } : one));
  const kept = past.filter((one) => now - one.at < times.downMs);
  const onTheWay = hotOf(workers);
  const isWakePending =
    !onTheWay.some(({ isReady }) => isReady) && onTheWay.some(({ isOverdue }) => !isOverdue);
  const isWake = wakeAsked || (kept.some((one) => one.isWake) && isWakePending);
  const woken = isWake ? (perf ?? 1) : 0;
  const sample = { at: now, hot: Math.max(hot, woken), total: Math.max(total, woken), replicas, isWake };
  const recent = [...kept, sample];
  return {
    hot: Math.max(...recent.map((one) => one.hot)),
    total: Math.max(...recent.map((one) => one.total)),
    replicas: replicas === undefined ? undefined : Math.max(...recent.map((one) => one.replicas ?? 0)),
    recent,
  };
}

interface Needed {
  readonly capacities: Capacities;
  readonly windowMax: WindowMaxima;
  readonly counts: CountsFor;
  readonly load: number;
}

/** Returns the desired hot workers: load or replicas through the down window, then the rules about zero. */
function desiredHot(input: ScalingInput, needed: Needed): DesiredHot {
  const { replicas } = input;
  const { windowMax, counts } = needed;
  if (replicas !== undefined && windowMax.replicas !== undefined)
    return { hot: windowMax.replicas, rule: windowMax.replicas > replicas ? 'DownWindow' : 'Replicas' };
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

/** Returns the rule that keeps the last hot worker without load, or zero. */
function atZero(input: ScalingInput): DesiredHot {
  const { idle } = input.options;
  if (idle.type === 'never') return { hot: 1, rule: 'NeverZero' };
  const { now, lastActivity, times } = input;
  if (idle.type === 'after' && lastActivity !== undefined && now - lastActivity < idle.ms / times.speed)
    return { hot: 1, rule: 'Inactivity' };
  const present = hotOf(input.workers).length;
  if (!input.mayReachZero && present > 0) return { hot: 1, rule: 'NotReadyYet' };
  return { hot: 0, rule: 'Load' };
}
