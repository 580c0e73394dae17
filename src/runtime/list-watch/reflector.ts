import { type Clock, sleep } from '../../lib/clock.ts';
import { DeadlineError, watchSilence } from '../../lib/deadline.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Random } from '../../lib/random.ts';
import { MalformedReplyError } from '../kube/json-stream.ts';
import { isKubeError } from '../kube/kube-error.ts';
import { compareResourceVersions, type KubeObject, objectKey, type Resource } from '../kube/kube-object.ts';
import { type KubeStream, listPages, type Selection } from '../kube/list-pages.ts';
import type { InformerMetrics } from '../metrics-ports.ts';
import { type WatchEvent, watchEvents } from './watch-events.ts';

/** Receiver of the changes of a {@link Reflector}; `S` is the form in which it keeps objects. */
export interface ReflectorSink<S> {
  /** Converts an object; undefined if it cannot be converted, and it is then left out. */
  keep(object: KubeObject): S | undefined;
  /** Replaces the complete state. Must stop at once when the signal is aborted. */
  replace(items: readonly S[], signal: AbortSignal): Promise<void>;
  upsert(item: S): void;
  remove(item: S): void;
  /** Records that all changes up to this resource version were delivered. Also called without changes. */
  reached(resourceVersion: string): void;
}

export interface ReflectorOptions<S> extends Selection {
  readonly client: KubeStream;
  readonly resource: Resource;
  /** Advice if the API server does not serve the resource; logged with that failure. */
  readonly remedyIfUnserved?: string | undefined;
  /** False: never request the first state as a stream. */
  readonly streaming: boolean;
  readonly sink: ReflectorSink<S>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: InformerMetrics;
}

/** Position to continue from: a state to read, or a known state. */
type Position =
  | { readonly type: 'list'; readonly notOlderThan: string | undefined }
  | { readonly type: 'watch'; readonly resourceVersion: string };

/** Silence after which a stream of the first state sends only changes. */
const INITIAL_STATE_SILENCE_MS = 60_000;
/**
 * Maximum silence of a watch that began with a streamed state. While nothing changes, the API server sends the first
 * bookmark after that state two minutes later, and then one each minute.
 */
const STREAMED_SILENCE_MS = 150_000;
/** A watch that ends earlier than this without an event was refused by the server. */
const SHORT_WATCH_MS = 1000;
/** Number of consecutive unreadable lines after which a list skips them. */
const MAX_MALFORMED = 3;

/**
 * Follows one collection by list and watch under any network conditions. It never ends by itself and never goes back
 * behind a delivered state. It waits between failures: 0.8 s doubling to 30 s, jittered, restarting after 2 min without
 * one. If its version has expired it lists "not older", and if that is refused too, the newest state.
 */
export class Reflector<S> {
  readonly #options: ReflectorOptions<S>;
  readonly #backoff: Backoff;
  #streaming: boolean;
  #position: Position = { type: 'list', notOlderThan: undefined };
  /** The highest delivered resource version. */
  #newest: string | undefined;
  #malformed = 0;
  #round = new AbortController();
  #failure: string | undefined;
  #lastContactAt: number | undefined;
  #rewoundSince: number | undefined;

  constructor(options: ReflectorOptions<S>) {
    this.#options = options;
    this.#streaming = options.streaming;
    const { clock, random } = options;
    this.#backoff = createBackoff({ clock, random, baseMs: 800, maxMs: 30_000, resetAfterMs: 120_000 });
  }

  /** The last failure; undefined while list-watch works. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** Epoch milliseconds of the server's last response. */
  get lastContactAt(): number | undefined {
    return this.#lastContactAt;
  }

  /** Epoch milliseconds since which every list has been older than the delivered state; undefined otherwise. */
  get rewoundSince(): number | undefined {
    return this.#rewoundSince;
  }

  /** Closes the running watch and reads the whole state again. */
  relist(): void {
    this.#position = { type: 'list', notOlderThan: undefined };
    this.#round.abort(new RelistRequest());
  }

