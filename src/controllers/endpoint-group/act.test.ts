import { describe, expect, test } from 'vitest';
import { groupObject, workerObject } from '../../../test/builders/group-worker.ts';
import { memoryCluster, refusedBy } from '../../../test/builders/memory-cluster.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { EndpointGroup, EndpointGroupStatus } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import {
  annotations,
  endpointGroupResource,
  GROUP_FINALIZER,
  gpuInstanceResource,
  labels,
} from '../../api/v1alpha1/names.ts';
import { record } from '../../runtime/writes.ts';
import { act, type GroupEffects } from './act.ts';
import { Publisher } from './publish/publisher.ts';
import type { Action } from './types.ts';
import { workerOf } from './workers/worker.ts';

const NAMESPACE = 'default';

async function bench(spec: Record<string, unknown> = {}) {
  const cluster = memoryCluster();
  const { metadata: _, ...body } = groupObject(spec);
  const metadata = { name: 'llm', namespace: NAMESPACE };
  const group = await cluster.kube.create<EndpointGroup>(endpointGroupResource, { ...body, metadata });
  const receipt = await record<EndpointGroupStatus, EndpointGroup>({
    client: cluster.kube,
    resource: endpointGroupResource,
    object: group,
    finalizer: GROUP_FINALIZER,
    status: { replicas: 1 },
    onWritten: () => {},
  });
  if (!receipt) throw new Error('Nothing was recorded.');
  const written: string[] = [];
  const reported: string[] = [];
  const effects: GroupEffects = {
    cluster: cluster.kube,
    publisher: new Publisher({ cluster: cluster.kube, clock: cluster.clock }),
    siblings: [],
    onWritten: (worker) => written.push(worker.metadata.name),
    reportHostFailure: (worker, reason, isForAll) =>
      reported.push(`${worker.metadata.name} ${reason} ${isForAll}`),
  };
  const workers = async () =>
    (await cluster.kube.list<GpuInstance>(gpuInstanceResource, { namespace: NAMESPACE })).items;
  const carryOut = (action: Action) => act(action, receipt, effects);
  return { ...cluster, cluster, group, receipt, effects, written, reported, workers, carryOut };
}

const rent = { type: 'create', desiredRole: 'Cold', ordinal: 0 } as const;

describe('a create', () => {
  test('writes a worker with the template, the label and the group as its controller', async () => {
    const { carryOut, workers, group, written } = await bench();
    await carryOut(rent);
    const [worker] = await workers();
    expect(worker).toMatchObject({
      metadata: {
        labels: { [labels.endpointGroup]: 'llm' },
        annotations: { [annotations.desiredRole]: 'Cold' },
        ownerReferences: [{ uid: group.metadata.uid, controller: true }],
      },
      spec: { image: 'example/worker:1', powerState: 'Running' },
    });
    expect(written).toEqual([worker?.metadata.name]);
  });

  test('excludes the machines of siblings when the group has spreadBy', async () => {
    const { receipt, effects, workers } = await bench({ spreadBy: 'Machine' });
    const siblings = [workerObject('sibling', { status: { machineId: '7' } })];
    await act(rent, receipt, { ...effects, siblings });
    const [worker] = await workers();
    expect(worker?.spec.offers?.map(({ filters = [] }) => filters)).toEqual([
      [{ field: 'machineId', operator: 'NotIn', values: ['7'] }],
      [],
    ]);
  });

  test('creates one worker per number when two processes create it', async () => {
    const { carryOut, workers } = await bench();
    await carryOut(rent);
    await carryOut(rent);
    expect(await workers()).toHaveLength(1);
    await carryOut({ ...rent, ordinal: 1 });
    expect(await workers()).toHaveLength(2);
  });
});

