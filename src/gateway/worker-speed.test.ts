import { describe, expect, test } from 'vitest';
import { WorkerSpeed } from './worker-speed.ts';

const MAX_QUEUE_TIME_MS = 5_000;

/** A worker that always has `work`, and ends a request of `size` each second, `count` times. */
function ended(
  speed: WorkerSpeed,
  { from = 0, count = 12, size = 1, work = 100, share = 1, isFull = false },
): number | undefined {
  for (let second = 0; second < count; second += 1) {
    const now = from + second * 1000;
    speed.pass(share, now);
    speed.done(size, MAX_QUEUE_TIME_MS, now);
    speed.rest({ requests: Math.ceil(work * share), work, isFull });
  }
  return speed.perf();
}

describe('the speed of a worker', () => {
  test('is what it does while it has more to do than it does within maxQueueTime', () => {
    expect(ended(new WorkerSpeed(), { size: 3 })).toBe(3);
  });

  test('is not measured by a worker that does at once what it is given', () => {
    expect(ended(new WorkerSpeed(), { size: 3, work: 12 })).toBeUndefined();
  });

  test('is what it does while it accepts no more, however little it has', () => {
    expect(ended(new WorkerSpeed(), { size: 3, work: 12, isFull: true })).toBe(3);
  });

  test('is not measured within 10 s, nor by fewer than four requests', () => {
    expect(ended(new WorkerSpeed(), { count: 10 })).toBeUndefined();
    const speed = new WorkerSpeed();
    for (const from of [0, 9_000, 18_000]) ended(speed, { from, count: 1 });
    expect(speed.perf()).toBeUndefined();
  });

  test('is not measured across a time in which it had nothing of this picker', () => {
    const speed = new WorkerSpeed();
    ended(speed, { count: 9 });
    speed.rest({ requests: 0, work: 0, isFull: false });
    expect(ended(speed, { from: 60_000, count: 3 })).toBeUndefined();
  });

  test('is not measured across a failure', () => {
    const speed = new WorkerSpeed();
    ended(speed, { count: 9 });
    speed.fail();
    expect(ended(speed, { from: 9_000, count: 5 })).toBeUndefined();
  });

  test('is that of the whole worker, also where it works for other pickers as well', () => {
    expect(ended(new WorkerSpeed(), { size: 3, share: 0.25 })).toBe(12);
  });

  test('comes half way to each new measurement', () => {
    const speed = new WorkerSpeed();
    ended(speed, { size: 4, count: 11 });
    expect(ended(speed, { from: 11_000, size: 8, count: 10 })).toBe(6);
    expect(ended(speed, { from: 21_000, size: 2, count: 10 })).toBe(4);
  });

  test('does not fall because the worker is given less', () => {
    const speed = new WorkerSpeed();
    ended(speed, { size: 4, work: 100, count: 11 });
    expect(ended(speed, { from: 11_000, size: 2, work: 50, count: 20, isFull: true })).toBe(4);
  });

  test('rises when the worker does more with less', () => {
    const speed = new WorkerSpeed();
    ended(speed, { size: 4, work: 100, count: 11 });
    expect(ended(speed, { from: 11_000, size: 8, work: 50, count: 12 })).toBeGreaterThan(5);
  });

  test('is not 0 where requests count as nothing', () => {
    expect(ended(new WorkerSpeed(), { size: 0 })).toBeUndefined();
  });
});
