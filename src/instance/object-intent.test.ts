import { describe, expect, test } from 'vitest';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../api/v1alpha1/names.ts';
import { Secret } from '../lib/secret.ts';
import { type RentalIntent, writeIntent } from '../ownership/intent.ts';
import type { KeyRing } from '../ownership/key-ring.ts';
import { objectIntent } from './object-intent.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const HOUR = 3_600_000;
const MACHINE = { instanceId: '7', claim: 'made by us' };
const KEYS: KeyRing = [new Secret('1'.repeat(64))];
const OTHER_KEYS: KeyRing = [new Secret('2'.repeat(64))];

function signed(change: Partial<RentalIntent> = {}, keys = KEYS): string {
  const issuedAt = NOW - 5;
  const facts = { uid: 'u', attempt: 1, offer: '1', generation: 1, spec: 'h', login: 'l', issuedAt };
  return writeIntent(keys, { ...facts, deadline: issuedAt + 30_000, ...change });
}

/** Returns a fresh copy, as from the API server: no cached parse of another object applies. */
function read(text: string | undefined, status: object = {}, keys: KeyRing | undefined = KEYS) {
  const noted = text === undefined ? {} : { annotations: { [annotations.rentalIntent]: text } };
  const metadata = { namespace: 'team', name: 'a', uid: 'u', ...noted };
  return objectIntent({ metadata, status } as unknown as GpuInstance, NOW, keys);
}

const NONE = { hasOpenIntent: false, hasDoubtfulIntent: false, issuedAt: undefined };
const DOUBTFUL = { ...NONE, hasDoubtfulIntent: true };

describe('an intent that is the object’s own', () => {
  test.each([
    ['is open before its result is recorded', signed(), {}, true],
    ['is closed by the attempt in the status', signed(), { attempt: 1 }, false],
    ['of a later attempt is open again', signed({ attempt: 2 }), { attempt: 1 }, true],
    [
      'of a later attempt than a machine is open at first',
      signed({ attempt: 2 }),
      { attempt: 1, ...MACHINE },
      true,
    ],
    [
      'that an hour and a machine have outlived is closed',
      signed({ attempt: 2, issuedAt: NOW - HOUR - 1 }),
      { attempt: 1, ...MACHINE },
      false,
    ],
    [
      'that a machine and exactly an hour have outlived is open',
      signed({ attempt: 2, issuedAt: NOW - HOUR }),
      { attempt: 1, ...MACHINE },
      true,
    ],
    [
      'that an hour alone has outlived is open',
      signed({ attempt: 2, issuedAt: NOW - HOUR - 1 }),
      { attempt: 1 },
      true,
    ],
  ])('%s', (_, text, status, open) => {
    expect(read(text, status)).toMatchObject({ hasOpenIntent: open, hasDoubtfulIntent: false });
  });

  test('is a record of a rental, whether or not it is open', () => {
    expect(read(signed()).issuedAt).toBe(NOW - 5);
    expect(read(signed(), { attempt: 1 }).issuedAt).toBe(NOW - 5);
  });
});

describe('an intent that anyone may have written', () => {
  test.each([
    ['is signed by nobody', '{"attempt":1,"issuedAt":9000000000000000}'],
    ['is signed with another key', signed({}, OTHER_KEYS)],
    [
      'has another date than the one that was signed',
      signed().replace(/"issuedAt":\d+/, '"issuedAt":4102444800000'),
    ],
    ['is no JSON', '{'],
    ['is a number', '7'],
    ['is null', 'null'],
    ['is of another version', '{"v":2,"attempt":1}'],
  ])('and that %s is open to no limit and has no date', (_, text) => {
    expect(read(text)).toEqual(DOUBTFUL);
  });

  test('of a former self of the object says nothing of this one', () => {
    expect(read(signed({ uid: 'former' }))).toEqual(NONE);
  });

  test('is none where none is', () => {
    expect(read(undefined)).toEqual(NONE);
  });
});

describe('while no identity is known', () => {
  // An argument that is undefined would be the default.
  const unread = (text: string, status: object = {}) => {
    const metadata = { name: 'a', uid: 'u', annotations: { [annotations.rentalIntent]: text } };
    return objectIntent({ metadata, status } as unknown as GpuInstance, NOW, undefined);
  };

  test('an object without the annotation has no intent', () => {
    const object = { metadata: { name: 'a', uid: 'u' } } as unknown as GpuInstance;
    expect(objectIntent(object, NOW, undefined)).toEqual(NONE);
  });

  test('what looks like an intent is open, and its date counts for nothing', () => {
    expect(unread('{"attempt":1,"issuedAt":9000000000000000}')).toEqual({ ...NONE, hasOpenIntent: true });
    expect(unread(signed(), { attempt: 1 })).toEqual(NONE);
  });

  test.each(['{"issuedAt":5}', '{"attempt":1}', '{"attempt":1,"issuedAt":1e400}', '7', 'null', '{'])(
    'what does not is doubtful: %s',
    (text) => expect(unread(text)).toEqual(DOUBTFUL),
  );

  test('it is read again as soon as one is', () => {
    const metadata = { name: 'a', uid: 'u', annotations: { [annotations.rentalIntent]: signed() } };
    const object = { metadata } as unknown as GpuInstance;
    expect(objectIntent(object, NOW, undefined).issuedAt).toBeUndefined();
    expect(objectIntent(object, NOW, KEYS).issuedAt).toBe(NOW - 5);
    expect(objectIntent(object, NOW, OTHER_KEYS)).toEqual(DOUBTFUL);
  });
});
