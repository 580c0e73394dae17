import { createHash } from 'node:crypto';

/** Longer pieces of a text are hashed as they are. */
const LONG_PIECE = 4096;

/** The value of a key that a stranger chose: what every object inherits, such as `constructor`, is not there. */
export function ownValue<T>(of: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return of !== undefined && Object.hasOwn(of, key) ? of[key] : undefined;
}

/** JSON with sorted keys: the order in which a manifest was written, or an API server stores it, means nothing. */
export function canonicalJson(value: unknown): string {
  let text = '';
  write(value, (piece) => {
    text += piece;
  });
  return text;
}

/** SHA-256 of {@link canonicalJson} in hexadecimal digits, of which a long text is never in memory as a whole. */
export function canonicalSha256(value: unknown): string {
  const hash = createHash('sha256');
  let text = '';
  write(value, (piece) => {
    if (piece.length < LONG_PIECE) text += piece;
    if (piece.length < LONG_PIECE && text.length < LONG_PIECE) return;
    hash.update(text);
    text = '';
    if (piece.length >= LONG_PIECE) hash.update(piece);
  });
  return hash.update(text).digest('hex');
}

function write(value: unknown, put: (piece: string) => void): void {
  if (Array.isArray(value)) {
    put('[');
    for (const [at, entry] of value.entries()) {
      if (at > 0) put(',');
      write(entry, put);
    }
    put(']');
  } else if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
    entries.sort(([left], [right]) => (left < right ? -1 : 1));
    put('{');
    for (const [at, [key, entry]] of entries.entries()) {
      put(`${at > 0 ? ',' : ''}${JSON.stringify(key)}:`);
      write(entry, put);
    }
    put('}');
  } else {
    put(JSON.stringify(value) ?? 'null');
  }
}
