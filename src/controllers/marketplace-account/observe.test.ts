import { describe, expect, test } from 'vitest';
import { instanceSummary } from '../../../test/builders/instance-summary.ts';
import { accountWith, LOGIN, proven } from '../../../test/builders/observed-account.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { listedObjects } from '../../accounts/account-objects.ts';
import type { ServiceTime } from '../../accounts/service-clock.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import type { InstanceSummary } from '../../instance/summary.ts';
import { type AccountSources, observe } from './observe.ts';
import type { CreditReading } from './types.ts';

const ALLOWED = ['https://console.vast.ai', 'https://market.example:8443'];
const [DEFAULT = ''] = ALLOWED;

const UNKNOWN: ServiceTime = { type: 'unknown' };

interface Setting {
  readonly time?: ServiceTime;
  /** True if machines were listed. */
  readonly isConnected?: boolean;
  readonly url?: string | undefined;
  /** URL of the pinned login. */
  readonly pinnedUrl?: string;
  readonly objects?: readonly InstanceSummary[];
  /** Status of the observed account. */
  readonly status?: MarketplaceAccount['status'];
  readonly others?: readonly MarketplaceAccount[];
  /** Uids of accounts that have a session. */
  readonly connectedUids?: readonly string[];
  /** Undefined without a sweep. */
  readonly pendingOrphans?: readonly number[];
  /** Readings of credit and cost of the reconcile before. */
  readonly readings?: readonly CreditReading[];
  /** The only URLs that the operator allows. */
  readonly allowed?: readonly string[];
}

/** Returns the observation of an account with this URL and these objects, and the URLs for which its key was read. */
async function seen(setting: Setting = {}) {
  const { url, pinnedUrl, objects = [], allowed = ALLOWED, time = UNKNOWN, isConnected = true } = setting;
  const { readings = [], status, others = [], pendingOrphans, connectedUids = [] } = setting;
  const login = pinnedUrl === undefined ? {} : { login: { ...LOGIN, url: pinnedUrl, provenAt: '' } };
  const account = accountWith({ spec: url === undefined ? {} : { url }, status: { ...login, ...status } });
  const keyReadFor: string[] = [];
  const updates: MarketplaceAccount[] = [];
  const censuses: (readonly string[])[] = [];
  const sources = {
    registry: {
      objectsOf: () => listedObjects(objects),
      allObjects: () => objects,
      proven: () => connectedUids.map((uid) => ({ uid })),
      session: () => ({
        login: LOGIN,
        feed: { health: () => ({ lastCompleteAt: undefined, consecutiveFailures: 0 }) },
        avoid: { durable: () => [] },
        inventory: (claimants: readonly InstanceSummary[]) => {
          censuses.push(claimants.map(({ key }) => key));
          return [];
        },
        serviceClock: { now: () => time },
        isListed: isConnected,
        update: (newest: MarketplaceAccount) => updates.push(newest),
        provenGone: async () => new Set(),
        admission: { sums: () => ({ dollarsPerHour: 3 }) },
        observer: { breaker: { type: 'closed' }, labelEcho: 'unknown' },
        findings: { orphans: [], unsettled: [], rolledBack: [], confirmedAt: 0, copied: [] },
        pendingOrphans: () => pendingOrphans,
      }),
    },
    installation: { state: () => ({ type: 'pending' }) },
    keyChecks: {
      check: async (_: MarketplaceAccount, wanted: string) => {
        keyReadFor.push(wanted);
        const proof = proven();
        return {
          reading: { type: 'key', key: proof.key },
          proof,
          keyKept: true,
          checkedAt: 7,
          againInMs: 90_000,
        };
      },
    },
    clock: createVirtualClock(),
    allowedUrls: allowed,
    keyCheckIntervalMs: 60_000,
    allObjects: () => [...objects, instanceSummary({ key: 'elsewhere/of-another-account' })],
    allAccounts: () => [account, ...others],
    figuresWrittenAt: () => undefined,
    creditReadings: () => readings,
  } as unknown as AccountSources;
  return {
    account,
    updates,
    keyReadFor,
    censuses,
    observed: await observe(account, sources, (wait) => wait()),
  };
}

