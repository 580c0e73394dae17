import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ScalingOptions } from '../tables/endpoint-groups.ts';
import { defaultOptions } from './options.ts';
import { type Demand, workerTargets } from './scale-endpoint.ts';

const idle: Demand = { rate: 0, peakRate: 0, backlog: 0, perf: 100, isPerfKnown: true, idleSeconds: 0 };

interface Row {
  readonly when: string;
  readonly options?: Partial<ScalingOptions>;
  readonly demand?: Partial<Demand>;
  readonly hot: number;
  readonly total: number;
}

const rows: readonly Row[] = [
  { when: 'nothing happens: only cold workers', hot: 0, total: 5 },
  {
    when: 'load is divided by target_util, and cold_mult covers hot and cold together',
    demand: { rate: 900, peakRate: 900, backlog: 3000 },
    hot: 10,
    total: 20,
  },
  { when: 'min_load keeps a worker hot', options: { min_load: 1 }, hot: 1, total: 5 },
  {
    when: 'min_cold_load is a floor for the total',
    options: { target_util: 1, cold_mult: 1, min_cold_load: 300, cold_workers: 0 },
    demand: { rate: 100, peakRate: 100, perf: 50 },
    hot: 2,
    total: 6,
  },
  {
    when: 'the queue has to drain within target_queue_time',
    demand: { rate: 500, peakRate: 500, backlog: 12_000 },
    hot: 12,
    total: 14,
  },
  { when: 'max_workers bounds everything', demand: { rate: 5000, peakRate: 5000 }, hot: 20, total: 20 },
  {
    when: 'a past peak keeps workers cold, not hot',
    demand: { rate: 100, peakRate: 1000 },
    hot: 2,
    total: 20,
  },
  {
    when: 'inactivity_timeout has not passed',
    options: { inactivity_timeout: 600 },
    demand: { idleSeconds: 120 },
    hot: 1,
    total: 5,
  },
  {
    when: 'inactivity_timeout has passed',
    options: { inactivity_timeout: 600 },
    demand: { idleSeconds: 600 },
    hot: 0,
    total: 5,
  },
  {
    when: 'inactivity_timeout is negative: never to zero',
    options: { inactivity_timeout: -1 },
    demand: { idleSeconds: 1e6 },
    hot: 1,
    total: 5,
  },
  { when: 'inactivity_timeout 0 is off', options: { inactivity_timeout: 0 }, hot: 0, total: 5 },
  {
    when: 'min_load and cold_workers are 0: everything may go',
    options: { cold_workers: 0 },
    hot: 0,
    total: 0,
  },
  {
    when: 'rounding noise costs no worker',
    options: { target_util: 0.7, cold_workers: 0, cold_mult: 1 },
    demand: { rate: 21, peakRate: 21, perf: 10 },
    hot: 3,
    total: 3,
  },
  {
    when: 'no worker has shown its performance yet',
    demand: { rate: 900, peakRate: 900, isPerfKnown: false },
    hot: 1,
    total: 20,
  },
];

describe('worker targets by the options of specification 4.9', () => {
  test.for(rows)('$when', ({ options, demand, hot, total }) => {
    const targets = workerTargets({ ...defaultOptions, ...options }, { ...idle, ...demand });
    expect(targets).toEqual({ hot, total });
  });

  test('hot never exceeds total, total never exceeds max_workers, and more load never means fewer workers', () => {
    const rate = fc.integer({ min: 0, max: 10_000 });
    fc.assert(
      fc.property(rate, rate, fc.integer({ min: 1, max: 500 }), (low, more, perf) => {
        const at = (load: number) =>
          workerTargets(defaultOptions, { ...idle, rate: load, peakRate: load, perf });
        const [less, greater] = [at(low), at(low + more)];
        expect(less.hot).toBeLessThanOrEqual(less.total);
        expect(less.total).toBeLessThanOrEqual(defaultOptions.max_workers);
        expect(greater.hot).toBeGreaterThanOrEqual(less.hot);
        expect(greater.total).toBeGreaterThanOrEqual(less.total);
      }),
    );
  });
});
