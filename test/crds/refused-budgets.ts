import type { Refused } from './refused.ts';

/** SpendBudgets that the API server refuses, and the lines that a user reads. */
export const refusedBudgets: readonly Refused[] = [
  { given: 'a budget of a month', spec: { perMonth: '500' }, refusals: [] },
  { given: 'a budget of an hour that reports', spec: { perHour: '5', action: 'Report' }, refusals: [] },
  { given: 'a budget of nothing, so that nothing is rented', spec: { perHour: '0' }, refusals: [] },
  ...[
    ['a negative amount', '-5'],
    ['an amount with its currency', '10$'],
    ['an amount with a thousands separator', '1,000'],
  ].map(
    ([given = '', perMonth = '']): Refused => ({
      given,
      spec: { perMonth },
      refusals: [
        `spec.perMonth: Invalid value: "${perMonth}": write dollars in quotes, 0 or more, with at most six digits behind the point, such as "0.80"`,
      ],
    }),
  ),
  {
    given: 'no amount',
    spec: {},
    refusals: ['spec: Required value: write perHour, perMonth, or both'],
  },
  {
    given: 'a stop without the budget of a month',
    spec: { perHour: '5', onExceeded: 'Stop' },
    refusals: [
      'spec.perMonth: Required value: write perMonth: onExceeded: Stop stops machines when the month has cost that much',
    ],
  },
  {
    given: 'a stop by a budget that only reports',
    spec: { perMonth: '500', action: 'Report', onExceeded: 'Stop' },
    refusals: [
      'spec.action: Invalid value: write action: Block: a budget that only reports stops no machine',
    ],
  },
];
