import { describe, expect, test } from 'vitest';
import { memoryCluster } from '../../../test/builders/memory-cluster.ts';
import { observed } from '../../../test/builders/observed-account.ts';
import { Users } from '../../../test/simulation/users.ts';
import { SimulatedWorld } from '../../../test/simulation/world.ts';
import { KeptKeys } from '../../accounts/api-keys.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { seededRandom } from '../../lib/random.ts';
import { Secret } from '../../lib/secret.ts';
import { MarketplaceError, type MarketplaceErrorKind } from '../../market/errors.ts';
import type { LoginUser } from '../../market/login-user.ts';
import { mayDestroyBy } from '../../markets/vast/destroy-probe.ts';
import { namespaceResource, secretResource } from '../../runtime/kube/core-resources.ts';
import { KeyChecks } from './key-checks.ts';
import { CONFIRMATION_MS } from './key-proof.ts';

const QUIET = { requestMs: 2, responseMs: 2 };

test('a proof that is not answered is asked for again after 5 s, then twice as long, at most after the interval', async () => {
  const askedAt: number[] = [];
  const world = new SimulatedWorld({
    seed: 1,
    keepTrace: false,
    fate: ({ side, request }) => {
      if (side !== 'market' || !request.path.startsWith('/api/v0/users/current')) return QUIET;
      askedAt.push(world.second);
      return { ...QUIET, loseResponse: true };
    },
  });
  new Users(world, seededRandom(1)).account.create('Report');
  world.startProcess();
  await world.scheduler.runUntil(world.now + 240_000, () => true);
  // A check asks again by itself within its first second; what counts is how the checks are spaced.
  const checks = askedAt.filter((at, index) => index === 0 || at - (askedAt[index - 1] ?? 0) > 4);
  const pauses = checks.slice(1).map((at, index) => at - (checks[index] ?? 0));
  for (const [index, least] of [5, 10, 20, 40, 60].entries()) {
    expect(pauses[index]).toBeGreaterThanOrEqual(least);
    expect(pauses[index]).toBeLessThan(least + 2);
  }
});

const UID = 'account-uid';
const INTERVAL_MS = 60_000;

const fails = (kind: MarketplaceErrorKind) => (): never => {
  throw new MarketplaceError('told to fail', { kind, outcome: 'refused' });
};

/** Returns an account whose Secret contains `first`, and a marketplace with scripted answers. */
async function bench() {
  const { kube, clock, sent } = memoryCluster();
  const put = (name: string, key: string) =>
    kube.create(secretResource, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: 'default' },
      stringData: { 'api-key': key },
    });
  await put('key', 'first');
  const asked: string[] = [];
  const paced: unknown[] = [];
  const marketplace: { user: (key: string) => unknown; destroy: (key: string) => unknown } = {
    user: () => ({ id: '7' }),
    destroy: fails('notFound'),
  };
  const kept = new KeptKeys(kube, 'default');
  const checks = new KeyChecks({
    kube,
    kept,
    clock,
    intervalMs: INTERVAL_MS,
    marketFor: ({ key }, login) => ({
      async login() {
        asked.push(`whose is ${key.reveal()}`);
        return marketplace.user(key.reveal()) as LoginUser;
      },
      async mayDestroy() {
        asked.push(`may ${key.reveal()} destroy`);
        paced.push(login);
        return mayDestroyBy(async () => marketplace.destroy(key.reveal()));
      },
    }),
  });
  const { account } = observed();
  const named = (name = 'key', requestedAt = ''): MarketplaceAccount => ({
    ...account,
    metadata: {
      ...account.metadata,
      namespace: 'default',
      uid: UID,
      annotations: { [annotations.requestedAt]: requestedAt },
    },
    spec: { ...account.spec, apiKeySecretRef: { name, key: 'api-key' } },
    status: { login: { url: 'https://market.example', userId: '7' } } as NonNullable<
      MarketplaceAccount['status']
    >,
  });
  let waiting = 0;
  const checkOnce = (object = named()) =>
    checks.check(object, 'https://market.example', async (wait) => {
      waiting++;
      return wait().finally(() => waiting--);
    });
  /** Checks until each key of the account is confirmed or failed. */
  const check = async (object = named()) => {
    for (;;) {
      const found = await checkOnce(object);
      if (found.proof.type !== 'unconfirmed') return found;
      await clock.advance(CONFIRMATION_MS);
    }
  };
  return {
    kube,
    isAside: () => waiting > 0,
    asked,
    paced,
    marketplace,
    kept,
    checks,
    clock,
    sent,
    put,
    named,
    check,
    checkOnce,
  };
}

