import { expect, test } from 'vitest';
import type { EndpointGroupStatus } from '../../api/v1alpha1/endpoint-group.ts';
import { endpointGroupSpec } from '../../api/v1alpha1/endpoint-group-spec.ts';
import { explainGroup, explanationOf, RULES, targetText } from './explain.ts';

const spec = endpointGroupSpec.parse({ template: { spec: { image: 'x' } } });

/** Terms with unequal figures, so that a test finds each missing one. */
const TERMS: NonNullable<EndpointGroupStatus['autoscaling']> = {
  at: '2026-01-02T03:04:05Z',
  load: '101',
  burstLoad: '102',
  longLoad: '103',
  queue: '104',
  capacity: '105',
  perf: '106',
  rateCapacity: '107',
  queueCapacity: '108',
  hotCapacity: '109',
  totalCapacity: '110',
  stabilizedHotCapacity: '111',
  stabilizedTotalCapacity: '112',
  hotNeed: 113,
  totalNeed: 114,
  hot: 115,
  total: 116,
  rule: 'DownWindow',
};

test('shows every term of a decision and its rule', () => {
  const text = explainGroup({ spec, status: { autoscaling: TERMS } }).join('\n');
  expect(Object.values(TERMS).filter((term) => !text.includes(String(term)))).toEqual([]);
  expect(text).toContain(RULES.DownWindow);
});

test('shows every option of a formula with its value', () => {
  const odd = endpointGroupSpec.parse({
    ...{ minLoad: '201', minColdLoad: '202', targetUtilizationPercent: 83, coldMultiplier: '2.04' },
    ...{ coldWorkers: 7, maxWorkers: 27, targetQueueTime: '11s' },
    template: { spec: { image: 'x' } },
  });
  const text = explainGroup({ spec: odd, status: { autoscaling: TERMS } }).join('\n');
  const values = ['201', '202', '83 %', '2.04', 'coldWorkers 7', 'maxWorkers 27', '11s'];
  expect(values.filter((value) => !text.includes(value))).toEqual([]);
});

test('reports a missing decision, and shows the terms of an earlier version', () => {
  expect(explainGroup({ spec })).toEqual(['No scaling decision yet.']);
  const { stabilizedHotCapacity: _hot, stabilizedTotalCapacity: _total, perf: _perf, ...older } = TERMS;
  const text = explainGroup({ spec, status: { autoscaling: older } }).join('\n');
  expect(text).not.toContain('undefined');
  expect(text).toContain('unknown /s per worker');
});

test('names target and rule, then the figures', () => {
  expect(targetText({ hot: 2, total: 3, rule: 'Floor' })).toBe(
    'Target: 2 hot, 3 total, from minLoad, which exceeds the load.',
  );
  expect(targetText({ hot: 2, total: 3, rule: 'Later' })).toBe('Target: 2 hot, 3 total, Later.');
  expect(explanationOf({ ...TERMS, hotNeed: 1, rule: 'Load' })).toBe(
    'Target: 115 hot, 116 total, from load at target utilization. Load 101/s with 104 waiting needs 109/s hot (1 worker), 110/s total (114 workers).',
  );
});

test('explains a decision within 512 characters', () => {
  const longest = Object.fromEntries(
    Object.entries(TERMS).map(([name, value]) => [
      name,
      typeof value === 'string' ? '123456789012.123' : 1000,
    ]),
  ) as typeof TERMS;
  for (const rule of Object.keys(RULES))
    expect(explanationOf({ ...longest, rule }).length).toBeLessThanOrEqual(512);
});
