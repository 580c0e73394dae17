import type { Random } from '../../lib/random.ts';

/** One of a list; undefined only where it is empty. */
export const pick = <T>(list: readonly T[], random: Random): T | undefined =>
  list[Math.floor(random.next() * list.length)];

/** A number between two bounds. */
export const span = (random: Random, low: number, high: number): number => low + random.next() * (high - low);

/** A number cut to so many digits behind the point. */
export const round = (value: number, digits: number): number => Number(value.toFixed(digits));
