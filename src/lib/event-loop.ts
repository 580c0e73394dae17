import { type Clock, sleep } from './clock.ts';

/** Bytes that are processed before the event loop runs; about 3 ms on a slow core. */
const YIELD_EVERY_BYTES = 256 * 1024;

/**
 * Yields the chunks of a body, and to the event loop after each {@link YIELD_EVERY_BYTES}: buffered chunks arrive
 * without a pause, and a long list would block the process. Rejects if the body does.
 */
export async function* yieldingChunks(body: AsyncIterable<Uint8Array>, clock: Clock): AsyncGenerator<Buffer> {
  let handled = 0;
  for await (const chunk of body) {
    if (handled >= YIELD_EVERY_BYTES) {
      handled = 0;
      await sleep(clock, 0);
    }
    handled += chunk.length;
    yield Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
  }
}

/** Maximum milliseconds of one kind of work before the event loop continues. */
const SLICE_MS = 10;

/**
 * Yields to the event loop. Work that never waits, such as the first reconcile of a thousand objects, would otherwise
 * block timers, sockets and the lease until it is done.
 */
export class TimeSlice {
  readonly #clock: Clock;
  #begunAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#begunAt = clock.monotonic();
  }

  /** Starts a new slice. Call it when work begins after a wait. */
  begin(): void {
    this.#begunAt = this.#clock.monotonic();
  }

  /** Yields if the slice is used up, and costs nothing otherwise. Await it between two pieces of work. */
  async next(): Promise<void> {
    if (this.#clock.monotonic() - this.#begunAt < SLICE_MS) return;
    await sleep(this.#clock, 0);
    this.begin();
  }
}
