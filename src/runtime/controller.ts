import { inBackground, onBehalfOf } from '../lib/background.ts';
import { type Clock, sleep } from '../lib/clock.ts';
import { DeadlineError } from '../lib/deadline.ts';
import { Turns } from '../lib/event-loop.ts';
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
import { createWorkQueue, type WorkQueue } from './work-queue.ts';

/** How a pass ended. */
export type Result = { readonly type: 'done' } | { readonly type: 'requeueAfter'; readonly ms: number };

/** Nothing more to do until something changes. */
export const done: Result = { type: 'done' };

/** Look again after that time at the latest. */
export function requeueAfter(ms: number): Result {
  return { type: 'requeueAfter', ms };
}

/** An error that no retry mends: the pass ends and the key waits for the next change. */
export class TerminalError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TerminalError';
  }
}

export interface ReconcileContext {
  /** Aborted when the pass outlives its limit, or when draining took too long. */
  readonly signal: AbortSignal;
  /** Carries controller, namespace, name and reconcileID. */
  readonly log: Logger;
  /** How many passes of this key failed in a row before this one. */
  readonly retries: number;
  /**
   * Waits for something outside that may take long, without counting as one of `workers` meanwhile. The key stays
   * this pass's own.
   */
  aside<T>(wait: () => Promise<T>): Promise<T>;
}

/**
 * Brings one object nearer to what is wanted, from the state now and not from what changed. A thrown error brings
 * the key back with backoff (not before its `retryAfterMs`, where it has one); a {@link TerminalError} does not.
 */
export type Reconcile = (key: string, context: ReconcileContext) => Promise<Result>;

export interface ControllerOptions {
  readonly name: string;
  readonly reconcile: Reconcile;
  /** Keys worked on at the same time; what stands aside is not counted. Default 1. */
  readonly workers?: number | undefined;
  /** A pass that lasts longer is told to end by its signal. Default none. */
  readonly timeoutMs?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics?: (ControllerMetrics & QueueMetrics) | undefined;
}

/** Workers over a queue. Keys may be added before {@link start} and wait. */
export interface Controller {
  readonly name: string;
  readonly queue: WorkQueue;
  start(): void;
  /** Takes no further key; resolves when the passes under way have ended, or after `drainMs` has aborted and left them. */
  stop(drainMs?: number): Promise<void>;
}

const DRAIN_MS = 30_000;

