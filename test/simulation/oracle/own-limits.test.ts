import { describe, expect, test } from 'vitest';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { type JsonObject, objectAt } from '../memory-kube/json.ts';
import { NAMESPACE } from '../world.ts';
import { Bench } from './bench.ts';
import { priceOf } from './price.ts';
import { atWork } from './situations.ts';

/** Destroys a machine of an object with that limit after that many seconds at work. */
async function destroyedAfter(limit: JsonObject, seconds: number): Promise<readonly string[]> {
  const bench = new Bench();
  const kind = bench.world.kube.kind('gpuinstances');
  bench.world.kube.writes.create(
    { kind, namespace: NAMESPACE, name: 'limited' },
    { metadata: { name: 'limited' }, spec: { ...objectAt(bench.object, 'spec'), ...limit } },
  );
  const { id } = await atWork(bench, 'limited');
  await bench.pass(seconds);
  bench.sendDestroy(id);
  bench.world.market.store.remove('contracts', id);
  bench.invariants.check();
  return bench.invariants.violations.map(({ invariant }) => invariant);
}

test('a machine costs what was bid for it', () => {
  const contract = { bidPerHour: 450_000, gpuPricePerHour: 300_000, diskPricePerHour: 4_000 } as Contract;
  expect(priceOf(contract)).toBe(454_000);
  expect(priceOf({ ...contract, bidPerHour: null })).toBe(304_000);
});

describe('a machine at work that is destroyed', () => {
  test.for([
    ['without any limit', {}, 5000],
    ['before maxLifetime is over', { maxLifetime: '1h' }, 3000],
    ['before maxTotalCost is spent', { maxTotalCost: '0.10' }, 600],
  ] as const)('%s is lost work', async ([, limit, seconds]) => {
    expect(await destroyedAfter(limit, seconds)).toContain('I4');
  });

  test.for([
    ['after maxLifetime', { maxLifetime: '1h' }, 3600],
    ['when maxTotalCost is spent', { maxTotalCost: '0.10' }, 1200],
  ] as const)('%s is none', async ([, limit, seconds]) => {
    expect(await destroyedAfter(limit, seconds)).toEqual([]);
  });
});
