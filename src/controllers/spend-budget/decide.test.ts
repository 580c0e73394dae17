import { describe, expect, test } from 'vitest';
import type { NamespaceSpend } from '../../accounts/budget-rules.ts';
import { API_VERSION } from '../../api/v1alpha1/names.ts';
import {
  type SpendBudget,
  type SpendBudgetManifestSpec,
  spendBudgetSpec,
} from '../../api/v1alpha1/spend-budget.ts';
import { decide } from './decide.ts';

const DOLLAR = 1_000_000;
const NOW = Date.parse('2026-11-12T10:00:00Z');
const NOTHING: NamespaceSpend = {
  ...{ spentThisMonth: 0, pricePerHour: 0 },
  ...{ unconfirmedThisMonth: 0, unconfirmedPerHour: 0 },
};

const budget = (spec: SpendBudgetManifestSpec, status?: SpendBudget['status']): SpendBudget => ({
  apiVersion: API_VERSION,
  kind: 'SpendBudget',
  metadata: { namespace: 'team', name: 'b', generation: 3 },
  spec: spendBudgetSpec.parse(spec),
  status,
});

const decided = (spec: SpendBudgetManifestSpec, spend: Partial<NamespaceSpend>, now = NOW) =>
  decide({ budget: budget(spec), spend: { ...NOTHING, ...spend }, now });

const exceeded = ({ status }: ReturnType<typeof decide>) =>
  status.conditions?.find(({ type }) => type === 'Exceeded');

test('reports spent and remaining amounts', () => {
  const { status } = decided(
    { perHour: '5', perMonth: '500' },
    { spentThisMonth: 123.4 * DOLLAR, pricePerHour: 3.3 * DOLLAR },
  );
  expect(status).toMatchObject({
    observedGeneration: 3,
    month: '2026-11',
    spentThisMonth: '120.00',
    pricePerHour: '3.30',
    leftThisMonth: '380.00',
    leftPerHour: '1.70',
  });
  expect(status.conditions).toMatchObject([
    { type: 'Ready', status: 'True', reason: 'Ready', observedGeneration: 3 },
  ]);
});

test('reports no remaining amount of a limit that it does not have', () => {
  expect(decided({ perHour: '5' }, {}).status).not.toHaveProperty('leftThisMonth');
  expect(decided({ perMonth: '500' }, {}).status).not.toHaveProperty('leftPerHour');
});

test.each<[string, Partial<SpendBudgetManifestSpec>, string]>([
  [
    'rentals are refused and machines keep running',
    {},
    'Rentals and starts over the budget are refused; running machines keep running.',
  ],
  [
    'machines stop when the month is spent',
    { onExceeded: 'Stop' },
    'Rentals and starts over the budget are refused; machines stop when perMonth is spent.',
  ],
  [
    'nothing is refused',
    { action: 'Report', onExceeded: 'Stop' },
    'Report only: the budget refuses no rental or start.',
  ],
])('says that %s by its policy', (_, policy, message) => {
  const { status } = decided({ perMonth: '500', ...policy } as SpendBudgetManifestSpec, {});
  expect(status.conditions).toMatchObject([{ type: 'Ready', message }]);
});

test('writes the spending in steps', () => {
  const at = (spent: number) => decided({ perMonth: '500' }, { spentThisMonth: spent * DOLLAR }).status;
  expect(at(120)).toEqual(at(124.99));
  expect(at(120).spentThisMonth).not.toBe(at(125).spentThisMonth);
});

describe('Exceeded', () => {
  test.each([
    [
      'the month is spent',
      { perMonth: '500' },
      { spentThisMonth: 500 * DOLLAR },
      'Spent $500.00 of perMonth $500.00',
    ],
    [
      'machines cost more than perHour',
      { perHour: '5' },
      { pricePerHour: 5.01 * DOLLAR },
      'Machines cost $5.01/h; perHour is $5.00',
    ],
  ])('is true when %s', (_, spec, spend, message) => {
    const decision = decided(spec, spend);
    expect(exceeded(decision)).toMatchObject({
      status: 'True',
      reason: 'BudgetReached',
      message: expect.stringContaining(message),
    });
    expect(decision.events).toEqual([
      {
        ...{ type: 'Warning', reason: 'BudgetReached', action: 'CountSpending' },
        note: exceeded(decision)?.message,
      },
    ]);
  });

  test.each([
    ['the month has a cent left', { perMonth: '500' }, { spentThisMonth: 500 * DOLLAR - 1 }],
    ['machines cost exactly perHour', { perHour: '5' }, { pricePerHour: 5 * DOLLAR }],
  ])('is absent when %s', (_, spec, spend) => {
    const decision = decided(spec, spend);
    expect(exceeded(decision)).toBeUndefined();
    expect(decision.events).toEqual([]);
  });

  test('is an event once', () => {
    const spend = { ...NOTHING, spentThisMonth: 500 * DOLLAR };
    const first = decide({ budget: budget({ perMonth: '500' }), spend, now: NOW });
    const again = decide({ budget: budget({ perMonth: '500' }, first.status), spend, now: NOW });
    expect(again.events).toEqual([]);
    expect(again.status).toEqual(first.status);
  });

  test('ends with the month', () => {
    const spend = { ...NOTHING, spentThisMonth: 500 * DOLLAR };
    const { status } = decide({ budget: budget({ perMonth: '500' }), spend, now: NOW });
    const next = decide({
      ...{ budget: budget({ perMonth: '500' }, status), spend: NOTHING },
      now: Date.parse('2026-12-01T00:00:00Z'),
    });
    expect(exceeded(next)).toBeUndefined();
    expect(next.status.month).toBe('2026-12');
  });
});

describe('the next reconcile', () => {
  test.each([
    [
      'when the shown spending changes',
      { spentThisMonth: 4 * DOLLAR, pricePerHour: 10 * DOLLAR },
      NOW,
      360_000,
    ],
    ['after ten minutes if no machine is billed', {}, NOW, 600_000],
    ['at the end of the month', {}, Date.parse('2026-11-30T23:59:00Z'), 60_000],
    [
      'after ten seconds at the earliest',
      { spentThisMonth: 5 * DOLLAR - 1, pricePerHour: 100 * DOLLAR },
      NOW,
      10_000,
    ],
  ])('is due %s', (_, spend, now, afterMs) => {
    expect(decided({ perMonth: '500' }, spend, now).requeueAfterMs).toBe(afterMs);
  });
});
