import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { replay } from '../../test/builders/whole-replay.ts';
import type { EndpointGroupManifestSpec, EndpointGroupSpec } from '../api/v1alpha1/endpoint-group.ts';
import { endpointGroupSpec } from '../api/v1alpha1/endpoint-group-spec.ts';
import type { Tick } from '../views/replay.ts';
import type { WorkerModel } from './fleet.ts';
import type { WhatIf } from './replay.ts';
import { parseTrace } from './trace.ts';

const MODEL: WorkerModel = {
  perf: 100,
  pricePerHour: 400_000,
  coldPricePerHour: 20_000,
  bootSeconds: 120,
  wakeSeconds: 20,
};

function spec(options: Partial<EndpointGroupManifestSpec> = {}): EndpointGroupSpec {
  const template = { spec: { image: 'x', offers: [{ maxPricePerHour: '0.40' }] } };
  return endpointGroupSpec.parse({ expectedPerf: '100', template, ...options });
}

function whatIf(trace: string, overrides: Partial<WhatIf> = {}): WhatIf {
  return { spec: spec(), trace: parseTrace(trace), models: [MODEL], first: [], ...overrides };
}

const crew = (desired: 'Hot' | 'Cold', count: number, model = MODEL) =>
  Array.from({ length: count }, () => ({ model, desired }));

function at(ticks: readonly Tick[], seconds: number): Tick {
  const tick = ticks.find((candidate) => candidate.seconds === seconds);
  if (!tick) throw new Error(`No tick at ${seconds}.`);
  return tick;
}

describe('a replay', () => {
  test('has one tick every 10 s from the first row to the last', () => {
    const { ticks } = replay(whatIf('seconds,load\n1700000005,1\n1700000030,2'));
    expect(ticks.map(({ seconds }) => seconds - 1_700_000_000)).toEqual([5, 15, 25]);
  });

  test('reports the mean load of a tick, including a burst within it', () => {
    const { ticks, summary } = replay(whatIf('seconds,load\n0,0\n3,500\n5,0\n20,0'));
    expect(ticks.map(({ load }) => load)).toEqual([100, 0, 0]);
    expect(summary.offered).toBe(1000);
  });

  test('keeps hot workers for the down window when the load falls from 900 to 0', () => {
    const first = [...crew('Hot', 10), ...crew('Cold', 10)];
    const { ticks } = replay(whatIf('seconds,load\n0,900\n60,0\n500,0', { first }));
    expect(ticks.filter(({ seconds }) => seconds <= 350).map(({ hot }) => hot)).toEqual(Array(36).fill(10));
    expect([360, 370, 380, 390, 400, 410].map((seconds) => at(ticks, seconds).hot)).toEqual([
      9, 7, 5, 4, 2, 0,
    ]);
    expect(ticks.every(({ desiredTotal, hot, cold }) => desiredTotal === 20 && hot + cold === 20)).toBe(true);
  });

  test('wakes one cold worker at once for a waiting request', () => {
    const trace = 'seconds,load,queue\n0,0,100\n60,0,';
    const { ticks, summary } = replay(whatIf(trace, { first: crew('Cold', 5) }));
    expect(at(ticks, 0)).toMatchObject({ desiredHot: 1, desiredTotal: 5, hot: 1, cold: 4, ready: 0 });
    expect(at(ticks, 20)).toMatchObject({ ready: 1, queueSeconds: 0 });
    expect(summary).toMatchObject({ served: 100, rejected: 0, meanQueueSeconds: 20, woken: 1, rented: 0 });
  });

  test('rejects work after maxQueueTime when no worker is ready', () => {
    const cannot = spec({ pause: { scaleUp: true } });
    const { ticks, summary } = replay(whatIf('seconds,load\n0,10\n10,0\n50,0', { spec: cannot }));
    expect(ticks.map(({ rejected }) => rejected)).toEqual([0, 0, 10, 90, 0, 0]);
    expect(ticks.map(({ queueSeconds }) => queueSeconds)).toEqual([10, 20, 29, 0, 0, 0]);
    expect(summary).toMatchObject({ offered: 100, served: 0, rejected: 100, queued: 0, dollars: 0 });
  });

  test('accepts work while the wait of the worker is at most maxQueueTime', () => {
    const one = spec({ maxWorkers: 1, coldWorkers: 0 });
    const { ticks } = replay(whatIf('seconds,load\n0,300\n60,300', { spec: one, first: crew('Hot', 1) }));
    expect(ticks.map(({ queueSeconds }) => queueSeconds)).toEqual([20, 30, 30, 30, 30, 30, 30]);
    expect(ticks.map(({ rejected }) => rejected)).toEqual([0, 1000, 2000, 2000, 2000, 2000, 2000]);
  });

  test('measures one worker first when performance is unknown', () => {
    const unknown = spec({ expectedPerf: undefined });
    const { ticks } = replay(whatIf('seconds,load\n0,900\n200,900', { spec: unknown }));
    expect(at(ticks, 110).desiredHot).toBe(1);
    expect(at(ticks, 130).desiredHot).toBeGreaterThan(1);
  });

  test('keeps the first worker until it was ready when it was rented late', () => {
    const slow = { ...MODEL, bootSeconds: 900 };
    const options = { coldWorkers: 0, coldMultiplier: '1' };
    const trace = 'seconds,load\n0,0\n7200,5\n7260,0\n9000,0';
    const { ticks, summary } = replay(whatIf(trace, { spec: spec(options), models: [slow] }));
    expect(at(ticks, 8100)).toMatchObject({ hot: 1, ready: 0 });
    expect(at(ticks, 8990).hot).toBe(0);
    expect(summary.rented).toBe(1);
  });

  test('replaces a cold worker that does not wake within wakeTimeout', () => {
    const sleeper = { ...MODEL, wakeSeconds: 3600 };
    const options = spec({ coldWorkers: 0, maxWorkers: 1 });
    const first = crew('Cold', 1, sleeper);
    const { ticks, summary } = replay(whatIf('seconds,load\n0,50\n300,50', { spec: options, first }));
    expect(at(ticks, 50)).toMatchObject({ hot: 1, ready: 0 });
    expect(summary).toMatchObject({ woken: 1, rented: 1 });
    expect(at(ticks, 190).ready).toBe(1);
  });

  test('creates two cold workers at a time, at the running price until they were ready', () => {
    const { ticks } = replay(whatIf('seconds,load\n0,0\n130,0'));
    expect(at(ticks, 110).cold).toBe(2);
    expect(at(ticks, 120).cold).toBe(4);
    expect(at(ticks, 110).dollars).toBeCloseTo((2 * 0.4 * 120) / 3600, 6);
  });

  test('rents 13 workers of $0.45 when maxSpendPerHour is $6.00', () => {
    const template = { spec: { image: 'x', offers: [{ maxPricePerHour: '0.45' }] } };
    const options = spec({ maxSpendPerHour: '6.00', maxWorkers: 40, coldWorkers: 0, template });
    const models = [{ ...MODEL, pricePerHour: 450_000 }] as const;
    const { ticks, summary } = replay(whatIf('seconds,load\n0,4000\n60,4000', { spec: options, models }));
    expect(at(ticks, 60)).toMatchObject({ hot: 13, desiredHot: 26 });
    expect(summary.peakTotal).toBe(13);
  });
});

