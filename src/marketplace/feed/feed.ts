import { inBackground } from '../../lib/background.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Random } from '../../lib/random.ts';
import { MarketplaceError, type MarketplaceErrorKind } from '../errors/errors.ts';
import type { MarketplaceId } from '../ids.ts';
import type { Instance } from '../instances/instance.ts';
import { type InstancesResource, listPages } from '../instances/instances.ts';
import { type CompleteList, type FeedEvent, type FeedHealth, FeedState } from './feed-state.ts';

/**
 * One list per login and poll, shared by everyone who watches machines of that login. Only complete lists
 * count: all pages, with the count that the service names.
 */
export interface Feed {
  /** Begins to poll, at once. A second call does nothing. */
  start(): void;
  /** Ends polling and leaves no timer. A list in flight is given up. */
  stop(): void;
  latest(): CompleteList | undefined;
  /**
   * Begin times (clock.now) of the complete lists since which `id` is missing, oldest first: [] if it is
   * in the latest, or where there is none yet. Only recent lists are remembered (256).
   */
  absences(id: MarketplaceId): readonly number[];
  /** Begin times of the remembered complete lists that began at or after `time`, oldest first. */
  listsBegunSince(time: number): readonly number[];
  /** A list begun after this call, as soon as pacing allows and {@link MIN_LIST_GAP_MS} after the one before. */
  pollNow(): void;
  /** One instance by itself: for a machine that is new or leaving. Callers at the same time share a request. */
  get(id: MarketplaceId): Promise<Instance | null>;
  /** Calls the listener for every event until the returned function is called. */
  subscribe(listener: (event: FeedEvent) => void): () => void;
  health(): FeedHealth;
}

/** What a feed is made of. */
export interface FeedOptions {
  /** Asked at every look, so that a changed key is used from the next one on. */
  readonly instances: () => InstancesResource;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Milliseconds between the beginnings of two looks; asked each time. */
  readonly pollIntervalMs: () => number;
}

const MAX_BACKOFF_MS = 60_000;

/** A thousand machines that are destroyed at once ask for a list each: one a second answers all of them. */
const MIN_LIST_GAP_MS = 1_000;

/** What a service answers that serves a form of the list no more, or never did. */
const NOT_SERVED: Readonly<Record<FeedHealth['form'], ReadonlySet<MarketplaceErrorKind>>> = {
  whole: new Set<MarketplaceErrorKind>(['gone']),
  paged: new Set<MarketplaceErrorKind>(['gone', 'notFound']),
};

/** Builds the feed of one login. Nothing is asked before {@link Feed.start}. */
export function createFeed(options: FeedOptions): Feed {
  return new PollingFeed(options);
}

class PollingFeed implements Feed {
  readonly #options: FeedOptions;
  readonly #state: FeedState;
  readonly #listeners = new Set<(event: FeedEvent) => void>();
  readonly #reads = new Map<MarketplaceId, Promise<Instance | null>>();
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;
  #started = false;
  #listing = false;
  /** On `clock.monotonic()`. */
  #begunAt = Number.NEGATIVE_INFINITY;
  #dueAt = Number.POSITIVE_INFINITY;
  #glancing = false;
  /** Someone asked for a look while one was under way. */
  #requested = false;

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

