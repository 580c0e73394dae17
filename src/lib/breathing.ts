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
