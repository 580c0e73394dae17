import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { at, holding, time } from '../../test/builders/observed.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import {
  beginCost,
  billedPerHour,
  type Cost,
  corrected,
  costFromStop,
  endCost,
  isChargedAsStopped,
  keptPerHour,
  machineCost,
  pricedSince,
  provisionalCost,
  provisionalThisMonth,
  repriced,
  spentThisMonth,
  totalCost,
  unconfirmedPerHour,
  unpriced,
  withAssumedPrice,
  withReport,
} from './cost.ts';

describe('money', () => {
  test('is counted in whole seconds of the service, as it is billed', () => {
    const cost = beginCost(undefined, at(0), 3_600_000);
    expect(totalCost(cost, at(10) + 999)).toBe(10_000);
    expect(totalCost(endCost(cost, at(10)), at(999))).toBe(10_000);
  });

  test('goes on from what was spent when the price changes', () => {
    const cost = repriced(beginCost(undefined, at(0), 3_600_000), at(100), 36_000);
    expect(cost).toMatchObject({ accrued: '0.10', pricePerHour: '0.036' });
    expect(totalCost(cost, at(200))).toBe(101_000);
  });

  test('leaves out a price that lists show and nothing confirms (A1)', () => {
    const cost = withReport(beginCost(undefined, at(0), 3_600_000), 3.6e12, at(0));
    expect(cost.reported?.pricePerHour).toBe('3600000.00');
    expect(totalCost(cost, at(10))).toBe(10_000);
  });

  test('is corrected when the service says since when and how much it bills', () => {
    const cost = corrected(beginCost(undefined, at(0), 3_600_000), at(-5), 7_200_000);
    expect(totalCost(cost, at(5))).toBe(20_000);
  });

  test('adds up the same however often the price was looked at', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 20 }), (steps) => {
        let cost = beginCost(undefined, at(0), 1_000_000);
        let now = 0;
        for (const [index, step] of steps.entries()) {
          now += step;
          cost = repriced(cost, at(now), index % 2 === 0 ? 2_000_000 : 1_000_000);
        }
        const halves = steps.map((step, index) => (step * (index % 2 === 0 ? 1_000_000 : 2_000_000)) / 3600);
        const expected = halves.reduce((sum, part) => sum + part, 0);
        expect(Math.abs(totalCost(cost, at(now)) - expected)).toBeLessThanOrEqual(steps.length);
      }),
    );
  });

  test('of one machine leaves out those before it', () => {
    const past = {
      attempt: 1,
      instanceId: '9',
      reason: 'Exited',
      endedAt: time(-400),
      rentedMinutes: 1,
      cost: '0.40',
    };
    const status = holding({
      history: [past],
      cost: { accrued: '0.40', pricePerHour: '3.60', since: time(-100) },
    });
    expect(machineCost(status, at(0))).toBe(100_000);
  });

  test('of one machine counts from its rental once older ones are not remembered any more', () => {
    const past = {
      attempt: 1,
      instanceId: '9',
      reason: 'Exited',
      endedAt: time(-400),
      rentedMinutes: 1,
      cost: '0.40',
    };
    const cost = { accrued: '9.00', pricePerHour: '3.60', since: time(-50) };
    const of = (more: Parameters<typeof holding>[0]) =>
      machineCost(holding({ history: [past, past, past, past, past], cost, ...more }), at(0));
    expect(of({})).toBe(300_000);
    expect(of({ rentedAt: undefined })).toBe(50_000);
    expect(of({ rentedAt: undefined, cost: { accrued: '9.00', pricePerHour: '3.60' } })).toBe(0);
    expect(of({ cost: undefined })).toBe(0);
    expect(of({ cost: undefined, rentedAt: undefined })).toBe(0);
    const four = holding({ history: [past, past, past, past], cost });
    expect(machineCost(four, at(0))).toBe(9_050_000 - 1_600_000);
    expect([machineCost(undefined, at(0)), machineCost({ observedGeneration: 1 }, at(0))]).toEqual([0, 0]);
  });

  test('without a price begins to cost when one is named, from its beginning', () => {
    const begun = beginCost(undefined, at(-100), undefined);
    expect(begun).toEqual({ accrued: '0.00', since: time(-100) });
    expect(totalCost(begun, at(0))).toBe(0);
    expect(repriced(begun, at(0), 3_600_000)).toEqual({ ...begun, pricePerHour: '3.60' });
    expect(corrected(begun, at(-90), undefined)).toEqual({ accrued: '0.00', since: time(-90) });
    expect([totalCost(undefined, at(0)), endCost(undefined, at(0))]).toEqual([0, undefined]);
  });

  test('counts at the assumed price until the marketplace names one, which then holds from the beginning', () => {
    const begun = beginCost(undefined, at(-100), undefined);
    const assumed = withAssumedPrice(begun, 3_600_000);
    expect(assumed).toEqual({ ...begun, pricePerHour: '3.60', priceAssumed: true });
    expect(withAssumedPrice(assumed, 1_000_000)).toBe(assumed);
    expect(withAssumedPrice(begun, undefined)).toBe(begun);
    expect(repriced(assumed, at(0), 7_200_000)).toEqual({ ...begun, pricePerHour: '7.20' });
    expect(corrected(assumed, at(-90), 7_200_000)).toEqual({
      accrued: '0.00',
      pricePerHour: '7.20',
      since: time(-90),
    });
    expect(corrected(assumed, at(-90), undefined)).toEqual({ ...assumed, since: time(-90) });
  });

  test('without a start is what has accrued, at whatever price', () => {
    expect(totalCost({ accrued: '2.00', pricePerHour: '3.60' }, at(0))).toBe(2_000_000);
  });

  test('ends where it began when its machine ends before', () => {
    const begun = beginCost(undefined, at(10), 3_600_000);
    expect(endCost(begun, at(5))).toEqual({ accrued: '0.00', since: time(10) });
  });

  test('adds nothing from the moment on at which no price is known', () => {
    const cost = unpriced(beginCost(undefined, at(0), 3_600_000), at(100));
    expect(cost).toEqual({ accrued: '0.10', since: time(100) });
    expect(totalCost(cost, at(500))).toBe(100_000);
  });

  test.each([
    ['nothing is on record', {}],
    ['no machine is remembered', { history: [] }],
  ])('of a month is 0 for a rented machine of which %s', (_, more) => {
    const status = { instanceId: '1', offerPricePerHour: '3.60', ...more };
    const object = { metadata: { name: 'a' }, spec: {}, status } as unknown as GpuInstance;
    expect(spentThisMonth(object, at(0))).toBe(0);
  });

  test('does not change when the price stays the same', () => {
    const cost = beginCost(undefined, at(-100), 3_600_000);
    expect(repriced(cost, at(0), 3_600_000)).toBe(cost);
  });

  test('that accrued before a month began is kept apart from the first change in that month on', () => {
    const november = Date.parse('2026-11-01T00:00:00Z');
    const HOUR = 3_600_000;
    const begun = beginCost(undefined, november - 2 * HOUR, 1_000_000);
    const stopped = repriced(begun, november + HOUR, 10_000);
    expect(stopped).toMatchObject({ accrued: '3.00', accruedBeforeMonth: '2.00' });
    const again = repriced(stopped, november + 2 * HOUR, 1_000_000);
    expect(again).toMatchObject({ accrued: '3.01', accruedBeforeMonth: '2.00' });
    const ended = endCost(again, november + 3 * HOUR);
    expect(ended).toEqual({ accrued: '4.01', accruedBeforeMonth: '2.00', since: '2026-11-01T03:00:00Z' });
    const december = Date.parse('2026-12-01T00:00:00Z');
    expect(beginCost(ended, december, undefined)).toMatchObject({
      accrued: '4.01',
      accruedBeforeMonth: '4.01',
    });
    expect(endCost(begun, november - 1)).not.toHaveProperty('accruedBeforeMonth');
    const late = corrected(beginCost(ended, december - 1, undefined), december + 1_000, 1_000_000);
    expect(late).toMatchObject({ accrued: '4.01', accruedBeforeMonth: '4.01' });
  });

  test('of a month is never less than the bills say, however often machines stop, start and end', () => {
    const start = Date.parse('2026-10-25T00:00:00Z');
    const now = Date.parse('2026-11-20T00:00:00Z');
    const november = Date.parse('2026-11-01T00:00:00Z');
    const steps = fc.array(
      fc.record({
        hours: fc.integer({ min: 1, max: 100 }),
        ends: fc.boolean(),
        dollars: fc.integer({ min: 0, max: 3 }),
      }),
      { minLength: 1, maxLength: 30 },
    );
    fc.assert(
      fc.property(steps, (lives) => {
        let [cost, at, price, billed]: [Cost | undefined, number, number, number] = [undefined, start, 0, 0];
        for (const { hours, ends, dollars } of lives) {
          const next = Math.min(now, at + hours * 3_600_000);
          billed += (price * Math.max(0, next - Math.max(at, november))) / 3_600_000;
          at = next;
          price = ends ? 0 : dollars * 1_000_000;
          if (ends) cost = endCost(cost, at);
          else
            cost = cost?.pricePerHour === undefined ? beginCost(cost, at, price) : repriced(cost, at, price);
        }
        billed += (price * (now - Math.max(at, november))) / 3_600_000;
        const metadata = { name: 'a', creationTimestamp: '2026-10-01T00:00:00Z' };
        const object = { metadata, status: { ...(cost && { cost }) } } as GpuInstance;
        expect(spentThisMonth(object, now)).toBe(Math.round(billed));
      }),
    );
  });
});

