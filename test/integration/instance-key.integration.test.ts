import { expect, test } from 'vitest';
import { secretResource } from '../../src/runtime/kube/core-resources.ts';
import type { OperatorBench, SecretWithData, TapMoment } from '../builders/running-operator.ts';
import { until } from '../builders/until.ts';
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
const keyOf =
  (name: string) =>
  ({ when, method, path }: TapMoment): boolean =>
    when === 'after' &&
    /\/secrets(\/|$)/.test(path) &&
    (method === 'POST' || path.endsWith(`/${name}-connection`));

test.each([
  ['its result was saved', 'saved', resultOf('saved', 'after')],
  ['its key was saved', 'kept', keyOf('kept')],
] as const)('the key of a machine survives a crash right after %s', async (_, name, moment) => {
  const bench = shared();
  const before = rents(bench).length;
  const crashed = crashAt(bench, (at) => rents(bench).length > before && moment(at));
  await bench.createInstance(name);
  await crashed;
  await bench.start();
  const job = await reached(bench, name, 'Ready');
  expect(await connection(bench, name)).toMatchObject({
    'instance-id': String(job.status?.instanceId),
    'instance-api-key': expect.stringMatching(/\S/),
    host: job.status?.ssh?.host,
  });
  expect(rents(bench)).toHaveLength(before + 1);
});

test('the key of a replacement survives a crash, and nothing of the machine before stays beside it', async () => {
  const bench = shared();
  await running(bench, 'next');
  const first = await connection(bench, 'next');
  const before = rents(bench).length;
  const result = resultOf('next', 'after');
  const crashed = crashAt(bench, (at) => rents(bench).length > before && result(at));
  await patchInstance(bench, { spec: { image: 'example/image:2' } }, 'next');
  await crashed;
  const kept = await until('the key is kept', async () => {
    const values = await connection(bench, 'next');
    return values['instance-id'] === first['instance-id'] ? undefined : values;
  });
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
