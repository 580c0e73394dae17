import { expect, test } from 'vitest';
import { countOf, epochMs } from './scalars.ts';

test.for([
  [1_767_614_400.5, 1_767_614_400_500],
  [0, 0],
  [-1, -1000],
  [8.64e12, 8.64e15],
  [8.64e12 + 1, undefined],
  [1e300, undefined],
  [undefined, undefined],
] as const)('%s seconds are the moment %s, if a date can stand for it', ([seconds, moment]) => {
  expect(epochMs(seconds)).toBe(moment);
});

test.for([
  [0, 0],
  ['8', 8],
  [1_000_000, 1_000_000],
  [1_000_001, undefined],
  [-1, undefined],
  [1.5, undefined],
  [null, undefined],
] as const)('%s parts are %s, if a machine can have so many', ([given, count]) => {
  expect(countOf(given)).toBe(count);
});
