import { describe, expect, test } from 'vitest';
import { offer } from '../../../test/builders/observed.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { MarketplaceError, type MarketplaceErrorKind } from '../../market/errors.ts';
import type { Offer, OfferQuery } from '../../market/offer.ts';
import { createPacer } from '../../market/pacing.ts';
import { type SearchAnswer, type SearchRequest, SearchScheduler } from './search-scheduler.ts';

interface Flight {
  readonly query: OfferQuery;
  /** Answers with offers of these ids, or with one of any id if none is given. */
  readonly answer: (...ids: readonly string[]) => Promise<void>;
  readonly fail: (kind: MarketplaceErrorKind) => Promise<void>;
  readonly reply: (offers: readonly Offer[]) => Promise<void>;
  readonly break: (error: unknown) => Promise<void>;
}

/** Returns a scheduler whose searches end when the test decides. The marketplace spaces them only if `paced`. */
function setUp({ paced = false } = {}) {
  const clock = createVirtualClock();
  const pacer = createPacer({ clock, scale: paced ? 1 : 0 });
  const flights: Flight[] = [];
  const called: string[] = [];
  const held = new Set<string>();
  let ended = 0;
  const scheduler = new SearchScheduler({
    ...{ clock, pacer, isReserved: (id: string) => held.has(id) },
    onEnd: () => {
      ended += 1;
    },
    search: (query) => {
      void pacer.acquire('search').then((permit) => permit.release());
      return new Promise<readonly Offer[]>((resolve, reject) => {
        const reply = (offers: readonly Offer[]) => {
          resolve(offers);
          return clock.settle();
        };
        const breakWith = (error: unknown) => {
          reject(error as Error);
          return clock.settle();
        };
        flights.push({
          ...{ query, reply, break: breakWith },
          answer: (...ids) =>
            reply((ids.length > 0 ? ids : ['any']).map((id) => offer({ id, gpuName: undefined }))),
          fail: (kind) => breakWith(new MarketplaceError('told to fail', { kind, outcome: 'refused' })),
        });
      });
    },
  });
  const asker = (uid: string, namespace = 'team') => ({
    ...{ uid, namespace, generation: 1 },
    wake: () => void called.push(uid),
  });
  const ask = (uid: string, want: SearchRequest, keptSince?: number) =>
    scheduler.offers(asker(uid), want, keptSince);
  const flight = (index: number): Flight => {
    const found = flights[index];
    if (!found) throw new Error(`only ${flights.length} searches have begun`);
    return found;
  };
  return { clock, pacer, scheduler, flights, flight, called, held, asker, ask, ends: () => ended };
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
/** Returns a search that shares no reply with offers with others. */
const ofDisk = (storageGB: number, change: Partial<SearchRequest> = {}): SearchRequest => ({
  queries: [query('A', { storageGB })],
  ...change,
});
const everyGpu: OfferQuery = { filters: [], pricing: 'on-demand', storageGB: 20, limit: 2_000 };
const endOf = (answer: SearchAnswer) => {
  if (answer.type !== 'queued' || !answer.ended) throw new Error('no search has begun for it');
  return answer.ended;
};
const rows = (count: number) =>
  Array.from({ length: count }, (_, id) => offer({ id: String(id), gpuName: undefined }));

describe('a search that is on its way', () => {
  test('is waited for by all objects that it covers, and by no other', async () => {
    const { ask, flights, flight, called } = setUp();
    const first = endOf(ask('a', want('A')));
    expect(endOf(ask('same', want('A')))).toBe(first);
    expect(endOf(ask('other', want('B')))).not.toBe(first);
    expect(flights).toHaveLength(2);
    await flight(0).answer('1');
    expect(called).toEqual(['a', 'same']);
  });

  test('is joined by an object whose requirements a wider search covers', async () => {
    const { scheduler, ask, flights, flight, called } = setUp();
    expect(scheduler.background(everyGpu, 1_000)).toMatchObject({ ended: expect.any(Promise) });
    expect(ask('a', want('A'))).toMatchObject({ type: 'queued', ended: expect.any(Promise) });
    expect(flights).toHaveLength(1);
    await flight(0).answer('1');
    expect(called).toEqual(['a']);
    expect(ask('a', want('A'))).toMatchObject({ type: 'found', isShared: true });
  });

  test('does not serve an object that needs the reply to its own query', async () => {
    const { scheduler, ask, flights, flight } = setUp();
    scheduler.background(everyGpu, 1_000);
    ask('a', want('A', { exact: true }));
    expect(flights).toHaveLength(2);
    await flight(0).answer('1');
    expect(ask('a', want('A', { exact: true })).type).toBe('queued');
    await flight(1).answer('1');
    expect(ask('a', want('A', { exact: true }))).toMatchObject({ type: 'found', isShared: false });
  });

  test('of equal queries serves objects that need the reply to their own query', async () => {
    const { ask, flights, flight, called } = setUp();
    ask('a', want('A', { exact: true }));
    ask('b', want('A', { exact: true }));
    expect(flights).toHaveLength(1);
    await flight(0).answer('1');
    expect(called).toEqual(['a', 'b']);
  });

  test('calls no object that left, and the object is searched for at once if it comes back', async () => {
    const { scheduler, ask, flights, flight, called } = setUp();
    ask('a', want('A'));
    scheduler.leave('a');
    expect(scheduler.waiting('a')).toBeUndefined();
    ask('a', want('B'));
    expect(flights.map((each) => each.query)).toEqual([query('A'), query('B')]);
    await flight(0).answer('1');
    expect(called).toEqual([]);
    await flight(1).answer('1');
    expect(called).toEqual(['a']);
  });

  test('calls no object that found its offers in another reply', async () => {
    const { scheduler, ask, flight, called } = setUp();
    scheduler.background(everyGpu, 1_000);
    ask('a', want('A', { exact: true }));
    await flight(0).answer('1');
    expect(ask('a', want('A')).type).toBe('found');
    expect(scheduler.waiting('a')).toBeUndefined();
    await flight(1).answer('1');
    expect(called).toEqual([]);
  });

  test('notifies the queue when it ends, answered or not', async () => {
    const { ask, flight, ends } = setUp();
    ask('a', want('A'));
    await flight(0).answer('1');
    expect(ends()).toBe(1);
    ask('b', want('B'));
    await flight(1).fail('unavailable');
    expect(ends()).toBe(2);
  });

  test('lets at most three others begin', async () => {
    const { ask, flights, flight } = setUp();
    for (let disk = 1; disk <= 6; disk += 1) ask(`o${disk}`, ofDisk(disk));
    expect(flights).toHaveLength(4);
    await flight(0).answer();
    expect(flights).toHaveLength(5);
  });
});

describe('objects that wait together', () => {
  /** Waits until searches are spaced by 12 s, so that objects gather. */
  const gather = async () => {
    const scheduler = setUp({ paced: true });
    for (let disk = 1; disk <= 5; disk += 1) {
      scheduler.ask(`burst${disk}`, ofDisk(disk));
      await scheduler.clock.settle();
      await scheduler.flight(disk - 1).answer();
    }
    scheduler.called.length = 0;
    scheduler.flights.length = 0;
    return scheduler;
  };

  test('are answered by one search for all that need the same kind of price and disk', async () => {
    const { clock, ask, flights, flight, called } = await gather();
    ask('a', { queries: [query('A'), query('C'), query('D', { storageGB: 99 })] });
    ask('b', want('B'));
    ask('disk', ofDisk(50));
    await clock.advance(13_000);
    const names = { field: 'gpuName', operator: 'in', value: ['A', 'B', 'C'] };
    expect(flights.map((each) => each.query)).toMatchObject([
      { filters: [names], storageGB: 20, limit: 2_000 },
    ]);
    await flight(0).answer('1');
    expect(called).toEqual(['a', 'b']);
  });

  test('let one that waits alone search for its first query only', async () => {
    const { clock, ask, flights } = await gather();
    ask('a', { queries: [query('A'), query('C')] });
    await clock.advance(13_000);
    expect(flights.map((each) => each.query)).toEqual([query('A')]);
  });

  test('leave out those whose search has begun, and those that need the reply to their own query', async () => {
    const { clock, ask, flights, flight } = await gather();
    ask('begun', want('A'));
    await clock.advance(13_000);
    ask('exact', want('X', { exact: true }));
    ask('b', want('B'));
    ask('c', want('C'));
    await clock.advance(30_000);
    expect(flights.map(({ query: { filters } }) => filters[0]?.value)).toEqual(['A', 'X', ['B', 'C']]);
    await flight(0).answer('1');
  });

  test('search again one by one if the reply is cut, except those that were answered in full', async () => {
    const { clock, ask, flights, flight, called } = await gather();
    ask('a', want('A'));
    ask('b', want('B'));
    await clock.advance(13_000);
    await flight(0).reply(rows(2_000));
    expect(called).toEqual([]);
    await clock.advance(13_000);
    await flight(1).reply(rows(200));
    await clock.advance(13_000);
    await flight(2).reply(rows(3));
    expect(flights.map((each) => each.query.limit)).toEqual([2_000, 200, 200]);
    expect(called).toEqual(['a', 'b']);
  });

  test('search again in halves if the reply is cut, those that want the same together', async () => {
    const { clock, ask, flights, flight, called } = await gather();
    for (const uid of ['a1', 'b1', 'c', 'a2', 'b2', 'd']) ask(uid, want(uid.slice(0, 1).toUpperCase()));
    await clock.advance(13_000);
    await flight(0).reply(rows(2_000));
    await clock.advance(13_000);
    await flight(1).answer('1');
    expect(called).toEqual(['a1', 'b1', 'a2']);
    await clock.advance(13_000);
    await flight(2).answer('1');
    const names = flights.map(({ query: { filters } }) => filters[0]?.value);
    expect(names).toEqual([
      ['A', 'B', 'C', 'D'],
      ['A', 'B'],
      ['B', 'C', 'D'],
    ]);
    expect(called).toEqual(['a1', 'b1', 'a2', 'c', 'b2', 'd']);
  });

  test('search again together if they only joined a search on its way whose reply is cut (H8)', async () => {
    const { clock, scheduler, ask, flights, flight, called } = setUp({ paced: true });
    scheduler.background(everyGpu, 1_000);
    for (const uid of ['a', 'b', 'c']) ask(uid, want(uid.toUpperCase()));
    expect(flights).toHaveLength(1);
    await flight(0).reply(rows(2_000));
    await clock.advance(13_000);
    expect(flights).toHaveLength(2);
    await flight(1).answer('1');
    expect(called).toEqual(['a', 'b', 'c']);
  });

  test('are called in turn of their namespaces, and first those that the reply may hold an offer for (H8)', async () => {
    const { clock, scheduler, asker, flight, called } = await gather();
    for (const uid of ['x1', 'x2', 'x3']) scheduler.offers(asker(uid, 'crowd'), want(uid));
    for (const uid of ['y1', 'y2']) scheduler.offers(asker(uid, 'team'), want(uid));
    await clock.advance(13_000);
    await flight(0).reply([offer({ id: '1', gpuName: 'x3' })]);
    expect(called).toEqual(['x3', 'y1', 'x1', 'y2', 'x2']);
  });

  test('share searches again after each was answered by its own', async () => {
    const { clock, ask, flights, flight } = await gather();
    ask('a', want('A'));
    ask('b', want('B'));
    await clock.advance(13_000);
    await flight(0).fail('invalidRequest');
    await clock.advance(26_000);
    for (const index of [1, 2]) await flight(index).answer('1');
    await clock.advance(70_000);
    for (let disk = 1; disk <= 4; disk += 1) ask(`busy${disk}`, ofDisk(disk));
    ask('a', want('A'));
    ask('b', want('B'));
    await flight(3).answer('1');
    expect(flights[7]?.query.limit).toBe(2_000);
  });

  test('search one by one if the service calls the shared search wrong', async () => {
    const { clock, ask, flights, flight, called } = await gather();
    ask('a', want('A'));
    ask('b', want('B'));
    await clock.advance(13_000);
    await flight(0).fail('invalidRequest');
    expect(called).toEqual([]);
    expect(ask('a', want('A')).type).toBe('queued');
    await clock.advance(26_000);
    expect(flights.map(({ query: { filters } }) => filters[0]?.value)).toEqual([['A', 'B'], 'A', 'B']);
    await flight(1).fail('invalidRequest');
    await flight(2).answer('1');
    expect(called).toEqual(['a', 'b']);
    expect(ask('a', want('A')).type).toBe('failed');
    expect(ask('b', want('B')).type).toBe('found');
  });

  test('all receive the failure of the shared search for another reason', async () => {
    const { clock, ask, flight, called } = await gather();
    ask('a', want('A'));
    ask('b', want('B'));
    await clock.advance(13_000);
    await flight(0).fail('unavailable');
    expect(called).toEqual(['a', 'b']);
    expect([ask('a', want('A')).type, ask('b', want('B')).type]).toEqual(['failed', 'failed']);
  });

  test('are searched for again together after the one that asked for its own left', async () => {
    const { clock, scheduler, ask, flights, flight } = await gather();
    ask('a', want('A'));
    ask('b', want('B'));
    await clock.advance(13_000);
    await flight(0).fail('invalidRequest');
    for (const uid of ['a', 'b']) scheduler.leave(uid);
    ask('a', want('A'));
    ask('b', want('B'));
    await clock.advance(13_000);
    expect(flights.map((each) => each.query.limit)).toEqual([2_000, 2_000]);
  });
});

describe('a failure', () => {
  test('that is no error of the marketplace is passed on as it is', async () => {
    const { ask, flight, called } = setUp();
    ask('a', want('A'));
    const error = new TypeError('a defect');
    await flight(0).break(error);
    expect(called).toEqual(['a']);
    expect(ask('a', want('A'))).toEqual({ type: 'failed', error });
  });

  test('is new for an object until it was answered, left, or asked for something else', async () => {
    const { scheduler, ask, flights, flight } = setUp();
    for (const uid of ['answered', 'left', 'changed']) ask(uid, want('A'));
    await flight(0).fail('unavailable');
    expect(scheduler.hasAnswer('answered', want('A'), 0)).toBe(true);
    expect(scheduler.hasAnswer('stranger', want('A'), 0)).toBe(false);
    expect(ask('answered', want('A')).type).toBe('failed');
    scheduler.leave('left');
    expect(ask('changed', want('B')).type).toBe('queued');
    for (const uid of ['answered', 'left', 'changed'])
      expect(scheduler.hasAnswer(uid, want('A'), 0)).toBe(false);
    expect(flights).toHaveLength(2);
  });

  test('is forgotten when a later reply answers the object', async () => {
    const { clock, ask, flight } = setUp();
    for (const uid of ['a', 'b']) ask(uid, want('A'));
    await flight(0).fail('unavailable');
    ask('b', want('A'));
    ask('b', want('A'));
    await flight(1).answer('1');
    expect(ask('a', want('A')).type).toBe('found');
    await clock.advance(15_000);
    expect(ask('a', want('A')).type).toBe('queued');
  });

  test('of a search whose objects left is passed to no object', async () => {
    const { scheduler, ask, flight, called } = setUp();
    ask('a', want('A'));
    scheduler.leave('a');
    await flight(0).fail('unavailable');
    expect(called).toEqual([]);
    expect(scheduler.hasAnswer('a', want('A'), 0)).toBe(false);
  });
});

describe('a reply', () => {
  /** Returns a scheduler that has the reply to `A` since 1,000 ms. */
  const answered = async (...ids: readonly string[]) => {
    const scheduler = setUp();
    await scheduler.clock.advance(1_000);
    scheduler.ask('a', want('A'));
    await scheduler.flight(0).answer(...ids);
    return scheduler;
  };

  test.for<readonly [number, number | undefined, boolean]>([
    [14_999, undefined, true],
    [15_000, undefined, false],
    [15_000, 1_000, true],
    [15_000, 1_001, false],
    [59_999, 0, true],
    [60_000, 0, false],
  ])('that is %i ms old serves an object that waits since %s: %s', async ([age, since, serves]) => {
    const { clock, scheduler, ask } = await answered('1', '2');
    await clock.advance(age);
    if (since !== undefined) expect(scheduler.hasAnswer('b', want('A'), since)).toBe(serves);
    expect(ask('b', want('A'), since).type).toBe(serves ? 'found' : 'queued');
  });

  test('is new for an object that needs its own query only if it is the reply to it', async () => {
    const { scheduler } = await answered('1');
    scheduler.background(everyGpu, 1_000);
    expect(scheduler.hasAnswer('b', want('A', { exact: true }), 0)).toBe(true);
    expect(scheduler.hasAnswer('b', want('B'), 0)).toBe(false);
  });

  test('to a wider query is an answer for whom it covers, and none for an exact want', async () => {
    const { scheduler, flight } = setUp();
    scheduler.background(everyGpu, 1_000);
    await flight(0).answer('1');
    expect(scheduler.hasAnswer('b', want('A'), 0)).toBe(true);
    expect(scheduler.hasAnswer('b', want('A', { exact: true }), 0)).toBe(false);
  });

  test('that is cut serves only its own query', async () => {
    const { scheduler, flight, ask } = setUp();
    scheduler.background(everyGpu, 1_000);
    await flight(0).reply(rows(2_000));
    expect(ask('a', want('A')).type).toBe('queued');
    expect(scheduler.background(everyGpu, 1_000)).toMatchObject({ type: 'found', isShared: false });
  });

  test('of reserved offers alone is used up a second after its search began, and not before', async () => {
    const { clock, held, ask } = await answered('1', '2');
    for (const id of ['1', '2']) held.add(id);
    await clock.advance(999);
    expect(ask('b', want('A')).type).toBe('found');
    await clock.advance(1);
    expect(ask('b', want('A')).type).toBe('queued');
  });

  test('without offers is not used up', async () => {
    const { clock, ask, flight, flights } = setUp();
    ask('a', want('A'));
    await flight(0).reply([]);
    await clock.advance(5_000);
    expect(ask('b', want('A'))).toMatchObject({ type: 'found', offers: [] });
    expect(flights).toHaveLength(1);
  });

  test('without offers answers all that want the same with a larger disk (H8)', async () => {
    const { ask, flight, called } = setUp();
    for (const other of ['X', 'Y', 'Z']) ask(other, want(other, { exact: true }));
    ask('first', ofDisk(40));
    ask('larger', ofDisk(50));
    ask('smaller', ofDisk(30));
    ask('exact', ofDisk(60, { exact: true }));
    await flight(3).reply([]);
    expect(called).toEqual(['first', 'larger']);
    expect(ask('larger', ofDisk(50))).toMatchObject({ type: 'found', offers: [], isShared: true });
    expect(ask('smaller', ofDisk(30)).type).toBe('queued');
  });

  test('is asked for with the smallest disk first in a namespace, since an empty one answers the others (H8)', async () => {
    const { clock, scheduler, asker, flights, flight, called } = setUp({ paced: true });
    for (const name of ['W', 'X', 'Y', 'Z']) scheduler.offers(asker(name, 'burst'), want(name));
    const withDisk = (storageGB: number, change: Partial<SearchRequest> = {}) => ({
      ...want('A'),
      queries: [query('A', { storageGB })] as const,
      ...change,
    });
    scheduler.offers(asker('30'), withDisk(30));
    scheduler.offers(asker('exact'), withDisk(10, { exact: true }));
    scheduler.offers(asker('person'), withDisk(10, { askedAt: clock.monotonic() }));
    scheduler.offers(asker('20'), withDisk(20));
    scheduler.offers(asker('40'), withDisk(40));
    scheduler.offers(asker('another GPU'), { ...want('B'), queries: [query('B', { storageGB: 10 })] });
    scheduler.offers(asker('theirs', 'other'), withDisk(10));
    for (let index = 0; index < 4; index += 1) await flight(index).answer();
    await clock.advance(0);
    expect(flights[4]?.query.storageGB).toBe(20);
    called.length = 0;
    await flight(4).reply([]);
    expect(called).toEqual(['30', '20', '40']);
  });

  test('with an offer has those with other disks searched for in turn', async () => {
    const { clock, scheduler, asker, flights, flight } = setUp({ paced: true });
    for (const name of ['W', 'X', 'Y', 'Z']) scheduler.offers(asker(name, 'burst'), want(name));
    const withDisk = (storageGB: number) => ({ ...want('A'), queries: [query('A', { storageGB })] as const });
    scheduler.offers(asker('25'), withDisk(25));
    for (let index = 0; index < 4; index += 1) await flight(index).answer();
    await clock.advance(0);
    await flight(4).answer();
    for (const size of [50, 40, 30]) scheduler.offers(asker(`${size}`), withDisk(size));
    await clock.advance(13_000);
    expect(flights.slice(5).map((each) => each.query.storageGB)).toEqual([50]);
  });

  test('with offers for one object answers others that want a larger disk and none of these offers (H8)', async () => {
    const { clock, ask, flight, called } = setUp({ paced: true });
    const gpus = (...values: string[]) => [{ field: 'gpuName', operator: 'in', value: values }] as const;
    const wide = { queries: [query('A', { filters: gpus('A', 'B'), limit: 2_000 })] as const };
    for (const name of ['V', 'W', 'X', 'Y']) ask(name, want(name, { exact: true }));
    for (let index = 0; index < 4; index += 1) await flight(index).answer();
    ask('wide', wide);
    ask('B larger', ofDisk(50, { queries: [query('B', { storageGB: 50 })] }));
    ask('A larger', ofDisk(50, { queries: [query('A', { storageGB: 50 })] }));
    ask('A smaller', ofDisk(10, { queries: [query('A', { storageGB: 10 })] }));
    called.length = 0;
    await clock.advance(0);
    await flight(4).reply([offer({ id: '1', gpuName: 'B' })]);
    expect(called).toEqual(['wide', 'A larger']);
  });

  test('that explains with offers for others leaves the smallest disk first (H8)', async () => {
    const { clock, scheduler, ask, flights, flight } = setUp({ paced: true });
    for (const name of ['W', 'X', 'Y', 'Z']) ask(name, want(name, { exact: true }));
    for (let index = 0; index < 4; index += 1) await flight(index).answer();
    scheduler.background({ ...everyGpu, storageGB: 60 }, 600_000);
    await flight(4).reply([offer({ id: '1', gpuName: 'B' })]);
    for (const size of [50, 40, 30]) ask(`${size}`, { queries: [query('A', { storageGB: size })] });
    await clock.advance(13_000);
    expect(flights.slice(5).map((each) => each.query.storageGB)).toEqual([30]);
  });

  test('with an offer leaves those that want a larger disk in the line, since its price is another', async () => {
    const { ask, flight, called } = setUp({ paced: true });
    ask('first', ofDisk(40));
    ask('larger', ofDisk(50));
    await flight(0).answer('1');
    expect(called).toEqual(['first']);
    expect(ask('larger', ofDisk(50)).type).toBe('queued');
  });

  test('is replaced by a newer one, and the oldest of more than twelve is forgotten', async () => {
    const { clock, scheduler, flight } = setUp();
    const every = (storageGB: number) => ({ ...everyGpu, storageGB });
    let searches = 0;
    const search = async (disk: number, maxAgeMs: number) => {
      await clock.advance(15_000);
      if (scheduler.background(every(disk), maxAgeMs).type === 'queued')
        await flight(searches++).answer(String(disk));
    };
    for (let disk = 1; disk <= 12; disk += 1) await search(disk, 900_000);
    await search(12, 0);
    expect(searches).toBe(13);
    expect(scheduler.background(every(1), 900_000).type).toBe('found');
    await search(13, 900_000);
    expect(scheduler.background(every(2), 900_000).type).toBe('found');
    expect(scheduler.background(every(1), 900_000).type).toBe('queued');
  });
});

describe('a search that only explains', () => {
  test('begins at once if nothing else waits, and is made once', async () => {
    const { clock, scheduler, asker, flights, flight } = setUp();
    scheduler.offers(asker('a'), want('A'));
    const first = endOf(scheduler.background(everyGpu, 600_000));
    expect(endOf(scheduler.background(everyGpu, 600_000))).toBe(first);
    expect(first).not.toBe(endOf(scheduler.offers(asker('a'), want('A'))));
    expect(flights).toHaveLength(2);
    await flight(1).answer('1');
    await clock.advance(599_999);
    expect(scheduler.background(everyGpu, 600_000).type).toBe('found');
    await clock.advance(1);
    expect(scheduler.background(everyGpu, 600_000).type).toBe('queued');
  });

  test('that waits behind another one has not begun', () => {
    const { scheduler } = setUp({ paced: true });
    scheduler.background({ ...everyGpu, storageGB: 1 }, 1_000);
    expect(scheduler.background(everyGpu, 1_000)).toEqual({ type: 'queued', ended: undefined });
  });

  test('is not repeated by itself when it failed', async () => {
    const { clock, scheduler, flights, flight } = setUp();
    scheduler.background(everyGpu, 1_000);
    await flight(0).fail('unavailable');
    await clock.advance(60_000);
    expect(flights).toHaveLength(1);
  });

  test('is not accepted while 64 others wait', async () => {
    const { clock, scheduler, flights } = setUp({ paced: true });
    for (let disk = 1; disk <= 66; disk += 1) scheduler.background({ ...everyGpu, storageGB: disk }, 1_000);
    for (let search = 0; search < 66; search += 1) {
      await clock.advance(20_000);
      await flights.at(-1)?.answer();
    }
    expect(flights).toHaveLength(64);
  });
});

describe('a patient object', () => {
  test('lets every urgent object go first, for a minute at most', async () => {
    const { clock, ask, flights } = setUp({ paced: true });
    const begun: (number | undefined)[] = [];
    const serve = async () => {
      await clock.settle();
      for (const { query: each, answer } of flights.splice(0)) {
        begun.push(each.storageGB);
        await answer();
      }
    };
    for (let disk = 1; disk <= 6; disk += 1) ask(`burst${disk}`, ofDisk(disk));
    await serve();
    ask('patient', ofDisk(1_000, { patient: true }));
    ask('patient too', ofDisk(1_001, { patient: true }));
    const asked = clock.monotonic();
    const served: number[] = [];
    for (let second = 1; second <= 240; second += 1) {
      // More urgent searches than the marketplace allows, without end.
      if (second % 5 === 0) ask(`urgent${second}`, ofDisk(100 + second));
      await clock.advance(1_000);
      const count = begun.length;
      await serve();
      for (const disk of begun.slice(count))
        if (disk !== undefined && disk >= 1_000) served.push(clock.monotonic() - asked);
    }
    expect(served).toHaveLength(2);
    expect(served[0]).toBeGreaterThanOrEqual(60_000);
    expect(served[0]).toBeLessThanOrEqual(75_000);
    expect((served[1] ?? 0) - (served[0] ?? 0)).toBeGreaterThanOrEqual(60_000);
  });

  test('waits for the gap between patient searches, and an urgent one does not', () => {
    const { scheduler, ask } = setUp();
    ask('first', ofDisk(1, { patient: true }));
    ask('patient', ofDisk(2, { patient: true }));
    expect(scheduler.waitMs('patient')).toBe(15_000);
    expect(scheduler.waitMs('nobody')).toBe(0);
  });

  test('gets a wait that shrinks as time passes', async () => {
    const { clock, scheduler, ask } = setUp();
    await clock.advance(3_000);
    ask('first', ofDisk(1, { patient: true }));
    ask('patient', ofDisk(2, { patient: true }));
    await clock.advance(5_000);
    expect(scheduler.waitMs('patient')).toBe(10_000);
  });

  test('gets the wait of the search lane if that is longer', () => {
    const { scheduler, pacer, ask } = setUp({ paced: true });
    pacer.slowDown('search', 40_000);
    ask('a', ofDisk(1));
    expect(scheduler.waitMs('a')).toBe(40_000);
  });
});

test('a scheduler that is stopped begins no search, and sets no timer', async () => {
  const { clock, scheduler, ask, flights, flight } = setUp({ paced: true });
  for (let disk = 1; disk <= 3; disk += 1) ask(`o${disk}`, ofDisk(disk));
  ask('patient', ofDisk(9, { patient: true }));
  const begun = flights.length;
  scheduler.stop();
  expect(clock.nextTimerMs()).toBeUndefined();
  await flight(0).answer('1');
  ask('late', ofDisk(10));
  await clock.advance(60_000);
  expect(flights).toHaveLength(begun);
});
