import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { instanceSummary } from '../../test/builders/instance-summary.ts';
import type { InstanceSummary } from '../instance/summary.ts';
import { listedObjects } from './account-objects.ts';
import {
  type AccountLimits,
  type AccountSums,
  type BrakeInput,
  mayRent,
  mayStart,
  type SumInput,
  sumAccount,
} from './spend-limits.ts';

const DOLLAR = 1_000_000;
const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 20, 12);

const object = (changes: Partial<InstanceSummary> = {}): InstanceSummary =>
  instanceSummary({ instanceId: '1', pricePerHour: DOLLAR, ...changes });

const added = (objects: readonly InstanceSummary[]) => listedObjects(objects).sums(NOW, []);

const sums = (changes: Partial<AccountSums> = {}): AccountSums => ({
  rentalsLastHour: 0,
  rentalsUnderWay: 0,
  oldestRentalAt: undefined,
  liveMachines: 0,
  dollarsPerHour: 0,
  orphanMachines: 0,
  orphanDollarsPerHour: 0,
  spentThisMonth: 0,
  ...{ unconfirmedPerHour: 0, unconfirmedThisMonth: 0 },
  credit: 100 * DOLLAR,
  ...changes,
});

const settings = { maxRentalsPerHour: 10, maxLiveMachines: 20, maxDollarsPerHour: 50 * DOLLAR };

function ask(
  found: Partial<AccountSums>,
  limits: AccountLimits = {},
  pricePerHour: number | undefined = DOLLAR,
) {
  return { sums: sums(found), limits, settings, pricePerHour, now: NOW };
}

