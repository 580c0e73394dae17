import type { Clock, Timer } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import { type QueueMetrics, silentMetrics } from './metrics-ports.ts';

export interface RateLimitedOptions {
  readonly priority?: number | undefined;
  /** Earliest time whatever the backoff is: a server named it. */
  readonly atLeastMs?: number | undefined;
}

/** Seconds for which unfinished keys have been processed: `workqueue_unfinished_work_seconds` and its longest. */
export interface UnfinishedWork {
  readonly totalSeconds: number;
  readonly longestSeconds: number;
}

/**
 * A queue of keys with client-go's semantics: equal keys merge, a key is processed once at a time, and a key added
 * meanwhile is requeued afterwards. Higher priority comes first, by the value at the last add; keys of one priority
 * keep the order in which they got it. Every eighth turn takes the key that has waited longest, so that no key starves.
 */
export interface WorkQueue {
  /**
   * Adds the key with its own priority, or a higher one requested since it was last taken. Adding it again reorders it.
   */
  add(key: string, atLeast?: number): void;
  /** Adds the key after `delayMs`. Of several times for a key the earliest counts. */
  addAfter(key: string, delayMs: number, atLeast?: number): void;
  /**
   * Adds a key in processing after `delayMs`, with the priority requested before it was taken: it has not been handled
   * yet.
   */
  addAgain(key: string, delayMs: number): void;
  /**
   * Adds the key after its own backoff: 5 ms doubling to 1000 s with jitter, until {@link forget}. Returns the delay in
   * milliseconds.
   */
  addRateLimited(key: string, options?: RateLimitedOptions): number;
  /** Resets the key's backoff: its work succeeded or was given up. */
  forget(key: string): void;
  /** Returns how often the key was added with backoff since it was last forgotten. */
  retries(key: string): number;
  /** Resolves to the next key; to undefined after shut down. Return each key with {@link done}. */
  get(): Promise<string | undefined>;
  done(key: string): void;
  /** Returns the number of keys that are ready. */
  length(): number;
  unfinishedWork(): UnfinishedWork;
  /** Refuses new keys and drops waiting ones; `get` then resolves to undefined. Keys in processing may finish. */
  shutDown(): void;
  /** Resolves after shut down when no key is in processing. */
  drained(): Promise<void>;
}

export interface WorkQueueOptions {
  /** Name for metrics. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics?: QueueMetrics | undefined;
  /** Returns the priority of a key when it is queued, or added again. Default 0. */
  readonly priorityOf?: ((key: string) => number) | undefined;
  readonly baseDelayMs?: number | undefined;
  readonly maxDelayMs?: number | undefined;
}

const BASE_DELAY_MS = 5;
const MAX_DELAY_MS = 1_000_000;

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  return new KeyedQueue(options);
}

/** The lowest priority, so that the key's own counts. */
const ANY_PRIORITY = Number.NEGATIVE_INFINITY;

/** A key in processing: its start, and the minimum priority of its adds. */
interface Processing {
  readonly since: number;
  readonly asked: number;
}

type Taker = (key: string | undefined) => void;

