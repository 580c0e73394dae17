import { describe, expect, test } from 'vitest';
import { memoryCluster, refusedBy } from '../../../test/builders/memory-cluster.ts';
import { given, holding, identity, withMachine } from '../../../test/builders/observed.ts';
import type { GpuInstanceManifestSpec } from '../../api/v1alpha1/gpu-instance.ts';
import { labels as labelNames } from '../../api/v1alpha1/names.ts';
import {
  type EndpointSliceObject,
  endpointSliceResource,
  namespaceResource,
  secretResource,
  serviceResource,
} from '../../runtime/kube/core-resources.ts';
import { noteOwnedChildren, removeOrphans } from './child-writes.ts';
import { endpointSlices, instanceService } from './children.ts';
import { ObjectMemory } from './memory.ts';
import { publish } from './publish.ts';
import type { StatusFields } from './types.ts';

const WITH_SSH: GpuInstanceManifestSpec = { ssh: true, ports: [{ name: 'http', containerPort: 8080 }] };

/** Returns an object whose spec was another one before. */
const changedTo = (spec: GpuInstanceManifestSpec) => {
  const { object } = given(withMachine({}, { spec }));
  return { ...object, metadata: { ...object.metadata, generation: 2 } };
};

const machineAt = (publicAddress: string, sshHost = publicAddress): StatusFields => ({
  ...holding(),
  ssh: { host: sshHost, port: 20_022 },
  publicAddress,
  ports: [{ containerPort: 8080, protocol: 'TCP', publicPort: 20_080, name: 'http' }],
});

async function clusterWithTeam() {
  const cluster = memoryCluster();
  await cluster.kube.create(namespaceResource, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'team' },
  });
  return cluster;
}

/** Returns a cluster with the children of an object, whose machine was at `before`. */
async function published(before: StatusFields, allowPrivate = false) {
  const cluster = await clusterWithTeam();
  const { kube, sent } = cluster;
  const ownerOf = (spec: GpuInstanceManifestSpec) => given(withMachine({}, { spec })).object;
  const to = (memory: ObjectMemory, allowPrivateAddresses = false) => ({
    cluster: kube,
    keys: identity.keys,
    memory,
    allowPrivateAddresses,
  });
  const process = new ObjectMemory();
  const first = { ...ownerOf(WITH_SSH), status: {} };
  await publish(first, { fields: before, serving: true, ready: true }, to(process, allowPrivate));
  sent.length = 0;
  const namesOf = async (resource: typeof secretResource) =>
    (await kube.list(resource, { namespace: 'team' })).items.map(({ metadata }) => metadata.name);
  return {
    cluster,
    kube,
    sent,
    owner: ownerOf(WITH_SSH),
    slices: () => namesOf(endpointSliceResource),
    services: () => namesOf(serviceResource),
    secrets: () => namesOf(secretResource),
    /** Withdraws the addresses, as the first reconcile after `kubectl delete`. */
    withdrawn: () => {
      const { metadata, ...owner } = ownerOf(WITH_SSH);
      const deleted = { ...owner, metadata: { ...metadata, deletionTimestamp: '2026-11-20T00:00:00Z' } };
      return publish(deleted, { fields: {}, serving: false, ready: false }, to(new ObjectMemory()));
    },
    /** Reconciles again in a new process without memory, unless it is given one. */
    again: (
      fields: StatusFields,
      {
        spec = WITH_SSH,
        serving = true,
        memory = new ObjectMemory(),
      }: {
        readonly spec?: GpuInstanceManifestSpec;
        readonly serving?: boolean;
        readonly memory?: ObjectMemory;
      } = {},
    ) =>
      publish(
        spec === WITH_SSH ? ownerOf(spec) : changedTo(spec),
        { fields, serving, ready: serving },
        to(memory),
      ),
  };
}

