import { describe, expect, test } from 'vitest';
import { answeringTransport, reply } from '../../test/builders/answering-transport.ts';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { seededRandom } from '../lib/random.ts';
import { Secret } from '../lib/secret.ts';
import { openMarket } from '../markets/catalog.ts';
import { LoginConnections } from './connection.ts';

const LOGIN = { url: 'https://market.example', userId: '7' };
const USER = { accountUid: 'account', pollIntervalMs: 10_000, market: 'Vast' };

function connections() {
  return new LoginConnections({
    openMarket,
    transport: () => new Promise(() => {}),
    clock: createVirtualClock(),
    random: seededRandom(1),
    log: silentLogger,
    paced: true,
  });
}

test('what proves a key counts towards the pace of the login that it proves', async () => {
  const logins = connections();
  const probe = await logins.pacerOf(USER.accountUid).acquire('destroy');
  probe.release();
  const { pacer } = logins.open(LOGIN, USER);
  expect(pacer.nextSlotMs('destroy')).toBeGreaterThan(0);
  expect(logins.pacerOf(USER.accountUid)).toBe(pacer);
});

describe('keys that have said whose they are, and are still tried out', () => {
  const OTHER = 'other';
  const OTHER_LOGIN = { ...LOGIN, userId: '8' };

  test('share the limiter of their login, in whatever order they open it', () => {
    const logins = connections();
    const first = logins.pacerOfProof(LOGIN, USER.accountUid);
    expect(logins.pacerOfProof(LOGIN, OTHER)).toBe(first);
    expect(logins.open(LOGIN, { ...USER, accountUid: OTHER }).pacer).toBe(first);
    expect(logins.pacerOfProof(LOGIN, USER.accountUid)).toBe(first);
  });

  test('keep what they were paced by before', () => {
    const logins = connections();
    expect(logins.pacerOfProof(LOGIN, USER.accountUid)).toBe(logins.pacerOf(USER.accountUid));
    const before = logins.pacerOf(OTHER);
    expect(logins.pacerOfProof(OTHER_LOGIN, OTHER)).toBe(before);
  });

  test('share none with those of another login, also where the key of an account was another one’s', () => {
    const logins = connections();
    const first = logins.pacerOfProof(LOGIN, USER.accountUid);
    expect(logins.pacerOfProof(OTHER_LOGIN, OTHER)).not.toBe(first);
    expect(logins.pacerOfProof(OTHER_LOGIN, USER.accountUid)).not.toBe(first);
    const { pacer } = logins.open(LOGIN, USER);
    expect(logins.pacerOfProof(OTHER_LOGIN, USER.accountUid)).not.toBe(pacer);
  });

  test('get another limiter once the last user of their login has left', () => {
    const logins = connections();
    const { pacer } = logins.open(LOGIN, USER);
    expect(logins.pacerOfProof(LOGIN, OTHER)).toBe(pacer);
    logins.close(LOGIN, USER.accountUid);
    expect(logins.pacerOfProof(LOGIN, OTHER)).not.toBe(pacer);
  });

  test('go on at the pace of their login once its last user has left (I10)', async () => {
    const logins = connections();
    const { pacer } = logins.open(LOGIN, USER);
    expect(logins.pacerOfProof(LOGIN, OTHER)).toBe(pacer);
    (await pacer.acquire('destroy')).release();
    logins.close(LOGIN, USER.accountUid);
    expect(logins.pacerOf(OTHER).nextSlotMs('destroy')).toBeGreaterThan(0);
    expect(logins.pacerOfProof(LOGIN, OTHER).nextSlotMs('destroy')).toBeGreaterThan(0);
    expect(logins.pacerOfProof(OTHER_LOGIN, 'third').nextSlotMs('destroy')).toBe(0);
    expect(logins.open(LOGIN, { ...USER, accountUid: OTHER }).pacer.nextSlotMs('destroy')).toBeGreaterThan(0);
  });

  test('get another limiter than the one that stopped with the last user of their login', () => {
    const logins = connections();
    const proving = logins.pacerOfProof(LOGIN, OTHER);
    expect(logins.open(LOGIN, USER).pacer).toBe(proving);
    logins.close(LOGIN, USER.accountUid);
    expect(logins.open(LOGIN, { ...USER, accountUid: OTHER }).pacer).not.toBe(proving);
  });
});

