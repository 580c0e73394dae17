import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { DelayedKeys } from './delayed-keys.ts';

function delayed() {
  const clock = createVirtualClock();
  const due: string[] = [];
  const keys = new DelayedKeys(clock, (key, priority) =>
    due.push(`${key} with ${priority} at ${clock.monotonic()}`),
  );
  return { clock, due, keys };
}

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
