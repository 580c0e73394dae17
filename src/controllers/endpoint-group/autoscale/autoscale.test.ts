import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  EMPTY_HISTORY,
  type LoadHistory,
  loadOver,
  longestLoad,
  rolledTo,
  withArrivals,
} from '../load/state.ts';
import { defaultTimes } from '../times.ts';
import { autoscale } from './autoscale.ts';
import type { ScalingInput } from './bounds.ts';
import { capacitiesFor, isFull, type ScalingOptions } from './capacity.ts';
import { cheapestCover } from './cover.ts';
import type { CountedWorker } from './scaling-worker.ts';

const NOW = 10_000_000_000;
const SECOND = 1000;

const NO_MEMORY: ScalingInput['memory'] = { recent: [], panicUntil: 0, hot: 0 };
const WITHOUT_WINDOW = { ...defaultTimes, downMs: 0 };

const DEFAULTS: ScalingOptions = {
  minLoad: 0,
  minColdLoad: 0,
  targetUtilization: 0.9,
  coldMultiplier: 2.5,
  coldWorkers: 5,
  maxWorkers: 20,
  maxQueueSeconds: 30,
  targetQueueSeconds: 10,
  idle: { type: 'load' },
};

/** Returns the history of a constant load over a minute. */
function steady(load: number, longLoad = load): LoadHistory {
  const history = withArrivals(EMPTY_HISTORY, { at: NOW, spanMs: 60 * SECOND, amount: load * 60 });
  return longLoad > load ? { ...history, maxima: [{ at: NOW - 1000, load: longLoad }] } : history;
}

function worker(overrides: Partial<CountedWorker> = {}): CountedWorker {
  return {
    name: 'w',
    perf: 100,
    pricePerHour: 400_000,
    keepRank: 0,
    role: 'hot',
    isReady: true,
    wasEverReady: true,
    isOverdue: false,
    curLoad: 0,
    ...overrides,
  };
}

const hotWorkers = (count: number, overrides: Partial<CountedWorker> = {}): CountedWorker[] =>
  Array.from({ length: count }, (_, index) => worker({ name: `hot-${index}`, ...overrides }));

function input(
  overrides: Partial<ScalingInput> & { readonly with?: Partial<ScalingOptions> } = {},
): ScalingInput {
  const { with: options, ...rest } = overrides;
  return {
    now: NOW,
    options: { ...DEFAULTS, ...options },
    history: EMPTY_HISTORY,
    waiting: 0,
    metrics: 'available',
    workers: [],
    perf: 100,
    lastActivity: NOW,
    wakeAsked: false,
    mayReachZero: true,
    replicas: undefined,
    times: WITHOUT_WINDOW,
    memory: NO_MEMORY,
    ...rest,
  };
}

interface Vector {
  readonly title: string;
  readonly given: ScalingInput;
  readonly rate: number;
  readonly queue: number;
  readonly hotCapacity: number;
  readonly totalCapacity: number;
  readonly hot: number;
  readonly cold: number;
  readonly missing?: number;
}

const IDLE_600 = { idle: { type: 'after', ms: 600 * SECOND } } as const;
const DOCUMENTED = { targetUtilization: 1, coldMultiplier: 2, coldWorkers: 0 };
const COLD_FLOOR = { targetUtilization: 1, coldMultiplier: 1, minColdLoad: 300, coldWorkers: 0 };

