import { describe, expect, test } from 'vitest';
import { answeringTransport, reply } from '../../test/builders/answering-transport.ts';
import { followedObjects } from '../../test/builders/followed-objects.ts';
import { instanceSummary } from '../../test/builders/instance-summary.ts';
import { observed } from '../../test/builders/observed-account.ts';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import { accountKey } from '../instance/account-ref.ts';
import { silentLogger } from '../lib/logger.ts';
import { seededRandom } from '../lib/random.ts';
import { Secret } from '../lib/secret.ts';
import { openMarket } from '../markets/catalog.ts';
import { defaultConstants } from '../ownership/constants.ts';
import { newIdentity } from '../ownership/identity.ts';
import type { KubeClient } from '../runtime/kube/kube-client.ts';
import { LoginConnections } from './connection.ts';
import type { Installation, InstallationState } from './installation/installation.ts';
import { AccountRegistry, type ProvenKey } from './registry.ts';

const LOGIN = { url: 'https://market.example', userId: '7' };
const WHY = { reason: 'KeyRejected', message: 'The key is not accepted.' };
const identity = newIdentity(
  { id: new Uint8Array(16).fill(1), key: new Uint8Array(32).fill(2) },
  { kubeSystemUid: undefined, scope: '*' },
);
const KNOWN: InstallationState = { type: 'known', identity, sweep: 'allowed' };
const LOST: InstallationState = { type: 'lost', why: { reason: 'IdentityInvalid', message: 'm' } };

const proof = (use: 'full' | 'teardown' = 'full', key = 'key', mayDestroy = true): ProvenKey => ({
  login: LOGIN,
  key: new Secret(key),
  use,
  user: { credit: 10_000_000, sshKeyRegistered: true, mayDestroy },
});

/** Returns an account by its uid; all have the same name. */
function accountOf(uid: string): MarketplaceAccount {
  const { account } = observed();
  return { ...account, metadata: { ...account.metadata, uid } };
}

const NAMED = ['team/a', 'other/b', 'unread/c'].map((key) =>
  instanceSummary({ uid: key, key, instanceId: '7' }),
);

/** Returns a registry for a marketplace that lists no machines. */
function setUp(state: InstallationState = KNOWN, objects = NAMED) {
  const clock = createVirtualClock();
  const { transport, requests } = answeringTransport(reply({ instances: [], instances_found: 0 }));
  const random = seededRandom(1);
  const connections = new LoginConnections({
    openMarket,
    transport,
    clock,
    random,
    log: silentLogger,
    paced: false,
  });
  const told: string[] = [];
  const identified: (() => void)[] = [];
  const account = accountOf('first');
  const cache = new Map([[account.metadata.name, account]]);
  const known: MarketplaceAccount[] = [];
  const client = {} as KubeClient;
  const registry = new AccountRegistry({
    client,
    clock,
    connections,
    installation: {
      state: () => state,
      identity: () => (state.type === 'known' ? state.identity : undefined),
      onChange: (listener: () => void) => identified.push(listener),
    } as unknown as Installation,
    budgets: { refusal: () => undefined },
    brake: { maxRentalsPerHour: 3, maxLiveMachines: 100, maxDollarsPerHour: 1_000_000_000 },
    constants: defaultConstants,
    minPollIntervalMs: 5_000,
    follow: () => followedObjects(objects),
    allObjects: () => [],
    isWatched: (namespace) => namespace !== 'unwatched',
    accounts: () => known,
    accountOf: ({ name }) => cache.get(name),
    namespaceAllowed: ({ metadata }, namespace) =>
      namespace === 'unread' ? undefined : namespace === metadata.namespace,
    onWritten: () => {},
  });
  registry.onChange(({ name }) => told.push(name));
  const ref = { namespace: account.metadata.namespace ?? '', name: account.metadata.name };
  const identify = () => {
    for (const listener of identified) listener();
  };
  return { clock, requests, registry, connections, account, cache, client, known, ref, told, identify };
}

const ask = {
  objectUid: 'o',
  offerId: '1',
  pricePerHour: 500_000,
  namespace: 'team',
  generation: 1,
  wake() {},
};

