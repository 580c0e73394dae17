import { describe, expect, test } from 'vitest';
import { Secret } from '../lib/secret.ts';
import type { CallPurpose, MarketKeySource } from '../market/call-options.ts';
import { type KeyUse, LoginKeys } from './api-keys.ts';

const held = (name: string, use: KeyUse = 'full', mayDestroy = true) => ({
  key: new Secret(name),
  use,
  mayDestroy,
});

/** Returns the key with which a call is sent, or the reason why it is not. */
function keyOf(source: MarketKeySource, purpose: CallPurpose): string {
  try {
    return source(purpose).reveal();
  } catch (error) {
    expect(error).toMatchObject({ name: 'TransportError', sent: false });
    return String((error as Error).message);
  }
}

function keysOf(accounts: Readonly<Record<string, ReturnType<typeof held>>>): LoginKeys {
  const keys = new LoginKeys();
  for (const [uid, key] of Object.entries(accounts)) keys.set(uid, key);
  return keys;
}

test.each(['change', 'destroy'] as const)(
  'a call to %s leaves with the key of its own account, however capable the others are (H3)',
  (purpose) => {
    const keys = keysOf({ a: held('a'), b: held('b') });
    expect(keyOf(keys.of('a'), purpose)).toBe('a');
    expect(keyOf(keys.of('b'), purpose)).toBe('b');
  },
);

describe('a write is not sent at all, although another account of the login has a full key, (H3)', () => {
  test.each([
    ['with a narrow key', held('narrow', 'full', false), 'destroy', 'the key of this account may not write'],
    ['with a narrow key', held('narrow', 'full', false), 'change', 'the key of this account may not write'],
    ['with a kept key', held('kept', 'teardown'), 'change', 'a kept key is for listing and destroying only'],
  ] as const)('%s (%o %s)', (_, own, purpose, why) => {
    const keys = keysOf({ own, other: held('full') });
    expect(keyOf(keys.of('own'), purpose)).toBe(why);
  });

  test('without a key', () => {
    const keys = keysOf({ own: held('own'), other: held('full') });
    keys.remove('own');
    expect(keyOf(keys.of('own'), 'destroy')).toBe('no proven key of this account is in force');
  });

  test('for no account', () => {
    const keys = keysOf({ other: held('full') });
    expect(keyOf(keys.forReads, 'destroy')).toContain('accounts share reads only');
  });
});

test('a kept key destroys what its own account rented', () => {
  expect(keyOf(keysOf({ own: held('kept', 'teardown') }).of('own'), 'destroy')).toBe('kept');
});

describe('a read leaves with the most capable key of the login', () => {
  const narrow = held('narrow', 'full', false);
  const kept = held('kept', 'teardown');
  const full = held('full');
  test.each([
    [{ narrow, kept, full }, 'full'],
    [{ narrow, kept }, 'kept'],
    [{ narrow }, 'narrow'],
    [{ kept }, 'kept'],
    [{}, 'no proven key is in force for this login'],
  ] as const)('of %o', (accounts, taken) => {
    const keys = keysOf(accounts);
    expect(keyOf(keys.forReads, 'read')).toBe(taken);
    expect(keyOf(keys.of('narrow'), 'read')).toBe(taken);
  });
});

test('a key that changed counts from the next request on', () => {
  const keys = keysOf({ a: held('first') });
  const source = keys.of('a');
  keys.set('a', held('second'));
  expect(keyOf(source, 'change')).toBe('second');
});
