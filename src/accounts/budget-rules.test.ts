import { describe, expect, test } from 'vitest';
import type { SpendBudget } from '../api/v1alpha1/spend-budget.ts';
import {
  type Budget,
  budgetRefusal,
  isHourOver,
  isMonthSpent,
  nextMonth,
  shownMonthCost,
  shownSpent,
  shownStep,
} from './budget-rules.ts';

const DOLLAR = 1_000_000;
const NOW = Date.parse('2026-12-31T23:59:59.500Z');

const budget = (change: Partial<Budget>): Budget => ({
  ...{ name: 'b', perHour: undefined, perMonth: undefined, blocks: true, stops: false },
  ...change,
});
const spend = (spentThisMonth: number, pricePerHour = 0) => ({
  ...{ spentThisMonth, pricePerHour },
  ...{ unconfirmedThisMonth: 0, unconfirmedPerHour: 0 },
});

test('the next month is that of the next year in December', () => {
  expect(nextMonth(NOW)).toBe(Date.parse('2027-01-01T00:00:00Z'));
});

test('a refusal by the month is not repeated in a hot loop at its end', () => {
  const asked = { spend: spend(DOLLAR), pricePerHour: 0, now: NOW };
  expect(budgetRefusal([budget({ perMonth: 1 })], asked)?.retryAfterMs).toBe(1_000);
});

test('prices that are not confirmed count for admission', () => {
  const unconfirmed = { ...spend(DOLLAR, DOLLAR), unconfirmedThisMonth: DOLLAR, unconfirmedPerHour: DOLLAR };
  const refusal = (most: Partial<Budget>) =>
    budgetRefusal([budget(most)], { spend: unconfirmed, pricePerHour: DOLLAR, now: NOW });
  expect(refusal({ perHour: 3 * DOLLAR, perMonth: 5 * DOLLAR })).toBeUndefined();
  expect(refusal({ perHour: 3 * DOLLAR - 1 })).toBeDefined();
  expect(refusal({ perMonth: 5 * DOLLAR - 1 })?.message).toContain('$1.99996 is spent');
});

describe('the shown spending', () => {
  test.each([
    ['in hundredths of the month', { perMonth: 500 * DOLLAR }, 5 * DOLLAR],
    ['in whole hours without a month', { perHour: 2 * DOLLAR }, 2 * DOLLAR],
    ['in cents at least', { perMonth: DOLLAR / 2 }, 10_000],
    ['in cents without any amount', {}, 10_000],
  ])('moves %s', (_, limits, step) => {
    expect(shownStep(budget(limits))).toBe(step);
  });

  test.each([
    [0, 0],
    [4.99, 0],
    [5, 5],
    [499.99, 495],
    [504.99, 500],
    [505, 505],
  ])('of $%f is $%f of 500', (spent, shown) => {
    expect(shownSpent(budget({ perMonth: 500 * DOLLAR }), spent * DOLLAR)).toBe(shown * DOLLAR);
  });

  test('is the budget when it is reached, even between two steps', () => {
    const odd = budget({ perMonth: 333_333 });
    expect(shownSpent(odd, 333_333)).toBe(333_333);
    expect(shownSpent(odd, 343_333)).toBe(340_000);
    expect(shownSpent(budget({ perHour: DOLLAR }), 2.5 * DOLLAR)).toBe(2 * DOLLAR);
  });
});

test('the month of a status counts, and no other', () => {
  const shown = (month: string, spentThisMonth?: string) =>
    ({ status: { month, spentThisMonth } }) as SpendBudget;
  const budgets = [
    shown('2026-12', '3.00'),
    shown('2026-12', '5.00'),
    shown('2026-12'),
    shown('2026-11', '9.00'),
  ];
  expect(shownMonthCost(budgets, NOW)).toBe(5 * DOLLAR);
  expect(shownMonthCost([{} as SpendBudget], NOW)).toBe(0);
});

test('a month is spent at its budget, an hour is over beyond it', () => {
  const month = budget({ perMonth: DOLLAR });
  expect([DOLLAR - 1, DOLLAR].map((spent) => isMonthSpent(month, spend(spent)))).toEqual([false, true]);
  const hour = budget({ perHour: DOLLAR });
  expect([DOLLAR, DOLLAR + 1].map((price) => isHourOver(hour, spend(0, price)))).toEqual([false, true]);
  expect([isMonthSpent(hour, spend(9e9)), isHourOver(month, spend(0, 9e9))]).toEqual([false, false]);
});
