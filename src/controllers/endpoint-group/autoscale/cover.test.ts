import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cheapestCover } from './cover.ts';
import type { CoverWorker } from './scaling-worker.ts';

/** Few distinct figures, so that many covers have the same price. */
const candidates = fc
  .array(fc.record({ perf: fc.nat(4), pricePerHour: fc.nat(3) }), { minLength: 1, maxLength: 9 })
  .map((list) => list.map((given, index): CoverWorker => ({ ...given, name: `w${index}`, keepRank: index })));

const sum = (set: readonly CoverWorker[], figure: 'perf' | 'pricePerHour' | 'keepRank') =>
  set.reduce((total, one) => total + one[figure], 0);

test('chooses the smallest cover of the same price, and of those the one with the highest ranks', () => {
  fc.assert(
    fc.property(candidates, fc.integer({ min: 1, max: 20 }), (list, capacity) => {
      fc.pre(sum(list, 'perf') >= capacity);
      const subsets = Array.from({ length: 2 ** list.length }, (_, mask) =>
        list.filter((_one, index) => (mask >> index) % 2 === 1),
      );
      const [first] = subsets
        .filter((set) => sum(set, 'perf') >= capacity)
        .toSorted(
          (a, b) =>
            sum(a, 'pricePerHour') - sum(b, 'pricePerHour') ||
            a.length - b.length ||
            sum(b, 'keepRank') - sum(a, 'keepRank'),
        );
      const cover = cheapestCover(list, capacity);
      const told = (set: readonly CoverWorker[] = []) => [
        sum(set, 'pricePerHour'),
        set.length,
        sum(set, 'keepRank'),
      ];
      expect(told(cover)).toEqual(told(first));
      expect(sum(cover, 'perf')).toBeGreaterThanOrEqual(capacity);
    }),
  );
});

test('searches twenty workers of equal value exactly', () => {
  const alike = Array.from({ length: 20 }, (_, index): CoverWorker => {
    const perf = 1000 + 2 ** (index % 10);
    return { name: `w${index}`, perf, pricePerHour: perf, keepRank: index };
  });
  const capacity = 7 * 1000 + 127;
  expect(sum(cheapestCover(alike, capacity), 'perf')).toBe(capacity);
});

test('drops the most expensive of more than twenty workers while the rest suffices', () => {
  const many = Array.from({ length: 24 }, (_, index): CoverWorker => {
    const name = `w${String(index).padStart(2, '0')}`;
    return { name, perf: 100, pricePerHour: index < 4 ? 500 : 400, keepRank: index === 9 ? 1 : 2 };
  });
  const dropped = (capacity: number) => {
    const kept = new Set(cheapestCover(many, capacity).map(({ name }) => name));
    const other = cheapestCover(many.toReversed(), capacity).map(({ name }) => name);
    expect(other.toReversed()).toEqual([...kept]);
    return many.flatMap(({ name }) => (kept.has(name) ? [] : [name]));
  };
  expect(dropped(2500)).toEqual([]);
  expect(dropped(2400)).toEqual([]);
  expect(dropped(2301)).toEqual([]);
  // The most expensive ones first, of those the last by name.
  expect(dropped(2300)).toEqual(['w03']);
  expect(dropped(2000)).toEqual(['w00', 'w01', 'w02', 'w03']);
  // Then the one with the lowest rank, then the last by name.
  expect(dropped(1900)).toEqual(['w00', 'w01', 'w02', 'w03', 'w09']);
  expect(dropped(1800)).toEqual(['w00', 'w01', 'w02', 'w03', 'w09', 'w23']);
  const uneven = many.map((one, index) => (index === 0 ? { ...one, perf: 900, pricePerHour: 900 } : one));
  // The most expensive one is needed, those after it are not.
  expect(cheapestCover(uneven, 2900).map(({ name }) => name)).not.toContain('w03');
  expect(cheapestCover(uneven, 2900).map(({ name }) => name)).toContain('w00');
});

test('chooses no worker for no capacity, and all for too much', () => {
  const two = [0, 1].map(
    (index): CoverWorker => ({ name: `w${index}`, perf: 100, pricePerHour: 1, keepRank: 0 }),
  );
  expect(cheapestCover(two, 0)).toEqual([]);
  expect(cheapestCover(two, -1)).toEqual([]);
  expect(cheapestCover(two, 201)).toEqual(two);
  expect(cheapestCover([], 1)).toEqual([]);
});
