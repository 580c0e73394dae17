import { expect, test } from 'vitest';
import { afterThrottling, factorAt, NO_SLOW_DOWN, slowedGap } from './pacing.ts';

const HALF_MINUTE = 30_000;
const ASKED_AT = 1_000_000;

test('a class goes twice as slow after each 429, at most sixteen times', () => {
  const factors = [];
  let slowDown = NO_SLOW_DOWN;
  for (let throttled = 1; throttled <= 6; throttled++) {
    slowDown = afterThrottling(slowDown, ASKED_AT);
    factors.push(factorAt(slowDown, ASKED_AT));
  }
  expect(factors).toEqual([2, 4, 8, 16, 16, 16]);
});

test('half of what it is slower by is gone after half a minute, and the last twentieth at once', () => {
  const slowDown = { factor: 2.6, since: ASKED_AT };
  const after = (halves: number) => factorAt(slowDown, ASKED_AT + halves * HALF_MINUTE);
  expect([after(0), after(1), after(2), after(5)]).toEqual([2.6, 1.8, 1.4, 1.05]);
  expect([after(5.01), after(9)]).toEqual([1, 1]);
});

test('a class without a gap of its own gets one while it is slow', () => {
  const slowDown = { factor: 4, since: ASKED_AT };
  expect(slowedGap(0, slowDown, ASKED_AT)).toBe(1_000);
  expect(slowedGap(3_000, slowDown, ASKED_AT)).toBe(12_000);
  expect(slowedGap(0, slowDown, ASKED_AT + 20 * HALF_MINUTE)).toBe(0);
});