test('a marketplace is waited for aside, with the key of the account and with the kept one, and the API server is not', async () => {
  const { check, marketplace, isAside, kept, put, named } = await bench();
  await put('other', 'second');
  await kept.save(UID, new Secret('kept'));
  const waits: boolean[] = [];
  marketplace.user = () => {
    waits.push(isAside());
    return fails('unauthorized')();
  };
  await check(named('other'));
  expect(waits).toEqual([true, true]);
  expect(isAside()).toBe(false);
});

test('the key of an account is read in the very namespace of the account', async () => {
  const { kube, check, asked, named } = await bench();
  const team = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } };
  await kube.create(namespaceResource, team);
  const account = named();
  const elsewhere = { ...account, metadata: { ...account.metadata, namespace: 'team' } };
  expect((await check(elsewhere)).reading.type).toBe('secretMissing');
  expect(asked).toEqual([]);
});

describe('the user of a key', () => {
  const login = (userId: string) => ({ url: 'https://market.example', userId });
  /** Returns the next due check, at which the marketplace names that user. */
  async function says(world: Awaited<ReturnType<typeof bench>>, userId: string) {
    await world.clock.advance(INTERVAL_MS);
    world.marketplace.user = () => ({ id: userId });
    return world.checkOnce();
  }

  test('is asked for again a second after the first reply, and nothing else is asked before (CRITICAL 0)', async () => {
    const { checkOnce, clock, asked } = await bench();
    expect(await checkOnce()).toMatchObject({
      proof: { type: 'unconfirmed', login: login('7') },
      againInMs: 1_000,
    });
    await clock.advance(999);
    expect((await checkOnce()).proof.type).toBe('unconfirmed');
    expect(asked).toEqual(['whose is first']);
    await clock.advance(1);
    expect((await checkOnce()).proof).toMatchObject({ type: 'proven', login: login('7') });
    expect(asked).toEqual(['whose is first', 'whose is first', 'may first destroy']);
  });

  test('is not taken from two replies within a second', async () => {
    const { checkOnce, clock, named } = await bench();
    await checkOnce();
    await clock.advance(999);
    expect((await checkOnce(named('key', 'now'))).proof.type).toBe('unconfirmed');
    await clock.advance(1_000);
    expect((await checkOnce(named('key', 'now'))).proof.type).toBe('proven');
  });

  test('is the one that two replies name when the first reply is wrong', async () => {
    const world = await bench();
    expect((await says(world, '12')).proof).toMatchObject({ type: 'unconfirmed', login: login('12') });
    expect((await says(world, '7')).proof).toMatchObject({ type: 'unconfirmed', login: login('7') });
    expect((await says(world, '7')).proof).toMatchObject({ type: 'proven', login: login('7') });
  });

  test('is another one when two replies say so, and a single one changes nothing', async () => {
    const world = await bench();
    await world.check();
    expect((await says(world, '8')).proof.type).toBe('unconfirmed');
    expect((await says(world, '7')).proof.type).toBe('unconfirmed');
    expect((await says(world, '7')).proof).toMatchObject({ type: 'proven', login: login('7') });
    expect((await says(world, '8')).proof.type).toBe('unconfirmed');
    expect((await says(world, '8')).proof).toMatchObject({ type: 'proven', login: login('8') });
  });

  test('needs two replies again when the Secret holds another key', async () => {
    const { check, checkOnce, put, named } = await bench();
    await check();
    await put('other', 'second');
    expect((await checkOnce(named('other'))).proof.type).toBe('unconfirmed');
    expect((await check(named('other'))).proof).toMatchObject({ type: 'proven', login: login('7') });
  });

  test('is confirmed by the next reply after one that did not arrive', async () => {
    const { checkOnce, clock, marketplace } = await bench();
    await checkOnce();
    marketplace.user = fails('timeout');
    await clock.advance(1_000);
    expect((await checkOnce()).proof.type).toBe('failed');
    marketplace.user = () => ({ id: '7' });
    await clock.advance(5_000);
    expect((await checkOnce()).proof.type).toBe('proven');
  });
});

