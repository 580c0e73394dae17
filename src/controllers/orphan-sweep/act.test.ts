import { describe, expect, test } from 'vitest';
import { observed as observedAccount } from '../../../test/builders/observed-account.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { CallOptions } from '../../market/call-options.ts';
import { MarketplaceError } from '../../market/errors.ts';
import { act } from './act.ts';
import type { Sweep } from './observe.ts';
import type { Action } from './types.ts';

const destroy: Action = {
  type: 'destroy',
  instanceId: '5',
  pricePerHour: 500_000,
  label: 'ours',
  startedAt: 9,
};

/** Effects of one action of the sweep, with this answer of the service, in a leader or not. */
async function done(
  action: Action,
  {
    leads = () => true,
    fails,
    mayDestroy = true,
    recordFails,
    read,
    happened = [],
  }: {
    leads?: () => boolean;
    fails?: Error;
    mayDestroy?: boolean;
    recordFails?: Error;
    /** The single read of the machine, if it does not show what the lists do. */
    read?: () => object | null;
    happened?: string[];
  } = {},
) {
  const session = {
    ref: { namespace: 'team', name: 'default' },
    user: { mayDestroy },
    feed: {
      pollNow: () => happened.push('look'),
      get: async (id: string) => (read === undefined ? { id, label: 'ours', startedAt: 9 } : read()),
    },
    market: {
      destroy: async (id: string, { mayLeave }: CallOptions) => {
        if (mayLeave?.() === false)
          throw new MarketplaceError('taken back', { kind: 'aborted', outcome: 'refused' });
        happened.push(`destroy ${id}`);
        if (fails) throw fails;
      },
    },
  };
  const sweep = { sessions: [session], list: {} } as unknown as Sweep;
  const { account } = observedAccount();
  await act(
    action,
    { sweep, account },
    {
      log: silentLogger,
      isLeader: leads,
      isStillOrphan: () => true,
      recordSwept: async ({ ref }, id) => {
        happened.push(`recorded ${ref.name} ${id}`);
        if (recordFails) throw recordFails;
      },
      metrics: { orphanDestroyed: ({ namespace, name }) => happened.push(`counted ${namespace}/${name}`) },
      events: {
        record: ({ reason, note }: { reason: string; note: string }) => happened.push(`${reason}: ${note}`),
      } as never,
    },
  );
  return happened;
}

describe('an orphan', () => {
  test('does not count among orphans of the hour when this operator destroyed it before', async () => {
    const happened = await done({ ...destroy, wasDestroyed: true });
    expect(happened).toContain('destroy 5');
    expect(happened).not.toContain('recorded default 5');
  });

  test('is destroyed, counted and reported by event', async () => {
    expect(await done(destroy)).toEqual([
      'recorded default 5',
      'destroy 5',
      'counted team/default',
      'OrphanDestroyed: Machine 5, which bills $0.50/h and no GpuInstance claimed, was destroyed.',
    ]);
  });

  test.each([
    ['shows another label', () => ({ id: '5', label: 'other', startedAt: 9 })],
    ['shows another start', () => ({ id: '5', label: 'ours', startedAt: 8 })],
    ['shows another machine', () => ({ id: '6', label: 'ours', startedAt: 9 })],
    ['finds none', () => null],
    [
      'fails',
      () => {
        throw new MarketplaceError('down', { kind: 'unavailable', outcome: 'refused' });
      },
    ],
  ])('is kept when its own read %s (A3)', async (_, read) => {
    expect(await done(destroy, { read })).toEqual([]);
  });

  test('is left alone by a process that does not lead any more', async () => {
    expect(await done(destroy, { leads: () => false })).toEqual([]);
  });

  test('is left alone by one that stopped leading while its call waited for its place', async () => {
    let looks = 0;
    expect(await done(destroy, { leads: () => looks++ < 1 })).toEqual(['recorded default 5']);
  });

  test('is not destroyed when its destroy cannot be recorded first', async () => {
    const recordFails = new Error('no API server');
    const happened: string[] = [];
    await expect(done(destroy, { recordFails, happened })).rejects.toThrow('no API server');
    expect(happened).toEqual(['recorded default 5']);
  });

  test('that could not be destroyed is reported, and not counted', async () => {
    const fails = new MarketplaceError('told to fail', { kind: 'unavailable', outcome: 'unknown' });
    expect(await done(destroy, { fails })).toEqual([
      'recorded default 5',
      'destroy 5',
      'OrphanDestroyFailed: Machine 5, which bills $0.50/h and no GpuInstance claims, could not be destroyed.',
    ]);
  });

  test('is not destroyed and reported with its price when no account of the login has a key that may (H3)', async () => {
    expect(await done(destroy, { mayDestroy: false })).toEqual([
      expect.stringMatching(
        /^OrphanDestroyFailed: Machine 5, which bills \$0\.50\/h .* no account of this login/,
      ),
    ]);
  });

  test('is not said to resist where our own code failed', async () => {
    await expect(done(destroy, { fails: new TypeError('a bug') })).rejects.toThrow('a bug');
  });
});

test('requests a second poll', async () => {
  expect(await done({ type: 'lookAgain' })).toEqual(['look']);
});