describe('a reported price that is not confirmed', () => {
  const hour = { pricePerHour: '1.00', accrued: '0.00', since: time(-3_600) };
  const reporting = (pricePerHour: string) => ({ ...hour, reported: { pricePerHour, since: time(-3_600) } });

  test.each([
    { cost: undefined, expected: 0 },
    { cost: hour, expected: 0 },
    { cost: reporting('3.00'), expected: 2_000_000 },
    { cost: reporting('0.25'), expected: -750_000 },
    { cost: { ...reporting('3.00'), pricePerHour: undefined }, expected: 3_000_000 },
    { cost: reporting('999999999'), expected: 999_999_998_000_000 },
  ])('adds $expected in an hour to $cost', ({ cost, expected }) => {
    expect(provisionalCost(cost as Parameters<typeof provisionalCost>[0], at(0))).toBe(expected);
  });

  test.each([
    { name: 'is above the record', status: holding({ cost: reporting('3.00') }), expected: 2_000_000 },
    { name: 'is below the record', status: holding({ cost: reporting('0.25') }), expected: 0 },
    { name: 'is not there', status: holding({ cost: hour }), expected: 0 },
    { name: 'is of no object', status: undefined, expected: 0 },
    {
      name: 'is of no machine',
      status: { ...holding({ cost: reporting('3.00') }), instanceId: undefined } as object,
      expected: 0,
    },
  ])('counts $expected more an hour when it $name', ({ status, expected }) => {
    expect(unconfirmedPerHour(status)).toBe(expected);
  });

  const later = at(60);
  test.each([
    {
      name: 'keeps its date when it is shown again',
      cost: reporting('3.00'),
      shown: 3e6,
      from: time(-3_600),
    },
    { name: 'has a new date when it differs', cost: reporting('3.00'), shown: 4e6, from: time(60) },
    { name: 'begins when lists show it', cost: hour, shown: 4e6, from: time(60) },
    { name: 'ends when lists show the record', cost: reporting('3.00'), shown: 1e6, from: undefined },
    { name: 'ends when lists show no price', cost: reporting('3.00'), shown: undefined, from: undefined },
  ])('$name', ({ cost, shown, from }) => {
    expect(withReport(cost, shown, later).reported?.since).toBe(from);
  });

  test.each([
    { name: 'counts in its month', since: '2026-11-20T11:00:00Z', expected: 2_000_000 },
    { name: 'counts from the begin of the month', since: '2026-10-31T23:00:00Z', expected: 936_000_000 },
    { name: 'has a date that cannot be read, and adds nothing', since: 'soon', expected: 0 },
  ])('adds $expected this month if it $name', ({ since, expected }) => {
    const cost = { ...hour, reported: { pricePerHour: '3.00', since } };
    const now = Date.parse('2026-11-20T12:00:00Z');
    expect(provisionalThisMonth({ status: { cost } } as GpuInstance, now)).toBe(expected);
  });

  test.each([
    { name: 'the report of that price', cost: reporting('3.00'), price: 3e6, from: at(-3_600) },
    { name: 'now for another price', cost: reporting('3.00'), price: 4e6, from: later },
    { name: 'now without a report', cost: hour, price: 1e6, from: later },
    {
      name: 'what accrued last, if that is later than the report',
      cost: { ...reporting('3.00'), since: time(-60) },
      price: 3e6,
      from: at(-60),
    },
    {
      name: 'the report, if nothing has accrued',
      cost: { ...reporting('3.00'), since: undefined },
      price: 3e6,
      from: at(-3_600),
    },
  ])('counts from $name', ({ cost, price, from }) => {
    expect(pricedSince(cost as Cost, price, later)).toBe(from);
  });

  test('counts from no time while that is unknown and nothing was reported', () => {
    expect(pricedSince(hour, 1e6, undefined)).toBeUndefined();
    expect(pricedSince(reporting('3.00'), 3e6, undefined)).toBe(at(-3_600));
  });

  test('does not begin while the time is unknown', () => {
    expect(withReport(hour, 4e6, undefined)).toEqual(hour);
  });
});

