import { describe, expect, test } from 'vitest';
import { riseOf, seriesOf, withFormer } from './state.ts';

const of = (series: Readonly<Record<string, number>>) => new Map(Object.entries(series));
const many = (count: number, prefix = 's') =>
  Array.from({ length: count }, (_, index) => [`${prefix}${index}`, 1] as const);

describe('counters rose by', () => {
  test.each<[string, Record<string, number>, Record<string, number>, number]>([
    ['what each one rose by', { a: 1, b: 10 }, { a: 3, b: 15 }, 7],
    ['nothing where one is told no more', { a: 9e6, b: 1000 }, { a: 9e6 }, 0],
    ['all of one that is new beside others', { a: 1 }, { a: 1, b: 5 }, 5],
    ['all of one that went back', { a: 10, b: 100 }, { a: 10, b: 4 }, 4],
    ['nothing where all are new: nobody knows when they began', { a: 1 }, { c: 9e6, d: 9e6 }, 0],
  ])('%s', (_, before, now, rise) => {
    expect(riseOf(of(before), of(now))).toBe(rise);
  });
});

describe('what is kept', () => {
  test('adds samples of one name up', () => {
    expect(
      seriesOf([
        ['a', 1],
        ['b', 2],
        ['a', 3],
      ]),
    ).toEqual(of({ a: 4, b: 2 }));
  });

  test('keeps 1024 separate, and adds up the rest and those with long names as one', () => {
    const series = seriesOf([['x'.repeat(513), 7], ...many(1023), ['one', 1], ['two', 2], ['s0', 5]]);
    expect(series.size).toBe(1024);
    expect([series.get(''), series.get('s0'), series.get('one')]).toEqual([10, 6, undefined]);
    expect([...seriesOf([['y'.repeat(512), 7]]).keys()]).toEqual(['y'.repeat(512)]);
  });

  test('keeps counters that are no longer reported while there is room', () => {
    expect(withFormer(of({ a: 1, b: 2 }), of({ a: 3 }))).toEqual(of({ a: 3, b: 2 }));
    const full = withFormer(new Map(many(1024, 'former')), new Map(many(1000)));
    expect(full.size).toBe(1024);
    const beyond = new Map(many(1025));
    expect(withFormer(new Map(many(3, 'former')), beyond)).toBe(beyond);
  });
});