describe('whether one more machine fits', () => {
  test.each([
    ['an empty account with credit', ask({}), 'fits'],
    ['credit that is not known', ask({ credit: undefined }), 'fits'],
    ['no credit left', ask({ credit: 0 }), 'InsufficientCredit'],
    [
      'credit just at minCredit',
      ask({ credit: 5 * DOLLAR }, { minCredit: 5 * DOLLAR }),
      'InsufficientCredit',
    ],
    ['credit above minCredit', ask({ credit: 5 * DOLLAR + 1 }, { minCredit: 5 * DOLLAR }), 'fits'],
    ['a price at the cap', ask({}, { maxPricePerHour: DOLLAR }), 'fits'],
    ['a price above the cap', ask({}, { maxPricePerHour: DOLLAR - 1 }), 'AtLimit'],
    ['the last allowed machine', ask({ liveMachines: 4 }, { maxInstances: 5 }), 'fits'],
    ['one machine too many', ask({ liveMachines: 5 }, { maxInstances: 5 }), 'AtLimit'],
    [
      'a machine that no object claims where one more is allowed',
      ask({ liveMachines: 4, orphanMachines: 1 }, { maxInstances: 5 }),
      'AtLimit',
    ],
    [
      'an hour that the machines fill which no object claims',
      ask({ dollarsPerHour: 4 * DOLLAR, orphanDollarsPerHour: 6 * DOLLAR }, { maxSpendPerHour: 10 * DOLLAR }),
      'AtLimit',
    ],
    [
      'as many machines as the operator bears, some of them without an object',
      ask({ liveMachines: 15, orphanMachines: 5 }),
      'AtLimit',
    ],
    ['maxInstances 0', ask({}, { maxInstances: 0 }), 'AtLimit'],
    [
      'an hour that is just full',
      ask({ dollarsPerHour: 9 * DOLLAR }, { maxSpendPerHour: 10 * DOLLAR }),
      'fits',
    ],
    [
      'an hour that would overflow',
      ask({ dollarsPerHour: 9 * DOLLAR + 1 }, { maxSpendPerHour: 10 * DOLLAR }),
      'AtLimit',
    ],
    [
      'a month that is used up',
      ask({ spentThisMonth: 30 * DOLLAR }, { maxSpendPerMonth: 30 * DOLLAR }),
      'AtLimit',
    ],
    [
      'a month that is not',
      ask({ spentThisMonth: 30 * DOLLAR - 1 }, { maxSpendPerMonth: 30 * DOLLAR }),
      'fits',
    ],
    ['a month without a limit', ask({ spentThisMonth: 9_000 * DOLLAR }), 'fits'],
    ['one rental less than the operator allows', ask({ rentalsLastHour: 9 }), 'fits'],
    ['one machine less than the operator allows', ask({ liveMachines: 19 }), 'fits'],
    ['exactly the operator’s dollars per hour', ask({ dollarsPerHour: 49 * DOLLAR }), 'fits'],
    [
      'an hourly price that lists show above the recorded one (A1)',
      ask({ dollarsPerHour: DOLLAR, unconfirmedPerHour: 9 * DOLLAR }, { maxSpendPerHour: 10 * DOLLAR }),
      'AtLimit',
    ],
    [
      'what such a price would have cost this month (A1)',
      ask({ spentThisMonth: 2 * DOLLAR, unconfirmedThisMonth: 3 * DOLLAR }, { maxSpendPerMonth: 5 * DOLLAR }),
      'AtLimit',
    ],
    ['a machine without a price', ask({ dollarsPerHour: 50 * DOLLAR }, {}, 0), 'fits'],
    ['the operator’s rentals per hour', ask({ rentalsLastHour: 10 }), 'AtLimit'],
    ['the operator’s live machines', ask({ liveMachines: 20 }), 'AtLimit'],
    ['the operator’s dollars per hour', ask({ dollarsPerHour: 49 * DOLLAR + 1 }), 'AtLimit'],
  ] as const)('%s: %s', (_, input, expected) => {
    const decision = mayRent(input);
    expect(decision.type === 'fits' ? 'fits' : decision.reason).toBe(expected);
  });

  test('reports the limits of a person before the operator’s own ceilings', () => {
    const decision = mayRent(ask({ credit: 0, rentalsLastHour: 99, liveMachines: 99 }));
    expect(decision).toMatchObject({ reason: 'InsufficientCredit' });
  });

  test('too many rentals are asked for again when the oldest is an hour old', () => {
    const decision = mayRent(ask({ rentalsLastHour: 10, oldestRentalAt: NOW - HOUR + 90_000 }));
    expect(decision).toMatchObject({ retryAfterMs: 90_000 });
  });

  test('M9: the message of too many rentals has the time of the next, unless a rental is under way', () => {
    const oldest = { rentalsLastHour: 10, oldestRentalAt: NOW - HOUR + 90_000 };
    const next = new Date(NOW + 90_000).toISOString().replace(/\.\d+Z$/, 'Z');
    const messageOf = (input: BrakeInput) => {
      const decision = mayRent(input);
      return decision.type === 'stopped' ? decision.message : '';
    };
    expect(messageOf(ask(oldest))).toContain(`The next is rented after ${next}.`);
    const later = { ...ask(oldest), now: NOW + 5_000 };
    expect(messageOf(later)).toBe(messageOf(ask(oldest)));
    expect(messageOf(ask({ ...oldest, rentalsUnderWay: 1 }))).not.toContain('after');
  });

  test('too many rentals of which one is under way are asked for again soon: it may come to nothing', () => {
    const found = { rentalsLastHour: 10, rentalsUnderWay: 1, oldestRentalAt: NOW - HOUR + 90_000 };
    expect(mayRent(ask(found))).toMatchObject({ reason: 'AtLimit', retryAfterMs: 10_000 });
  });

  test.each([
    [ask({ liveMachines: 5 }, { maxInstances: 5 }), 'The account has 5 machines; limits.maxInstances is 5.'],
    [ask({ credit: 1 }, { minCredit: 2 * DOLLAR }), 'More than $2.00 of credit must remain.'],
    [ask({ credit: 0 }), 'More than $0.00 of credit must remain.'],
    [
      ask({}, { maxPricePerHour: DOLLAR / 2 }),
      "$1.00/h is above the account's limits.maxPricePerHour of $0.50.",
    ],
    [
      ask({ dollarsPerHour: 9 * DOLLAR }, { maxSpendPerHour: 9 * DOLLAR }),
      'All machines would cost $10.00/h; limits.maxSpendPerHour is $9.00.',
    ],
    [
      ask({ spentThisMonth: 31 * DOLLAR }, { maxSpendPerMonth: 30 * DOLLAR }),
      '$31.00 is spent this month (UTC); limits.maxSpendPerMonth is $30.00.',
    ],
    [
      ask({ rentalsLastHour: 10 }),
      'The account rented 10 machines within the hour; --max-rentals-per-hour is 10.',
    ],
    [ask({ liveMachines: 20 }), 'The account has 20 machines; --max-live-machines is 20.'],
    [
      ask({ dollarsPerHour: 50 * DOLLAR }),
      'All machines would cost $51.00/h; --max-dollars-per-hour is $50.00.',
    ],
  ])('the message names the limit and both figures: %#', (input, message) => {
    expect(mayRent(input)).toMatchObject({ message });
  });

  test('it is asked again after ten seconds, and never within one', () => {
    expect(mayRent(ask({ credit: 0 }))).toMatchObject({ retryAfterMs: 10_000 });
    const due = ask({ rentalsLastHour: 10, oldestRentalAt: NOW - HOUR });
    expect(mayRent(due)).toMatchObject({ retryAfterMs: 1_000 });
  });
});

