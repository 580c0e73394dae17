import { inBackground, onBehalfOf } from '../lib/background.ts';
import { type Clock, sleep } from '../lib/clock.ts';
import { DeadlineError } from '../lib/deadline.ts';
import { TimeSlice } from '../lib/event-loop.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import { isKubeError } from './kube/kube-error.ts';
import { refOfKey } from './kube/kube-object.ts';
import {
  type ControllerMetrics,
  type QueueMetrics,
  type ReconcileOutcome,
  silentMetrics,
} from './metrics-ports.ts';
import { createWorkQueue, type WorkQueue, type WorkQueueOptions } from './work-queue.ts';

/** End of a reconcile; a thrown error is the fourth one. */
export type Result =
  | { readonly type: 'done' }
  | { readonly type: 'requeueAfter'; readonly ms: number }
  /** Another writer was faster, or the known state is outdated: the reconcile had no effect. */
  | { readonly type: 'conflict'; readonly ms: number };

/** No reconcile is needed until a change. */
export const done: Result = { type: 'done' };

/** Returns the result that requeues within that time. */
export function requeueAfter(ms: number): Result {
  return { type: 'requeueAfter', ms };
}

/** Delay after which the cache usually shows the other writer's change. */
const CONFLICT_RETRY_MS = 20;

/**
 * Returns the result that requeues soon, with the object from the API server. It needs no backoff: each conflict is
 * progress of another writer.
 */
export function conflict(ms = CONFLICT_RETRY_MS): Result {
  return { type: 'conflict', ms };
}

export interface ReconcileContext {
  /** Aborted when the reconcile exceeds its limit, or when draining takes too long. */
  readonly signal: AbortSignal;
  /** Logger with controller, namespace, name and reconcileID. */
  readonly log: Logger;
  /** Number of consecutive failed reconciles of this key before this one. */
  readonly retries: number;
  /** Waits for a long external operation without occupying one of `workers`. The key stays with this reconcile. */
  aside<T>(wait: () => Promise<T>): Promise<T>;
}

/**
 * Brings one object closer to its desired state, from the observed state and not from the event. A thrown error
 * requeues the key with backoff, and not before its `retryAfterMs` if it has one.
 */
export type Reconcile = (key: string, context: ReconcileContext) => Promise<Result>;

export interface ControllerOptions {
  readonly name: string;
  readonly reconcile: Reconcile;
  /** Maximum concurrent reconciles, without those in {@link ReconcileContext.aside}. Default 1. */
  readonly workers?: number | undefined;
  /** Priority of a key, as in {@link WorkQueueOptions.priorityOf}. */
  readonly priorityOf?: WorkQueueOptions['priorityOf'];
  /** Limit after which the signal of a reconcile is aborted. Default none. */
  readonly timeoutMs?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics?: (ControllerMetrics & QueueMetrics) | undefined;
}

/** Workers that process a queue. Keys may be added before {@link start} and wait. */
export interface Controller {
  readonly name: string;
  readonly queue: WorkQueue;
  start(): void;
  /**
   * Processes no more keys. Resolves when the running reconciles have ended, or when `drainMs` is over: then it has
   * aborted them and no longer waits.
   */
  stop(drainMs?: number): Promise<void>;
}

const DRAIN_MS = 30_000;

