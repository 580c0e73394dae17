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

/** Where the news of a {@link Reflector} go, in the form `S` that the sink keeps objects in. */
export interface ReflectorSink<S> {
  /** What is kept of an object; undefined for one that cannot be kept, which is then left out. */
  keep(object: KubeObject): S | undefined;
  /** The complete state. Must stop at once when the signal is aborted. */
  replace(items: readonly S[], signal: AbortSignal): Promise<void>;
  upsert(item: S): void;
  remove(item: S): void;
  /** Everything up to this resource version has been told. Also called where nothing had changed. */
  reached(resourceVersion: string): void;
}

export interface ReflectorOptions<S> extends Selection {
  readonly client: KubeStream;
  readonly resource: Resource;
  /** What people can do if the API server does not serve the resource; logged with that failure. */
  readonly remedyIfUnserved?: string | undefined;
  /** False: never ask for the first state as a stream. */
  readonly streaming: boolean;
  readonly sink: ReflectorSink<S>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: InformerMetrics;
}

/** Where to go on: with a state to be read, or from a state that is known. */
type Position =
  | { readonly type: 'list'; readonly notOlderThan: string | undefined }
  | { readonly type: 'watch'; readonly resourceVersion: string };

/** A stream of the first state that brings no further object for so long says only what changes. */
const INITIAL_STATE_SILENCE_MS = 60_000;
/** A watch that ends earlier than this without an event was not wanted by the server. */
const SHORT_WATCH_MS = 1000;
/** A line that cannot be read so many times in a row is passed by with a list. */
const MAX_MALFORMED = 3;

/**
 * Follows one collection by list and watch, whatever the network does: it never ends by itself, waits between
 * failures (0.8 s doubling to 30 s, jittered, from the start again after 2 min without one), and never goes back
 * behind a state it has told. Where watching from its state has expired it lists "not older", and where that is
 * refused too, the newest state.
 */
export class Reflector<S> {
  readonly #options: ReflectorOptions<S>;
  readonly #backoff: Backoff;
  #streaming: boolean;
  #position: Position = { type: 'list', notOlderThan: undefined };
  /** The highest resource version told. */
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

  /** The last failure; undefined while all is well. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** When the server last said anything, epoch milliseconds. */
  get lastContactAt(): number | undefined {
    return this.#lastContactAt;
  }

  /** Since when every list has been older than what was told, epoch milliseconds; undefined while none is. */
  get rewoundSince(): number | undefined {
    return this.#rewoundSince;
  }

  /** Gives the watch under way up and reads the whole state anew. */
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
    // The state as a stream of objects that goes on as a watch: one request, and no long list at either end.
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

  /** Tells one watch's events. `collecting` gathers objects until the server says that they are the whole state. */
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
      const request = { ...this.#options, query, timeoutSeconds, signal, onContact };
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

  /** A server whose own cache is behind sends what that holds, and then what has changed since, deletions included. */
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
  /** By key; absent once the initial state is complete. */
  collecting: Map<string, S> | undefined;
  /** Broken by each further object of the initial state; absent where none is streamed. */
  readonly silence: ReturnType<typeof watchSilence> | undefined;
}

function isKept<S>(item: S | undefined): item is S {
  return item !== undefined;
}

/** The list is older than what was already seen: a server that lags behind, or a cluster restored from a backup. */
export class StaleListError extends Error {
  override readonly name = 'StaleListError';
}

/** The watch is given up on purpose, for a fresh list. */
export class RelistRequest extends Error {
  override readonly name = 'RelistRequest';
}

/** A state that was asked for as a stream and did not come as one. */
export class InitialStateError extends Error {
  override readonly name = 'InitialStateError';
}

/** A watch that the server ended before it said anything. */
export class ShortWatchError extends Error {
  override readonly name = 'ShortWatchError';
}

/** Older servers refuse the parameters or do not know what they mean. */
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
  /** So long after the last failure the next one starts from the base again. */
  readonly resetAfterMs: number;
}

/** Delays that double with each failure, jittered by up to as much again. */
export interface Backoff {
  /** How long to wait after this failure. */
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
