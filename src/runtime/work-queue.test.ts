import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import type { Clock } from '../lib/clock.ts';
import { seededRandom } from '../lib/random.ts';
import { type QueueMetrics, silentMetrics } from './metrics-ports.ts';
import { createWorkQueue, DelayedKeys, MinHeap, PriorityLanes, type WorkQueueOptions } from './work-queue.ts';

function setUp(metrics: QueueMetrics = silentMetrics, priorityOf?: WorkQueueOptions['priorityOf']) {
  const clock = createVirtualClock();
  const queue = createWorkQueue({ name: 'test', clock, random: seededRandom(3), metrics, priorityOf });
  return { clock, queue };
}

test('equal keys merge while they wait', async () => {
  const { queue } = setUp();
  queue.add('a');
  queue.add('b');
  queue.add('a');
  expect(queue.length()).toBe(2);
  expect([await queue.get(), await queue.get()]).toEqual(['a', 'b']);
});

test('a key added while it is worked on comes back once that ends, and not before', async () => {
  const { queue } = setUp();
  queue.add('a');
  await queue.get();
  queue.add('a');
  queue.add('a');
  expect(queue.length()).toBe(0);
  queue.done('a');
  expect(queue.length()).toBe(1);
  expect(await queue.get()).toBe('a');
  queue.done('a');
  expect(queue.length()).toBe(0);
});

test('a waiting worker gets the next key, in the order in which workers came', async () => {
  const { queue } = setUp();
  const first = queue.get();
  const second = queue.get();
  queue.add('a');
  queue.add('b');
  expect(await Promise.all([first, second])).toEqual(['a', 'b']);
});

describe('later', () => {
  test('of several times for a key the earliest wins', async () => {
    const { clock, queue } = setUp();
    queue.addAfter('a', 1000);
    queue.addAfter('a', 300);
    queue.addAfter('a', 2000);
    await clock.advance(299);
    expect(queue.length()).toBe(0);
    await clock.advance(1);
    expect(await queue.get()).toBe('a');
    queue.done('a');
    await clock.advance(5000);
    expect(queue.length()).toBe(0);
  });

  test('no time at all is now', () => {
    const { queue } = setUp();
    queue.addAfter('a', 0);
    expect(queue.length()).toBe(1);
  });

  test('ten thousand replaced times leave no more behind than there are keys', async () => {
    const { clock, queue } = setUp();
    for (let earlier = 10_000; earlier > 0; earlier--) queue.addAfter('a', earlier * 1000);
    queue.addAfter('b', 500);
    await clock.advance(1000);
    expect([await queue.get(), await queue.get()]).toEqual(['b', 'a']);
    expect(clock.nextTimerMs()).toBeUndefined();
  });
});

describe('backoff', () => {
  test('doubles per key from 5 ms to 1000 s, a fifth more or less, until forgotten', () => {
    const { queue } = setUp();
    for (let failure = 0; failure < 25; failure++) {
      const base = 5 * 2 ** failure;
      const delay = queue.addRateLimited('a');
      expect(delay).toBeGreaterThanOrEqual(Math.min(base * 0.8, 1_000_000));
      expect(delay).toBeLessThanOrEqual(Math.min(base * 1.2, 1_000_000));
    }
    expect(queue.retries('a')).toBe(25);
    expect(queue.addRateLimited('b')).toBeLessThanOrEqual(6);
    queue.forget('a');
    expect(queue.retries('a')).toBe(0);
    expect(queue.addRateLimited('a')).toBeLessThanOrEqual(6);
  });

  test('never comes before the time that a server named', () => {
    const { queue } = setUp();
    expect(queue.addRateLimited('a', { atLeastMs: 17_000 })).toBe(17_000);
  });
});