export function createController(options: ControllerOptions): Controller {
  const { name, clock, random, workers = 1, metrics = silentMetrics, priorityOf } = options;
  const queue = createWorkQueue({ name, clock, random, metrics, priorityOf });
  const ending = new AbortController();
  let started = false;
  let stopped = false;

  const aside: ReconcileContext['aside'] = (wait) => pool.aside(wait);
  const pool = new WorkerPool({
    size: workers,
    take: takeYielding(queue, clock),
    pass: createPass({ ...options, queue, metrics, aside, ending: ending.signal, isStopped: () => stopped }),
    onBusy: (count) => metrics.activeWorkers(name, count),
    onError: (error) => options.log.error('Controller worker failed', { controller: name, error }),
  });
  return {
    name,
    queue,
    start() {
      if (started) return;
      started = true;
      metrics.maxConcurrentReconciles(name, workers);
      pool.start();
    },
    async stop(drainMs = DRAIN_MS) {
      stopped = true;
      queue.shutDown();
      const patience = new AbortController();
      const tooLate = sleep(clock, drainMs, patience.signal).then(
        () => ending.abort(new DeadlineError(`The pass did not end within ${drainMs} ms of the stop`)),
        () => {},
      );
      await Promise.race([queue.drained(), tooLate]);
      patience.abort();
    },
  };
}

/** Takes the next key, and yields to the event loop when a slice is used up. */
function takeYielding(queue: WorkQueue, clock: Clock): () => Promise<string | undefined> {
  const slice = new TimeSlice(clock);
  return async () => {
    if (queue.length() > 0) await slice.next();
    const mustWait = queue.length() === 0;
    const key = await queue.get();
    if (mustWait) slice.begin();
    return key;
  };
}

interface PassOptions extends Omit<ControllerOptions, 'metrics'> {
  readonly queue: WorkQueue;
  readonly metrics: ControllerMetrics;
  readonly aside: ReconcileContext['aside'];
  readonly ending: AbortSignal;
  readonly isStopped: () => boolean;
}

/** Creates the function that reconciles one key and then requeues it by the result. It never rejects. */
function createPass(options: PassOptions): (key: string) => Promise<void> {
  const { name, queue, clock, metrics } = options;
  return async (key) => {
    const log = options.log.child({ controller: name, ...refOfKey(key), reconcileID: options.random.uuid() });
    const begun = clock.monotonic();
    const subject = { task: `reconcile ${name}`, object: key };
    const ended = await onBehalfOf(subject, () => reconcileOnce(options, key, log));
    const outcome = settle(queue, key, ended);
    if (ended.type === 'failed') {
      const { error } = ended;
      const retries = queue.retries(key);
      // A conflict on a resource version is part of the protocol, not a fault.
      if (isKubeError(error, 'conflict')) log.debug('Reconcile lost a race', { retries });
      // The stop closed its request. Nothing failed, and the next leader repeats it.
      else if (options.isStopped()) log.debug('Reconcile was ended by the stop', { error });
      else log.error('Reconcile failed', { error, retries });
    }
    queue.done(key);
    metrics.reconciled(name, outcome, (clock.monotonic() - begun) / 1000);
  };
}

type Ended = Result | { readonly type: 'failed'; readonly error: unknown };

async function reconcileOnce(options: PassOptions, key: string, log: Logger): Promise<Ended> {
  const { name, queue, clock, timeoutMs, metrics, aside, ending } = options;
  const scope = new AbortController();
  const onEnding = () => scope.abort(ending.reason);
  ending.addEventListener('abort', onEnding, { once: true });
  const limit =
    timeoutMs === undefined
      ? undefined
      : clock.setTimer(timeoutMs, () => {
          metrics.timedOut(name);
          scope.abort(new DeadlineError(`The reconcile takes longer than ${timeoutMs} ms`));
        });
  try {
    return await options.reconcile(key, { signal: scope.signal, log, retries: queue.retries(key), aside });
  } catch (error) {
    return { type: 'failed', error };
  } finally {
    limit?.cancel();
    ending.removeEventListener('abort', onEnding);
  }
}