  pollNow(): void {
    if (!this.#started) return;
    if (this.#listing) this.#requested = true;
    else this.#pollSoon();
  }

  get(id: MarketplaceId): Promise<Instance | null> {
    const shared = this.#reads.get(id);
    if (shared) return shared;
    const read = this.#options
      .instances()
      .get(id, { signal: this.#stopping.signal })
      .finally(() => this.#reads.delete(id));
    this.#reads.set(id, read);
    return read;
  }

  subscribe(listener: (event: FeedEvent) => void): () => void {
    // Its own function, so that one listener given twice is two subscriptions.
    const subscription = (event: FeedEvent) => listener(event);
    this.#listeners.add(subscription);
    return () => this.#listeners.delete(subscription);
  }

  health(): FeedHealth {
    return this.#state.health;
  }

  /**
   * One tick. While a long list is still being read page by page, the tick looks at the unsettled machines
   * alone, so that nobody waits for the last page to learn that a machine boots.
   */
  #poll(): void {
    if (this.#stopping.signal.aborted) return;
    this.#wait(this.#options.pollIntervalMs());
    if (!this.#listing) this.#start('list of instances', () => this.#list());
    else if (!this.#glancing && this.#state.health.form === 'paged')
      this.#start('look at unsettled instances', () => this.#pollUnsettled());
  }

  #pollSoon(): void {
    if (this.#stopping.signal.aborted) return;
    const now = this.#options.clock.monotonic();
    const left = this.#begunAt + MIN_LIST_GAP_MS - now;
    if (left <= 0) this.#poll();
    else if (now + left < this.#dueAt) this.#wait(left);
  }

  /** The next tick is set already: an error costs this one. */
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
    this.#requested = false;
    this.#begunAt = this.#options.clock.monotonic();
    const begunAt = this.#options.clock.now();
    try {
      const seen = await this.#everyInstance();
      if (!this.#stopping.signal.aborted) this.#state.complete(seen, begunAt, this.#options.clock.now());
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#listing = false;
    }
    if (this.#requested) this.#pollSoon();
  }

  /**
   * The specification's list, or the paged one: whichever the service served last, and the other one if it says that
   * it serves that no more. One wrong word about it, as a proxy may say it, is not for good.
   */
  async #everyInstance(): Promise<readonly Instance[]> {
    const { form } = this.#state.health;
    try {
      return await this.#listBy(form);
    } catch (error) {
      const other = form === 'paged' ? 'whole' : 'paged';
      if (!(error instanceof MarketplaceError) || !NOT_SERVED[form].has(error.kind)) throw error;
      const seen = await this.#listBy(other);
      this.#state.useForm(other);
      return seen;
    }
  }

  async #listBy(form: FeedHealth['form']): Promise<readonly Instance[]> {
    const instances = this.#options.instances();
    const { signal } = this.#stopping;
    return form === 'paged' ? listPages(instances, { signal }) : (await instances.list({ signal })).instances;
  }

  async #pollUnsettled(): Promise<void> {
    const latest = this.#state.latest;
    if (!latest) return;
    this.#glancing = true;
    const seenAt = this.#options.clock.now();
    try {
      const seen = await readUnsettled(this.#options.instances(), latest.rows, this.#stopping.signal);
      if (!this.#stopping.signal.aborted) this.#state.patch(seen, seenAt);
    } catch (error) {
      this.#options.log.debug('a look between two lists failed', { error });
    } finally {
      this.#glancing = false;
    }
  }

  #failed(error: unknown): void {
    if (this.#stopping.signal.aborted) return;
    const failure = error instanceof MarketplaceError ? error : unexpected(error);
    this.#state.failed(failure);
    this.#wait(this.#backoffMs());
  }

  /** The interval after a first failure, then doubling up to a minute, with up to a quarter of jitter. */
  #backoffMs(): number {
    const interval = this.#options.pollIntervalMs();
    const doubled = interval * 2 ** Math.min(16, this.#state.health.consecutiveFailures - 1);
    const bounded = Math.min(Math.max(MAX_BACKOFF_MS, interval), doubled);
    return bounded * (1 - this.#options.random.next() / 4);
  }

  /** A listener that throws keeps nobody else from hearing. */
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

/** Every state that a machine passes through or ends in; only `running`, where most of them are, is left out. */
const UNSETTLED_STATUSES = [
  null,
  'created',
  'loading',
  'rebooting',
  'stopped',
  'frozen',
  'exited',
  'unknown',
  'offline',
  'destroyed',
] as const;

/** A machine that left the filter is read by itself; more of them than this wait for the whole list. */
const MAX_SINGLE_READS = 5;

/**
 * Fresh views of the machines that are booting, ailing or leaving, and of those that were and no longer are: one
 * filtered list instead of all pages. Rejects with a MarketplaceError as its calls do.
 */
export async function readUnsettled(
  instances: InstancesResource,
  known: ReadonlyMap<MarketplaceId, Instance>,
  signal: AbortSignal,
): Promise<readonly Instance[]> {
  const filters = { actual_status: { in: UNSETTLED_STATUSES } };
  const seen = await listPages(instances, { filters, signal });
  const named = new Set(seen.map(({ id }) => id));
  const settled = [...known.values()]
    .filter((row) => row.actualStatus !== 'running' && !named.has(row.id))
    .slice(0, MAX_SINGLE_READS);
  const single: Instance[] = [];
  for (const { id } of settled) {
    const row = await instances.get(id, { signal });
    if (row) single.push(row);
  }
  return [...seen, ...single];
}