describe('priorities', () => {
  test('the more urgent key goes first, equals in their order', async () => {
    const { queue } = setUp();
    queue.add('poll', 0);
    queue.add('delete', 3);
    queue.add('create', 1);
    queue.add('delete-too', 3);
    const order = [await queue.get(), await queue.get(), await queue.get(), await queue.get()];
    expect(order).toEqual(['delete', 'delete-too', 'create', 'poll']);
  });

  test('adding again with more urgency raises, with less changes nothing', async () => {
    const { queue } = setUp();
    queue.add('a', 1);
    queue.add('b', 0);
    queue.add('b', 2);
    queue.add('b', 0);
    expect(await queue.get()).toBe('b');
  });

  test('urgency given while the key is worked on counts when it comes back', async () => {
    const { queue } = setUp();
    queue.add('a');
    await queue.get();
    queue.add('a', 1);
    queue.add('a', 5);
    queue.add('b', 3);
    queue.done('a');
    expect(await queue.get()).toBe('a');
  });

  describe('that keys have by themselves', () => {
    const priorities = new Map<string, number>();
    const ask = (key: string) => priorities.get(key) ?? 0;

    test('count where no other is asked for', async () => {
      const { queue } = setUp(silentMetrics, ask);
      priorities.set('new', 1);
      for (const key of ['known', 'new']) queue.add(key);
      queue.add('called', 2);
      expect([await queue.get(), await queue.get(), await queue.get()]).toEqual(['called', 'new', 'known']);
    });

    test('count as they are when a key comes back, and when it is added again', async () => {
      const { queue } = setUp(silentMetrics, ask);
      priorities.set('a', 5).set('b', 3);
      queue.add('a');
      await queue.get();
      queue.add('a');
      queue.add('b');
      priorities.set('a', 1);
      queue.done('a');
      expect(await queue.get()).toBe('b');
      queue.add('c');
      priorities.set('a', -1);
      queue.add('a');
      expect(await queue.get()).toBe('c');
    });

    test('are no lower than what was asked for since the key was last taken', async () => {
      const { queue } = setUp(silentMetrics, ask);
      priorities.set('a', -1).set('b', 1);
      queue.add('a', 2);
      queue.add('a');
      queue.add('b');
      expect(await queue.get()).toBe('a');
      queue.done('a');
      queue.add('a');
      expect(await queue.get()).toBe('b');
    });
  });

  test('that were asked for stay with a key about which nothing was done, and no longer', async () => {
    const { clock, queue } = setUp();
    queue.add('called', 2);
    await queue.get();
    queue.addAgain('called', 20);
    queue.done('called');
    queue.add('new', 1);
    await clock.advance(20);
    expect(await queue.get()).toBe('called');
    queue.addAfter('called', 20);
    queue.done('called');
    await clock.advance(20);
    expect(await queue.get()).toBe('new');
  });

  test('are reported with how many wait for each, also where one changes', async () => {
    const depths: (readonly [priority: number, depth: number])[] = [];
    const depth: QueueMetrics['depth'] = (_, priority, count) => void depths.push([priority, count]);
    const priorities = new Map([['a', 1]]);
    const { queue } = setUp({ ...silentMetrics, depth }, (key) => priorities.get(key) ?? 0);
    queue.add('a');
    priorities.set('a', 0);
    queue.add('a');
    queue.add('a', 3);
    await queue.get();
    expect(depths).toEqual([
      [1, 1],
      [1, 0],
      [0, 1],
      [0, 0],
      [3, 1],
      [3, 0],
    ]);
  });

  test('a flood of urgent keys does not starve a patient one', async () => {
    const { queue } = setUp();
    queue.add('patient', 0);
    const turns: (string | undefined)[] = [];
    for (let turn = 0; turn < 8; turn++) {
      queue.add(`urgent-${turn}`, 9);
      queue.add(`urgent-more-${turn}`, 9);
      turns.push(await queue.get());
    }
    expect(turns).toContain('patient');
  });
});