/** Requeues a key according to the result of its reconcile. It runs before `done`, so that no worker takes the key in between. */
function settle(queue: WorkQueue, key: string, ended: Ended): ReconcileOutcome {
  switch (ended.type) {
    case 'done':
      queue.forget(key);
      return 'success';
    case 'requeueAfter':
      queue.forget(key);
      queue.addAfter(key, ended.ms);
      return 'requeue_after';
    case 'conflict':
      queue.forget(key);
      queue.addAgain(key, ended.ms);
      return 'requeue_after';
    case 'failed': {
      // A server that names a retry time gets no earlier request.
      const { error } = ended;
      const hasRest = typeof error === 'object' && error !== null && 'retryAfterMs' in error;
      const restMs = hasRest ? error.retryAfterMs : undefined;
      queue.addRateLimited(key, { atLeastMs: typeof restMs === 'number' ? restMs : 0 });
      return 'error';
    }
  }
}

/** Options of a pool of workers. */
export interface WorkerPoolOptions {
  /** Maximum concurrent reconciles; one that waits in {@link WorkerPool.aside} does not count. */
  readonly size: number;
  /** Resolves to the next key; to undefined when no more will come. */
  readonly take: () => Promise<string | undefined>;
  /** Processes a key. Never rejects. */
  readonly pass: (key: string) => Promise<void>;
  /** Called at each change with the number of running reconciles. */
  readonly onBusy: (count: number) => void;
  /** Called with an error of `take`, or of a `pass` that rejected against its contract. The pool continues. */
  readonly onError: (error: unknown) => void;
}

/**
 * Runs at most `size` reconciles at a time. A reconcile that waits long for an external operation releases its slot by
 * {@link WorkerPool.aside}: another key is taken meanwhile, and the reconcile gets a slot back before the next key is
 * taken.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  /** Number of workers that run a reconcile or wait for a key, without those whose reconcile released its slot. */
  #workers = 0;
  #busy = 0;
  #ended = false;
  readonly #returning: (() => void)[] = [];

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
  }

  /** Starts the workers. Call it once. */
  start(): void {
    while (this.#workers < this.#options.size) this.#spawn();
  }

  /**
   * Runs `wait` for a reconcile without occupying its slot. Resolves or rejects like `wait`, when a slot is free again.
   */
  async aside<T>(wait: () => Promise<T>): Promise<T> {
    this.#workers--;
    this.#countBusy(-1);
    this.#fillSlot();
    try {
      return await wait();
    } finally {
      await this.#acquireSlot();
    }
  }

  #spawn(): void {
    this.#workers++;
    inBackground(
      { task: 'controller worker' },
      () => this.#work(),
      (error) => {
        this.#workers--;
        this.#options.onError(error);
      },
    );
  }

  async #work(): Promise<void> {
    do {
      const key = await this.#options.take();
      if (key === undefined) {
        this.#ended = true;
        break;
      }
      await this.#acquireSlotForKey();
      this.#fillSlot();
      await this.#options.pass(key).catch(this.#options.onError);
      this.#countBusy(-1);
    } while (!this.#isSurplus());
    this.#workers--;
    this.#fillSlot();
  }

  /** Waits for a slot: while the worker waited for a key, resumed reconciles may have taken all of them. */
  async #acquireSlotForKey(): Promise<void> {
    this.#workers--;
    await this.#acquireSlot();
  }

  /** Returns true if another reconcile has taken the slot of the one that ended, or waits to resume in it. */
  #isSurplus(): boolean {
    return this.#returning.length > 0 || this.#workers > this.#options.size;
  }

  /** Gives a free slot to a reconcile that waits to resume, else to a new worker unless one already waits for a key. */
  #fillSlot(): void {
    if (this.#busy >= this.#options.size) return;
    const next = this.#returning.shift();
    if (next) next();
    else if (!this.#ended && this.#workers < this.#options.size && this.#workers === this.#busy)
      this.#spawn();
  }

  #acquireSlot(): Promise<void> {
    if (this.#busy < this.#options.size) {
      this.#occupySlot();
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#returning.push(() => {
        this.#occupySlot();
        resolve();
      });
    });
  }

  #occupySlot(): void {
    this.#workers++;
    this.#countBusy(1);
  }

  #countBusy(change: number): void {
    this.#busy += change;
    this.#options.onBusy(this.#busy);
  }
}
