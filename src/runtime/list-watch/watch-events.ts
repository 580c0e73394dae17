import type { Clock } from '../../lib/clock.ts';
import { DeadlineError, watchSilence } from '../../lib/deadline.ts';
import { yieldingChunks } from '../../lib/event-loop.ts';
import { MalformedReplyError, parseJson, splitLines } from '../kube/json-stream.ts';
import { kubeErrorOf, type StatusReply } from '../kube/kube-error.ts';
import type { KubeObject, Resource } from '../kube/kube-object.ts';
import { type KubeStream, type Selection, selectorQuery } from '../kube/list-pages.ts';

/** A line of a watch. An ERROR line is thrown as a KubeError instead. */
export type WatchEvent =
  | { readonly type: 'upserted'; readonly object: KubeObject }
  | { readonly type: 'deleted'; readonly object: KubeObject }
  | { readonly type: 'bookmark'; readonly resourceVersion: string; readonly initialStateEnds: boolean };

export interface WatchRequest extends Selection {
  readonly resource: Resource;
  /** Parameters beside those of every watch. */
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** Time after which the server itself closes the watch. */
  readonly timeoutSeconds: number;
  /** Maximum time without a byte. Default: {@link MAX_SILENCE_MS}. */
  readonly maxSilenceMs?: number | undefined;
  readonly signal: AbortSignal;
}

/** Longer than the minute between bookmarks: a longer silence is a dead connection. */
export const MAX_SILENCE_MS = 90_000;
const MAX_EVENT_BYTES = 16 * 1024 * 1024;

const END_OF_INITIAL_STATE = 'k8s.io/initial-events-end';

/**
 * Yields the events of one watch until the server ends it. `onContact` is called when the server accepts the watch and
 * with every chunk. Throws if the server is silent for too long, on an ERROR event, and on a line that is no event.
 */
export async function* watchEvents(
  client: KubeStream,
  clock: Clock,
  request: WatchRequest & { readonly onContact: () => void },
): AsyncGenerator<WatchEvent> {
  const { resource, namespace, timeoutSeconds, onContact } = request;
  const scope = new AbortController();
  const onAbort = () => scope.abort(request.signal.reason);
  request.signal.addEventListener('abort', onAbort, { once: true });
  if (request.signal.aborted) onAbort();
  const { maxSilenceMs = MAX_SILENCE_MS } = request;
  const silence = watchSilence(clock, maxSilenceMs, () =>
    scope.abort(new DeadlineError(`Not a byte for ${maxSilenceMs} ms`)),
  );
  const query = {
    watch: 'true',
    allowWatchBookmarks: 'true',
    timeoutSeconds: String(timeoutSeconds),
    ...selectorQuery(request),
    ...request.query,
  };
  const received = () => {
    silence.broken();
    onContact();
  };
  try {
    const reply = await orAborted(
      client.stream(resource, { namespace, query, signal: scope.signal }),
      scope.signal,
    );
    received();
    try {
      const body = noting(reply.body, received, scope.signal);
      for await (const line of splitLines(yieldingChunks(body, clock), MAX_EVENT_BYTES))
        yield decoded(eventOf(parseJson(line)), client);
    } finally {
      reply.destroy();
    }
  } finally {
    silence.end();
    request.signal.removeEventListener('abort', onAbort);
  }
}

function decoded(event: WatchEvent, { decode }: KubeStream): WatchEvent {
  return event.type === 'bookmark' || !decode ? event : { ...event, object: decode(event.object) };
}

function eventOf(line: unknown): WatchEvent {
  const { type, object } = (line ?? {}) as { type?: unknown; object?: KubeObject };
  if (type === 'ERROR') {
    const status = (object ?? {}) as StatusReply;
    throw kubeErrorOf(status.code ?? 0, status);
  }
  if (!object?.metadata?.resourceVersion) {
    throw new MalformedReplyError('The API server sent a watch event without an object');
  }
  if (type === 'ADDED' || type === 'MODIFIED') return { type: 'upserted', object };
  if (type === 'DELETED') return { type: 'deleted', object };
  if (type === 'BOOKMARK') {
    const { annotations, resourceVersion } = object.metadata;
    const initialStateEnds = annotations?.[END_OF_INITIAL_STATE] === 'true';
    return { type: 'bookmark', resourceVersion, initialStateEnds };
  }
  throw new MalformedReplyError('The API server sent a watch event of an unknown type');
}

/**
 * Yields the chunks and calls `received` for each. Throws the signal's reason even if the stream ignores the signal.
 */
async function* noting(
  body: AsyncIterable<Uint8Array>,
  received: () => void,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  let fail: ((reason: unknown) => void) | undefined;
  const onAbort = () => fail?.(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  // Chunks are many: one listener waits for the end of all of them.
  const nextChunk = () =>
    new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
      fail = reject;
      if (signal.aborted) onAbort();
      chunks.next().then(resolve, reject);
    });
  try {
    for (let next = await nextChunk(); !next.done; next = await nextChunk()) {
      received();
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
