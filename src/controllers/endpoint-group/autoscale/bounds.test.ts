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
    ...{ now: 0, history: EMPTY_HISTORY, waiting: 0, metrics: 'told', workers: [], perf: 100 },
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

describe('the wanted number of hot workers', () => {
  test.each<Row>([
    ['is what it is without a reason against it', { workers: workers(3) }, 4, [4, 'Load']],
    ['may be exactly maxWorkers', { maxWorkers: 4, workers: workers(4) }, 4, [4, 'Load']],
    ['is at most maxWorkers', { maxWorkers: 4, workers: workers(4) }, 5, [4, 'MaxWorkers']],
    ['doubles in one tick at most', { workers: workers(3) }, 9, [6, 'RampUp']],
    [
      'doubles in one tick at most, however often it is decided in it',
      { workers: workers(6), hotAtTick: 3 },
      9,
      [6, 'RampUp'],
    ],
    [
      'is bounded by none where the tick began with none',
      { workers: workers(3), hotAtTick: 0 },
      9,
      [9, 'Load'],
    ],
    ['may double', { workers: workers(3) }, 6, [6, 'Load']],
    ['grows by two where one is there', { workers: workers(1) }, 9, [3, 'RampUp']],
    ['grows at once where none is there', {}, 9, [9, 'Load']],
    ['ramps to maxWorkers at most', { maxWorkers: 5, workers: workers(3) }, 9, [5, 'MaxWorkers']],
    ['stays where no figures arrive', { metrics: 'missing', workers: workers(3) }, 1, [3, 'MetricsMissing']],
    [
      'stays where figures cannot be true',
      { metrics: 'doubtful', workers: workers(3) },
      1,
      [3, 'MetricsMissing'],
    ],
    [
      'stays as it was decided where workers are on their way',
      { metrics: 'missing', workers: workers(3), memory: hotBefore(5) },
      1,
      [5, 'MetricsMissing'],
    ],
    [
      'stays within maxWorkers though more were decided',
      { metrics: 'missing', maxWorkers: 4, workers: workers(3), memory: hotBefore(9) },
      1,
      [4, 'MetricsMissing'],
    ],
    [
      'does not grow where no figures arrive',
      { metrics: 'missing', workers: workers(3) },
      6,
      [3, 'MetricsMissing'],
    ],
    ['does not grow from none where no figures arrive', { metrics: 'missing' }, 3, [0, 'MetricsMissing']],
    [
      'is one at least without any figures where a load is always provided for',
      { metrics: 'missing', minLoad: 0.1 },
      3,
      [1, 'MetricsMissing'],
    ],
    [
      'is one at least without any figures where it is never to be none',
      { metrics: 'missing', idle: { type: 'never' } },
      1,
      [1, 'Load'],
    ],
    [
      'is no matter of figures where it is what it was',
      { metrics: 'missing', workers: workers(3) },
      3,
      [3, 'Load'],
    ],
    ['grows by figures that are not all true', { metrics: 'doubtful', workers: workers(3) }, 6, [6, 'Load']],
    [
      'grows by a wake without any figures',
      { metrics: 'missing', wakeAsked: true, workers: workers(3) },
      4,
      [4, 'Load'],
    ],
    [
      'grows by replicas without any figures',
      { metrics: 'missing', replicas: 4, workers: workers(3) },
      4,
      [4, 'Load'],
    ],
    [
      'shrinks by replicas without any figures',
      { metrics: 'missing', replicas: 1, workers: workers(3) },
      1,
      [1, 'Load'],
    ],
    [
      'is not kept for one that never got ready and is late',
      { metrics: 'missing', workers: [...workers(1), ...workers(1, { ...neverReady, isOverdue: true })] },
      0,
      [1, 'MetricsMissing'],
    ],
    [
      'is kept for one that is not late yet',
      { metrics: 'missing', workers: workers(2, neverReady) },
      0,
      [2, 'MetricsMissing'],
    ],
    [
      'is kept for one that was ready and is late',
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
    ['is no matter of panic where it is what it was', { workers: workers(3) }, 3, [3, 'Load']],
    [
      'keeps in panic none that never got ready and is late',
      { workers: workers(3, { ...neverReady, isOverdue: true }) },
      1,
      [1, 'Load'],
    ],
    ['is what replicas say, panic or not', { replicas: 1, workers: workers(3) }, 1, [1, 'Load']],
  ])('%s', (_, given, hot, [wanted, rule]) => {
    expect(limitHot(input(given), { hot, rule: 'Load', inPanic: true })).toEqual({ hot: wanted, rule });
  });

  test('that the down window keeps says so where maxWorkers bounds it', () => {
    const wanted = { hot: 5, rule: 'DownWindow', inPanic: false } as const;
    expect(limitHot(input({ maxWorkers: 4, workers: workers(4) }), wanted)).toEqual({
      hot: 4,
      rule: 'DownWindow',
    });
  });
});

describe('the wanted number of workers in all', () => {
  const present = [...workers(2), ...workers(3, { role: 'cold' }), ...workers(4, { role: 'leaving' })];

  test.each<[string, MetricsState, Partial<ScalingInput> & { readonly maxWorkers?: number }, number, number]>(
    [
      ['is what it is', 'told', {}, 1, 1],
      ['is at most maxWorkers', 'told', { maxWorkers: 6 }, 9, 6],
      ['does not shrink by figures that cannot be true; who leaves is not counted', 'doubtful', {}, 1, 5],
      ['grows by them', 'doubtful', {}, 7, 7],
      ['shrinks by replicas whatever the figures', 'doubtful', { replicas: 1 }, 1, 1],
      ['neither shrinks nor grows without figures', 'missing', {}, 1, 5],
      ['does not grow without them', 'missing', {}, 9, 5],
      ['is at most maxWorkers without them', 'missing', { maxWorkers: 4 }, 9, 4],
      ['grows by a wake without them', 'missing', { wakeAsked: true }, 7, 7],
    ],
  )('%s', (_, metrics, more, wanted, total) => {
    expect(limitTotal(input({ metrics, workers: present, ...more }), wanted, 2)).toBe(total);
  });

  test('is never less than the hot ones', () => {
    expect(limitTotal(input({ metrics: 'missing' }), 0, 2)).toBe(2);
  });
});
