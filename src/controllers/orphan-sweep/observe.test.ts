import { describe, expect, test } from 'vitest';
import { ALL_AGREE, row } from '../../../test/builders/observed.ts';
import { accountWith } from '../../../test/builders/observed-account.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { Agreement } from '../../accounts/beliefs/sightings.ts';
import type { InventoryEntry } from '../../accounts/inventory.ts';
import type { ServiceTime } from '../../accounts/service-clock.ts';
import type { AccountSession } from '../../accounts/session.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { defaultConstants } from '../../ownership/constants.ts';
import { type ListedObject, observe, observeAgain, type Sweep, type SweepSources } from './observe.ts';
import { SweepMemory } from './sweep-memory.ts';

type Policy = 'Report' | 'Destroy';

const LOGIN = { url: 'https://market.example', userId: '7' };
const ORPHAN = row({ id: '5' });
const OLD = row({ id: '5', startedAt: 0 });
/** The list that came while a sweep rode on the one before. */
const LATEST = new Map([ORPHAN, row({ id: '6' })].map((machine) => [machine.id, machine]));
const facts = { uid: 'gone', attempt: 1, issuedAt: 0 };
const claimant = { uid: 'young' } as ListedObject;

/**
 * Returns a session of this login. Its latest list shows one machine, which is orphaned unless an object of its name
 * exists.
 */
function session(name: string, { breaker, time }: Login = {}): AccountSession {
  const inventory: AccountSession['inventory'] = (objects, kept, list): readonly InventoryEntry[] => {
    const rows = [...(list?.rows ?? LATEST).values()];
    const isClaimed = objects.some(({ uid }) => uid === claimant.uid);
    return rows.map((machine) => {
      if (kept?.includes(machine.id)) return { type: 'retained', row: machine };
      return isClaimed ? { type: 'claimed', row: machine } : { type: 'orphan', row: machine, facts };
    });
  };
  return {
    ref: { namespace: 'team', name },
    login: LOGIN,
    inventory,
    agreement: () => ALL_AGREE,
    serviceClock: { now: () => time ?? { type: 'unknown' } },
    observer: { breaker: { type: breaker ?? 'closed' } },
    findings: { orphans: [], unsettled: [], rolledBack: [], confirmedAt: 0, copied: [] },
  } as unknown as AccountSession;
}

/** Properties of an account of the login that others may lack. */
interface Login {
  readonly breaker?: 'open';
  readonly time?: ServiceTime;
  readonly status?: MarketplaceAccount['status'];
}

const listing = (instanceId: string): MarketplaceAccount['status'] => ({
  retained: [{ instanceId, owner: 'team/x', ownerUid: 'x', since: '2026-11-20T00:00:00Z', policy: 'Retain' }],
});

const pinned = { ...LOGIN, provenAt: '2026-11-20T00:00:00Z' };

/** Returns an account whose key is no longer verified. */
function withoutSession(
  status: MarketplaceAccount['status'],
  orphanPolicy: Policy = 'Destroy',
): MarketplaceAccount {
  return accountWith({ metadata: { name: 'without-session' }, spec: { orphanPolicy }, status });
}

test.each([
  ['its breaker is open', { logins: [{ breaker: 'open' }] }],
  ['another process leads', { leads: false }],
  ['fewer namespaces are watched', { state: { type: 'known', sweep: 'scopeShrunk' } }],
] as const)('reads no objects again for an orphan that is kept back since %s (L2)', async (_, kept) => {
  const memory = new SweepMemory();
  let reads = 0;
  const more: More = { ...kept, rows: [OLD], memory, meanwhile: () => (reads += 1) };
  for (let sweep = 0; sweep < 5; sweep += 1) await sweepOf(['Destroy'], [], { ...more, begunAt: sweep + 1 });
  expect(reads).toBe(1);
});

test('what sweeps of the login destroyed counts by the record of all its accounts (H5)', async () => {
  const now = createVirtualClock().now();
  const at = (ageMs: number) => new Date(now - ageMs).toISOString();
  const one = [
    { instanceId: '11', at: at(3_600_000) },
    { instanceId: '12', at: at(3_599_000) },
    { instanceId: '13', at: at(600_000) },
  ];
  const other = [
    { instanceId: '14', at: at(599_000) },
    { instanceId: '15', at: at(-5_000) },
  ];
  const { swept } = await sweepOf(['Destroy', 'Destroy'], [], {
    logins: [{ status: { orphansSwept: one } }, { status: { orphansSwept: other } }],
  });
  expect([...swept.lastHour]).toEqual(['12', '13', '14', '15']);
  expect(swept.lastWindow).toBe(2);
});

