import { expect, test } from 'vitest';
import { LARGEST_SEED, readStrictly } from '../../settings/reader.ts';
import { playGateway } from './world.ts';

/** FIRST_SEED and SEEDS look at others, and at more of them. */
const { first, count } = readStrictly(process.env, (reader) => ({
  first: reader.seed('FIRST_SEED') ?? 1,
  count: reader.whole('SEEDS', 1, LARGEST_SEED) ?? 150,
}));

test('no seed of the gateway breaks a promise of its queue', () => {
  const broken: string[] = [];
  for (let seed = first; seed < first + count && broken.length < 5; seed += 1) {
    const found = playGateway(seed);
    if (found) broken.push(`seed ${seed}: ${found.message}`);
  }
  expect(broken).toEqual([]);
});
