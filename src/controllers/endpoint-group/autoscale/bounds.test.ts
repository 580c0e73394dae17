import { describe, expect, test } from 'vitest';
import { EMPTY_HISTORY } from '../load/state.ts';
import type { MetricsState } from '../load/view.ts';
import { defaultTimes } from '../times.ts';
import { limitHot, limitTotal, type ScalingInput } from './bounds.ts';
import type { CountedWorker } from './scaling-worker.ts';

const workers = (count: number, overrides: Partial<CountedWorker> = {}): readonly CountedWorker[] =>
  Array.from({ length: count }, (_, index) => ({
    ...{ name: `${overrides.role}-${index}`, perf: 100, pricePerHour: 400_000, keepRank: index, role: 'hot' },
    ...{ isReady: true, wasEverReady: true, isOverdue: false, curLoad: 0 },
    ...overrides,
  }));

type Options = Partial<Pick<ScalingInput['options'], 'maxWorkers' | 'minLoad' | 'idle'>>;

function input(overrides: Partial<ScalingInput> & Options = {}): ScalingInput {
  const { maxWorkers = 20, minLoad = 0, idle = { type: 'load' }, ...rest } = overrides;
  const loads = { minLoad, minColdLoad: 0, targetUtilization: 1, coldMultiplier: 1, coldWorkers: 0 };
  return {
    ...{ now: 0, history: EMPTY_HISTORY, waiting: 0, metrics: 'available', workers: [], perf: 100 },
    ...{ lastActivity: 0, wakeAsked: false, mayReachZero: true, replicas: undefined, times: defaultTimes },
    options: { ...loads, maxWorkers, maxQueueSeconds: 30, targetQueueSeconds: 10, idle },
    memory: { recent: [], panicUntil: 0, hot: 0 },
    ...rest,
  };
}
const hotBefore = (hot: number): ScalingInput['memory'] => ({ recent: [], panicUntil: 0, hot });
const neverReady = { isReady: false, wasEverReady: false };

type Row = readonly [
  what: string,
  given: Parameters<typeof input>[0],
  wanted: number,
  limited: readonly [hot: number, rule: string],
];

