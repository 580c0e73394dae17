import { expect, test } from 'vitest';
import { row } from '../../../test/builders/observed.ts';
import { observed as observedAccount } from '../../../test/builders/observed-account.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { AccountObject } from '../../accounts/account-object.ts';
import type { ProvenAccount } from '../../accounts/proven-account.ts';
import type { CensusEntry } from '../../accounts/watch/machine-census.ts';
import { defaultConstants } from '../../ownership/constants.ts';
import { observe, type Sweep, type SweepSources } from './observe.ts';
import { SweepMemory } from './sweep-memory.ts';

type Policy = 'Report' | 'Destroy';

const ORPHAN = row({ id: 5 });
const facts = { uid: 'gone', attempt: 1, issuedAt: 0 };
const claimant = { uid: 'young' } as AccountObject;

/** A session of this login: a machine counts as unclaimed unless an object of its name is there. */
function session(name: string): ProvenAccount {
  const census = (objects: readonly AccountObject[]): readonly CensusEntry[] =>
    objects.some(({ uid }) => uid === claimant.uid)
      ? [{ type: 'claimed', row: ORPHAN }]
      : [{ type: 'unclaimed', row: ORPHAN, facts }];
  return {
    ref: { namespace: 'team', name },
    login: { url: 'https://market.example', userId: 7 },
    census,
    retained: () => [],
    breaker: () => ({ type: 'closed' }),
    findings: () => ({ orphans: [], rolledBack: [], copied: [] }),
  } as unknown as ProvenAccount;
}

function sweepOf(policies: readonly [Policy, ...Policy[]], listed: readonly AccountObject[]) {
  const sessions = policies.map((_, index) => session(`account-${index}`));
  const { account } = observedAccount();
  const sources = {
    registry: {},
    installation: { state: () => ({ type: 'known', sweep: 'allowed' }) },
    accounts: {
      get: (key: string) => {
        const orphanPolicy = policies[Number(key.split('-').at(-1))] ?? 'Report';
        return { ...account, spec: { ...account.spec, orphanPolicy } };
      },
    },
    allObjects: () => [],
    listObjects: () => Promise.resolve(listed),
    isLeader: () => true,
    memory: new SweepMemory(),
    clock: createVirtualClock(),
    constants: defaultConstants,
  } as unknown as SweepSources;
  const list = { begunAt: 1, endedAt: 2, rows: new Map([[ORPHAN.id, ORPHAN]]) };
  return observe({ sessions: sessions as unknown as Sweep['sessions'], list }, sources);
}

test('a machine that the cache does not know is unclaimed only where objects read afterwards do not claim it', async () => {
  expect((await sweepOf(['Destroy'], [claimant])).candidates).toEqual([]);
  expect((await sweepOf(['Destroy'], [])).candidates).toMatchObject([{ instanceId: 5 }]);
});

test('of several accounts with one login all must want orphans destroyed', async () => {
  expect((await sweepOf(['Destroy', 'Report'], [])).policy).toBe('Report');
  expect((await sweepOf(['Destroy', 'Destroy'], [])).policy).toBe('Destroy');
});