test('the record of any account of the login names machines that were destroyed with their objects', async () => {
  const left = { month: '2026-11', spent: '1.00', rentals: [] };
  const { candidates } = await sweepOf(['Report', 'Report'], [], {
    rows: [row({ id: '5' }), row({ id: '6' }), row({ id: '7' })],
    logins: [
      { status: { deletedObjects: { ...left, machines: ['5'] } } },
      { status: { deletedObjects: { ...left, machines: ['6'] } } },
    ],
  });
  expect(candidates.map(({ instanceId, wasDestroyed }) => [instanceId, wasDestroyed])).toEqual([
    ['5', true],
    ['6', true],
    ['7', undefined],
  ]);
});

test.each([
  ['by a time that two complete lists agree on', { type: 'known', at: 900_000, isConfirmed: true }, 900_000],
  [
    'never by a time that was stepped a moment ago',
    { type: 'known', at: 900_000, isConfirmed: false },
    undefined,
  ],
  ['never by a time that replies contradict', { type: 'stale' }, undefined],
  ['by our own time if the service never says its own', { type: 'unknown' }, createVirtualClock().now()],
] as const)('an orphan ages %s (H2)', async (_, time, now) => {
  expect((await sweepOf(['Destroy'], [], { logins: [{ time }] })).now).toBe(now);
});

test('an orphan is as old as its machine, whatever its label says', async () => {
  const issuedEarlier = row({ id: '5', startedAt: 7_000 });
  const undated = row({ id: '6', startedAt: undefined });
  const { candidates } = await sweepOf(['Destroy'], [], { rows: [issuedEarlier, undated] });
  expect(candidates.map(({ startedAt }) => startedAt)).toEqual([7_000, undefined]);
});

interface More {
  readonly logins?: readonly Login[];
  readonly memory?: SweepMemory;
  readonly lastRentalAt?: string;
  /** The accounts of these sessions are gone. */
  readonly gone?: boolean;
  /** Accounts that have no session. */
  readonly others?: readonly MarketplaceAccount[];
  /** Accounts in the cache, if it is behind the API server. */
  readonly cached?: readonly MarketplaceAccount[];
  /** Machines of the list that the sweep rides on, where these are not those of the latest one. */
  readonly rows?: readonly (typeof ORPHAN)[];
  /** State of the installation, which permits or forbids the sweep. */
  readonly state?: { readonly type: string; readonly sweep?: string };
  /** Another process may lead by now. */
  readonly leads?: false;
  /** When the list began; the same list counts once. */
  readonly begunAt?: number;
  /** Happens while objects are read. */
  readonly meanwhile?: (accounts: MarketplaceAccount[]) => void;
}

function sweepOf(policies: readonly [Policy, ...Policy[]], listed: readonly ListedObject[], more: More = {}) {
  const { sweep, sources } = sweepAmong(policies, listed, more);
  return observe(sweep, sources);
}

/** Returns a sweep and its sources. */
function sweepAmong(
  policies: readonly [Policy, ...Policy[]],
  listed: readonly ListedObject[],
  more: More = {},
): { readonly sweep: Sweep; readonly sources: SweepSources } {
  const { logins = [], memory = new SweepMemory(), lastRentalAt, gone = false, others = [], cached } = more;
  const sessions = policies.map((_, index) => session(`account-${index}`, logins[index]));
  const connected = policies.map((orphanPolicy, index) =>
    accountWith({
      metadata: { name: `account-${index}` },
      spec: { orphanPolicy },
      status: { ...(lastRentalAt && { lastRentalAt }), ...logins[index]?.status },
    }),
  );
  const accounts = gone ? [...others] : [...connected, ...others];
  const sources = {
    registry: {},
    installation: { state: () => more.state ?? { type: 'known', sweep: 'allowed' } },
    accounts: { list: () => cached ?? [...accounts] },
    listAccounts: async () => [...accounts],
    allObjects: () => [],
    listObjects: async () => {
      await Promise.resolve();
      more.meanwhile?.(accounts);
      return listed;
    },
    isLeader: () => more.leads ?? true,
    memory,
    clock: createVirtualClock(),
    constants: defaultConstants,
  } as unknown as SweepSources;
  const { rows = [ORPHAN] } = more;
  const list = {
    begunAt: more.begunAt ?? 1,
    endedAt: 2,
    rows: new Map(rows.map((machine) => [machine.id, machine])),
  };
  for (const each of sessions) Object.assign(each, { feed: { latest: () => list } });
  return { sweep: { sessions: sessions as unknown as Sweep['sessions'], list }, sources };
}

