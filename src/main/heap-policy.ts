import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock, Timer } from '../lib/clock.ts';

/** What the heap is balanced by. */
export interface HeapPolicyOptions {
  readonly clock: Clock;
  /** The share of the time since the last call in which the event loop was at work, 0 to 1. */
  readonly utilization: () => number;
  /** Sets a flag of V8. */
  readonly setFlag: (flag: string) => void;
  /** Has all garbage collected soon. */
  readonly collect: () => unknown;
}

const SAMPLE_MS = 1_000;
/** From this share on the process is busy. */
const BUSY = 0.3;
/** So long below it, and the process is at rest. */
const REST_MS = 5_000;

/** The heap may grow to twice of what lives while the process is busy; by itself V8 lets it grow to four times. */
const HEAP_FLAGS = {
  busy: ['--no-optimize-for-size', '--heap-growing-percent=100'],
  rest: ['--optimize-for-size', '--heap-growing-percent=0'],
} as const;

/**
 * Collects garbage early while the process is at rest, and seldom while it is busy. Left alone, V8 lets the nursery and
 * the heap grow to a multiple of what lives and keeps them, which with a thousand objects is half of all resident
 * memory; collecting early costs half of the processor time of a burst. V8 asks for these flags at each collection, so
 * that they work after the start, and nobody has to start the process with options. What a burst left is collected once
 * at the beginning of a rest: by itself V8 would wait until as much again was used. Returns what ends it.
 */
export function balanceHeap({ clock, utilization, setFlag, collect }: HeapPolicyOptions): () => void {
  let mode: keyof typeof HEAP_FLAGS | undefined;
  let busyAt = clock.monotonic();
  let timer: Timer;
  const enter = (next: keyof typeof HEAP_FLAGS) => {
    if (mode === next) return;
    mode = next;
    for (const flag of HEAP_FLAGS[next]) setFlag(flag);
    if (next === 'rest') collect();
  };
  const sample = () => {
    const now = clock.monotonic();
    if (utilization() >= BUSY) {
      busyAt = now;
      enter('busy');
    } else if (now - busyAt >= REST_MS) enter('rest');
    timer = clock.setTimer(SAMPLE_MS, sample, { background: true });
  };
  sample();
  return () => timer.cancel();
}

/** Of this process. */
export function balanceOwnHeap(clock: Clock): () => void {
  let last = performance.eventLoopUtilization();
  setFlagsFromString('--expose-gc');
  const gc: NodeJS.GCFunction = runInNewContext('gc');
  return balanceHeap({
    clock,
    setFlag: setFlagsFromString,
    // In steps, beside other work.
    collect: () => gc({ type: 'major', execution: 'async' }),
    utilization() {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    },
  });
}