describe('whether a key may destroy', () => {
  test.each([
    ['it did', () => undefined, true],
    ['there is no such machine', fails('notFound'), true],
    ['the request is odd', fails('invalidRequest'), true],
    ['it would not', fails('refused'), true],
    ['the key may not', fails('forbidden'), false],
    ['the key is none', fails('unauthorized'), false],
  ])('is proven by a service that answers that %s', async (_, destroy, mayDestroy) => {
    const { marketplace, check } = await bench();
    marketplace.destroy = destroy;
    expect((await check()).proof).toMatchObject({ type: 'proven', mayDestroy });
  });

  test('is asked at the pace of the login that the key has named', async () => {
    const { paced, check } = await bench();
    await check();
    expect(paced).toEqual([{ url: 'https://market.example', userId: '7' }]);
  });

  test('is not proven by a service that fails', async () => {
    const { marketplace, check } = await bench();
    marketplace.destroy = fails('unavailable');
    expect((await check()).proof).toMatchObject({ type: 'failed', source: 'user' });
  });

  test('is asked once for a key that may, and again for another key or one that may not', async () => {
    const { asked, marketplace, clock, put, named, check } = await bench();
    const tries = () => asked.filter((line) => line.startsWith('may'));
    await check();
    await clock.advance(INTERVAL_MS);
    await check();
    expect(tries()).toEqual(['may first destroy']);
    await put('other', 'second');
    marketplace.destroy = fails('forbidden');
    await check(named('other'));
    await clock.advance(INTERVAL_MS);
    await check(named('other'));
    expect(tries()).toEqual(['may first destroy', 'may second destroy', 'may second destroy']);
  });
});

describe('the key that was kept', () => {
  /** Returns an account whose key was verified and kept, and whose Secret was deleted afterwards. */
  async function keptBench() {
    const world = await bench();
    await world.check();
    await world.kept.save(UID, new Secret('first'));
    await world.clock.advance(INTERVAL_MS);
    return world;
  }

  test('is proven by one reply and no second probe when the same key was proven in the Secret of the user', async () => {
    const { checkOnce, asked, named } = await keptBench();
    expect((await checkOnce(named('gone'))).proof).toMatchObject({ type: 'proven', source: 'kept' });
    expect(asked.filter((line) => line.startsWith('may'))).toEqual(['may first destroy']);
  });

  test('has another login when two replies in a row say so, although it was proven in the Secret of the user', async () => {
    const { checkOnce, clock, marketplace, named } = await keptBench();
    marketplace.user = () => ({ id: '8' });
    expect((await checkOnce(named('gone'))).proof.type).toBe('unconfirmed');
    await clock.advance(CONFIRMATION_MS);
    expect((await checkOnce(named('gone'))).proof).toMatchObject({ type: 'proven', login: { userId: '8' } });
  });
});

test.each([
  ['is probed again after the marketplace refused it', 'unauthorized', 2],
  ['is not probed again after a check that did not arrive', 'timeout', 1],
] as const)('a key that may destroy %s', async (_, kind, probes) => {
  const { check, asked, clock, marketplace } = await bench();
  await check();
  marketplace.user = fails(kind);
  await clock.advance(INTERVAL_MS);
  expect((await check()).proof.type).toBe('failed');
  marketplace.user = () => ({ id: '7' });
  await clock.advance(INTERVAL_MS);
  expect((await check()).proof.type).toBe('proven');
  expect(asked.filter((line) => line.startsWith('may'))).toHaveLength(probes);
});

