import { beforeEach, describe, expect, test } from 'vitest';
import { offer } from '../../../test/builders/observed.ts';
import { createVirtualClock, type VirtualClock } from '../../../test/builders/virtual-clock.ts';
import { MarketplaceError, type MarketplaceErrorKind } from '../../market/errors.ts';
import type { Offer, OfferQuery } from '../../market/offer.ts';
import { createPacer, type Pacer } from '../../market/pacing.ts';
import { AdmissionQueue } from './admission-queue.ts';
import type { SearchRequest } from './search-scheduler.ts';

let clock: VirtualClock;
let pacer: Pacer;
let queue: AdmissionQueue;
/** Searches that were sent, and the second at which. */
let sent: { readonly query: OfferQuery; readonly second: number }[];
let answer: (query: OfferQuery) => readonly Offer[];
let held: Set<string>;
/** Objects that were called, in order. */
let called: string[];

beforeEach(() => {
  clock = createVirtualClock();
  pacer = createPacer({ clock });
  sent = [];
  called = [];
  held = new Set();
  answer = () => [offer({ id: '1' }), offer({ id: '2' })];
  queue = queueOf(true);
});

function queueOf(paced: boolean): AdmissionQueue {
  return new AdmissionQueue({
    ...{ clock, pacer, paced },
    isReserved: (id) => held.has(id),
    search: async (query) => {
      const permit = await pacer.acquire('search');
      sent.push({ query, second: Math.round(clock.monotonic() / 1_000) });
      permit.release();
      return answer(query);
    },
  });
}

const query = (gpu: string, change: Partial<OfferQuery> = {}): OfferQuery => ({
  filters: [{ field: 'gpuName', operator: 'eq', value: gpu }],
  ...{ pricing: 'on-demand', storageGB: 20, limit: 200 },
  ...change,
});
const want = (gpu: string, change: Partial<SearchRequest> = {}): SearchRequest => ({
  queries: [query(gpu)],
  ...change,
});
const asker = (uid: string, namespace = 'team', generation = 1) => ({
  ...{ uid, namespace, generation, wake: () => called.push(uid) },
});
const renter = (uid: string, namespace = 'team', mayRent = () => true) => ({
  ...asker(uid, namespace),
  mayRent,
});
const fails = (kind: MarketplaceErrorKind) => () => {
  throw new MarketplaceError('told to fail', { kind, outcome: 'refused' });
};
/** Uses up the burst of searches. */
async function exhaust(): Promise<void> {
  for (const name of ['V', 'W', 'X', 'Y', 'Z']) queue.offers(asker(`burst ${name}`, 'burst'), want(name));
  await clock.advance(0);
  called = [];
  sent = [];
}

test('counts who waits, and how long the first has', async () => {
  expect(queue.waiting()).toEqual({ count: 0, longestMs: 0 });
  await exhaust();
  for (const uid of ['V', 'W', 'X', 'Y', 'Z']) queue.leave(`burst ${uid}`);
  queue.offers(asker('a'), want('A'));
  await clock.advance(1_000);
  queue.offers(asker('b'), want('B'));
  await clock.advance(500);
  expect(queue.waiting()).toEqual({ count: 2, longestMs: 1_500 });
  queue.leave('a');
  expect(queue.waiting()).toEqual({ count: 1, longestMs: 500 });
});

