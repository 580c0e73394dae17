import { describe, expect, test, vi } from 'vitest';
import { answeringTransport, reply, type Script } from '../../test/builders/answering-transport.ts';
import { instanceSummary } from '../../test/builders/instance-summary.ts';
import { observed } from '../../test/builders/observed-account.ts';
import { createVirtualClock, type VirtualClock } from '../../test/builders/virtual-clock.ts';
import { rememberedNames } from '../../test/simulation/oracle/heap.ts';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import { silentLogger } from '../lib/logger.ts';
import { seededRandom } from '../lib/random.ts';
import { Secret } from '../lib/secret.ts';
import { openMarket } from '../markets/catalog.ts';
import { makeClaim } from '../ownership/claim.ts';
import { defaultConstants } from '../ownership/constants.ts';
import { newIdentity } from '../ownership/identity.ts';
import { makeLabel } from '../ownership/label.ts';
import { listedObjects } from './account-objects.ts';
import { LoginConnections } from './connection.ts';
import { AccountSession, type AccountSessionOptions } from './session.ts';

const LOGIN = { url: 'https://market.example', userId: '7' };
const MONTH = '2026-11';
const NOW = Date.parse(`${MONTH}-20T12:00:00Z`);
const CALM = { credit: 10_000_000, sshKeyRegistered: true, mayDestroy: true };

const identity = newIdentity(
  { id: new Uint8Array(16).fill(1), key: new Uint8Array(32).fill(2) },
  { kubeSystemUid: undefined, scope: '*' },
);

/** Returns a verified account whose marketplace assigns the key to this user. */
function proven({
  userId = '7',
  status,
  answer = reply({ id: userId }),
  clock = createVirtualClock({ startMs: NOW }),
  paced = false,
  changes = {},
  connections = new LoginConnections({
    openMarket,
    transport: answeringTransport(answer).transport,
    clock,
    random: seededRandom(1),
    log: silentLogger,
    paced,
  }),
}: {
  userId?: string;
  status?: MarketplaceAccount['status'];
  answer?: Script;
  clock?: VirtualClock;
  paced?: boolean;
  changes?: Partial<AccountSessionOptions>;
  connections?: LoginConnections;
} = {}) {
  const connection = connections.open(LOGIN, {
    accountUid: 'account-uid',
    pollIntervalMs: 10_000,
    market: 'Vast',
  });
  connection.keys.set('account-uid', { key: new Secret('key'), use: 'full', mayDestroy: true });
  const account = { ...observed().account, ...(status && { status }) };
  return new AccountSession({
    account,
    connection,
    identity: () => identity,
    clock,
    spendingTime: () => clock.now(),
    budgets: { refusal: () => undefined },
    brake: { maxRentalsPerHour: 3, maxLiveMachines: 100, maxDollarsPerHour: 1_000_000_000 },
    constants: defaultConstants,
    objects: () => listedObjects([]),
    allObjects: () => [],
    ofSameLogin: () => [],
    isRentingUnproven: () => false,
    adoptionOfLogin: () => 'None',
    namespaceAllowed: () => true,
    onChange: () => {},
    onStatusChange: () => {},
    onPoll: () => {},
    onMachineStopped: () => {},
    ...changes,
  });
}

test('rentals of a login without labels wait for those of an account that has not proved it yet', () => {
  const clock = createVirtualClock({ startMs: NOW });
  const { transport } = answeringTransport(reply({ instances: [], instances_found: 0 }));
  const connections = new LoginConnections({
    openMarket,
    ...{ transport, clock, random: seededRandom(1), log: silentLogger, paced: false },
  });
  const status = { labelsEchoed: false };
  const account = (isRenting: boolean) =>
    proven({ clock, connections, status, changes: { isRentingUnproven: () => isRenting } });
  expect([true, false].map((isRenting) => reasonOf(account(isRenting)))).toEqual(['Queued', 'ticket']);
});

