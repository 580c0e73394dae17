import { afterEach, describe, expect, test } from 'vitest';
import { accountWith, LOGIN, proven } from '../../../test/builders/observed-account.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { listedObjects } from '../../accounts/account-objects.ts';
import type { AccountEvent } from '../../accounts/registry.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { ACCOUNT_FINALIZER } from '../../api/v1alpha1/names.ts';
import { type AccountRef, accountKey } from '../../instance/account-ref.ts';
import { sleep } from '../../lib/clock.ts';
import { type Logger, silentLogger } from '../../lib/logger.ts';
import { seededRandom } from '../../lib/random.ts';
import type { Controller, ReconcileContext } from '../../runtime/controller.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Change } from '../../runtime/list-watch/informer.ts';
import {
  createMarketplaceAccountController,
  type MarketplaceAccountControllerOptions,
} from './controller.ts';

const KEY = 'team/default';
const REF = { namespace: 'team', name: 'default' };
const ACCOUNT = accountWith({
  metadata: { resourceVersion: '5' },
  status: { login: { ...LOGIN, provenAt: '2026-11-20T00:00:00Z' } },
});
const conflict = new KubeError('someone was faster', {
  kind: 'conflict',
  status: 409,
  reason: 'Conflict',
  outcome: 'refused',
});

const REFUSED = {
  type: 'failed',
  source: 'user',
  failure: { kind: 'unauthorized', badCertificate: false },
};
const AUTHENTICATED = [
  {
    type: 'Authenticated',
    status: 'True' as const,
    reason: 'Ready',
    message: '',
    lastTransitionTime: '2026-11-20T00:00:00Z',
  },
];

type Account = MarketplaceAccount | undefined;

interface Setting {
  /** The account in cache and API server. */
  readonly account?: Account;
  /** Number of writes of its status that conflict. */
  readonly lostRaces?: number;
  /** Number of removals of its finalizer that conflict. */
  readonly lostReleases?: number;
  /** Number of reads at which the cache is behind a write of this process. */
  readonly behind?: number;
  /** The account has no session, and its key is not verified. */
  readonly unproven?: boolean;
  /** The marketplace refuses the key. */
  readonly refused?: boolean;
  /** Another account, whose marketplace answers after a minute. */
  readonly silent?: MarketplaceAccount;
}

let running: Controller | undefined;
afterEach(() => running?.stop());

/** Returns the controller of accounts with one account, and its effects in order. */
function situation(setting: Setting = {}) {
  const {
    account = ACCOUNT,
    lostRaces = 0,
    lostReleases = 0,
    behind = 0,
    unproven = false,
    refused = false,
    silent,
  } = setting;
  const clock = createVirtualClock({ startMs: Date.parse('2026-11-20T12:00:00Z') });
  const did: string[] = [];
  const logged: string[] = [];
  const at =
    (level: string): Logger['warn'] =>
    (message, fields) =>
      void logged.push(`${level}: ${message}, ${String(fields?.['reason'])}`);
  const log: Logger = { ...silentLogger, warn: at('warn'), info: at('info'), child: () => log };
  let current: Account = account;
  let races = lostRaces;
  let releases = lostReleases;
  let looksBehind = behind;
  let onAccount: (change: Change<MarketplaceAccount>) => void = () => {};
  let onAccess: (ref: AccountRef) => void = () => {};
  let onEvent: (ref: AccountRef, news: AccountEvent) => void = () => {};
  const note = (what: string) => () => void did.push(what);
  const check = refused ? REFUSED : { ...(unproven ? { type: 'none' } : proven()) };
  const controller = createMarketplaceAccountController({
    accounts: {
      get: (key: string) => (key === KEY ? current : silent),
      list: () => [...(silent ? [silent] : []), ...(current ? [current] : [])],
      keep: (object: MarketplaceAccount) => object,
      isCurrent: () => looksBehind-- <= 0,
      wrote: note('heard of what was written'),
      onChange: (listener: typeof onAccount) => {
        onAccount = listener;
      },
    },
    kube: {
      get: async () => {
        did.push('asked');
        return current;
      },
      replace: async (_: unknown, object: object) => {
        did.push('write');
        if (races-- > 0) throw conflict;
        return { ...current, ...object, metadata: current?.metadata };
      },
      patch: async () => {
        did.push('release');
        if (releases-- > 0) throw conflict;
        return current;
      },
    },
    registry: {
      objectsOf: () => listedObjects([]),
      allObjects: () => [],
      counted: () => [],
      session: () => undefined,
      proven: () => [],
      connect: note('connect'),
      disconnect: note('disconnect'),
      setNotReady: note('set readiness'),
      forget: (ref: AccountRef) => did.push(`forget ${accountKey(ref)}`),
      onChange: (listener: typeof onAccess) => {
        onAccess = listener;
      },
      onEvent: (listener: typeof onEvent) => {
        onEvent = listener;
      },
    },
    installation: {
      state: () => ({ type: 'known', sweep: 'allowed', identity: { installId8: 'abcdef01' } }),
    },
    isLeader: () => true,
    kept: { save: async () => did.push('keep'), remove: async () => did.push('drop the kept key') },
    listObjects: async () => [],
    keyChecks: {
      check: async (of: MarketplaceAccount, _: string, aside: ReconcileContext['aside']) => {
        if (of === silent) await aside(() => sleep(clock, 60_000));
        return { reading: { type: 'key' }, proof: check, keyKept: false, againInMs: 60_000 };
      },
      nowKept() {},
      forget() {},
      recheck: (uid: string) => did.push(`${uid} is read again`),
    },
    events: { record: ({ reason }: { reason: string }) => did.push(`event ${reason}`) },
    allowedUrls: [LOGIN.url],
    keyCheckIntervalMs: 60_000,
    allObjects: () => [],
    clock,
    random: seededRandom(1),
    log,
  } as unknown as MarketplaceAccountControllerOptions);
  running = controller;
  return {
    controller,
    did,
    logged,
    clock,
    /** Returns the effects within `ms`. */
    within: async (ms: number) => {
      did.length = 0;
      await clock.advance(ms);
      return [...did];
    },
    vanish() {
      current = undefined;
      onAccount({ type: 'deleted', key: KEY, object: ACCOUNT });
    },
    change: () => onAccount({ type: 'added', key: KEY, object: ACCOUNT }),
    access: () => onAccess(REF),
    news: (news: AccountEvent) => onEvent(REF, news),
  };
}

