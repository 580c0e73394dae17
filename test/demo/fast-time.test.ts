import { expect, test } from 'vitest';
import { fastClock, fastTime } from '../../scripts/demo/fast-time.ts';
import type { Clock } from '../../src/lib/clock.ts';

const BEGUN = Date.parse('2026-11-10T12:00:00Z');

test('runs as fast as its speed, on both clocks', () => {
  let elapsed = 0;
  const delays: number[] = [];
  const real: Clock = {
    now: () => BEGUN + elapsed,
    monotonic: () => 7 + elapsed,
    setTimer: (delayMs) => {
      delays.push(delayMs);
      return { cancel: () => {} };
    },
  };
  const clock = fastClock(fastTime(BEGUN, 20), real);
  const [now, monotonic] = [clock.now(), clock.monotonic()];
  elapsed = 1_500;
  expect([clock.now() - now, clock.monotonic() - monotonic]).toEqual([30_000, 30_000]);
  for (const delayMs of [0, 20, 400, 60_000]) clock.setTimer(delayMs, () => {});
  expect(delays).toEqual([0, 20, 50, 3_000]);
});

test('begins in the next month at the end of one, so that a monthly budget stays the same', () => {
  expect(fastTime(BEGUN, 20).shownAtBegin).toBe(BEGUN);
  const late = Date.parse('2026-11-30T20:00:00Z');
  expect(new Date(fastTime(late, 20).shownAtBegin).toISOString()).toBe('2026-12-01T08:00:00.000Z');
});