describe('the key is shown to allowed addresses alone', () => {
  test.each([
    ['another host that begins like it', 'https://console.vast.ai.evil.example'],
    ['another host that ends like it', 'https://evil-console.vast.ai'],
    ['a host that it is the beginning of', 'https://console.vast.a'],
    ['a user of its name at another host', 'https://console.vast.ai@evil.example'],
    ['another host with it as the path', 'https://evil.example/https://console.vast.ai'],
    ['another port', 'https://console.vast.ai:8443'],
    ['no port where one is allowed', 'https://market.example'],
    ['a path', 'https://console.vast.ai/elsewhere'],
    ['another scheme', 'http://console.vast.ai'],
    ['no URL', 'console.vast.ai'],
  ])(
    'a URL that only begins or ends like an allowed one is refused, and no key is read for it: %s',
    async (_, url) => {
      const { observed, keyReadFor } = await seen({ url });
      expect(observed.url).toMatchObject({ type: 'refused', allowed: ALLOWED });
      expect(observed).toMatchObject({ proof: { type: 'none' }, reading: { type: 'secretMissing' } });
      expect(keyReadFor).toEqual([]);
    },
  );

  test.each([
    ['the very one', 'https://console.vast.ai', DEFAULT],
    ['with a slash at its end', 'https://console.vast.ai/', DEFAULT],
    ['with the port that the scheme means', 'https://console.vast.ai:443', DEFAULT],
    ['in capitals', 'https://Console.Vast.ai', DEFAULT],
    ['the second of the list', 'https://market.example:8443', 'https://market.example:8443'],
    ['none, for which the first of the list stands', undefined, DEFAULT],
  ])('allowed is %s', async (_, url, asked) => {
    const { observed, keyReadFor } = await seen({ url });
    expect(observed.url).toEqual({ type: 'allowed', url: asked });
    expect(observed.proof).toMatchObject({ type: 'proven' });
    expect(keyReadFor).toEqual([asked]);
  });

  test('an account that names none stays at the marketplace of its login, also where another one is the first now', async () => {
    const [, second = ''] = ALLOWED;
    const { observed, keyReadFor } = await seen({ pinnedUrl: second });
    expect([observed.url, keyReadFor]).toEqual([{ type: 'allowed', url: second }, [second]]);
  });

  test('the marketplace of a login that is not allowed any more is refused, and no key is read for the first of the list', async () => {
    const { observed, keyReadFor } = await seen({ pinnedUrl: 'https://former.example' });
    expect(observed.url).toMatchObject({ type: 'refused', url: 'https://former.example' });
    expect(keyReadFor).toEqual([]);
  });

  test('where nothing is allowed no URL is', async () => {
    const { observed, keyReadFor } = await seen({ allowed: [] });
    expect([observed.url.type, keyReadFor]).toEqual(['refused', []]);
  });
});

test('machines are counted by the objects of all accounts: another one may have the same login', async () => {
  const { censuses } = await seen({ objects: [instanceSummary({ key: 'team/own' })] });
  expect(censuses).toEqual([['team/own', 'elsewhere/of-another-account']]);
});

describe('what keeps an account from going', () => {
  test.each([
    ['an object with a machine', { instanceId: '4' }],
    ['an object with an open intent', { hasOpenIntent: true }],
    ['an object whose purchase is in doubt', { hasDoubtfulIntent: true }],
  ])('%s blocks', async (_, change) => {
    const objects = [instanceSummary({ key: 'team/free' }), instanceSummary({ key: 'team/busy', ...change })];
    expect((await seen({ objects })).observed.blockers).toEqual(['team/busy']);
  });

  test('objects that have nothing do not', async () => {
    expect((await seen({ objects: [instanceSummary()] })).observed.blockers).toEqual([]);
  });
});