const VECTORS: readonly Vector[] = [
  {
    title: '1: no load',
    given: input(),
    rate: 0,
    queue: 0,
    hotCapacity: 0,
    totalCapacity: 0,
    hot: 0,
    cold: 5,
  },
  {
    title: '2: load 900 with 3000 waiting',
    given: input({ history: steady(900), waiting: 3000 }),
    rate: 1000,
    queue: 300,
    hotCapacity: 1000,
    totalCapacity: 2500,
    hot: 10,
    cold: 10,
    missing: 5,
  },
  {
    title: '3: a minimum of 1',
    given: input({ with: { minLoad: 1 } }),
    rate: 1.11,
    queue: 0,
    hotCapacity: 1.11,
    totalCapacity: 2.78,
    hot: 1,
    cold: 4,
  },
  {
    title: '4: a minimum of 100',
    given: input({ with: { minLoad: 100 } }),
    rate: 111.11,
    queue: 0,
    hotCapacity: 111.11,
    totalCapacity: 277.78,
    hot: 2,
    cold: 3,
  },
  {
    title: '5: load 100 with a multiplier of 2',
    given: input({ history: steady(100), with: DOCUMENTED, perf: 50 }),
    rate: 100,
    queue: 0,
    hotCapacity: 100,
    totalCapacity: 200,
    hot: 2,
    cold: 2,
  },
  {
    title: '6: the same with load 150',
    given: input({ history: steady(150), with: DOCUMENTED, perf: 50 }),
    rate: 150,
    queue: 0,
    hotCapacity: 150,
    totalCapacity: 300,
    hot: 3,
    cold: 3,
  },
  {
    title: '7: load 100 with a cold minimum of 300',
    given: input({ history: steady(100), with: COLD_FLOOR, perf: 50 }),
    rate: 100,
    queue: 0,
    hotCapacity: 100,
    totalCapacity: 300,
    hot: 2,
    cold: 4,
  },
  {
    title: '8: the same with load 150',
    given: input({ history: steady(150), with: COLD_FLOOR, perf: 50 }),
    rate: 150,
    queue: 0,
    hotCapacity: 150,
    totalCapacity: 300,
    hot: 3,
    cold: 3,
  },
  {
    title: '9: load 500 with 12000 waiting',
    given: input({ history: steady(500), waiting: 12_000 }),
    rate: 555.56,
    queue: 1200,
    hotCapacity: 1200,
    totalCapacity: 1388.89,
    hot: 12,
    cold: 2,
  },
  {
    title: '11: load 5000',
    given: input({ history: steady(5000) }),
    rate: 5555.56,
    queue: 0,
    hotCapacity: 5555.56,
    totalCapacity: 13_888.89,
    hot: 20,
    cold: 0,
    missing: 119,
  },
  {
    title: '12: 3000 new and 2000 rejected in 10 s',
    given: input({ history: withArrivals(EMPTY_HISTORY, { at: NOW, spanMs: 10 * SECOND, amount: 5000 }) }),
    rate: 555.56,
    queue: 0,
    hotCapacity: 555.56,
    totalCapacity: 1388.89,
    hot: 6,
    cold: 8,
  },
  {
    title: '13: load 100 after a peak of 1000',
    given: input({ history: steady(100, 1000) }),
    rate: 111.11,
    queue: 0,
    hotCapacity: 111.11,
    totalCapacity: 2777.78,
    hot: 2,
    cold: 18,
    missing: 8,
  },
  {
    title: '14: idle for 120 s of 600',
    given: input({ with: IDLE_600, lastActivity: NOW - 120 * SECOND }),
    rate: 0,
    queue: 0,
    hotCapacity: 0,
    totalCapacity: 0,
    hot: 1,
    cold: 4,
  },
  {
    title: '15: idle for 600 s of 600',
    given: input({ with: IDLE_600, lastActivity: NOW - 600 * SECOND }),
    rate: 0,
    queue: 0,
    hotCapacity: 0,
    totalCapacity: 0,
    hot: 0,
    cold: 5,
  },
  {
    title: '16: scaleToZero Never',
    given: input({ with: { idle: { type: 'never' } }, lastActivity: 0 }),
    rate: 0,
    queue: 0,
    hotCapacity: 0,
    totalCapacity: 0,
    hot: 1,
    cold: 4,
  },
  {
    title: '17: idle for 700 s of 600 without a cold minimum',
    given: input({ with: { ...IDLE_600, coldWorkers: 0 }, lastActivity: NOW - 700 * SECOND }),
    rate: 0,
    queue: 0,
    hotCapacity: 0,
    totalCapacity: 0,
    hot: 0,
    cold: 0,
  },
  {
    title: '18: no load and one request of 100 in the queue',
    given: input({ waiting: 100 }),
    rate: 0,
    queue: 10,
    hotCapacity: 10,
    totalCapacity: 10,
    hot: 1,
    cold: 4,
  },
  {
    title: '19: no load and 2500 in the queue',
    given: input({ waiting: 2500 }),
    rate: 0,
    queue: 250,
    hotCapacity: 250,
    totalCapacity: 250,
    hot: 3,
    cold: 2,
  },
  {
    title: '20: a multiplier below 1 acts as 1',
    given: input({ history: steady(900), with: { coldMultiplier: 0.5 } }),
    rate: 1000,
    queue: 0,
    hotCapacity: 1000,
    totalCapacity: 1000,
    hot: 10,
    cold: 0,
  },
  {
    title: '21: load 1000 at full utilization',
    given: input({ history: steady(1000), with: { targetUtilization: 1 } }),
    rate: 1000,
    queue: 0,
    hotCapacity: 1000,
    totalCapacity: 2500,
    hot: 10,
    cold: 10,
    missing: 5,
  },
  {
    title: '22: 21 / 0.7 / 10 is three workers, not four',
    given: input({
      history: steady(21),
      with: { targetUtilization: 0.7, coldMultiplier: 1, coldWorkers: 0 },
      perf: 10,
    }),
    rate: 30,
    queue: 0,
    hotCapacity: 30,
    totalCapacity: 30,
    hot: 3,
    cold: 0,
  },
  {
    title: '23: a cold minimum above maxWorkers, despite admission',
    given: input({ with: { coldWorkers: 5, maxWorkers: 3 } }),
    rate: 0,
    queue: 0,
    hotCapacity: 0,
    totalCapacity: 0,
    hot: 0,
    cold: 3,
    missing: 2,
  },
  {
    title: '28: no hot worker, no load, no panic',
    given: input(),
    rate: 0,
    queue: 0,
    hotCapacity: 0,
    totalCapacity: 0,
    hot: 0,
    cold: 5,
  },
  {
    title: '29: an overdue hot worker that was never ready is removed',
    given: input({ workers: [worker({ isReady: false, wasEverReady: false, isOverdue: true })] }),
    rate: 0,
    queue: 0,
    hotCapacity: 0,
    totalCapacity: 0,
    hot: 0,
    cold: 5,
  },
  {
    title: '30: long running requests without waiting ones',
    given: input({ history: steady(900), waiting: 0, workers: hotWorkers(10, { curLoad: 5400 / 10 }) }),
    rate: 1000,
    queue: 0,
    hotCapacity: 1000,
    totalCapacity: 2500,
    hot: 10,
    cold: 10,
    missing: 5,
  },
];

