import { describe, expect, test } from 'vitest';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import { limitsOf, maxRentalPrice } from './spend-limits.ts';

type Limits = MarketplaceAccount['spec']['limits'];

const limits = (set: Limits) => limitsOf({ spec: { limits: set } } as MarketplaceAccount);

test.for<readonly [string, Limits, unknown]>([
  ['nothing', {}, {}],
  ['none at all, which is not no limit', { maxInstances: 0 }, { maxInstances: 0 }],
  [
    'each amount in micro-dollars',
    {
      maxInstances: 5,
      maxPricePerHour: '0.80',
      maxSpendPerHour: '4',
      maxSpendPerMonth: '1000.5',
      minCredit: '0.000001',
    },
    {
      maxInstances: 5,
      maxPricePerHour: 800_000,
      maxSpendPerHour: 4_000_000,
      maxSpendPerMonth: 1_000_500_000,
      minCredit: 1,
    },
  ],
])('an account that sets %s', ([, set, expected]) => {
  expect(limits(set)).toStrictEqual(expected);
});

test('an amount that cannot be read, which admission never lets through, does not become zero', () => {
  expect(limits({ minCredit: 'ten' })).toStrictEqual({});
});

describe('a rental of unknown price', () => {
  const CEILING = 50_000_000;

  test.each([
    ['the limit of its object', 3, {}, 3],
    ['the limit of the account', undefined, { maxPricePerHour: 2 }, 2],
    ['the lower of the two', 3, { maxPricePerHour: 2 }, 2],
    ['the lower of the two, the other way round', 1, { maxPricePerHour: 2 }, 1],
    ['what the account may spend, without either', undefined, { maxSpendPerHour: 7 }, 7],
    ['what the operator allows, without any', undefined, {}, CEILING],
    ['what the operator allows at most', 2 * CEILING, {}, CEILING],
  ])('may cost %s', (_, own, account, most) => {
    expect(maxRentalPrice(own, account, CEILING)).toBe(most);
  });
});
