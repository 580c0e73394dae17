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

describe('what is published', () => {
  test('a Service without selector, and a slice with its own mapped port for each worker', async () => {
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
  ])('never %s', async (address) => {
    const { publish, slices } = publisherBench();
    const workers = [workerInDefault('a', address)];
    const { problems } = endpointsOf(group, workers, { allowPrivate: false });
    expect(problems).toMatchObject([{ worker: 'a', detail: expect.stringContaining(address) }]);
    await publish(group, workers);
    expect(await slices()).toEqual([]);
  });

  test('private addresses where they are allowed, and loopback not even then', () => {
    const of = (address: string) =>
      endpointsOf(group, [workerInDefault('a', address)], { allowPrivate: true });
    expect(of('10.0.0.7').endpoints).toHaveLength(1);
    expect(of('127.0.0.1').endpoints).toEqual([]);
    expect(of('169.254.169.254').endpoints).toEqual([]);
  });

  test('nothing where the template declares no port', async () => {
    const { publish, requests } = publisherBench();
    expect(await publish(portless, [workerInDefault('a')])).toEqual({ type: 'done' });
    expect(requests()).toEqual(['GET services/llm']);
    await publish(portless, [workerInDefault('a')]);
    expect(requests()).toEqual([]);
  });

  test('nothing any more once the template declares no port', async () => {
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

  test('is remembered as it went last; before that nothing is the matter', async () => {
    const { publisher, publish, answer } = publisherBench();
    expect(publisher.published()).toEqual({ type: 'done' });
    answer(({ method }) => (method === 'POST' ? refusedBy(403, 'Forbidden') : undefined));
    const published = await publish(group, [workerInDefault('a')]);
    expect(published).toMatchObject({ type: 'problem', reason: 'NotPermitted' });
    expect(publisher.published()).toEqual(published);
  });
});

describe('order and effort', () => {
  test('one worker relieves another without a moment in which there is none', async () => {
    const { publish, requests } = publisherBench();
    await publish(group, [workerInDefault('a')]);
    requests();
    await publish(group, [workerInDefault('a'), workerInDefault('b')], ['a']);
    expect(requests()).toEqual(['POST endpointslices', 'DELETE endpointslices/a-endpoint']);
  });

  test('who goes is taken back even where the new one cannot be written', async () => {
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

  test('a slice whose writing was never answered is taken back as well', async () => {
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

  test('a steady group costs nothing, and is looked at every ten minutes without a write', async () => {
    const { publish, requests, clock } = publisherBench();
    await publish(group, [workerInDefault('a')]);
    requests();
    await publish(group, [workerInDefault('a')]);
    expect(requests()).toEqual([]);
    await clock.advance(600_000);
    await publish(group, [workerInDefault('a')]);
    expect(requests()).toEqual(['GET services/llm', 'GET endpointslices/a-endpoint']);
  });

  test('B05: asks before the first worker whether a slice may be written, once in ten minutes', async () => {
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

  test('B05: says for all workers that no slice may be written', async () => {
    const { publish, answer } = publisherBench();
    const message = 'exceeded quota: none, requested: count/endpointslices.discovery.k8s.io=1';
    answer(({ method, path }) =>
      method === 'POST' && path.includes('endpointslices') ? refusedBy(403, 'Forbidden', message) : undefined,
    );
    expect(await publish(group, [])).toEqual({
      type: 'problem',
      reason: 'NotPermitted',
      detail: `EndpointSlice llm-endpoint cannot be written: ${message}`,
      forAll: true,
    });
    answer(({ method, path }) =>
      method === 'POST' && path.includes('endpointslices') ? refusedBy(409, 'AlreadyExists') : undefined,
    );
    expect(await publish(group, [])).toEqual({ type: 'done' });
  });

  test('a worker that was taken back costs nothing more', async () => {
    const { publish, requests } = publisherBench();
    await publish(group, [workerInDefault('a')]);
    await publish(group, [workerInDefault('a')], ['a']);
    requests();
    await publish(group, [workerInDefault('a')], ['a']);
    expect(requests()).toEqual([]);
  });

  test('a worker that went and came back under its name is published again', async () => {
    const { publish, slices, kube } = publisherBench();
    await publish(group, [workerInDefault('a'), workerInDefault('b')]);
    await publish(group, [workerInDefault('b')]);
    await kube.delete(endpointSliceResource, { namespace: NAMESPACE, name: 'a-endpoint' });
    await publish(group, [workerInDefault('a'), workerInDefault('b')]);
    expect((await slices()).map(({ metadata }) => metadata.name)).toEqual(['a-endpoint', 'b-endpoint']);
  });

  test('finds a deleted object at the next check', async () => {
    const { publish, slices, kube, clock } = publisherBench();
    await publish(group, [workerInDefault('a')]);
    await kube.delete(endpointSliceResource, { namespace: NAMESPACE, name: 'a-endpoint' });
    await clock.advance(600_000);
    await publish(group, [workerInDefault('a')]);
    expect(await slices()).toHaveLength(1);
  });

  test('repairs a slice of a former process, and creates it again when its address type differs', async () => {
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

  test('a slice of the process before, of a worker that serves no more, is taken back', async () => {
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

  test('takes back all slices, whatever would be published, and that once', async () => {
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

  test('takes back what the process before published', async () => {
    const { publish, another, slices } = publisherBench();
    await publish(group, served);
    const workers = served.map((worker) => ({ ...worker, createdAt: 0 }));
    await another().publish({ group: deleted, workers, endpoints: [] });
    expect(await slices()).toEqual([]);
  });

  test('takes back the slices of workers that it has no more', async () => {
    const { publish, slices } = publisherBench();
    await publish(group, served);
    await publish(deleted, []);
    expect(await slices()).toEqual([]);
  });

  test('makes, joins and leaves no Service', async () => {
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
  ])('is not blocked by a slice that may not be deleted: %i', async (status, reason) => {
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
      detail: 'An EndpointSlice of llm cannot be deleted: the policy of team-a says no',
    });
    expect((await slices()).map(({ metadata }) => metadata.name)).toEqual(['a-endpoint']);
    answer(() => undefined);
    expect(await publish(deleted, served)).toEqual({ type: 'done' });
    expect(await slices()).toEqual([]);
  });

  test('takes back at the next pass what the API server failed to delete', async () => {
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

  test('is not blocked by a slice that may not be deleted, nor are the others', async () => {
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
      detail: 'An EndpointSlice of llm cannot be deleted: not here',
    };
    expect(await publish(group, both, ['a', 'b'])).toEqual(refused);
    expect(names(await slices())).toEqual(['a-endpoint']);
    expect(await publish(group, both, ['a', 'b'])).toEqual(refused);
    answer(() => undefined);
    expect(await publish(group, both, ['a', 'b'])).toEqual({ type: 'done' });
    expect(await slices()).toEqual([]);
  });

  test('is taken back where its leaving was decided with the problem of the Service in mind, and not before', async () => {
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

describe('a Service that may not be given up', () => {
  test.each<[string, EndpointGroup]>([
    ['by a group that has another one', groupInDefault({ endpointName: 'other' })],
    ['by a group without ports', portless],
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
      detail: 'A Service that llm leaves cannot be given up: not here',
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

  test('of another owner is left alone, and the other workers are published', async () => {
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

  test('of another owner is not deleted with a worker, by no process', async () => {
    const { publish, slices, kube, clock } = publisherBench();
    await kube.create(endpointSliceResource, foreign);
    await publish(group, [served]);
    await publish(group, [served], ['a']);
    const later = new Publisher({ cluster: kube, clock });
    await later.publish({ group, workers: [served], endpoints: [] });
    expect(await slices()).toHaveLength(1);
  });

  test('of another owner is reported whichever worker it is', async () => {
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
      'belonged to a worker before',
      {
        metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'GpuInstance', name: 'a', uid: 'before' }] },
      },
    ],
    ['leads nowhere', { endpoints: [] }],
    [
      'leads elsewhere, too',
      { endpoints: [{ addresses: ['203.0.113.7', '203.0.113.66'], conditions: { ready: true } }] },
    ],
    ['says not ready', { endpoints: [{ addresses: ['203.0.113.7'], conditions: { ready: false } }] }],
  ])('that we own and %s is repaired', async (_what, body) => {
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

  test('that we own and shows no lists, as the API server shows empty ones, is repaired', async () => {
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

  test('is not deleted when another client replaced it since it was written', async () => {
    const { publish, slices, kube } = publisherBench();
    await publish(group, [served]);
    await kube.delete(endpointSliceResource, inDefault);
    await kube.create(endpointSliceResource, foreign);
    await expect(publish(group, [served], ['a'])).rejects.toThrow('precondition');
    await publish(group, [served], ['a']);
    expect(await slices()).toMatchObject([{ endpoints: foreign.endpoints }]);
  });

  test('that we own and of the other address family is created again', async () => {
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

  test('is not deleted when another client replaces it just then', async () => {
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

  test('of the other address family is not deleted either when another client replaces it just then', async () => {
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
  ])('that may not be written is said in the words of the API server: %i', async (status, reason) => {
    const { publish, requests, answer } = publisherBench();
    answer(({ method, path }) =>
      method === 'POST' && path.includes('endpointslices')
        ? refusedBy(status, reason, 'the policy of team-a says no')
        : undefined,
    );
    expect(await publish(group, [served])).toEqual({
      type: 'problem',
      reason: 'NotPermitted',
      detail: 'EndpointSlice a-endpoint cannot be written: the policy of team-a says no',
    });
    expect(requests().slice(-1)).toEqual(['POST endpointslices']);
    answer(() => undefined);
    expect(await publish(group, [served])).toEqual({ type: 'done' });
  });

  test('that the API server failed to write is not written again before the next pass', async () => {
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