describe('shut down', () => {
  test('leaves no timer of a key that was to come later', () => {
    const { clock, queue } = setUp();
    queue.addAfter('a', 60_000);
    queue.shutDown();
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  test('drops what waits, refuses what comes, and lets go of waiting workers', async () => {
    const { clock, queue } = setUp();
    const idle = queue.get();
    queue.shutDown();
    expect(await idle).toBeUndefined();
    queue.add('a');
    queue.addAfter('b', 10);
    queue.addRateLimited('c');
    await clock.advance(1_000_000);
    expect(queue.length()).toBe(0);
    expect(await queue.get()).toBeUndefined();
  });

  test('is drained when the last key worked on is done', async () => {
    const { clock, queue } = setUp();
    queue.add('a');
    queue.add('waits');
    await queue.get();
    let drained = false;
    void queue.drained().then(() => {
      drained = true;
    });
    queue.add('a');
    queue.shutDown();
    await clock.settle();
    expect(drained).toBe(false);
    queue.done('a');
    await clock.settle();
    expect(drained).toBe(true);
    expect(queue.length()).toBe(0);
  });
});

test('reports waiting, working and unfinished time', async () => {
  const seen: unknown[] = [];
  const { clock, queue } = setUp({
    added: (name) => seen.push(['added', name]),
    retried: (name) => seen.push(['retried', name]),
    depth: (_name, priority, depth) => seen.push(['depth', priority, depth]),
    waited: (_name, seconds) => seen.push(['waited', seconds]),
    worked: (_name, seconds) => seen.push(['worked', seconds]),
  });
  queue.add('a', 2);
  queue.add('a', 2);
  await clock.advance(3000);
  await queue.get();
  await clock.advance(2000);
  expect(queue.unfinishedWork()).toEqual({ totalSeconds: 2, longestSeconds: 2 });
  queue.done('a');
  expect(seen).toEqual([
    ['added', 'test'],
    ['depth', 2, 1],
    ['depth', 2, 0],
    ['waited', 3],
    ['worked', 2],
  ]);
  expect(queue.unfinishedWork()).toEqual({ totalSeconds: 0, longestSeconds: 0 });
});

/** The contract of the queue in its simplest form. */
class Model {
  readonly waiting = new Map<string, number>();
  readonly again = new Map<string, number>();
  readonly working = new Set<string>();
  readonly later = new Map<string, { at: number; priority: number }>();
  now = 0;

  add(key: string, priority: number): void {
    const lane = this.working.has(key) ? this.again : this.waiting;
    lane.set(key, Math.max(priority, lane.get(key) ?? priority));
  }
  addAfter(key: string, ms: number, priority: number): void {
    if (ms <= 0) {
      this.add(key, priority);
      return;
    }
    const known = this.later.get(key);
    const at = Math.min(this.now + ms, known?.at ?? Number.POSITIVE_INFINITY);
    this.later.set(key, { at, priority: Math.max(priority, known?.priority ?? priority) });
  }
  advance(ms: number): void {
    this.now += ms;
    for (const [key, due] of this.later) {
      if (due.at > this.now) continue;
      this.later.delete(key);
      this.add(key, due.priority);
    }
  }
  took(key: string): void {
    expect(this.waiting.has(key), `${key} was waiting`).toBe(true);
    expect(this.working.has(key), `${key} is worked on once at a time`).toBe(false);
    this.waiting.delete(key);
    this.working.add(key);
  }
  done(key: string): void {
    this.working.delete(key);
    const priority = this.again.get(key);
    this.again.delete(key);
    if (priority !== undefined) this.waiting.set(key, priority);
  }
}

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const priority = fc.integer({ min: 0, max: 3 });
const step = fc.oneof(
  fc.record({ type: fc.constant('add' as const), key, priority }),
  fc.record({ type: fc.constant('addAfter' as const), key, priority, ms: fc.integer({ min: 0, max: 50 }) }),
  fc.record({ type: fc.constant('advance' as const), ms: fc.integer({ min: 0, max: 40 }) }),
  fc.record({ type: fc.constant('get' as const) }),
  fc.record({ type: fc.constant('done' as const), key }),
);

test('property: behaves as its model, whatever comes in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
      const { clock, queue } = setUp();
      const model = new Model();
      let turns = 0;
      for (const one of steps) {
        switch (one.type) {
          case 'add':
            queue.add(one.key, one.priority);
            model.add(one.key, one.priority);
            break;
          case 'addAfter':
            queue.addAfter(one.key, one.ms, one.priority);
            model.addAfter(one.key, one.ms, one.priority);
            break;
          case 'advance':
            await clock.advance(one.ms);
            model.advance(one.ms);
            break;
          case 'get': {
            if (queue.length() === 0) break;
            const best = Math.max(...model.waiting.values());
            const taken = await queue.get();
            turns++;
            if (taken === undefined) throw new Error('a queue that holds keys gave none');
            if (turns % 8 !== 0) expect(model.waiting.get(taken)).toBe(best);
            model.took(taken);
            break;
          }
          case 'done':
            queue.done(one.key);
            if (model.working.has(one.key)) model.done(one.key);
            break;
        }
        expect(queue.length()).toBe(model.waiting.size);
      }
      for (const one of model.working) queue.done(one);
      for (const one of [...model.working]) model.done(one);
      await clock.advance(1000);
      model.advance(1000);
      const rest: (string | undefined)[] = [];
      while (queue.length() > 0) rest.push(await queue.get());
      expect(rest.toSorted()).toEqual([...model.waiting.keys()].toSorted());
    }),
    { numRuns: 500 },
  );
});