test.each(VECTORS)(
  'vector $title',
  ({ given, rate, queue, hotCapacity, totalCapacity, hot, cold, missing }) => {
    const decision = autoscale(given);
    expect(decision.terms.capacities.rate).toBeCloseTo(rate, 2);
    expect(decision.terms.capacities.queue).toBeCloseTo(queue, 2);
    expect(decision.terms.capacities.hot).toBeCloseTo(hotCapacity, 2);
    expect(decision.terms.capacities.total).toBeCloseTo(totalCapacity, 2);
    expect({
      hot: decision.hot,
      cold: decision.total - decision.hot,
      missing: decision.missingWorkers,
    }).toEqual({
      hot,
      cold,
      missing: missing ?? 0,
    });
  },
);

test('vector 10: six full workers ramp from 6 to 12 to 18', () => {
  const full = { curLoad: 3000 };
  const at = (count: number) =>
    autoscale(input({ history: steady(500), waiting: 18_000, workers: hotWorkers(count, full) }));
  const first = at(6);
  expect(first.terms.capacities).toMatchObject({ queue: 1800, hot: 1800, total: 1800 });
  expect(first.isPanic).toBe(true);
  expect([first.hot, at(12).hot, at(18).hot]).toEqual([12, 18, 18]);
  expect(first.rule).toBe('RampUp');
  expect(first.terms.totalNeed).toBe(18);
});

test('vector 24: a worker is full when its queue reaches the maximum time', () => {
  expect(isFull(5000, 250, 30)).toBe(false);
  expect(isFull(9000, 250, 30)).toBe(true);
  expect(isFull(7500, 250, 30)).toBe(true);
});

