import { afterEach, expect, test } from 'vitest';
import {
  type Child,
  childrenOf,
  MACHINE_ID,
  NAMESPACE,
  objectCalled,
  sliceOfWorker,
  slicesOf,
} from '../../../test/builders/left-children.ts';
import { memoryCluster, refusedBy } from '../../../test/builders/memory-cluster.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { API_VERSION, gpuInstanceResource, labels } from '../../api/v1alpha1/names.ts';
import { silentLogger } from '../../lib/logger.ts';
import { seededRandom } from '../../lib/random.ts';
import type { Controller } from '../../runtime/controller.ts';
import {
  endpointSliceResource,
  namespaceResource,
  secretResource,
  serviceResource,
} from '../../runtime/kube/core-resources.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import { createChildSweep } from './child-sweep.ts';

let running: Controller | undefined;
afterEach(() => running?.stop(0));

/** Returns a cluster with these children, as the garbage collector leaves them. */
async function clusterWith(children: readonly Child[]) {
  const cluster = memoryCluster();
  const { kube, clock, memory } = cluster;
  await kube.create(namespaceResource, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: NAMESPACE },
  });
  for (const [resource, { metadata, ...child }] of children)
    await kube.create(resource, { ...child, metadata: { ...metadata, ownerReferences: [] } });
  const left = () =>
    ['secrets', 'services', 'endpointslices'].flatMap((plural) =>
      memory.store.all(memory.kind(plural)).map(({ metadata }) => (metadata as { name: string }).name),
    );
  const swept = async (options: Partial<Parameters<typeof createChildSweep>[0]> = {}) => {
    running = createChildSweep({
      ...{ cluster: kube, clock, random: seededRandom(5), log: silentLogger },
      ...{ namespaces: [], isLeader: () => true, retained: () => [], ...options },
    });
    running.start();
    await clock.advance(1);
    return left();
  };
  return Object.assign(cluster, { left, swept });
}

const ALL = ['job-connection', 'job', 'job-direct', 'job-ssh'];

test('scenario 112: what an object left whose finalizer was taken away by force goes: slices, Service and Secret', async () => {
  const { swept, sent } = await clusterWith(childrenOf(objectCalled('job', 'gone')));
  expect(await swept()).toEqual([]);
  expect(sent.filter((line) => line.startsWith('GET') && line.includes('/secrets?'))).toEqual([]);
});

test('the slice of a worker of a group goes, too', async () => {
  const slice = sliceOfWorker('llm-1');
  const { swept } = await clusterWith([[endpointSliceResource, slice]]);
  expect(await swept()).toEqual([]);
});

test('what an object left goes as soon as the next look, ten minutes after the last one', async () => {
  const { kube, swept, left, clock } = await clusterWith([]);
  await swept();
  for (const [resource, { metadata, ...child }] of childrenOf(objectCalled('job', 'gone')))
    await kube.create(resource, { ...child, metadata: { ...metadata, ownerReferences: [] } });
  await clock.advance(599_000);
  expect(left()).toEqual(ALL);
  await clock.advance(1_000);
  expect(left()).toEqual([]);
});

/** Creates a child with a uid of its own, as the API server does. */
async function create(cluster: Awaited<ReturnType<typeof clusterWith>>, name: string): Promise<GpuInstance> {
  const { spec } = objectCalled(name, '');
  const metadata = { name, namespace: NAMESPACE };
  return cluster.kube.create(gpuInstanceResource, {
    ...{ apiVersion: API_VERSION, kind: 'GpuInstance', metadata, spec },
  } as GpuInstance & KubeObject);
}

test('what is of an object that exists stays, also without its owner reference', async () => {
  const cluster = await clusterWith([]);
  for (const [resource, { metadata, ...child }] of childrenOf(await create(cluster, 'job')))
    await cluster.kube.create(resource, { ...child, metadata: { ...metadata, ownerReferences: [] } });
  expect(await cluster.swept()).toEqual(ALL);
});

test('of an object that was created again under the name nothing goes, and of the one before everything', async () => {
  const cluster = await clusterWith(childrenOf(objectCalled('job', 'gone')));
  const again = await create(cluster, 'job');
  await cluster.kube.delete(secretResource, { namespace: NAMESPACE, name: 'job-connection' });
  const [secret] = childrenOf(again);
  if (secret) await cluster.kube.create(...secret);
  expect(await cluster.swept()).toEqual(['job-connection']);
});

