import { describe, expect, test } from 'vitest';
import { riseOf, seriesOf, withFormer } from './state.ts';

const of = (series: Readonly<Record<string, number>>) => new Map(Object.entries(series));
const many = (count: number, prefix = 's') =>
  Array.from({ length: count }, (_, index) => [`${prefix}${index}`, 1] as const);

describe('the rise of counters', () => {
  test.each<[string, Record<string, number>, Record<string, number>, number]>([
    ['is the sum of their rises', { a: 1, b: 10 }, { a: 3, b: 15 }, 7],
    ['is 0 for a missing counter', { a: 9e6, b: 1000 }, { a: 9e6 }, 0],
    ['is the value of a new counter beside known ones', { a: 1 }, { a: 1, b: 5 }, 5],
    ['is the value of a counter that was reset', { a: 10, b: 100 }, { a: 10, b: 4 }, 4],
    ['is 0 when all counters are new', { a: 1 }, { c: 9e6, d: 9e6 }, 0],
  ])('%s', (_, before, now, rise) => {
    expect(riseOf(of(before), of(now))).toBe(rise);
  });
});

describe('kept counters', () => {
  test('are the sums of samples with one name', () => {
    expect(
      seriesOf([
        ['a', 1],
        ['b', 2],
        ['a', 3],
      ]),
    ).toEqual(of({ a: 4, b: 2 }));
  });

  test('are 1024 series, and one for all others and long names', () => {
    const series = seriesOf([['x'.repeat(513), 7], ...many(1023), ['one', 1], ['two', 2], ['s0', 5]]);
    expect(series.size).toBe(1024);
    expect([series.get(''), series.get('s0'), series.get('one')]).toEqual([10, 6, undefined]);
    expect([...seriesOf([['y'.repeat(512), 7]]).keys()]).toEqual(['y'.repeat(512)]);
  });

  test('include missing counters while there is room', () => {
    expect(withFormer(of({ a: 1, b: 2 }), of({ a: 3 }))).toEqual(of({ a: 3, b: 2 }));
    const full = withFormer(new Map(many(1024, 'former')), new Map(many(1000)));
    expect(full.size).toBe(1024);
    const beyond = new Map(many(1025));
    expect(withFormer(new Map(many(3, 'former')), beyond)).toBe(beyond);
  });
});
