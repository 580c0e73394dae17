import { autoscale } from '../../src/controllers/endpoint-group/autoscale/autoscale.ts';
import type { ScalingInput } from '../../src/controllers/endpoint-group/autoscale/bounds.ts';
import { chooseWorkers } from '../../src/controllers/endpoint-group/autoscale/choose-workers.ts';
import type { ScalingWorker } from '../../src/controllers/endpoint-group/autoscale/scaling-worker.ts';
import { EMPTY_HISTORY, rolledTo, withArrivals } from '../../src/controllers/endpoint-group/load/state.ts';
import { defaultTimes } from '../../src/controllers/endpoint-group/times.ts';
import { seededRandom } from '../../src/lib/random.ts';

const GROUPS = 200;
const WORKERS = 20;
const ROUNDS = 30;
const NOW = 1_000_000_000_000;

/** State of a group at the measured tick. */
export interface Situation {
  readonly name: string;
  /** Work per second of the workers of a group. */
  readonly perfs: 'equal' | 'unequal';
  /** Load as a share of what all workers can do. */
  readonly load: number;
}

export const SITUATIONS: readonly Situation[] = [
  { name: 'steady, equal workers', perfs: 'equal', load: 0.88 },
  { name: 'steady, unequal workers', perfs: 'unequal', load: 0.88 },
  { name: 'every group shrinks, unequal workers', perfs: 'unequal', load: 0.45 },
];

export interface TickCost {
  readonly situation: string;
  readonly groups: number;
  readonly workersEach: number;
  readonly medianCpuMs: number;
  readonly maxCpuMs: number;
}

/** Measures the CPU time of one tick of the pure core, decision and choice of workers, for all groups together. */
export function tickCost(situation: Situation): TickCost {
  const inputs = Array.from({ length: GROUPS }, (_, index) => groupAt(situation, index));
  const rounds = Array.from({ length: ROUNDS }, () => roundMs(inputs)).slice(ROUNDS / 3);
  const sorted = rounds.toSorted((a, b) => a - b);
  return {
    situation: situation.name,
    groups: GROUPS,
    workersEach: WORKERS,
    medianCpuMs: hundredths(sorted[sorted.length >> 1] ?? 0),
    maxCpuMs: hundredths(sorted.at(-1) ?? 0),
  };
}

interface GroupInput {
  readonly scaling: ScalingInput;
  readonly workers: readonly ScalingWorker[];
}

function roundMs(inputs: readonly GroupInput[]): number {
  const before = process.cpuUsage();
  for (const { scaling, workers } of inputs) {
    const { hot, total, hotCapacity } = autoscale(scaling);
    chooseWorkers({
      ...{ workers, hot, total, hotCapacity },
      maxWorkers: WORKERS,
      ceiling: 20_000_000,
      priceOfNew: 400_000,
      pause: { scaleUp: false, scaleDown: false },
      maxUnavailable: 1,
    });
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function groupAt({ perfs, load }: Situation, seed: number): GroupInput {
  const random = seededRandom(seed);
  const workers = Array.from({ length: WORKERS }, (_, index): ScalingWorker => {
    const perf = perfs === 'equal' ? 100 : 50 + Math.floor(random.next() * 200);
    const pricePerHour = 200_000 + Math.floor(random.next() * 400_000);
    return {
      ...{ name: `worker-${index}`, perf, pricePerHour, keepRank: index, coldPricePerHour: 20_000 },
      ...{ role: 'hot', isReady: true, wasEverReady: true, isOverdue: false, curLoad: perf, isRunning: true },
      ...{ isCurrentTemplate: true, isOnHold: false, hasWakeFailed: false, hasEnded: false },
      ...{ hasRun: true, isUnreachable: false, isUpdateExempt: false },
    };
  });
  const capacity = workers.reduce((sum, { perf }) => sum + perf, 0);
  return { workers, scaling: scalingInput(workers, capacity * load) };
}

/**
 * Returns an hour of history as a group has it: a report every ten seconds, a maximum every minute, a full down
 * window.
 */
function scalingInput(workers: readonly ScalingWorker[], load: number): ScalingInput {
  let history = EMPTY_HISTORY;
  for (let at = NOW - defaultTimes.longMs; at <= NOW; at += defaultTimes.tickMs) {
    const amount = (load * defaultTimes.tickMs) / 1000;
    history = rolledTo(withArrivals(history, { at, spanMs: defaultTimes.tickMs, amount }), at);
  }
  const samples = defaultTimes.downMs / defaultTimes.tickMs;
  const capacity = load / 0.9;
  const recent = Array.from({ length: samples - 1 }, (_, index) => ({
    at: NOW - (samples - 1 - index) * defaultTimes.tickMs,
    hot: capacity,
    total: capacity,
  }));
  return {
    ...{ now: NOW, history, workers, metrics: 'available', perf: 125, lastActivity: NOW },
    options: {
      ...{ minLoad: 0, minColdLoad: 0, targetUtilization: 0.9, coldMultiplier: 1, coldWorkers: 0 },
      ...{ maxWorkers: WORKERS, maxQueueSeconds: 30, targetQueueSeconds: 10, idle: { type: 'load' } },
    },
    waiting: 0,
    wakeAsked: false,
    mayReachZero: true,
    replicas: undefined,
    times: defaultTimes,
    memory: { recent, panicUntil: 0, hot: workers.length },
  };
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100;
}
