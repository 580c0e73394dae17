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

test('an offer with stock is held by as many objects as it has machines', () => {
  const { reservations } = setUp();
  reservations.shown([{ id: '1', stock: 2 }], 0);
  expect(['a', 'b', 'c'].map((uid) => reservations.reserve('1', uid))).toEqual([true, true, false]);
  expect([reservations.isReserved('1'), reservations.isReservedByOther('1', 'a')]).toEqual([true, false]);
  reservations.release('1', 'b');
  expect(reservations.reserve('1', 'c')).toBe(true);
});

test('a rental that comes before counts as one more that holds the offer', () => {
  const { reservations } = setUp();
  reservations.shown([{ id: '1', stock: 2 }], 0);
  reservations.reserve('1', 'a');
  expect([0, 1].map((promised) => reservations.isReservedByOther('1', 'b', promised))).toEqual([false, true]);
});

test('a stock that is shown after a rental lacks its machine, and one from before does not', async () => {
  const { clock, reservations } = setUp();
  reservations.shown([{ id: '1', stock: 1 }], clock.monotonic());
  reservations.reserve('1', 'a');
  await clock.advance(1_000);
  const begunBefore = clock.monotonic();
  await clock.advance(1_000);
  reservations.rented('1', 'a');
  reservations.shown([{ id: '1', stock: 1 }], begunBefore);
  expect(reservations.isReserved('1')).toBe(true);
  await clock.advance(1_000);
  reservations.shown([{ id: '1', stock: 1 }], clock.monotonic());
  expect(reservations.isReserved('1')).toBe(false);
});

test('the stock of an earlier search replaces none of a later one', () => {
  const { reservations } = setUp();
  reservations.shown([{ id: '1', stock: 1 }], 2);
  reservations.shown([{ id: '1', stock: 5 }], 1);
  expect(['a', 'b'].map((uid) => reservations.reserve('1', uid))).toEqual([true, false]);
});

test('an offer counts as one machine again when no search has shown its stock for long', () => {
  const { reservations } = setUp();
  reservations.shown([{ id: '1', stock: 2 }], 0);
  reservations.shown([{ id: '2', stock: 2 }], RESERVATION_MS);
  const reserved = ['1', '2'].map((offer) => ['a', 'b'].map((uid) => reservations.reserve(offer, uid)));
  expect(reserved).toEqual([
    [true, false],
    [true, true],
  ]);
});
