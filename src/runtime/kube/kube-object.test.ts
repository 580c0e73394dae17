import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareResourceVersions, controllerReference, objectKey, refOfKey } from './kube-object.ts';

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
