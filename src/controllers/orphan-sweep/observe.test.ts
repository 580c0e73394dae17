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
function session(name: string, { breaker, retained = [] }: Login = {}): ProvenAccount {
  const census = (objects: readonly AccountObject[], kept: readonly number[]): readonly CensusEntry[] => {
    if (kept.includes(ORPHAN.id)) return [{ type: 'retained', row: ORPHAN }];
    return objects.some(({ uid }) => uid === claimant.uid)
      ? [{ type: 'claimed', row: ORPHAN }]
      : [{ type: 'unclaimed', row: ORPHAN, facts }];
  };
  return {
    ref: { namespace: 'team', name },
    login: { url: 'https://market.example', userId: 7 },
    census,
    retained: () => retained,
    breaker: () => ({ type: breaker ?? 'closed' }),
    findings: () => ({ orphans: [], rolledBack: [], copied: [] }),
  } as unknown as ProvenAccount;
}

/** What an account of the login has that others may not have. */
interface Login {
  readonly breaker?: 'open';
  readonly retained?: readonly number[];
}

interface More {
  readonly logins?: readonly Login[];
  readonly memory?: SweepMemory;
  readonly lastRentalAt?: string;
  /** The accounts of these sessions are gone from the cache. */
  readonly gone?: boolean;
}

function sweepOf(
  policies: readonly [Policy, ...Policy[]],
  listed: readonly AccountObject[],
  { logins = [], memory = new SweepMemory(), lastRentalAt, gone = false }: More = {},
) {
  const sessions = policies.map((_, index) => session(`account-${index}`, logins[index]));
  const { account } = observedAccount();
  const sources = {
    registry: {},
    installation: { state: () => ({ type: 'known', sweep: 'allowed' }) },
    accounts: {
      get: (key: string) => {
        if (gone) return undefined;
        const orphanPolicy = policies[Number(key.split('-').at(-1))] ?? 'Report';
        return { ...account, spec: { ...account.spec, orphanPolicy }, status: { lastRentalAt } };
      },
    },
    allObjects: () => [],
    listObjects: () => Promise.resolve(listed),
    isLeader: () => true,
    memory,
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

test('accounts that are gone want nothing destroyed', async () => {
  expect((await sweepOf(['Destroy'], [], { gone: true })).policy).toBe('Report');
});

test('of several accounts with one login an open breaker or a kept machine of any counts', async () => {
  const both: readonly [Policy, Policy] = ['Destroy', 'Destroy'];
  expect((await sweepOf(both, [], { logins: [{}, { breaker: 'open' }] })).breaker.type).toBe('open');
  expect((await sweepOf(both, [], { logins: [{}, { retained: [5] }] })).candidates).toEqual([]);
});

test('the newest rental is known from objects and from accounts', async () => {
  const rented = { uid: 'x', newestRentalAt: 9_000 } as AccountObject;
  const at = new Date(5_000).toISOString();
  expect((await sweepOf(['Destroy'], [rented], { lastRentalAt: at })).newestRecordAt).toBe(9_000);
  expect((await sweepOf(['Destroy'], [], { lastRentalAt: at })).newestRecordAt).toBe(5_000);
  expect((await sweepOf(['Destroy'], [])).newestRecordAt).toBe(0);
});

test('what was settled a moment ago is believed for a report, never for a destroy', async () => {
  const memory = new SweepMemory();
  await sweepOf(['Report'], [], { memory });
  expect((await sweepOf(['Report'], [claimant], { memory })).candidates).toHaveLength(1);
  expect((await sweepOf(['Destroy'], [claimant], { memory })).candidates).toEqual([]);
});