describe('a pass', () => {
  test('does what was decided once that is written', async () => {
    const { controller, within } = situation();
    controller.start();
    const did = await within(5);
    expect(did.slice(0, 2)).toEqual(['write', 'heard of what was written']);
    expect(did).toEqual(expect.arrayContaining(['keep', 'connect', 'set readiness']));
  });

  test('does nothing of a decision that was not written, and looks at the API server next', async () => {
    const { controller, within } = situation({ lostRaces: 1 });
    controller.start();
    expect(await within(5)).toEqual(['write']);
    const did = await within(30);
    expect(did.slice(0, 2)).toEqual(['asked', 'write']);
    expect(did).toContain('connect');
  });

  test('F12: logs what is wrong with the key, once, beside the event', async () => {
    const before = { ...ACCOUNT, status: { ...ACCOUNT.status, conditions: AUTHENTICATED } };
    const { controller, within, logged } = situation({ account: before, refused: true });
    controller.start();
    const events = (await within(5)).filter((what) => what.startsWith('event '));
    expect(events).toHaveLength(1);
    expect(logged).toEqual([`warn: Account has a problem, ${events[0]?.slice('event '.length)}`]);
  });

  test('waits for a cache that is behind what this process wrote', async () => {
    const { controller, within } = situation({ behind: 1 });
    controller.start();
    expect(await within(5)).toEqual([]);
    expect(await within(30)).toContain('connect');
  });

  test('that lost a race with its last act looks at the API server next, and lets go then', async () => {
    const deletionTimestamp = '2026-11-20T11:59:00Z';
    const metadata = { ...ACCOUNT.metadata, deletionTimestamp, finalizers: [ACCOUNT_FINALIZER] };
    const { controller, within } = situation({ account: { ...ACCOUNT, metadata }, lostReleases: 1 });
    controller.start();
    const did = await within(50);
    expect(did.filter((what) => ['asked', 'release', `forget ${KEY}`].includes(what))).toEqual([
      'release',
      'asked',
      'release',
      `forget ${KEY}`,
    ]);
  });

  test('ends the session of an account whose key proves nothing', async () => {
    const { controller, within } = situation({ unproven: true });
    controller.start();
    expect(await within(5)).toContain('disconnect');
  });
});

test('an account whose marketplace takes a minute to answer keeps no other waiting', async () => {
  const metadata = { ...ACCOUNT.metadata, name: 'silent', uid: 'silent-uid' };
  const { controller, within } = situation({ silent: { ...ACCOUNT, metadata } });
  controller.start();
  expect(await within(5)).toContain('connect');
  await within(60_000);
});

test('an account that is gone has no session', async () => {
  const { controller, within, vanish } = situation();
  controller.start();
  await within(5);
  vanish();
  expect(await within(5)).toEqual([`forget ${KEY}`]);
});

test('a replica that waits for the lease does nothing, and begins with all accounts that are there then', async () => {
  const { controller, within, change } = situation();
  change();
  expect(await within(1_000)).toEqual([]);
  expect(controller.queue.length()).toBe(0);
  controller.start();
  expect(await within(5)).toContain('connect');
});

test('an account is looked at when its limits, its breaker or its session are other ones', async () => {
  const { controller, within, access } = situation();
  controller.start();
  await within(5);
  expect(await within(5)).toEqual([]);
  access();
  expect(await within(5)).toContain('connect');
});

test('P4: a machine that stopped by itself has key and credit checked again at once', async () => {
  const { controller, within, news, did } = situation();
  controller.start();
  await within(5);
  did.length = 0;
  news({ type: 'machineStopped' });
  expect(did).toEqual(['account-uid is read again']);
  expect(await within(5)).toContain('connect');
});

test.each([
  ['a refusal', 'unauthorized', true],
  ['a refusal of what the key may do', 'forbidden', true],
  ['the end of a session', 'sessionExpired', true],
  ['a second factor', 'twoFactorRequired', true],
  ['a service that does not answer', 'unavailable', false],
] as const)('a list that failed by %s has the key read again: %s %s', async (_, kind, isRead) => {
  const { controller, within, news, did } = situation();
  controller.start();
  await within(5);
  did.length = 0;
  news({ type: 'failed', error: { kind } } as AccountEvent);
  expect(did).toEqual(isRead ? ['account-uid is read again'] : []);
  expect(await within(5)).toContain('connect');
});
