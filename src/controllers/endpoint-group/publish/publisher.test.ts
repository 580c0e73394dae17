import { describe, expect, test } from 'vitest';
import { groupObject, groupWorker, workerObject } from '../../../../test/builders/group-worker.ts';
import { memoryCluster, refusedBy } from '../../../../test/builders/memory-cluster.ts';
import { createVirtualClock } from '../../../../test/builders/virtual-clock.ts';
import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import { endpointSliceResource, serviceResource } from '../../../runtime/kube/core-resources.ts';
import type { EndpointSliceObject, ServiceObject } from '../../../runtime/kube/service-objects.ts';
import type { Worker } from '../workers/worker.ts';
import { type Endpoint, endpointsOf } from './endpoints.ts';
import { Publisher } from './publisher.ts';
import { workerSlice } from './service.ts';

const NAMESPACE = 'default';
const inDefault = { metadata: { namespace: NAMESPACE } };

function bench() {
  const cluster = memoryCluster();
  // Of its own: in the cluster's time the garbage collector would take what has no owner there.
  const clock = createVirtualClock({ startMs: cluster.clock.now() });
  const publisher = new Publisher({ cluster: cluster.kube, clock });
  const publish = (group: EndpointGroup, workers: readonly Worker[], going: readonly string[] = []) => {
    const { endpoints } = endpointsOf(group, workers, { allowPrivate: false });
    const staying = endpoints.filter(({ worker }) => !going.includes(worker.metadata.name));
    return publisher.publish({ group, workers, endpoints: staying });
  };
  const slices = async () =>
    (await cluster.kube.list<EndpointSliceObject>(endpointSliceResource, { namespace: NAMESPACE })).items;
  const service = (name = 'llm') =>
    cluster.kube.get<ServiceObject>(serviceResource, { namespace: NAMESPACE, name });
  const requests = () => cluster.sent.splice(0).map((line) => line.replace(/\/ap.*\/default\//, ''));
  return { ...cluster, clock, publisher, publish, slices, service, requests };
}

const group = groupObject({}, inDefault);
function worker(name: string, publicAddress = '203.0.113.7'): Worker {
  const status = { ...workerObject(name).status, publicAddress };
  return groupWorker({ name, object: workerObject(name, { ...inDefault, status }), createdAt: 2e12 });
}

describe('what is published', () => {
  test('a Service without selector, and a slice with its own mapped port for each worker', async () => {
    const { publish, slices, service } = bench();
    expect(await publish(group, [worker('a'), worker('b', '2606:4700::1')])).toEqual({ type: 'done' });
    expect((await service())?.spec).toEqual({ ports: [{ name: 'http', port: 8000, protocol: 'TCP' }] });
    expect(await slices()).toMatchObject([
      {
        metadata: {
          name: 'a-endpoint',
          labels: { 'kubernetes.io/service-name': 'llm' },
          ownerReferences: [{ name: 'a', controller: true }],
        },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['203.0.113.7'], conditions: { ready: true } }],
        ports: [{ name: 'http', port: 20007, protocol: 'TCP' }],
      },
      { addressType: 'IPv6', endpoints: [{ addresses: ['2606:4700::1'] }] },
    ]);
  });

  test.each([
    '127.0.0.1',
    '169.254.169.254',
    '10.0.0.7',
    '192.168.1.1',
    '172.20.0.1',
    '100.64.0.1',
    '::1',
    'fe80::1',
    'fd12::1',
    '224.0.0.1',
    'example.com',
  ])('never %s', async (address) => {
    const { publish, slices } = bench();
    const workers = [worker('a', address)];
    const { problems } = endpointsOf(group, workers, { allowPrivate: false });
    expect(problems).toMatchObject([{ worker: 'a', detail: expect.stringContaining(address) }]);
    await publish(group, workers);
    expect(await slices()).toEqual([]);
  });

  test('private addresses where they are allowed, and loopback not even then', () => {
    const of = (address: string) => endpointsOf(group, [worker('a', address)], { allowPrivate: true });
    expect(of('10.0.0.7').endpoints).toHaveLength(1);
    expect(of('127.0.0.1').endpoints).toEqual([]);
    expect(of('169.254.169.254').endpoints).toEqual([]);
  });

  test('nothing where the template declares no port', async () => {
    const { publish, requests } = bench();
    const template = { spec: { image: 'x/y:1', offers: [{ maxPricePerHour: '1' }] } };
    await publish(groupObject({ template }, inDefault), [worker('a')]);
    expect(requests()).toEqual([]);
  });
});