const DOCUMENTED = { targetUtilizationPercent: 100, coldMultiplier: '2', coldWorkers: 0 };
const COLD_FLOOR = { ...DOCUMENTED, coldMultiplier: '1', minColdLoad: '300' };
const FIFTY = { ...MODEL, perf: 50 };

describe('the first tick has the target of the operator for', () => {
  test.each([
    { title: 'no load, five cold', cold: 5, row: '0,0,', hot: 0, total: 5 },
    { title: 'a load with waiting work', start: 10, cold: 10, row: '0,900,3000', hot: 10, total: 20 },
    { title: 'a long queue', start: 12, row: '0,500,12000', hot: 12, total: 14 },
    { title: 'full workers: twice as many', start: 6, row: '0,500,18000', hot: 12, total: 18 },
    { title: 'a load above maxWorkers', start: 10, row: '0,5000,', hot: 20, total: 20 },
    { title: 'minLoad', cold: 5, row: '0,0,', given: { minLoad: '100' }, hot: 2, total: 5 },
    { title: 'coldMultiplier', start: 2, row: '0,100,', given: DOCUMENTED, of: FIFTY, hot: 2, total: 4 },
    { title: 'minColdLoad', start: 2, row: '0,100,', given: COLD_FLOOR, of: FIFTY, hot: 2, total: 6 },
    {
      title: 'scaleToZero: Never',
      cold: 5,
      row: '0,0,',
      given: { scaleToZero: 'Never' as const },
      hot: 1,
      total: 5,
    },
    { title: 'replicas', cold: 5, row: '0,900,', given: { replicas: 3 }, hot: 3, total: 20 },
  ])('$title', ({ start = 0, cold = 0, row, given = {}, of = MODEL, hot, total }) => {
    const first = [...crew('Hot', start, of), ...crew('Cold', cold, of)];
    const expectedPerf = String(of.perf);
    const asked = { spec: spec({ expectedPerf, ...given }), first, models: [of] as const };
    const { ticks } = replay(whatIf(`seconds,load,queue\n${row}`, asked));
    expect(ticks[0]).toMatchObject({ desiredHot: hot, desiredTotal: total });
  });
});

const loads = fc.array(
  fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3000 }), fc.double({ min: 0, max: 50, noNaN: true })),
  { minLength: 1, maxLength: 40 },
);
const model = fc.record({
  perf: fc.integer({ min: 1, max: 400 }),
  pricePerHour: fc.integer({ min: 10_000, max: 400_000 }),
  coldPricePerHour: fc.integer({ min: 0, max: 10_000 }),
  bootSeconds: fc.integer({ min: 0, max: 400 }),
  wakeSeconds: fc.integer({ min: 0, max: 90 }),
});
const options = fc.record({
  minLoad: fc.constantFrom('0', '100'),
  minColdLoad: fc.constantFrom('0', '300'),
  targetUtilizationPercent: fc.integer({ min: 30, max: 100 }),
  coldMultiplier: fc.constantFrom('0.5', '1', '2.5'),
  coldWorkers: fc.integer({ min: 0, max: 5 }),
  maxWorkers: fc.integer({ min: 6, max: 25 }),
  maxSpendPerHour: fc.constantFrom(undefined, '0.90', '4.00'),
  expectedPerf: fc.constantFrom(undefined, '100'),
  scaleToZero: fc.constantFrom('Allow' as const, 'Never' as const),
});