function lanesOf(...keys: readonly (readonly [key: string, priority: number])[]): PriorityLanes {
  const lanes = new PriorityLanes();
  for (const [index, [key, priority]] of keys.entries()) lanes.push(key, priority, index);
  return lanes;
}

/** Returns the keys in the order in which they are taken, until none is left. */
function taken(lanes: PriorityLanes): readonly string[] {
  const keys: string[] = [];
  for (let next = lanes.take(); next; next = lanes.take()) keys.push(next.key);
  return keys;
}

describe('keys that wait', () => {
  test('are taken by priority, and in the order in which they came', () => {
    expect(taken(lanesOf(['a', 0], ['b', 5], ['c', -1], ['d', 5], ['e', 0]))).toEqual([
      ...['b', 'd', 'a', 'e', 'c'],
    ]);
  });

  test('are counted by priority, and none is left when all are taken', () => {
    const lanes = lanesOf(['a', 0], ['b', 5], ['c', 5]);
    expect([lanes.size(), lanes.depth(5), lanes.depth(0), lanes.depth(7)]).toEqual([3, 2, 1, 0]);
    taken(lanes);
    expect([lanes.size(), lanes.depth(5), lanes.take()]).toEqual([0, 0, undefined]);
  });

  test('come out as they went in', () => {
    const lanes = lanesOf(['a', 3]);
    expect(lanes.take()).toEqual({ key: 'a', priority: 3, since: 0 });
  });

  test('are nothing after they were cleared, and may come again', () => {
    const lanes = lanesOf(['a', 0], ['b', 5]);
    lanes.clear();
    expect([lanes.size(), lanes.depth(5), lanes.take()]).toEqual([0, 0, undefined]);
    lanes.push('a', 0, 9);
    expect(taken(lanes)).toEqual(['a']);
  });
});

describe('a key whose priority changes', () => {
  test('is taken with those of that priority, once, and still waits since it came', () => {
    const lanes = lanesOf(['a', 0], ['b', 0], ['c', 5]);
    lanes.move('b', 5);
    expect([lanes.depth(0), lanes.depth(5)]).toEqual([1, 2]);
    expect([lanes.take(), lanes.take(), lanes.take(), lanes.take()]).toMatchObject([
      { key: 'c' },
      { key: 'b', priority: 5, since: 1 },
      { key: 'a' },
      undefined,
    ]);
  });

  test('is taken after those of a higher one than it has now', () => {
    const lanes = lanesOf(['a', 5], ['b', 3], ['c', 0]);
    expect(lanes.move('a', 0)).toBe(5);
    expect([lanes.depth(0), lanes.depth(5)]).toEqual([2, 0]);
    expect(taken(lanes)).toEqual(['b', 'c', 'a']);
  });

  test.each([
    ['the priority that it has', 'a', 5],
    ['nothing where it does not wait', 'z', 9],
  ])('to %s changes nothing', (_, key, priority) => {
    const lanes = lanesOf(['a', 5], ['b', 5]);
    lanes.move(key, priority);
    expect([lanes.size(), lanes.depth(5)]).toEqual([2, 2]);
    expect(taken(lanes)).toEqual(['a', 'b']);
  });
});

