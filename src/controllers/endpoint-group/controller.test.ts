import { describe, expect, test } from 'vitest';
import { groupObject, workerObject } from '../../../test/builders/group-worker.ts';
import { type MemoryCluster, memoryCluster, refusedBy } from '../../../test/builders/memory-cluster.ts';
import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import {
  endpointGroupResource,
  GROUP_FINALIZER,
  gpuInstanceResource,
  labels,
} from '../../api/v1alpha1/names.ts';
import { silentLogger } from '../../lib/logger.ts';
import { seededRandom } from '../../lib/random.ts';
import { controllerReference, objectKey, refOf, uidOf } from '../../runtime/kube/kube-object.ts';
import type { Change, Informer } from '../../runtime/list-watch/informer.ts';
import { createEndpointGroupController } from './controller.ts';
import { GroupIdentities } from './identity/identities.ts';
import { LoadSources } from './load/sources.ts';
import { GROUP_REPORTER, groupRecord, LoadStore } from './load/state.ts';
import { defaultTimes } from './times.ts';

/** Returns an informer with these objects, and a function that emits a change. */
function copyOf<T extends EndpointGroup>(objects: readonly T[], { isCurrent = true } = {}) {
  const listeners: ((change: Change<T>) => void)[] = [];
  const informer: Pick<
    Informer<T>,
    'get' | 'list' | 'byIndex' | 'onChange' | 'wrote' | 'isCurrent' | 'keep'
  > = {
    get: (key) => objects.find(({ metadata }) => objectKey(metadata) === key),
    list: () => objects,
    byIndex: () => [],
    onChange: (listener) => {
      listeners.push(listener);
      return () => {};
    },
    wrote: () => {},
    keep: (object) => object as T,
    isCurrent: () => isCurrent,
  };
  const emit = (change: Change<T>) => {
    for (const listener of listeners) listener(change);
  };
  return { informer: informer as Informer<T>, emit };
}

const WORKERS = /\/gpuinstances\b/;

interface Setting {
  /** True if the informer never shows writes of this process. */
  readonly groups?: boolean;
  readonly workers?: boolean;
  /** True if the group is being deleted. */
  readonly isDeleting?: boolean;
  readonly gateway?: object;
}

async function bench(
  { kube, clock }: MemoryCluster,
  isLeading: () => boolean = () => true,
  setting: Setting = {},
) {
  const { metadata, ...body } = groupObject({
    minLoad: '50',
    ...(setting.gateway && { gateway: setting.gateway }),
  });
  const finalizers = setting.isDeleting ? [GROUP_FINALIZER] : [];
  const desired = { ...body, metadata: { name: metadata.name, namespace: 'default', finalizers } };
  const created = await kube.create<EndpointGroup>(endpointGroupResource, desired);
  if (setting.isDeleting) await kube.delete(endpointGroupResource, refOf(created));
  const group = (await kube.get<EndpointGroup>(endpointGroupResource, refOf(created))) ?? created;
  const env = { clock, random: seededRandom(1), log: silentLogger };
  const loadStore = new LoadStore();
  const times = defaultTimes;
  const groups = copyOf([group], { isCurrent: !setting.groups });
  const transport = () => Promise.reject(new Error('no network'));
  const controller = createEndpointGroupController({
    ...{ env, cluster: kube, loadStore, times, isLeading, allowPrivateAddresses: false },
    groups: groups.informer,
    instances: copyOf([], { isCurrent: !setting.workers }).informer as never,
    events: { record: () => {} } as never,
    identities: new GroupIdentities({ cluster: kube, clock }),
    readers: new LoadSources({
      ...{
        clock,
        loadStore,
        times,
        transport,
        takesReports: false,
        takesGatewayReports: false,
      },
      addresses: { allowPrivate: false, mapAddress: (address) => address },
      tokenOf: () => undefined,
      prometheus: undefined,
    }),
    isFrozen: () => false,
    reportHostFailure: () => {},
    accountCapOf: () => undefined,
    outlook: { ask: async () => ({ inHand: new Set<string>() }), forget: () => {} },
  });
  controller.start();
  return { controller, group, groups, loadStore };
}

