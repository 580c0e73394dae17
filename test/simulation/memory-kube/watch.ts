import type { Clock, Timer } from '../../../src/lib/clock.ts';
import { type JsonObject, metadataOf, textOf } from './json.ts';
import { apiVersionOf, type Kind } from './kinds.ts';
import type { Selects } from './selectors.ts';
import type { Commit, Store } from './store.ts';

export interface WatchRequest {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly selects: Selects;
  /** Exclusive. */
  readonly from: number;
  readonly bookmarks: boolean;
  /** Sends the present state first, then a marked bookmark if the client requested bookmarks. */
  readonly sendInitialEvents: boolean;
  readonly timeoutMs: number;
}

const BOOKMARK_EVERY_MS = 60_000;

interface WatchEvent {
  readonly type: string;
  readonly object: JsonObject;
}

/** Returns the event that a watcher sees of a commit: entering or leaving the selection counts as ADDED or DELETED. */
function seenOf(commit: Commit, request: WatchRequest): WatchEvent | undefined {
  if (commit.kind.plural !== request.kind.plural || commit.kind.group !== request.kind.group)
    return undefined;
  const was = commit.previous !== undefined && isSelected(commit.previous, request);
  const is = commit.type !== 'DELETED' && isSelected(commit.object, request);
  if (was && commit.previous && !is)
    return { type: 'DELETED', object: leftAt(commit.previous, commit.object) };
  if (!is) return undefined;
  return { type: was ? 'MODIFIED' : 'ADDED', object: commit.object };
}

const isSelected = (object: JsonObject, { namespace, selects }: WatchRequest): boolean =>
  (namespace === undefined || metadataOf(object)['namespace'] === namespace) && selects(object);

/**
 * Returns an object that was deleted or left the selection: its last selected state, with the version of its removal.
 */
function leftAt(before: JsonObject, after: JsonObject): JsonObject {
  const { resourceVersion } = metadataOf(after);
  return { ...before, metadata: { ...metadataOf(before), resourceVersion } };
}

/** Open watch: a queue of lines for its reader. */
export class Watch {
  readonly #request: WatchRequest;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #lines: Uint8Array[] = [];
  readonly #timers: Timer[] = [];
  readonly #unsubscribe: () => void;
  #wake: (() => void) | undefined;
  #ended = false;

  constructor(store: Store, clock: Clock, request: WatchRequest) {
    this.#store = store;
    this.#clock = clock;
    this.#request = request;
    if (request.sendInitialEvents) this.#sendState();
    for (const commit of store.since(request.from)) this.#send(seenOf(commit, request));
    this.#unsubscribe = store.onCommit((commit) => {
      if (commit.revision > request.from) this.#send(seenOf(commit, request));
    });
    this.#timers.push(clock.setTimer(request.timeoutMs, () => this.end(), { background: true }));
    if (request.bookmarks) this.#scheduleBookmark();
  }

  /** Ends the stream after what was queued, as a server that closes the connection. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#unsubscribe();
    for (const timer of this.#timers) timer.cancel();
    this.#wake?.();
  }

  async *lines(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const line = this.#lines.shift();
        if (line) yield line;
        else if (this.#ended) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.end();
    }
  }

  #send(event: WatchEvent | undefined): void {
    if (!event || this.#ended) return;
    this.#lines.push(Buffer.from(`{"type":"${event.type}","object":${textOf(event.object)}}\n`));
    this.#wake?.();
    this.#wake = undefined;
  }

  #sendState(): void {
    const { kind, namespace, selects } = this.#request;
    for (const object of this.#store.all(kind)) {
      if (namespace !== undefined && metadataOf(object)['namespace'] !== namespace) continue;
      if (selects(object)) this.#send({ type: 'ADDED', object });
    }
    if (this.#request.bookmarks)
      this.#send(this.#bookmark({ annotations: { 'k8s.io/initial-events-end': 'true' } }));
  }

  #bookmark(metadata: JsonObject): WatchEvent {
    const { kind } = this.#request;
    return {
      type: 'BOOKMARK',
      object: {
        kind: kind.kind,
        apiVersion: apiVersionOf(kind),
        metadata: { resourceVersion: String(this.#store.revision), ...metadata },
      },
    };
  }

  #scheduleBookmark(): void {
    const timer = this.#clock.setTimer(
      BOOKMARK_EVERY_MS,
      () => {
        this.#send(this.#bookmark({}));
        if (!this.#ended) this.#scheduleBookmark();
      },
      { background: true },
    );
    this.#timers[1] = timer;
  }
}
