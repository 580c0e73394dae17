import { describe, expect, test } from 'vitest';
import { byStay, byValue, countFor } from './cover.ts';
import type { CountedWorker } from './scaling-worker.ts';

const hot = (name: string, perf: number, overrides: Partial<CountedWorker> = {}): CountedWorker => ({
  ...{ name, perf, pricePerHour: 400_000, keepRank: 0, role: 'hot' },
  ...{ isReady: true, wasEverReady: true, isOverdue: false, curLoad: 0 },
  ...overrides,
});
const cold = (name: string, perf: number, overrides: Partial<CountedWorker> = {}) =>
  hot(name, perf, { role: 'cold', ...overrides });
const leaving = (name: string, perf: number) => hot(name, perf, { role: 'leaving' });

describe('a capacity takes', () => {
  test.each<[string, readonly CountedWorker[], number, number | undefined, number]>([
    ['nobody where nothing is asked', [hot('a', 100)], 0, 100, 0],
    ['nobody where less than nothing is asked', [hot('a', 40)], -1, undefined, 0],
    ['one while no performance is known', [], 5000, undefined, 1],
    ['as many as are alike', [hot('a', 100), cold('b', 100)], 300, 100, 3],
    ['the cheapest of the hot ones that do it', [hot('a', 50), hot('b', 100), hot('c', 50)], 100, 100, 1],
    ['all hot ones where none can be spared', [hot('a', 60), hot('b', 100)], 150, 100, 2],
    ['one less where one can', [hot('a', 60), hot('b', 100)], 100, 100, 1],
    ['all hot ones that do exactly as much, but for rounding', [hot('a', 0.1), hot('b', 0.2)], 0.3, 5, 2],
    ['new ones for what the hot ones miss', [hot('a', 40)], 100, 100, 2],
    ['cold ones before new ones', [hot('a', 40), cold('b', 60)], 100, 100, 2],
    ['cold ones and new ones', [hot('a', 40), cold('b', 10)], 250, 100, 4],
    ['the worthiest of the cold ones first', [hot('a', 40), cold('b', 10), cold('c', 60)], 100, 100, 2],
    ['cold ones of no performance, and new ones in their stead', [hot('a', 40), cold('b', 0)], 100, 100, 3],
    [
      'no new one for what is missing by rounding alone',
      [hot('a', 0.1), cold('b', 0.1999999995)],
      0.3,
      0.01,
      2,
    ],
    ['nobody who leaves', [leaving('a', 900), hot('b', 50)], 100, 100, 2],
  ])('%s', (_, workers, capacity, perf, count) => {
    expect(countFor(workers, capacity, { perf, order: byValue })).toBe(count);
  });
});

test('of unequal cold workers as many count as those that are to stay reach it with', () => {
  const workers = [
    hot('a', 40),
    cold('first to go', 200, { keepRank: 1 }),
    cold('stays', 30, { keepRank: 2 }),
  ];
  expect(countFor(workers, 100, { perf: 100, order: byValue })).toBe(2);
  expect(countFor(workers, 100, { perf: 100, order: byStay })).toBe(3);
});

describe('of two cold workers the first to wake is', () => {
  test.each<[string, Partial<CountedWorker>, Partial<CountedWorker>]>([
    ['the one that does more for a dollar', { perf: 100, pricePerHour: 10 }, { perf: 100, pricePerHour: 11 }],
    ['the one that does more for the same', { perf: 101 }, { perf: 100 }],
    ['the one that is to be kept, where they are worth the same', { keepRank: 2 }, { keepRank: 1 }],
    ['the first by name, where nothing else tells them apart', { name: 'a' }, { name: 'b' }],
    [
      'the first by name of two that cost nothing',
      { name: 'a', pricePerHour: 0 },
      { name: 'b', pricePerHour: 1 },
    ],
  ])('%s', (_, first, second) => {
    const [a, b] = [cold('y', 100, first), cold('y', 100, second)];
    expect(byValue(a, b)).toBeLessThan(0);
    expect(byValue(b, a)).toBeGreaterThan(0);
  });
});