describe('order and effort', () => {
  test('one worker relieves another without a moment in which there is none', async () => {
    const { publish, requests } = bench();
    await publish(group, [worker('a')]);
    requests();
    await publish(group, [worker('a'), worker('b')], ['a']);
    expect(requests()).toEqual(['POST endpointslices', 'DELETE endpointslices/a-endpoint']);
  });

  test('who goes is taken back even where the new one cannot be written', async () => {
    const cluster = memoryCluster();
    const publisher = new Publisher({ cluster: cluster.kube, clock: cluster.clock });
    const both = [worker('a'), worker('b')];
    const { endpoints } = endpointsOf(group, both, { allowPrivate: false });
    await publisher.publish({ group, workers: both, endpoints: endpoints.slice(0, 1) });
    cluster.intercept = ({ method }) => (method === 'POST' ? refusedBy(500, 'InternalError') : undefined);
    await expect(publisher.publish({ group, workers: both, endpoints: endpoints.slice(1) })).rejects.toThrow(
      'answered 500',
    );
    const { items } = await cluster.kube.list(endpointSliceResource, { namespace: NAMESPACE });
    expect(items).toEqual([]);
  });

  test('a slice whose writing was never answered is taken back as well', async () => {
    const cluster = memoryCluster();
    const publisher = new Publisher({ cluster: cluster.kube, clock: cluster.clock });
    const workers = [worker('a')];
    const { endpoints } = endpointsOf(group, workers, { allowPrivate: false });
    await publisher.publish({ group, workers, endpoints: [] });
    cluster.intercept = ({ method }) => (method === 'POST' ? refusedBy(500, 'InternalError') : undefined);
    await expect(publisher.publish({ group, workers, endpoints })).rejects.toThrow('answered 500');
    cluster.intercept = () => undefined;
    await cluster.kube.create(endpointSliceResource, workerSlice(group, endpoints[0] as Endpoint));
    cluster.sent.splice(0);
    await publisher.publish({ group, workers, endpoints: [] });
    expect(cluster.sent).toEqual([
      expect.stringMatching(/^GET .*a-endpoint$/),
      expect.stringMatching(/^DELETE .*a-endpoint$/),
    ]);
  });

  test('a steady group costs nothing, and is looked at every ten minutes without a write', async () => {
    const { publish, requests, clock } = bench();
    await publish(group, [worker('a')]);
    requests();
    await publish(group, [worker('a')]);
    expect(requests()).toEqual([]);
    await clock.advance(600_000);
    await publish(group, [worker('a')]);
    expect(requests()).toEqual(['GET services/llm', 'GET endpointslices/a-endpoint']);
  });

  test('what somebody took away is found at that look', async () => {
    const { publish, slices, kube, clock } = bench();
    await publish(group, [worker('a')]);
    await kube.delete(endpointSliceResource, { namespace: NAMESPACE, name: 'a-endpoint' });
    await clock.advance(600_000);
    await publish(group, [worker('a')]);
    expect(await slices()).toHaveLength(1);
  });

  test('a slice of the process before is mended, and made anew where the kind of address differs', async () => {
    const first = bench();
    await first.publish(group, [worker('a')]);
    const later = new Publisher({ cluster: first.kube, clock: first.clock });
    const moved = [worker('a', '203.0.113.99')];
    const publishLater = (workers: readonly Worker[]) =>
      later.publish({ group, workers, ...endpointsOf(group, workers, { allowPrivate: false }) });
    await publishLater(moved);
    expect(await first.slices()).toMatchObject([{ endpoints: [{ addresses: ['203.0.113.99'] }] }]);
    await publishLater([worker('a', '2606:4700::9')]);
    expect(await first.slices()).toMatchObject([
      { addressType: 'IPv6', endpoints: [{ addresses: ['2606:4700::9'] }] },
    ]);
  });

  test('a slice of the process before, of a worker that serves no more, is taken back', async () => {
    const { publish, slices, kube, clock } = bench();
    await publish(group, [worker('a')]);
    const later = new Publisher({ cluster: kube, clock });
    await later.publish({ group, workers: [{ ...worker('a'), createdAt: 0 }], endpoints: [] });
    expect(await slices()).toEqual([]);
  });
});