test('a machine that the cache does not know is an orphan only when objects read afterwards do not claim it', async () => {
  expect((await sweepOf(['Destroy'], [claimant])).candidates).toEqual([]);
  expect((await sweepOf(['Destroy'], [])).candidates).toMatchObject([{ instanceId: '5' }]);
});

describe('a destroy that waits for its place is decided again, and', () => {
  const candidatesOf = async (listed: readonly ListedObject[], later: readonly ListedObject[]) => {
    const memory = new SweepMemory();
    const { sweep, sources } = sweepAmong(['Destroy'], listed, { memory });
    await observe(sweep, sources);
    const after = sweepAmong(['Destroy'], later, { memory });
    if (later !== listed) await observe(after.sweep, after.sources);
    return observeAgain(after.sweep, after.sources)?.candidates.map(({ instanceId }) => instanceId);
  };

  test('counts no machine whose object the cache missed and the sweep found (H1)', async () => {
    expect(await candidatesOf([claimant], [claimant])).toEqual([]);
  });

  test('counts that machine when a later sweep finds its object gone', async () => {
    expect(await candidatesOf([claimant], [])).toEqual([ORPHAN.id]);
  });

  test('counts an orphan that the sweep found', async () => {
    expect(await candidatesOf([], [])).toEqual([ORPHAN.id]);
  });
});

test('a machine that came with a later list is left to the sweep of that list, and of objects read after it', async () => {
  const { candidates, copied } = await sweepOf(['Destroy'], [], { rows: [] });
  expect([candidates, copied]).toEqual([[], []]);
  const both = await sweepOf(['Destroy'], []);
  expect(both.candidates.map(({ instanceId }) => instanceId)).toEqual([ORPHAN.id]);
});

describe('a machine with a label of ours that began outside its window is a copy', () => {
  const copiesOf = async (startedAt: number | undefined, agreement: Agreement) => {
    const copy = { ...ORPHAN, startedAt };
    const inventory = (): readonly InventoryEntry[] => [{ type: 'copied', row: copy }];
    const { sweep, sources } = sweepAmong(['Destroy'], [], { rows: [copy] });
    const sessions = sweep.sessions.map((each) => ({ ...each, inventory, agreement: () => agreement }));
    return (await observe({ ...sweep, sessions: sessions as unknown as Sweep['sessions'] }, sources)).copied;
  };

  test('when lists agree on its label and start for as long as they may lag', async () => {
    expect(await copiesOf(5, ALL_AGREE)).toEqual([ORPHAN.id]);
  });

  test('not when lists show that start for less', async () => {
    const fresh: Agreement = {
      ...ALL_AGREE,
      heldMs: (field) => (field === 'startedAt' ? 59_999 : 3_600_000),
    };
    expect(await copiesOf(5, fresh)).toEqual([]);
  });

  test('not when two lists alone show its label on a second machine (seed 54090219)', async () => {
    const second = { ...ORPHAN, id: '6' };
    const inventory = (): readonly InventoryEntry[] =>
      [ORPHAN, second].map((machine) => ({ type: 'copied', row: machine }));
    const { sweep, sources } = sweepAmong(['Destroy'], [], { rows: [ORPHAN, second] });
    const agreement = ({ id }: { readonly id: string }): Agreement =>
      id === second.id ? { ...ALL_AGREE, heldMs: () => 10_000 } : ALL_AGREE;
    const sessions = sweep.sessions.map((each) => ({ ...each, inventory, agreement }));
    const { copied } = await observe(
      { ...sweep, sessions: sessions as unknown as Sweep['sessions'] },
      sources,
    );
    expect(copied).toEqual([]);
  });

  test('not while lists show no start', async () => {
    expect(await copiesOf(undefined, ALL_AGREE)).toEqual([]);
  });
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
  expect((await sweepOf(both, [], { logins: [{}, { status: listing('5') }] })).candidates).toEqual([]);
});