const NO_ROWS = { rows: new Map() };
const ask = {
  objectUid: 'a',
  offerId: '1',
  pricePerHour: 500_000,
  namespace: 'team',
  generation: 1,
  wake() {},
};
const reasonOf = (account: AccountSession) => {
  const decision = account.admission.request(ask);
  return decision.type === 'refused' ? decision.reason : decision.type;
};

test('an account has its breaker open when another account of its login listed its failed machines before', async () => {
  const clock = createVirtualClock({ startMs: NOW });
  const { transport } = answeringTransport(reply({ instances: [], instances_found: 0 }));
  const connections = new LoginConnections({
    openMarket,
    ...{ transport, clock, random: seededRandom(1), log: silentLogger, paced: false },
  });
  const first = proven({ clock, connections });
  first.feed.start();
  await vi.waitFor(() => expect(first.isListed).toBe(true));
  const lost = ['5', '6'].map((instanceId) =>
    instanceSummary({ instanceId, uid: instanceId, wasListed: true }),
  );
  const second = proven({ clock, connections, changes: { objects: () => listedObjects(lost) } });
  expect(second.feed).toBe(first.feed);
  expect(second.observer.breaker).toMatchObject({ type: 'open', unhealthy: 2 });
  first.feed.stop();
});

test('keeps nothing of a list that was replaced when it had counted by it before the first sweep', {
  tags: 'long',
}, async () => {
  const clock = createVirtualClock({ startMs: NOW });
  const session = proven({ clock, answer: reply({ instances: [], instances_found: 0 }) });
  session.feed.start();
  await vi.waitFor(() => expect(session.isListed).toBe(true));
  expect(reasonOf(session)).toBe('ticket');
  const first = new WeakRef(session.feed.latest() ?? {});
  const begunAt = session.feed.latest()?.begunAt;
  await clock.advance(60_000);
  expect(session.feed.latest()?.begunAt).not.toBe(begunAt);
  // Collects garbage.
  await rememberedNames(['none']);
  expect(first.deref()).toBeUndefined();
  session.feed.stop();
});

describe('a kept machine that no list shows', () => {
  const retained = [
    {
      instanceId: '5',
      owner: 'team/x',
      ownerUid: 'x',
      since: `${MONTH}-20T00:00:00Z`,
      policy: 'Retain' as const,
    },
  ];

  /** Machines proven gone after some minutes of lists without them, where lists may fail at the end. */
  async function goneAfter({ fails = false, userId = '7' } = {}) {
    const clock = createVirtualClock({ startMs: NOW });
    let isBroken = false;
    const answer: Script = (request) => {
      const { path } = request;
      if (path.includes('/users/')) return reply({ id: userId })(request);
      if (path.includes('/instances/5/')) return reply({ instances: null })(request);
      return isBroken ? reply({}, 500)(request) : reply({ instances: [], instances_found: 0 })(request);
    };
    const account = proven({ clock, answer, status: { retained } });
    account.feed.start();
    await clock.advance(180_000);
    isBroken = fails;
    await clock.advance(60_000);
    const gone = account.provenGone();
    await clock.advance(60_000);
    account.feed.stop();
    return [...(await gone)];
  }

  test('is gone for sure once its own page is empty and the key proved its login', async () => {
    expect(await goneAfter()).toEqual(['5']);
    expect(await goneAfter({ userId: '8' })).toEqual([]);
  });

  test('is not called gone while the breaker is open: lists are not to be believed then', async () => {
    expect(await goneAfter({ fails: true })).toEqual([]);
  });
});

