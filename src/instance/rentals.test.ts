import { expect, test } from 'vitest';
import { countsFor, recentRentals, rentalTimes, withRental } from './rentals.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const AN_HOUR_AGO = '2026-11-20T11:00:00Z';
const WITHIN = '2026-11-20T11:00:01Z';

test('reads the times on record and leaves out what is none', () => {
  expect(rentalTimes({ rentals: [AN_HOUR_AGO, 'yesterday'] })).toEqual([NOW - 3_600_000]);
  expect([rentalTimes({}), rentalTimes(undefined)]).toEqual([[], []]);
});

test('counts a rental for an hour, and not in the moment in which that ends', () => {
  expect(recentRentals(rentalTimes({ rentals: [AN_HOUR_AGO, WITHIN] }), NOW)).toEqual([NOW - 3_599_000]);
  expect([countsFor(NOW - 3_599_000, NOW), countsFor(NOW - 3_600_000, NOW)]).toEqual([1_000, 0]);
});

test('adds a rental to those that still count', () => {
  expect(withRental([AN_HOUR_AGO, 'yesterday', WITHIN], NOW)).toEqual([WITHIN, '2026-11-20T12:00:00Z']);
  expect(withRental(undefined, NOW)).toEqual(['2026-11-20T12:00:00Z']);
});

test('keeps the newest when the status is full', () => {
  const kept = withRental(
    Array.from({ length: 200 }, () => WITHIN),
    NOW,
  );
  expect(kept).toHaveLength(128);
  expect(kept.at(-1)).toBe('2026-11-20T12:00:00Z');
});
