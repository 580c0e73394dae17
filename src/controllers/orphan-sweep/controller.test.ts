import { afterEach, describe, expect, test } from 'vitest';
import { ALL_AGREE, row } from '../../../test/builders/observed.ts';
import { accountWith, LOGIN } from '../../../test/builders/observed-account.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { AccountEvent } from '../../accounts/registry.ts';
import type { SweepFindings } from '../../accounts/session.ts';
import type { SweptMachine } from '../../accounts/status-writer.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { type AccountRef, accountKey } from '../../instance/account-ref.ts';
import { sleep } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { seededRandom } from '../../lib/random.ts';
import type { CallOptions } from '../../market/call-options.ts';
import { MarketplaceError } from '../../market/errors.ts';
import { defaultConstants } from '../../ownership/constants.ts';
import type { Controller } from '../../runtime/controller.ts';
import { refOfKey } from '../../runtime/kube/kube-object.ts';
import { createOrphanSweep, type OrphanSweepOptions } from './controller.ts';
import { SweepMemory } from './sweep-memory.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const ORPHAN = row({ id: '5', startedAt: NOW - 3_600_000 });
const FINDINGS: SweepFindings = { orphans: [], unsettled: [], rolledBack: [], confirmedAt: 0, copied: [] };
const facts = { uid: 'gone', attempt: 1, issuedAt: 0 };

let running: Controller | undefined;
afterEach(() => running?.stop());

interface Setting {
  /** The user at the marketplace whom each account's key proves. */
  readonly users: Readonly<Record<string, number>>;
  readonly knowsIdentity?: boolean;
  readonly withoutAccount?: string;
  readonly openBreakerOf?: string;
  /** The marketplace takes a minute to answer for this account. */
  readonly silent?: string;
  /** Change of the accounts while a destroy waits for its slot. */
  readonly meanwhile?: (accounts: MarketplaceAccount[]) => void;
}

/** Returns a running sweeper. Each login has one orphaned machine, and its accounts allow the sweep to destroy it. */
function sweeper({ users, knowsIdentity = true, withoutAccount, openBreakerOf, silent, meanwhile }: Setting) {
  const clock = createVirtualClock({ startMs: NOW });
  const did: string[] = [];
  const told: [string, readonly string[]][] = [];
  let listBegunAt = 0;
  const sessions = Object.entries(users).map(([name, userId]) => ({
    ref: { namespace: 'team', name },
    user: { mayDestroy: true },
    login: { ...LOGIN, userId },
    inventory: () => [{ type: 'orphan', row: ORPHAN, facts }],
    agreement: () => ALL_AGREE,
    serviceClock: { now: () => ({ type: 'unknown' }) },
    observer: { breaker: { type: name === openBreakerOf ? 'open' : 'closed' } },
    findings: FINDINGS,
    recordSweep: ({ orphans }: SweepFindings) => told.push([name, orphans]),
    feed: {
      latest: () => ({ begunAt: listBegunAt, endedAt: listBegunAt, rows: new Map() }),
      get: async () => ORPHAN,
      pollNow() {},
    },
    market: {
      destroy: async (id: string, { mayLeave }: CallOptions) => {
        if (name === silent) await sleep(clock, 60_000);
        meanwhile?.(accounts);
        if (mayLeave?.() !== true)
          throw new MarketplaceError('taken back', { kind: 'aborted', outcome: 'refused' });
        did.push(`${name} destroys ${id}`);
      },
    },
  }));
  const accounts = Object.keys(users)
    .filter((name) => name !== withoutAccount)
    .map((name) => accountWith({ metadata: { name }, spec: { orphanPolicy: 'Destroy' } }));
  let hear: (ref: AccountRef, events: AccountEvent) => void = () => {};
  const controller = createOrphanSweep({
    registry: {
      proven: () => sessions,
      statusWriter: ({ name }: AccountRef) => ({
        recordSwept: async ({ instanceId, at }: SweptMachine) => {
          const index = accounts.findIndex(({ metadata }) => metadata.name === name);
          const account = accounts[index];
          const entry = { instanceId, at: new Date(at).toISOString() };
          if (account) accounts[index] = { ...account, status: { ...account.status, orphansSwept: [entry] } };
        },
      }),
      session: (ref: AccountRef) => sessions.find((session) => accountKey(session.ref) === accountKey(ref)),
      onEvent: (listener: typeof hear) => {
        hear = listener;
      },
    },
    installation: {
      state: () => (knowsIdentity ? { type: 'known', sweep: 'allowed' } : { type: 'pending' }),
    },
    accounts: {
      list: () => accounts,
      get: (key: string) => accounts.find(({ metadata }) => metadata.name === refOfKey(key).name),
    },
    allObjects: () => [],
    listObjects: async () => [],
    listAccounts: async () => accounts,
    isLeader: () => true,
    memory: new SweepMemory(),
    constants: defaultConstants,
    events: { record: ({ reason }: { reason: string }) => did.push(reason) },
    sweepMetrics: { orphanDestroyed() {} },
    clock,
    random: seededRandom(1),
    log: silentLogger,
  } as unknown as OrphanSweepOptions);
  running = controller;
  controller.start();
  /** Sends an event of this kind to every account and returns the reaction of the sweep. */
  const hears = async (type: AccountEvent['type']) => {
    did.length = 0;
    told.length = 0;
    listBegunAt += 1_000;
    for (const { ref } of sessions) hear(ref, { type } as AccountEvent);
    await clock.advance(1_000);
    return { did, told };
  };
  return { hears, clock };
}

