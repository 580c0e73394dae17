import { describe, expect, test } from 'vitest';
import {
  groupInDefault,
  NAMESPACE,
  publisherBench,
  workerInDefault,
} from '../../../../test/builders/group-publisher.ts';
import { refusedBy } from '../../../../test/builders/memory-cluster.ts';
import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import { endpointGroupResource } from '../../../api/v1alpha1/names.ts';
import { type ServiceObject, serviceResource } from '../../../runtime/kube/core-resources.ts';

const group = groupInDefault();
/** Dry run of a slice while there is none. */
const TRIAL = 'POST endpointslices?dryRun=All&fieldValidation=Strict';
const foreign: ServiceObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'llm', namespace: NAMESPACE },
  spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
};

/** Returns the group with the status of a publication under this name. */
function publishedAs(name: string, spec: Record<string, unknown> = {}): EndpointGroup {
  const status = { endpoint: `${name}.${NAMESPACE}.svc` } as EndpointGroup['status'];
  return { ...groupInDefault(spec), status };
}

/** Returns a group with the endpoint name `llm`. */
function sharing(name: string, containerPort = 8000): EndpointGroup {
  const ports = [{ name: 'http', containerPort }];
  const template = { spec: { image: 'x/y:1', offers: [{ maxPricePerHour: '1' }], ports } };
  return groupInDefault({ endpointName: 'llm', template }, { metadata: { name, uid: `uid-${name}` } });
}

const ownersOf = (service: ServiceObject | undefined) =>
  service?.metadata.ownerReferences?.map(({ name }) => name);

describe('a Service of that name', () => {
  test('of another owner stays unchanged and is checked again after 15 s', async () => {
    const { publish, slices, kube, requests, clock } = publisherBench();
    await kube.create(serviceResource, foreign);
    const published = await publish(group, [workerInDefault('a')]);
    expect(published).toMatchObject({
      type: 'problem',
      reason: 'NameTaken',
      detail: expect.stringContaining('endpointName'),
    });
    expect(await slices()).toEqual([]);
    requests();
    await publish(group, [workerInDefault('a')]);
    expect(requests()).toEqual([]);
    await clock.advance(15_000);
    await kube.delete(serviceResource, { namespace: NAMESPACE, name: 'llm' });
    expect(await publish(group, [workerInDefault('a')])).toEqual({ type: 'done' });
  });

  test('of the operator is not read again after 15 s', async () => {
    const { publish, requests, clock } = publisherBench();
    await publish(group, []);
    requests();
    await clock.advance(15_000);
    await publish(group, []);
    expect(requests()).toEqual([]);
  });

  test('is not deleted by a group that does not own it', async () => {
    const { publisher, kube, service } = publisherBench();
    await kube.create(serviceResource, foreign);
    await publisher.withdraw(group);
    expect(await service()).toBeDefined();
  });

  test.each([
    [403, 'Forbidden'],
    [422, 'Invalid'],
  ])('that the API server rejects is reported with its message: %i', async (status, reason) => {
    const { publish, slices, answer } = publisherBench();
    answer(({ method }) =>
      method === 'POST' ? refusedBy(status, reason, 'the quota of team-a is used up') : undefined,
    );
    expect(await publish(group, [workerInDefault('a')])).toEqual({
      type: 'problem',
      reason: 'NotPermitted',
      detail: 'Cannot write Service llm: the quota of team-a is used up',
      forAll: true,
    });
    expect(await slices()).toEqual([]);
  });

  test('that the API server failed to write is retried and no problem of the group', async () => {
    const { publish, publisher, service, answer } = publisherBench();
    answer(({ method }) => (method === 'POST' ? refusedBy(500, 'InternalError') : undefined));
    await expect(publish(group, [])).rejects.toThrow('answered 500');
    expect(publisher.published()).toEqual({ type: 'done' });
    answer(() => undefined);
    expect(await publish(group, [])).toEqual({ type: 'done' });
    expect(await service()).toBeDefined();
  });
});

