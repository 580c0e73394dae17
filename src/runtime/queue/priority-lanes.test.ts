import { describe, expect, test } from 'vitest';
import { PriorityLanes } from './priority-lanes.ts';

function lanesOf(...keys: readonly (readonly [key: string, priority: number])[]): PriorityLanes {
  const lanes = new PriorityLanes();
  for (const [index, [key, priority]] of keys.entries()) lanes.push(key, priority, index);
  return lanes;
}

/** Keys in the order in which they are taken, until there are none. */
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
    expect(lanes.take()).toEqual({ key: 'a', priority: 3, order: 0, since: 0 });
  });

  test('are nothing after they were cleared, and may come again', () => {
    const lanes = lanesOf(['a', 0], ['b', 5]);
    lanes.clear();
    expect([lanes.size(), lanes.depth(5), lanes.take()]).toEqual([0, 0, undefined]);
    lanes.push('a', 0, 9);
    expect(taken(lanes)).toEqual(['a']);
  });
});

describe('a key whose priority is raised', () => {
  test('is taken with those of that priority, once, and still waits since it came', () => {
    const lanes = lanesOf(['a', 0], ['b', 0], ['c', 5]);
    lanes.raise('b', 5);
    expect([lanes.depth(0), lanes.depth(5)]).toEqual([1, 2]);
    expect([lanes.take(), lanes.take(), lanes.take(), lanes.take()]).toMatchObject([
      { key: 'c' },
      { key: 'b', priority: 5, order: 1, since: 1 },
      { key: 'a' },
      undefined,
    ]);
  });

  test.each([
    ['a lower priority', 'a', 0],
    ['the priority that it has', 'a', 5],
    ['nothing where it does not wait', 'z', 9],
  ])('to %s changes nothing', (_, key, priority) => {
    const lanes = lanesOf(['a', 5], ['b', 5]);
    lanes.raise(key, priority);
    expect([lanes.size(), lanes.depth(5)]).toEqual([2, 2]);
    expect(taken(lanes)).toEqual(['a', 'b']);
  });
});

test('every eighth turn is that of who waits longest, so that urgent keys starve nobody', () => {
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
