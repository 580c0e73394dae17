import type { Random } from '../../../src/lib/random.ts';

const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/** The five characters that the API server puts behind `generateName`. */
export function randomSuffix(random: Random): string {
  return Array.from({ length: 5 }, () => ALPHABET[Math.floor(random.next() * ALPHABET.length)] ?? 'x').join(
    '',
  );
}
