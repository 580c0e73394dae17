import { describe, expect, test, vi } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { sleep } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { seededRandom } from '../lib/random.ts';
import { type Instance, instanceRow, toInstance } from '../markets/vast/instances/instance.ts';
import type { InstancePage, InstancesResource, PageQuery } from '../markets/vast/instances/instances.ts';
import { machineReads } from '../markets/vast/machine-reads.ts';
import type { CallOptions } from './call-options.ts';
import { MarketplaceError, type MarketplaceErrorKind } from './errors.ts';
import { createFeed } from './feed.ts';
import type { FeedEvent } from './feed-state.ts';
import { compareIds } from './ids.ts';

const instance = (id: number, row: Record<string, unknown> = {}): Instance =>
  toInstance(instanceRow.parse({ id, actual_status: 'running', ...row }));

const failure = (kind: MarketplaceErrorKind) =>
  new MarketplaceError('scripted', { kind, outcome: 'refused' });

function setUp(reads: Partial<Pick<InstancesResource, 'list' | 'page' | 'get'>>, pollIntervalMs = 10_000) {
  const clock = createVirtualClock({ startMs: 0 });
  const list = vi.fn(reads.list ?? (async () => ({ instances: [] })));
  const page = vi.fn(reads.page ?? (async () => Promise.reject(failure('gone'))));
  const get = vi.fn(reads.get ?? (async () => null));
  const events: FeedEvent[] = [];
  const market = machineReads({ list, page, get });
  const feed = createFeed({
    market: () => market,
    clock,
    random: seededRandom(1),
    log: silentLogger,
    pollIntervalMs: () => pollIntervalMs,
  });
  feed.subscribe((event) => events.push(event));
  return { clock, feed, list, page, get, events };
}

