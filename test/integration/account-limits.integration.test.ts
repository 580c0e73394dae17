import { expect, test } from 'vitest';
import { marketplaceAccountResource } from '../../src/api/v1alpha1/names.ts';
import { conditionOf, reached, rents, running, useSharedBench } from './gpu-instance-bench.ts';

const shared = useSharedBench({ account: { limits: { maxInstances: 1 } } });

/** Well before an object that was refused would ask again by itself. */
const AT_ONCE_MS = 8_000;

test('a limit of the account holds the next object back, and lets it go as soon as it is raised', async () => {
  const bench = shared();
  await running(bench, 'first');
  await bench.createInstance('second');
  const told = await reached(bench, 'second', 'AtLimit');
  expect(conditionOf(told, 'Ready')?.message).toContain('limits.maxInstances is 1');
  expect(rents(bench)).toHaveLength(1);
  const reference = { namespace: bench.namespace, name: 'default' };
  const raised = { spec: { limits: { maxInstances: 2 } } };
  await bench.kube.patch(marketplaceAccountResource, reference, { type: 'merge', body: raised });
  const raisedAt = Date.now();
  await reached(bench, 'second', 'Ready');
  expect(rents(bench)).toHaveLength(2);
  expect((rents(bench)[1]?.at ?? Infinity) - raisedAt).toBeLessThan(AT_ONCE_MS);
});
