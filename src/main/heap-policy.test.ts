import { describe, expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { balanceHeap } from './heap-policy.ts';

describe('the heap', () => {
  async function flagsOf(shares: readonly number[]) {
    const clock = createVirtualClock();
    const flags: (readonly [second: number, what: string])[] = [];
    let second = 0;
    const stop = balanceHeap({
      clock,
      utilization: () => shares[second] ?? 0,
      setFlag: (flag) => void flags.push([second, flag]),
      collect: () => void flags.push([second, 'collect']),
    });
    for (second = 1; second < shares.length; second += 1) await clock.advance(1000);
    stop();
    second = -1;
    await clock.advance(60_000);
    return flags;
  }
  const seconds = (count: number, share: number) => Array.from({ length: count }, () => share);

  test('is collected early after five seconds at rest, and seldom from the first busy second on', async () => {
    const shares = [...seconds(15, 0.01), ...seconds(3, 0.9), ...seconds(12, 0.29)];
    expect(await flagsOf(shares)).toEqual([
      ...[[5, '--optimize-for-size'] as const, [5, '--heap-growing-percent=0'] as const],
      [5, 'collect'],
      ...[[15, '--no-optimize-for-size'] as const, [15, '--heap-growing-percent=100'] as const],
      ...[[22, '--optimize-for-size'] as const, [22, '--heap-growing-percent=0'] as const],
      [22, 'collect'],
    ]);
  });

  test('is not switched to and fro by bursts that come again and again', async () => {
    const shares = Array.from({ length: 12 }, () => [0.5, ...seconds(4, 0)]).flat();
    expect((await flagsOf(shares)).map(([second]) => second)).toEqual([0, 0]);
  });
});
