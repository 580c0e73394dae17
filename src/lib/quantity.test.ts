import { expect, test } from 'vitest';
import { parseQuantity, wholeGigabytes } from './quantity.ts';

test.for([
  ['0', 0],
  ['12', 12],
  ['1.5', 1.5],
  ['2k', 2_000],
  ['3M', 3_000_000],
  ['24G', 24_000_000_000],
  ['1T', 1e12],
  ['1P', 1e15],
  ['1Ki', 1_024],
  ['2Mi', 2_097_152],
  ['1.5Gi', 1_610_612_736],
  ['1Ti', 1_099_511_627_776],
  ['1Pi', 1_125_899_906_842_624],
] as const)('%s is %f', ([text, amount]) => {
  expect(parseQuantity(text)).toBe(amount);
});

test.for(['', 'G', '-1G', '1g', '1K', '1ki', '1.G', '.5G', '1GB', ' 1G', '1G ', '1e3', '1Gi1'])(
  '"%s" is no quantity',
  (text) => {
    expect(parseQuantity(text)).toBeUndefined();
  },
);

test.for([
  ['10G', 10],
  ['10.1G', 11],
  ['1', 1],
  ['10Gi', 11],
  ['0', 0],
] as const)('%s of disk are sold as %i GB', ([text, gigabytes]) => {
  expect(wholeGigabytes(text)).toBe(gigabytes);
});

test('what is no quantity has no gigabytes', () => {
  expect(wholeGigabytes('much')).toBeUndefined();
});
