import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock, Timer } from '../lib/clock.ts';

/** Inputs and effects of the heap policy. */
export interface HeapPolicyOptions {
  readonly clock: Clock;
  /** Returns the share of the time since the last call in which the event loop was busy, 0 to 1. */
  readonly utilization: () => number;
  /** Sets a flag of V8. */
  readonly setFlag: (flag: string) => void;
  /** Requests a full garbage collection soon. */
  readonly collect: () => unknown;
}

const SAMPLE_MS = 1_000;
/** Share from which the process counts as busy. */
const BUSY = 0.3;
/** Time below that share after which the process counts as idle. */
const REST_MS = 5_000;

/** Flags of V8. A busy process may double its live heap between collections; by default V8 quadruples it. */
const HEAP_FLAGS = {
  busy: ['--no-optimize-for-size', '--heap-growing-percent=100'],
  rest: ['--optimize-for-size', '--heap-growing-percent=0'],
} as const;

/**
 * Collects garbage early while the process is idle, and seldom while it is busy. By default V8 lets the nursery and
 * the heap grow to a multiple of their live size and keeps them: with a thousand objects that is half of all resident
 * memory. Early collection costs half of the processor time of a burst. V8 reads these flags at each collection, so
 * no start options are needed. One collection at the beginning of an idle period frees the garbage of a burst: V8
 * itself would wait until the process had used as much again. Returns a function that ends the policy.
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

/** Applies the policy to this process. */
export function balanceOwnHeap(clock: Clock): () => void {
  let last = performance.eventLoopUtilization();
  setFlagsFromString('--expose-gc');
  const gc: NodeJS.GCFunction = runInNewContext('gc');
  return balanceHeap({
    clock,
    setFlag: setFlagsFromString,
    // Incremental, concurrent with other work.
    collect: () => gc({ type: 'major', execution: 'async' }),
    utilization() {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    },
  });
}