describe('what led to a machine', () => {
  test('goes where its address may not be published any more, and the Secret stays', async () => {
    const { again, slices, services, secrets } = await published(machineAt('10.1.2.3'), true);
    expect(await slices()).toEqual(['job-direct']);
    await again(machineAt('10.1.2.3'));
    expect(await slices()).toEqual([]);
    expect(await services()).toEqual(['job']);
    expect(await secrets()).toEqual(['job-connection']);
  });

  test('goes where the next machine has no such way in', async () => {
    const { again, slices } = await published(machineAt('203.0.113.5', '198.51.100.7'));
    expect(await slices()).toEqual(['job-direct', 'job-ssh']);
    await again(machineAt('203.0.113.6'));
    expect(await slices()).toEqual(['job-direct']);
  });

  test('goes with its Service where none is wanted any more', async () => {
    const { again, slices, services, secrets } = await published(machineAt('203.0.113.5'));
    await again(machineAt('203.0.113.5'), { spec: { ...WITH_SSH, service: { enabled: false } } });
    expect([await slices(), await services(), await secrets()]).toEqual([[], [], ['job-connection']]);
  });

  test('goes while nothing is served, but for the Service and the Secret', async () => {
    const { again, slices, services, secrets } = await published(machineAt('203.0.113.5'));
    await again(holding(), { serving: false });
    expect([await slices(), await services(), await secrets()]).toEqual([[], ['job'], ['job-connection']]);
  });

  test('is asked about once by each process, until it is written again', async () => {
    const { again, sent, slices } = await published(machineAt('203.0.113.5'));
    const memory = new ObjectMemory();
    const asked = () => sent.splice(0).filter((line) => line.endsWith('job-ssh'));
    const together = machineAt('203.0.113.5');
    const apart = machineAt('203.0.113.5', '198.51.100.7');
    await again(together, { memory });
    expect(asked()).toHaveLength(1);
    await again(together, { memory });
    expect(asked()).toEqual([]);
    await again(apart, { memory });
    await again(together, { memory });
    expect(await slices()).toEqual(['job-direct']);
  });

  test.each([
    ['Secret', secretResource, 'job-connection'],
    ['Service', serviceResource, 'job'],
  ])('is deleted when the %s of the object has another owner by now', async (kind, resource, name) => {
    const { again, kube, slices } = await published(machineAt('203.0.113.5', '198.51.100.7'));
    await kube.delete(resource, { namespace: 'team', name });
    const foreign = kind === 'Service' ? { spec: { ports: [{ name: 'http', port: 80 }] } } : {};
    await kube.create(resource, {
      apiVersion: 'v1',
      kind,
      metadata: { name, namespace: 'team' },
      ...foreign,
    });
    expect(await again(machineAt('203.0.113.6'))).toMatchObject({ type: 'nameTaken' });
    expect(await slices()).toEqual([]);
  });

  test.each([
    ['scenario 102: goes when its owner reference was removed before the finalizer ran (L7)', [], []],
    [
      'stays where another object owns it by now, whatever its labels say (L7)',
      [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'theirs', uid: 'somebody-else' }],
      ['job-direct'],
    ],
  ])('%s', async (_title, ownerReferences, left) => {
    const { kube, slices, withdrawn } = await published(machineAt('203.0.113.5'));
    const ref = { namespace: 'team', name: 'job-direct' };
    await kube.patch(endpointSliceResource, ref, { type: 'merge', body: { metadata: { ownerReferences } } });
    await withdrawn();
    expect(await slices()).toEqual(left);
  });

  test('is created again when only its owner reference is gone, and marked when an earlier version did not (L7)', async () => {
    const { again, kube } = await published(machineAt('203.0.113.5'));
    const ref = { namespace: 'team', name: 'job-direct' };
    const read = async () => (await kube.get<EndpointSliceObject>(endpointSliceResource, ref))?.metadata;
    const before = await read();
    const labels = { [labelNames.instanceUid]: null };
    await kube.patch(endpointSliceResource, ref, { type: 'merge', body: { metadata: { labels } } });
    await again(machineAt('203.0.113.5'));
    expect((await read())?.labels).toEqual(before?.labels);
    await kube.patch(endpointSliceResource, ref, {
      type: 'merge',
      body: { metadata: { ownerReferences: [] } },
    });
    await again(machineAt('203.0.113.5'));
    expect(await read()).toBeUndefined();
    await again(machineAt('203.0.113.5'));
    const after = await read();
    expect(after?.labels).toEqual(before?.labels);
    expect(after?.ownerReferences).toEqual(before?.ownerReferences);
  });

  test('that may not be deleted is said, and asked about again', async () => {
    const bench = await published(machineAt('203.0.113.5', '198.51.100.7'));
    const memory = new ObjectMemory();
    const refused = 'EndpointSlice job-ssh';
    bench.cluster.intercept = ({ method }) => (method === 'DELETE' ? refusedBy(403, 'Forbidden') : undefined);
    expect(await bench.again(machineAt('203.0.113.6'), { memory })).toEqual({
      type: 'failed',
      detail: `The operator may not delete ${refused}.`,
    });
    bench.cluster.intercept = () => undefined;
    await bench.again(machineAt('203.0.113.6'), { memory });
    expect(await bench.slices()).toEqual(['job-direct']);
  });

  test('is created again when the next machine has an address of the other family', async () => {
    const { again, kube, sent } = await published(machineAt('203.0.113.5'));
    await again(machineAt('2606:4700::1'));
    expect(sent.filter((line) => line.startsWith('DELETE'))).toHaveLength(1);
    const { items } = await kube.list<EndpointSliceObject>(endpointSliceResource, { namespace: 'team' });
    expect(items).toMatchObject([{ addressType: 'IPv6', endpoints: [{ addresses: ['2606:4700::1'] }] }]);
  });
});