export function createController(options: ControllerOptions): Controller {
  const { name, clock, random, workers = 1, metrics = silentMetrics } = options;
  const queue = createWorkQueue({ name, clock, random, metrics });
  const ending = new AbortController();
  let started = false;

  const aside: ReconcileContext['aside'] = (wait) => crew.aside(wait);
  const crew = new Crew({
    size: workers,
    take: takingTurns(queue, clock),
    pass: createPass({ ...options, queue, metrics, aside, ending: ending.signal }),
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
      crew.start();
    },
    async stop(drainMs = DRAIN_MS) {
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

/** The next key, with a turn for the rest of the process in between. */
function takingTurns(queue: WorkQueue, clock: Clock): () => Promise<string | undefined> {
  const turns = new Turns(clock);
  return async () => {
    if (queue.length() > 0) await turns.next();
    const mustWait = queue.length() === 0;
    const key = await queue.get();
    if (mustWait) turns.begin();
    return key;
  };
}

interface PassOptions extends Omit<ControllerOptions, 'metrics'> {
  readonly queue: WorkQueue;
  readonly metrics: ControllerMetrics;
  readonly aside: ReconcileContext['aside'];
  readonly ending: AbortSignal;
}

/** One key's turn: reconcile, then what its end asks of the queue. Never rejects. */
function createPass(options: PassOptions): (key: string) => Promise<void> {
  const { name, queue, clock, metrics } = options;
  return async (key) => {
    const log = options.log.child({ controller: name, ...refOfKey(key), reconcileID: options.random.uuid() });
    const begun = clock.monotonic();
    const subject = { task: `reconcile ${name}`, object: key };
    const ended = await onBehalfOf(subject, () => reconcileOnce(options, key, log));
    const outcome = settle(queue, key, ended);
    if (ended.type === 'failed') logFailure(log, ended.error, queue.retries(key));
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
          scope.abort(new DeadlineError(`The pass takes longer than ${timeoutMs} ms`));
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

/** What the end of a pass asks of the queue. Runs before `done`, so that the key is not taken up in between. */
function settle(queue: WorkQueue, key: string, ended: Ended): ReconcileOutcome {
  switch (ended.type) {
    case 'done':
      queue.forget(key);
      return 'success';
    case 'requeueAfter':
      queue.forget(key);
      queue.addAfter(key, ended.ms);
      return 'requeue_after';
    case 'failed':
      if (ended.error instanceof TerminalError) {
        queue.forget(key);
        return 'terminal_error';
      }
      retryLater(queue, key, ended.error);
      return 'error';
  }
}

/** A lost race for a resource version is how the protocol works, not a fault. */
function logFailure(log: Logger, error: unknown, retries: number): void {
  if (isKubeError(error, 'conflict')) log.debug('Reconcile lost a race', { retries });
  else log.error('Reconcile failed', { error, retries });
}

/** A server that names a time to come back is not asked earlier. */
function retryLater(queue: WorkQueue, key: string, error: unknown): void {
  const retryAfterMs =
    typeof error === 'object' && error !== null && 'retryAfterMs' in error ? error.retryAfterMs : undefined;
  queue.addRateLimited(key, { atLeastMs: typeof retryAfterMs === 'number' ? retryAfterMs : 0 });
}

/** Who takes keys and works on them. */
export interface CrewOptions {
  /** Keys worked on at the same time; those whose pass stands aside do not count. */
  readonly size: number;
  /** The next key, once there is one; undefined when there will be none any more. */
  readonly take: () => Promise<string | undefined>;
  /** Works on a key. Never rejects. */
  readonly pass: (key: string) => Promise<void>;
  /** Told how many keys are worked on, at each change. */
  readonly onBusy: (count: number) => void;
  /** Told of an error that is no end of a pass: of `take`, or of a `pass` that rejected after all. The crew goes on. */
  readonly onError: (error: unknown) => void;
}

/**
 * Works on so many keys at a time. A pass that waits long for something outside may stand aside: another key is taken
 * in its place, and it goes on before the next key is taken. What many wait for then holds up nobody else.
 */
export class Crew {
  readonly #options: CrewOptions;
  /** Those at work and those that wait for a key; not those that stand aside. */
  #hands = 0;
  #busy = 0;
  #ended = false;
  readonly #returning: (() => void)[] = [];

  constructor(options: CrewOptions) {
    this.#options = options;
  }

  /** Begins to take keys; to be called once. */
  start(): void {
    while (this.#hands < this.#options.size) this.#hire();
  }

  /** Waits for `wait` on behalf of a pass without holding its place. Resolves or rejects as it does, once there is a place again. */
  async aside<T>(wait: () => Promise<T>): Promise<T> {
    this.#hands--;
    this.#atWork(-1);
    this.#fillPlace();
    try {
      return await wait();
    } finally {
      await this.#place();
    }
  }

  #hire(): void {
    this.#hands++;
    inBackground(
      { task: 'controller worker' },
      () => this.#work(),
      (error) => {
        this.#hands--;
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
      await this.#placeForKey();
      this.#fillPlace();
      await this.#options.pass(key).catch(this.#options.onError);
      this.#atWork(-1);
    } while (!this.#isOneTooMany());
    this.#hands--;
    this.#fillPlace();
  }

  /** Who waited for a key may find that passes which came back meanwhile have all places. */
  async #placeForKey(): Promise<void> {
    this.#hands--;
    await this.#place();
  }

  /** Whether somebody else has, or waits for, the place of a pass that ended. */
  #isOneTooMany(): boolean {
    return this.#returning.length > 0 || this.#hands > this.#options.size;
  }

  /** A place is free: for a pass that waits to go on, else for a key where nobody is there to take one. */
  #fillPlace(): void {
    if (this.#busy >= this.#options.size) return;
    const next = this.#returning.shift();
    if (next) next();
    else if (!this.#ended && this.#hands < this.#options.size && this.#hands === this.#busy) this.#hire();
  }

  #place(): Promise<void> {
    if (this.#busy < this.#options.size) {
      this.#comeBack();
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#returning.push(() => {
        this.#comeBack();
        resolve();
      });
    });
  }

  #comeBack(): void {
    this.#hands++;
    this.#atWork(1);
  }

  #atWork(change: number): void {
    this.#busy += change;
    this.#options.onBusy(this.#busy);
  }
}