describe('a slice of that name', () => {
  const foreign: EndpointSliceObject = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'a-endpoint', namespace: NAMESPACE },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['203.0.113.200'], conditions: { ready: true } }],
    ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
  };
  const served = { ...worker('a'), createdAt: 0 };

  test('that is somebody else’s is left alone, and the other workers are led to', async () => {
    const { publish, slices, kube } = bench();
    await kube.create(endpointSliceResource, foreign);
    expect(await publish(group, [served, worker('b')])).toMatchObject({
      type: 'problem',
      reason: 'NameTaken',
      detail: expect.stringContaining('EndpointSlice a-endpoint'),
    });
    expect(
      (await slices()).map(({ metadata, endpoints }) => [metadata.name, endpoints[0]?.addresses]),
    ).toEqual([
      ['a-endpoint', ['203.0.113.200']],
      ['b-endpoint', ['203.0.113.7']],
    ]);
    await kube.delete(endpointSliceResource, { namespace: NAMESPACE, name: 'a-endpoint' });
    expect(await publish(group, [served, worker('b')])).toEqual({ type: 'done' });
  });

  test('that is somebody else’s is not taken back with a worker, by no process', async () => {
    const { publish, slices, kube, clock } = bench();
    await kube.create(endpointSliceResource, foreign);
    await publish(group, [served]);
    await publish(group, [served], ['a']);
    const later = new Publisher({ cluster: kube, clock });
    await later.publish({ group, workers: [served], endpoints: [] });
    expect(await slices()).toHaveLength(1);
  });

  test.each([
    ['lost its labels', { metadata: { labels: null } }],
    [
      'belonged to a worker before',
      {
        metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'GpuInstance', name: 'a', uid: 'before' }] },
      },
    ],
  ])('that is ours and %s is mended', async (_what, body) => {
    const { publish, slices, kube, clock } = bench();
    await publish(group, [served]);
    const [before] = await slices();
    const ref = { namespace: NAMESPACE, name: 'a-endpoint' };
    await kube.patch(endpointSliceResource, ref, { type: 'merge', body });
    await clock.advance(600_000);
    expect(await publish(group, [served])).toEqual({ type: 'done' });
    const [after] = await slices();
    expect([after?.metadata.labels, after?.metadata.ownerReferences]).toEqual([
      before?.metadata.labels,
      before?.metadata.ownerReferences,
    ]);
  });
});

describe('a Service of that name', () => {
  const foreign: ServiceObject = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'llm', namespace: NAMESPACE },
    spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
  };

  test('that is somebody else’s is left alone, and looked at again after 15 s', async () => {
    const { publish, slices, kube, requests, clock } = bench();
    await kube.create(serviceResource, foreign);
    const published = await publish(group, [worker('a')]);
    expect(published).toMatchObject({
      type: 'problem',
      reason: 'NameTaken',
      detail: expect.stringContaining('endpointName'),
    });
    expect(await slices()).toEqual([]);
    requests();
    await publish(group, [worker('a')]);
    expect(requests()).toEqual([]);
    await clock.advance(15_000);
    await kube.delete(serviceResource, { namespace: NAMESPACE, name: 'llm' });
    expect(await publish(group, [worker('a')])).toEqual({ type: 'done' });
  });

  test('is shared by groups with the same ports, and goes with the last one', async () => {
    const { publish, service, publisher, kube, clock } = bench();
    const shared = (name: string, port = 8000) =>
      groupObject(
        {
          endpointName: 'llm',
          template: {
            spec: {
              image: 'x/y:1',
              offers: [{ maxPricePerHour: '1' }],
              ports: [{ name: 'http', containerPort: port }],
            },
          },
        },
        { metadata: { ...inDefault.metadata, name, uid: `uid-${name}` } },
      );
    await publish(shared('one'), []);
    const other = new Publisher({ cluster: kube, clock });
    await other.publish({ group: shared('two'), workers: [], endpoints: [] });
    expect((await service())?.metadata.ownerReferences?.map(({ name }) => name)).toEqual(['one', 'two']);
    const third = new Publisher({ cluster: kube, clock });
    expect(await third.publish({ group: shared('three', 9000), workers: [], endpoints: [] })).toMatchObject({
      reason: 'ServicePortsDiffer',
    });
    await publisher.withdraw(shared('one'));
    expect((await service())?.metadata.ownerReferences?.map(({ name }) => name)).toEqual(['two']);
    await other.withdraw(shared('two'));
    expect(await service()).toBeUndefined();
  });

  test('of another name takes the workers over, and the former one goes', async () => {
    const { publish, slices, service, clock } = bench();
    await publish(group, [worker('a')]);
    const status = { endpoint: 'llm.default.svc' } as EndpointGroup['status'];
    const renamed = { ...groupObject({ endpointName: 'chat' }, inDefault), status };
    expect(await publish(renamed, [worker('a')])).toEqual({ type: 'done' });
    expect(await slices()).toMatchObject([
      { metadata: { labels: { 'kubernetes.io/service-name': 'chat' } }, endpoints: [{}] },
    ]);
    expect(await service('chat')).toBeDefined();
    expect(await service('llm')).toBeUndefined();
    await clock.advance(600_000);
    expect(await publish(renamed, [worker('a')])).toEqual({ type: 'done' });
  });

  test('is not taken away by a group that does not own it', async () => {
    const { publisher, kube, service } = bench();
    await kube.create(serviceResource, foreign);
    await publisher.withdraw(group);
    expect(await service()).toBeDefined();
  });

  test('that may not be written is said', async () => {
    const cluster = memoryCluster();
    cluster.intercept = ({ method }) => (method === 'POST' ? refusedBy(403, 'Forbidden') : undefined);
    const publisher = new Publisher({ cluster: cluster.kube, clock: cluster.clock });
    expect(await publisher.publish({ group, workers: [], endpoints: [] })).toMatchObject({
      type: 'problem',
      reason: 'NotPermitted',
      detail: expect.stringContaining('Service llm cannot be written'),
    });
  });
});