test('keeps what belongs to another owner, whatever its name', async () => {
  const { kube } = await clusterWithTeam();
  const { object } = given(withMachine({}, { spec: WITH_SSH }));
  const other = { ...object, metadata: { ...object.metadata, uid: 'someone-else' } };
  const publication = { fields: machineAt('203.0.113.5', '198.51.100.7'), serving: true, ready: true };
  for (const slice of endpointSlices(other, publication, { allowPrivate: false }))
    await kube.create(endpointSliceResource, slice);
  const service = instanceService(other);
  if (service)
    await kube.create(serviceResource, {
      ...service,
      metadata: { ...service.metadata, ownerReferences: [] },
    });
  const without = changedTo({ ...WITH_SSH, service: { enabled: false } });
  const ports = {
    cluster: kube,
    keys: identity.keys,
    memory: new ObjectMemory(),
    allowPrivateAddresses: false,
  };
  await publish(without, publication, ports);
  expect((await kube.list(endpointSliceResource, { namespace: 'team' })).items).toHaveLength(2);
  expect((await kube.list(serviceResource, { namespace: 'team' })).items).toHaveLength(1);
});

describe('what is left when the machine of a deleted object has ended (L7)', () => {
  /**
   * Returns the remaining children after `kubectl delete` handled the owner references, with `finalizers` beside the
   * operator's.
   */
  async function leftAfter({
    references,
    finalizers = [],
    children = ['job-connection', 'job', 'job-direct'],
  }: {
    readonly references: readonly object[] | 'kept';
    readonly finalizers?: readonly string[];
    readonly children?: readonly string[];
  }) {
    const { kube, cluster, secrets, services, slices, owner } = await published(machineAt('203.0.113.5'));
    const places = [
      [secretResource, 'job-connection'],
      [serviceResource, 'job'],
      [endpointSliceResource, 'job-direct'],
    ] as const;
    for (const [resource, name] of places) {
      if (references === 'kept' || !children.includes(name)) continue;
      const body = { metadata: { ownerReferences: references } };
      await kube.patch(resource, { namespace: 'team', name }, { type: 'merge', body });
    }
    const { metadata } = owner;
    const deleted = {
      ...owner,
      metadata: { ...metadata, finalizers: [...(metadata.finalizers ?? []), ...finalizers] },
      status: { ...owner.status, binding: { name: 'job-connection' } },
    };
    cluster.sent.length = 0;
    await removeOrphans(deleted, { cluster: kube, memory: new ObjectMemory() });
    return [...(await secrets()), ...(await services()), ...(await slices())];
  }
  const all = ['job-connection', 'job', 'job-direct'];
  const theirs = { apiVersion: 'v1', kind: 'ConfigMap', name: 'theirs', uid: 'theirs' };

  test.each([
    ['goes when garbage collection has orphaned it', { references: [] }, []],
    [
      'goes when garbage collection is about to orphan it',
      { references: 'kept', finalizers: ['orphan'] },
      [],
    ],
    ['is left to garbage collection when the object still owns it', { references: 'kept' }, all],
    ['stays when another object owns it by now', { references: [theirs] }, all],
    [
      'goes as far as it is orphaned, and the rest stays',
      { references: [], children: ['job-connection'] },
      ['job', 'job-direct'],
    ],
  ] as const)('%s', async (_title, given, left) => {
    expect(await leftAfter(given)).toEqual(left);
  });

  describe('was seen to be owned while the end was proven, and', () => {
    async function noted({ orphaned = false }) {
      const { kube, cluster, owner, secrets } = await published(machineAt('203.0.113.5'));
      const deleted = { ...owner, status: { binding: { name: 'job-connection' } } };
      const ref = { namespace: 'team', name: 'job-connection' };
      const orphan = () =>
        kube.patch(secretResource, ref, { type: 'merge', body: { metadata: { ownerReferences: [] } } });
      if (orphaned) await orphan();
      const ports = { cluster: kube, memory: new ObjectMemory() };
      await noteOwnedChildren(deleted, ports);
      cluster.sent.length = 0;
      return { deleted, ports, orphan, secrets, sent: cluster.sent };
    }

    test('is asked about no more', async () => {
      const { deleted, ports, sent } = await noted({});
      await removeOrphans(deleted, ports);
      expect(sent).toEqual([]);
    });

    test('goes when the object has changed since, as orphaning changes it', async () => {
      const { deleted, ports, orphan, secrets } = await noted({});
      await orphan();
      const metadata = { ...deleted.metadata, resourceVersion: '9999' };
      await removeOrphans({ ...deleted, metadata }, ports);
      expect(await secrets()).toEqual([]);
    });

    test('goes when one of them was orphaned already', async () => {
      const { deleted, ports, secrets } = await noted({ orphaned: true });
      await removeOrphans(deleted, ports);
      expect(await secrets()).toEqual([]);
    });
  });

  test('is not looked at in advance while garbage collection orphans it', async () => {
    const { kube, cluster, owner } = await published(machineAt('203.0.113.5'));
    const metadata = { ...owner.metadata, finalizers: ['orphan'] };
    const memory = new ObjectMemory();
    cluster.sent.length = 0;
    await noteOwnedChildren(
      { ...owner, metadata, status: { binding: { name: 'job-connection' } } },
      { cluster: kube, memory },
    );
    expect(cluster.sent).toEqual([]);
    expect(memory.ownedChildrenAt).toBeUndefined();
  });

  test('is asked about at the end when it cannot be read in advance', async () => {
    const { kube, cluster, owner } = await published(machineAt('203.0.113.5'));
    const deleted = { ...owner, status: { binding: { name: 'job-connection' } } };
    const memory = new ObjectMemory();
    cluster.intercept = ({ method }) => (method === 'GET' ? refusedBy(403, 'Forbidden') : undefined);
    await noteOwnedChildren(deleted, { cluster: kube, memory });
    expect(memory.ownedChildrenAt).toBeUndefined();
  });

  test('is not asked about where the spec never wanted a Service, but for the Secret', async () => {
    const { kube, cluster, owner } = await published(machineAt('203.0.113.5'));
    const spec = { ...owner.spec, service: { ...owner.spec.service, enabled: false } };
    cluster.sent.length = 0;
    await removeOrphans(
      { ...owner, spec, status: { binding: { name: 'job-connection' } } },
      { cluster: kube, memory: new ObjectMemory() },
    );
    expect(cluster.sent).toHaveLength(1);
  });

  test('is not asked about when the object never published anything', async () => {
    const { kube, cluster, owner } = await published(machineAt('203.0.113.5'));
    cluster.sent.length = 0;
    await removeOrphans({ ...owner, status: {} }, { cluster: kube, memory: new ObjectMemory() });
    expect(cluster.sent).toEqual([]);
  });

  test('keeps no object from going when the operator may not delete it', async () => {
    const { kube, cluster, owner } = await published(machineAt('203.0.113.5'));
    cluster.intercept = ({ method }) => (method === 'DELETE' ? refusedBy(403, 'Forbidden') : undefined);
    const metadata = { ...owner.metadata, finalizers: ['orphan'] };
    const deleted = { ...owner, metadata, status: { binding: { name: 'job-connection' } } };
    await expect(
      removeOrphans(deleted, { cluster: kube, memory: new ObjectMemory() }),
    ).resolves.toBeUndefined();
  });
});