describe('a Service that groups share', () => {
  test('has the same ports for all groups and is deleted by the last one', async () => {
    const { publish, service, publisher, another } = publisherBench();
    await publish(sharing('one'), []);
    const other = another();
    expect(await other.publish({ group: sharing('two'), workers: [], endpoints: [] })).toEqual({
      type: 'done',
    });
    expect(ownersOf(await service())).toEqual(['one', 'two']);
    await publisher.withdraw(sharing('one'));
    expect(ownersOf(await service())).toEqual(['two']);
    await other.withdraw(sharing('two'));
    expect(await service()).toBeUndefined();
  });

  test('is only read by each group every ten minutes', async () => {
    const { publish, another, requests, clock } = publisherBench();
    await publish(sharing('one'), []);
    await another().publish({ group: sharing('two'), workers: [], endpoints: [] });
    await clock.advance(600_000);
    requests();
    await publish(sharing('one'), []);
    expect(requests()).toEqual(['GET services/llm', TRIAL]);
  });

  const portsDiffer = {
    type: 'problem',
    reason: 'NameTaken',
    detail:
      'Service llm is shared and has other ports than the template; declare the same ports in all its groups.',
    forAll: true,
  };

  /** Returns a bench with two groups that own the Service with port 8000. */
  async function shared() {
    const bench = publisherBench();
    const { another, declare, kube } = bench;
    const publishers = { one: another(), two: another() };
    const publishOne = (owner: 'one' | 'two', of: EndpointGroup) =>
      publishers[owner].publish({ group: of, workers: [], endpoints: [] });
    const change = async (owner: 'one' | 'two', containerPort: number) =>
      publishOne(owner, await declare(sharing(owner, containerPort)));
    const remove = (name: string) => kube.delete(endpointGroupResource, { namespace: NAMESPACE, name });
    const portsNow = async () => (await bench.service())?.spec.ports.map(({ port }) => port);
    for (const owner of ['one', 'two'] as const) await change(owner, 8000);
    return { ...bench, publishOne, change, remove, portsNow };
  }

  test('is not joined by a group with other ports', async () => {
    const { declare, another, service } = publisherBench();
    await another().publish({ group: await declare(sharing('one')), workers: [], endpoints: [] });
    const before = await service();
    const two = await declare(sharing('two', 9000));
    expect(await another().publish({ group: two, workers: [], endpoints: [] })).toEqual(portsDiffer);
    expect(await service()).toEqual(before);
  });

  test('keeps its ports when one group changes its ports', async () => {
    const { change, service } = await shared();
    const before = await service();
    expect(await change('one', 9000)).toEqual(portsDiffer);
    expect(await service()).toEqual(before);
  });

  test('gets new ports when all groups declare them, and no problem remains', async () => {
    const { change, declare, publishOne, portsNow, clock } = await shared();
    expect(await change('one', 9000)).toEqual(portsDiffer);
    expect(await portsNow()).toEqual([8000]);
    expect(await change('two', 9000)).toEqual({ type: 'done' });
    expect(await portsNow()).toEqual([9000]);
    await clock.advance(15_000);
    expect(await publishOne('one', await declare(sharing('one', 9000)))).toEqual({ type: 'done' });
  });

  test('is joined by a group whose ports all its groups declare, although it still has others', async () => {
    const { another, declare, portsNow, service } = await shared();
    for (const name of ['one', 'two']) await declare(sharing(name, 9000));
    const three = await declare(sharing('three', 9000));
    expect(await another().publish({ group: three, workers: [], endpoints: [] })).toEqual({ type: 'done' });
    expect(await portsNow()).toEqual([9000]);
    expect(ownersOf(await service())).toEqual(['one', 'two', 'three']);
  });

  test('keeps its ports when only some groups declare the new ones', async () => {
    const { another, change, declare, portsNow } = await shared();
    await another().publish({ group: await declare(sharing('three')), workers: [], endpoints: [] });
    await declare(sharing('two', 9000));
    expect(await change('one', 9000)).toEqual(portsDiffer);
    expect(await portsNow()).toEqual([8000]);
  });

  test('gets the ports of the remaining group when the other one is deleted', async () => {
    const { change, remove, portsNow } = await shared();
    await remove('two');
    expect(await change('one', 9000)).toEqual({ type: 'done' });
    expect(await portsNow()).toEqual([9000]);
  });

  test('gets the ports of the remaining group when the other one is being deleted', async () => {
    const { change, remove, portsNow, kube } = await shared();
    const body = { metadata: { finalizers: ['example.com/held'] } };
    await kube.patch(endpointGroupResource, { namespace: NAMESPACE, name: 'two' }, { type: 'merge', body });
    await remove('two');
    expect(await change('one', 9000)).toEqual({ type: 'done' });
    expect(await portsNow()).toEqual([9000]);
  });

  test('ignores a new group with the name of an owner', async () => {
    const { change, remove, declare, portsNow } = await shared();
    await remove('two');
    await declare(sharing('two', 8000));
    expect(await change('one', 9000)).toEqual({ type: 'done' });
    expect(await portsNow()).toEqual([9000]);
  });

  test('ignores an owner that is no group', async () => {
    const { change, remove, portsNow, service, kube } = await shared();
    await remove('two');
    const note = { apiVersion: 'v1', kind: 'ConfigMap', name: 'two', uid: 'uid-note' };
    const body = {
      metadata: { ownerReferences: [...((await service())?.metadata.ownerReferences ?? []), note] },
    };
    await kube.patch(serviceResource, { namespace: NAMESPACE, name: 'llm' }, { type: 'merge', body });
    expect(await change('one', 9000)).toEqual({ type: 'done' });
    expect(await portsNow()).toEqual([9000]);
  });

  test('gets the ports of the first group when it has no owner', async () => {
    const { change, portsNow, service, kube } = await shared();
    const body = { metadata: { ownerReferences: null } };
    await kube.patch(serviceResource, { namespace: NAMESPACE, name: 'llm' }, { type: 'merge', body });
    expect(await change('one', 9000)).toEqual({ type: 'done' });
    expect(await portsNow()).toEqual([9000]);
    expect(ownersOf(await service())).toEqual(['one']);
  });

  test('reads the other groups by a list with a name, and only if ports differ', async () => {
    const { change, declare, publishOne, requests } = await shared();
    const changed = await declare(sharing('one', 9000));
    requests();
    await publishOne('one', changed);
    const asked = 'GET endpointgroups?limit=100&fieldSelector=metadata.name%3Dtwo';
    expect(requests()).toEqual(['GET services/llm', asked]);
    const same = await declare(sharing('two', 8000));
    requests();
    await publishOne('two', same);
    expect(requests()).toEqual([]);
    await change('two', 9000);
    expect(requests().slice(-2)).toEqual(['PATCH services/llm', TRIAL]);
  });

  test('gets the ports of its only group', async () => {
    const { publish, service } = publisherBench();
    await publish(sharing('one'), []);
    expect(await publish(sharing('one', 9000), [])).toEqual({ type: 'done' });
    expect(await service()).toMatchObject({
      metadata: { ownerReferences: [{ name: 'one' }] },
      spec: { ports: [{ name: 'http', port: 9000, protocol: 'TCP' }] },
    });
  });

  test('is not written by a group that leaves it without owning it', async () => {
    const { publish, another, requests, service } = publisherBench();
    await publish(sharing('one'), []);
    requests();
    await another().withdraw(sharing('two'));
    expect(requests()).toEqual(['GET services/llm']);
    expect(ownersOf(await service())).toEqual(['one']);
  });

  test('stays when a group joins it while the last one leaves', async () => {
    const { publish, publisher, another, service, justBefore } = publisherBench();
    await publish(sharing('one'), []);
    justBefore('DELETE', () => another().publish({ group: sharing('two'), workers: [], endpoints: [] }));
    await expect(publisher.withdraw(sharing('one'))).rejects.toThrow('precondition');
    await publisher.withdraw(sharing('one'));
    expect(ownersOf(await service())).toEqual(['two']);
  });

  test('keeps two groups that join at the same time', async () => {
    const { publish, another, service, justBefore } = publisherBench();
    await publish(sharing('one'), []);
    const three = { group: sharing('three'), workers: [], endpoints: [] };
    justBefore('PATCH', () => another().publish({ group: sharing('two'), workers: [], endpoints: [] }));
    const late = another();
    await expect(late.publish(three)).rejects.toThrow();
    await late.publish(three);
    expect(ownersOf(await service())).toEqual(['one', 'two', 'three']);
  });

  test('keeps a group that joins while another one leaves', async () => {
    const { publish, publisher, another, service, justBefore } = publisherBench();
    await publish(sharing('one'), []);
    await another().publish({ group: sharing('two'), workers: [], endpoints: [] });
    justBefore('PATCH', () => another().publish({ group: sharing('three'), workers: [], endpoints: [] }));
    await expect(publisher.withdraw(sharing('one'))).rejects.toThrow();
    await publisher.withdraw(sharing('one'));
    expect(ownersOf(await service())).toEqual(['two', 'three']);
  });
});