describe('whether a stopped machine may be started', () => {
  test.each([
    ['more machines than allowed do not matter', ask({ liveMachines: 9 }, { maxInstances: 5 }), 'fits'],
    ['rentals of the hour do not matter', ask({ rentalsLastHour: 99 }), 'fits'],
    ['the operator’s number of machines does not matter', ask({ liveMachines: 99 }), 'fits'],
    ['credit matters', ask({ credit: 0 }), 'stopped'],
    ['its price matters', ask({}, { maxPricePerHour: DOLLAR - 1 }), 'stopped'],
    ['the month matters', ask({ spentThisMonth: DOLLAR }, { maxSpendPerMonth: DOLLAR }), 'stopped'],
    ['the operator’s dollars per hour matter', ask({ dollarsPerHour: 50 * DOLLAR }), 'stopped'],
    [
      'the hour’s spending matters',
      ask({ dollarsPerHour: 10 * DOLLAR }, { maxSpendPerHour: 10 * DOLLAR }),
      'stopped',
    ],
  ] as const)('%s', (_, input, type) => {
    expect(mayStart(input).type).toBe(type);
  });
});

describe('adding an account up', () => {
  const input = (changes: Partial<SumInput> = {}): SumInput => ({
    objects: added([]),
    pending: [],
    deleted: undefined,
    credit: undefined,
    now: NOW,
    month: '2026-11',
    ...changes,
  });

  test('machines, prices and spending of its objects', () => {
    const objects = [
      object(),
      object({ uid: 'u2', instanceId: '2', pricePerHour: 2 * DOLLAR, spentThisMonth: 7 }),
    ];
    expect(sumAccount(input({ objects: added(objects) }))).toMatchObject({
      liveMachines: 2,
      dollarsPerHour: 3 * DOLLAR,
      spentThisMonth: 7,
    });
  });

  test('an open intent counts as a machine, an object without either does not', () => {
    const objects = [
      object({ instanceId: undefined, hasOpenIntent: true, pricePerHour: 0 }),
      object({ uid: 'u2', instanceId: undefined, pricePerHour: 0 }),
    ];
    expect(sumAccount(input({ objects: added(objects) })).liveMachines).toBe(1);
  });

  test('a machine that is only observed costs the account nothing', () => {
    expect(
      sumAccount(input({ objects: added([object({ adopted: 'Observe', spentThisMonth: 5 })]) })),
    ).toMatchObject({
      liveMachines: 0,
      dollarsPerHour: 0,
      spentThisMonth: 0,
    });
  });

  test('only rentals of the last hour count', () => {
    const objects = [object({ rentals: [NOW - HOUR, NOW - HOUR + 1, NOW] })];
    expect(sumAccount(input({ objects: added(objects) }))).toMatchObject({
      rentalsLastHour: 2,
      oldestRentalAt: NOW - HOUR + 1,
    });
  });

  test('what deleted objects left counts in its own month only', () => {
    const deleted = { month: '2026-11', spent: 4 * DOLLAR, rentals: [NOW - 1] };
    expect(sumAccount(input({ deleted }))).toMatchObject({ spentThisMonth: 4 * DOLLAR, rentalsLastHour: 1 });
    expect(sumAccount(input({ deleted, month: '2026-12' })).spentThisMonth).toBe(0);
  });

  test('stops rentals and starts by the sum of what deleted and present objects have spent', () => {
    const deleted = { month: '2026-11', spent: 4 * DOLLAR, rentals: [] };
    const present = [3 * DOLLAR, 2 * DOLLAR].map((spentThisMonth, index) =>
      object({ uid: `u${index}`, spentThisMonth }),
    );
    const spent = sumAccount(input({ deleted, objects: added(present), credit: 100 * DOLLAR }));
    const asked = (maxSpendPerMonth: number) => ({ ...ask({}, { maxSpendPerMonth }), sums: spent });
    for (const may of [mayRent, mayStart]) {
      expect(may(asked(9 * DOLLAR))).toMatchObject({ type: 'stopped', reason: 'AtLimit' });
      expect(may(asked(9 * DOLLAR + 1))).toEqual({ type: 'fits' });
    }
  });

  test('a rental under way counts before any record shows it, and its price until the record has one', () => {
    const pending = [{ at: NOW, namespace: 'team', pricePerHour: DOLLAR, recorded: false }];
    expect(sumAccount(input({ pending }))).toMatchObject({
      liveMachines: 1,
      rentalsLastHour: 1,
      rentalsUnderWay: 1,
      oldestRentalAt: undefined,
      dollarsPerHour: DOLLAR,
    });
    const shown = {
      objects: added([object({ instanceId: undefined, hasOpenIntent: true, pricePerHour: 0 })]),
    };
    const known = [{ at: NOW, namespace: 'team', pricePerHour: DOLLAR, recorded: true }];
    expect(sumAccount(input({ ...shown, pending: known }))).toMatchObject({
      liveMachines: 1,
      rentalsLastHour: 1,
      rentalsUnderWay: 1,
      dollarsPerHour: DOLLAR,
    });
  });
});

