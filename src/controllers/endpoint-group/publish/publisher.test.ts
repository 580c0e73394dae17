import { describe, expect, test } from 'vitest';
import {
  groupInDefault,
  NAMESPACE,
  publisherBench,
  workerInDefault,
} from '../../../../test/builders/group-publisher.ts';
import { answeredBy, memoryCluster, refusedBy } from '../../../../test/builders/memory-cluster.ts';
import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import { type EndpointSliceObject, endpointSliceResource } from '../../../runtime/kube/core-resources.ts';
import type { Worker } from '../workers/worker.ts';
import { type Endpoint, endpointsOf } from './endpoints.ts';
import { Publisher } from './publisher.ts';
import { workerSlice } from './service.ts';

const group = groupInDefault();
const portless = groupInDefault({
  template: { spec: { image: 'x/y:1', offers: [{ maxPricePerHour: '1' }] } },
});

describe('a publication', () => {
  test('has a Service without selector, and a slice with its mapped port for each worker', async () => {
    const { publish, slices, service } = publisherBench();
    expect(await publish(group, [workerInDefault('a'), workerInDefault('b', '2606:4700::1')])).toEqual({
      type: 'done',
    });
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
  ])('never contains the address %s', async (address) => {
    const { publish, slices } = publisherBench();
    const workers = [workerInDefault('a', address)];
    const { problems } = endpointsOf(group, workers, { allowPrivate: false });
    expect(problems).toMatchObject([{ worker: 'a', detail: expect.stringContaining(address) }]);
    await publish(group, workers);
    expect(await slices()).toEqual([]);
  });

  test('contains private addresses if they are allowed, and never loopback', () => {
    const of = (address: string) =>
      endpointsOf(group, [workerInDefault('a', address)], { allowPrivate: true });
    expect(of('10.0.0.7').endpoints).toHaveLength(1);
    expect(of('127.0.0.1').endpoints).toEqual([]);
    expect(of('169.254.169.254').endpoints).toEqual([]);
  });

  test('is empty when the template declares no port', async () => {
    const { publish, requests } = publisherBench();
    expect(await publish(portless, [workerInDefault('a')])).toEqual({ type: 'done' });
    expect(requests()).toEqual(['GET services/llm']);
    await publish(portless, [workerInDefault('a')]);
    expect(requests()).toEqual([]);
  });

  test('is removed when the template declares no port any more', async () => {
    const { publish, service, slices } = publisherBench();
    await publish(group, [workerInDefault('a')]);
    expect(await service()).toBeDefined();
    await publish(portless, [workerInDefault('a')]);
    expect(await service()).toBeUndefined();
    expect(await slices()).toEqual([]);
    await publish(group, [workerInDefault('a')]);
    expect(await service()).toBeDefined();
    expect(await slices()).toHaveLength(1);
  });

  test('reports its last result, and success before the first', async () => {
    const { publisher, publish, answer } = publisherBench();
    expect(publisher.published()).toEqual({ type: 'done' });
    answer(({ method }) => (method === 'POST' ? refusedBy(403, 'Forbidden') : undefined));
    const published = await publish(group, [workerInDefault('a')]);
    expect(published).toMatchObject({ type: 'problem', reason: 'NotPermitted' });
    expect(publisher.published()).toEqual(published);
  });
});