describe('of a login that two accounts have', () => {
  const users = { second: 7, first: 7 };

  test('there is one sweep per list, by the first of them, and all sessions are updated', async () => {
    const { hears } = sweeper({ users });
    expect((await hears('list')).told).toEqual([
      ['first', []],
      ['second', []],
    ]);
    const { did, told } = await hears('list');
    expect(told).toEqual([
      ['first', ['5']],
      ['second', ['5']],
    ]);
    expect(did).toEqual(['OrphanFound', 'first destroys 5', 'OrphanDestroyed']);
  });

  test('an open breaker of the second keeps the first from sweeping', async () => {
    const { hears } = sweeper({ users, openBreakerOf: 'second' });
    await hears('list');
    expect((await hears('list')).did).toEqual(['OrphanFound']);
  });

  test('nothing is swept where the first has just been deleted: its session ends soon', async () => {
    const { hears } = sweeper({ users, withoutAccount: 'first' });
    await hears('list');
    expect(await hears('list')).toEqual({ did: [], told: [] });
  });
});

test('a destroy is on record before it is sent', async () => {
  const recorded: unknown[] = [];
  const note = (accounts: readonly MarketplaceAccount[]) =>
    recorded.push(...accounts.map(({ status }) => status?.orphansSwept));
  const { hears } = sweeper({ users: { one: 7 }, meanwhile: note });
  await hears('list');
  expect((await hears('list')).did).toContain('one destroys 5');
  expect(recorded).toEqual([[{ instanceId: '5', at: expect.stringContaining('2026-11-20T12:00:0') }]]);
});

test.each([
  ['the policy is to report', accountWith({ metadata: { name: 'one' }, spec: { orphanPolicy: 'Report' } })],
  [
    'many machines have lost their objects',
    accountWith({
      metadata: { name: 'one' },
      spec: { orphanPolicy: 'Destroy' },
      status: { massOrphaned: ['5', '6', '7', '8'] },
    }),
  ],
  [
    'memory was rolled back',
    accountWith({
      metadata: { name: 'one' },
      spec: { orphanPolicy: 'Destroy' },
      status: { rolledBack: ['9'] },
    }),
  ],
])('a destroy that waits for its place is not sent when meanwhile %s (H1)', async (_, account) => {
  const { hears } = sweeper({
    users: { one: 7 },
    meanwhile: (accounts) => accounts.splice(0, accounts.length, account),
  });
  await hears('list');
  expect((await hears('list')).did).toEqual(['OrphanFound']);
});

test('a login whose marketplace takes a minute to answer keeps the sweep of no other waiting', async () => {
  const { hears, clock } = sweeper({ users: { one: 7, two: 8 }, silent: 'one' });
  await hears('list');
  expect((await hears('list')).did).toContain('two destroys 5');
  await clock.advance(60_000);
});

test('sweeps each of two logins by its own account, and reports to that alone', async () => {
  const { hears } = sweeper({ users: { one: 7, two: 8 } });
  await hears('list');
  const { did, told } = await hears('list');
  expect(told).toEqual([
    ['one', ['5']],
    ['two', ['5']],
  ]);
  expect(did.filter((what) => what.includes('destroys'))).toEqual(['one destroys 5', 'two destroys 5']);
});

test.each(['failed', 'row', 'status'] as const)(
  'events of the kind “%s” are no complete list: nothing is swept after them',
  async (type) => {
    const { hears } = sweeper({ users: { one: 7 } });
    await hears(type);
    expect(await hears(type)).toEqual({ did: [], told: [] });
  },
);

test('nothing is swept while the identity is unknown', async () => {
  const { hears } = sweeper({ users: { one: 7 }, knowsIdentity: false });
  await hears('list');
  expect(await hears('list')).toEqual({ did: [], told: [] });
});