describe('an account', () => {
  test('is missing when no object of its name exists', () => {
    const { registry, ref, cache } = setUp();
    cache.clear();
    expect(registry.get(ref)).toEqual({ type: 'missing' });
    expect(registry.get({ ...ref, namespace: 'unwatched' })).toEqual({ type: 'missing', isUnwatched: true });
  });

  test('is not ready, and not missing, before its controller has looked at its key', () => {
    const { registry, ref } = setUp();
    expect(registry.get(ref)).toMatchObject({ type: 'notReady', reason: 'Connecting', session: undefined });
  });

  test('has a status writer before its key is read, and keeps it', () => {
    const { registry, account, ref } = setUp();
    const writer = registry.statusWriter(ref);
    expect(writer).toBeDefined();
    expect(registry.get(ref)).toMatchObject({ type: 'notReady', reason: 'Connecting' });
    registry.connect(account, proof());
    expect(registry.statusWriter(ref)).toBe(writer);
    expect(registry.statusWriter({ namespace: 'unwatched', name: 'none' })).toBeUndefined();
  });

  test('counts objects of the namespaces that it permits, and none of one that is not read yet', () => {
    const { registry, account } = setUp();
    const counted = () => registry.objectsOf(account).all();
    expect(counted().map(({ key }) => key)).toEqual(['team/a']);
    expect(registry.connect(account, proof()).admission.sums().liveMachines).toBe(1);
    expect(counted().map(({ key }) => key)).toEqual(['team/a']);
  });

  test('is not ready before a complete list, then ready', async () => {
    const { clock, registry, account, ref } = setUp();
    const session = registry.connect(account, proof());
    expect(registry.get(ref)).toMatchObject({ type: 'notReady', reason: 'Connecting', session });
    await clock.advance(0);
    expect(registry.get(ref)).toEqual({ type: 'ready', session });
    expect(registry.sessions()).toEqual([session]);
  });

  test('is not ready, and has no session for anybody, while this installation does not know who it is', async () => {
    const { clock, registry, account, ref } = setUp(LOST);
    const session = registry.connect(account, proof());
    await clock.advance(0);
    expect(registry.get(ref)).toEqual({ type: 'notReady', ...LOST.why, session: undefined });
    expect(registry.sessions()).toEqual([]);
    expect([registry.proven(), registry.session(ref)]).toEqual([[session], session]);
  });

  test('has spent until the time of its service, whatever our wall clock is set to', () => {
    const { clock, registry, account, ref } = setUp();
    const began = clock.now();
    clock.jumpWallClock(3_600_000);
    expect(registry.spendingTime(accountKey(ref))).toBe(began + 3_600_000);
    clock.jumpWallClock(-3_600_000);
    const { serviceClock } = registry.connect(account, proof());
    serviceClock.onReply({ date: new Date(began).toUTCString() });
    for (const ms of [-3_600_000, 7_200_000]) {
      clock.jumpWallClock(ms);
      expect(serviceClock.now().type).toBe('stale');
      expect(registry.spendingTime(accountKey(ref))).toBe(began);
    }
  });

  test('of a service that says no time has spent until the latest time of the others', () => {
    const { clock, registry, account, ref } = setUp();
    const began = clock.now();
    const ahead = { ...accountOf('ahead'), metadata: { ...account.metadata, name: 'ahead', uid: 'ahead' } };
    const behind = { ...ahead, metadata: { ...account.metadata, name: 'behind', uid: 'behind' } };
    const silent = { ...ahead, metadata: { ...account.metadata, name: 'silent', uid: 'silent' } };
    for (const [other, userId, ms] of [
      [ahead, '11', 30_000],
      [behind, '12', -30_000],
      [silent, '13', undefined],
    ] as const) {
      const login = { ...proof().login, userId };
      const { serviceClock } = registry.connect(other, { ...proof(), login });
      if (ms !== undefined) serviceClock.onReply({ date: new Date(began + ms).toUTCString() });
    }
    const time = (name: string) => registry.spendingTime(accountKey({ ...ref, name })) - began;
    expect(['ahead', 'behind', 'silent'].map(time)).toEqual([30_000, -30_000, 30_000]);
    expect(registry.spendingTime() - began).toBe(30_000);
  });

  test('that may not be used gives no ticket until it may, and keeps its session for teardown', async () => {
    const { clock, registry, account, ref, told } = setUp();
    const session = registry.connect(account, proof());
    await clock.advance(0);
    told.length = 0;
    registry.setNotReady(account, WHY);
    expect(registry.get(ref)).toEqual({ type: 'notReady', ...WHY, session });
    expect(session.admission.request(ask)).toMatchObject({ reason: 'AccountNotReady', message: WHY.message });
    registry.setNotReady(account, { ...WHY, message: 'Said otherwise.' });
    expect(told).toHaveLength(1);
    registry.setNotReady(account, undefined);
    expect(registry.get(ref)).toEqual({ type: 'ready', session });
    expect(session.admission.request(ask)).toMatchObject({ type: 'ticket' });
    expect(told).toHaveLength(2);
  });

  test('with a kept key lists and destroys, and sends nothing else', async () => {
    const { clock, registry, account, requests } = setUp();
    const { market } = registry.connect(account, proof('teardown'));
    await clock.advance(0);
    await market.destroy('5').catch(() => {});
    await expect(market.stop?.('5')).rejects.toThrow();
    expect(new Set(requests.map(({ method }) => method))).toEqual(new Set(['GET', 'DELETE']));
  });

  test('scenario 80: may rent nothing by a key that may not destroy, and borrows no key of another account of its login (H3)', async () => {
    const { clock, registry, account, requests } = setUp();
    const other = { ...accountOf('other'), metadata: { ...account.metadata, name: 'other', uid: 'other' } };
    const session = registry.connect(account, proof('full', 'narrow', false));
    const wide = registry.connect(other, proof('full', 'wide'));
    await clock.advance(0);
    expect(session.admission.request(ask)).toMatchObject({ reason: 'KeyTooNarrow' });
    expect([session.user.mayDestroy, wide.user.mayDestroy]).toEqual([false, true]);
    requests.length = 0;
    await expect(session.market.destroy('5')).rejects.toMatchObject({
      kind: 'forbidden',
      outcome: 'refused',
    });
    await expect(session.market.relabel?.('5', 'mine')).rejects.toMatchObject({ kind: 'forbidden' });
    expect(requests).toEqual([]);
    await wide.market.destroy('5').catch(() => {});
    expect(requests.map(({ headers }) => headers['authorization'])).toEqual(['Bearer wide']);
    registry.connect(account, proof('full', 'widened'));
    expect(session.admission.request(ask)).toMatchObject({ type: 'ticket' });
  });

  describe('at a market without labels, beside an account of its login without a session that rents,', () => {
    const SETTLED_MS = 270_000;

    test.for<readonly [string, number, string, string]>([
      ['rents nothing while a machine of that rental may appear', SETTLED_MS - 1, '7', 'Queued'],
      ['rents when that rental has settled', SETTLED_MS, '7', 'ticket'],
      ['rents if the other account is of another login', 0, '8', 'ticket'],
    ])('%s', async ([, ageMs, userId, expected]) => {
      const key = `${accountOf('x').metadata.namespace}/o`;
      const renting = instanceSummary({
        uid: key,
        key,
        hasOpenIntent: true,
        newestRentalAt: createVirtualClock().now(),
      });
      const { clock, registry, account, known } = setUp(KNOWN, [renting]);
      const { metadata, spec } = accountOf('other');
      const login = { ...LOGIN, userId, provenAt: '2026-01-05T12:00:00Z' };
      known.push({
        ...{ ...account, spec, status: { login } },
        metadata: { ...metadata, name: 'other', uid: 'other' },
      });
      await clock.advance(ageMs);
      const unechoed = { ...account, status: { ...account.status, labelsEchoed: false } };
      const { admission } = registry.connect(unechoed, proof());
      const decision = admission.request({ ...ask, objectUid: key });
      expect(decision.type === 'refused' ? decision.reason : decision.type).toBe(expected);
    });
  });

  describe('adopts machines with the consent of every account of its login (H3):', () => {
    type Adoption = 'None' | 'Unlabelled';
    const adopting = (uid: string, adoption: Adoption, userId?: string) => {
      const { metadata, spec, status } = accountOf(uid);
      const { login: _none, ...rest } = status ?? {};
      const login = userId !== undefined && { login: { ...LOGIN, userId, provenAt: '2026-11-20T12:00:00Z' } };
      return {
        ...accountOf(uid),
        metadata: { ...metadata, name: uid, uid },
        spec: { ...spec, adoption },
        status: { ...rest, ...login },
      } as MarketplaceAccount;
    };
    const own = adopting('own', 'Unlabelled');
    test.each<readonly [string, MarketplaceAccount, 'tried' | 'untried', Adoption | undefined]>([
      ['not against another one', adopting('other', 'None', LOGIN.userId), 'untried', 'None'],
      ['with that of another one', adopting('other', 'Unlabelled', LOGIN.userId), 'untried', 'Unlabelled'],
      ['whatever one of another login says', adopting('other', 'None', '8'), 'untried', 'Unlabelled'],
      ['not before another has said whose it is', adopting('other', 'None'), 'untried', undefined],
      ['without one whose key was tried in vain', adopting('other', 'None'), 'tried', 'Unlabelled'],
    ])('%s', (_, other, tried, expected) => {
      const { registry, known } = setUp();
      const session = registry.connect(own, proof());
      known.push(own, other);
      if (tried === 'tried') registry.setNotReady(other, { reason: 'KeyRejected', message: 'no' });
      expect(session.adoption()).toBe(expected);
    });

    test('not against one that has proved it a moment ago', () => {
      const { registry, known } = setUp();
      const other = adopting('other', 'None');
      const session = registry.connect(own, proof());
      registry.connect(other, proof('full', 'other'));
      known.push(own, other);
      expect(session.adoption()).toBe('None');
    });
  });

  test.each([
    ['of its own login', LOGIN, 'Queued'],
    ['of no other login', { ...LOGIN, userId: '8' }, undefined],
  ])(
    'waits for a rental of another account %s while labels are not known to come back',
    async (_, login, reason) => {
      const { clock, registry, account } = setUp();
      const other = { ...accountOf('other'), metadata: { ...account.metadata, name: 'other', uid: 'other' } };
      const session = registry.connect(account, proof());
      const beside = registry.connect(other, { ...proof('full', 'second'), login });
      await clock.advance(0);
      expect(session.admission.request(ask).type).toBe('ticket');
      const second = beside.admission.request({ ...ask, objectUid: 'p', offerId: '2' });
      expect(second.type === 'refused' ? second.reason : undefined).toBe(reason);
    },
  );

  test('is notified again when this installation has its identity, since its objects waited for that', async () => {
    const { clock, registry, account, told, identify } = setUp();
    registry.connect(account, proof());
    await clock.advance(0);
    told.length = 0;
    identify();
    expect(told).toEqual([account.metadata.name]);
  });

  test('is notified when it gets a session, and once that is gone', () => {
    const { registry, account, ref, told } = setUp();
    const tellsOf = (deed: () => unknown) => {
      told.length = 0;
      deed();
      return told.length > 0;
    };
    registry.setNotReady(account, WHY);
    expect(tellsOf(() => registry.connect(account, proof()))).toBe(true);
    expect(tellsOf(() => registry.connect(account, proof()))).toBe(false);
    expect(tellsOf(() => registry.disconnect(ref))).toBe(true);
    expect(tellsOf(() => registry.disconnect(ref))).toBe(false);
    expect(tellsOf(() => registry.forget(ref))).toBe(true);
  });

  test('is notified when its session changes what may be done, and what is to be written', async () => {
    const { clock, registry, account, told } = setUp();
    const news: string[] = [];
    registry.onEvent((_, { type }) => news.push(type));
    const session = registry.connect(account, proof());
    await clock.advance(0);
    expect(news).toEqual(['list']);
    told.length = 0;
    session.observer.closeBreaker();
    expect([told.length, news]).toEqual([1, ['list']]);
    session.avoid.add({ type: 'host', id: '5' }, 'Exited');
    expect([told.length, news]).toEqual([1, ['list', 'status']]);
  });

  test('goes on with the newer of two keys, under the same session', async () => {
    const { clock, registry, account, requests } = setUp();
    const session = registry.connect(account, proof());
    await clock.advance(0);
    expect(registry.connect(account, proof('full', 'newer'))).toBe(session);
    requests.length = 0;
    await clock.advance(10_000);
    expect(requests.map(({ headers }) => headers['authorization'])).toContain('Bearer newer');
  });
});

