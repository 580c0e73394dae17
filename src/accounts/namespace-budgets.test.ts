import { beforeEach, describe, expect, test } from 'vitest';
import { playBudgetSchedule } from '../../test/builders/budget-schedule.ts';
import { instanceSummary } from '../../test/builders/instance-summary.ts';
import { createVirtualClock, type VirtualClock } from '../../test/builders/virtual-clock.ts';
import { API_VERSION } from '../api/v1alpha1/names.ts';
import {
  type SpendBudget,
  type SpendBudgetManifestSpec,
  spendBudgetSpec,
} from '../api/v1alpha1/spend-budget.ts';
import type { InstanceSummary } from '../instance/summary.ts';
import { listedObjects } from './account-objects.ts';
import { type CountedAdmission, NamespaceBudgets } from './namespace-budgets.ts';

const DOLLAR = 1_000_000;

let clock: VirtualClock;
let budgets: readonly SpendBudget[];
let objects: readonly InstanceSummary[];
let monthCost: number;
let admissions: readonly CountedAdmission[];

beforeEach(() => {
  clock = createVirtualClock({ startMs: Date.parse('2026-11-12T10:00:00Z') });
  budgets = [];
  objects = [];
  monthCost = 0;
  admissions = [];
});

const budget = (name: string, spec: SpendBudgetManifestSpec): SpendBudget => ({
  apiVersion: API_VERSION,
  kind: 'SpendBudget',
  metadata: { namespace: 'team', name, generation: 1 },
  spec: spendBudgetSpec.parse(spec),
});

const running = (uid: string, pricePerHour: number, change: Partial<InstanceSummary> = {}) =>
  instanceSummary({ uid, key: `team/${uid}`, instanceId: `m-${uid}`, pricePerHour, ...change });

/** Returns an admission that counts these objects, with these rentals in progress. */
const admission = (
  uids: readonly string[],
  pending: number[] = [],
  namespace = 'team',
): CountedAdmission => ({
  counts: (uid) => uids.includes(uid),
  besideRecords: () => ({
    instead: [],
    pending: pending.map((pricePerHour) => ({ at: 0, namespace, pricePerHour, recorded: false })),
  }),
});

const gate = () =>
  new NamespaceBudgets({
    clock,
    settings: { maxDollarsPerHour: 100 * DOLLAR },
    budgets: () => budgets,
    objects: () => listedObjects(objects),
    admissions: () => admissions,
    monthCost: () => monthCost,
  });

const asker = admission([]);
const ask = (pricePerHour: number) =>
  gate().refusal({ namespace: 'team', pricePerHour, asker, beside: asker.besideRecords() });

describe('a budget of an hour', () => {
  test('counts machines of all accounts, and rentals in progress of each', () => {
    budgets = [budget('team', { perHour: '3' })];
    objects = [running('a', DOLLAR)];
    admissions = [
      admission(['a'], [DOLLAR / 2]),
      admission([], [DOLLAR / 2]),
      admission([], [DOLLAR], 'other'),
    ];
    expect(ask(DOLLAR)).toBeUndefined();
    expect(ask(1.01 * DOLLAR)).toEqual({
      message: 'SpendBudget team: all machines of the namespace would cost $3.01/h; perHour is $3.00.',
      retryAfterMs: 10_000,
    });
  });

  test('counts an object of an account without a session at its maximum price', () => {
    budgets = [budget('team', { perHour: '3' })];
    objects = [running('a', 0, { hasUnknownPrice: true, maxPrice: 2.5 * DOLLAR })];
    expect(ask(DOLLAR)?.message).toContain('would cost $3.50/h');
    objects = [instanceSummary({ uid: 'a', key: 'team/a', hasOpenIntent: true })];
    expect(ask(DOLLAR)?.message).toContain('would cost $101.00/h');
  });

  test('counts an object by the account that counts it', () => {
    budgets = [budget('team', { perHour: '3' })];
    objects = [running('a', DOLLAR, { hasUnknownPrice: true, maxPrice: 2.5 * DOLLAR })];
    const most = running('a', 1.5 * DOLLAR);
    admissions = [
      admission(['b']),
      { ...admission(['a']), besideRecords: () => ({ instead: [most], pending: [] }) },
    ];
    expect(ask(1.5 * DOLLAR)).toBeUndefined();
    expect(ask(1.6 * DOLLAR)?.message).toContain('would cost $3.10/h');
  });

  test('counts an open rental that its account knows at its price', () => {
    budgets = [budget('team', { perHour: '3' })];
    objects = [instanceSummary({ uid: 'a', key: 'team/a', hasOpenIntent: true })];
    admissions = [admission(['b']), admission(['a'], [DOLLAR])];
    expect(ask(2 * DOLLAR)).toBeUndefined();
  });

  test('counts the account that asks once, by what it says itself', () => {
    budgets = [budget('team', { perHour: '3' })];
    const [stale, present] = [admission([], [3 * DOLLAR]), admission([], [DOLLAR])];
    const refusal = (pricePerHour: number, known: readonly CountedAdmission[]) => {
      admissions = known;
      return gate().refusal({
        ...{ namespace: 'team', pricePerHour, asker: stale },
        beside: present.besideRecords(),
      });
    };
    for (const known of [[], [stale]]) {
      expect(refusal(2 * DOLLAR, known)).toBeUndefined();
      expect(refusal(2.1 * DOLLAR, known)?.message).toContain('would cost $3.10/h');
    }
  });

  test('counts a price that lists show above the recorded one', () => {
    budgets = [budget('team', { perHour: '3' })];
    objects = [running('a', DOLLAR, { unconfirmedPerHour: 1.5 * DOLLAR })];
    expect(ask(DOLLAR)?.message).toContain('would cost $3.50/h');
  });
});