describe('the desired number of hot workers', () => {
  test.each<Row>([
    ['is unchanged without a bound', { workers: workers(3) }, 4, [4, 'Load']],
    ['may be exactly maxWorkers', { maxWorkers: 4, workers: workers(4) }, 4, [4, 'Load']],
    ['is at most maxWorkers', { maxWorkers: 4, workers: workers(4) }, 5, [4, 'MaxWorkers']],
    ['at most doubles in one tick', { workers: workers(3) }, 9, [6, 'RampUp']],
    [
      'at most doubles in one tick with several decisions',
      { workers: workers(6), hotAtTick: 3 },
      9,
      [6, 'RampUp'],
    ],
    [
      'has no ramp when the tick began without hot workers',
      { workers: workers(3), hotAtTick: 0 },
      9,
      [9, 'Load'],
    ],
    ['may double', { workers: workers(3) }, 6, [6, 'Load']],
    ['grows by two from one', { workers: workers(1) }, 9, [3, 'RampUp']],
    ['grows without a ramp from none', {}, 9, [9, 'Load']],
    ['ramps at most to maxWorkers', { maxWorkers: 5, workers: workers(3) }, 9, [5, 'MaxWorkers']],
    ['stays when metrics are missing', { metrics: 'missing', workers: workers(3) }, 1, [3, 'MetricsMissing']],
    [
      'stays when metrics are doubtful',
      { metrics: 'doubtful', workers: workers(3) },
      1,
      [3, 'MetricsMissing'],
    ],
    [
      'stays at the last decision while workers boot',
      { metrics: 'missing', workers: workers(3), memory: hotBefore(5) },
      1,
      [5, 'MetricsMissing'],
    ],
    [
      'stays within maxWorkers when the last decision was higher',
      { metrics: 'missing', maxWorkers: 4, workers: workers(3), memory: hotBefore(9) },
      1,
      [4, 'MetricsMissing'],
    ],
    [
      'does not grow when metrics are missing',
      { metrics: 'missing', workers: workers(3) },
      6,
      [3, 'MetricsMissing'],
    ],
    ['does not grow from none when metrics are missing', { metrics: 'missing' }, 3, [0, 'MetricsMissing']],
    [
      'is at least one when metrics are missing with a minLoad',
      { metrics: 'missing', minLoad: 0.1 },
      3,
      [1, 'MetricsMissing'],
    ],
    [
      'is at least one when metrics are missing with scaleToZero Never',
      { metrics: 'missing', idle: { type: 'never' } },
      1,
      [1, 'Load'],
    ],
    [
      'keeps its rule when missing metrics change nothing',
      { metrics: 'missing', workers: workers(3) },
      3,
      [3, 'Load'],
    ],
    ['grows when metrics are doubtful', { metrics: 'doubtful', workers: workers(3) }, 6, [6, 'Load']],
    [
      'grows by a wake when metrics are missing',
      { metrics: 'missing', wakeAsked: true, workers: workers(3) },
      4,
      [4, 'Load'],
    ],
    [
      'grows by replicas when metrics are missing',
      { metrics: 'missing', replicas: 4, workers: workers(3) },
      4,
      [4, 'Load'],
    ],
    [
      'shrinks by replicas when metrics are missing',
      { metrics: 'missing', replicas: 1, workers: workers(3) },
      1,
      [1, 'Load'],
    ],
    [
      'does not count an overdue worker that was never ready',
      { metrics: 'missing', workers: [...workers(1), ...workers(1, { ...neverReady, isOverdue: true })] },
      0,
      [1, 'MetricsMissing'],
    ],
    [
      'counts a worker that is not overdue',
      { metrics: 'missing', workers: workers(2, neverReady) },
      0,
      [2, 'MetricsMissing'],
    ],
    [
      'counts an overdue worker that was ready',
      { metrics: 'missing', workers: workers(2, { isReady: false, isOverdue: true }) },
      0,
      [2, 'MetricsMissing'],
    ],
    [
      'counts no cold workers',
      { workers: [...workers(2), ...workers(4, { role: 'cold' })] },
      9,
      [4, 'RampUp'],
    ],
  ])('%s', (_, given, hot, [wanted, rule]) => {
    expect(limitHot(input(given), { hot, rule: 'Load', inPanic: false })).toEqual({ hot: wanted, rule });
  });

  test.each<Row>([
    ['keeps every hot worker in panic', { workers: workers(3) }, 1, [3, 'Panic']],
    ['keeps its rule when panic changes nothing', { workers: workers(3) }, 3, [3, 'Load']],
    [
      'does not count an overdue worker that was never ready in panic',
      { workers: workers(3, { ...neverReady, isOverdue: true }) },
      1,
      [1, 'Load'],
    ],
    ['follows replicas in panic', { replicas: 1, workers: workers(3) }, 1, [1, 'Load']],
  ])('%s', (_, given, hot, [wanted, rule]) => {
    expect(limitHot(input(given), { hot, rule: 'Load', inPanic: true })).toEqual({ hot: wanted, rule });
  });

  test('keeps the rule DownWindow when maxWorkers limits it', () => {
    const wanted = { hot: 5, rule: 'DownWindow', inPanic: false } as const;
    expect(limitHot(input({ maxWorkers: 4, workers: workers(4) }), wanted)).toEqual({
      hot: 4,
      rule: 'DownWindow',
    });
  });
});

describe('the desired total number of workers', () => {
  const present = [...workers(2), ...workers(3, { role: 'cold' }), ...workers(4, { role: 'leaving' })];

  test.each<[string, MetricsState, Partial<ScalingInput> & { readonly maxWorkers?: number }, number, number]>(
    [
      ['is unchanged without a bound', 'available', {}, 1, 1],
      ['is at most maxWorkers', 'available', { maxWorkers: 6 }, 9, 6],
      ['does not shrink when metrics are doubtful, without leaving workers', 'doubtful', {}, 1, 5],
      ['grows when metrics are doubtful', 'doubtful', {}, 7, 7],
      ['shrinks by replicas when metrics are doubtful', 'doubtful', { replicas: 1 }, 1, 1],
      ['does not shrink when metrics are missing', 'missing', {}, 1, 5],
      ['does not grow when metrics are missing', 'missing', {}, 9, 5],
      ['is at most maxWorkers when metrics are missing', 'missing', { maxWorkers: 4 }, 9, 4],
      ['grows by a wake when metrics are missing', 'missing', { wakeAsked: true }, 7, 7],
    ],
  )('%s', (_, metrics, more, wanted, total) => {
    expect(limitTotal(input({ metrics, workers: present, ...more }), wanted, 2)).toBe(total);
  });

  test('is at least the number of hot workers', () => {
    expect(limitTotal(input({ metrics: 'missing' }), 0, 2)).toBe(2);
  });
});
