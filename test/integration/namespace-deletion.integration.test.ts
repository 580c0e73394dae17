import { expect, test } from 'vitest';
import {
  API_VERSION,
  gpuInstanceResource,
  marketplaceAccountResource,
} from '../../src/api/v1alpha1/names.ts';
import { secretResource } from '../../src/runtime/kube/core-resources.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import { until } from '../builders/until.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';
import { readyBench, useBenches } from './gpu-instance-bench.ts';

useBenches();

test('scenario 62: a deleted namespace stays until its machines are gone, although its key Secret goes at once', async () => {
  const tenant = await sharedCluster().createNamespace('tenant');
  const bench = await readyBench({ alsoWatched: [tenant] });
  const { kube, cluster } = bench;
  const metadata = (name: string) => ({ namespace: tenant, name });
  const stringData = { 'api-key': bench.simulator.apiKey };
  await kube.create(secretResource, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: metadata('key'),
    stringData,
  } as KubeObject);
  await kube.create(marketplaceAccountResource, {
    apiVersion: API_VERSION,
    kind: 'MarketplaceAccount',
    metadata: metadata('default'),
    spec: { apiKeySecretRef: { name: 'key' }, pollInterval: '1s' },
  } as KubeObject);
  for (const name of ['one', 'two']) {
    await kube.create(gpuInstanceResource, {
      apiVersion: API_VERSION,
      kind: 'GpuInstance',
      metadata: metadata(name),
      spec: { image: 'example/image:1', offers: [{ maxPricePerHour: '100' }] },
    } as KubeObject);
  }
  const phases = () =>
    cluster.kubectl(['get', 'gpui', '-n', tenant, '-o', 'jsonpath={.items[*].status.phase}']);
  await until('both run', async () => (await phases()) === 'Running Running');

  await bench.fault('delete-ignored', { count: 2 });
  const secretGone = Promise.withResolvers<void>();
  bench.tap = ({ when, method, path }) =>
    when === 'before' && method === 'DELETE' && /\/instances\/[1-9]/.test(path)
      ? secretGone.promise
      : undefined;
  await cluster.kubectl(['delete', 'namespace', tenant, '--wait=false']);
  await until(
    'the Secret is gone',
    async () => !(await kube.get(secretResource, { namespace: tenant, name: 'key' })),
  );
  const namespacePhase = () =>
    cluster.kubectl(['get', 'namespace', tenant, '--ignore-not-found', '-o', 'jsonpath={.status.phase}']);
  let billedAtTheEnd = bench.billing().length;
  expect(billedAtTheEnd).toBe(2);
  secretGone.resolve();
  await until('the namespace is gone', async () => {
    const billed = bench.billing().length;
    const phase = await namespacePhase();
    if (phase !== '') billedAtTheEnd = billed;
    return phase === '';
  });
  expect(billedAtTheEnd).toBe(0);
  expect(bench.billing()).toEqual([]);
});
