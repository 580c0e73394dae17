import { expect, test } from 'vitest';
import { isOpenAt, type OpenSpan, openSpansAfter, timeOutsideSpans } from './breaker.ts';

const spans: readonly OpenSpan[] = [
  { from: 100, until: 200 },
  { from: 300, until: undefined },
];

test('notes when the breaker opens and when it closes, once each', () => {
  const looks = [false, true, true, false, false, true] as const;
  const noted = looks.reduce<readonly OpenSpan[]>((all, holds, at) => openSpansAfter(all, holds, at), []);
  expect(noted).toEqual([
    { from: 1, until: 3 },
    { from: 5, until: undefined },
  ]);
});

test.each([
  [0, 50, 50],
  [0, 150, 100],
  [0, 250, 150],
  [150, 250, 50],
  [120, 180, 0],
  [0, 400, 200],
  [350, 400, 0],
])('between %d and %d only the time counts in which it was not open: %d', (from, until, free) => {
  expect(timeOutsideSpans(spans, { from, until })).toBe(free);
});

test('returns whether it was open at a moment', () => {
  expect([99, 100, 199, 200, 300, 999].map((at) => isOpenAt(spans, at))).toEqual([
    ...[false, true, true, false, true, true],
  ]);
});

test('many spans grow together, and then less time counts', () => {
  let many: readonly OpenSpan[] = [];
  for (let at = 0; at < 1_000; at += 2) many = openSpansAfter(openSpansAfter(many, true, at), false, at + 1);
  expect(many.length).toBeLessThanOrEqual(64);
  expect(timeOutsideSpans(many, { from: 0, until: 1_000 })).toBeLessThan(500);
  expect(timeOutsideSpans(many, { from: 990, until: 1_000 })).toBe(5);
});
