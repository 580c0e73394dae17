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
