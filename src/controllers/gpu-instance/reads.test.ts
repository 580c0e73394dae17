import { describe, expect, test } from 'vitest';
import { at, facts, given, LOGIN, NOW, offer, row } from '../../../test/builders/observed.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { UtilizationHistory } from '../../accounts/beliefs/utilization.ts';
import type { QueuePosition } from '../../accounts/queue/admission-queue.ts';
import type { SearchAnswer, SearchRequest } from '../../accounts/queue/search-scheduler.ts';
import type { AccountSession, RentalQueue } from '../../accounts/session.ts';
import { silentLogger } from '../../lib/logger.ts';
import { MarketplaceError } from '../../market/errors.ts';
import type { Offer } from '../../market/offer.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { ObjectMemory, SteadyClock } from './memory.ts';
import { readAll, readerOf } from './reads.ts';
import type { Observed, ReadRequest, SeenMachines, SeenPurchase } from './types.ts';

const failure = new MarketplaceError('told to fail', {
  kind: 'unavailable',
  outcome: 'refused',
  retryAfterMs: 9_000,
});
const bug = new TypeError('a bug');

interface Answers {
  readonly read?: () => unknown;
  readonly search?: () => unknown;
  /** The search has to wait for its turn. */
  readonly queued?: boolean;
  readonly login?: boolean;
  /** Gets what is searched for. */
  readonly wants?: SearchRequest[];
}

/** Returns the observation after a lookup of two seconds, with or without an account. */
async function look(request: ReadRequest, answers: Answers | 'no account', before: Observed = given()) {
  const clock = createVirtualClock({ startMs: NOW + 2_000 });
  const replies = answers === 'no account' ? {} : answers;
  const session = {
    utilization: new UtilizationHistory(),
    login: LOGIN,
    feed: { get: async () => replies.read?.() },
    queue: queueOf(replies),
    proveLogin: async () => replies.login,
    serviceClock: { now: () => ({ type: 'known', at: at(77), isConfirmed: true }) },
  };
  const deps = {
    clock,
    steady: new SteadyClock(clock),
    cluster: {} as unknown as KubeClient,
    session: answers === 'no account' ? undefined : (session as unknown as AccountSession),
    log: silentLogger,
    aside: <T>(wait: () => Promise<T>) => wait(),
    wake() {},
    memory: new ObjectMemory(),
  };
  return readAll(before, [request], { reader: readerOf(deps), clocks: deps });
}

const PLACE: QueuePosition = { for: 'search', ahead: 3, expectedMs: 9_000, waitedMs: 0, isSerial: false };

/** Answers when its search has ended. */
function queueOf({ search: found, queued, wants }: Answers): RentalQueue {
  let answer: SearchAnswer | undefined;
  const ask = (): SearchAnswer => {
    if (queued) return { type: 'queued', ended: undefined };
    if (answer) return answer;
    try {
      answer = { type: 'found', offers: (found?.() ?? []) as Offer[], begunAt: 7_000, isShared: false };
    } catch (error) {
      answer = { type: 'failed', error };
    }
    return { type: 'queued', ended: Promise.resolve() };
  };
  return {
    offers(_asker, want) {
      wants?.push(want);
      return ask();
    },
    explain: ask,
    place: () => PLACE,
    leave() {},
    waiting: () => NONE_WAITS,
    slotEnded() {},
  };
}

const NONE_WAITS = { count: 0, longestMs: 0 };
const throws = (error: unknown) => () => {
  throw error;
};
const read: ReadRequest = { type: 'machine', instanceId: '1' };
const search = {
  type: 'offers',
  index: 1,
  scope: 'shared',
  queries: [{ filters: [] }],
} as const satisfies ReadRequest;