describe('a check of a key', () => {
  const proofs = (asked: readonly string[]) => asked.filter((line) => line.startsWith('whose')).length;

  test('counts for its interval and is made again after it', async () => {
    const { asked, clock, check } = await bench();
    expect((await check()).againInMs).toBe(INTERVAL_MS);
    await clock.advance(INTERVAL_MS - 1);
    expect((await check()).againInMs).toBe(1);
    expect(proofs(asked)).toBe(2);
    await clock.advance(1);
    await check();
    expect(proofs(asked)).toBe(3);
  });

  test('is stale at once when another Secret is named, or an annotation requests it', async () => {
    const { asked, put, named, check } = await bench();
    await check();
    await put('other', 'second');
    await check(named('other'));
    expect(asked).toContain('whose is second');
    await check(named('other', 'now'));
    expect(proofs(asked)).toBe(5);
  });

  test('is made again after a second, once, when the marketplace refused its key', async () => {
    const { asked, clock, checks, check } = await bench();
    await check();
    checks.recheck(UID);
    await check();
    expect(proofs(asked)).toBe(2);
    await clock.advance(1_000);
    await check();
    expect(proofs(asked)).toBe(3);
    await clock.advance(1_000);
    await check();
    expect(proofs(asked)).toBe(3);
  });

  test('that finds too little credit is made again after ten seconds, once: one reply stops no rentals for long', async () => {
    const { asked, clock, marketplace, check } = await bench();
    const says = (credit: number | undefined) => {
      marketplace.user = () => ({ id: '7', credit });
    };
    says(5_000_000);
    expect((await check()).againInMs).toBe(INTERVAL_MS);
    await clock.advance(INTERVAL_MS);
    says(0);
    expect((await check()).againInMs).toBe(10_000);
    await clock.advance(9_999);
    await check();
    expect(proofs(asked)).toBe(3);
    await clock.advance(1);
    says(5_000_000);
    expect(await check()).toMatchObject({ proof: { user: { credit: 5_000_000 } }, againInMs: INTERVAL_MS });
    expect(proofs(asked)).toBe(4);
  });

  test('that finds too little credit twice waits its interval', async () => {
    const { clock, marketplace, check, named } = await bench();
    const account = named();
    const limited = { ...account, spec: { ...account.spec, limits: { minCredit: '2' } } };
    marketplace.user = () => ({ id: '7', credit: 2_000_000 });
    const pauses: number[] = [];
    for (let checks = 0; checks < 3; checks++) {
      const { againInMs } = await check(limited);
      pauses.push(againInMs);
      await clock.advance(againInMs);
    }
    expect(pauses).toEqual([10_000, INTERVAL_MS, INTERVAL_MS]);
  });

  test.each([
    ['did not arrive is made again soon', 'timeout', 5_000],
    ['was answered with no waits its interval', 'unauthorized', INTERVAL_MS],
  ] as const)('that %s', async (_, kind, againInMs) => {
    const { marketplace, check } = await bench();
    marketplace.user = fails(kind);
    expect(await check()).toMatchObject({ proof: { type: 'failed' }, againInMs });
  });

  test('that fails for a reason of our own is no answer', async () => {
    const { marketplace, check } = await bench();
    marketplace.user = () => {
      throw new TypeError('a mistake');
    };
    await expect(check()).rejects.toThrow('a mistake');
  });

  test('is forgotten with its account: key, refusal and all', async () => {
    const { asked, clock, checks, check } = await bench();
    await check();
    checks.nowKept(UID, new Secret('first'));
    checks.recheck(UID);
    expect((await check()).keyKept).toBe(true);
    checks.forget(UID);
    expect((await check()).keyKept).toBe(false);
    expect(proofs(asked)).toBe(4);
    await clock.advance(1_000);
    await check();
    expect(proofs(asked)).toBe(4);
  });
});

test('forgets an account that is no longer checked, even if its deletion was not seen', async () => {
  const { asked, checks, clock, named, check, checkOnce } = await bench();
  const other = { ...named(), metadata: { ...named().metadata, uid: 'another-account' } };
  checks.nowKept(UID, new Secret('first'));
  await check();
  await clock.advance(10 * INTERVAL_MS);
  await checkOnce(other);
  expect((await check()).keyKept).toBe(true);
  await clock.advance(10 * INTERVAL_MS + 1);
  await checkOnce(other);
  expect((await check()).keyKept).toBe(false);
  expect(asked.filter((line) => line === 'may first destroy')).toHaveLength(3);
});

