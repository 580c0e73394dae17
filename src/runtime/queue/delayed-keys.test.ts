import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { Clock } from '../../lib/clock.ts';
import { DelayedKeys } from './delayed-keys.ts';
import { MinHeap } from './min-heap.ts';

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

/** Entries that were put in order, and how many of them the heap holds now. */
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
  test('which is set anew for an earlier key only', async () => {
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