  /** Follows the collection until the signal is aborted. Not to be run twice at a time. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const round = new AbortController();
      this.#round = round;
      const onAbort = () => round.abort(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        await this.#runRound(round.signal);
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof RelistRequest)) await this.#waitAfter(error, signal);
      } finally {
        signal.removeEventListener('abort', onAbort);
      }
    }
  }

  #runRound(signal: AbortSignal): Promise<void> {
    const position = this.#position;
    if (position.type === 'watch') {
      return this.#follow({ resourceVersion: position.resourceVersion }, undefined, signal);
    }
    const { notOlderThan } = position;
    if (!this.#streaming) return this.#listState(notOlderThan, signal);
    // The state as a stream of objects that continues as a watch: one request, and no long list on either side.
    const query = {
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      ...(notOlderThan !== undefined && { resourceVersion: notOlderThan }),
    };
    return this.#follow(query, new Map(), signal);
  }

  async #listState(notOlderThan: string | undefined, signal: AbortSignal): Promise<void> {
    const { client, clock, resource, sink, metrics } = this.#options;
    const begun = clock.monotonic();
    const keep = (object: KubeObject) => sink.keep(object);
    const onContact = () => this.#contacted();
    const request = { ...this.#options, notOlderThan, keep, signal, onContact };
    const list = await listPages(client, clock, request);
    this.#failure = undefined;
    await this.#adopt(list.items.filter(isKept), list.resourceVersion, signal);
    metrics.listed(resource.kind, list.items.length, (clock.monotonic() - begun) / 1000);
  }

  /**
   * Processes the events of one watch. `collecting` gathers objects until the server marks the end of the initial
   * state.
   */
  async #follow(
    query: Readonly<Record<string, string>>,
    collecting: Map<string, S> | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, clock, random, resource, metrics } = this.#options;
    const round = this.#round;
    const silence =
      collecting &&
      watchSilence(clock, INITIAL_STATE_SILENCE_MS, () =>
        round.abort(new InitialStateError('The server did not say where its initial state ends')),
      );
    const watch: Watch<S> = { begun: clock.monotonic(), events: 0, collecting, silence, signal };
    metrics.watchStarted(resource.kind);
    try {
      const timeoutSeconds = 290 + Math.floor(random.next() * 291);
      const onContact = () => {
        this.#contacted();
        this.#failure = undefined;
      };
      const maxSilenceMs = collecting && STREAMED_SILENCE_MS;
      const request = { ...this.#options, query, timeoutSeconds, maxSilenceMs, signal, onContact };
      for await (const event of watchEvents(client, clock, request)) {
        signal.throwIfAborted();
        watch.events++;
        if (watch.collecting) await this.#collect(watch, watch.collecting, event);
        else this.#emit(event);
      }
    } finally {
      silence?.end();
    }
    if (watch.collecting) throw new InitialStateError('The server ended the watch before its initial state');
    if (watch.events === 0 && clock.monotonic() - watch.begun < SHORT_WATCH_MS) {
      throw new ShortWatchError('The server ended the watch at once');
    }
  }

  /**
   * Gathers the initial state. A server whose own cache is behind sends its content and then the changes since,
   * deletions included.
   */
  async #collect(watch: Watch<S>, collected: Map<string, S>, event: WatchEvent): Promise<void> {
    const { sink, resource, clock, metrics } = this.#options;
    if (event.type === 'bookmark') {
      if (!event.initialStateEnds) return;
      watch.silence?.end();
      await this.#adopt([...collected.values()], event.resourceVersion, watch.signal);
      watch.collecting = undefined;
      metrics.listed(resource.kind, collected.size, (clock.monotonic() - watch.begun) / 1000);
      return;
    }
    const key = objectKey(event.object.metadata);
    const item = event.type === 'upserted' ? sink.keep(event.object) : undefined;
    if (item !== undefined && !collected.has(key)) watch.silence?.broken();
    if (item === undefined) collected.delete(key);
    else collected.set(key, item);
  }

  #emit(event: WatchEvent): void {
    const { sink } = this.#options;
    this.#malformed = 0;
    if (event.type === 'bookmark') {
      this.#reached(event.resourceVersion);
      return;
    }
    const item = sink.keep(event.object);
    if (item !== undefined && event.type === 'upserted') sink.upsert(item);
    if (item !== undefined && event.type === 'deleted') sink.remove(item);
    this.#reached(event.object.metadata.resourceVersion ?? '');
  }

  async #adopt(items: readonly S[], resourceVersion: string, signal: AbortSignal): Promise<void> {
    if (this.#newest !== undefined && compareResourceVersions(resourceVersion, this.#newest) < 0) {
      this.#rewoundSince ??= this.#options.clock.now();
      throw new StaleListError(`The list is of ${resourceVersion}, and ${this.#newest} was already seen`);
    }
    this.#rewoundSince = undefined;
    signal.throwIfAborted();
    await this.#options.sink.replace(items, signal);
    signal.throwIfAborted();
    this.#reached(resourceVersion);
    this.#malformed = 0;
  }

  #reached(resourceVersion: string): void {
    if (this.#newest === undefined || compareResourceVersions(resourceVersion, this.#newest) > 0) {
      this.#newest = resourceVersion;
    }
    this.#position = { type: 'watch', resourceVersion: this.#newest };
    this.#options.sink.reached(this.#newest);
  }

  #contacted(): void {
    this.#lastContactAt = this.#options.clock.now();
  }

  async #waitAfter(error: unknown, signal: AbortSignal): Promise<void> {
    const { clock, resource, log, metrics, remedyIfUnserved } = this.#options;
    const kind = isKubeError(error) ? error.kind : error instanceof Error ? error.name : 'unknown';
    const message = error instanceof Error ? error.message : String(error);
    this.#failure = `${kind}: ${message}`;
    if (this.#streaming && this.#position.type === 'list' && isRefusalToStream(error)) {
      this.#streaming = false;
      log.debug('Server does not stream its state, listing pages', { resource: resource.plural });
      return;
    }
    this.#position = this.#positionAfter(error);
    const restMs = isKubeError(error) ? (error.retryAfterMs ?? 0) : 0;
    const delayMs = Math.max(this.#backoff.nextMs(), restMs);
    metrics.failed(resource.kind, kind);
    const remedy = kind === 'notFound' ? remedyIfUnserved : undefined;
    const what = { resource: resource.plural, error: kind, message, ...(remedy !== undefined && { remedy }) };
    log.warn('List-watch failed, trying again', { ...what, delayMs });
    await sleep(clock, delayMs, signal).catch(() => {});
  }

  #positionAfter(error: unknown): Position {
    const position = this.#position;
    if (position.type === 'list') return { type: 'list', notOlderThan: undefined };
    const malformed = error instanceof MalformedReplyError && ++this.#malformed >= MAX_MALFORMED;
    if (malformed || isKubeError(error, 'gone')) {
      this.#malformed = 0;
      return { type: 'list', notOlderThan: position.resourceVersion };
    }
    return position;
  }
}