describe('a feed of whole lists', () => {
  test('asks nothing before its start, then once per poll for any number of machines', async () => {
    const { clock, feed, list } = setUp({
      list: async () => ({ instances: Array.from({ length: 500 }, (_, id) => instance(id)) }),
    });
    await clock.advance(30_000);
    expect(list).toHaveBeenCalledTimes(0);
    feed.start();
    feed.start();
    await clock.advance(60_000);
    expect(list).toHaveBeenCalledTimes(7);
    expect(feed.latest()?.rows.size).toBe(500);
    expect(feed.health()).toMatchObject({ state: 'healthy', consecutiveFailures: 0 });
  });

  test('says nothing of rows that stay as they are, and wakes the changed one alone', async () => {
    let status = 'loading';
    const { clock, feed, events } = setUp({
      list: async () => ({
        instances: [
          instance(1),
          instance(2, { actual_status: status, ports: { '22/tcp': [{ HostPort: '2' }] } }),
        ],
      }),
    });
    feed.start();
    await clock.advance(0);
    const before = feed.latest()?.rows.get('1');
    events.length = 0;
    await clock.advance(10_000);
    expect(events.map(({ type }) => type)).toEqual(['list']);
    status = 'running';
    await clock.advance(10_000);
    const rows = events.filter((event) => event.type === 'row');
    expect(rows).toMatchObject([{ id: '2', row: { state: 'running' }, previous: { state: 'loading' } }]);
    expect(feed.latest()?.rows.get('1')).toBe(before);
  });

  test('counts absences in complete lists alone, oldest first', async () => {
    const lists = [[instance(1)], failure('malformedReply'), [], [], [instance(1)], []];
    const { clock, feed, events } = setUp({
      list: async () => {
        const next = lists.shift() ?? [];
        if (next instanceof MarketplaceError) throw next;
        return { instances: next };
      },
    });
    feed.start();
    await clock.advance(0);
    expect(feed.absences('1')).toEqual([]);
    expect(feed.absences('9')).toEqual([0]);
    await clock.advance(10_000);
    expect(feed.absences('1')).toEqual([]);
    expect(feed.health()).toMatchObject({ state: 'failing', consecutiveFailures: 1 });
    await clock.advance(20_000);
    const [first, second] = feed.absences('1');
    expect(feed.absences('1')).toHaveLength(2);
    expect(first).toBeLessThan(second ?? 0);
    expect(feed.listsBegunSince(second ?? 0)).toEqual([second]);
    expect(events.filter((event) => event.type === 'row' && event.row === undefined)).toHaveLength(1);
    await clock.advance(10_000);
    expect(feed.absences('1')).toEqual([]);
    await clock.advance(10_000);
    expect(feed.absences('1')).toHaveLength(1);
  });

  test('remembers that a machine is missing for hours without growing', async () => {
    const { clock, feed } = setUp({}, 1_000);
    feed.start();
    await clock.advance(1_000_000);
    expect(feed.absences('5')).toHaveLength(256);
    // The first list is remembered beside the latest ones.
    expect(feed.listsBegunSince(0)).toHaveLength(257);
  });

  test('is not listed more often for being started again, or for having been asked to look', async () => {
    const { clock, feed, list } = setUp({ list: () => sleep(clock, 1_000).then(() => ({ instances: [] })) });
    feed.pollNow();
    await clock.advance(0);
    expect(list).toHaveBeenCalledTimes(0);
    feed.start();
    await clock.advance(500);
    feed.pollNow();
    await clock.advance(1_000);
    expect(list).toHaveBeenCalledTimes(2);
    for (let second = 0; second < 60; second += 1) {
      feed.start();
      await clock.advance(1_000);
    }
    expect(list).toHaveBeenCalledTimes(2 + 6);
    feed.stop();
  });

  test('gives up the list that is under way when it is stopped, whole or in pages', async () => {
    for (const form of ['whole', 'paged'] as const) {
      const signals: (AbortSignal | undefined)[] = [];
      const hangs = (options: CallOptions | undefined) => {
        signals.push(options?.signal);
        return new Promise<never>((_, reject) => {
          options?.signal?.addEventListener('abort', () => reject(failure('aborted')), { once: true });
        });
      };
      const { clock, feed } = setUp({
        list: (options) => (form === 'whole' ? hangs(options) : Promise.reject(failure('gone'))),
        page: (_, options) => hangs(options),
      });
      feed.start();
      await clock.advance(0);
      expect(signals.map((signal) => signal?.aborted)).toEqual([false]);
      feed.stop();
      expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
      await clock.settle();
      expect([clock.nextTimerMs(), feed.health().state]).toEqual([undefined, 'stopped']);
    }
  });

  test('looks again at once when asked, and after the look that was under way', async () => {
    let finish = () => {};
    const { clock, feed, list } = setUp({
      list: () =>
        new Promise((resolve) => {
          finish = () => resolve({ instances: [] });
        }),
    });
    feed.start();
    feed.pollNow();
    feed.pollNow();
    await clock.advance(3_000);
    expect(list).toHaveBeenCalledTimes(1);
    finish();
    await clock.settle();
    expect(list).toHaveBeenCalledTimes(2);
    finish();
    await clock.settle();
    expect(feed.listsBegunSince(0)).toEqual([0, 3_000]);
    await clock.advance(1_000);
    feed.pollNow();
    expect(list).toHaveBeenCalledTimes(3);
  });

  test('begins no two looks within a second, however often it is asked', async () => {
    const { clock, feed } = setUp({ list: async () => ({ instances: [] }) });
    feed.start();
    for (let times = 0; times < 40; times += 1) {
      await clock.advance(100);
      feed.pollNow();
    }
    expect(feed.listsBegunSince(0)).toEqual([0, 1_000, 2_000, 3_000, 4_000]);
    await clock.advance(20_000);
    expect(feed.listsBegunSince(5_000)).toEqual([5_000, 15_000]);
  });

  test('begins a look at once when it is urgent, also after one that is under way', async () => {
    let finish = () => {};
    const { clock, feed } = setUp({
      list: () =>
        new Promise((resolve) => {
          finish = () => resolve({ instances: [] });
        }),
    });
    feed.start();
    await clock.advance(100);
    feed.pollNow('atOnce');
    feed.pollNow('soon');
    finish();
    await clock.settle();
    await clock.advance(50);
    finish();
    await clock.settle();
    feed.pollNow('atOnce');
    finish();
    await clock.settle();
    expect(feed.listsBegunSince(0)).toEqual([0, 100, 150]);
  });

  test('polls more slowly while it fails, reports each failure, and recovers', async () => {
    let broken = true;
    const { clock, feed, list, events } = setUp({
      list: async () => {
        if (broken) throw failure('unavailable');
        return { instances: [] };
      },
    });
    feed.start();
    await clock.advance(3_600_000);
    expect(list.mock.calls.length).toBeLessThan(90);
    expect(list.mock.calls.length).toBeGreaterThan(50);
    expect(events.every((event) => event.type === 'failed')).toBe(true);
    broken = false;
    await clock.advance(60_000);
    expect(feed.health()).toMatchObject({ state: 'healthy', lastError: undefined });
  });

  test('shares a single read among those who ask at the same time', async () => {
    const { feed, get } = setUp({ get: async (id) => instance(Number(id)) });
    const [one, two] = await Promise.all([feed.get('3'), feed.get('3')]);
    expect(one).toBe(two);
    expect(get).toHaveBeenCalledTimes(1);
    await feed.get('3');
    expect(get).toHaveBeenCalledTimes(2);
  });

  test('leaves no timer when it is stopped, and says nothing afterwards', async () => {
    let finish = () => {};
    const { clock, feed, events } = setUp({
      list: () =>
        new Promise((resolve) => {
          finish = () => resolve({ instances: [instance(1)] });
        }),
    });
    feed.start();
    feed.stop();
    finish();
    await clock.settle();
    feed.pollNow();
    expect(clock.nextTimerMs()).toBeUndefined();
    expect(events).toEqual([]);
    expect(feed.latest()).toBeUndefined();
    expect(feed.health().state).toBe('stopped');
  });

  test('says nothing more from the moment on at which a listener stops it', async () => {
    const { clock, feed, events } = setUp({ list: async () => ({ instances: [instance(1)] }) });
    feed.subscribe(() => feed.stop());
    feed.start();
    await clock.settle();
    expect(events.map(({ type }) => type)).toEqual(['row']);
  });

  test('goes on when a listener throws, and forgets one that left', async () => {
    const { clock, feed } = setUp({});
    const heard: string[] = [];
    feed.subscribe(() => {
      throw new Error('broken listener');
    });
    const leave = feed.subscribe(({ type }) => heard.push(type));
    feed.start();
    await clock.advance(0);
    leave();
    await clock.advance(10_000);
    expect(heard).toEqual(['list']);
  });
});

