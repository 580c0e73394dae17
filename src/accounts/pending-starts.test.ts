import { beforeEach, expect, test } from 'vitest';
import { instanceSummary } from '../../test/builders/instance-summary.ts';
import { createVirtualClock, type VirtualClock } from '../../test/builders/virtual-clock.ts';
import { listedObjects } from './account-objects.ts';
import { PendingStarts } from './pending-rentals.ts';

const DISK = 10_000;
const PRICE = 1_000_000;
const START = { objectUid: 'a', namespace: 'team', pricePerHour: PRICE, timeoutMs: 120_000 };

let clock: VirtualClock;
let starts: PendingStarts;

beforeEach(() => {
  clock = createVirtualClock();
  starts = new PendingStarts(clock);
});

const machine = (pricePerHour: number, uid = 'a') => instanceSummary({ uid, instanceId: '7', pricePerHour });
const prices = (pricePerHour = DISK, exceptUid?: string) =>
  starts.pending(listedObjects([machine(pricePerHour)]), exceptUid).map((start) => start.pricePerHour);

test('a start counts with what its record leaves out of the price, as no machine and no rental', () => {
  starts.begin(START);
  expect(starts.pending(listedObjects([machine(DISK, 'b'), machine(DISK)]))).toEqual([
    { at: clock.now(), namespace: 'team', pricePerHour: PRICE - DISK, recorded: true },
  ]);
});

test('a start counts as long as its call waits for its place or its answer', async () => {
  starts.begin(START);
  await clock.advance(3_600_000);
  expect(prices()).toEqual([PRICE - DISK]);
});

test.each([true, 'unknown'] as const)(
  'a start counts until the time is over within which it has to run (started: %s)',
  async (started) => {
    const settle = starts.begin(START);
    await clock.advance(30_000);
    settle(started);
    await clock.advance(119_999);
    expect(prices()).toEqual([PRICE - DISK]);
    await clock.advance(1);
    expect(prices()).toEqual([]);
  },
);

test('a start that came to nothing counts no more', () => {
  starts.begin(START)(false);
  expect(prices()).toEqual([]);
});

test('a start is not ended by a record that shows its price, which may be of before the stop', async () => {
  starts.begin(START)(true);
  expect(prices(PRICE - 1)).toEqual([1]);
  expect(prices(PRICE)).toEqual([]);
  expect(prices()).toEqual([PRICE - DISK]);
  await clock.advance(120_000);
  expect(prices()).toEqual([]);
});

test('a start counts for nothing while its machine or its object is not there', () => {
  starts.begin(START);
  expect(starts.pending(listedObjects([instanceSummary({ uid: 'a' })]))).toEqual([]);
  expect(starts.pending(listedObjects([]))).toEqual([]);
  expect(prices()).toEqual([PRICE - DISK]);
});

test('the start of one object can be left out', () => {
  starts.begin(START);
  expect(prices(DISK, 'a')).toEqual([]);
  expect(prices(DISK, 'b')).toEqual([PRICE - DISK]);
});

test('a start that was asked for again is not ended by the answer to the first', () => {
  const first = starts.begin(START);
  starts.begin(START);
  first(false);
  expect(prices()).toEqual([PRICE - DISK]);
});

test('a start without a price counts nothing', () => {
  starts.begin({ ...START, pricePerHour: undefined });
  expect(prices()).toEqual([]);
});