describe('what a machine bills in an hour', () => {
  const cost = { pricePerHour: '0.50', storagePricePerHour: '0.01', accrued: '0.00', since: time(-300) };

  test.each([
    { actualStatus: 'running', cost, billed: '0.50', stop: '0.01', retain: '0.50' },
    { actualStatus: 'stopped', cost, billed: '0.01', stop: '0.01', retain: '0.01' },
    {
      ...{ actualStatus: 'running', billed: '0.50', stop: '0.50', retain: '0.50' },
      cost: { ...cost, storagePricePerHour: undefined },
    },
    { actualStatus: 'running', cost: undefined, billed: undefined, stop: undefined, retain: undefined },
    { actualStatus: 'stopped', cost: undefined, billed: undefined, stop: undefined, retain: undefined },
  ])('is $billed, kept with Stop $stop, when it is $actualStatus at $cost', (row) => {
    const status = { ...holding(), actualStatus: row.actualStatus, cost: row.cost } as Parameters<
      typeof billedPerHour
    >[0];
    expect(billedPerHour(status)).toBe(row.billed);
    expect(keptPerHour(status, 'Stop')).toBe(row.stop);
    expect(keptPerHour(status, 'Retain')).toBe(row.retain);
  });
});

describe('a machine whose price on record is that of its disk', () => {
  const disk = { pricePerHour: '0.01', storagePricePerHour: '0.01', accrued: '0.00', since: time(-300) };
  const ran = { runningAt: time(-200) };

  test.each([
    { name: 'is stopped', status: { actualStatus: 'stopped', cost: disk }, expected: true },
    { name: 'runs', status: { actualStatus: 'running', cost: disk, ...ran }, expected: false },
    { name: 'loads', status: { actualStatus: 'loading', cost: disk, ...ran }, expected: false },
    { name: 'is out of sight', status: { actualStatus: 'offline', cost: disk }, expected: true },
    {
      name: 'was reported running and is out of sight (seed 98950351)',
      status: {
        actualStatus: 'offline',
        cost: { ...disk, reported: { pricePerHour: '0.50', since: time(-100) } },
      },
      expected: false,
    },
    { name: 'ran and has no word any more', status: { cost: disk, ...ran }, expected: true },
    { name: 'never ran and has no word yet', status: { cost: disk }, expected: false },
    {
      name: 'is stopped at a price that was assumed',
      status: { actualStatus: 'stopped', cost: { ...disk, priceAssumed: true } },
      expected: false,
    },
    {
      name: 'is stopped at another price',
      status: { actualStatus: 'stopped', cost: { ...disk, pricePerHour: '0.50' } },
      expected: false,
    },
    { name: 'runs and has no cost', status: { actualStatus: 'running' }, expected: false },
    {
      name: 'is stopped, and neither price is known',
      status: { actualStatus: 'stopped', cost: { accrued: '0.00' } },
      expected: false,
    },
  ])('charged as stopped: $expected when it $name', ({ status, expected }) => {
    expect(isChargedAsStopped(status as Parameters<typeof isChargedAsStopped>[0])).toBe(expected);
  });

  test('bills its disk from its stop on, if that price is known', () => {
    const cost = { pricePerHour: '3.60', priceAssumed: true, accrued: '0.00', since: time(-1_000) };
    expect(costFromStop(cost, at(0), undefined)).toBe(cost);
    expect(costFromStop(cost, at(0), 10_000)).toEqual({
      ...{ pricePerHour: '0.01', accrued: '1.00', since: time(0) },
    });
  });
});

describe('what accrued before a month', () => {
  const november = Date.UTC(2026, 10, 1);

  test('stays as it was when the machine begins in the first moment of the month', () => {
    const cost = { accrued: '2.00', accruedBeforeMonth: '1.00', since: '2026-11-01T00:00:00Z' };
    expect(beginCost(cost, november, undefined).accruedBeforeMonth).toBe('1.00');
  });

  test('is left out if it is nothing', () => {
    const cost = { accrued: '0.00', since: '2026-10-31T00:00:00Z' };
    expect(beginCost(cost, november + 1_000, undefined)).not.toHaveProperty('accruedBeforeMonth');
  });

  test('stays as it was while the time until which it accrued is unknown', () => {
    const cost = { accrued: '2.00', accruedBeforeMonth: '1.00' };
    expect(beginCost(cost, november + 1_000, undefined).accruedBeforeMonth).toBe('1.00');
  });
});