describe('the kept key', () => {
  test('replaces a Secret that is gone, and is kept already', async () => {
    const { kept, named, check } = await bench();
    await kept.save(UID, new Secret('former'));
    const { reading, proof, keyKept } = await check(named('gone'));
    expect(reading).toEqual({ type: 'secretMissing', secret: 'gone' });
    expect(proof).toMatchObject({ type: 'proven', source: 'kept' });
    expect(keyKept).toBe(true);
  });

  test('is not used for an account that never had a login', async () => {
    const { kept, named, check, asked } = await bench();
    await kept.save(UID, new Secret('former'));
    const { status: _, ...fresh } = named('gone');
    expect((await check(fresh)).proof).toEqual({ type: 'none' });
    expect(asked).toEqual([]);
  });

  describe('beside a key in the Secret', () => {
    const only = (name: string, otherwise: () => never) => (key: string) =>
      key === name ? { id: '7' } : otherwise();

    test.each(['unauthorized', 'sessionExpired', 'twoFactorRequired', 'forbidden'] as const)(
      'replaces one that is refused (%s), and is kept already',
      async (kind) => {
        const { kept, marketplace, check } = await bench();
        await kept.save(UID, new Secret('former'));
        marketplace.user = only('former', fails(kind));
        const { proof, keyKept } = await check();
        expect(proof).toMatchObject({
          type: 'proven',
          source: 'kept',
          mayDestroy: true,
          insteadOf: { type: 'failed', source: 'user', failure: { kind } },
        });
        expect(keyKept).toBe(true);
      },
    );

    test('replaces one that may not destroy', async () => {
      const { kept, marketplace, check } = await bench();
      await kept.save(UID, new Secret('former'));
      marketplace.destroy = (key) => fails(key === 'first' ? 'forbidden' : 'notFound')();
      const { proof } = await check();
      expect(proof).toMatchObject({ source: 'kept', insteadOf: { source: 'user', mayDestroy: false } });
    });

    test('does not where it may not destroy either', async () => {
      const { kept, marketplace, check } = await bench();
      await kept.save(UID, new Secret('former'));
      marketplace.destroy = fails('forbidden');
      expect((await check()).proof).toMatchObject({ source: 'user', mayDestroy: false });
    });

    test('does not where it is refused, too', async () => {
      const { kept, marketplace, check, asked } = await bench();
      await kept.save(UID, new Secret('former'));
      marketplace.user = fails('unauthorized');
      expect((await check()).proof).toMatchObject({ type: 'failed', source: 'user' });
      expect(asked).toEqual(['whose is first', 'whose is former']);
    });

    test('is not tried where it is the very one that is refused', async () => {
      const { kept, marketplace, check, asked } = await bench();
      await kept.save(UID, new Secret('first'));
      marketplace.user = fails('unauthorized');
      expect((await check()).proof).toMatchObject({ type: 'failed', source: 'user' });
      expect(asked).toEqual(['whose is first']);
    });

    test('is taken for what it was where only its own proof did not arrive', async () => {
      const { kept, marketplace, check } = await bench();
      await kept.save(UID, new Secret('former'));
      marketplace.user = (key) => fails(key === 'first' ? 'unauthorized' : 'timeout')();
      expect((await check()).proof).toMatchObject({ source: 'kept', failure: { kind: 'timeout' } });
    });

    test.each([
      ['serves', () => ({ id: '7' }), { source: 'user', mayDestroy: true }],
      ['is of another login', () => ({ id: '8' }), { source: 'user', login: { userId: '8' } }],
      ['could not be tried', fails('timeout'), { source: 'user', failure: { kind: 'timeout' } }],
    ])('is left alone where that %s', async (name, user, proof) => {
      const { kept, marketplace, check, asked } = await bench();
      await kept.save(UID, new Secret('former'));
      marketplace.user = user;
      marketplace.destroy = fails(name === 'is of another login' ? 'forbidden' : 'notFound');
      expect((await check()).proof).toMatchObject(proof);
      expect(asked).not.toContain('whose is former');
    });
  });

  test('is assumed to exist for an hour: its Secret may have been deleted since', async () => {
    const { checks, clock, check } = await bench();
    await check();
    checks.nowKept(UID, new Secret('first'));
    await clock.advance(3_600_000 - 1);
    expect((await check()).keyKept).toBe(true);
    await clock.advance(1);
    expect((await check()).keyKept).toBe(false);
  });

  test('is not the proven one where that is another', async () => {
    const { checks, check } = await bench();
    checks.nowKept(UID, new Secret('former'));
    expect((await check()).keyKept).toBe(false);
    checks.nowKept(UID, new Secret('first'));
    expect((await check()).keyKept).toBe(true);
  });
});

test.each([
  ['keeps its login when one reply names another user', ['8', '7'], '7'],
  ['has another login when two checks name another user', ['8', '8', '8', '8'], '8'],
] as const)('a key %s (A2)', async (_, replies, userId) => {
  const { check, marketplace } = await bench();
  const ids = replies.values();
  marketplace.user = () => ({ id: ids.next().value ?? '7' });
  expect((await check()).proof).toMatchObject({ type: 'proven', login: { userId } });
});
