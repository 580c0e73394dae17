import { expect, test } from 'vitest';
import { defaultTimes } from '../times.ts';
import { EMPTY_HISTORY, loadOver, longestLoad, observedFrom, rolledTo, withArrivals } from './state.ts';

const MINUTE = 60_000;
/** At the beginning of a minute. */
const NOW = 1000 * MINUTE;
const arrived = (amount: number, at = NOW, spanMs = MINUTE) =>
  withArrivals(EMPTY_HISTORY, { at, spanMs, amount });

test('load is observed from the first report on, and no later one moves that', () => {
  expect(observedFrom(EMPTY_HISTORY, 5).since).toBe(5);
  expect(observedFrom({ ...EMPTY_HISTORY, since: 3 }, 5).since).toBe(3);
});

test('work that took no time is no load', () => {
  const history = { ...EMPTY_HISTORY, since: 0, arrivals: [{ at: NOW, spanMs: 0, amount: 7 }] };
  expect(loadOver(history, NOW, MINUTE)).toBe(0);
});

test('keeps the largest value of a minute once', () => {
  const peak = rolledTo(arrived(600), NOW);
  expect(peak.maxima).toEqual([{ at: NOW, load: 10 }]);
  const later = rolledTo(peak, NOW + MINUTE / 2);
  expect(later.maxima).toEqual([{ at: NOW, load: 10 }]);
  const next = rolledTo(later, NOW + MINUTE - 1);
  expect(next.maxima).toEqual([{ at: NOW, load: 10 }]);
});

test('a maximum that lies ahead counts as of this minute, and work that lies far ahead is forgotten', () => {
  const ahead = { ...arrived(600, NOW + 60 * MINUTE), maxima: [{ at: NOW + 60 * MINUTE, load: 10 }] };
  expect(rolledTo(ahead, NOW)).toMatchObject({ arrivals: [], maxima: [{ at: NOW, load: 10 }] });
});

test('what no window reaches any more is forgotten', () => {
  const history = arrived(600);
  expect(rolledTo(history, NOW + MINUTE - 1).arrivals).toHaveLength(1);
  expect(rolledTo(history, NOW + MINUTE).arrivals).toEqual([]);
  const old = { ...EMPTY_HISTORY, maxima: [{ at: NOW, load: 10 }] };
  const over = NOW + defaultTimes.maximumMs + defaultTimes.longMs;
  expect([longestLoad(old, over - 1), longestLoad(old, over)]).toEqual([10, 0]);
  expect(rolledTo(old, over).maxima).toEqual([]);
});
