import { describe, expect, test } from 'vitest';
import { annotations } from '../../src/api/v1alpha1/names.ts';
import { secretResource, serviceResource } from '../../src/runtime/kube/core-resources.ts';
import type { KubeObject, Resource } from '../../src/runtime/kube/kube-object.ts';
import type { OperatorBench } from '../builders/running-operator.ts';
import {
  conditionOf,
  contracts,
  patchInstance,
  reached,
  readyBench,
  rents,
  useBenches,
} from './gpu-instance-bench.ts';

useBenches();

const quotaResource: Resource = {
  group: '',
  version: 'v1',
  plural: 'resourcequotas',
  kind: 'ResourceQuota',
  namespaced: true,
};

const PORTS = { ports: [{ name: 'http', containerPort: 8000 }], service: { enabled: true } };

/** Requests an immediate reconcile of the object as a person. */
const lookAgain = (bench: OperatorBench) =>
  patchInstance(bench, { metadata: { annotations: { [annotations.requestedAt]: 'now' } } });

describe('B05: before the first dollar', () => {
  test.each<[string, Resource, string, object]>([
    ['Secret', secretResource, 'job-connection', {}],
    ['Service', serviceResource, 'job', { spec: { ports: [{ port: 80 }] } }],
  ])('nothing is rented while a foreign %s has the name of a child', async (kind, resource, name, more) => {
    const bench = await readyBench();
    const { namespace } = bench;
    const foreign: KubeObject = { apiVersion: 'v1', kind, metadata: { namespace, name }, ...more };
    await bench.kube.create(resource, foreign);
    await bench.createInstance('job', PORTS);
    const job = await reached(bench, 'job', 'NameTaken');
    expect(conditionOf(job, 'Ready')?.message).toContain(
      `${kind} ${name} exists and does not belong to this object.`,
    );
    expect(contracts(bench)).toBe(0);
    await bench.kube.delete(resource, { namespace, name });
    await lookAgain(bench);
    await reached(bench, 'job', 'Ready');
    expect(rents(bench)).toHaveLength(1);
  });

  test('nothing is rented while a ResourceQuota leaves no room for a Secret', async () => {
    const bench = await readyBench();
    const { namespace } = bench;
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { namespace, name: 'none' },
      spec: { hard: { secrets: '0' } },
    };
    await bench.kube.create(quotaResource, quota);
    const status = { hard: { secrets: '0' }, used: { secrets: '0' } };
    await bench.kube.patch(
      quotaResource,
      { namespace, name: 'none' },
      {
        type: 'merge',
        subresource: 'status',
        body: { status },
      },
    );
    await bench.createInstance('job');
    const job = await reached(bench, 'job', 'NotPermitted');
    expect(conditionOf(job, 'Ready')?.message).toMatch(/^Cannot write Secret job-connection: .*quota/);
    expect(contracts(bench)).toBe(0);
    await bench.kube.delete(quotaResource, { namespace, name: 'none' });
    await lookAgain(bench);
    await reached(bench, 'job', 'Ready');
  });
});