describe('a feed that once read that the whole list is gone', () => {
  test('goes back to it where the service never served pages', async () => {
    let answers = 0;
    const { clock, feed, list, page } = setUp({
      list: async () => (answers++ === 0 ? Promise.reject(failure('gone')) : { instances: [instance(7)] }),
      page: async () => Promise.reject(failure('notFound')),
    });
    feed.start();
    await clock.advance(60_000);
    expect(feed.health()).toMatchObject({ state: 'healthy' });
    expect(feed.latest()?.rows.has('7')).toBe(true);
    expect([list.mock.calls.length > 3, page.mock.calls.length]).toEqual([true, 1]);
  });

  test('goes back to it where pages are gone later, and stays with pages while they only fail', async () => {
    let kind: MarketplaceErrorKind | undefined;
    const { clock, feed, list } = setUp({
      list: async () => (kind === undefined ? Promise.reject(failure('gone')) : { instances: [instance(7)] }),
      page: async () =>
        kind
          ? Promise.reject(failure(kind))
          : { instances: [instance(6)], found: 1, total: 1, nextToken: null },
    });
    feed.start();
    await clock.advance(20_000);
    const asked = list.mock.calls.length;
    kind = 'unavailable';
    await clock.advance(60_000);
    expect(feed.health()).toMatchObject({ state: 'failing' });
    expect(list).toHaveBeenCalledTimes(asked);
    kind = 'gone';
    await clock.advance(120_000);
    expect(feed.health()).toMatchObject({ state: 'healthy' });
  });
});

