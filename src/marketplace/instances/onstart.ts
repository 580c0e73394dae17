import { gzipSync } from 'node:zlib';

/** Most characters of a startup script (specification 8). */
export const ON_START_LIMIT = 4048;

/** A script that fits, or why it does not. */
export type PackedOnStart =
  | { readonly type: 'plain'; readonly script: string }
  /** A line that unpacks and runs the script. */
  | { readonly type: 'packed'; readonly script: string }
  /** `bytes`: its size in UTF-8; `packedLength`: characters even when packed. */
  | {
      readonly type: 'tooLong';
      readonly bytes: number;
      readonly packedLength: number;
      readonly message: string;
    };

/**
 * The script as it can be sent (specification 4.5): as it is up to 4048 characters, otherwise compressed with
 * gzip and encoded with base64 inside a line that any POSIX shell with `base64` and `gzip` runs. The same
 * script always gives the same line.
 */
export function packOnStart(script: string): PackedOnStart {
  const bytes = Buffer.byteLength(script);
  if (script.length <= ON_START_LIMIT && bytes <= ON_START_LIMIT) return { type: 'plain', script };
  const packed = runnable(gzipSync(script, { level: 9 }).toString('base64'), script);
  if (packed.length <= ON_START_LIMIT) return { type: 'packed', script: packed };
  return {
    type: 'tooLong',
    bytes,
    packedLength: packed.length,
    message:
      `the startup script has ${bytes} bytes, and ${packed.length} when compressed; at most ${ON_START_LIMIT} ` +
      'fit: move parts of it into the image, or let it download them',
  };
}

/** The interpreter that the script names in its first line runs it; otherwise bash where there is one. */
function runnable(base64: string, script: string): string {
  const interpreter = /^#!\s*(\/[^\n]*)/.exec(script)?.[1]?.trim() ?? '$(command -v bash || echo sh)';
  return `f=$(mktemp)&&echo ${base64}|base64 -d|gzip -d>$f&&${interpreter} $f`;
}