test('vector 25: ten hot workers stay for the down window and are then removed', () => {
  let history = withArrivals(EMPTY_HISTORY, { at: NOW, spanMs: 60 * SECOND, amount: 900 * 60 });
  let memory: ScalingInput['memory'] = NO_MEMORY;
  let hot = 10;
  const needs: number[] = [];
  const seen = new Map<number, { hot: number; total: number }>();
  for (let second = 0; second <= 350; second += 10) {
    const now = NOW + second * SECOND;
    if (second > 0) history = withArrivals(history, { at: now, spanMs: 10 * SECOND, amount: 0 });
    history = rolledTo(history, now);
    const decision = autoscale(
      input({
        now,
        history,
        memory,
        workers: hotWorkers(hot),
        times: defaultTimes,
        lastActivity: NOW,
      }),
    );
    needs.push(decision.terms.hotNeed);
    memory = decision.memory;
    hot = decision.hot;
    seen.set(second, { hot: decision.hot, total: decision.total });
  }
  expect(needs.slice(0, 7)).toEqual([10, 9, 7, 5, 4, 2, 0]);
  expect(seen.get(290)?.hot).toBe(10);
  expect([300, 310, 320, 330, 340, 350].map((second) => seen.get(second)?.hot)).toEqual([9, 7, 5, 4, 2, 0]);
  expect(seen.get(350)?.total).toBe(20);
});

test('vector 26: four hot workers stay without reports', () => {
  const decision = autoscale(input({ workers: hotWorkers(4), metrics: 'missing' }));
  expect(decision).toMatchObject({ hot: 4, rule: 'MetricsMissing' });
});

test('vector 27: 9000 units after 30 s of lost reports are 300 a second', () => {
  const history = withArrivals(EMPTY_HISTORY, { at: NOW, spanMs: 30 * SECOND, amount: 9000 });
  expect(loadOver(history, NOW, defaultTimes.shortMs)).toBeCloseTo(300, 9);
});

test('keeps the maximum load for an hour after the minute in which it occurred', () => {
  const at = Math.floor(NOW / 60_000) * 60_000 + 59 * SECOND;
  const history = rolledTo(withArrivals(EMPTY_HISTORY, { at, spanMs: 60 * SECOND, amount: 1000 * 60 }), at);
  const after = (seconds: number) => {
    const now = at + seconds * SECOND;
    return longestLoad(rolledTo(history, now), now);
  };
  expect(after(3599)).toBe(1000);
  expect(after(3661)).toBe(0);
  expect(rolledTo(history, at + 3661 * SECOND).maxima).toEqual([]);
});

