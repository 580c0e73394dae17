import { type Clock, sleep } from './clock.ts';

/** How many bytes are handled before other work gets a turn; about 3 ms on a slow core. */
const BREATH_BYTES = 256 * 1024;

/**
 * Chunks as they come, with a turn for other work after each {@link BREATH_BYTES}: what is buffered is otherwise
 * delivered without one, and a long list would hold up the whole process.
 */
export async function* breathing(body: AsyncIterable<Uint8Array>, clock: Clock): AsyncGenerator<Buffer> {
  let handled = 0;
  for await (const chunk of body) {
    if (handled >= BREATH_BYTES) {
      handled = 0;
      await sleep(clock, 0);
    }
    handled += chunk.length;
    yield Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
  }
}

/** How long one kind of work may go on before the rest of the process gets a turn. */
const SLICE_MS = 10;

/**
 * Gives the rest of the process its turn. Work that waits for nothing, such as the first pass over a thousand
 * objects, would otherwise follow on itself and hold up timers, sockets and the lease until all of it is done.
 */
export class Turns {
  readonly #clock: Clock;
  #begunAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#begunAt = clock.monotonic();
  }

  /** Work begins after a rest: the slice is whole. */
  begin(): void {
    this.#begunAt = this.#clock.monotonic();
  }

  /** To be awaited between two pieces of work: lets others run where the slice is used up, and is free where not. */
  async next(): Promise<void> {
    if (this.#clock.monotonic() - this.#begunAt < SLICE_MS) return;
    await sleep(this.#clock, 0);
    this.begin();
  }
}