interface Watch<S> {
  readonly begun: number;
  readonly signal: AbortSignal;
  events: number;
  /** Objects by key; absent when the initial state is complete. */
  collecting: Map<string, S> | undefined;
  /** Reset by each further object of the initial state; absent without a stream. */
  readonly silence: ReturnType<typeof watchSilence> | undefined;
}

function isKept<S>(item: S | undefined): item is S {
  return item !== undefined;
}

/** The list is older than the state already seen: a server that lags behind, or a cluster restored from a backup. */
export class StaleListError extends Error {
  override readonly name = 'StaleListError';
}

/** The watch is closed on purpose, for a fresh list. */
export class RelistRequest extends Error {
  override readonly name = 'RelistRequest';
}

/** The server did not send the requested state as a stream. */
export class InitialStateError extends Error {
  override readonly name = 'InitialStateError';
}

/** The server ended a watch before its first response. */
export class ShortWatchError extends Error {
  override readonly name = 'ShortWatchError';
}

/** Returns true if an older server refused the parameters or ignored them. */
export function isRefusalToStream(error: unknown): boolean {
  return (
    isKubeError(error, 'invalid') ||
    error instanceof InitialStateError ||
    error instanceof DeadlineError ||
    error instanceof MalformedReplyError
  );
}

export interface BackoffOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly baseMs: number;
  readonly maxMs: number;
  /** Time after the last failure from which the next delay is the base again. */
  readonly resetAfterMs: number;
}

/** Delays that double with each failure, with jitter of up to the same time again. */
export interface Backoff {
  /** Returns the milliseconds to wait after this failure. */
  nextMs(): number;
}

export function createBackoff({ clock, random, baseMs, maxMs, resetAfterMs }: BackoffOptions): Backoff {
  let failures = 0;
  let endOfLast = Number.NEGATIVE_INFINITY;
  return {
    nextMs() {
      if (clock.monotonic() - endOfLast > resetAfterMs) failures = 0;
      const delay = Math.min(baseMs * 2 ** failures * (1 + random.next()), maxMs);
      failures = Math.min(failures + 1, 30);
      endOfLast = clock.monotonic() + delay;
      return delay;
    },
  };
}