test('every eighth turn goes to the key that waits longest, so that urgent keys starve none', () => {
  const lanes = lanesOf(['first of all', 9]);
  lanes.take();
  lanes.push('old', 0, 0);
  lanes.push('older than urgent', 1, 0);
  const order: (string | undefined)[] = [];
  for (let turn = 1; turn <= 16; turn++) {
    lanes.push(`urgent ${turn}`, 9, turn);
    order.push(lanes.take()?.key);
  }
  expect(order.indexOf('old')).toBe(6);
  expect(order.indexOf('older than urgent')).toBe(14);
});

test('the eighth turn goes to the key that waits longest, also where its priority fell behind others', () => {
  const lanes = lanesOf(['first', 1], ...Array.from({ length: 20 }, (_, at) => [`known ${at}`, 0] as const));
  lanes.move('first', 0);
  const order: (string | undefined)[] = [];
  for (let turn = 1; turn <= 8; turn++) {
    lanes.push(`new ${turn}`, 1, turn);
    order.push(lanes.take()?.key);
  }
  expect(order.at(-1)).toBe('first');
});

function delayed() {
  const clock = createVirtualClock();
  const due: string[] = [];
  const timers = { set: 0, pending: 0, mostPending: 0 };
  const process = { behindMs: 0 };
  const watched: Clock = {
    now: clock.now,
    monotonic: () => clock.monotonic() + process.behindMs,
    setTimer(delayMs, run) {
      timers.set++;
      timers.pending++;
      timers.mostPending = Math.max(timers.mostPending, timers.pending);
      let over = false;
      const end = () => {
        if (!over) timers.pending--;
        over = true;
      };
      const timer = clock.setTimer(delayMs, () => {
        end();
        run();
      });
      return {
        cancel() {
          end();
          timer.cancel();
        },
      };
    },
  };
  const keys = new DelayedKeys(watched, (key, priority) =>
    due.push(`${key} with ${priority} at ${watched.monotonic()}`),
  );
  return { clock, due, keys, timers, process };
}

/** Returns the number of entries that were sorted, and the present size of the heap. */
function watchHeap() {
  const push = vi.spyOn(MinHeap.prototype, 'push');
  return {
    pushed: () => push.mock.calls.length,
    held: () => (push.mock.contexts.at(-1) as MinHeap<{ readonly at: number }> | undefined)?.size() ?? 0,
  };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a key that becomes due later', () => {
  test('comes once, at the earliest of its times and with the highest of its priorities', async () => {
    const { clock, due, keys } = delayed();
    keys.add('a', 500, 1);
    keys.add('a', 300, 0);
    keys.add('a', 400, 7);
    keys.add('a', 300, 7);
    keys.add('a', 900, 3);
    await clock.advance(1_000);
    expect(due).toEqual(['a with 7 at 300']);
  });

  test('may be asked for again once it was due', async () => {
    const { clock, due, keys } = delayed();
    keys.add('a', 100, 2);
    await clock.advance(100);
    keys.add('a', 100, 0);
    await clock.advance(100);
    expect(due).toEqual(['a with 2 at 100', 'a with 0 at 200']);
  });

  test('never comes after all were cleared, and no timer is left', async () => {
    const { clock, due, keys } = delayed();
    keys.add('a', 100, 0);
    keys.clear();
    expect(clock.nextTimerMs()).toBeUndefined();
    keys.add('b', 300, 0);
    await clock.advance(1_000);
    expect(due).toEqual(['b with 0 at 300']);
  });

  test('is forgotten when all are cleared, with its time and its priority', async () => {
    const { clock, due, keys } = delayed();
    keys.add('a', 100, 7);
    keys.clear();
    keys.add('a', 300, 1);
    await clock.advance(1_000);
    expect(due).toEqual(['a with 1 at 300']);
  });

  test.each([0, -50])('comes at once with a delay of %d, though not before add() returns', async (delay) => {
    const { clock, due, keys } = delayed();
    keys.add('a', delay, 0);
    expect(due).toEqual([]);
    await clock.advance(0);
    expect(due).toEqual(['a with 0 at 0']);
  });

  test('that was asked for a thousand times, sooner each time, comes once', async () => {
    const { clock, due, keys } = delayed();
    keys.add('b', 400, 0);
    for (let delay = 1_500; delay > 500; delay--) keys.add('a', delay, 0);
    expect(clock.nextTimerMs()).toBe(400);
    await clock.advance(2_000);
    expect(due).toEqual(['b with 0 at 400', 'a with 0 at 501']);
    expect(clock.nextTimerMs()).toBeUndefined();
  });
});

