import { describe, expect, test } from 'vitest';
import { type Given, readStrictly, type SettingsReader } from './reader.ts';

const programs = (reader: SettingsReader) => ({
  programs: reader.whole('PROGRAMS', 1, 1000) ?? 10,
  minutes: reader.positive('MINUTES') ?? 1,
  seed: reader.seed('SEED') ?? 7,
});
const read = (given: Given) => readStrictly(given, programs);

describe('settings', () => {
  test('that are not set have their defaults, and so have empty ones', () => {
    expect(read({ PROGRAMS: '', MINUTES: ' ' })).toEqual({ programs: 10, minutes: 1, seed: 7 });
  });

  test('that are written are taken', () => {
    expect(read({ PROGRAMS: ' 1000 ', MINUTES: '0.5', SEED: '0' })).toEqual({
      ...{ programs: 1000, minutes: 0.5, seed: 0 },
    });
  });

  test.for([
    ['PROGRAMS', 'abc', 'write a whole number from 1 to 1000'],
    ['PROGRAMS', '0', 'write a whole number from 1 to 1000'],
    ['PROGRAMS', '1001', 'write a whole number from 1 to 1000'],
    ['PROGRAMS', '1e2', 'write a whole number from 1 to 1000'],
    ['PROGRAMS', 'NaN', 'write a whole number from 1 to 1000'],
    ['MINUTES', 'Infinity', 'write a number above 0, such as 3 or 0.5'],
    ['MINUTES', '0', 'write a number above 0, such as 3 or 0.5'],
    ['SEED', '-1', 'write a whole number from 0 to 2147483647'],
  ] as const)('that mean nothing are refused with the remedy: %s=%s', ([name, text, remedy]) => {
    expect(() => read({ [name]: text })).toThrow(`${name}=${text} means nothing here: ${remedy}`);
  });
});