/** Arbitrary replays: a load that changes every 20 s, for a group with up to six initial workers. */
const cases = fc
  .record({
    loads,
    options,
    models: fc.array(model, { minLength: 1, maxLength: 6 }),
    hot: fc.nat(3),
    cold: fc.nat(3),
    queue: fc.nat(20_000),
  })
  .map(({ loads: values, options: given, models, hot, cold, queue }): WhatIf => {
    const rows = values.map((load, index) => `${index * 20},${load}${index === 0 ? `,${queue}` : ','}`);
    const [one = MODEL, ...more] = models;
    return {
      spec: spec(given),
      trace: parseTrace(`seconds,load,queue\n${rows.join('\n')}`),
      models: [one, ...more],
      first: [...crew('Hot', hot, one), ...crew('Cold', cold, one)],
    };
  });

interface Steady {
  readonly perfs: readonly number[];
  readonly load: number;
  readonly minColdLoad: number;
  readonly hot: number;
}

describe('in every replay', () => {
  test('initial and offered work equals served, rejected and waiting work', () => {
    fc.assert(
      fc.property(cases, (given) => {
        const { ticks, summary } = replay(given);
        const came = (given.trace.start.queue ?? 0) + summary.offered;
        const went = summary.served + summary.rejected + summary.queued;
        expect(Math.abs(came - went)).toBeLessThanOrEqual(1e-5 + came * 1e-9);
        const rejected = ticks.reduce((sum, tick) => sum + tick.rejected, 0);
        expect(rejected).toBeCloseTo(summary.rejected, 3);
      }),
      { numRuns: 150 },
    );
  });

  test('figures are not negative, dollars never fall, and the summary matches the last tick', () => {
    fc.assert(
      fc.property(cases, (given) => {
        const { ticks, summary } = replay(given);
        expect(ticks.every((tick) => Object.values(tick).every((value) => value >= 0))).toBe(true);
        expect(ticks.map(({ dollars }) => dollars)).toEqual(
          ticks.map(({ dollars }) => dollars).toSorted((a, b) => a - b),
        );
        expect(summary.dollars).toBe(ticks.at(-1)?.dollars);
      }),
      { numRuns: 100 },
    );
  });

  test('workers stay within maxWorkers and maxSpendPerHour', () => {
    fc.assert(
      fc.property(cases, (given) => {
        const { ticks, summary } = replay(given);
        const { maxWorkers, maxSpendPerHour } = given.spec;
        expect(summary.peakTotal).toBeLessThanOrEqual(maxWorkers);
        const began = given.first.reduce(
          (sum, { model: { pricePerHour, coldPricePerHour }, desired }) =>
            sum + (desired === 'Hot' ? pricePerHour : coldPricePerHour),
          0,
        );
        const max = Math.max(Number(maxSpendPerHour ?? Number.POSITIVE_INFINITY), began / 1e6);
        const spent = ticks.map(({ dollars }, index) => dollars - (ticks[index - 1]?.dollars ?? 0));
        for (const dollars of spent) expect(dollars).toBeLessThanOrEqual((max * 10) / 3600 + 2e-6);
      }),
      { numRuns: 100 },
    );
  });

  test('equal inputs give equal results', () => {
    fc.assert(
      fc.property(cases, (given) => {
        expect(JSON.stringify(replay(given))).toBe(JSON.stringify(replay(structuredClone(given))));
      }),
      { numRuns: 30 },
    );
  });

  test('no worker is rented after hours of a steady load', () => {
    const perfs = fc.array(fc.integer({ min: 20, max: 400 }), { minLength: 1, maxLength: 6 });
    const steady = fc.record({ perfs, load: fc.nat(600), minColdLoad: fc.nat(1500), hot: fc.nat(6) });
    const rentedWithin = (seconds: number, { perfs: kinds, load, minColdLoad, hot }: Steady) => {
      const models = Array.from({ length: 60 }, (_, index) => ({
        ...MODEL,
        perf: kinds[index % kinds.length] ?? 100,
      }));
      const given = spec({ minColdLoad: String(minColdLoad), coldWorkers: 0, maxWorkers: 40 });
      const trace = `seconds,load\n0,${load}\n${seconds},${load}`;
      const first = models.slice(0, hot).map((one) => ({ model: one, desired: 'Hot' as const }));
      return replay(whatIf(trace, { spec: given, models: [MODEL, ...models], first })).summary.rented;
    };
    fc.assert(
      fc.property(steady, (given) => {
        expect(rentedWithin(10_800, given)).toBe(rentedWithin(7200, given));
      }),
      { numRuns: 15 },
    );
  });
});
