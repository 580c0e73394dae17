import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { at, holding, time } from '../../test/builders/observed.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import {
  beginCost,
  type Cost,
  corrected,
  endCost,
  machineCost,
  repriced,
  spentThisMonth,
  totalCost,
  withAssumedPrice,
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
