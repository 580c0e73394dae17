import fc from 'fast-check';
import { expect, test } from 'vitest';
import { IndexedHeap } from './indexed-heap.ts';

interface Item {
  readonly name: number;
  rank: number;
}

const COUNT = 30;
const items = (): readonly Item[] => Array.from({ length: COUNT }, (_, name) => ({ name, rank: 0 }));
const isBefore = (one: Item, other: Item): boolean =>
  one.rank === other.rank ? one.name < other.name : one.rank < other.rank;
const nameArbitrary = fc.nat(COUNT - 1);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ name: nameArbitrary, rank: fc.nat(40) }) },
  { weight: 1, arbitrary: fc.record({ name: nameArbitrary, rank: fc.constant(undefined) }) },
);

test('has the first of its items on top, whichever came, changed or went', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const all = items();
      const heap = new IndexedHeap<Item>(isBefore);
      const within = new Set<Item>();
      for (const { name, rank } of steps) {
        const item = all[name];
        if (!item) continue;
        if (rank === undefined) {
          heap.remove(item);
          within.delete(item);
        } else {
          item.rank = rank;
          heap.put(item);
          within.add(item);
        }
        expect(heap.first()).toBe([...within].sort((one, other) => (isBefore(one, other) ? -1 : 1))[0]);
      }
    }),
  );
});

test('takes steps by the logarithm of the number of its items', () => {
  let compared = 0;
  const heap = new IndexedHeap<Item>((one, other) => {
    compared += 1;
    return isBefore(one, other);
  });
  const many: readonly Item[] = Array.from({ length: 4096 }, (_, name) => ({ name, rank: name }));
  for (const item of many) heap.put(item);
  compared = 0;
  for (let turn = 0; turn < 4096; turn += 1) {
    const first = heap.first();
    expect(first?.name).toBe(turn);
    if (!first) break;
    first.rank += 4096;
    heap.put(first);
  }
  // A level costs two comparisons on the way down, and one is made to see that nothing rises.
  expect(compared).toBeLessThanOrEqual(4096 * (2 * 12 + 1));
});