describe('a search', () => {
  test('is answered for all that want the same, by one request', async () => {
    for (const uid of ['a', 'b', 'c']) expect(queue.offers(asker(uid), want('A')).type).toBe('queued');
    await clock.advance(0);
    expect(called).toEqual(['a', 'b', 'c']);
    expect(sent).toHaveLength(1);
    expect(queue.offers(asker('a'), want('A'))).toMatchObject({ type: 'found', isShared: false });
    expect(queue.offers(asker('new'), want('A')).type).toBe('found');
  });

  test('scenario 79: that had to wait is one for all whose requirements it covers (H8)', async () => {
    await exhaust();
    for (let index = 0; index < 500; index += 1) queue.offers(asker(`o${index}`), want(`gpu ${index}`));
    await clock.advance(13_000);
    expect(sent).toHaveLength(1);
    expect(called).toHaveLength(500);
    expect(queue.offers(asker('o7'), want('gpu 7'))).toMatchObject({ type: 'found', isShared: true });
  });

  test('covers the later alternatives of an object, too', async () => {
    await exhaust();
    queue.offers(asker('a'), { queries: [query('A'), query('B')] });
    queue.offers(asker('b'), want('C'));
    await clock.advance(13_000);
    expect(queue.offers(asker('a'), want('B')).type).toBe('found');
    expect(sent).toHaveLength(1);
  });

  test('is not shared by one that needs the reply to its own query', async () => {
    await exhaust();
    queue.offers(asker('a'), want('A', { exact: true }));
    queue.offers(asker('b'), want('B'));
    queue.offers(asker('c'), want('C'));
    await clock.advance(26_000);
    expect(sent.map((each) => each.query.limit)).toEqual([200, 2_000]);
    expect(queue.offers(asker('a'), want('A', { exact: true }))).toMatchObject({ isShared: false });
  });

  test('of other disks goes in turn: a namespace that joins waits for one search, not for 60 (H8)', async () => {
    const other = (storageGB: number): SearchRequest => ({ queries: [query('none', { storageGB })] });
    for (let index = 0; index < 60; index += 1) queue.offers(asker(`s${index}`, 'stranger'), other(index));
    await clock.advance(60_000);
    const begun = clock.monotonic();
    queue.offers(asker('good', 'good'), other(99));
    while (!called.includes('good')) await clock.advance(1_000);
    expect(clock.monotonic() - begun).toBeLessThanOrEqual(15_000);
  });

  test('is not made again while a reply is fresh, and is when it is old', async () => {
    queue.offers(asker('a'), want('A'));
    await clock.advance(14_000);
    queue.offers(asker('late'), want('A'));
    await clock.advance(0);
    expect(sent).toHaveLength(1);
    await clock.advance(2_000);
    queue.offers(asker('later'), want('A'));
    await clock.advance(0);
    expect(sent).toHaveLength(2);
  });

  test('scenario 106: is made again for an object that a person asks to look, although a reply is fresh (S5)', async () => {
    queue.offers(asker('a'), want('A'));
    await clock.advance(5_000);
    const asked = want('A', { askedAt: clock.monotonic() });
    expect(queue.offers(asker('b'), asked).type).toBe('queued');
    await clock.advance(5_000);
    expect(sent).toHaveLength(2);
    expect(queue.offers(asker('b'), asked).type).toBe('found');
  });

  test('is made again when every offer of the reply is taken, and not before', async () => {
    queue.offers(asker('a'), want('A'));
    await clock.advance(2_000);
    held.add('1');
    expect(queue.offers(asker('b'), want('A')).type).toBe('found');
    held.add('2');
    expect(queue.offers(asker('b'), want('A')).type).toBe('queued');
  });

  test('of one that found nothing before waits for the others, and leaves the lane free for them', async () => {
    answer = () => [];
    queue.offers(asker('first'), want('none', { patient: true }));
    await clock.advance(0);
    for (const name of ['A', 'B', 'C'])
      queue.offers(asker(name), { queries: [query(name, { storageGB: name.charCodeAt(0) })], patient: true });
    await clock.advance(14_000);
    expect(sent).toHaveLength(1);
    queue.offers(asker('new'), want('N'));
    await clock.advance(0);
    expect(sent).toHaveLength(2);
    await clock.advance(32_000);
    expect(sent.map(({ second }) => second)).toEqual([0, 14, 15, 30, 45]);
  });

  test('that failed is reported once to each object that asked', async () => {
    answer = fails('unavailable');
    for (const uid of ['a', 'b']) queue.offers(asker(uid), want('A'));
    await clock.advance(0);
    expect(called).toEqual(['a', 'b']);
    expect(queue.offers(asker('a'), want('A'))).toMatchObject({ type: 'failed' });
    expect(queue.offers(asker('a'), want('A'))).toMatchObject({ type: 'queued' });
  });

  test('that is refused for the rate limit keeps its objects in the queue (F1)', async () => {
    answer = fails('throttled');
    queue.offers(asker('a'), want('A'));
    await clock.advance(0);
    answer = () => [];
    expect(called).toEqual([]);
    expect(queue.place('a', 1)).toMatchObject({ for: 'search' });
    await clock.advance(30_000);
    expect(called).toEqual(['a']);
  });

  test('with a filter that the service does not know fails for its own object alone', async () => {
    await exhaust();
    const bad = query('A', { filters: [{ field: 'nonsense', operator: 'eq', value: 1 }] });
    answer = ({ filters }) =>
      filters.some(({ field }) => field !== 'gpuName') ? fails('invalidRequest')() : [];
    queue.offers(asker('bad'), { queries: [bad] });
    queue.offers(asker('good'), want('A'));
    await clock.advance(60_000);
    expect(called).toContain('good');
    expect(queue.offers(asker('good'), want('A')).type).not.toBe('failed');
  });

  test('whose reply is cut is made again for those that it may have missed', async () => {
    await exhaust();
    answer = ({ limit = 0 }) => Array.from({ length: limit }, (_, id) => offer({ id: String(id) }));
    queue.offers(asker('a'), want('A'));
    queue.offers(asker('b'), want('B'));
    await clock.advance(60_000);
    expect(sent.map((each) => each.query.limit)).toEqual([2_000, 200, 200]);
    expect(called).toEqual(['a', 'b']);
  });

  test('that only explains is made once in ten minutes, and after those that others wait for', async () => {
    await exhaust();
    const everything: OfferQuery = { filters: [], limit: 2_000, storageGB: 20 };
    expect(queue.explain(everything, 600_000).type).toBe('queued');
    queue.offers(asker('a'), want('A'));
    await clock.advance(40_000);
    expect(sent.map((each) => each.query.limit)).toEqual([200, 2_000]);
    await clock.advance(500_000);
    expect(queue.explain(everything, 600_000).type).toBe('found');
    await clock.advance(100_000);
    expect(queue.explain(everything, 600_000).type).toBe('queued');
  });
});

