import { describe, expect, test } from 'vitest';
import { groupObject } from '../../../../test/builders/group-worker.ts';
import { defaultTimes, timesAt } from '../times.ts';
import { maxUnavailable, scalingOptions, usualPerf } from './capacity.ts';

test('returns the options of a spec as numbers: loads per second and times in seconds', () => {
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
  ['the load alone by default', {}, { type: 'load' }],
  ['the load alone at an inactivityTimeout of 0', { inactivityTimeout: '0s' }, { type: 'load' }],
  ['an idle time', { inactivityTimeout: '10m' }, { type: 'after', ms: 600_000 }],
  ['scaleToZero Never', { scaleToZero: 'Never' }, { type: 'never' }],
])('the idle rule is %s', (_, spec, idle) => {
  expect(scalingOptions(groupObject(spec).spec).idle).toEqual(idle);
});

describe('unavailable workers in a rollout', () => {
  const rolling = (allowed: number | string) => ({ type: 'RollingUpdate', maxUnavailable: allowed });
  test.each<[string, object, number, number | undefined]>([
    ['are the allowed number', rolling(3), 9, 3],
    ['are at least one', rolling(1), 0, 1],
    ['are a share of the hot ones', rolling('50%'), 4, 2],
    ['are rounded down', rolling('30%'), 9, 2],
    ['are at least one of a share', rolling('10%'), 4, 1],
    ['are undefined for OnDelete', { type: 'OnDelete' }, 4, undefined],
  ])('%s', (_, updateStrategy, hot, count) => {
    expect(maxUnavailable(groupObject({ updateStrategy }).spec, hot)).toBe(count);
  });
});

test.each<[string, readonly number[], string | undefined, number | undefined]>([
  ['the median of reports in any order', [900, 10, 100], '7', 100],
  ['the mean of the middle two', [900, 10, 100, 200], '7', 150],
  ['the mean of two', [900, 100], undefined, 500],
  ['the only report', [40], '7', 40],
  ['the stated one without reports', [], '7', 7],
  ['unknown without either', [], undefined, undefined],
  ['unknown when 0 is stated', [], '0', undefined],
])('the usual performance is %s', (_, told, stated, perf) => {
  expect(usualPerf(told, stated)).toBe(perf);
});

test('scales all spans together, to at least one millisecond', () => {
  expect(timesAt(1)).toEqual(defaultTimes);
  const tenth = Object.fromEntries(Object.entries(defaultTimes).map(([name, ms]) => [name, ms / 10]));
  expect(timesAt(10)).toEqual({ ...tenth, speed: 10 });
  const { speed: _, ...least } = timesAt(1e9);
  expect(new Set(Object.values(least))).toEqual(new Set([1]));
});