test('keys come in the order of their times, whatever was asked for in between', async () => {
  const asked = fc.record({
    key: fc.constantFrom('a', 'b', 'c', 'd'),
    delay: fc.integer({ min: 0, max: 50 }),
    priority: fc.integer({ min: 0, max: 2 }),
    pause: fc.integer({ min: 0, max: 20 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(asked, { maxLength: 20 }), async (all) => {
      const { clock, due, keys } = delayed();
      const waiting = new Map<string, { at: number; priority: number }>();
      const expected: string[] = [];
      const pass = (until: number) => {
        for (const [key, { at, priority }] of [...waiting].sort(([, a], [, b]) => a.at - b.at)) {
          if (at > until) continue;
          expected.push(`${key} with ${priority} at ${at}`);
          waiting.delete(key);
        }
      };
      for (const { key, delay, priority, pause } of all) {
        const now = clock.monotonic();
        const known = waiting.get(key) ?? { at: now + delay, priority };
        const at = Math.min(known.at, now + delay);
        waiting.set(key, { at, priority: Math.max(known.priority, priority) });
        keys.add(key, delay, priority);
        pass(now + pause);
        await clock.advance(pause);
      }
      pass(Number.POSITIVE_INFINITY);
      await clock.advance(100);
      expect(due.toSorted()).toEqual(expected.toSorted());
      expect(due.map((line) => Number(line.split(' ').at(-1)))).toEqual(
        due.map((line) => Number(line.split(' ').at(-1))).toSorted((left, right) => left - right),
      );
    }),
    { numRuns: 50 },
  );
});

describe('all keys share one timer', () => {
  test('which is set again for an earlier key only', async () => {
    const { clock, due, keys, timers } = delayed();
    keys.add('b', 200, 0);
    keys.add('c', 300, 0);
    keys.add('d', 250, 0);
    expect(timers).toEqual({ set: 1, pending: 1, mostPending: 1 });
    keys.add('a', 100, 0);
    expect(timers).toEqual({ set: 2, pending: 1, mostPending: 1 });
    await clock.advance(1_000);
    expect(due.map((line) => line.at(0))).toEqual(['a', 'b', 'd', 'c']);
    expect(timers).toEqual({ set: 5, pending: 0, mostPending: 1 });
  });

  test('which a higher priority alone leaves as it is', async () => {
    const { clock, due, keys, timers } = delayed();
    for (const priority of [0, 1, 2, 3]) keys.add('a', 100, priority);
    expect(timers.set).toBe(1);
    await clock.advance(100);
    expect(due).toEqual(['a with 3 at 100']);
  });

  test.each([
    ['as soon', 100, 5],
    ['later', 101, 5],
    ['as soon and with less priority', 100, 4],
  ])('which asking a thousand times %s leaves as it is', async (_, delay, priority) => {
    const { clock, due, keys, timers } = delayed();
    keys.add('a', 100, 5);
    for (let times = 0; times < 1_000; times++) keys.add('a', delay, priority);
    expect(timers.set).toBe(1);
    await clock.advance(1_000);
    expect(due).toEqual(['a with 5 at 100']);
  });

  test('which is cancelled when all are cleared, however many there are', () => {
    const { clock, keys, timers } = delayed();
    for (let index = 0; index < 100; index++) keys.add(`${index}`, 1_000 - index, 0);
    keys.clear();
    expect(timers).toEqual({ set: 100, pending: 0, mostPending: 1 });
    expect(clock.nextTimerMs()).toBeUndefined();
    keys.clear();
    expect(timers.set).toBe(100);
  });
});

describe('keys that are due when the timer runs', () => {
  test('of one moment all come then', async () => {
    const { clock, due, keys, timers } = delayed();
    const all = Array.from({ length: 20 }, (_, index) => `key ${index} with ${index % 3}`);
    for (const [index] of all.entries()) keys.add(`key ${index}`, 100, index % 3);
    await clock.advance(100);
    expect(due.toSorted()).toEqual(all.map((line) => `${line} at 100`).toSorted());
    expect(timers.set).toBe(1);
  });

  test('come in the order of their times where the process is behind, and the others wait', async () => {
    const { clock, due, keys, timers, process } = delayed();
    for (const delay of [400, 100, 300, 250, 150]) keys.add(`${delay}`, delay, 0);
    expect(timers.set).toBe(2);
    process.behindMs = 200;
    await clock.advance(100);
    expect(due).toEqual([100, 150, 250, 300].map((key) => `${key} with 0 at 300`));
    expect(clock.nextTimerMs()).toBe(100);
    await clock.advance(100);
    expect(due.at(-1)).toBe('400 with 0 at 400');
    expect(timers).toMatchObject({ set: 3, pending: 0, mostPending: 1 });
  });

  test('may be asked for again, or cleared, by whom they come to', async () => {
    const clock = createVirtualClock();
    const due: string[] = [];
    const keys: DelayedKeys = new DelayedKeys(clock, (key) => {
      due.push(`${key} at ${clock.monotonic()}`);
      if (key === 'again' && due.length < 3) keys.add('again', 50, 0);
      if (key === 'last') keys.clear();
    });
    keys.add('again', 100, 0);
    keys.add('last', 300, 0);
    keys.add('never', 301, 0);
    await clock.advance(1_000);
    expect(due).toEqual(['again at 100', 'again at 150', 'again at 200', 'last at 300']);
    expect(clock.nextTimerMs()).toBeUndefined();
  });
});

describe('entries that others replaced', () => {
  test('do not pile up: beside two for each key there are never more than 64', () => {
    const heap = watchHeap();
    const { keys } = delayed();
    let most = 0;
    for (let delay = 10_000; delay > 0; delay--) {
      keys.add(`${delay % 10}`, delay, 0);
      most = Math.max(most, heap.held());
    }
    expect(most).toBeGreaterThan(20);
    expect(most).toBeLessThanOrEqual(64 + 2 * 10);
  });

  test('are dropped so seldom that a key that is asked for costs few steps', () => {
    const heap = watchHeap();
    const { keys } = delayed();
    for (let index = 0; index < 1_000; index++) keys.add(`${index}`, 20_000 + index, 0);
    expect(heap.pushed()).toBe(1_000);
    for (let delay = 20_000; delay > 10_000; delay--) keys.add(`${delay % 1_000}`, delay, 0);
    expect(heap.pushed()).toBeLessThan(3 * 11_000);
  });

  test('are no less thoroughly forgotten for being many', async () => {
    const { clock, due, keys } = delayed();
    for (let delay = 5_000; delay > 3_000; delay--) keys.add(`${delay % 3}`, delay, delay % 7);
    await clock.advance(10_000);
    expect(due).toEqual(['1 with 6 at 3001', '2 with 6 at 3002', '0 with 6 at 3003']);
    expect(clock.nextTimerMs()).toBeUndefined();
  });
});

const command = fc.oneof(
  fc.record({ type: fc.constant('push' as const), at: fc.integer({ min: 0, max: 20 }) }),
  fc.constant({ type: 'pop' as const }),
  fc.record({ type: fc.constant('clear' as const), rarely: fc.integer({ min: 0, max: 9 }) }),
);

test('a heap gives the earliest entry of those that are in it, whatever came and went before', () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
      const heap = new MinHeap<{ readonly at: number }>();
      const model: number[] = [];
      for (const each of commands) {
        if (each.type === 'push') {
          heap.push({ at: each.at });
          model.push(each.at);
        } else if (each.type === 'pop') {
          expect(heap.pop()?.at).toBe(model.shift());
        } else if (each.rarely === 0) {
          heap.clear();
          model.length = 0;
        }
        model.sort((left, right) => left - right);
        expect(heap.size()).toBe(model.length);
        expect(heap.peek()?.at).toBe(model[0]);
      }
      expect(model.map(() => heap.pop()?.at)).toEqual(model);
      expect(heap.pop()).toBeUndefined();
    }),
  );
});