describe('a rental slot', () => {
  /** Takes the only slot. */
  const takeFirst = () => queue.takeSlot(renter('first'), 5_000);

  test('is taken at once if it is free', () => {
    expect(takeFirst()).toMatchObject({ endpointClass: 'rent' });
    expect(queue.place('first', 1)).toBeUndefined();
  });

  test('scenario 78: calls the next object when it is free, namespaces in turn (F1)', async () => {
    takeFirst()?.release();
    const pending = ['a1', 'a2', 'a3', 'b1', 'b2'];
    pacer.reserve('rent', 4_500);
    for (const uid of pending) expect(queue.takeSlot(renter(uid, uid.slice(0, 1)), 5_000)).toBeUndefined();
    const order: string[] = [];
    for (let second = 0; second < 60; second += 1) {
      await clock.advance(1_000);
      for (const uid of called.splice(0)) {
        const slot = queue.takeSlot(renter(uid, uid.slice(0, 1)), 5_000);
        if (slot) order.push(uid);
        void pacer.acquire('rent', { slot }).then((permit) => permit.release());
        queue.slotEnded();
      }
    }
    expect(order).toEqual(['a1', 'b1', 'a2', 'b2', 'a3']);
  });

  test('goes to an object that was called, however late it comes', async () => {
    pacer.reserve('rent', 1_000);
    for (const uid of ['slow', 'slower']) queue.takeSlot(renter(uid), 5_000);
    await clock.advance(6_000);
    expect(called).toEqual(['slow', 'slower']);
    expect(queue.takeSlot(renter('slow'), 5_000)).toBeDefined();
  });

  test('goes to no newcomer while an object that was called may still come', async () => {
    pacer.reserve('rent', 1_000);
    queue.takeSlot(renter('a'), 5_000);
    await clock.advance(1_000);
    expect(called).toEqual(['a']);
    expect(queue.takeSlot(renter('new'), 5_000)).toBeUndefined();
    expect(queue.takeSlot(renter('a'), 5_000)).toBeDefined();
  });

  test('waits for no object that has left', async () => {
    pacer.reserve('rent', 1_000);
    for (const uid of ['gone', 'b']) queue.takeSlot(renter(uid), 5_000);
    queue.leave('gone');
    await clock.advance(1_000);
    expect(called).toEqual(['b']);
  });

  test('forgets an object that was called and never came', async () => {
    pacer.reserve('rent', 1_000);
    for (const uid of ['dead', 'b']) queue.takeSlot(renter(uid), 5_000);
    await clock.advance(120_000);
    expect(queue.place('dead', 1)).toBeUndefined();
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  test('is not offered to an object whose account rents one at a time, until it may', async () => {
    let mayRent = false;
    expect(
      queue.takeSlot(
        renter('a', 'team', () => mayRent),
        5_000,
      ),
    ).toBeUndefined();
    expect(queue.place('a', 1)).toMatchObject({ isSerial: true });
    await clock.advance(10_000);
    expect(called).toEqual([]);
    mayRent = true;
    await clock.advance(1_000);
    expect(called).toEqual(['a']);
  });

  test('is tried again in a while if too many calls are in flight', async () => {
    const busy = createPacer({ clock, maxInFlight: 1 });
    pacer = busy;
    queue = queueOf(true);
    const permit = await busy.acquire('other');
    expect(queue.takeSlot(renter('a'), 5_000)).toBeUndefined();
    expect(called).toEqual([]);
    permit.release();
    await clock.advance(250);
    expect(called).toEqual(['a']);
  });

  describe('where nothing is paced', () => {
    beforeEach(() => {
      queue = queueOf(false);
    });

    test('needs no turn', () => {
      for (let index = 0; index < 50; index += 1)
        expect(queue.takeSlot(renter(`o${index}`), 5_000)).toBeDefined();
    });

    test('waits for none that was called, and many are called at once', async () => {
      let isSerial = true;
      const waiting = Array.from({ length: 40 }, (_, index) => renter(`o${index}`, 'team', () => !isSerial));
      for (const each of waiting) expect(queue.takeSlot(each, 5_000)).toBeUndefined();
      isSerial = false;
      queue.slotEnded();
      expect(called).toEqual(waiting.slice(0, 16).map(({ uid }) => uid));
      expect(queue.takeSlot(renter('late'), 5_000)).toBeDefined();
      for (const each of waiting.slice(0, 16)) expect(queue.takeSlot(each, 5_000)).toBeDefined();
      expect(called).toHaveLength(32);
      await clock.advance(2_000);
      expect(new Set(called).size).toBe(40);
    });
  });

  test('comes to an object whose reply is fresh: it is searched for again before', async () => {
    queue.offers(asker('a'), want('A'));
    await clock.advance(0);
    queue.offers(asker('a'), want('A'));
    pacer.slowDown('rent', 100_000);
    queue.takeSlot(renter('a'), 5_000);
    await clock.advance(130_000);
    expect(sent.length).toBeGreaterThan(1);
    expect(called.at(-1)).toBe('a');
    expect(queue.offers(asker('a'), want('A')).type).toBe('found');
    expect(queue.takeSlot(renter('a'), 5_000)).toBeDefined();
  });
});

describe('the place of an object', () => {
  test('says how many go first, and when its slot comes', async () => {
    pacer.reserve('rent', 4_500);
    for (const uid of ['a', 'b', 'c']) queue.takeSlot(renter(uid), 5_000);
    await clock.advance(1_000);
    expect(queue.place('c', 1)).toEqual({
      ...{ for: 'rental', ahead: 2, isSerial: false, waitedMs: 1_000 },
      expectedMs: 3_500 + 2 * 4_500,
    });
  });

  test('is lost with a newer spec, which asks again', () => {
    pacer.reserve('rent', 4_500);
    queue.takeSlot(renter('a'), 5_000);
    expect(queue.place('a', 2)).toBeUndefined();
    expect(queue.place('a', 1)).toBeUndefined();
  });

  test('is none while nothing is asked for', () => {
    expect(queue.place('a', 1)).toBeUndefined();
  });
});

test('a queue that is stopped calls no object and sets no timer', async () => {
  pacer.reserve('rent', 1_000);
  queue.takeSlot(renter('a'), 5_000);
  await exhaust();
  queue.offers(asker('b'), want('B'));
  queue.stop();
  expect(clock.nextTimerMs()).toBeUndefined();
  await clock.advance(60_000);
  expect(called).toEqual([]);
});

/** Lets an object find its offers. */
async function find(uid: string, wish: SearchRequest): Promise<void> {
  queue.offers(asker(uid), wish);
  await clock.advance(0);
  queue.offers(asker(uid), wish);
}

describe('an object in the line for a slot', () => {
  test('that was called and finds its reply old gives its turn to the next', async () => {
    await find('a', want('A'));
    pacer.reserve('rent', 1_000);
    for (const uid of ['a', 'b']) queue.takeSlot(renter(uid), 5_000);
    called = [];
    await clock.advance(1_000);
    expect(called).toEqual(['a']);
    answer = fails('throttled');
    queue.offers(asker('a'), want('other'));
    expect(called).toEqual(['a', 'b']);
    expect(queue.place('a', 1)).toMatchObject({ for: 'rental' });
  });

  test('that was called keeps its turn if its reply is fresh, and has no place meanwhile', async () => {
    await find('a', want('A'));
    pacer.reserve('rent', 1_000);
    for (const uid of ['a', 'b']) queue.takeSlot(renter(uid), 5_000);
    called = [];
    await clock.advance(1_000);
    expect(queue.place('a', 1)).toBeUndefined();
    expect(queue.offers(asker('a'), want('A')).type).toBe('found');
    expect(called).toEqual(['a']);
    expect(queue.takeSlot(renter('a'), 5_000)).toBeDefined();
  });

  test('is searched for by all its alternatives, though it asked for a later one last', async () => {
    const both: SearchRequest = { queries: [query('A'), query('B')] };
    await find('a', both);
    await find('a', want('B'));
    pacer.slowDown('rent', 70_000);
    queue.takeSlot(renter('a'), 5_000);
    sent = [];
    await clock.advance(71_000);
    expect(sent[0]?.query).toEqual(query('A'));
  });

  test('is searched for by what it asked for last if it names as many alternatives', async () => {
    await find('a', want('A'));
    await find('a', want('B'));
    pacer.slowDown('rent', 70_000);
    queue.takeSlot(renter('a'), 5_000);
    sent = [];
    await clock.advance(71_000);
    expect(sent.map((each) => each.query)).toEqual([query('B')]);
  });

  test('is searched for as urgently as a new one, though it found nothing before', async () => {
    await find('a', want('A', { patient: true }));
    pacer.slowDown('rent', 70_000);
    queue.takeSlot(renter('a'), 5_000);
    await clock.advance(69_000);
    queue.offers(asker('patient'), { queries: [query('none', { storageGB: 9 })], patient: true });
    called = [];
    await clock.advance(2_000);
    expect(called).toContain('a');
  });

  test('is called as soon as its search ends, not later', async () => {
    await find('a', want('A'));
    pacer.slowDown('rent', 70_000);
    queue.takeSlot(renter('a'), 5_000);
    await clock.advance(70_000);
    expect(called.at(-1)).toBe('a');
  });

  test("takes no other object's turn when its account may not rent", async () => {
    let mayRent = true;
    pacer.reserve('rent', 1_000);
    const a = renter('a', 'team', () => mayRent);
    queue.takeSlot(a, 5_000);
    queue.takeSlot(renter('b'), 5_000);
    await clock.advance(1_000);
    mayRent = false;
    expect(queue.takeSlot(a, 5_000)).toBeUndefined();
    expect(called).toEqual(['a', 'b']);
  });

  test('is passed over at once when the one that was called leaves', async () => {
    pacer.reserve('rent', 1_000);
    for (const uid of ['a', 'b']) queue.takeSlot(renter(uid), 5_000);
    await clock.advance(1_000);
    queue.leave('a');
    expect(called).toEqual(['a', 'b']);
  });

  test('hides objects beyond the next four that may not rent', async () => {
    const asked: string[] = [];
    pacer.reserve('rent', 1_000);
    for (const uid of ['a', 'b', 'c', 'd', 'e'])
      queue.takeSlot(
        renter(uid, 'team', () => {
          asked.push(uid);
          return false;
        }),
        5_000,
      );
    asked.length = 0;
    await clock.advance(1_000);
    expect(asked).toEqual(['a', 'b', 'c', 'd']);
  });
});

describe('the place of an object that searches', () => {
  test('counts the rentals that go before it, and names the longer of both waits', async () => {
    await exhaust();
    await clock.advance(1_000);
    pacer.reserve('rent', 4_500);
    for (const uid of ['r1', 'r2', 'r3', 'r4']) queue.takeSlot(renter(uid), 5_000);
    queue.offers(asker('a'), want('A'));
    await clock.advance(1_000);
    expect(queue.place('a', 1)).toEqual({
      ...{ for: 'search', ahead: 4, waitedMs: 1_000, isSerial: false },
      expectedMs: 3_500 + 4 * 4_500,
    });
    queue.offers(asker('other', 'other'), want('B'));
    expect(queue.place('other', 1)?.ahead).toBe(0);
    expect(queue.place('other', 1)?.expectedMs).toBeGreaterThan(9_000);
  });

  test('is none after it found its offers, and after it left', async () => {
    await find('a', want('A'));
    expect(queue.place('a', 1)).toBeUndefined();
    await exhaust();
    queue.offers(asker('b'), want('B'));
    expect(queue.place('b', 1)).toBeDefined();
    queue.leave('b');
    expect(queue.place('b', 1)).toBeUndefined();
    await clock.advance(60_000);
    expect(called).not.toContain('b');
  });

  test('begins again with a newer spec', async () => {
    await exhaust();
    queue.offers(asker('a'), want('A'));
    await clock.advance(2_000);
    queue.offers(asker('a', 'team', 2), want('B'));
    expect(queue.place('a', 2)?.waitedMs).toBe(0);
  });
});

test('a queue that is stopped calls no object when a slot ends', () => {
  queue.takeSlot(renter('first'), 5_000);
  queue.takeSlot(renter('a'), 5_000);
  queue.stop();
  pacer.stop();
  queue.slotEnded();
  expect(called).toEqual([]);
});
