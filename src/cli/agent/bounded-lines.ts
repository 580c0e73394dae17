import { Transform } from 'node:stream';

/** Maximum bytes of one message. */
export const MAX_LINE_BYTES = 4 * 1024 * 1024;

/** Returns a stream that passes bytes on, and fails at a line of more than {@link MAX_LINE_BYTES}. */
export function boundedLines(): Transform {
  let length = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const last = chunk.lastIndexOf(0x0a);
      length = last < 0 ? length + chunk.length : chunk.length - last - 1;
      if (length > MAX_LINE_BYTES) done(new Error(`A message is longer than ${MAX_LINE_BYTES} bytes.`));
      else done(null, chunk);
    },
  });
}