const withMetadata = (child: KubeObject, changes: Partial<KubeObject['metadata']>): KubeObject => ({
  ...child,
  metadata: { ...child.metadata, ...changes },
});

test.each([
  ['a copy of it under another name', { name: 'mine-direct' }],
  ['one of another name than slices have', { name: 'job' }],
  ['one without our mark', { labels: { [labels.managedBy]: 'somebody', [labels.instanceUid]: 'gone' } }],
  [
    'one that another controller manages',
    {
      labels: {
        ...{ [labels.managedBy]: 'gpu-rental-operator', [labels.instanceUid]: 'gone' },
        [labels.sliceManagedBy]: 'somebody',
      },
    },
  ],
])('a slice of a person stays: %s', async (_, changes) => {
  const slice = slicesOf(objectCalled('job', 'gone'))[0];
  if (!slice) throw new Error('there is no slice');
  const cluster = await clusterWith([[endpointSliceResource, withMetadata(slice, changes)]]);
  expect(await cluster.swept()).toEqual(cluster.left());
  expect(cluster.left()).toHaveLength(1);
});

test('a Secret and a Service of a person under the names stay', async () => {
  const slices = childrenOf(objectCalled('job', 'gone')).slice(2);
  const metadata = { namespace: NAMESPACE };
  const { swept } = await clusterWith([
    ...slices,
    [secretResource, { apiVersion: 'v1', kind: 'Secret', metadata: { ...metadata, name: 'job-connection' } }],
    [
      serviceResource,
      {
        ...{ apiVersion: 'v1', kind: 'Service', metadata: { ...metadata, name: 'job' } },
        spec: { ports: [{ name: 'http', port: 80 }] },
      } as KubeObject,
    ],
  ]);
  expect(await swept()).toEqual(['job-connection', 'job']);
});

test('what another object owns by now stays', async () => {
  const [slice] = slicesOf(objectCalled('job', 'gone'));
  const cluster = await clusterWith([]);
  const owner = await create(cluster, 'other');
  const { uid = '' } = owner.metadata;
  const ownerReferences = [{ apiVersion: API_VERSION, kind: 'GpuInstance', name: 'other', uid }];
  if (slice) await cluster.kube.create(endpointSliceResource, withMetadata(slice, { ownerReferences }));
  expect(await cluster.swept()).toEqual(['job-direct']);
});

test('beside a machine that an account keeps Secret and Service stay, and only the slices go', async () => {
  const { swept } = await clusterWith(childrenOf(objectCalled('job', 'gone')));
  const retained = () => [MACHINE_ID];
  expect(await swept({ retained })).toEqual(['job-connection', 'job']);
});

test('nothing goes by a process that does not lead any more', async () => {
  const { swept } = await clusterWith(childrenOf(objectCalled('job', 'gone')));
  expect(await swept({ isLeader: () => false })).toEqual(ALL);
});

test('namespaces that are watched are looked through one by one, and no other', async () => {
  const { swept, sent } = await clusterWith(childrenOf(objectCalled('job', 'gone')));
  expect(await swept({ namespaces: ['quiet'] })).toEqual(ALL);
  expect(sent.filter((line) => line.includes('/endpointslices?'))).toEqual([
    expect.stringContaining('/namespaces/quiet/endpointslices?'),
  ]);
});

test('a right that is missing is in the log, and asked for again by the next look', async () => {
  const cluster = await clusterWith(childrenOf(objectCalled('job', 'gone')));
  cluster.intercept = ({ path }) =>
    path.includes('/endpointslices?') ? refusedBy(403, 'Forbidden') : undefined;
  const warnings: string[] = [];
  const log = { ...silentLogger, warn: (text: string) => void warnings.push(text) };
  expect(await cluster.swept({ log: { ...log, child: () => log } })).toEqual(ALL);
  expect(warnings).toEqual([expect.stringMatching(/^cannot find or remove children of deleted objects/)]);
  cluster.intercept = () => undefined;
  await cluster.clock.advance(600_000);
  expect(cluster.left()).toEqual([]);
});
