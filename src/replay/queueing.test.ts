import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { spreadWork } from './queueing.ts';

describe('work spreads to the shortest waits', () => {
  test.each([
    {
      title: 'evenly over equal workers',
      servers: [
        [0, 100],
        [0, 100],
      ],
      amount: 60,
      shares: [30, 30],
    },
    {
      title: 'in proportion to performance',
      servers: [
        [0, 100],
        [0, 200],
      ],
      amount: 60,
      shares: [20, 40],
    },
    {
      title: 'past a busy worker',
      servers: [
        [500, 100],
        [0, 100],
      ],
      amount: 60,
      shares: [0, 60],
    },
    {
      title: 'until waits are equal, then evenly',
      servers: [
        [50, 100],
        [0, 100],
      ],
      amount: 150,
      shares: [50, 100],
    },
    { title: 'to no server when there is none', servers: [], amount: 60, shares: [] },
  ] as const)('$title', ({ servers, amount, shares }) => {
    expect(
      spreadWork(
        servers.map(([queue, perf]) => ({ queue, perf })),
        amount,
      ),
    ).toEqual(shares);
  });

  test('distributes all work, and no server with a share waits longer than one without', () => {
    const server = fc.record({
      queue: fc.double({ min: 0, max: 1e4, noNaN: true }),
      perf: fc.double({ min: 1, max: 1e3, noNaN: true }),
    });
    fc.assert(
      fc.property(
        fc.array(server, { minLength: 1, maxLength: 20 }),
        fc.double({ min: 0, max: 1e5, noNaN: true }),
        (servers, amount) => {
          const shares = spreadWork(servers, amount);
          expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(amount, 4);
          const waits = servers.map(({ queue, perf }, index) => (queue + (shares[index] ?? 0)) / perf);
          const longest = Math.max(...waits.filter((_, index) => (shares[index] ?? 0) > 1e-6), 0);
          for (const wait of waits) expect(wait).toBeGreaterThanOrEqual(longest - 1e-6);
        },
      ),
    );
  });
});
