import { expect, test } from 'vitest';
import { readStrictly } from '../../settings/reader.ts';
import { billedMicros, exportedMicros, MONTHS, monthWorld } from './month-worlds.ts';
import { play } from './play.ts';

const { WORLDS, FIRST_SEED } = readStrictly(process.env, (reader) => ({
  WORLDS: reader.whole('MONTH_WORLDS', 1, 100_000) ?? 2,
  FIRST_SEED: reader.seed('MONTH_SEED') ?? 1,
}));
const CENT = 10_000;

test.for(Array.from({ length: WORLDS }, (_, index) => FIRST_SEED + index))(
  'the exports of two months agree with the bill of the marketplace to the cent, seed %i',
  { tags: 'long', timeout: 120_000 },
  async (seed) => {
    const sums: { readonly exported: number; readonly billed: number }[] = [];
    const { violations } = await play(
      monthWorld(seed, (world) => {
        for (const month of MONTHS)
          sums.push({ exported: exportedMicros(world, month), billed: billedMicros(world, month) });
      }),
    );
    expect(violations).toEqual([]);
    expect(sums).toHaveLength(2);
    for (const { exported, billed } of sums) {
      expect(billed).toBeGreaterThan(10 * CENT);
      expect(Math.abs(exported - billed)).toBeLessThanOrEqual(CENT);
    }
  },
);
