import { pipeline, type Readable, type Transform } from 'node:stream';
import { createGunzip, createInflate } from 'node:zlib';

const UNPACKERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
]);

/**
 * The body as it was before `content-encoding` (one that we asked for; any other is left as it is). It is
 * unpacked only as fast as it is read, so whoever stops reading at a cap bounds the memory too.
 */
export function unpackBody(body: Readable, contentEncoding: string | undefined): Readable {
  const unpacker = UNPACKERS.get(contentEncoding?.trim().toLowerCase() ?? '');
  if (!unpacker) return body;
  // The reader of the unpacked stream gets the error; the callback only keeps it from being thrown.
  return pipeline(body, unpacker(), () => {});
}
