import { expect, test } from 'vitest';
import { annotations } from '../../src/api/v1alpha1/names.ts';
import { secretResource } from '../../src/runtime/kube/core-resources.ts';
import type { OperatorBench, SecretWithData, TapMoment } from '../builders/running-operator.ts';
import { crashAt, patchInstance, reached, rents, running, useSharedBench } from './gpu-instance-bench.ts';

const shared = useSharedBench();

async function connection(bench: OperatorBench, name: string): Promise<Readonly<Record<string, string>>> {
  const reference = { namespace: bench.namespace, name: `${name}-connection` };
  const secret = await bench.kube.get<SecretWithData>(secretResource, reference);
  const entries = Object.entries(secret?.data ?? {});
  return Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}

/** The write that saves the result of the object's rental. */
const resultOf =
  (name: string, when: TapMoment['when']) =>
  (moment: TapMoment): boolean =>
    moment.when === when && moment.method === 'PUT' && moment.path.endsWith(`/gpuinstances/${name}/status`);
const patchOf =
  (name: string) =>
  ({ when, method, path }: TapMoment): boolean =>
    when === 'after' && method === 'PATCH' && path.includes(`/secrets/${name}-connection`);

/** Delays the status update until the Secret is patched: the operator must send both in parallel. */
function crashOnceBothAreSaved(bench: OperatorBench, name: string): Promise<void> {
  const before = rents(bench).length;
  const kept = Promise.withResolvers<void>();
  return new Promise((resolve, reject) => {
    bench.tap = (moment) => {
      if (rents(bench).length === before) return undefined;
      if (patchOf(name)(moment)) kept.resolve();
      if (resultOf(name, 'before')(moment)) return kept.promise;
      if (!resultOf(name, 'after')(moment)) return undefined;
      bench.tap = undefined;
      bench.crash().then(resolve, reject);
      return undefined;
    };
  });
}

test('the key of a machine survives a crash right after its result was saved', async () => {
  const bench = shared();
  const before = rents(bench).length;
  const crashed = crashAt(
    bench,
    (moment) => rents(bench).length > before && resultOf('saved', 'after')(moment),
  );
  await bench.createInstance('saved');
  await crashed;
  await bench.start();
  const job = await reached(bench, 'saved', 'Ready');
  expect(await connection(bench, 'saved')).toMatchObject({
    'instance-id': String(job.status?.instanceId),
    'instance-api-key': expect.stringMatching(/\S/),
    host: job.status?.ssh?.host,
  });
  expect(rents(bench)).toHaveLength(before + 1);
});

test('the key of a machine comes back with a Secret that was deleted', async () => {
  const bench = shared();
  await running(bench, 'deleted');
  const first = await connection(bench, 'deleted');
  await bench.kube.delete(secretResource, { namespace: bench.namespace, name: 'deleted-connection' });
  await patchInstance(bench, { metadata: { annotations: { [annotations.requestedAt]: 'now' } } }, 'deleted');
  await expect.poll(() => connection(bench, 'deleted'), { timeout: 20_000 }).toEqual(first);
  expect(first['instance-api-key']).toMatch(/\S/);
});

test('the key of a replacement survives a crash, and nothing of the machine before stays beside it', async () => {
  const bench = shared();
  await running(bench, 'next');
  const first = await connection(bench, 'next');
  const crashed = crashOnceBothAreSaved(bench, 'next');
  await patchInstance(bench, { spec: { image: 'example/image:2' } }, 'next');
  await crashed;
  const kept = await connection(bench, 'next');
  expect(kept['instance-id']).not.toBe(first['instance-id']);
  expect(kept['instance-api-key']).toMatch(/\S/);
  expect(kept['instance-api-key']).not.toBe(first['instance-api-key']);
  expect(kept['host']).toBeUndefined();
  await bench.start();
  const job = await reached(bench, 'next', 'Ready');
  expect(await connection(bench, 'next')).toMatchObject({
    'instance-id': String(job.status?.instanceId),
    'instance-api-key': kept['instance-api-key'],
    host: job.status?.ssh?.host,
  });
});
