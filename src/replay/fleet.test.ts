import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Fleet, type FleetWorker, isCalm, NOTHING_YET, passed } from './fleet.ts';

const NOW = 1_000_000;
const TICK_SECONDS = 10;

interface GivenWorker {
  readonly desired: FleetWorker['desired'];
  readonly readyInSeconds: number | undefined;
  readonly queue: number;
  readonly perf: number;
  readonly wasEverReady: boolean;
}

interface Given {
  readonly workers: readonly GivenWorker[];
  readonly inFront: number;
}

const worker: fc.Arbitrary<GivenWorker> = fc.record({
  desired: fc.constantFrom('Hot' as const, 'Hot' as const, 'Cold' as const, 'Gone' as const),
  readyInSeconds: fc.constantFrom(undefined, -100, 0, 3, 10, 50),
  queue: fc.constantFrom(0, 0, 0, 40, 5000),
  perf: fc.integer({ min: 1, max: 200 }),
  wasEverReady: fc.boolean(),
});

const fleets = fc.record({
  workers: fc.array(worker, { maxLength: 6 }),
  inFront: fc.constantFrom(0, 0, 300),
});

function fleetOf({ workers, inFront }: Given): Fleet {
  return {
    workers: workers.map(({ desired, readyInSeconds, queue, perf, wasEverReady }, index): FleetWorker => {
      const readyAt = readyInSeconds === undefined ? undefined : NOW + readyInSeconds * 1000;
      const isServing = readyAt !== undefined && readyAt <= NOW;
      return {
        ...{ desired, readyAt, wasEverReady, name: `w${index}`, queue: isServing ? queue : 0 },
        model: { perf, pricePerHour: 360_000, coldPricePerHour: 3600, bootSeconds: 60, wakeSeconds: 20 },
        startedAt: NOW - 1000,
        isWoken: false,
        drainSince: desired === 'Hot' ? undefined : NOW - 1000,
      };
    }),
    front: inFront > 0 ? [{ at: NOW - 5000, amount: inFront }] : [],
    created: workers.length,
    totals: NOTHING_YET,
  };
}

function inSteps(fleet: Fleet, offered: number, count: number): Fleet {
  const seconds = TICK_SECONDS / count;
  let next = fleet;
  for (let step = 0; step < count; step += 1) {
    const from = NOW + step * seconds * 1000;
    next = passed(next, { from, seconds, offered: offered / count, maxQueueSeconds: 30, drainSeconds: 600 });
  }
  return next;
}

test('a calm span gives the same result in one step as in ten', () => {
  let calm = 0;
  fc.assert(
    fc.property(fleets, fc.constantFrom(0, 0, 10, 1000, 3000), (given, offered) => {
      const fleet = fleetOf(given);
      if (!isCalm(fleet, { from: NOW, seconds: TICK_SECONDS, offered, maxQueueSeconds: 30 })) return;
      calm += 1;
      const [once, often] = [inSteps(fleet, offered, 1), inSteps(fleet, offered, 10)];
      expect(once.workers).toEqual(often.workers);
      expect(once.front).toEqual(often.front);
      for (const [name, total] of Object.entries(once.totals))
        expect(total).toBeCloseTo(Reflect.get(often.totals, name), 6);
    }),
    { numRuns: 500 },
  );
  expect(calm).toBeGreaterThan(20);
});

test('charges running machines at their price and stopped ones at their disk price, by the second', () => {
  const of = (desired: 'Hot' | 'Cold', readyInSeconds: number | undefined) => ({
    ...{ desired, readyInSeconds, queue: 0, perf: 100, wasEverReady: true },
  });
  const fleet = fleetOf({ workers: [of('Hot', 0), of('Hot', 50), of('Cold', undefined)], inFront: 0 });
  const after = inSteps(fleet, 0, 10);
  expect(after.totals.priceSeconds).toBe(10 * (360_000 + 360_000 + 3600));
});
