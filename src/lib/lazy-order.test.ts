import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LazyOrder } from './lazy-order.ts';

const byValue = (left: number, right: number): number => left - right;

test('yields the items as a sort does, for each iteration and from any of them', () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), fc.array(fc.nat(20), { maxLength: 5 }), (items, stops) => {
      const order = new LazyOrder(items, byValue);
      const sorted = items.toSorted(byValue);
      for (const stop of stops) {
        const taken: number[] = [];
        for (const item of order) {
          if (taken.length === stop) break;
          taken.push(item);
        }
        expect(taken).toEqual(sorted.slice(0, stop));
      }
      expect([...order]).toEqual(sorted);
    }),
  );
});

test('compares each item at most about twice to find the first', () => {
  let comparisons = 0;
  const items = Array.from({ length: 1000 }, (_, at) => (at * 7919) % 1000);
  const order = new LazyOrder(items, (left, right) => {
    comparisons += 1;
    return left - right;
  });
  const [first] = order;
  expect(first).toBe(0);
  expect(comparisons).toBeLessThan(2100);
});
