import { inBackground } from '../lib/background.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import { MarketplaceError } from './errors.ts';
import { type CompleteList, type FeedEvent, type FeedHealth, FeedState } from './feed-state.ts';
import type { MarketplaceId } from './ids.ts';
import type { MachineRow } from './machine.ts';
import type { Market } from './market.ts';

/**
 * A list per login and poll, shared by all watchers of the login's machines. Only complete lists count: all pages,
 * with the number of machines that the service reports.
 */
export interface Feed {
  /** Starts polling at once. A second call has no effect. */
  start(): void;
  /** Stops polling and leaves no timer. A list in flight is aborted. */
  stop(): void;
  latest(): CompleteList | undefined;
  /**
   * Returns the start times (clock.now) of the complete lists since `id` went missing, oldest first; [] if it is in the
   * latest list, or if there is none yet. Only 256 lists are remembered.
   */
  absences(id: MarketplaceId): readonly number[];
  /**
   * Returns the start times of the first complete list and of the remembered ones, of those that began at or after `time`,
   * oldest first.
   */
  listsBegunSince(time: number): readonly number[];
  /**
   * Starts a new list as soon as pacing allows; with `soon` also at least {@link MIN_LIST_GAP_MS} after the previous
   * one.
   */
  pollNow(urgency?: ListUrgency): void;
  /** Reads a single machine that is new or leaving. Concurrent callers share a request. */
  get(id: MarketplaceId): Promise<MachineRow | null>;
  /** Calls the listener for every event until the returned function is called. */
  subscribe(listener: (event: FeedEvent) => void): () => void;
  health(): FeedHealth;
}

/** Dependencies of a feed. */
export interface FeedOptions {
  /** Returns the market at each poll, so that a changed key is used from the next poll on. */
  readonly market: () => Pick<Market, 'machines' | 'machine' | 'unsettled'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Returns the milliseconds between the starts of two polls; called at each poll. */
  readonly pollIntervalMs: () => number;
}

const MAX_BACKOFF_MS = 60_000;

/** `atOnce` is for the one list of an account for which many objects wait. */
export type ListUrgency = 'soon' | 'atOnce';

/** A thousand machines that are destroyed together each request a list: one per second serves all of them. */
const MIN_LIST_GAP_MS = 1_000;

/** Creates the feed of one login. It sends no request before {@link Feed.start}. */
export function createFeed(options: FeedOptions): Feed {
  return new PollingFeed(options);
}

