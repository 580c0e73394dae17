import { describe, expect, test } from 'vitest';
import { accountWith, failed, LOGIN, proven, SECOND_KEY } from '../../../test/builders/observed-account.ts';
import { chooseProof, isInconclusive, type KeyProof, needsFallbackKey, provesPinned } from './key-proof.ts';

const NO_KEY: KeyProof = { type: 'none' };
const REFUSED = failed('unauthorized');
const UNANSWERED = failed('unavailable');
const PINNED = { ...LOGIN, provenAt: '2026-11-20T11:00:00Z' };
const ANOTHER = { ...LOGIN, userId: '8' };

describe('a failed proof', () => {
  test.each(['unauthorized', 'sessionExpired', 'twoFactorRequired', 'forbidden'] as const)(
    'says something about the key when it failed as %s',
    (kind) => {
      expect(isInconclusive({ kind, badCertificate: false })).toBe(false);
    },
  );

  test.each(['unavailable', 'timeout', 'throttled', 'malformedReply', 'blockedAddress'] as const)(
    'says nothing about the key when it failed as %s',
    (kind) => {
      expect(isInconclusive({ kind, badCertificate: false })).toBe(true);
    },
  );
});

describe('a proof is of the account’s own login', () => {
  test.each<readonly [string, KeyProof, typeof PINNED | undefined, boolean]>([
    ['when none is pinned yet', proven(), undefined, true],
    ['when it proved the pinned one', proven(), PINNED, true],
    [
      'when only a slash at the end of the address differs',
      proven(),
      { ...PINNED, url: `${LOGIN.url}/` },
      true,
    ],
    ['not when it proved another user', proven({ login: ANOTHER }), PINNED, false],
    ['not when it failed, although none is pinned', REFUSED, undefined, false],
    ['not when there is no key, although none is pinned', NO_KEY, undefined, false],
  ])('%s', (_, proof, pinned, expected) => {
    expect(provesPinned(proof, pinned)).toBe(expected);
  });
});

describe('the kept key is needed', () => {
  const pinned = accountWith({
    status: { login: PINNED } as NonNullable<ReturnType<typeof accountWith>['status']>,
  });

  test.each<readonly [string, KeyProof, boolean]>([
    ['when the user’s Secret holds no key', NO_KEY, true],
    ['when the user’s key is refused', REFUSED, true],
    ['not when nobody answered for the user’s key', UNANSWERED, false],
    ['when the user’s key may not destroy', proven({ mayDestroy: false }), true],
    ['not when the user’s key may destroy', proven(), false],
    ['not when the user’s key is of another login', proven({ login: ANOTHER }), false],
    [
      'not when the user’s key is of another login and may not destroy',
      proven({ login: ANOTHER, mayDestroy: false }),
      false,
    ],
  ])('%s', (_, own, expected) => {
    expect(needsFallbackKey(own, pinned)).toBe(expected);
  });

  test.each([
    ['has no status', undefined],
    ['has a status without a login', {} as NonNullable<ReturnType<typeof accountWith>['status']>],
  ])('by no account that %s: no machine was rented with it', (_, status) => {
    expect(needsFallbackKey(NO_KEY, accountWith({ ...(status && { status }) }))).toBe(false);
  });
});

describe('beside a kept key, the proof that counts', () => {
  const narrow = proven({ mayDestroy: false });
  const kept = proven({ source: 'kept', key: SECOND_KEY });
  const keptNarrow = proven({ source: 'kept', key: SECOND_KEY, mayDestroy: false });
  const keptRefused: KeyProof = { ...REFUSED, source: 'kept' } as KeyProof;
  const keptUnanswered: KeyProof = { ...UNANSWERED, source: 'kept' } as KeyProof;

  test.each<readonly [string, KeyProof, KeyProof, KeyProof]>([
    ['is the kept key’s alone when the user’s Secret holds none', NO_KEY, kept, kept],
    ['is that the kept key is refused when the user’s Secret holds none', NO_KEY, keptRefused, keptRefused],
    ['is that there is none when neither exists', NO_KEY, NO_KEY, NO_KEY],
    ['is the kept key’s, with the refusal of the user’s key', REFUSED, kept, { ...kept, insteadOf: REFUSED }],
    ['is the kept key’s when the user’s key may not destroy', narrow, kept, { ...kept, insteadOf: narrow }],
    ['is the user’s key’s when neither may destroy', narrow, keptNarrow, narrow],
    [
      'is the kept key’s when the user’s key is refused, although the kept one may not destroy',
      REFUSED,
      keptNarrow,
      { ...keptNarrow, insteadOf: REFUSED },
    ],
    ['is the refusal of the user’s key when the kept one is refused too', REFUSED, keptRefused, REFUSED],
    ['is the user’s key’s when the kept one is refused', narrow, keptRefused, narrow],
    ['is the refusal of the user’s key when none was kept', REFUSED, NO_KEY, REFUSED],
    ['is left open when nobody answered for the kept key', REFUSED, keptUnanswered, keptUnanswered],
  ])('%s', (_, own, ofKept, expected) => {
    expect(chooseProof(own, ofKept)).toEqual(expected);
  });
});
