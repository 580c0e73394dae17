import fc from 'fast-check';
import { expect, test } from 'vitest';
import { costOver, formatDollars, highestCap, microDollars, parseDollars } from './money.ts';

test.for([
  ['0', 0],
  ['0.80', 800_000],
  ['12.3', 12_300_000],
  ['0.000001', 1],
  ['0.0000019', 1],
  ['999999999.999999', 999_999_999_999_999],
] as const)('"%s" is %i millionths of a dollar', ([text, amount]) => {
  expect(parseDollars(text)).toBe(amount);
});

test.for(['', '-1', '+1', '1e3', '.5', '1.', '1,5', ' 1', '1 ', '1.2.3', '1234567890', 'NaN', '0x10'])(
  '"%s" is no amount',
  (text) => {
    expect(parseDollars(text)).toBeUndefined();
  },
);

test.for([
  [0, 0],
  [0.3, 300_000],
  [0.1 + 0.2, 300_000],
  [0.000_000_4, 0],
  [0.000_000_6, 1],
  [1e9, 1e15],
] as const)('a price of %f over the wire is %i millionths', ([dollars, amount]) => {
  expect(microDollars(dollars)).toBe(amount);
});

test.for([-0.01, 1e9 + 1, Number.NaN, Number.POSITIVE_INFINITY])(
  '%f over the wire is no price',
  (dollars) => {
    expect(microDollars(dollars)).toBeUndefined();
  },
);

test.for([
  [0, '0.00'],
  [800_000, '0.80'],
  [44_125, '0.044125'],
  [1_500_000, '1.50'],
  [1_505_000, '1.505'],
  [20_000_000, '20.00'],
  [-1_230_000, '-1.23'],
  [0.6, '0.000001'],
] as const)('%f millionths are written %s', ([amount, text]) => {
  expect(formatDollars(amount)).toBe(text);
});

test('what is written reads as the same amount', () => {
  fc.assert(
    fc.property(fc.nat({ max: 999_999_999_999_999 }), (amount) => {
      expect(parseDollars(formatDollars(amount))).toBe(amount);
    }),
  );
});

test.for([
  [3_600_000, 3_600_000, 3_600_000],
  [300_000, 1_800_000, 150_000],
  [1, 1_800_000, 1],
  [1, 1_799_999, 0],
] as const)('%i an hour over %i ms cost %i', ([price, milliseconds, cost]) => {
  expect(costOver(price, milliseconds)).toBe(cost);
});

test.for<[string, readonly (string | undefined)[], number | undefined]>([
  ['one', ['0.60'], 600_000],
  ['the highest of several', ['0.60', '10.00', '2.00'], 10_000_000],
  ['nothing, where one alternative has none', ['0.60', undefined], undefined],
  ['nothing, where there is no alternative', [], undefined],
])('caps bound alternatives together by %s', ([, caps, highest]) => {
  expect(highestCap(caps)).toBe(highest);
});