describe('the calls that proved a login count (I10)', () => {
  const provedOnce = async () => {
    const logins = connections();
    (await logins.pacerOfProof(LOGIN, USER.accountUid).acquire('destroy')).release();
    return logins;
  };

  test('when its account is gone, and a late event makes it prove its key again', async () => {
    const logins = await provedOnce();
    logins.forget(USER.accountUid);
    expect(logins.pacerOfProof(LOGIN, USER.accountUid).nextSlotMs('destroy')).toBeGreaterThan(0);
  });

  test('when the key of its account was one of another login meanwhile', async () => {
    const logins = await provedOnce();
    logins.pacerOfProof({ ...LOGIN, userId: '8' }, USER.accountUid);
    expect(logins.pacerOfProof(LOGIN, USER.accountUid).nextSlotMs('destroy')).toBeGreaterThan(0);
  });
});

test('an account that is gone before its key says whose it is leaves no limiter behind', async () => {
  const logins = connections();
  const before = logins.pacerOf(USER.accountUid);
  logins.forget(USER.accountUid);
  expect(logins.pacerOf(USER.accountUid)).not.toBe(before);
});

describe('accounts of one login', () => {
  const OTHER = { accountUid: 'other', pollIntervalMs: 30_000, market: 'Vast' };

  function joined() {
    const clock = createVirtualClock();
    const dateOf = (offMs: number) => ({ date: new Date(clock.now() + offMs).toUTCString() });
    const list = (offMs = 0) => reply({ instances: [], instances_found: 0 }, 200, dateOf(offMs));
    const { transport, requests, answer } = answeringTransport((request) => list()(request));
    const random = seededRandom(1);
    const logins = new LoginConnections({
      openMarket,
      transport,
      clock,
      random,
      log: silentLogger,
      paced: true,
    });
    const slow = logins.open(LOGIN, OTHER);
    const fast = logins.open(LOGIN, USER);
    fast.keys.set(USER.accountUid, { key: new Secret('fast'), use: 'full', mayDestroy: true });
    slow.keys.set(OTHER.accountUid, { key: new Secret('slow'), use: 'full', mayDestroy: true });
    fast.feed.start();
    return { clock, requests, logins, slow, fast, answer, dateOf, list };
  }

  test('share one connection, and those of another login another', () => {
    const { logins, slow, fast } = joined();
    expect(slow).toBe(fast);
    const stranger = logins.open(
      { ...LOGIN, userId: '8' },
      { accountUid: 'x', pollIntervalMs: 1_000, market: 'Vast' },
    );
    expect(stranger).not.toBe(fast);
    expect(stranger.reservations).toBe(fast.reservations);
    const elsewhere = { url: 'https://other.example', userId: '7' };
    expect(
      logins.open(elsewhere, { accountUid: 'y', pollIntervalMs: 1_000, market: 'Vast' }).reservations,
    ).not.toBe(fast.reservations);
  });

  test('are listed as often as the most eager of them asks, and no more often once that is gone', async () => {
    const { clock, requests, logins } = joined();
    await clock.advance(30_000);
    expect(requests).toHaveLength(4);
    logins.close(LOGIN, USER.accountUid);
    await clock.advance(10_000);
    requests.length = 0;
    await clock.advance(90_000);
    const keys = requests.map(({ headers }) => headers['authorization']);
    expect(keys).toEqual(['Bearer slow', 'Bearer slow', 'Bearer slow']);
  });

  test('are listed at the shortest interval that one of them asks for', async () => {
    const { clock, requests, logins } = joined();
    logins.open(LOGIN, OTHER);
    await clock.advance(30_000);
    expect(requests).toHaveLength(4);
  });

  test('lose the key of one that goes, and their list goes on', async () => {
    const { clock, requests, logins } = joined();
    await clock.advance(0);
    logins.close(LOGIN, OTHER.accountUid);
    logins.close(LOGIN, OTHER.accountUid);
    requests.length = 0;
    await clock.advance(20_000);
    expect(requests.map(({ headers }) => headers['authorization'])).toEqual(['Bearer fast', 'Bearer fast']);
  });

  test('are listed no more when the last one goes, and nothing of them is left', async () => {
    const { clock, requests, logins, fast } = joined();
    await clock.advance(0);
    logins.close(LOGIN, OTHER.accountUid);
    logins.close(LOGIN, USER.accountUid);
    requests.length = 0;
    await clock.advance(60_000);
    expect(requests).toEqual([]);
    expect(clock.nextTimerMs()).toBeUndefined();
    expect(logins.open(LOGIN, USER)).not.toBe(fast);
  });

  test('send their calls at the pace of the login, and know its time by the replies', async () => {
    const { clock, fast } = joined();
    expect(fast.serviceClock.now()).toEqual({ type: 'unknown' });
    await clock.advance(0);
    expect(fast.serviceClock.now()).toMatchObject({ type: 'known' });
    await fast
      .marketOf(USER.accountUid)
      .destroy('5')
      .catch(() => {});
    expect(fast.pacer.nextSlotMs('destroy')).toBeGreaterThan(0);
  });

  test.each([
    ['a failed list', 502, { instances: [], instances_found: 0 }, 'list'],
    ['a list that cannot be read', 200, { instances: 5 }, 'list'],
    ['a search', 200, { offers: [] }, 'search'],
    ['a destroy', 200, { success: true }, 'destroy'],
  ] as const)('scenario 77: take no time from the reply to %s (H2)', async (_, status, body, call) => {
    const { clock, fast, answer, dateOf } = joined();
    await clock.advance(25_000);
    const before = fast.serviceClock.now();
    expect(before).toMatchObject({ type: 'known', isConfirmed: true });
    answer(reply(body, status, dateOf(48 * 3_600_000)));
    const calls = {
      list: () => fast.marketOf(USER.accountUid).machines(),
      search: () => fast.marketOf(USER.accountUid).offers({ filters: {} } as never),
      destroy: () => fast.marketOf(USER.accountUid).destroy('5'),
    };
    const sent = calls[call]().catch(() => {});
    await clock.advance(30_000);
    await sent;
    expect(fast.serviceClock.now()).toMatchObject({ type: 'known', isConfirmed: true });
  });

  test('doubt the time after one good list with a wrong date, and know it after the next (H2)', async () => {
    const { clock, fast, answer, list } = joined();
    await clock.advance(25_000);
    answer(list(48 * 3_600_000));
    await clock.advance(10_000);
    expect(fast.serviceClock.now()).toMatchObject({ type: 'stale' });
    answer((request) => list()(request));
    await clock.advance(10_000);
    expect(fast.serviceClock.now()).toMatchObject({ type: 'known', at: Math.floor(clock.now()) });
  });

  test('believe no list from a cache (H2)', async () => {
    const { clock, fast, answer, dateOf } = joined();
    await clock.advance(5_000);
    const { lastCompleteAt } = fast.feed.health();
    answer(reply({ instances: [], instances_found: 0 }, 200, { ...dateOf(-300_000), age: '300' }));
    await clock.advance(20_000);
    expect(fast.feed.health()).toMatchObject({ lastCompleteAt, lastError: { kind: 'malformedReply' } });
    expect(fast.serviceClock.now()).toMatchObject({ type: 'known', isConfirmed: false });
  });

  test('stop together when the process does', async () => {
    const { clock, requests, logins, fast } = joined();
    await clock.advance(0);
    const client = fast.marketOf(USER.accountUid);
    await client.destroy('5').catch(() => {});
    const waiting = client.destroy('6').catch(({ kind, outcome }) => [kind, outcome]);
    logins.closeAll();
    requests.length = 0;
    await clock.advance(60_000);
    expect([await waiting, requests, clock.nextTimerMs()]).toEqual([['aborted', 'refused'], [], undefined]);
  });
});

test('a process without pacing keeps no pauses', async () => {
  const clock = createVirtualClock();
  const transport = () => new Promise<never>(() => {});
  const random = seededRandom(1);
  const logins = new LoginConnections({
    openMarket,
    transport,
    clock,
    random,
    log: silentLogger,
    paced: false,
  });
  const { pacer } = logins.open(LOGIN, USER);
  (await pacer.acquire('destroy')).release();
  expect(pacer.nextSlotMs('destroy')).toBe(0);
});

test('an account that proved its login is paced by it alone', async () => {
  const logins = connections();
  const before = logins.pacerOf(USER.accountUid);
  logins.open(LOGIN, USER);
  logins.close(LOGIN, USER.accountUid);
  expect(logins.pacerOf(USER.accountUid)).not.toBe(before);
});