describe('an order', () => {
  const order = {
    powerState: 'Stopped',
    desiredRole: 'Cold',
    drainSince: undefined,
    wokenAt: undefined,
  } as const;

  test('keeps fields of other managers', async () => {
    const { carryOut, workers, kube } = await bench();
    await carryOut(rent);
    const [made] = await workers();
    if (!made) throw new Error('There is no worker.');
    const ref = { namespace: NAMESPACE, name: made.metadata.name };
    const foreign = { metadata: { annotations: { other: 'kept' } }, spec: { disk: '40G' } };
    await kube.patch(gpuInstanceResource, ref, { type: 'merge', body: foreign });
    const worker = workerOf(made, 0);
    await carryOut({ type: 'order', worker, order: { ...order, powerState: 'Running', drainSince: 7 } });
    await carryOut({ type: 'order', worker, order });
    const [now] = await workers();
    expect(now?.metadata.annotations).toMatchObject({ other: 'kept', [annotations.desiredRole]: 'Cold' });
    expect(now?.metadata.annotations).not.toHaveProperty([annotations.drainSince]);
    expect(now?.spec).toMatchObject({ powerState: 'Stopped', disk: '40G' });
  });

  test('overrides another manager of the same field, and reports the written object', async () => {
    const { carryOut, workers, written, sent } = await bench();
    await carryOut(rent);
    const [made] = await workers();
    if (!made) throw new Error('There is no worker.');
    written.length = 0;
    await carryOut({ type: 'order', worker: workerOf(made, 0), order });
    expect(written).toEqual([made.metadata.name]);
    expect(sent.filter((line) => line.startsWith('PATCH')).at(-1)).toMatch(/[?&]force=true(&|$)/);
  });

  test('does not change a later worker of the same name', async () => {
    const { carryOut, workers } = await bench();
    await carryOut(rent);
    const [made] = await workers();
    if (!made) throw new Error('There is no worker.');
    const gone = workerOf({ ...made, metadata: { ...made.metadata, uid: 'another' } }, 0);
    await expect(carryOut({ type: 'order', worker: gone, order })).rejects.toThrow('metadata.uid');
    await carryOut({ type: 'delete', worker: gone });
    expect((await workers()).map(({ spec }) => spec.powerState)).toEqual(['Running']);
  });

  test('changes nothing when the worker is deleted', async () => {
    const { carryOut, workers } = await bench();
    await carryOut({ type: 'delete', worker: workerOf(workerObject('gone'), 0) });
    await carryOut({
      type: 'order',
      worker: workerOf(workerObject('gone', { metadata: { namespace: NAMESPACE } }), 0),
      order,
    });
    expect(await workers()).toEqual([]);
  });

  test('rejects when the API server fails', async () => {
    const { carryOut, workers, cluster } = await bench();
    await carryOut(rent);
    const [made] = await workers();
    if (!made) throw new Error('There is no worker.');
    cluster.intercept = ({ method }) => (method === 'PATCH' ? refusedBy(500, 'InternalError') : undefined);
    const ordering = carryOut({ type: 'order', worker: workerOf(made, 0), order });
    await expect(ordering).rejects.toThrow('answered 500');
  });
});

describe('other actions', () => {
  test('report a host failure for all namespaces or the group alone, as decided (H9)', async () => {
    const { carryOut, reported } = await bench();
    const failure = {
      type: 'reportHostFailure',
      worker: workerOf(workerObject('w'), 0),
      reason: 'CannotStart',
      isForAll: true,
    } as const;
    await carryOut(failure);
    await carryOut({ ...failure, isForAll: false });
    expect(reported).toEqual(['w CannotStart true', 'w CannotStart false']);
  });

  test('adopt a worker and keep its other owners, unless the worker changed meanwhile', async () => {
    const { carryOut, workers, kube, group } = await bench();
    const { metadata: _, ...body } = workerObject('lost');
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'theirs', uid: 'uid-theirs' };
    const metadata = {
      ...{ name: 'lost', namespace: NAMESPACE, labels: { [labels.endpointGroup]: 'llm' } },
      ownerReferences: [other],
    };
    const lost = await kube.create<GpuInstance>(gpuInstanceResource, { ...body, metadata });
    const ref = { namespace: NAMESPACE, name: 'lost' };
    await kube.patch(gpuInstanceResource, ref, {
      type: 'merge',
      body: { metadata: { labels: { other: 'x' } } },
    });
    await carryOut({ type: 'adopt', object: lost });
    expect((await workers())[0]?.metadata.ownerReferences).toEqual([other]);
    const [now] = await workers();
    if (!now) throw new Error('There is no worker.');
    await carryOut({ type: 'adopt', object: now });
    expect((await workers())[0]?.metadata.ownerReferences).toMatchObject([
      other,
      { uid: group.metadata.uid, controller: true },
    ]);
  });

  test('release the group', async () => {
    const { carryOut, kube } = await bench();
    const ref = { namespace: NAMESPACE, name: 'llm' };
    expect((await kube.get(endpointGroupResource, ref))?.metadata.finalizers).toEqual([GROUP_FINALIZER]);
    await carryOut({ type: 'release' });
    expect((await kube.get(endpointGroupResource, ref))?.metadata.finalizers ?? []).toEqual([]);
  });

  test('withdraw the Service before the release, and keep the finalizer when that fails', async () => {
    const { receipt, effects, kube } = await bench();
    const finalizers = async () =>
      (await kube.get(endpointGroupResource, { namespace: NAMESPACE, name: 'llm' }))?.metadata.finalizers;
    const publisher = new Publisher({ cluster: kube, clock: createVirtualClock() });
    const guards: unknown[] = [];
    publisher.withdraw = async () => {
      guards.push(await finalizers());
      if (guards.length === 1) throw new Error('The Service stays.');
    };
    const release = () => act({ type: 'release' }, receipt, { ...effects, publisher });
    await expect(release()).rejects.toThrow('The Service stays.');
    expect(await finalizers()).toEqual([GROUP_FINALIZER]);
    await release();
    expect(guards).toEqual([[GROUP_FINALIZER], [GROUP_FINALIZER]]);
    expect((await finalizers()) ?? []).toEqual([]);
  });

  test('reject a release when another client wrote the group meanwhile', async () => {
    const { carryOut, kube } = await bench();
    const ref = { namespace: NAMESPACE, name: 'llm' };
    await kube.patch(endpointGroupResource, ref, {
      type: 'merge',
      body: { metadata: { labels: { other: 'x' } } },
    });
    await expect(carryOut({ type: 'release' })).rejects.toMatchObject({ kind: 'conflict' });
    expect((await kube.get(endpointGroupResource, ref))?.metadata.finalizers).toEqual([GROUP_FINALIZER]);
  });
});
