import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { controllerReference, objectKey, refOfKey } from '../kube/kube-object.ts';
import { compareResourceVersions } from '../list-watch/resource-version.ts';
import { cutToBytes } from './cut-text.ts';
import { finalizerState } from './finalizers.ts';
import { sameJson } from './same-json.ts';
import { microTimestampOf, timestampOf } from './timestamp.ts';

describe('cutToBytes', () => {
  test('property: never more bytes than allowed, never half a character, and what fits stays', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 60 }),
        fc.integer({ min: 3, max: 80 }),
        (text, max) => {
          const wellFormed = text.toWellFormed();
          const cut = cutToBytes(wellFormed, max);
          expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(max);
          if (Buffer.byteLength(wellFormed) <= max) expect(cut).toBe(wellFormed);
          else expect(wellFormed.startsWith(cut.slice(0, -1)) && cut.endsWith('…')).toBe(true);
        },
      ),
    );
  });
});

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

test('property: resource versions compare as the numbers they are, beyond what a double holds', () => {
  const version = fc.bigInt({ min: 0n, max: 2n ** 80n });
  fc.assert(
    fc.property(version, version, (left, right) => {
      const expected = left < right ? -1 : left > right ? 1 : 0;
      expect(Math.sign(compareResourceVersions(String(left), String(right)))).toBe(expected);
    }),
  );
});

test.each([
  [undefined, [], 'unguarded'],
  [undefined, ['mine'], 'guarded'],
  ['2026-11-20T10:00:00Z', ['other', 'mine'], 'finalizing'],
  ['2026-11-20T10:00:00Z', ['other'], 'released'],
] as const)('an object deleted at %s with finalizers %j is %s', (deletionTimestamp, finalizers, state) => {
  const metadata = { name: 'a', deletionTimestamp, finalizers };
  expect(finalizerState({ apiVersion: 'v1', kind: 'Widget', metadata }, 'mine')).toBe(state);
});

test.each([
  [{ namespace: 'ns', name: 'a' }, 'ns/a'],
  [{ name: 'a' }, 'a'],
])('the key of %j is %s, and back', (ref, key) => {
  expect(objectKey(ref)).toBe(key);
  expect(refOfKey(key)).toEqual(ref);
});

test('an owner must exist before it owns', () => {
  const owner = { apiVersion: 'v1', kind: 'Widget', metadata: { namespace: 'ns', name: 'a' } };
  expect(() => controllerReference(owner)).toThrow('Widget ns/a has no uid yet');
  expect(controllerReference({ ...owner, metadata: { ...owner.metadata, uid: 'u' } })).toEqual({
    apiVersion: 'v1',
    kind: 'Widget',
    name: 'a',
    uid: 'u',
    controller: true,
    blockOwnerDeletion: true,
  });
});

test('times are written as metav1 writes them', () => {
  const at = Date.UTC(2026, 10, 20, 10, 0, 0, 123);
  expect(timestampOf(at)).toBe('2026-11-20T10:00:00Z');
  expect(microTimestampOf(at)).toBe('2026-11-20T10:00:00.123000Z');
});
