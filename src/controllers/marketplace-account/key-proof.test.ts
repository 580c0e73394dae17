import { describe, expect, test } from 'vitest';
import {
  accountWith,
  failed,
  LOGIN,
  proven,
  SECOND_KEY,
  unconfirmed,
} from '../../../test/builders/observed-account.ts';
import {
  CONFIRMATION_MS,
  chooseProof,
  isInconclusive,
  isUndecided,
  type KeyProof,
  type NamedUser,
  namedAfter,
  needsFallbackKey,
  provesPinned,
} from './key-proof.ts';

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

describe('the user of a key, after a reply that names user 7,', () => {
  const FIRST_KEY = proven().key;
  const named = (change: Partial<NamedUser> = {}): NamedUser => ({
    ...{ key: FIRST_KEY, login: LOGIN, askedAt: 0, isConfirmed: false, mayDestroy: false },
    ...change,
  });

  test.each<readonly [string, NamedUser | undefined, number, boolean]>([
    ['is not confirmed when no reply came before (CRITICAL 0)', undefined, CONFIRMATION_MS, false],
    ['is confirmed when a reply to a request a second before agrees', named(), CONFIRMATION_MS, true],
    [
      'is not confirmed when the two requests are less than a second apart',
      named(),
      CONFIRMATION_MS - 1,
      false,
    ],
    ['stays confirmed when it was', named({ isConfirmed: true }), 1, true],
    [
      'is not confirmed when the replies before named another user',
      named({ login: ANOTHER, isConfirmed: true }),
      CONFIRMATION_MS,
      false,
    ],
    [
      'is not confirmed when another key was confirmed',
      named({ key: SECOND_KEY, isConfirmed: true }),
      CONFIRMATION_MS,
      false,
    ],
    [
      'is not confirmed when the reply before is of another marketplace',
      named({ login: { ...LOGIN, url: 'https://other.example' } }),
      CONFIRMATION_MS,
      false,
    ],
  ])('%s', (_, first, askedAt, isConfirmed) => {
    const now = namedAfter(first, { key: FIRST_KEY, login: LOGIN, askedAt });
    expect(now).toMatchObject({ login: LOGIN, isConfirmed });
  });

  test.each<readonly [string, Partial<NamedUser>, boolean]>([
    ['is still known to destroy when the user is the same', { mayDestroy: true }, true],
    ['has to be probed again when the user is another', { login: ANOTHER, mayDestroy: true }, false],
  ])('the key %s', (_, before, mayDestroy) => {
    const now = namedAfter(named(before), { key: FIRST_KEY, login: LOGIN, askedAt: CONFIRMATION_MS });
    expect(now.mayDestroy).toBe(mayDestroy);
  });

  test('counts from the first request that agrees', () => {
    const second = namedAfter(named(), { key: FIRST_KEY, login: LOGIN, askedAt: CONFIRMATION_MS / 2 });
    const third = namedAfter(second, { key: FIRST_KEY, login: LOGIN, askedAt: CONFIRMATION_MS });
    expect([second.isConfirmed, third.isConfirmed]).toEqual([false, true]);
  });
});

test.each<readonly [string, KeyProof, boolean]>([
  ['a user that one reply named', unconfirmed(), true],
  ['a proof that did not arrive', UNANSWERED, true],
  ['a refused key', REFUSED, false],
  ['a proven key', proven(), false],
  ['no key', NO_KEY, false],
])('a proof is undecided or not: %s', (_, proof, expected) => {
  expect(isUndecided(proof)).toBe(expected);
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
    ['not when one reply named it, although none is pinned', unconfirmed(), undefined, false],
    ['not when one reply named it, and it is the pinned one', unconfirmed(), PINNED, false],
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
    ['not when one reply named the user of the key', unconfirmed(), false],
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
  const keptNamed = unconfirmed({ source: 'kept' });
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
    ['is left open when one reply named the user of the kept key', REFUSED, keptNamed, keptNamed],
  ])('%s', (_, own, ofKept, expected) => {
    expect(chooseProof(own, ofKept)).toEqual(expected);
  });
});
