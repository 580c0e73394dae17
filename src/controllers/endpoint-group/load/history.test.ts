import { expect, test } from 'vitest';
import { defaultTimes } from '../times.ts';
import { EMPTY_HISTORY, loadOver, longestLoad, observedFrom, rolledTo, withArrivals } from './state.ts';

const MINUTE = 60_000;
/** Start of a minute. */
const NOW = 1000 * MINUTE;
const arrived = (amount: number, at = NOW, spanMs = MINUTE) =>
  withArrivals(EMPTY_HISTORY, { at, spanMs, amount });

test('observes load from the first report, whatever follows', () => {
  expect(observedFrom(EMPTY_HISTORY, 5).since).toBe(5);
  expect(observedFrom({ ...EMPTY_HISTORY, since: 3 }, 5).since).toBe(3);
});

test('ignores work with a span of 0', () => {
  const history = { ...EMPTY_HISTORY, since: 0, arrivals: [{ at: NOW, spanMs: 0, amount: 7 }] };
  expect(loadOver(history, NOW, MINUTE)).toBe(0);
});

test('keeps one maximum a minute', () => {
  const peak = rolledTo(arrived(600), NOW);
  expect(peak.maxima).toEqual([{ at: NOW, load: 10 }]);
  const later = rolledTo(peak, NOW + MINUTE / 2);
  expect(later.maxima).toEqual([{ at: NOW, load: 10 }]);
  const next = rolledTo(later, NOW + MINUTE - 1);
  expect(next.maxima).toEqual([{ at: NOW, load: 10 }]);
});

test('counts a future maximum for this minute and removes work far in the future', () => {
  const ahead = { ...arrived(600, NOW + 60 * MINUTE), maxima: [{ at: NOW + 60 * MINUTE, load: 10 }] };
  expect(rolledTo(ahead, NOW)).toMatchObject({ arrivals: [], maxima: [{ at: NOW, load: 10 }] });
});

test('removes what is outside all windows', () => {
  const history = arrived(600);
  expect(rolledTo(history, NOW + MINUTE - 1).arrivals).toHaveLength(1);
  expect(rolledTo(history, NOW + MINUTE).arrivals).toEqual([]);
  const old = { ...EMPTY_HISTORY, maxima: [{ at: NOW, load: 10 }] };
  const over = NOW + defaultTimes.maximumMs + defaultTimes.longMs;
  expect([longestLoad(old, over - 1), longestLoad(old, over)]).toEqual([10, 0]);
  expect(rolledTo(old, over).maxima).toEqual([]);
});