describe('time rules', () => {
  test('panics at work without a hot worker', () => {
    expect(autoscale(input({ waiting: 1 })).isPanic).toBe(true);
  });

  test('panics when the load of 10 s needs twice the ready capacity', () => {
    const history = withArrivals(EMPTY_HISTORY, { at: NOW, spanMs: 10 * SECOND, amount: 1800 });
    expect(autoscale(input({ history, workers: hotWorkers(1) })).isPanic).toBe(true);
    expect(autoscale(input({ history, workers: hotWorkers(2) })).isPanic).toBe(false);
  });

  test('keeps every hot worker for a minute of panic', () => {
    const decision = autoscale(
      input({ workers: hotWorkers(6), memory: { ...NO_MEMORY, panicUntil: NOW + 1 } }),
    );
    expect(decision).toMatchObject({ hot: 6, rule: 'Panic' });
  });

  test('ends a panic after a minute when the clock went back', () => {
    const { memory } = autoscale(
      input({ workers: hotWorkers(6), memory: { ...NO_MEMORY, panicUntil: NOW + 3600 * SECOND } }),
    );
    expect(memory.panicUntil).toBe(NOW + 60 * SECOND);
  });

  test('keeps samples from the future for one down window when the clock went back', () => {
    const ahead = { at: NOW + 3600 * SECOND, hot: 500, total: 600 };
    const memory = { ...NO_MEMORY, recent: [ahead] };
    const first = autoscale(input({ times: defaultTimes, memory }));
    expect(first.memory.recent[0]).toEqual({ ...ahead, at: NOW });
    const now = NOW + defaultTimes.downMs;
    const later = autoscale(input({ now, times: defaultTimes, memory: first.memory }));
    expect([first.hotCapacity, later.hotCapacity]).toEqual([500, 0]);
  });

  test('uses the larger burst as the load in panic', () => {
    const burst = { at: NOW, spanMs: 10 * SECOND, amount: 500 };
    const history = withArrivals(steady(10), burst);
    const at = (panicUntil: number) =>
      autoscale(input({ history, workers: hotWorkers(6), memory: { ...NO_MEMORY, panicUntil } }));
    expect(at(NOW + 1).terms.capacities.rate).toBeCloseTo(60 / 0.9, 9);
    expect(at(NOW).terms.capacities.rate).toBeCloseTo((10 + 500 / 60) / 0.9, 9);
  });

  test('does not panic when one of two workers is full', () => {
    const workers = [...hotWorkers(1, { curLoad: 3000 }), worker({ name: 'idle' })];
    expect(autoscale(input({ workers, waiting: 3000 })).isPanic).toBe(false);
  });

  test('keeps a wake for the down window as the work of one worker', () => {
    const woken = (perf: number | undefined) => autoscale(input({ wakeAsked: true, perf })).memory.recent;
    expect(woken(250)).toMatchObject([{ hot: 250, total: 250 }]);
    expect(woken(undefined)).toMatchObject([{ hot: 1, total: 1 }]);
  });

  test('keeps a wake until a worker is ready, and for the down window after that', () => {
    const at = (seconds: number, more: Partial<ScalingInput>) =>
      autoscale(
        input({ now: NOW + seconds * SECOND, times: defaultTimes, with: { coldWorkers: 0 }, ...more }),
      );
    const boots = hotWorkers(1, { isReady: false });
    const asked = at(0, { wakeAsked: true });
    const booting = at(290, { workers: boots, memory: asked.memory });
    expect(at(580, { workers: boots, memory: booting.memory }).hot).toBe(1);
    expect(at(580, { workers: hotWorkers(1), memory: booting.memory }).hot).toBe(1);
    expect(at(590, { workers: hotWorkers(1), memory: booting.memory }).hot).toBe(0);
    const one = hotWorkers(1, { name: 'other' });
    const others = at(290, { workers: [...boots, ...one], memory: asked.memory });
    expect(at(300, { workers: [...boots, ...one], memory: others.memory }).hot).toBe(0);
    const late = at(290, {
      workers: hotWorkers(1, { isReady: false, isOverdue: true }),
      memory: asked.memory,
    });
    expect(at(300, { workers: boots, memory: late.memory }).hot).toBe(0);
    const unasked = at(0, { waiting: 100 });
    const loaded = at(290, { workers: boots, memory: unasked.memory });
    expect(at(300, { workers: boots, memory: loaded.memory }).hot).toBe(0);
  });

  test('keeps the rule of the desired workers during a wake', () => {
    const recent = [{ at: NOW - SECOND, hot: 300, total: 300 }];
    const memory = { ...NO_MEMORY, recent, hot: 3 };
    const given = { memory, times: defaultTimes, workers: hotWorkers(3), wakeAsked: true };
    expect(autoscale(input({ ...given, history: steady(90) }))).toMatchObject({ hot: 3, rule: 'DownWindow' });
    expect(autoscale(input(given))).toMatchObject({ hot: 3, rule: 'Wake' });
  });

  test('names MaxWorkers when the load needs more', () => {
    const memory = { ...NO_MEMORY, recent: [{ at: NOW - SECOND, hot: 9000, total: 9000 }], hot: 20 };
    const given = { memory, times: defaultTimes, workers: hotWorkers(20), history: steady(1800) };
    expect(autoscale(input(given))).toMatchObject({ hot: 20, rule: 'Load' });
    expect(autoscale(input({ ...given, history: steady(5000) }))).toMatchObject({
      hot: 20,
      rule: 'MaxWorkers',
    });
  });

  test('creates no worker in a group that was never ready without load', () => {
    expect(autoscale(input({ mayReachZero: false }))).toMatchObject({ hot: 0, rule: 'Load' });
  });

  test('rents one worker to measure an unknown performance', () => {
    expect(autoscale(input({ waiting: 1_000_000, perf: undefined }))).toMatchObject({
      hot: 1,
      rule: 'MeasureFirst',
    });
  });

  test('makes one worker hot immediately at a wake', () => {
    expect(autoscale(input({ wakeAsked: true }))).toMatchObject({ hot: 1, rule: 'Wake' });
  });

  test('keeps the first worker of a group that was never ready', () => {
    const booting = worker({ isReady: false, wasEverReady: false });
    expect(autoscale(input({ workers: [booting], mayReachZero: false }))).toMatchObject({
      hot: 1,
      rule: 'NotReadyYet',
    });
  });

  test('ignores a silent worker when all others are full', () => {
    const silent = worker({ name: 'silent', perf: 0, curLoad: 0 });
    const workers = [...hotWorkers(2, { curLoad: 3000 }), silent];
    expect(autoscale(input({ workers, waiting: 6000 })).isPanic).toBe(true);
    expect(autoscale(input({ workers: [...hotWorkers(2), silent] })).isPanic).toBe(false);
  });

  test('pauses the down window while no load is reported, and keeps a returning worker for at least a minute', () => {
    const away = hotWorkers(3, { isReady: false });
    const at = (seconds: number, more: Partial<ScalingInput>) =>
      autoscale(
        input({ now: NOW + seconds * SECOND, times: defaultTimes, with: { coldWorkers: 0 }, ...more }),
      );
    const before = { recent: [{ at: NOW, hot: 250, total: 300 }], panicUntil: 0, hot: 3 };
    const quiet = at(200, { workers: away, memory: before, metrics: 'doubtful' });
    expect(quiet).toMatchObject({ isPanic: true, hot: 3, terms: { windowMax: { hot: 250, total: 300 } } });
    expect(quiet.terms.capacities).toMatchObject({ hot: 0, total: 0 });
    const back = at(490, { workers: hotWorkers(3), memory: quiet.memory });
    expect(back).toMatchObject({ isPanic: false, hot: 3, rule: 'DownWindow' });
    expect(at(500, { workers: hotWorkers(3), memory: quiet.memory }).hot).toBe(0);
    const restarted = { ...quiet.memory, recent: [] };
    expect(at(259, { workers: hotWorkers(3), memory: restarted })).toMatchObject({ hot: 3, rule: 'Panic' });
    expect(at(260, { workers: hotWorkers(3), memory: restarted }).hot).toBe(0);
  });

  test.each<[string, Partial<ScalingInput>]>([
    ['without a hot worker', { metrics: 'missing' }],
    ['when figures of ready workers are doubtful', { metrics: 'doubtful', workers: hotWorkers(1) }],
    ['when none is ready and the load is reported', { workers: hotWorkers(1, { isReady: false }) }],
  ])('continues the down window %s', (_, more) => {
    const memory = { recent: [{ at: NOW - SECOND, hot: 250, total: 300 }], panicUntil: 0, hot: 0 };
    const decision = autoscale(input({ times: defaultTimes, memory, ...more }));
    expect(decision).toMatchObject({ isPanic: false });
    expect(decision.memory.recent.at(-1)).toMatchObject({ hot: 0, total: 0 });
  });

  test('decreases replicas after the down window and increases them immediately', () => {
    const memory = { ...NO_MEMORY, hot: 5 };
    const at = (seconds: number, replicas: number, before: ScalingInput['memory']) =>
      autoscale(
        input({
          ...{ now: NOW + seconds * SECOND, replicas, memory: before },
          ...{ times: defaultTimes, workers: hotWorkers(5), history: steady(900) },
        }),
      );
    const five = at(0, 5, memory);
    const two = at(10, 2, five.memory);
    expect(two).toMatchObject({ hot: 5, rule: 'DownWindow', hotCapacity: 0 });
    expect(at(290, 2, two.memory)).toMatchObject({ hot: 5 });
    expect(at(310, 2, two.memory)).toMatchObject({ hot: 2, rule: 'Replicas' });
    expect(at(20, 7, two.memory)).toMatchObject({ hot: 7, rule: 'Replicas' });
  });

  test('uses replicas instead of the load', () => {
    expect(autoscale(input({ history: steady(5000), replicas: 3, workers: hotWorkers(3) }))).toMatchObject({
      hot: 3,
      rule: 'Replicas',
    });
  });
});

