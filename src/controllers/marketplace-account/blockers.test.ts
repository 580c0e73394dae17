import { describe, expect, test } from 'vitest';
import { instanceSummary } from '../../../test/builders/instance-summary.ts';
import { accountWith } from '../../../test/builders/observed-account.ts';
import type { InstanceSummary } from '../../instance/summary.ts';
import { type BlockerSources, findBlockers } from './observe.ts';

const FREE = instanceSummary();
const BOUGHT = instanceSummary({ key: 'team/a', hasOpenIntent: true });

interface Given {
  readonly isDeleted?: boolean;
  readonly cached?: readonly InstanceSummary[];
  readonly renting?: readonly string[];
  readonly listed?: readonly InstanceSummary[];
  readonly permitted?: boolean;
}

async function looked({
  isDeleted = true,
  cached = [FREE],
  renting = [],
  listed = [],
  permitted = true,
}: Given) {
  const steps: string[] = [];
  const session = {
    refuse: () => steps.push('refuse tickets'),
    admission: {
      rentingFor: () => {
        steps.push('ask who has one');
        return renting;
      },
    },
  };
  const sources = {
    registry: { session: () => session, counted: (_: unknown, all: unknown) => (permitted ? all : []) },
    listObjects: async () => {
      steps.push('list');
      return listed;
    },
  } as unknown as BlockerSources;
  const account = accountWith({ metadata: isDeleted ? { deletionTimestamp: '2026-11-20T12:00:00Z' } : {} });
  return { blockers: await findBlockers(account, cached, sources), steps };
}

describe('an account that is being deleted', () => {
  test('is kept by an object that the cache does not show to have bought', async () => {
    const { blockers, steps } = await looked({ listed: [BOUGHT] });
    expect(blockers).toEqual(['team/a']);
    expect(steps).toEqual(['refuse tickets', 'ask who has one', 'list']);
  });

  test('is kept by an object that has a ticket, by its name where it is known', async () => {
    expect(await looked({ renting: ['u1', 'u9'] })).toEqual({
      blockers: ['team/a', 'u9'],
      steps: ['refuse tickets', 'ask who has one'],
    });
  });

  test('goes when no object rents and the objects as read have nothing', async () => {
    expect((await looked({ listed: [FREE] })).blockers).toEqual([]);
    expect((await looked({ listed: [BOUGHT], permitted: false })).blockers).toEqual([]);
  });

  test('reads nothing when the cache shows a blocker', async () => {
    expect(await looked({ cached: [BOUGHT] })).toEqual({ blockers: ['team/a'], steps: [] });
  });
});

test('an account that stays goes on giving tickets', async () => {
  expect(await looked({ isDeleted: false })).toEqual({ blockers: [], steps: [] });
});
