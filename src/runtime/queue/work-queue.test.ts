import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { seededRandom } from '../../lib/random.ts';
import { type QueueMetrics, silentMetrics } from '../metrics-ports.ts';
import { createWorkQueue } from './work-queue.ts';

function setUp(metrics: QueueMetrics = silentMetrics) {
  const clock = createVirtualClock();
  const queue = createWorkQueue({ name: 'test', clock, random: seededRandom(3), metrics });
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

test('tells waiting, working and unfinished time', async () => {
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

/** What the queue promises, said as plainly as possible. */
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
