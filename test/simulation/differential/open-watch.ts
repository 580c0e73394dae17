import { isObject, type JsonObject, metadataOf, objectAt } from '../memory-kube/json.ts';

const PATIENCE_MS = 60_000;

/** A watch that is open: its events are taken as they come, beside whatever else is sent. */
export class OpenWatch {
  readonly events: JsonObject[] = [];
  readonly #close: () => void;
  readonly #done: Promise<void>;
  #isEnded = false;
  #progressed = Promise.withResolvers<void>();

  constructor(body: AsyncIterable<Uint8Array>, close: () => void) {
    this.#close = close;
    this.#done = this.#read(body);
  }

  /** Resolves once the server has ended it. */
  ended(): Promise<void> {
    return this.#done;
  }

  /** Resolves once a matching event arrived or the server ended the watch; rejects after a minute. */
  async until(what: string, holds: (event: JsonObject) => boolean): Promise<void> {
    const late = setTimeout(
      () => this.#progressed.reject(new Error(`no ${what} within a minute`)),
      PATIENCE_MS,
    );
    try {
      while (!this.#isEnded && !this.events.some(holds)) await this.#progressed.promise;
    } finally {
      clearTimeout(late);
    }
  }

  async close(): Promise<void> {
    this.#close();
    await this.#done;
  }

  async #read(body: AsyncIterable<Uint8Array>): Promise<void> {
    let rest = '';
    const decoder = new TextDecoder();
    try {
      for await (const chunk of body) {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
        rest = lines.pop() ?? '';
        this.events.push(...lines.map((line): unknown => JSON.parse(line)).filter(isObject));
        this.#wake();
      }
    } catch (error) {
      if (error instanceof SyntaxError) throw error;
      // What is closed from here ends in the middle.
    } finally {
      this.#isEnded = true;
      this.#wake();
    }
  }

  #wake(): void {
    this.#progressed.resolve();
    this.#progressed = Promise.withResolvers();
  }
}

/** Throws if an event after a bookmark is not newer than the bookmark's version. */
export function requireBookmarks(events: readonly JsonObject[], of: string): void {
  for (const [at, event] of events.entries()) {
    if (!isBookmark(event)) continue;
    const version = versionOf(event);
    const later = events.slice(at + 1).filter((other) => !isBookmark(other));
    const isInPlace =
      events.slice(0, at).every((other) => versionOf(other) <= version) &&
      later.every((other) => versionOf(other) > version);
    if (isInPlace) continue;
    const all = events.map(versionOf).join(', ');
    throw new Error(`${of}: the bookmark of ${version} is not in its place among ${all}`);
  }
}

const isBookmark = (event: JsonObject): boolean => event['type'] === 'BOOKMARK';

const versionOf = (event: JsonObject): number =>
  Number(metadataOf(objectAt(event, 'object'))['resourceVersion']);