class KeyedQueue implements WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #metrics: QueueMetrics;
  readonly #ready = new PriorityLanes();
  readonly #delayed: DelayedKeys;
  /** Keys added since they were last taken, with the requested priority. */
  readonly #dirty = new Map<string, number>();
  readonly #processing = new Map<string, Processing>();
  readonly #failures = new Map<string, number>();
  readonly #takers: Taker[] = [];
  readonly #drainWaiters: (() => void)[] = [];
  #shutDown = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? silentMetrics;
    this.#delayed = new DelayedKeys(options.clock, (key, atLeast) => this.add(key, atLeast));
  }

  add(key: string, atLeast = ANY_PRIORITY): void {
    if (this.#shutDown) return;
    const known = this.#dirty.get(key);
    if (known !== undefined) {
      this.#dirty.set(key, Math.max(atLeast, known));
      this.#move(key, Math.max(atLeast, known));
      return;
    }
    this.#metrics.added(this.#options.name);
    this.#dirty.set(key, atLeast);
    if (!this.#processing.has(key)) this.#enqueue(key, atLeast);
  }

  addAfter(key: string, delayMs: number, atLeast = ANY_PRIORITY): void {
    if (this.#shutDown) return;
    if (delayMs <= 0) this.add(key, atLeast);
    else this.#delayed.add(key, delayMs, atLeast);
  }

  addAgain(key: string, delayMs: number): void {
    this.addAfter(key, delayMs, this.#processing.get(key)?.asked);
  }

  addRateLimited(key: string, { priority, atLeastMs = 0 }: RateLimitedOptions = {}): number {
    const failed = this.retries(key);
    this.#failures.set(key, failed + 1);
    const delayMs = Math.max(atLeastMs, backoffMs(this.#options, failed));
    this.#metrics.retried(this.#options.name);
    this.addAfter(key, delayMs, priority);
    return delayMs;
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }

  retries(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  get(): Promise<string | undefined> {
    if (this.#shutDown) return Promise.resolve(undefined);
    const key = this.#take();
    return key === undefined ? new Promise((resolve) => this.#takers.push(resolve)) : Promise.resolve(key);
  }

  done(key: string): void {
    const processing = this.#processing.get(key);
    if (processing === undefined) return;
    this.#processing.delete(key);
    this.#metrics.worked(this.#options.name, this.#secondsSince(processing.since));
    const atLeast = this.#dirty.get(key);
    if (atLeast !== undefined) this.#enqueue(key, atLeast);
    this.#resolveDrained();
  }

  length(): number {
    return this.#ready.size();
  }

  unfinishedWork(): UnfinishedWork {
    const seconds = [...this.#processing.values()].map(({ since }) => this.#secondsSince(since));
    return {
      totalSeconds: seconds.reduce((sum, one) => sum + one, 0),
      longestSeconds: Math.max(0, ...seconds),
    };
  }

  shutDown(): void {
    this.#shutDown = true;
    this.#ready.clear();
    this.#dirty.clear();
    this.#delayed.clear();
    for (const resolve of this.#takers.splice(0)) resolve(undefined);
    this.#resolveDrained();
  }

  drained(): Promise<void> {
    const drained = new Promise<void>((resolve) => this.#drainWaiters.push(resolve));
    this.#resolveDrained();
    return drained;
  }

  #priorityOf(key: string, atLeast: number): number {
    return Math.max(this.#options.priorityOf?.(key) ?? 0, atLeast);
  }

  #enqueue(key: string, atLeast: number): void {
    const priority = this.#priorityOf(key, atLeast);
    this.#ready.push(key, priority, this.#options.clock.monotonic());
    this.#reportDepth(priority);
    this.#takers.shift()?.(this.#take());
  }

  #move(key: string, atLeast: number): void {
    const to = this.#priorityOf(key, atLeast);
    const from = this.#ready.move(key, to);
    if (from === undefined) return;
    this.#reportDepth(from);
    this.#reportDepth(to);
  }

  #take(): string | undefined {
    const next = this.#ready.take();
    if (!next) return undefined;
    const asked = this.#dirty.get(next.key) ?? ANY_PRIORITY;
    this.#dirty.delete(next.key);
    this.#processing.set(next.key, { since: this.#options.clock.monotonic(), asked });
    this.#reportDepth(next.priority);
    this.#metrics.waited(this.#options.name, this.#secondsSince(next.since));
    return next.key;
  }

  #resolveDrained(): void {
    if (!this.#shutDown || this.#processing.size > 0) return;
    for (const resolve of this.#drainWaiters.splice(0)) resolve();
  }

  #reportDepth(priority: number): void {
    this.#metrics.depth(this.#options.name, priority, this.#ready.depth(priority));
  }

  #secondsSince(monotonic: number): number {
    return (this.#options.clock.monotonic() - monotonic) / 1000;
  }
}

/**
 * Returns the backoff of a key: doubling from the base, with jitter of a fifth, so that keys that failed together do
 * not return together.
 */
function backoffMs(options: WorkQueueOptions, failed: number): number {
  const { random, baseDelayMs = BASE_DELAY_MS, maxDelayMs = MAX_DELAY_MS } = options;
  return Math.min(baseDelayMs * 2 ** Math.min(failed, 40) * (0.8 + 0.4 * random.next()), maxDelayMs);
}

/** A key in the queue. */
export interface WaitingKey {
  readonly key: string;
  readonly priority: number;
  /** Time of its arrival on the monotonic clock. */
  readonly since: number;
}

/** Period of the turns that take the longest waiting key, so that a flood of urgent keys starves no other. */
const FAIR_TAKE = 8;

type Lane = Map<string, WaitingKey>;

/** Distinct keys in the order in which they will be taken. */
export class PriorityLanes {
  readonly #lanes = new Map<number, Lane>();
  /** Keys in the order of their arrival, which another priority does not change. */
  readonly #waiting = new Map<string, WaitingKey>();
  #takes = 0;

  push(key: string, priority: number, now: number): void {
    this.#insert({ key, priority, since: now });
  }

  /** Sets the priority of a queued key, and returns the previous one; undefined if nothing changes. */
  move(key: string, priority: number): number | undefined {
    const waiting = this.#waiting.get(key);
    if (!waiting || waiting.priority === priority) return undefined;
    this.#lanes.get(waiting.priority)?.delete(key);
    this.#insert({ ...waiting, priority });
    return waiting.priority;
  }

  take(): WaitingKey | undefined {
    this.#takes++;
    const next = this.#takes % FAIR_TAKE === 0 ? this.#waiting.values().next().value : this.#mostUrgent();
    if (!next) return undefined;
    this.#lanes.get(next.priority)?.delete(next.key);
    this.#waiting.delete(next.key);
    return next;
  }

  clear(): void {
    this.#lanes.clear();
    this.#waiting.clear();
  }

  size(): number {
    return this.#waiting.size;
  }

  depth(priority: number): number {
    return this.#lanes.get(priority)?.size ?? 0;
  }

  #insert(waiting: WaitingKey): void {
    const lane: Lane = this.#lanes.get(waiting.priority) ?? new Map();
    this.#lanes.set(waiting.priority, lane.set(waiting.key, waiting));
    this.#waiting.set(waiting.key, waiting);
  }

  #mostUrgent(): WaitingKey | undefined {
    let best: WaitingKey | undefined;
    for (const lane of this.#lanes.values()) {
      const head = lane.values().next().value;
      if (head && (!best || head.priority > best.priority)) best = head;
    }
    return best;
  }
}

interface DelayedKey {
  readonly key: string;
  readonly at: number;
  readonly priority: number;
}

/** Maximum replaced entries in the heap, beyond the number of keys. */
const SLACK = 64;

/** Keys that become due later, each at most once, ordered by time. Uses one timer. */
export class DelayedKeys {
  readonly #clock: Clock;
  readonly #onDue: (key: string, priority: number) => void;
  readonly #byKey = new Map<string, DelayedKey>();
  readonly #heap = new MinHeap<DelayedKey>();
  #timer: Timer | undefined;

  constructor(clock: Clock, onDue: (key: string, priority: number) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Adds a key. Of several times for a key the earliest counts, and the highest priority. */
  add(key: string, delayMs: number, priority: number): void {
    const at = this.#clock.monotonic() + delayMs;
    const known = this.#byKey.get(key);
    if (known && known.at <= at && known.priority >= priority) return;
    const entry = {
      key,
      at: Math.min(at, known?.at ?? at),
      priority: Math.max(priority, known?.priority ?? priority),
    };
    this.#byKey.set(key, entry);
    this.#heap.push(entry);
    if (this.#heap.size() > SLACK + 2 * this.#byKey.size) {
      // Drops the replaced entries.
      this.#heap.clear();
      for (const each of this.#byKey.values()) this.#heap.push(each);
    }
    if (this.#heap.peek() === entry) this.#arm();
  }

  clear(): void {
    this.#byKey.clear();
    this.#heap.clear();
    this.#arm();
  }

  #arm(): void {
    this.#timer?.cancel();
    const head = this.#earliest();
    this.#timer = head && this.#clock.setTimer(head.at - this.#clock.monotonic(), () => this.#fire());
  }

  #fire(): void {
    for (let head = this.#earliest(); head && head.at <= this.#clock.monotonic(); head = this.#earliest()) {
      this.#heap.pop();
      this.#byKey.delete(head.key);
      this.#onDue(head.key, head.priority);
    }
    this.#arm();
  }

  /** Returns the earliest entry. Replaced entries stay in the heap and are skipped when they reach the top. */
  #earliest(): DelayedKey | undefined {
    for (let head = this.#heap.peek(); head; head = this.#heap.peek()) {
      if (this.#byKey.get(head.key) === head) return head;
      this.#heap.pop();
    }
    return undefined;
  }
}

interface Timed {
  readonly at: number;
}

/** Entries by `at`, the smallest first; O(log n) each way. */
export class MinHeap<T extends Timed> {
  readonly #entries: T[] = [];

  peek(): T | undefined {
    return this.#entries[0];
  }

  size(): number {
    return this.#entries.length;
  }

  clear(): void {
    this.#entries.length = 0;
  }

  push(entry: T): void {
    let at = this.#entries.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = this.#entries[parent];
      if (!above || above.at <= entry.at) break;
      this.#entries[at] = above;
      at = parent;
    }
    this.#entries[at] = entry;
  }

  pop(): T | undefined {
    const head = this.#entries[0];
    const last = this.#entries.pop();
    if (last && last !== head) this.#sink(last);
    return head;
  }

  /** Replaces the head by `entry` and moves it down to its position. */
  #sink(entry: T): void {
    let at = 0;
    for (let child = this.#smallerChild(at); child !== undefined; child = this.#smallerChild(at)) {
      const below = this.#entries[child];
      if (!below || below.at >= entry.at) break;
      this.#entries[at] = below;
      at = child;
    }
    this.#entries[at] = entry;
  }

  #smallerChild(at: number): number | undefined {
    const left = 2 * at + 1;
    const leftEntry = this.#entries[left];
    const rightEntry = this.#entries[left + 1];
    if (!leftEntry) return undefined;
    return rightEntry && rightEntry.at < leftEntry.at ? left + 1 : left;
  }
}
