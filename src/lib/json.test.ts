import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson, sameJson } from './json.ts';
import { canonicalSha256 } from './json-hash.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

test('writes the same text for the same value when its keys are in another order', () => {
  const value = { b: [1, { d: null, c: 'x' }], a: true, gone: undefined };
  expect(canonicalJson(value)).toBe('{"a":true,"b":[1,{"c":"x","d":null}]}');
});

test('property: writes JSON of the same value, and hashes what it writes', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = canonicalJson(value);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(canonicalSha256(value)).toBe(sha256(text));
    }),
  );
});

test.each([4094, 4095, 4096, 100_000])(
  'hashes what it writes when a text is %d characters long',
  (length) => {
    const value = {
      env: { B: { value: 'ä'.repeat(length) }, A: { value: 'x'.repeat(length) } },
      script: 'date',
    };
    expect(canonicalSha256(value)).toBe(sha256(canonicalJson(value)));
  },
);

describe('sameJson', () => {
  test('property: a value is the same as what JSON makes of it, whatever the order of keys', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(sameJson(value, JSON.parse(JSON.stringify(value)))).toBe(true);
        if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
          expect(sameJson(Object.fromEntries(Object.entries(value).toReversed()), value)).toBe(true);
          expect(sameJson({ ...value, more: undefined }, value)).toBe(!('more' in value));
        }
      }),
    );
  });

  test('zero has no sign', () => {
    expect(sameJson({ cost: -0 }, { cost: 0 })).toBe(true);
  });

  test.each([
    [{ a: 1 }, { a: 2 }],
    [{ a: 1 }, { a: 1, b: 1 }],
    [
      [1, 2],
      [2, 1],
    ],
    [[1], { 0: 1 }],
    [{}, null],
    ['1', 1],
  ])('%j differs from %j', (left, right) => {
    expect(sameJson(left, right)).toBe(false);
    expect(sameJson(right, left)).toBe(false);
  });
});
