import { expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { OfferReservations, RESERVATION_MS } from './pending-rentals.ts';

function setUp() {
  const clock = createVirtualClock();
  return { clock, held: new OfferReservations(clock) };
}

test('an offer is held by one object at a time, which may prolong it', async () => {
  const { clock, held } = setUp();
  expect([held.reserve(1, 'a'), held.reserve(1, 'b'), held.reserve(2, 'b')]).toEqual([true, false, true]);
  await clock.advance(RESERVATION_MS - 1);
  expect(held.reserve(1, 'a')).toBe(true);
  await clock.advance(RESERVATION_MS - 1);
  expect(held.reserve(1, 'b')).toBe(false);
});

test('an offer is free again when its time is over, asked in any way', async () => {
  const { clock, held } = setUp();
  held.reserve(1, 'a');
  await clock.advance(RESERVATION_MS - 1);
  expect(held.isHeld(1)).toBe(true);
  expect(held.isHeldByOther(1, 'b')).toBe(true);
  await clock.advance(1);
  expect(held.isHeld(1)).toBe(false);
  expect(held.isHeldByOther(1, 'b')).toBe(false);
  expect(held.reserve(1, 'b')).toBe(true);
});

test('an offer is given back by who holds it alone', () => {
  const { held } = setUp();
  held.reserve(1, 'a');
  held.release(1, 'b');
  held.release(2, 'a');
  expect(held.isHeld(1)).toBe(true);
  held.release(1, 'a');
  expect([held.isHeld(1), held.isHeld(2)]).toEqual([false, false]);
});

test('what an object holds itself is not held by others', () => {
  const { held } = setUp();
  held.reserve(1, 'a');
  held.reserve(2, 'b');
  expect([1, 2].map((offer) => held.isHeldByOther(offer, 'a'))).toEqual([false, true]);
});
