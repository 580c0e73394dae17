import { gzipSync } from 'node:zlib';

/** Longest script that a service takes (specification 4.5 and 8), in bytes as it travels. */
export const ON_START_LIMIT = 4048;

/** A script in the form in which it is sent, or how many bytes it has too many. */
export type PackedScript =
  | { readonly type: 'fits'; readonly text: string }
  | { readonly type: 'tooLong'; readonly bytes: number; readonly packedBytes: number };

/**
 * A script as it is sent: as written where it fits, otherwise compressed (gzip, base64; specification 4.5)
 * inside one line that unpacks and runs it.
 */
export function packOnStart(script: string): PackedScript {
  const bytes = Buffer.byteLength(script, 'utf8');
  if (bytes <= ON_START_LIMIT) return { type: 'fits', text: script };
  const packed = `echo ${gzipSync(script, { level: 9 }).toString('base64')} | base64 -d | gunzip | bash`;
  const packedBytes = Buffer.byteLength(packed, 'utf8');
  if (packedBytes <= ON_START_LIMIT) return { type: 'fits', text: packed };
  return { type: 'tooLong', bytes, packedBytes };
}