describe('the read of one machine', () => {
  test.for<readonly [string, Answers | 'no account', string]>([
    ['that names no machine says that it is absent', { read: () => null }, 'absent'],
    ['that names it says that it is present', { read: () => row() }, 'present'],
    ['that failed says nothing', { read: throws(failure) }, 'failed'],
    ['that nobody could make says nothing', 'no account', 'failed'],
  ])('%s', async ([, answers, expected]) => {
    const seen = await look(read, answers);
    expect(seen.machine.absences.get('1')).toEqual({ lists: [], read: expected });
  });

  test('keeps the lists that speak for it, and what is known of other machines', async () => {
    const absences: SeenMachines['absences'] = new Map([
      ['1', { lists: [at(-9)], read: undefined }],
      ['2', { lists: [at(-8)], read: 'absent' }],
    ]);
    const seen = await look(read, { read: () => null }, given({ observed: { absences } }));
    expect([...seen.machine.absences]).toEqual([
      ['1', { lists: [at(-9)], read: 'absent' }],
      ['2', { lists: [at(-8)], read: 'absent' }],
    ]);
  });
});

describe('a search', () => {
  test('adds what it found to what earlier ones did', async () => {
    const offers: SeenPurchase['offers'] = new Map([[0, { type: 'found', offers: [] }]]);
    const found = offer({ id: '3' });
    const seen = await look(search, { search: () => [found] }, given({ observed: { offers } }));
    expect([...seen.purchase.offers]).toEqual([
      [0, { type: 'found', offers: [] }],
      [1, { type: 'found', offers: [found], begunAt: at(9) }],
    ]);
  });

  test('that has to wait for its turn says where it waits, and keeps no pass waiting', async () => {
    const seen = await look(search, { queued: true });
    expect(seen.purchase.offers.get(1)).toEqual({ type: 'queued', place: PLACE });
  });

  test.for<readonly [string, number | undefined, number | undefined, number | undefined]>([
    ['a second search begins after the first', at(5), undefined, 3_000],
    ['a search that a person asks for begins after that', undefined, 6_000, 6_000],
    ['a second search that a person asks for begins after both', at(5), 6_000, 6_000],
    ['an ordinary search shares any fresh reply', undefined, undefined, undefined],
  ])('%s', async ([, since, askedAt, expected]) => {
    const wants: SearchRequest[] = [];
    const before = given({ memory: { askedAt } });
    await look({ ...search, ...(since !== undefined && { since }) }, { wants }, before);
    expect(wants[0]?.askedAt).toBe(expected);
  });

  test('that explains asks for the reply that all share', async () => {
    const found = offer({ id: '3' });
    const seen = await look({ ...search, scope: 'broad' }, { search: () => [found] });
    expect(seen.purchase.broadOffers).toEqual({ type: 'found', offers: [found], begunAt: at(9) });
  });

  test('that cannot be sent finds nothing', async () => {
    expect((await look(search, 'no account')).purchase.offers.get(1)).toEqual({ type: 'found', offers: [] });
  });

  test('that failed is not a search that found nothing', async () => {
    const seen = await look(search, { search: throws(failure) });
    expect(seen.purchase.offers.get(1)).toEqual({
      type: 'failed',
      kind: 'unavailable',
      detail: 'told to fail',
      retryAfterMs: 9_000,
    });
  });
});

test.for<readonly [string, Answers | 'no account', boolean]>([
  ['is proven by a key that answers for it', { login: true }, true],
  ['is not by one that answers for another', { login: false }, false],
  ['is not where there is no key', 'no account', false],
])('the login %s', async ([, answers, expected]) => {
  expect((await look({ type: 'loginProof' }, answers)).machine.loginProven).toBe(expected);
});

test.for([read, search])(
  'what is no failure of the marketplace is not taken for one ($type)',
  async (need) => {
    await expect(look(need, { read: throws(bug), search: throws(bug) })).rejects.toBe(bug);
  },
);

test('what is decided after a read is dated again, by all three clocks', async () => {
  const seen = await look(read, { read: () => null });
  expect(seen).toMatchObject({
    clock: { now: NOW + 2_000, steadyNow: NOW + 2_000 },
    account: {
      state: 'ready',
      facts: { ...facts(), serviceTime: { type: 'known', at: at(77), isConfirmed: true } },
    },
  });
});

test('an account that is not ready stays as it was seen', async () => {
  const account: Observed['account'] = { state: 'missing' };
  expect((await look(read, {}, given({ account }))).account).toEqual(account);
});
