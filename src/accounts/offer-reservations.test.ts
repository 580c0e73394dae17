import { expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { OfferReservations, RESERVATION_MS } from './pending-rentals.ts';

function setUp() {
  const clock = createVirtualClock();
  return { clock, reservations: new OfferReservations(clock) };
}

test('an offer is reserved by one object at a time, which may prolong it', async () => {
  const { clock, reservations } = setUp();
  expect([
    reservations.reserve('1', 'a'),
    reservations.reserve('1', 'b'),
    reservations.reserve('2', 'b'),
  ]).toEqual([true, false, true]);
  await clock.advance(RESERVATION_MS - 1);
  expect(reservations.reserve('1', 'a')).toBe(true);
  await clock.advance(RESERVATION_MS - 1);
  expect(reservations.reserve('1', 'b')).toBe(false);
});

test('an offer is free again when its time is over, asked in any way', async () => {
  const { clock, reservations } = setUp();
  reservations.reserve('1', 'a');
  await clock.advance(RESERVATION_MS - 1);
  expect(reservations.isReserved('1')).toBe(true);
  expect(reservations.isReservedByOther('1', 'b')).toBe(true);
  await clock.advance(1);
  expect(reservations.isReserved('1')).toBe(false);
  expect(reservations.isReservedByOther('1', 'b')).toBe(false);
  expect(reservations.reserve('1', 'b')).toBe(true);
});

test('an offer is given back by who holds it alone', () => {
  const { reservations } = setUp();
  reservations.reserve('1', 'a');
  reservations.release('1', 'b');
  reservations.release('2', 'a');
  expect(reservations.isReserved('1')).toBe(true);
  reservations.release('1', 'a');
  expect([reservations.isReserved('1'), reservations.isReserved('2')]).toEqual([false, false]);
});

test('what an object holds itself is not reserved by others', () => {
  const { reservations } = setUp();
  reservations.reserve('1', 'a');
  reservations.reserve('2', 'b');
  expect(['1', '2'].map((offer) => reservations.isReservedByOther(offer, 'a'))).toEqual([false, true]);
});
