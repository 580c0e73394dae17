import { describe, expect, test } from 'vitest';
import { observed, proven } from '../../../test/builders/observed-account.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { receiptOf } from '../../runtime/writes.ts';
import { type AccountEffects, act } from './act.ts';
import type { Action } from './types.ts';

const { account: built } = observed();
const guarded = { ...built, metadata: { ...built.metadata, resourceVersion: '5' } };
const conflict = new KubeError('someone was faster', {
  kind: 'conflict',
  status: 409,
  reason: 'Conflict',
  outcome: 'refused',
});

/** Runs an action with or without success of keeping the key and of the write to the API server. */
async function done(
  action: Action,
  { fails, leads = true }: { fails?: 'keep' | 'release'; leads?: boolean } = {},
) {
  const happened: unknown[] = [];
  const effects = {
    isLeader: () => leads,
    kept: {
      save: async () => {
        if (fails === 'keep') throw new Error('not kept');
        happened.push('kept');
      },
      remove: async () => happened.push('removed'),
    },
    keyChecks: { nowKept: () => happened.push('known as kept'), forget: () => happened.push('unchecked') },
    registry: {
      connect: (_: unknown, key: unknown) => happened.push(key),
      forget: () => happened.push('forgotten'),
      disconnect: (ref: object) => happened.push(['disconnected', ref]),
      setNotReady: (_: unknown, why: unknown) => happened.push(['not ready', why]),
      session: () => ({ observer: { closeBreaker: () => happened.push('breaker closed') } }),
    },
    installation: { resolve: async () => happened.push('identity looked for') },
    kube: {
      patch: async (_resource: unknown, _ref: unknown, { body }: { body: object }) => {
        if (fails === 'release') throw conflict;
        happened.push(body);
        return body;
      },
    },
  } as unknown as AccountEffects;
  const running = act(action, receiptOf(guarded), effects);
  return { running: running.then(() => happened), happened };
}

describe('a key that was proved', () => {
  test.each([
    ['the user’s own may do all', proven(), 'full', true],
    ['one that may not destroy is known as such', proven({ mayDestroy: false }), 'full', false],
    ['a kept one is for teardown alone', proven({ source: 'kept' }), 'teardown', true],
  ])('%s', async (_, proof, use, mayDestroy) => {
    const { running } = await done({ type: 'connect', proof });
    expect(await running).toMatchObject([{ login: proof.login, use, user: { mayDestroy } }]);
  });

  test.each([
    ['ssh-ed25519 AAAA', true],
    ['', false],
    [undefined, false],
  ])('passes on whether a key for ssh is registered: %j', async (sshKey, sshKeyRegistered) => {
    const { running } = await done({
      type: 'connect',
      proof: proven({ user: { ...proven().user, sshKey } }),
    });
    expect(await running).toMatchObject([{ user: { sshKeyRegistered } }]);
  });

  test('is kept before it is said to be', async () => {
    const action: Action = { type: 'keepKey', key: proven().key };
    expect(await (await done(action)).running).toEqual(['kept', 'known as kept']);
    const failing = await done(action, { fails: 'keep' });
    await expect(failing.running).rejects.toThrow('not kept');
    expect(failing.happened).toEqual([]);
  });

  test('is not kept by a process that leads no more, whose key may be an older one', async () => {
    const action: Action = { type: 'keepKey', key: proven().key };
    expect(await (await done(action, { leads: false })).running).toEqual([]);
  });

  test('is removed when it is needed no more', async () => {
    expect(await (await done({ type: 'dropKeptKey' })).running).toEqual(['removed']);
  });
});

describe('an account that may go', () => {
  test('loses its guard on the version that was judged, then is forgotten', async () => {
    const { running } = await done({ type: 'removeFinalizer' });
    expect(await running).toEqual([
      { metadata: { uid: expect.any(String), resourceVersion: '5', finalizers: [] } },
      'unchecked',
      'forgotten',
    ]);
  });

  test('is not forgotten where an object came in between', async () => {
    const { running, happened } = await done({ type: 'removeFinalizer' }, { fails: 'release' });
    await expect(running).rejects.toBe(conflict);
    expect(happened).toEqual([]);
  });
});

test('a disconnect ends the session', async () => {
  const { running } = await done({ type: 'disconnect' });
  expect(await running).toEqual([['disconnected', { namespace: 'team', name: 'default' }]]);
});

test.each<[string, Action, unknown]>([
  ['readiness', { type: 'setReadiness', why: undefined }, ['not ready', undefined]],
  ['a breaker that is to close', { type: 'closeBreaker' }, 'breaker closed'],
  ['the identity', { type: 'resolveIdentity' }, 'identity looked for'],
])('%s reaches what it is for', async (_, action, expected) => {
  expect(await (await done(action)).running).toEqual([expected]);
});
