import { describe, expect, test } from 'vitest';
import { groupObject } from '../../../../test/builders/group-worker.ts';
import { defaultTimes, timesAt } from '../times.ts';
import { maxUnavailable, scalingOptions, usualPerf } from './capacity.ts';

test('the options of a spec are numbers, loads per second and times in seconds', () => {
  const { spec } = groupObject({
    ...{
      minLoad: '1.5',
      minColdLoad: '2.5',
      targetUtilizationPercent: 80,
      coldMultiplier: '3',
      coldWorkers: 4,
    },
    ...{ maxWorkers: 7, maxQueueTime: '45s', targetQueueTime: '1m' },
  });
  expect(scalingOptions(spec)).toEqual({
    ...{ minLoad: 1.5, minColdLoad: 2.5, targetUtilization: 0.8, coldMultiplier: 3, coldWorkers: 4 },
    ...{ maxWorkers: 7, maxQueueSeconds: 45, targetQueueSeconds: 60, idle: { type: 'load' } },
  });
});

test.each<[string, Record<string, unknown>, object]>([
  ['the load alone where nothing is said', {}, { type: 'load' }],
  ['the load alone where no time is to pass', { inactivityTimeout: '0s' }, { type: 'load' }],
  ['a time without work', { inactivityTimeout: '10m' }, { type: 'after', ms: 600_000 }],
  ['nothing', { scaleToZero: 'Never' }, { type: 'never' }],
])('what lets the last worker go is %s', (_, spec, idle) => {
  expect(scalingOptions(groupObject(spec).spec).idle).toEqual(idle);
});

describe('workers that may be out of service for a new template', () => {
  const rolling = (allowed: number | string) => ({ type: 'RollingUpdate', maxUnavailable: allowed });
  test.each<[string, object, number, number | undefined]>([
    ['are as many as are allowed', rolling(3), 9, 3],
    ['are one at least', rolling(1), 0, 1],
    ['are a share of the hot ones', rolling('50%'), 4, 2],
    ['are rounded down', rolling('30%'), 9, 2],
    ['are one at least of a share, too', rolling('10%'), 4, 1],
    ['are none that could be counted under OnDelete', { type: 'OnDelete' }, 4, undefined],
  ])('%s', (_, updateStrategy, hot, count) => {
    expect(maxUnavailable(groupObject({ updateStrategy }).spec, hot)).toBe(count);
  });
});

test.each<[string, readonly number[], string | undefined, number | undefined]>([
  ['the middle of what was told, in whatever order', [900, 10, 100], '7', 100],
  ['between the middle two of an even number', [900, 10, 100, 200], '7', 150],
  ['between two', [900, 100], undefined, 500],
  ['what one told', [40], '7', 40],
  ['what is stated where none told any', [], '7', 7],
  ['unknown where nothing is stated', [], undefined, undefined],
  ['unknown where nothing is stated to be', [], '0', undefined],
])('the usual performance is %s', (_, told, stated, perf) => {
  expect(usualPerf(told, stated)).toBe(perf);
});

test('all spans run faster together, and none is less than a millisecond', () => {
  expect(timesAt(1)).toEqual(defaultTimes);
  const tenth = Object.fromEntries(Object.entries(defaultTimes).map(([name, ms]) => [name, ms / 10]));
  expect(timesAt(10)).toEqual({ ...tenth, speed: 10 });
  const { speed: _, ...least } = timesAt(1e9);
  expect(new Set(Object.values(least))).toEqual(new Set([1]));
});