describe('a proven account gives a ticket', () => {
  test('while nothing speaks against it', () => {
    const account = proven();
    account.proved(CALM);
    expect(reasonOf(account)).toBe('ticket');
  });

  test('scenario 33: never with a key that could not destroy what it rents', () => {
    const account = proven();
    account.proved({ ...CALM, mayDestroy: false });
    expect(reasonOf(account)).toBe('KeyTooNarrow');
    account.proved(CALM);
    expect(reasonOf(account)).toBe('ticket');
  });

  test('scenario 31: never while its controller says that it is not ready', () => {
    const account = proven();
    account.proved(CALM);
    account.refuse({ reason: 'AccountNotReady', message: 'The key was refused.' });
    expect(reasonOf(account)).toBe('AccountNotReady');
    account.refuse(undefined);
    expect(reasonOf(account)).toBe('ticket');
  });

  test('scenario 35: never without credit', () => {
    const account = proven();
    account.proved({ ...CALM, credit: 0 });
    expect(reasonOf(account)).toBe('InsufficientCredit');
  });

  test('never for more rentals within the hour than the brake allows, deleted objects included', () => {
    const rentals = [10, 20, 30].map((minute) => `${MONTH}-20T11:${minute}:00Z`);
    const account = proven({ status: { deletedObjects: { month: MONTH, spent: '0', rentals } } });
    account.proved(CALM);
    expect(reasonOf(account)).toBe('AtLimit');
  });

  test('has spent what deleted objects left in the month of its service, not in that of our wall clock', () => {
    const clock = createVirtualClock({ startMs: Date.UTC(2026, 11, 1) });
    const spent = (month: string, at: string) =>
      proven({
        clock,
        status: { deletedObjects: { month, spent: '3.00', rentals: [] } },
        changes: { spendingTime: () => Date.parse(at) },
      }).admission.sums().spentThisMonth;
    expect(spent('2026-11', '2026-11-30T23:30:00Z')).toBe(3_000_000);
    expect(spent('2026-12', '2026-11-30T23:30:00Z')).toBe(0);
  });
});

describe('the login of a proven account', () => {
  test('is proved again by a key of the same user', async () => {
    expect(await proven().proveLogin()).toBe(true);
  });

  test('is not proved by a service that does not answer for it', async () => {
    expect(await proven({ answer: reply({ success: false, error: 'x', msg: 'm' }, 401) }).proveLogin()).toBe(
      false,
    );
  });

  test('scenario 32: is not proved by a key of another user', async () => {
    expect(await proven({ userId: '8' }).proveLogin()).toBe(false);
  });
});

describe('listeners of a proven account are notified', () => {
  const told = () => {
    const changes = { onChange: vi.fn(), onStatusChange: vi.fn() };
    const account = proven({ changes });
    account.proved(CALM);
    changes.onChange.mockClear();
    return { account, ...changes };
  };

  test.each([
    ['more credit', { credit: CALM.credit + 1 }, 1],
    ['less credit', { credit: CALM.credit - 1 }, 0],
    ['a key that may not destroy any more', { mayDestroy: false }, 1],
    ['an SSH key that is gone', { sshKeyRegistered: false }, 1],
    ['nothing new', {}, 0],
  ])('of what a proof says: %s', (_, said, times) => {
    const { account, onChange } = told();
    account.proved({ ...CALM, ...said });
    expect(onChange).toHaveBeenCalledTimes(times);
  });

  test('of a new spec, not of a new status', () => {
    const { account, onChange } = told();
    const { account: object } = observed();
    account.update({ ...object, status: { deletedObjects: { month: MONTH, spent: '1', rentals: [] } } });
    expect(onChange).toHaveBeenCalledTimes(0);
    account.update({ ...object, metadata: { ...object.metadata, generation: 99 } });
    expect(onChange).toHaveBeenCalledTimes(1);
  });

  test('of what a sweep found, once', () => {
    const { account, onStatusChange } = told();
    account.recordSweep(
      { orphans: ['5'], unsettled: [], rolledBack: [], confirmedAt: 0, copied: [] },
      NO_ROWS,
    );
    account.recordSweep(
      { orphans: ['5'], unsettled: [], rolledBack: [], confirmedAt: 0, copied: [] },
      NO_ROWS,
    );
    expect(onStatusChange).toHaveBeenCalledTimes(1);
    expect(account.findings.orphans).toEqual(['5']);
  });
});

