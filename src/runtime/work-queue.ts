import type { Clock } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import type { QueueMetrics } from './metrics-ports.ts';

/** Seconds that keys have been worked on without an end: `workqueue_unfinished_work_seconds` and its longest. */
export interface UnfinishedWork {
  readonly totalSeconds: number;
  readonly longestSeconds: number;
}

/**
 * A queue of keys with client-go's semantics: equal keys merge, a key is worked on once at a time, and a key added
 * while it is worked on comes back when that ends. Higher priority first; keys of one priority in the order in
 * which they came, and every eighth turn goes to the key that has waited longest, so that nothing starves.
 */
export interface WorkQueue {
  /** Default priority 0. Adding again with a higher priority raises it. */
  add(key: string, priority?: number): void;
  /** Adds after `delayMs`. Of several times for a key the earliest wins. */
  addAfter(key: string, delayMs: number, priority?: number): void;
  /** Adds after this key's own backoff: 5 ms doubling to 1000 s with jitter, until {@link forget}. Returns the delay in milliseconds. */
  addRateLimited(key: string, priority?: number): number;
  /** Ends the key's backoff: its work succeeded or was given up. */
  forget(key: string): void;
  /** How often the key was added rate limited since it was last forgotten. */
  retries(key: string): number;
  /** The next key, once there is one; undefined after shut down. Each key got must be given back with {@link done}. */
  get(): Promise<string | undefined>;
  done(key: string): void;
  /** Keys ready to be got. */
  length(): number;
  unfinishedWork(): UnfinishedWork;
  /** Refuses new keys and drops waiting ones; `get` gives undefined from now on. Keys being worked on end in peace. */
  shutDown(): void;
  /** Resolves when shut down and no key is being worked on. */
  drained(): Promise<void>;
}

export interface WorkQueueOptions {
  /** For metrics. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics?: QueueMetrics | undefined;
  readonly baseDelayMs?: number | undefined;
  readonly maxDelayMs?: number | undefined;
}