test('what an account remembers of objects that are gone needs no key, and goes with the account', () => {
  const { registry, account, cache, ref } = setUp();
  cache.clear();
  registry.setNotReady(account, WHY);
  const writer = registry.statusWriter(ref);
  expect(writer).toBeDefined();
  registry.connect(account, proof());
  expect(registry.statusWriter(ref)).toBe(writer);
  registry.setNotReady(accountOf('second'), WHY);
  expect(registry.statusWriter(ref)).not.toBe(writer);
  registry.forget(ref);
  expect(registry.statusWriter(ref)).not.toBe(writer);
});

test('an account that the cache has missed remembers objects that are gone as well (I7)', async () => {
  const { registry, cache, account, ref, client } = setUp();
  cache.clear();
  const written: unknown[] = [];
  Object.assign(client, {
    get: async () => account,
    replace: async (_: unknown, object: unknown) => {
      written.push(object);
      return object;
    },
  });
  const kept = {
    instanceId: '5',
    owner: 'team/job',
    objectUid: 'u',
    policy: 'Retain',
    pricePerHour: undefined,
  } as const;
  await registry.statusWriter(ref)?.recordRetained(kept);
  expect(written).toMatchObject([{ status: { retained: [{ instanceId: '5' }] } }]);
});

test('what a deleted object left counts before the cache shows it, and an older state changes nothing (I9)', async () => {
  const { registry, account, ref, client, clock } = setUp();
  const at = (resourceVersion: string) => ({
    ...account,
    metadata: { ...account.metadata, resourceVersion },
  });
  const session = registry.connect(at('5'), proof());
  Object.assign(client, {
    get: async () => at('6'),
    replace: async (_: unknown, { status }: MarketplaceAccount) => ({ ...at('7'), status }),
  });
  const left = { uid: 'u', rentals: [clock.now()], spentThisMonth: 1, newestRentalAt: clock.now() };
  await registry.statusWriter(ref)?.recordDeleted(left);
  const rentals = () => session.admission.sums().rentalsLastHour;
  expect(rentals()).toBe(1);
  session.update(at('6'));
  expect(rentals()).toBe(1);
  session.update(at('8'));
  expect(rentals()).toBe(0);
});