describe('the controller of groups', () => {
  test('writes nothing until its process leads', async () => {
    const cluster = memoryCluster();
    let isLeading = false;
    const { controller } = await bench(cluster, () => isLeading);
    cluster.sent.length = 0;
    await cluster.clock.advance(30_000);
    expect(cluster.sent).toEqual([]);
    isLeading = true;
    await cluster.clock.advance(2_000);
    expect(cluster.sent.filter((one) => one.startsWith('POST') && WORKERS.test(one))).toHaveLength(1);
    await controller.stop();
  });

  const created = ({ sent }: MemoryCluster) =>
    sent.filter((one) => one.startsWith('POST') && WORKERS.test(one)).length;

  test('reads a group from the API server when the informer does not show its write in time', async () => {
    const cluster = memoryCluster();
    const { controller } = await bench(cluster, () => true, { groups: true });
    await cluster.clock.advance(1_000);
    expect(created(cluster)).toBe(0);
    await cluster.clock.advance(3_000);
    expect(created(cluster)).toBe(1);
    await controller.stop();
  });

  test('reads a created worker from the API server when the informer does not show it in time', async () => {
    const cluster = memoryCluster();
    const { controller } = await bench(cluster, () => true, { workers: true });
    await cluster.clock.advance(1_000);
    const asked = () => cluster.sent.filter((one) => /^GET .*\/gpuinstances\/llm-\w+$/.test(one)).length;
    expect([created(cluster), asked()]).toEqual([1, 0]);
    // The next tick reads the workers.
    await cluster.clock.advance(13_000);
    expect([created(cluster), asked() > 0]).toEqual([1, true]);
    await controller.stop();
  });

  test('reads a group from the API server when its finalizer could not be removed', async () => {
    const cluster = memoryCluster();
    cluster.intercept = ({ method, path }) =>
      method === 'PATCH' && path.includes('/endpointgroups/') ? refusedBy(409, 'Conflict') : undefined;
    const { controller } = await bench(cluster, () => true, { isDeleting: true });
    cluster.sent.length = 0;
    await cluster.clock.advance(100);
    const calls = cluster.sent.map((one) => one.split('?')[0]);
    const released = calls.findIndex((one) => /^PATCH .*\/endpointgroups\/llm$/.test(one ?? ''));
    expect(released).toBeGreaterThanOrEqual(0);
    expect(calls[released + 1]).toMatch(/^GET .*\/endpointgroups\/llm$/);
    await controller.stop();
  });

  test('creates no worker when the informer misses an existing one', async () => {
    const cluster = memoryCluster();
    const { controller, group } = await bench(cluster);
    const { metadata, ...worker } = workerObject('llm-missed');
    await cluster.kube.create<GpuInstance>(gpuInstanceResource, {
      ...worker,
      metadata: {
        ...{ name: metadata.name, namespace: 'default' },
        labels: { [labels.endpointGroup]: group.metadata.name },
        ownerReferences: [controllerReference(group)],
      },
    });
    cluster.sent.length = 0;
    await cluster.clock.advance(30_000);
    expect(created(cluster)).toBe(0);
    await controller.stop();
  });

  test('creates workers while requests for the Secrets of the gateway hang', async () => {
    const cluster = memoryCluster();
    cluster.intercept = ({ path }) => (path.includes('/secrets') ? new Promise(() => {}) : undefined);
    const { controller } = await bench(cluster, () => true, { gateway: { link: 'TLS' } });
    await cluster.clock.advance(5_000);
    expect(created(cluster)).toBe(1);
    await controller.stop();
  });

  test('reports the error of the Secrets of the gateway until they are written', async () => {
    const cluster = memoryCluster();
    cluster.intercept = ({ path }) =>
      path.includes('/secrets') ? refusedBy(500, 'InternalError', 'etcd is away') : undefined;
    const { controller, group } = await bench(cluster, () => true, { gateway: { link: 'TLS' } });
    const reason = async () => {
      const now = await cluster.kube.get<EndpointGroup>(endpointGroupResource, refOf(group));
      return now?.status?.conditions?.find(({ type }) => type === 'Ready');
    };
    await cluster.clock.advance(20_000);
    expect(await reason()).toMatchObject({
      reason: 'NotPermitted',
      message: expect.stringContaining('etcd is away'),
    });
    cluster.intercept = () => undefined;
    await cluster.clock.advance(40_000);
    expect((await reason())?.reason).not.toBe('NotPermitted');
    await controller.stop();
  });

  test('forgets the reports of a deleted group', async () => {
    const cluster = memoryCluster();
    const { controller, group, groups, loadStore } = await bench(cluster, () => false);
    const report = { reporter: GROUP_REPORTER, record: groupRecord(5, 0), at: 0, times: defaultTimes };
    loadStore.report(uidOf(group), report);
    groups.emit({ key: objectKey(group.metadata), type: 'deleted', object: group });
    expect(loadStore.has(uidOf(group))).toBe(false);
    await controller.stop();
  });

  test('forgets the reports of a former machine', async () => {
    const cluster = memoryCluster();
    const { controller, group, loadStore } = await bench(cluster);
    loadStore.report(uidOf(group), {
      reporter: 'uid-gone/7',
      record: groupRecord(5, 0),
      at: 0,
      times: defaultTimes,
    });
    await cluster.clock.advance(1_000);
    expect([...loadStore.get(uidOf(group)).reporters.keys()]).toEqual([]);
    await controller.stop();
  });

  test.each<[string, number, string, string | undefined]>([
    ['retries a failed write before the next tick', 500, 'InternalError', undefined],
    ['reports a refused write before the next tick', 403, 'Forbidden', 'NotPermitted'],
  ])('%s', async (_, status, reason, expected) => {
    const cluster = memoryCluster();
    cluster.intercept = ({ method, path }) =>
      method === 'POST' && WORKERS.test(path) ? refusedBy(status, reason) : undefined;
    const { controller, group } = await bench(cluster);
    await cluster.clock.advance(5_000);
    const tries = cluster.sent.filter((one) => one.startsWith('POST') && WORKERS.test(one)).length;
    const now = await cluster.kube.get<EndpointGroup>(endpointGroupResource, refOf(group));
    const ready = now?.status?.conditions?.find(({ type }) => type === 'Ready');
    if (expected === undefined) expect(tries).toBeGreaterThan(1);
    else expect(ready?.reason).toBe(expected);
    await controller.stop();
  });
});
