import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { currentSubject } from '../lib/background.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { FaultKind, ProcessMetrics } from '../server/runtime-metrics.ts';

/** The events of a Node process that this policy is about. */
export interface ProcessEvents {
  on(event: FaultKind, listener: (error: unknown) => void): unknown;
  off(event: FaultKind, listener: (error: unknown) => void): unknown;
}

export interface ProcessPolicyOptions {
  readonly events: ProcessEvents;
  readonly log: Logger;
  readonly metrics: ProcessMetrics;
  readonly clock: Clock;
  /** Ends the process even if the orderly end does not come. */
  readonly exit: (code: number) => void;
  /** How long the orderly end may take, milliseconds. */
  readonly graceMs: number;
}

/** What is done about errors that nothing caught. */
export interface ProcessPolicy {
  /** Aborted by the first uncaught exception: finish what was begun, release the lease, exit with 1. */
  readonly ended: AbortSignal;
  /** Takes the policy off the process. */
  remove(): void;
}

/**
 * The policy for errors that nothing caught. A promise that rejected without a handler is an operation that was given
 * up as a whole: it is logged with the object that it was for, counted, and the process goes on. An exception out of a
 * callback may have left state half changed: it is logged and counted as well, and the process ends in order, so that
 * the lease is released and another replica goes on from what the cluster records.
 */
export function applyProcessPolicy(options: ProcessPolicyOptions): ProcessPolicy {
  const { events, log, metrics, clock, exit, graceMs } = options;
  const ending = new AbortController();
  const report = (kind: FaultKind, message: string, error: unknown) => {
    metrics.faulted(kind);
    log.error(message, { ...currentSubject(), error });
  };
  const rejected = (error: unknown) => report('unhandledRejection', 'Unhandled rejection', error);
  const thrown = (error: unknown) => {
    report('uncaughtException', 'Uncaught exception', error);
    if (ending.signal.aborted) return;
    clock.setTimer(graceMs, () => exit(1), { background: true });
    ending.abort(error);
  };
  events.on('unhandledRejection', rejected);
  events.on('uncaughtException', thrown);
  return {
    ended: ending.signal,
    remove() {
      events.off('unhandledRejection', rejected);
      events.off('uncaughtException', thrown);
    },
  };
}

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
