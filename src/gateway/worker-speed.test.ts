import { describe, expect, test } from 'vitest';
import { WorkerSpeed } from './worker-speed.ts';

const MAX_QUEUE_TIME_MS = 5_000;

/** Returns a worker that serves its requests quickly. */
function quick(): WorkerSpeed {
  const speed = new WorkerSpeed();
  ended(speed, { from: -20_000, tookMs: 100, work: 1 });
  speed.fail();
  return speed;
}

/**
 * Returns a worker that always has `work` in that many requests, and finishes one of `size` each second, `count` times.
 */
function ended(
  speed: WorkerSpeed,
  {
    from = 0,
    count = 12,
    size = 1,
    work = 100,
    requests = 2,
    share = 1,
    isFull = undefined as boolean | undefined,
    tookMs = 2_000,
  },
): number | undefined {
  for (let second = 0; second < count; second += 1) {
    const now = from + second * 1000;
    speed.pass({ share, requests }, now);
    speed.done({ work: size, tookMs }, MAX_QUEUE_TIME_MS, now);
    speed.rest({ requests, work, isFull });
  }
  return speed.perf();
}

describe('the speed of a worker', () => {
  test('is what it does while it has more to do than it does within maxQueueTime', () => {
    expect(ended(quick(), { size: 3 })).toBe(3);
  });

  test('is not measured by requests that take long by themselves', () => {
    expect(ended(new WorkerSpeed(), { size: 3, count: 30 })).toBeUndefined();
  });

  test('does not count what was done of requests before it was measured', () => {
    // A worker that does 2 has 20 requests, of which each gets 0.1: ten that began together end together.
    const speed = quick();
    const ends = [
      ...Array.from({ length: 10 }, () => ({ at: 41_000, tookMs: 41_000 })),
      ...[52, 53, 54, 55, 56, 57, 58, 59].map((second) => ({ at: 1000 * second, tookMs: 10_000 })),
    ];
    for (const { at, tookMs } of ends) {
      speed.pass({ share: 1, requests: 20 }, at);
      speed.done({ work: tookMs / 10_000, tookMs }, MAX_QUEUE_TIME_MS, at);
      speed.rest({ requests: 20, work: 80, isFull: true });
    }
    expect(speed.perf()).toBe(2);
  });

  test('is not measured by what ends of a load that has dwindled', () => {
    const speed = quick();
    const ends = { work: 100, isFull: true };
    ended(speed, { count: 1, ...ends });
    ended(speed, { from: 1_000, count: 3, tookMs: 60_000, ...ends });
    expect(ended(speed, { from: 4_000, count: 10, ...ends })).toBeUndefined();
    expect(ended(speed, { from: 14_000, count: 11, ...ends })).toBe(1);
  });

  test('is measured by as many requests as before that also began while it was', () => {
    const speed = quick();
    expect(ended(speed, { count: 14, requests: 7, tookMs: 7_000 })).toBeUndefined();
    expect(ended(speed, { from: 14_000, count: 1, requests: 7, tookMs: 7_000 })).toBe(1);
  });

  test('is not measured by a worker that does at once what it is given', () => {
    expect(ended(quick(), { size: 3, work: 12 })).toBeUndefined();
  });

  test('is what it does while it accepts no more, however little it has', () => {
    expect(ended(quick(), { size: 3, work: 12, isFull: true })).toBe(3);
  });

  test('is not measured within 10 s, nor by fewer than eight requests', () => {
    expect(ended(quick(), { count: 10 })).toBeUndefined();
    const speed = quick();
    for (const from of [0, 4_000, 8_000, 12_000, 16_000, 20_000, 24_000, 28_000])
      ended(speed, { from, count: 1 });
    expect(speed.perf()).toBeUndefined();
  });

  test('is not measured across a time in which it had nothing of this picker', () => {
    const speed = quick();
    ended(speed, { count: 9 });
    speed.rest({ requests: 0, work: 0, isFull: undefined });
    expect(ended(speed, { from: 60_000, count: 3 })).toBeUndefined();
  });

  test('is not measured while the work that the worker had comes to its end', () => {
    const speed = quick();
    ended(speed, { count: 9, work: 100 });
    expect(ended(speed, { from: 9_000, count: 3, work: 40 })).toBeUndefined();
    expect(ended(speed, { from: 12_000, count: 12, work: 40 })).toBe(1);
  });

  test('is not measured across a failure', () => {
    const speed = quick();
    ended(speed, { count: 9 });
    speed.fail();
    expect(ended(speed, { from: 9_000, count: 5 })).toBeUndefined();
  });

  test('is that of the whole worker, also where it works for other pickers as well', () => {
    expect(ended(quick(), { size: 3, share: 0.25 })).toBe(12);
  });

  test('takes as many requests as the worker had to measure, so that long ones are among them', () => {
    const speed = quick();
    ended(speed, { count: 13, size: 0, requests: 13 });
    speed.fail();
    ended(speed, { from: 20_000, count: 12, requests: 13 });
    expect(speed.perf()).toBeUndefined();
    expect(ended(speed, { from: 32_000, count: 3, requests: 13 })).toBe(1);
  });

  test('comes half way to a higher measurement, and falls to a lower one', () => {
    const speed = quick();
    ended(speed, { size: 4, count: 11 });
    expect(ended(speed, { from: 11_000, size: 8, count: 10 })).toBe(6);
    expect(ended(speed, { from: 21_000, size: 2, count: 10 })).toBe(2);
  });

  test('does not fall because the worker is given less', () => {
    const speed = quick();
    ended(speed, { size: 4, work: 100, count: 11 });
    expect(ended(speed, { from: 11_000, size: 2, work: 50, count: 20, isFull: true })).toBe(4);
  });

  test('falls with less work once it was the same with that for three times', () => {
    const speed = quick();
    ended(speed, { size: 4, work: 100, count: 11 });
    const less = { work: 50, count: 10, isFull: true };
    for (const from of [11_000, 21_000, 31_000]) ended(speed, { from, size: 4, ...less });
    expect(ended(speed, { from: 41_000, size: 2, ...less })).toBe(2);
  });

  test('rises when the worker does more with less', () => {
    const speed = quick();
    ended(speed, { size: 4, work: 100, count: 11 });
    expect(ended(speed, { from: 11_000, size: 8, work: 50, count: 12 })).toBeGreaterThan(5);
  });

  test('is not 0 where requests count as nothing', () => {
    expect(ended(quick(), { size: 0 })).toBeUndefined();
  });
});
