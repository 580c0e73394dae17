import { beforeEach, describe, expect, test } from 'vitest';
import { instanceSummary } from '../../test/builders/instance-summary.ts';
import { createVirtualClock, type VirtualClock } from '../../test/builders/virtual-clock.ts';
import type { InstanceSummary } from '../instance/summary.ts';
import { listedObjects } from './account-objects.ts';
import { PendingRentals, type RentalGrant, TICKET_MS } from './pending-rentals.ts';

const PRICE = 500_000;
const HOUR = 3_600_000;

let clock: VirtualClock;
let rentals: PendingRentals;

beforeEach(() => {
  clock = createVirtualClock();
  rentals = new PendingRentals(clock);
});

/** Returns a rental of the object of that uid. */
const of = (objectUid: string, pricePerHour = PRICE) => ({ objectUid, namespace: 'team', pricePerHour });
const object = (change: Partial<InstanceSummary> = {}): InstanceSummary =>
  instanceSummary({ uid: 'a', ...change });
/** Returns the object after the intent of a rental is recorded. */
const intended = (change: Partial<InstanceSummary> = {}) =>
  object({ hasOpenIntent: true, newestRentalAt: clock.now(), ...change });
const prices = (...objects: InstanceSummary[]) =>
  rentals.pending(listedObjects(objects)).map(({ pricePerHour, recorded }) => [pricePerHour, recorded]);

function called(before: InstanceSummary | undefined = object()): RentalGrant {
  const booking = rentals.begin(of('a'), before);
  expect(booking.use()).toBe(true);
  return booking;
}

test('an object that never comes back with its ticket keeps the others busy no longer than that is valid', async () => {
  rentals.begin(of('a'), undefined);
  expect(rentals.hasUnsettled('b')).toBe(true);
  await clock.advance(TICKET_MS);
  expect(rentals.hasUnsettled('b')).toBe(false);
});

test('an unused ticket counts until it expires', async () => {
  rentals.begin(of('a'), object());
  expect(prices(object())).toEqual([[PRICE, false]]);
  await clock.advance(TICKET_MS - 1);
  expect(prices(object())).toEqual([[PRICE, false]]);
  await clock.advance(1);
  expect(prices(object())).toEqual([]);
  expect(rentals.knows('a')).toBe(false);
});

test('an unused ticket is forgotten when it expires, whatever the record shows', async () => {
  rentals.begin(of('a'), object());
  const open = intended();
  await clock.advance(TICKET_MS);
  expect(prices(open)).toEqual([]);
  expect(rentals.knows('a')).toBe(false);
});

test('an object that asks again gives up its ticket', () => {
  const first = rentals.begin(of('a'), object());
  rentals.restart('a');
  expect(first.use()).toBe(false);
  const second = rentals.begin(of('a', 2 * PRICE), object());
  first.settle(false);
  expect(second.use()).toBe(true);
  expect(prices(object())).toEqual([[2 * PRICE, false]]);
});

describe('a call that was sent', () => {
  test.each(['unknown', true] as const)('counts while its record is open (rented: %s)', async (rented) => {
    const booking = called();
    const open = intended();
    booking.settle(rented);
    await clock.advance(HOUR);
    expect(prices(open)).toEqual([[PRICE, true]]);
    expect(rentals.knows('a')).toBe(true);
  });

  test('counts while it is under way, whatever its record says', async () => {
    called();
    await clock.advance(120_000);
    expect(prices(object())).toEqual([[PRICE, false]]);
    expect(prices()).toEqual([[PRICE, false]]);
  });

  test('counts for five minutes where no record ever shows it', async () => {
    called().settle('unknown');
    await clock.advance(299_999);
    expect(prices()).toEqual([[PRICE, false]]);
    await clock.advance(1);
    expect(prices()).toEqual([]);
  });

  test('counts no more once its record is closed', () => {
    called().settle('unknown');
    expect(prices(intended({ hasOpenIntent: false }))).toEqual([]);
    expect(rentals.knows('a')).toBe(false);
  });

  test('is not closed by the record of an earlier rental', () => {
    const before = object({ newestRentalAt: clock.now() });
    called(before).settle('unknown');
    expect(prices(before)).toEqual([[PRICE, false]]);
  });

  test('leaves its price to a record that has one', () => {
    called().settle(true);
    expect(prices(intended({ instanceId: '7', pricePerHour: PRICE }))).toEqual([]);
    expect(rentals.knows('a')).toBe(true);
  });

  test('is sent once', () => {
    expect(called().use()).toBe(false);
  });
});

describe('what came to nothing', () => {
  test.each([
    ['as the service said', () => called().settle(false)],
    ['as the object says that asks for another', () => rentals.restart('a')],
  ])('costs nothing, and is known as long as a record still shows it, %s', async (_, happens) => {
    happens();
    const open = intended();
    await clock.advance(HOUR);
    expect(prices(open)).toEqual([]);
    expect(rentals.knows('a')).toBe(true);
    expect(prices(object())).toEqual([]);
    expect(rentals.knows('a')).toBe(false);
  });

  test('blocks no object', () => {
    called().settle(false);
    rentals.restart('a');
    expect(rentals.hasUnsettled('b')).toBe(false);
  });
});

test('an unknown outcome blocks other objects, a known one does not, and none blocks its own object', () => {
  const booking = called();
  booking.settle('unknown');
  expect([rentals.hasUnsettled('b'), rentals.hasUnsettled('a')]).toEqual([true, false]);
  booking.settle(true);
  expect(rentals.hasUnsettled('b')).toBe(false);
});

test('who has a ticket is named until it is used or over: by then its intent is on record', async () => {
  expect(rentals.unused()).toEqual([]);
  const booking = rentals.begin(of('a'), undefined);
  expect(rentals.unused()).toEqual(['a']);
  booking.use();
  expect(rentals.unused()).toEqual([]);
  rentals.begin(of('b'), undefined);
  expect(rentals.unused()).toEqual(['b']);
  await clock.advance(TICKET_MS);
  expect(rentals.unused()).toEqual([]);
});