test('an account that keeps asking never exceeds its limits', () => {
  const prices = fc.array(fc.integer({ min: 1, max: 3 * DOLLAR }), { maxLength: 60 });
  const limits = fc.record({
    maxInstances: fc.integer({ min: 0, max: 30 }),
    maxSpendPerHour: fc.integer({ min: 0, max: 20 * DOLLAR }),
  });
  fc.assert(
    fc.property(prices, limits, (asked, limit) => {
      let [machines, hourly] = [0, 0];
      for (const price of asked) {
        const found = sums({ liveMachines: machines, dollarsPerHour: hourly });
        const decision = mayRent({ sums: found, limits: limit, settings, pricePerHour: price, now: NOW });
        if (decision.type === 'stopped') continue;
        machines += 1;
        hourly += price;
      }
      expect(machines).toBeLessThanOrEqual(Math.min(limit.maxInstances, settings.maxLiveMachines));
      expect(hourly).toBeLessThanOrEqual(Math.min(limit.maxSpendPerHour, settings.maxDollarsPerHour));
    }),
  );
});

test('says how many machines have no GpuInstance when they fill the limit', () => {
  const found = { liveMachines: 3, orphanMachines: 4 };
  expect(mayRent(ask(found, { maxInstances: 5 }))).toMatchObject({
    message: 'The account has 7 machines, 4 of them without a GpuInstance; limits.maxInstances is 5.',
  });
});

test('adds up what the machines cost that no object claims', () => {
  const orphans = [{ pricePerHour: DOLLAR }, { pricePerHour: 2 * DOLLAR }];
  expect(
    sumAccount({
      objects: added([]),
      pending: [],
      orphans,
      deleted: undefined,
      credit: 0,
      now: NOW,
      month: '',
    }),
  ).toMatchObject({
    liveMachines: 0,
    orphanMachines: 2,
    orphanDollarsPerHour: 3 * DOLLAR,
  });
});

test('counts a rental that was carried out late, which no record shows, for an hour (H6)', () => {
  const billed = (agoMs: number) => ({ pricePerHour: DOLLAR, rentedLateAt: NOW - agoMs });
  const sums = sumAccount({
    ...{ objects: added([]), pending: [], deleted: undefined, credit: 0, now: NOW, month: '' },
    orphans: [{ pricePerHour: DOLLAR }, billed(HOUR - 1), billed(HOUR)],
  });
  expect(sums).toMatchObject({ rentalsLastHour: 1, oldestRentalAt: NOW - HOUR + 1, orphanMachines: 3 });
});