describe('a budget of a month', () => {
  test('needs room for one hour of all machines, and says when the next month begins', () => {
    budgets = [budget('team', { perMonth: '100' })];
    objects = [running('a', DOLLAR, { spentThisMonth: 97.5 * DOLLAR })];
    expect(ask(1.5 * DOLLAR)).toBeUndefined();
    expect(ask(1.6 * DOLLAR)).toEqual({
      message:
        'SpendBudget team: $97.00 is spent this month (UTC) and one hour of all machines would cost $2.60; perMonth is $100.00. The next month begins at 2026-12-01T00:00:00Z.',
      retryAfterMs: 60_000,
    });
  });

  test('counts machines of deleted objects', () => {
    budgets = [budget('team', { perMonth: '100' })];
    monthCost = 99.5 * DOLLAR;
    expect(ask(DOLLAR)?.message).toContain('$99.00 is spent');
  });

  test('names no next month if an hour costs more than a month may', () => {
    budgets = [budget('team', { perMonth: '1' })];
    expect(ask(2 * DOLLAR)?.message).toMatch(/perMonth is \$1\.00\.$/);
  });

  test('is asked again at the end of the month at the latest', async () => {
    budgets = [budget('team', { perMonth: '100' })];
    monthCost = 100 * DOLLAR;
    await clock.advance(Date.parse('2026-11-30T23:59:50Z') - clock.now());
    expect(ask(DOLLAR)?.retryAfterMs).toBe(10_000);
  });
});

test('every budget of the namespace that blocks has to leave room', () => {
  budgets = [
    budget('a', { perHour: '5' }),
    budget('b', { perHour: '1', action: 'Report' }),
    budget('c', { perHour: '2' }),
  ];
  expect(ask(2 * DOLLAR)).toBeUndefined();
  expect(ask(3 * DOLLAR)?.message).toContain('SpendBudget c:');
});

describe('machines stop', () => {
  const stopping = { perMonth: '100', onExceeded: 'Stop' } as const;

  test.each([
    ['when the month is spent', stopping, 100 * DOLLAR, true],
    ['not before', stopping, 100 * DOLLAR - 1, false],
    ['not without onExceeded: Stop', { perMonth: '100' }, 200 * DOLLAR, false],
  ])('%s', (_, spec, spent, stops) => {
    budgets = [budget('team', spec)];
    monthCost = spent;
    expect(gate().stop('team')).toBe(
      stops
        ? 'SpendBudget team: perMonth of $100.00 is spent, and onExceeded is Stop. The next month begins at 2026-12-01T00:00:00Z.'
        : undefined,
    );
  });

  test('not for a price that is not confirmed', () => {
    budgets = [budget('team', stopping)];
    objects = [running('a', DOLLAR, { spentThisMonth: 99 * DOLLAR, unconfirmedThisMonth: 50 * DOLLAR })];
    expect(gate().stop('team')).toBeUndefined();
  });
});

test('no budget is passed in 500 random schedules of three accounts (I10)', { tags: 'long' }, () => {
  const results = Array.from({ length: 500 }, (_, seed) => playBudgetSchedule(seed + 1));
  expect(results.flatMap(({ broken }) => broken ?? [])).toEqual([]);
  const total = (key: 'granted' | 'refused') => results.reduce((sum, result) => sum + result[key], 0);
  expect(total('granted')).toBeGreaterThan(2_500);
  expect(total('refused')).toBeGreaterThan(700);
});