describe('properties', () => {
  const load = fc.double({ min: 0, max: 50_000, noNaN: true });

  test('never exceeds maxWorkers, and never has fewer workers in total than hot ones', () => {
    fc.assert(
      fc.property(
        load,
        load,
        fc.nat(40),
        fc.integer({ min: 1, max: 30 }),
        (rate, waiting, hot, maxWorkers) => {
          const decision = autoscale(
            input({
              history: steady(rate),
              waiting,
              workers: hotWorkers(hot),
              with: { maxWorkers, coldWorkers: 0 },
            }),
          );
          expect(decision.hot).toBeLessThanOrEqual(maxWorkers);
          expect(decision.total).toBeLessThanOrEqual(maxWorkers);
          expect(decision.total).toBeGreaterThanOrEqual(decision.hot);
        },
      ),
    );
  });

  test('never shrinks a group while metrics are missing', () => {
    fc.assert(
      fc.property(load, fc.integer({ min: 1, max: 20 }), (rate, hot) => {
        const decision = autoscale(
          input({ history: steady(rate), workers: hotWorkers(hot), metrics: 'missing' }),
        );
        expect(decision.hot).toBeGreaterThanOrEqual(hot);
        expect(decision.total).toBeGreaterThanOrEqual(hot);
      }),
    );
  });

  test('increases the capacity with the load', () => {
    fc.assert(
      fc.property(load, load, load, (a, b, waiting) => {
        const [less, more] = a < b ? [a, b] : [b, a];
        const of = (rate: number) => capacitiesFor(DEFAULTS, { load: rate, longLoad: rate, waiting });
        expect(of(more).hot).toBeGreaterThanOrEqual(of(less).hot);
        expect(of(more).total).toBeGreaterThanOrEqual(of(less).total);
      }),
    );
  });

  test('does not flap at a constant load with jitter', { tags: 'long' }, () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.97, max: 1.03, noNaN: true }), { minLength: 90, maxLength: 90 }),
        (jitter) => {
          let history: LoadHistory = EMPTY_HISTORY;
          let memory: ScalingInput['memory'] = NO_MEMORY;
          let hot = 6;
          const seen: number[] = [];
          jitter.forEach((factor, tick) => {
            const now = NOW + tick * 10 * SECOND;
            history = rolledTo(
              withArrivals(history, { at: now, spanMs: 10 * SECOND, amount: 5000 * factor }),
              now,
            );
            const decision = autoscale(
              input({ now, history, memory, workers: hotWorkers(hot), times: defaultTimes }),
            );
            memory = decision.memory;
            hot = decision.hot;
            if (tick > 6) seen.push(hot);
          });
          const changes = seen.filter((count, index) => index > 0 && count !== seen[index - 1]).length;
          expect(changes).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe('cheapest cover', () => {
  const candidate = (name: string, perf: number, dollars: number) => ({
    name,
    perf,
    pricePerHour: Math.round(dollars * 1e6),
    keepRank: 0,
  });

  test('chooses a, b and d when removal by performance per dollar keeps the more expensive a, b and c', () => {
    const cover = cheapestCover(
      [
        candidate('a', 250, 0.5),
        candidate('b', 140, 0.2),
        candidate('c', 142, 0.35),
        candidate('d', 60, 0.15),
      ],
      400,
    );
    expect(cover.map(({ name }) => name)).toEqual(['a', 'b', 'd']);
  });

  test('is never more expensive than any other cover', { tags: 'long' }, () => {
    const workers = fc.array(
      fc.record({ perf: fc.integer({ min: 1, max: 50 }), price: fc.integer({ min: 1, max: 100 }) }),
      { minLength: 1, maxLength: 8 },
    );
    fc.assert(
      fc.property(workers, fc.integer({ min: 1, max: 200 }), (list, capacity) => {
        const candidates = list.map(({ perf, price }, index) => candidate(`w${index}`, perf, price));
        const cover = cheapestCover(candidates, capacity);
        const perfOf = (set: readonly { perf: number }[]) => set.reduce((sum, one) => sum + one.perf, 0);
        const priceOf = (set: readonly { pricePerHour: number }[]) =>
          set.reduce((sum, one) => sum + one.pricePerHour, 0);
        if (perfOf(candidates) < capacity) {
          expect(cover).toHaveLength(candidates.length);
          return;
        }
        expect(perfOf(cover)).toBeGreaterThanOrEqual(capacity);
        for (let mask = 0; mask < 2 ** candidates.length; mask += 1) {
          const other = candidates.filter((_, index) => (mask >> index) % 2 === 1);
          if (perfOf(other) >= capacity) expect(priceOf(cover)).toBeLessThanOrEqual(priceOf(other));
        }
      }),
    );
  });
});

test('keeps no pool of stopped workers at a market that cannot stop machines', () => {
  const workers = hotWorkers(3);
  const falling = { history: steady(90, 270), workers };
  expect(autoscale(input(falling))).toMatchObject({ hot: 1, total: 8 });
  expect(autoscale(input({ ...falling, hasStop: false }))).toMatchObject({ hot: 1, total: 1 });
});
