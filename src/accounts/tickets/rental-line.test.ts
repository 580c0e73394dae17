import { expect, test } from 'vitest';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { RentalLine } from './rental-line.ts';

const GAP = 1_000;

function setUp() {
  const clock = createVirtualClock();
  return { clock, line: new RentalLine(clock, GAP) };
}

test('each waits a gap for everyone before it, and at least a moment', () => {
  const { line } = setUp();
  expect([line.ahead('a'), line.wait('a', 300)]).toEqual([0, 300]);
  expect([line.ahead('b'), line.wait('b', 300)]).toEqual([1, 1_300]);
  expect([line.ahead('c'), line.wait('c', 0)]).toEqual([2, 2_000]);
  expect(setUp().line.wait('a', 0)).toBe(20);
});

test('a place that somebody holds costs one gap, not the time until it expires', () => {
  expect(setUp().line.wait('a', 5_000)).toBe(GAP);
});

test('who asks again keeps its place', () => {
  const { line } = setUp();
  line.wait('a', 300);
  line.wait('b', 300);
  expect([line.wait('a', 500), line.ahead('a'), line.ahead('b'), line.ahead('c')]).toEqual([500, 0, 1, 2]);
});

test('who leaves makes room, for those behind alone', () => {
  const { line } = setUp();
  for (const uid of ['a', 'b', 'c']) line.wait(uid, 300);
  line.leave('b');
  expect([line.ahead('a'), line.ahead('c'), line.ahead('b')]).toEqual([0, 1, 2]);
});

test('who does not come back within two seconds of its turn holds nobody up', async () => {
  const { clock, line } = setUp();
  line.wait('a', 300);
  await clock.advance(2_299);
  expect(line.ahead('b')).toBe(1);
  await clock.advance(1);
  expect(line.ahead('b')).toBe(0);
});