describe('writes of a publication', () => {
  test('create the new slice before they delete the old one', async () => {
    const { publish, requests } = publisherBench();
    await publish(group, [workerInDefault('a')]);
    requests();
    await publish(group, [workerInDefault('a'), workerInDefault('b')], ['a']);
    expect(requests()).toEqual(['POST endpointslices', 'DELETE endpointslices/a-endpoint']);
  });

  test('delete the old slice when the new one cannot be written', async () => {
    const cluster = memoryCluster();
    const publisher = new Publisher({ cluster: cluster.kube, clock: cluster.clock });
    const both = [workerInDefault('a'), workerInDefault('b')];
    const { endpoints } = endpointsOf(group, both, { allowPrivate: false });
    await publisher.publish({ group, workers: both, endpoints: endpoints.slice(0, 1) });
    cluster.intercept = ({ method }) => (method === 'POST' ? refusedBy(500, 'InternalError') : undefined);
    await expect(publisher.publish({ group, workers: both, endpoints: endpoints.slice(1) })).rejects.toThrow(
      'answered 500',
    );
    const { items } = await cluster.kube.list(endpointSliceResource, { namespace: NAMESPACE });
    expect(items).toEqual([]);
  });

  test('delete a slice whose write had no answer', async () => {
    const cluster = memoryCluster();
    const publisher = new Publisher({ cluster: cluster.kube, clock: cluster.clock });
    const workers = [workerInDefault('a')];
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

  test('send nothing for an unchanged group, and only reads every ten minutes', async () => {
    const { publish, requests, clock } = publisherBench();
    await publish(group, [workerInDefault('a')]);
    requests();
    await publish(group, [workerInDefault('a')]);
    expect(requests()).toEqual([]);
    await clock.advance(600_000);
    await publish(group, [workerInDefault('a')]);
    expect(requests()).toEqual(['GET services/llm', 'GET endpointslices/a-endpoint']);
  });

  test('B05: check by dry run before the first worker, once in ten minutes', async () => {
    const { publish, requests, slices, clock } = publisherBench();
    const trial = 'POST endpointslices?dryRun=All&fieldValidation=Strict';
    expect(await publish(group, [])).toEqual({ type: 'done' });
    expect(requests()).toEqual(['GET services/llm', 'POST services', trial]);
    await publish(group, []);
    expect(requests()).toEqual([]);
    await clock.advance(600_000);
    await publish(group, []);
    expect(requests()).toEqual(['GET services/llm', trial]);
    expect(await slices()).toEqual([]);
  });

  test('B05: report a refused slice for all workers', async () => {
    const { publish, answer } = publisherBench();
    const message = 'exceeded quota: none, requested: count/endpointslices.discovery.k8s.io=1';
    answer(({ method, path }) =>
      method === 'POST' && path.includes('endpointslices') ? refusedBy(403, 'Forbidden', message) : undefined,
    );
    expect(await publish(group, [])).toEqual({
      type: 'problem',
      reason: 'NotPermitted',
      detail: `Cannot write EndpointSlice llm-endpoint: ${message}`,
      forAll: true,
    });
    answer(({ method, path }) =>
      method === 'POST' && path.includes('endpointslices') ? refusedBy(409, 'AlreadyExists') : undefined,
    );
    expect(await publish(group, [])).toEqual({ type: 'done' });
  });

  test('send nothing for a worker whose slice was deleted', async () => {
    const { publish, requests } = publisherBench();
    await publish(group, [workerInDefault('a')]);
    await publish(group, [workerInDefault('a')], ['a']);
    requests();
    await publish(group, [workerInDefault('a')], ['a']);
    expect(requests()).toEqual([]);
  });

  test('publish a worker again that returns under its name', async () => {
    const { publish, slices, kube } = publisherBench();
    await publish(group, [workerInDefault('a'), workerInDefault('b')]);
    await publish(group, [workerInDefault('b')]);
    await kube.delete(endpointSliceResource, { namespace: NAMESPACE, name: 'a-endpoint' });
    await publish(group, [workerInDefault('a'), workerInDefault('b')]);
    expect((await slices()).map(({ metadata }) => metadata.name)).toEqual(['a-endpoint', 'b-endpoint']);
  });

  test('create a deleted object again at the next check', async () => {
    const { publish, slices, kube, clock } = publisherBench();
    await publish(group, [workerInDefault('a')]);
    await kube.delete(endpointSliceResource, { namespace: NAMESPACE, name: 'a-endpoint' });
    await clock.advance(600_000);
    await publish(group, [workerInDefault('a')]);
    expect(await slices()).toHaveLength(1);
  });

  test('repair a slice of an earlier process, and create it again when its address type differs', async () => {
    const first = publisherBench();
    await first.publish(group, [workerInDefault('a')]);
    const later = new Publisher({ cluster: first.kube, clock: first.clock });
    const moved = [workerInDefault('a', '203.0.113.99')];
    const publishLater = (workers: readonly Worker[]) =>
      later.publish({ group, workers, ...endpointsOf(group, workers, { allowPrivate: false }) });
    await publishLater(moved);
    expect(await first.slices()).toMatchObject([{ endpoints: [{ addresses: ['203.0.113.99'] }] }]);
    await publishLater([workerInDefault('a', '2606:4700::9')]);
    expect(await first.slices()).toMatchObject([
      { addressType: 'IPv6', endpoints: [{ addresses: ['2606:4700::9'] }] },
    ]);
  });

  test('delete a slice of an earlier process when its worker no longer serves', async () => {
    const { publish, slices, kube, clock } = publisherBench();
    await publish(group, [workerInDefault('a')]);
    const later = new Publisher({ cluster: kube, clock });
    await later.publish({ group, workers: [{ ...workerInDefault('a'), createdAt: 0 }], endpoints: [] });
    expect(await slices()).toEqual([]);
  });
});

describe('a group that is being deleted', () => {
  const deleted = groupInDefault({}, { metadata: { deletionTimestamp: '2026-11-20T12:00:00Z' } });
  const served = [workerInDefault('a'), workerInDefault('b')];

  test('deletes all its slices once', async () => {
    const { publish, slices, service, requests } = publisherBench();
    await publish(group, served);
    requests();
    expect(await publish(deleted, served)).toEqual({ type: 'done' });
    expect(requests()).toEqual(['DELETE endpointslices/a-endpoint', 'DELETE endpointslices/b-endpoint']);
    expect(await slices()).toEqual([]);
    expect(await service()).toBeDefined();
    requests();
    await publish(deleted, served);
    expect(requests()).toEqual([]);
  });

  test('deletes the slices of an earlier process', async () => {
    const { publish, another, slices } = publisherBench();
    await publish(group, served);
    const workers = served.map((worker) => ({ ...worker, createdAt: 0 }));
    await another().publish({ group: deleted, workers, endpoints: [] });
    expect(await slices()).toEqual([]);
  });

  test('deletes the slices of workers that no longer exist', async () => {
    const { publish, slices } = publisherBench();
    await publish(group, served);
    await publish(deleted, []);
    expect(await slices()).toEqual([]);
  });

  test('creates, joins and leaves no Service', async () => {
    const { publish, requests, clock } = publisherBench();
    const status = { endpoint: `former.${NAMESPACE}.svc` } as EndpointGroup['status'];
    await publish({ ...deleted, status }, served);
    await clock.advance(600_000);
    await publish({ ...deleted, status }, served);
    expect(requests()).toEqual([]);
  });

  test.each([
    [403, 'Forbidden'],
    [422, 'Invalid'],
  ])('continues when the API server rejects the deletion of a slice: %i', async (status, reason) => {
    const { publish, slices, answer } = publisherBench();
    await publish(group, served);
    answer(({ method, path }) =>
      method === 'DELETE' && path.endsWith('a-endpoint')
        ? refusedBy(status, reason, 'the policy of team-a says no')
        : undefined,
    );
    expect(await publish(deleted, served)).toEqual({
      type: 'problem',
      reason: 'NotPermitted',
      detail: 'Cannot delete an EndpointSlice of llm: the policy of team-a says no',
    });
    expect((await slices()).map(({ metadata }) => metadata.name)).toEqual(['a-endpoint']);
    answer(() => undefined);
    expect(await publish(deleted, served)).toEqual({ type: 'done' });
    expect(await slices()).toEqual([]);
  });

  test('deletes a slice at the next reconcile after the API server failed', async () => {
    const { publish, slices, answer } = publisherBench();
    await publish(group, served);
    const refusals = [refusedBy(403, 'Forbidden'), refusedBy(500, 'InternalError')];
    answer(({ method }) => (method === 'DELETE' ? refusals.shift() : undefined));
    await expect(publish(deleted, served)).rejects.toThrow('answered 500');
    expect(await publish(deleted, served)).toEqual({ type: 'done' });
    expect(await slices()).toEqual([]);
  });
});

describe('a worker that leaves', () => {
  const both = [workerInDefault('a'), workerInDefault('b')];
  const names = (slices: readonly EndpointSliceObject[]) => slices.map(({ metadata }) => metadata.name);

  test('continues when the API server rejects the deletion of its slice', async () => {
    const { publish, slices, answer } = publisherBench();
    await publish(group, both);
    answer(({ method, path }) =>
      method === 'DELETE' && path.endsWith('a-endpoint')
        ? refusedBy(403, 'Forbidden', 'not here')
        : undefined,
    );
    const refused = {
      type: 'problem',
      reason: 'NotPermitted',
      detail: 'Cannot delete an EndpointSlice of llm: not here',
    };
    expect(await publish(group, both, ['a', 'b'])).toEqual(refused);
    expect(names(await slices())).toEqual(['a-endpoint']);
    expect(await publish(group, both, ['a', 'b'])).toEqual(refused);
    answer(() => undefined);
    expect(await publish(group, both, ['a', 'b'])).toEqual({ type: 'done' });
    expect(await slices()).toEqual([]);
  });

  test('loses its slice only if the decision to remove it knew the problem of the Service', async () => {
    const { publish, slices, answer } = publisherBench();
    const renamed = groupInDefault({ endpointName: 'other' });
    await publish(group, both);
    answer(({ method }) => (method === 'POST' ? refusedBy(403, 'Forbidden') : undefined));
    expect(await publish(renamed, both, ['a'])).toMatchObject({ reason: 'NotPermitted' });
    expect(names(await slices())).toEqual(['a-endpoint', 'b-endpoint']);
    expect(await publish(renamed, both, ['a'])).toMatchObject({ reason: 'NotPermitted' });
    expect(names(await slices())).toEqual(['b-endpoint']);
  });
});

describe('a former Service that the API server does not release', () => {
  test.each<[string, EndpointGroup]>([
    ['of a group with another endpoint name', groupInDefault({ endpointName: 'other' })],
    ['of a group without ports', portless],
  ])('%s is reported', async (_, later) => {
    const { publish, answer, declare, service } = publisherBench();
    const present = await declare(group);
    await publish(present, []);
    answer(({ method, path }) =>
      method === 'DELETE' && path.includes('/services/')
        ? refusedBy(403, 'Forbidden', 'not here')
        : undefined,
    );
    const status = { endpoint: `llm.${NAMESPACE}.svc` } as EndpointGroup['status'];
    const changed = { ...later, metadata: present.metadata, status };
    expect(await publish(changed, [])).toEqual({
      type: 'problem',
      reason: 'NotPermitted',
      detail: 'Cannot release a former Service of llm: not here',
    });
    answer(() => undefined);
    expect(await publish(changed, [])).toEqual({ type: 'done' });
    expect(await service()).toBeUndefined();
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
  const served = { ...workerInDefault('a'), createdAt: 0 };
  const inDefault = { namespace: NAMESPACE, name: 'a-endpoint' };

  test('of another owner stays unchanged while other workers are published', async () => {
    const { publish, slices, kube } = publisherBench();
    await kube.create(endpointSliceResource, foreign);
    expect(await publish(group, [served, workerInDefault('b')])).toMatchObject({
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
    expect(await publish(group, [served, workerInDefault('b')])).toEqual({ type: 'done' });
  });

  test('of another owner is not deleted with a worker, by any process', async () => {
    const { publish, slices, kube, clock } = publisherBench();
    await kube.create(endpointSliceResource, foreign);
    await publish(group, [served]);
    await publish(group, [served], ['a']);
    const later = new Publisher({ cluster: kube, clock });
    await later.publish({ group, workers: [served], endpoints: [] });
    expect(await slices()).toHaveLength(1);
  });

  test('of another owner is reported for any worker', async () => {
    const { publish, kube } = publisherBench();
    const metadata = { ...foreign.metadata, name: 'b-endpoint' };
    await kube.create(endpointSliceResource, { ...foreign, metadata });
    expect(await publish(group, [workerInDefault('a'), workerInDefault('b')])).toMatchObject({
      reason: 'NameTaken',
      detail: expect.stringContaining('EndpointSlice b-endpoint'),
    });
  });

  test.each<[string, object]>([
    ['lost its labels', { metadata: { labels: null } }],
    ['lost its owner', { metadata: { ownerReferences: [] } }],
    [
      'belongs to an earlier worker',
      {
        metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'GpuInstance', name: 'a', uid: 'before' }] },
      },
    ],
    ['has no endpoint', { endpoints: [] }],
    [
      'has another address',
      { endpoints: [{ addresses: ['203.0.113.7', '203.0.113.66'], conditions: { ready: true } }] },
    ],
    ['is not ready', { endpoints: [{ addresses: ['203.0.113.7'], conditions: { ready: false } }] }],
  ])('of the operator that %s is repaired', async (_what, body) => {
    const { publish, slices, kube, clock } = publisherBench();
    await publish(group, [served]);
    const [before] = await slices();
    const ref = { namespace: NAMESPACE, name: 'a-endpoint' };
    await kube.patch(endpointSliceResource, ref, { type: 'merge', body });
    await clock.advance(600_000);
    expect(await publish(group, [served])).toEqual({ type: 'done' });
    const [after] = await slices();
    expect({ ...after, metadata: { ...after?.metadata, resourceVersion: '', generation: 0 } }).toEqual({
      ...before,
      metadata: { ...before?.metadata, resourceVersion: '', generation: 0 },
    });
  });

  test('of the operator with null lists is repaired', async () => {
    const { publish, slices, kube, answer, clock } = publisherBench();
    await publish(group, [served]);
    const [before] = await slices();
    const body = { endpoints: [], ports: [] };
    await kube.patch(endpointSliceResource, inDefault, { type: 'merge', body });
    const emptied = { ...(await slices())[0], endpoints: null, ports: null };
    await clock.advance(600_000);
    answer(({ method, path }) =>
      method === 'GET' && path.endsWith('a-endpoint') ? answeredBy(200, emptied) : undefined,
    );
    expect(await publish(group, [served])).toEqual({ type: 'done' });
    expect(await slices()).toMatchObject([{ endpoints: before?.endpoints, ports: before?.ports }]);
  });

  test('is not deleted after another client replaced it', async () => {
    const { publish, slices, kube } = publisherBench();
    await publish(group, [served]);
    await kube.delete(endpointSliceResource, inDefault);
    await kube.create(endpointSliceResource, foreign);
    await expect(publish(group, [served], ['a'])).rejects.toThrow('precondition');
    await publish(group, [served], ['a']);
    expect(await slices()).toMatchObject([{ endpoints: foreign.endpoints }]);
  });

  test('of the operator with another address type is created again', async () => {
    const { publish, slices, kube, clock } = publisherBench();
    await publish(group, [served]);
    const [before] = await slices();
    const { apiVersion, kind, metadata, endpoints, ports } = before as EndpointSliceObject;
    const { name, namespace, labels, ownerReferences } = metadata;
    await kube.delete(endpointSliceResource, { namespace: NAMESPACE, name });
    await kube.create<EndpointSliceObject>(endpointSliceResource, {
      ...{ apiVersion, kind, metadata: { name, namespace, labels, ownerReferences } },
      ...{ addressType: 'IPv6', endpoints, ports },
    });
    await clock.advance(600_000);
    expect(await publish(group, [served])).toEqual({ type: 'done' });
    expect(await slices()).toMatchObject([{ addressType: 'IPv4', endpoints }]);
  });

  test('is not deleted when another client replaces it at the same time', async () => {
    const { publish, another, slices, kube, justBefore } = publisherBench();
    const replace = async () => {
      await kube.delete(endpointSliceResource, { namespace: NAMESPACE, name: 'a-endpoint' });
      await kube.create(endpointSliceResource, foreign);
    };
    await publish(group, [served]);
    const taking = another();
    justBefore('DELETE', replace);
    await expect(taking.publish({ group, workers: [served], endpoints: [] })).rejects.toThrow('precondition');
    expect(await slices()).toMatchObject([{ endpoints: foreign.endpoints }]);
    await taking.publish({ group, workers: [served], endpoints: [] });
    expect(await slices()).toMatchObject([{ endpoints: foreign.endpoints }]);
  });

  test('with another address type is not deleted when another client replaces it at the same time', async () => {
    const { publish, slices, kube, justBefore } = publisherBench();
    await publish(group, [served]);
    justBefore('DELETE', async () => {
      await kube.delete(endpointSliceResource, { namespace: NAMESPACE, name: 'a-endpoint' });
      await kube.create(endpointSliceResource, foreign);
    });
    const moved = { ...workerInDefault('a', '2606:4700::9'), createdAt: 0 };
    await expect(publish(group, [moved])).rejects.toThrow('precondition');
    expect(await slices()).toMatchObject([{ endpoints: foreign.endpoints }]);
    expect(await publish(group, [moved])).toMatchObject({ reason: 'NameTaken' });
  });

  test.each([
    [403, 'Forbidden'],
    [422, 'Invalid'],
  ])('that the API server rejects is reported with its message: %i', async (status, reason) => {
    const { publish, requests, answer } = publisherBench();
    answer(({ method, path }) =>
      method === 'POST' && path.includes('endpointslices')
        ? refusedBy(status, reason, 'the policy of team-a says no')
        : undefined,
    );
    expect(await publish(group, [served])).toEqual({
      type: 'problem',
      reason: 'NotPermitted',
      detail: 'Cannot write EndpointSlice a-endpoint: the policy of team-a says no',
    });
    expect(requests().slice(-1)).toEqual(['POST endpointslices']);
    answer(() => undefined);
    expect(await publish(group, [served])).toEqual({ type: 'done' });
  });

  test('is written again at the next reconcile after the API server failed', async () => {
    const { publish, slices, answer } = publisherBench();
    let failures = 1;
    answer(({ method, path }) =>
      method === 'POST' && path.includes('endpointslices') && failures-- > 0
        ? refusedBy(500, 'InternalError')
        : undefined,
    );
    await expect(publish(group, [served])).rejects.toThrow('answered 500');
    expect(await slices()).toEqual([]);
    expect(await publish(group, [served])).toEqual({ type: 'done' });
    expect(await slices()).toHaveLength(1);
  });
});
