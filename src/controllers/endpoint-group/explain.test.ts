import { expect, test } from 'vitest';
import type { EndpointGroupStatus } from '../../api/v1alpha1/endpoint-group.ts';
import { endpointGroupSpec } from '../../api/v1alpha1/endpoint-group-spec.ts';
import { explainGroup, RULES, sentenceOf } from './explain.ts';

const spec = endpointGroupSpec.parse({ template: { spec: { image: 'x' } } });

/** No two figures are alike, so that one that is left out is missed. */
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

test('shows every term of a decision, and the rule that decided', () => {
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

test('says that a group has no decision, and shows what one of an earlier version has', () => {
  expect(explainGroup({ spec })).toEqual(['Nothing has been decided yet.']);
  const { stabilizedHotCapacity: _hot, stabilizedTotalCapacity: _total, perf: _perf, ...older } = TERMS;
  const text = explainGroup({ spec, status: { autoscaling: older } }).join('\n');
  expect(text).not.toContain('undefined');
  expect(text).toContain('one worker unknown /s');
});

test('the sentence of a decision fits into the status', () => {
  const longest = Object.fromEntries(
    Object.entries(TERMS).map(([name, value]) => [
      name,
      typeof value === 'string' ? '123456789012.123' : 1000,
    ]),
  ) as typeof TERMS;
  for (const rule of Object.keys(RULES))
    expect(sentenceOf({ ...longest, rule }).length).toBeLessThanOrEqual(512);
});
