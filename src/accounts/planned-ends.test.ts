import { expect, test } from 'vitest';
import { PlannedEnds } from './planned-ends.ts';

test('an end is judged by the first list after it was planned (A1)', () => {
  const ends = new PlannedEnds();
  ends.plan('a', 0);
  expect(ends.isJudged('a')).toBe(false);
  expect([...ends.judge(10)]).toEqual(['a']);
  expect(ends.isJudged('a')).toBe(true);
  ends.plan('a', 20);
  expect(ends.isJudged('a')).toBe(true);
});

test('an end that is given up, or no longer repeated, counts no more', () => {
  const ends = new PlannedEnds();
  ends.plan('a', 0);
  ends.plan('b', 0);
  ends.drop('a');
  expect([...ends.judge(180_000)]).toEqual(['b']);
  expect([...ends.judge(180_001)]).toEqual([]);
  expect(ends.isJudged('b')).toBe(false);
});

test('an end for idleness that is due counts with all that are announced', () => {
  const ends = new PlannedEnds();
  for (const uid of ['a', 'b', 'c']) ends.announce(uid, 0);
  expect(ends.count()).toBe(0);
  ends.plan('by price', 0);
  expect(ends.count()).toBe(1);
  ends.plan('a', 0);
  expect(ends.count()).toBe(4);
  ends.withdraw('b');
  expect(ends.count()).toBe(3);
  ends.drop('a');
  expect(ends.count()).toBe(1);
});

test('an announced end that is no longer repeated counts no more', () => {
  const ends = new PlannedEnds();
  for (const [uid, at] of [
    ['a', 0],
    ['b', 1],
    ['c', 100_000],
    ['d', 100_000],
  ] as const)
    ends.announce(uid, at);
  ends.plan('d', 100_000);
  expect(ends.count()).toBe(4);
  ends.judge(180_001);
  expect(ends.count()).toBe(3);
  ends.judge(180_002);
  expect(ends.count()).toBe(2);
});