test.each([
  ['what the service says', { time: { type: 'known', at: 5, isConfirmed: true } }, 5],
  ['ours where the service lists machines and never says', {}, 'ours'],
  ['not known before the first list', { isConnected: false }, undefined],
  ['not known while our own clocks have parted', { time: { type: 'stale' } }, undefined],
] as const)('the time of the service is %s', async (_, setting, at) => {
  const { now, serviceNow } = (await seen(setting)).observed;
  expect(serviceNow).toBe(at === 'ours' ? now : at);
});

describe('machines that no object claims', () => {
  const machines = { objects: 0, rented: 0, billing: 2, retained: 0, orphaned: 2, foreign: 0 };

  test('are counted as on record until the first sweep, and then by what that found', async () => {
    const counted = async (pendingOrphans?: readonly number[]) =>
      (await seen({ status: { machines }, ...(pendingOrphans && { pendingOrphans }) })).observed.session
        ?.counts?.orphaned;
    expect(await counted()).toBe(2);
    expect(await counted([])).toBe(0);
  });

  const other = (change: Parameters<typeof accountWith>[0] = {}) =>
    accountWith({
      status: { login: { ...LOGIN, provenAt: '' } },
      ...change,
      metadata: { name: 'other', uid: 'other-uid', ...change.metadata },
    });
  const destroys = { spec: { orphanPolicy: 'Destroy' } } as const;
  const deletionTimestamp = '2026-11-20T12:00:00Z';

  test.each<[string, MarketplaceAccount, boolean, string]>([
    ['one of its login sweeps them', other(), true, 'sweeps'],
    ['one of its login has no session, and reports', other(), false, 'reports'],
    ['one of its login has no session, and destroys', other(destroys), false, 'nothing'],
    ['one of its login goes, too, and reports', other({ metadata: { deletionTimestamp } }), true, 'reports'],
    [
      'one of its login goes, too, and destroys',
      other({ ...destroys, metadata: { deletionTimestamp } }),
      true,
      'nothing',
    ],
    [
      'one is of another login',
      other({ status: { login: { ...LOGIN, userId: '8', provenAt: '' } } }),
      true,
      'nothing',
    ],
    ['the login of one is not known', accountWith({ metadata: { uid: 'other-uid' } }), true, 'nothing'],
    ['one is this very account', other({ metadata: { uid: 'account-uid' } }), true, 'nothing'],
  ])('are looked after by other accounts, where %s', async (_, beside, isConnected, expected) => {
    const connectedUids = isConnected ? [beside.metadata.uid ?? ''] : [];
    const { observed } = await seen({
      pinnedUrl: LOGIN.url,
      allowed: [LOGIN.url],
      others: [beside],
      connectedUids,
    });
    expect(observed.beside).toBe(expected);
  });
});

test('updates the session with the account as it is now', async () => {
  const { account, updates } = await seen();
  expect(updates).toEqual([account]);
});

test('the newest rental is that of all objects', async () => {
  const objects = [7, undefined, 9, 8].map((newestRentalAt, uid) =>
    instanceSummary({ uid: String(uid), newestRentalAt }),
  );
  expect((await seen({ objects })).observed.newestRentalAt).toBe(9);
  expect((await seen()).observed.newestRentalAt).toBeUndefined();
});

test('the readings gain credit and hourly cost of a new check', async () => {
  const reading = { checkedAt: 7, credit: 100_000_000, pricePerHour: 3 };
  const before = { checkedAt: 6, credit: 1, pricePerHour: 2 };
  expect((await seen({ readings: [before] })).observed.creditReadings).toEqual([before, reading]);
  expect((await seen({ readings: [reading] })).observed.creditReadings).toEqual([reading]);
});

test('the key is looked at again no later than the interval says', async () => {
  expect((await seen()).observed.keyCheckAgainInMs).toBe(60_000);
});
