import type { Random } from '../../lib/random.ts';

/**
 * Returns a number in [0, 1) that depends only on its arguments: the same world shows the same figures on every
 * machine, without stored state. PURE.
 */
export function chance(seed: number, ...parts: readonly number[]): number {
  let hash = (seed ^ 0x9e3779b9) >>> 0;
  for (const part of parts) {
    hash = Math.imul(hash ^ (part >>> 0), 0x85ebca6b) >>> 0;
    hash = (hash ^ (hash >>> 13) ^ Math.imul(Math.floor(part / 2 ** 32), 0xc2b2ae35)) >>> 0;
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b) >>> 0;
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

/** Returns a number between two bounds, by {@link chance}. */
export function between(low: number, high: number, share: number): number {
  return low + (high - low) * share;
}

/** Returns a random item of a list; undefined only if it is empty. */
export const pick = <T>(list: readonly T[], random: Random): T | undefined =>
  list[Math.floor(random.next() * list.length)];

/** Returns a random number between two bounds. */
export const span = (random: Random, low: number, high: number): number => low + random.next() * (high - low);

/** Returns a number rounded to that many digits after the point. */
export const round = (value: number, digits: number): number => Number(value.toFixed(digits));