class PollingFeed implements Feed {
  readonly #options: FeedOptions;
  readonly #state: FeedState;
  readonly #listeners = new Set<(event: FeedEvent) => void>();
  readonly #reads = new Map<MarketplaceId, Promise<MachineRow | null>>();
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;
  #started = false;
  #listing = false;
  /** Time on `clock.monotonic()`. */
  #begunAt = Number.NEGATIVE_INFINITY;
  #dueAt = Number.POSITIVE_INFINITY;
  #glancing = false;
  /** Request that arrived during a list. */
  #requested: ListUrgency | undefined;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#state = new FeedState((event) => this.#emit(event));
  }

  start(): void {
    if (this.#started || this.#stopping.signal.aborted) return;
    this.#started = true;
    this.#poll();
  }

  stop(): void {
    this.#stopping.abort(new Error('the feed was stopped'));
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#listeners.clear();
    this.#state.stopped();
  }

  latest(): CompleteList | undefined {
    return this.#state.latest;
  }

  absences(id: MarketplaceId): readonly number[] {
    return this.#state.history.absences(id);
  }

  listsBegunSince(time: number): readonly number[] {
    return this.#state.history.begunSince(time);
  }

  pollNow(urgency: ListUrgency = 'soon'): void {
    if (!this.#started) return;
    if (!this.#listing) this.#pollSoon(urgency);
    else if (this.#requested !== 'atOnce') this.#requested = urgency;
  }

  get(id: MarketplaceId): Promise<MachineRow | null> {
    const shared = this.#reads.get(id);
    if (shared) return shared;
    const read = this.#options
      .market()
      .machine(id, { signal: this.#stopping.signal })
      .finally(() => this.#reads.delete(id));
    this.#reads.set(id, read);
    return read;
  }

  subscribe(listener: (event: FeedEvent) => void): () => void {
    // A new function each time, so that one listener added twice is two subscriptions.
    const subscription = (event: FeedEvent) => listener(event);
    this.#listeners.add(subscription);
    return () => this.#listeners.delete(subscription);
  }

  health(): FeedHealth {
    return this.#state.health;
  }

  /**
   * Polls once. During a long paged list it reads only the unsettled machines, so that a booting machine is seen before
   * the last page.
   */
  #poll(): void {
    if (this.#stopping.signal.aborted) return;
    this.#wait(this.#options.pollIntervalMs());
    if (!this.#listing) this.#start('list of machines', () => this.#list());
    else if (!this.#glancing) this.#start('look at unsettled machines', () => this.#pollUnsettled());
  }

  #pollSoon(urgency: ListUrgency): void {
    if (this.#stopping.signal.aborted) return;
    const now = this.#options.clock.monotonic();
    const left = urgency === 'atOnce' ? 0 : this.#begunAt + MIN_LIST_GAP_MS - now;
    if (left <= 0) this.#poll();
    else if (now + left < this.#dueAt) this.#wait(left);
  }

  /** Starts a task whose error costs one poll: the next one is already scheduled. */
  #start(task: string, work: () => Promise<void>): void {
    inBackground({ task }, work, (error) => this.#options.log.error('Poll failed', { task, error }));
  }

  #wait(ms: number): void {
    this.#timer?.cancel();
    this.#dueAt = this.#options.clock.monotonic() + ms;
    this.#timer = this.#options.clock.setTimer(ms, () => this.#poll());
  }

  async #list(): Promise<void> {
    this.#listing = true;
    this.#requested = undefined;
    this.#begunAt = this.#options.clock.monotonic();
    const begunAt = this.#options.clock.now();
    try {
      const seen = (await this.#options.market().machines({ signal: this.#stopping.signal })).machines;
      if (!this.#stopping.signal.aborted) this.#state.complete(seen, begunAt, this.#options.clock.now());
    } catch (error) {
      this.#failed(error, begunAt);
    } finally {
      this.#listing = false;
    }
    if (this.#requested) this.#pollSoon(this.#requested);
  }

  async #pollUnsettled(): Promise<void> {
    const latest = this.#state.latest;
    if (!latest) return;
    const { signal } = this.#stopping;
    const seenAt = this.#options.clock.now();
    const reading = this.#options.market().unsettled?.(latest.rows, { signal });
    if (!reading) return;
    this.#glancing = true;
    try {
      const seen = await reading;
      if (!this.#stopping.signal.aborted) this.#state.patch(seen, seenAt);
    } catch (error) {
      this.#options.log.debug('a look between two lists failed', { error });
    } finally {
      this.#glancing = false;
    }
  }

  #failed(error: unknown, begunAt: number): void {
    if (this.#stopping.signal.aborted) return;
    const failure = error instanceof MarketplaceError ? error : unexpected(error);
    this.#state.failed(failure, begunAt);
    this.#wait(this.#backoffMs());
  }

  /**
   * Returns the milliseconds until the next poll: the interval after a first failure, then doubled up to a minute, with
   * up to a quarter of jitter.
   */
  #backoffMs(): number {
    const interval = this.#options.pollIntervalMs();
    const doubled = interval * 2 ** Math.min(16, this.#state.health.consecutiveFailures - 1);
    const bounded = Math.min(Math.max(MAX_BACKOFF_MS, interval), doubled);
    return bounded * (1 - this.#options.random.next() / 4);
  }

  /** Calls every listener, even if one of them throws. */
  #emit(event: FeedEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#options.log.error('a listener of the feed failed', { event: event.type, error });
      }
    }
  }
}

function unexpected(cause: unknown): MarketplaceError {
  return new MarketplaceError('list instances: failed in an unexpected way', {
    kind: 'malformedReply',
    outcome: 'refused',
    cause,
  });
}
