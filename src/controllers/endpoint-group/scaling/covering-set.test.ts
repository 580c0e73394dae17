import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Candidate, cheapestCover } from './covering-set.ts';

/** Few distinct figures, so that covers of one price are many. */
const candidates = fc
  .array(fc.record({ perf: fc.nat(4), pricePerHour: fc.nat(3) }), { minLength: 1, maxLength: 9 })
  .map((list) => list.map((given, index): Candidate => ({ ...given, name: `w${index}`, keepRank: index })));

const sum = (set: readonly Candidate[], figure: 'perf' | 'pricePerHour' | 'keepRank') =>
  set.reduce((total, one) => total + one[figure], 0);

test('of all covers of one price the smallest is taken, and of those the one that keeps what should be kept', () => {
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
      const told = (set: readonly Candidate[] = []) => [
        sum(set, 'pricePerHour'),
        set.length,
        sum(set, 'keepRank'),
      ];
      expect(told(cover)).toEqual(told(first));
      expect(sum(cover, 'perf')).toBeGreaterThanOrEqual(capacity);
    }),
  );
});

test('twenty workers of which none is worth less than another are searched to the end', () => {
  const alike = Array.from({ length: 20 }, (_, index): Candidate => {
    const perf = 1000 + 2 ** (index % 10);
    return { name: `w${index}`, perf, pricePerHour: perf, keepRank: index };
  });
  const capacity = 7 * 1000 + 127;
  expect(sum(cheapestCover(alike, capacity), 'perf')).toBe(capacity);
});
