import type { Random } from '../../../src/lib/random.ts';

const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/** Returns the five characters that the API server appends to `generateName`. */
export function randomSuffix(random: Random): string {
  return Array.from({ length: 5 }, () => ALPHABET[Math.floor(random.next() * ALPHABET.length)] ?? 'x').join(
    '',
  );
}