describe('an account of the login whose key proves nothing any more', () => {
  test('still keeps the machines that it lists', async () => {
    const others = [withoutSession({ login: pinned, ...listing('5') })];
    expect((await sweepOf(['Destroy'], [], { others })).candidates).toEqual([]);
  });

  test('still wants machines reported only', async () => {
    const others = [withoutSession({ login: pinned }, 'Report')];
    expect((await sweepOf(['Destroy'], [], { others })).policy).toBe('Report');
  });

  test('of another login has no say', async () => {
    const others = [withoutSession({ login: { ...pinned, userId: '8' }, ...listing('5') }, 'Report')];
    const { candidates, policy } = await sweepOf(['Destroy'], [], { others });
    expect([candidates.length, policy]).toEqual([1, 'Destroy']);
  });
});

test('a machine that was retained a moment ago is retained, although the cache does not show it yet', async () => {
  const cached = [accountWith({ metadata: { name: 'account-0' }, spec: { orphanPolicy: 'Destroy' } })];
  const logins = [{ status: listing('5') }];
  expect((await sweepOf(['Destroy'], [], { logins, cached })).candidates).toEqual([]);
});

test('a machine that is listed as kept while objects are read is kept', async () => {
  const meanwhile = (accounts: MarketplaceAccount[]) =>
    accounts.splice(0, 1, accountWith({ metadata: { name: 'account-0' }, status: listing('5') }));
  expect((await sweepOf(['Destroy'], [], { meanwhile })).candidates).toEqual([]);
});

test('a process whose lease ended while it looked does not lead', async () => {
  expect((await sweepOf(['Destroy'], [], { leads: false })).isLeader).toBe(false);
  expect((await sweepOf(['Destroy'], [])).isLeader).toBe(true);
});

test.each([
  [{ type: 'known', sweep: 'allowed' }, 'allowed'],
  [{ type: 'known', sweep: 'scopeShrunk' }, 'scopeShrunk'],
  [{ type: 'known', sweep: 'clusterChanged' }, 'clusterChanged'],
  [{ type: 'lost' }, 'clusterChanged'],
])('a sweep of an installation that is %j counts as %s', async (state, sweep) => {
  expect((await sweepOf(['Destroy'], [], { state })).sweep).toBe(sweep);
});

describe('the newest rental on record', () => {
  const newest = async (listed: readonly ListedObject[], more: More = {}) =>
    (await sweepOf(['Destroy'], listed, more)).candidates[0]?.newestRecordAt;
  const rentedBy = (account: string) => ({ uid: 'x', newestRentalAt: 9_000, account }) as ListedObject;
  const lastRentalAt = new Date(5_000).toISOString();

  test('is known from objects and from accounts', async () => {
    expect(await newest([rentedBy('team/account-0')], { lastRentalAt })).toBe(9_000);
    expect(await newest([], { lastRentalAt })).toBe(5_000);
    expect(await newest([])).toBe(0);
  });

  test('of an account of the login that has no session counts as well', async () => {
    const others = [withoutSession({ login: pinned, lastRentalAt })];
    expect(await newest([], { others })).toBe(5_000);
    expect(await newest([rentedBy('team/without-session')], { others })).toBe(9_000);
  });

  test('of another login says nothing', async () => {
    const others = [withoutSession({ login: { ...pinned, userId: '8' }, lastRentalAt })];
    expect(await newest([rentedBy('team/without-session')], { others })).toBe(0);
  });

  test('is the one of the first sweep that saw the machine', async () => {
    const memory = new SweepMemory();
    await newest([], { memory, lastRentalAt });
    expect(await newest([rentedBy('team/account-0')], { memory, lastRentalAt })).toBe(5_000);
  });
});

test('what any account of the login remembers of a rollback counts', async () => {
  const confirmed = { login: pinned, rollbackConfirmedAt: new Date(7_000).toISOString() };
  const others = [withoutSession({ login: pinned, rolledBack: ['4', '5'] }), withoutSession(confirmed)];
  expect(await sweepOf(['Destroy'], [], { others })).toMatchObject({
    latched: ['4', '5'],
    confirmedAt: 7_000,
  });
  expect(await sweepOf(['Destroy'], [])).toMatchObject({ latched: [], confirmedAt: 0 });
});

test('what was settled a moment ago is believed for a report, never for a destroy', async () => {
  const memory = new SweepMemory();
  await sweepOf(['Report'], [], { memory });
  expect((await sweepOf(['Report'], [claimant], { memory })).candidates).toHaveLength(1);
  expect((await sweepOf(['Destroy'], [claimant], { memory })).candidates).toHaveLength(1);
  expect((await sweepOf(['Destroy'], [claimant], { memory, begunAt: 2, rows: [OLD] })).candidates).toEqual(
    [],
  );
});
