import { createHash } from 'node:crypto';
import { writeCanonicalJson } from './json.ts';

/** Longer pieces of a text are hashed directly. */
const LONG_PIECE = 4096;

/** Returns the SHA-256 of the canonical JSON in hexadecimal digits, without holding the whole text in memory. */
export function canonicalSha256(value: unknown): string {
  const hash = createHash('sha256');
  let text = '';
  writeCanonicalJson(value, (piece) => {
    if (piece.length < LONG_PIECE) text += piece;
    if (piece.length < LONG_PIECE && text.length < LONG_PIECE) return;
    hash.update(text);
    text = '';
    if (piece.length >= LONG_PIECE) hash.update(piece);
  });
  return hash.update(text).digest('hex');
}