describe('a group with a new endpoint name', () => {
  const renamed = publishedAs('llm', { endpointName: 'chat' });

  test('moves its workers to the new Service and deletes the former one', async () => {
    const { publish, slices, service } = publisherBench();
    await publish(group, [workerInDefault('a')]);
    expect(await publish(renamed, [workerInDefault('a')])).toEqual({ type: 'done' });
    expect(await slices()).toMatchObject([
      { metadata: { labels: { 'kubernetes.io/service-name': 'chat' } }, endpoints: [{}] },
    ]);
    expect(await service('chat')).toBeDefined();
    expect(await service('llm')).toBeUndefined();
  });

  test('keeps its new Service and no longer reads the former one', async () => {
    const { publish, service, requests, clock } = publisherBench();
    await publish(group, []);
    await publish(renamed, []);
    requests();
    await publish(publishedAs('chat', { endpointName: 'chat' }), []);
    expect(requests()).toEqual([]);
    await clock.advance(600_000);
    expect(await publish(publishedAs('chat', { endpointName: 'chat' }), [])).toEqual({ type: 'done' });
    expect(await service('chat')).toBeDefined();
  });

  test('keeps its former Service while another owner has the new name', async () => {
    const { publish, service, slices, kube, clock } = publisherBench();
    const ref = { namespace: NAMESPACE, name: 'chat' };
    await publish(group, [workerInDefault('a')]);
    await kube.create(serviceResource, { ...foreign, metadata: ref });
    expect(await publish(renamed, [workerInDefault('a')])).toMatchObject({ reason: 'NameTaken' });
    expect(await service('llm')).toBeDefined();
    expect(await slices()).toMatchObject([{ metadata: { labels: { 'kubernetes.io/service-name': 'llm' } } }]);
    await kube.delete(serviceResource, ref);
    await clock.advance(15_000);
    expect(await publish(publishedAs('chat', { endpointName: 'chat' }), [])).toEqual({ type: 'done' });
    expect(await service('llm')).toBeUndefined();
  });

  test('keeps its former Service while the new one has no slice', async () => {
    const { publish, service, answer } = publisherBench();
    await publish(group, [workerInDefault('a')]);
    answer(({ method, path }) =>
      method !== 'GET' && path.includes('endpointslices') ? refusedBy(403, 'Forbidden') : undefined,
    );
    expect(await publish(renamed, [workerInDefault('a')])).toMatchObject({ reason: 'NotPermitted' });
    expect([await service('llm'), await service('chat')]).toEqual([expect.anything(), expect.anything()]);
    answer(() => undefined);
    expect(await publish(publishedAs('chat', { endpointName: 'chat' }), [workerInDefault('a')])).toEqual({
      type: 'done',
    });
    expect(await service('llm')).toBeUndefined();
  });

  test('keeps the Service when its former name is set again', async () => {
    const { publish, service, kube } = publisherBench();
    await publish(group, []);
    await kube.create(serviceResource, { ...foreign, metadata: { namespace: NAMESPACE, name: 'chat' } });
    await publish(renamed, []);
    expect(await publish(publishedAs('chat'), [])).toEqual({ type: 'done' });
    expect(await service('llm')).toBeDefined();
  });

  test('leaves both Services when it is deleted during the change', async () => {
    const { publish, another, service } = publisherBench();
    await publish(group, []);
    await another().publish({ group: groupInDefault({ endpointName: 'chat' }), workers: [], endpoints: [] });
    expect([await service('llm'), await service('chat')]).toEqual([expect.anything(), expect.anything()]);
    await another().withdraw(renamed);
    expect([await service('llm'), await service('chat')]).toEqual([undefined, undefined]);
  });
});
