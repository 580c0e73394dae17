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

describe('a capacity needs', () => {
  test.each<[string, readonly CountedWorker[], number, number | undefined, number]>([
    ['no worker for 0', [hot('a', 100)], 0, 100, 0],
    ['no worker for less than 0', [hot('a', 40)], -1, undefined, 0],
    ['one worker while no performance is known', [], 5000, undefined, 1],
    ['the quotient for equal workers', [hot('a', 100), cold('b', 100)], 300, 100, 3],
    ['the cheapest sufficient hot workers', [hot('a', 50), hot('b', 100), hot('c', 50)], 100, 100, 1],
    ['all hot workers if each is needed', [hot('a', 60), hot('b', 100)], 150, 100, 2],
    ['one hot worker less if one is not needed', [hot('a', 60), hot('b', 100)], 100, 100, 1],
    ['all hot workers if only rounding makes them insufficient', [hot('a', 0.1), hot('b', 0.2)], 0.3, 5, 2],
    ['new workers beside insufficient hot ones', [hot('a', 40)], 100, 100, 2],
    ['cold workers before new ones', [hot('a', 40), cold('b', 60)], 100, 100, 2],
    ['cold and new workers', [hot('a', 40), cold('b', 10)], 250, 100, 4],
    ['the best cold workers first', [hot('a', 40), cold('b', 10), cold('c', 60)], 100, 100, 2],
    ['new workers beside cold ones without performance', [hot('a', 40), cold('b', 0)], 100, 100, 3],
    ['no new worker if only rounding is missing', [hot('a', 0.1), cold('b', 0.1999999995)], 0.3, 0.01, 2],
    ['no leaving worker', [leaving('a', 900), hot('b', 50)], 100, 100, 2],
  ])('%s', (_, workers, capacity, perf, count) => {
    expect(countFor(workers, capacity, { perf, order: byValue })).toBe(count);
  });
});

test('counts unequal cold workers in the order in which they stay', () => {
  const workers = [
    hot('a', 40),
    cold('first to go', 200, { keepRank: 1 }),
    cold('stays', 30, { keepRank: 2 }),
  ];
  expect(countFor(workers, 100, { perf: 100, order: byValue })).toBe(2);
  expect(countFor(workers, 100, { perf: 100, order: byStay })).toBe(3);
});

describe('of two cold workers the first to wake', () => {
  test.each<[string, Partial<CountedWorker>, Partial<CountedWorker>]>([
    ['has more performance per dollar', { perf: 100, pricePerHour: 10 }, { perf: 100, pricePerHour: 11 }],
    ['has more performance at the same price', { perf: 101 }, { perf: 100 }],
    ['has the higher rank at the same value', { keepRank: 2 }, { keepRank: 1 }],
    ['is first by name if all else is equal', { name: 'a' }, { name: 'b' }],
    [
      'is first by name of two without a price',
      { name: 'a', pricePerHour: 0 },
      { name: 'b', pricePerHour: 1 },
    ],
  ])('%s', (_, first, second) => {
    const [a, b] = [cold('y', 100, first), cold('y', 100, second)];
    expect(byValue(a, b)).toBeLessThan(0);
    expect(byValue(b, a)).toBeGreaterThan(0);
  });
});