describe('an account whose key is refused', () => {
  test('sends nothing more, lists no more and has no session', async () => {
    const { clock, registry, account, ref, requests } = setUp();
    const session = registry.connect(account, proof());
    await clock.advance(0);
    registry.disconnect(ref);
    requests.length = 0;
    await expect(session.market.destroy('5')).rejects.toMatchObject({ outcome: 'refused' });
    await clock.advance(60_000);
    expect(requests).toEqual([]);
    expect(registry.get(ref)).toMatchObject({ type: 'notReady', session: undefined });
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  test('receives no more events of a login that another account still uses', async () => {
    const { clock, registry, account, ref } = setUp();
    const heard: string[] = [];
    registry.onEvent(({ name }) => heard.push(name));
    const other = { ...accountOf('other'), metadata: { ...account.metadata, name: 'other', uid: 'other' } };
    registry.connect(account, proof());
    registry.connect(other, proof());
    await clock.advance(0);
    expect(new Set(heard)).toEqual(new Set([account.metadata.name, 'other']));
    registry.disconnect(ref);
    heard.length = 0;
    await clock.advance(10_000);
    expect(new Set(heard)).toEqual(new Set(['other']));
  });
});

describe('another account under the name of one that went', () => {
  test('inherits neither its session nor why it was not ready', async () => {
    const { clock, registry, account, ref } = setUp();
    registry.connect(account, proof());
    registry.setNotReady(account, WHY);
    await clock.advance(0);
    registry.setNotReady(accountOf('second'), undefined);
    expect(registry.session(ref)).toBeUndefined();
    expect(registry.get(ref)).toMatchObject({ type: 'notReady', reason: 'Connecting' });
  });

  test('leaves the key of the one before behind', async () => {
    const { clock, registry, account, requests } = setUp();
    const before = registry.connect(account, proof('full', 'old'));
    await clock.advance(0);
    const after = registry.connect(accountOf('second'), proof('teardown', 'new'));
    await clock.advance(0);
    requests.length = 0;
    await expect(before.market.machines()).rejects.toMatchObject({ outcome: 'refused' });
    await after.market.machines();
    expect(requests.map(({ headers }) => headers['authorization'])).toEqual(['Bearer new']);
  });
});

test('distinguishes an account that was tried in vain from one that was not tried', () => {
  const { registry, account, ref } = setUp();
  expect(registry.wasTried(ref)).toBe(false);
  registry.setNotReady(account, WHY);
  expect(registry.wasTried(ref)).toBe(true);
  registry.connect(account, proof());
  expect(registry.wasTried(ref)).toBe(false);
});

test('an account that is gone is missing, and notifies its listeners', () => {
  const { registry, account, ref, told, cache } = setUp();
  registry.connect(account, proof());
  told.length = 0;
  cache.clear();
  registry.forget(ref);
  expect(registry.get(ref)).toEqual({ type: 'missing' });
  expect(told.length).toBeGreaterThan(0);
});

test('an account that is gone leaves no limiter behind, one that is only refused does', () => {
  const { registry, connections, account, ref } = setUp();
  const limiter = connections.pacerOf('first');
  registry.setNotReady(account, WHY);
  registry.disconnect(ref);
  expect(connections.pacerOf('first')).toBe(limiter);
  registry.forget(ref);
  expect(connections.pacerOf('first')).not.toBe(limiter);
});