describe('a feed of pages, where the whole list is gone', () => {
  function pagesOf(fleet: () => readonly Instance[], clockOf: () => ReturnType<typeof createVirtualClock>) {
    return async ({ filters, afterToken }: PageQuery = {}): Promise<InstancePage> => {
      await new Promise<void>((resolve) => clockOf().setTimer(1_000, resolve));
      const rows = filters ? fleet().filter((row) => row.actualStatus !== 'running') : fleet();
      const from = Number(afterToken ?? 0);
      const instances = rows.slice(from, from + 25);
      const nextToken = from + 25 < rows.length ? String(from + 25) : null;
      return { instances, nextToken, found: instances.length, total: rows.length };
    };
  }

  test('reads all pages, and between them looks at the machines that are not settled', async () => {
    let fleet = Array.from({ length: 500 }, (_, id) =>
      instance(id, { actual_status: id === 7 ? 'loading' : 'running' }),
    );
    const { clock, feed, list, page, get, events } = setUp({
      list: async () => Promise.reject(failure('gone')),
      page: (query) => pages(query),
      get: async (id) => fleet.find((row) => row.id === id) ?? null,
    });
    const pages = pagesOf(
      () => fleet,
      () => clock,
    );
    feed.start();
    await clock.advance(25_000);
    expect(list).toHaveBeenCalledTimes(1);
    expect(feed.health()).toMatchObject({ state: 'healthy' });
    expect(feed.latest()?.rows.size).toBe(500);
    events.length = 0;
    fleet = fleet.map((row) =>
      row.id === '7' ? instance(7) : row.id === '400' ? instance(400, { actual_status: 'offline' }) : row,
    );
    await clock.advance(25_000);
    expect(get).toHaveBeenCalledWith('7', expect.anything());
    const woken = events.filter((event) => event.type === 'row').map((event) => event.id);
    expect(woken.toSorted(compareIds)).toEqual(['7', '400']);
    expect(page.mock.calls.some(([query]) => query?.filters !== undefined)).toBe(true);
    await clock.advance(60_000);
    expect(feed.listsBegunSince(0).length).toBeGreaterThanOrEqual(4);
  });

  /** Returns a list of one loading machine in pages: the first at once, later ones and single reads on request. */
  function slowPages() {
    const glances: ((page: InstancePage) => void)[] = [];
    let lists = 0;
    const pageOf = (status: string): InstancePage => ({
      instances: [instance(1, { actual_status: status })],
      nextToken: null,
      found: 1,
      total: 1,
    });
    const made = setUp({
      list: async () => Promise.reject(failure('gone')),
      page: (query) => {
        if (query?.filters) return new Promise((resolve) => glances.push(resolve));
        lists += 1;
        return lists === 1 ? Promise.resolve(pageOf('loading')) : new Promise(() => {});
      },
    });
    made.feed.start();
    return { ...made, glances, pageOf };
  }

  test('looks at what is not settled once at a time', async () => {
    const { clock, feed, glances, pageOf } = slowPages();
    await clock.advance(40_000);
    expect(glances).toHaveLength(1);
    glances[0]?.(pageOf('running'));
    await clock.advance(10_000);
    expect(feed.latest()?.rows.get('1')?.state).toBe('running');
    expect(glances).toHaveLength(2);
    feed.stop();
  });

  test('says nothing of a look that ends after the stop', async () => {
    const { clock, feed, glances, pageOf, events } = slowPages();
    await clock.advance(20_000);
    expect(glances).toHaveLength(1);
    feed.stop();
    events.length = 0;
    glances[0]?.(pageOf('running'));
    await clock.advance(0);
    expect(feed.latest()?.rows.get('1')?.state).toBe('loading');
    expect(events).toEqual([]);
  });

  test('asks for no page while the whole list is served, however long that takes', async () => {
    let lists = 0;
    const { clock, feed, page } = setUp({
      list: () => {
        lists += 1;
        return lists === 1 ? Promise.resolve({ instances: [instance(1)] }) : new Promise(() => {});
      },
    });
    feed.start();
    await clock.advance(60_000);
    expect(lists).toBe(2);
    expect(page).not.toHaveBeenCalled();
    feed.stop();
  });

  const wrong: readonly [string, (query: PageQuery) => InstancePage][] = [
    ['a token comes twice', () => ({ instances: [], nextToken: 'again', found: 0, total: 0 })],
    [
      'pages never end',
      ({ afterToken }) => ({ instances: [], nextToken: `${afterToken ?? ''}x`, found: 0, total: 0 }),
    ],
    ['a page is cut', () => ({ instances: [instance(1)], nextToken: null, found: 2, total: 5 })],
    ['a page is missing', () => ({ instances: [instance(1)], nextToken: null, found: 1, total: 26 })],
    [
      'a machine stands there twice',
      ({ afterToken }) => ({
        instances: [instance(1)],
        nextToken: afterToken ? null : 'x',
        found: 1,
        total: 2,
      }),
    ],
  ];
  test.each(wrong)('scenario 21: believes nothing when %s', async (_, page) => {
    const { clock, feed } = setUp({
      list: async () => Promise.reject(failure('gone')),
      page: async (query = {}) => page(query),
    });
    feed.start();
    await clock.advance(0);
    expect(feed.latest()).toBeUndefined();
    expect(feed.health().lastError).toMatchObject({ kind: 'malformedReply' });
    feed.stop();
  });

  test('a token that comes twice ends the reading at once, not after a thousand pages', async () => {
    let pages = 0;
    const { clock, feed } = setUp({
      list: async () => Promise.reject(failure('gone')),
      page: async () => {
        pages += 1;
        return { instances: [], nextToken: 'again', found: 0, total: 0 };
      },
    });
    feed.start();
    await clock.advance(0);
    feed.stop();
    expect(pages).toBe(2);
  });

  test('accepts a machine that came or went between two pages', async () => {
    const totals = [30, 29];
    const { clock, feed } = setUp({
      list: async () => Promise.reject(failure('gone')),
      page: async ({ afterToken } = {}) => {
        const instances = afterToken ? [instance(50)] : Array.from({ length: 28 }, (_, id) => instance(id));
        return {
          instances,
          nextToken: afterToken ? null : 'x',
          found: instances.length,
          total: totals.shift(),
        };
      },
    });
    feed.start();
    await clock.advance(0);
    expect(feed.latest()?.rows.size).toBe(29);
    feed.stop();
  });
});