describe('machines that no object claims', () => {
  const found = { orphans: ['5'], unsettled: ['6'], rolledBack: [], confirmedAt: 0, copied: [] };
  const nothing = { ...found, orphans: [], unsettled: [] };
  const { account: object } = observed();
  const deleted = { ...object, metadata: { ...object.metadata, deletionTimestamp: `${MONTH}-20T12:00:00Z` } };

  test('are not known before the first sweep, and waited for by an account that is deleted alone', () => {
    const account = proven();
    expect(account.pendingOrphans()).toBeUndefined();
    account.recordSweep(found, NO_ROWS);
    expect(account.pendingOrphans()).toEqual([]);
    account.update(deleted);
    account.recordSweep(nothing, NO_ROWS);
    expect(account.pendingOrphans()).toEqual(['5', '6']);
  });

  test('are waited for until lists, their own page and the key say that they are gone', async () => {
    const clock = createVirtualClock({ startMs: NOW });
    const answer: Script = (request) => {
      const { path } = request;
      if (path.includes('/users/')) return reply({ id: 7 })(request);
      if (path.includes('/instances/5/')) return reply({ instances: null })(request);
      return reply({ instances: [], instances_found: 0 })(request);
    };
    const account = proven({ clock, answer });
    account.update(deleted);
    account.recordSweep({ ...found, unsettled: [] }, NO_ROWS);
    account.feed.start();
    await clock.advance(60_000);
    expect([...(await account.provenGone())]).toEqual([]);
    await clock.advance(120_000);
    const gone = account.provenGone();
    await clock.advance(60_000);
    account.feed.stop();
    expect([...(await gone)]).toEqual(['5']);
    expect(account.pendingOrphans()).toEqual([]);
  });
});

test('a proven account avoids what its newest status lists', () => {
  const account = proven();
  const until = new Date(NOW + 60_000).toISOString();
  const avoid = [{ kind: 'Machine', id: '9', until, failures: 1, reason: 'Exited' }] as const;
  account.update({ ...observed().account, status: { avoid: [...avoid] } });
  expect([...account.avoid.current().machines]).toEqual(['9']);
});

test('a proven account lets in only the namespaces that its newest spec allows', () => {
  const namespaceAllowed = (_: MarketplaceAccount, namespace: string) => namespace === 'team';
  const account = proven({ changes: { namespaceAllowed } });
  expect([account.permits('team'), account.permits('other')]).toEqual([true, false]);
});

