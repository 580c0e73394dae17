import { describe, expect, test } from 'vitest';
import { Secret } from '../lib/secret.ts';
import type { KeySource } from '../marketplace/http/call.ts';
import { type KeyUse, LoginKeys } from './api-keys.ts';

const held = (name: string, use: KeyUse = 'full', mayDestroy = true) => ({
  key: new Secret(name),
  use,
  mayDestroy,
});
const read = (method: 'GET' | 'POST' = 'GET') => ({ effect: 'read', method }) as const;
const write = (method: 'PUT' | 'DELETE') => ({ effect: 'write', method }) as const;

/** The key with which a call leaves, or why it does not. */
function keyOf(source: KeySource, call: Parameters<KeySource>[0]): string {
  try {
    return source(call).reveal();
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

test.each(['PUT', 'DELETE'] as const)(
  'a %s leaves with the key of its own account, however capable the others are (H3)',
  (method) => {
    const keys = keysOf({ a: held('a'), b: held('b') });
    expect(keyOf(keys.of('a'), write(method))).toBe('a');
    expect(keyOf(keys.of('b'), write(method))).toBe('b');
  },
);

describe('a write is not sent at all, although another account of the login has a full key, (H3)', () => {
  test.each([
    ['with a narrow key', held('narrow', 'full', false), 'DELETE', 'the key of this account may not write'],
    ['with a narrow key', held('narrow', 'full', false), 'PUT', 'the key of this account may not write'],
    ['with a kept key', held('kept', 'teardown'), 'PUT', 'a kept key is for listing and destroying only'],
  ] as const)('%s (%o %s)', (_, own, method, why) => {
    const keys = keysOf({ own, other: held('full') });
    expect(keyOf(keys.of('own'), write(method))).toBe(why);
  });

  test('without a key', () => {
    const keys = keysOf({ own: held('own'), other: held('full') });
    keys.remove('own');
    expect(keyOf(keys.of('own'), write('DELETE'))).toBe('no proven key of this account is in force');
  });

  test('for no account', () => {
    const keys = keysOf({ other: held('full') });
    expect(keyOf(keys.forReads, write('DELETE'))).toContain('accounts share reads only');
  });
});

test('a kept key destroys what its own account rented', () => {
  expect(keyOf(keysOf({ own: held('kept', 'teardown') }).of('own'), write('DELETE'))).toBe('kept');
});

describe('a read leaves with the most capable key of the login', () => {
  const narrow = held('narrow', 'full', false);
  const kept = held('kept', 'teardown');
  const full = held('full');
  test.each([
    ['GET', { narrow, kept, full }, 'full'],
    ['GET', { narrow, kept }, 'kept'],
    ['GET', { narrow }, 'narrow'],
    ['POST', { kept, narrow }, 'narrow'],
    ['POST', { kept }, 'no proven key is in force for this login'],
    ['GET', {}, 'no proven key is in force for this login'],
  ] as const)('%s of %o', (method, accounts, taken) => {
    const keys = keysOf(accounts);
    expect(keyOf(keys.forReads, read(method))).toBe(taken);
    expect(keyOf(keys.of('narrow'), read(method))).toBe(taken);
  });
});

test('a key that changed counts from the next request on', () => {
  const keys = keysOf({ a: held('first') });
  const source = keys.of('a');
  keys.set('a', held('second'));
  expect(keyOf(source, write('PUT'))).toBe('second');
});