describe('the machines of a proven account', () => {
  const uid = '11111111-2222-4333-8444-555555555555';
  const label = makeLabel(identity, { uid, attempt: 1, issuedAt: Date.parse(`${MONTH}-20T12:00:00Z`) });
  const started = Date.parse(`${MONTH}-20T12:00:00Z`) / 1000;
  const machine = { id: 5, actual_status: 'running', label, start_date: started };
  const object = instanceSummary({ uid, key: 'team/job' });

  async function listing(row: object = machine) {
    const account = proven({ answer: reply({ instances: [row], instances_found: 1 }) });
    const before = { isListed: account.isListed, inventory: account.inventory([object]) };
    account.feed.start();
    await new Promise((resolve) => setImmediate(resolve));
    return { account, before };
  }

  test('are not known before the first list', async () => {
    const { account, before } = await listing();
    expect(before).toEqual({ isListed: false, inventory: undefined });
    expect(account.isListed).toBe(true);
    account.feed.stop();
  });

  test('count for its limits if a sweep or the status lists them as orphans', async () => {
    const priced = await listing({ ...machine, dph_total: 0.5 });
    const found = { orphans: ['5'], unsettled: ['6'], rolledBack: [], confirmedAt: 0, copied: [] };
    priced.account.recordSweep(found, NO_ROWS);
    const counted = { liveMachines: 0, orphanMachines: 1, orphanDollarsPerHour: 500_000 };
    expect(priced.account.admission.sums()).toMatchObject(counted);
    priced.account.feed.stop();
    const unpriced = await listing();
    unpriced.account.recordSweep(found, NO_ROWS);
    expect(unpriced.account.admission.sums()).toMatchObject({ orphanDollarsPerHour: 1_000_000_000 });
    unpriced.account.feed.stop();
    const restarted = proven({
      answer: reply({ instances: [{ ...machine, dph_total: 0.5 }], instances_found: 1 }),
      status: { massOrphaned: ['5', '6'] },
    });
    restarted.feed.start();
    await new Promise((resolve) => setImmediate(resolve));
    expect(restarted.admission.sums()).toMatchObject(counted);
    restarted.feed.stop();
    const held = proven({
      answer: reply({ instances: [machine], instances_found: 1 }),
      changes: { objects: () => listedObjects([{ ...object, instanceId: '5' }]) },
    });
    held.feed.start();
    await new Promise((resolve) => setImmediate(resolve));
    held.recordSweep(found, NO_ROWS);
    expect(held.admission.sums()).toMatchObject({ liveMachines: 1, orphanMachines: 0 });
    held.feed.stop();
  });

  test('count for its limits before the first sweep as the list shows them, and no longer after it', async () => {
    const { account } = await listing({ ...machine, dph_total: 0.5 });
    const counted = { orphanMachines: 1, orphanDollarsPerHour: 500_000, rentalsLastHour: 0 };
    expect(account.admission.sums()).toMatchObject(counted);
    expect(account.findings.unsettled).toEqual([]);
    account.recordSweep({ orphans: [], unsettled: [], rolledBack: [], confirmedAt: 0, copied: [] }, NO_ROWS);
    expect(account.admission.sums()).toMatchObject({ orphanMachines: 0 });
    account.feed.stop();
  });

  const KEPT = { instanceId: '5', owner: 'team/x', ownerUid: 'x', since: 'x', policy: 'Retain' } as const;

  test.each<[string, object, Partial<AccountSessionOptions>]>([
    ['of an object of another account', machine, { allObjects: () => [object] }],
    [
      'that another account of the login keeps on purpose',
      machine,
      { ofSameLogin: () => [proven({ status: { retained: [KEPT] } })] },
    ],
    ['without a label of this installation', { ...machine, label: 'mine' }, {}],
  ])('are not machines %s', async (_, row, changes) => {
    const account = proven({ answer: reply({ instances: [row], instances_found: 1 }), changes });
    account.feed.start();
    await new Promise((resolve) => setImmediate(resolve));
    expect(account.admission.sums()).toMatchObject({ orphanMachines: 0 });
    account.feed.stop();
  });

  test('are retained as the newest status lists them, and not as that of another account of its name', async () => {
    const { account } = await listing();
    const kept = { owner: 'team/a', ownerUid: 'u', since: '2026-11-20T00:00:00Z', policy: 'Retain' } as const;
    const { metadata, ...object } = observed().account;
    account.update({ ...object, metadata, status: { retained: [{ ...kept, instanceId: '5' }] } });
    expect(account.inventory([])).toMatchObject([{ type: 'retained' }]);
    account.update({ ...object, metadata: { ...metadata, uid: 'another' }, status: { retained: [] } });
    expect(account.inventory([])).toMatchObject([{ type: 'retained' }]);
    account.update({ ...object, metadata, status: { retained: [] } });
    expect(account.inventory([])).toMatchObject([{ type: 'orphan' }]);
  });

  test('are claimed by the uid of an object or by a recorded claim, retained, or orphans', async () => {
    const { account } = await listing();
    const typesOf = (...parameters: Parameters<typeof account.inventory>) =>
      account.inventory(...parameters)?.map(({ type }) => type);
    expect(typesOf([object])).toEqual(['claimed']);
    expect(typesOf([])).toEqual(['orphan']);
    expect(typesOf([], ['5'])).toEqual(['retained']);
    const claim = makeClaim(identity.keys, { login: LOGIN, uid: 'other', attempt: 2, instanceId: '5' });
    const recorded = { ...object, uid: 'x', claim: { uid: 'other', attempt: 2, instanceId: '5', claim } };
    expect(typesOf([recorded])).toEqual(['claimed']);
    account.feed.stop();
  });
});
