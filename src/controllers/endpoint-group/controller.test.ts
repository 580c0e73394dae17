import { describe, expect, test } from 'vitest';
import { groupObject } from '../../../test/builders/group-worker.ts';
import { type MemoryCluster, memoryCluster, refusedBy } from '../../../test/builders/memory-cluster.ts';
import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import { endpointGroupResource } from '../../api/v1alpha1/names.ts';
import { silentLogger } from '../../lib/logger.ts';
import { seededRandom } from '../../lib/random.ts';
import { objectKey, refOf, uidOf } from '../../runtime/kube/kube-object.ts';
import type { Change, Informer } from '../../runtime/list-watch/informer.ts';
import { createEndpointGroupController } from './controller.ts';
import { GROUP_REPORTER } from './load/book.ts';
import { LoadBooks } from './load/books.ts';
import { LoadReaders } from './load/readers.ts';
import { groupRecord } from './load/static.ts';
import { defaultTimes } from './scaling/scaling-times.ts';

/** A copy that holds these objects, and the way to tell of a change in it. */
function copyOf<T extends EndpointGroup>(objects: readonly T[]) {
  const listeners: ((change: Change<T>) => void)[] = [];
  const informer: Pick<Informer<T>, 'get' | 'list' | 'byIndex' | 'onChange' | 'wrote' | 'isCurrent'> = {
    get: (key) => objects.find(({ metadata }) => objectKey(metadata) === key),
    list: () => objects,
    byIndex: () => [],
    onChange: (listener) => {
      listeners.push(listener);
      return () => {};
    },
    wrote: () => {},
    isCurrent: () => true,
  };
  const tell = (change: Change<T>) => {
    for (const listener of listeners) listener(change);
  };
  return { informer: informer as Informer<T>, tell };
}

const WORKERS = /\/gpuinstances\b/;

async function bench({ kube, clock }: MemoryCluster, isLeading: () => boolean = () => true) {
  const { metadata, ...wanted } = groupObject({ minLoad: '50' });
  const made = { ...wanted, metadata: { name: metadata.name, namespace: 'default' } };
  const group = await kube.create<EndpointGroup>(endpointGroupResource, made);
  const env = { clock, random: seededRandom(1), log: silentLogger };
  const books = new LoadBooks();
  const times = defaultTimes;
  const groups = copyOf([group]);
  const transport = () => Promise.reject(new Error('no network'));
  const controller = createEndpointGroupController({
    ...{ env, cluster: kube, books, times, isLeading, allowPrivateAddresses: false },
    groups: groups.informer,
    instances: copyOf([]).informer as never,
    events: { record: () => {} } as never,
    readers: new LoadReaders({
      ...{ clock, books, times, transport, allowPrivateAddresses: false, takesReports: false },
      dial: (address) => address,
      tokenOf: () => undefined,
      prometheus: undefined,
    }),
    isFrozen: () => false,
    blame: () => {},
  });
  controller.start();
  return { controller, group, groups, books };
}

describe('the controller of groups', () => {
  test('neither writes nor publishes anything while its process does not lead, and does once it leads', async () => {
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

  test('forgets what it was told of a group that is gone', async () => {
    const cluster = memoryCluster();
    const { controller, group, groups, books } = await bench(cluster, () => false);
    const report = { reporter: GROUP_REPORTER, record: groupRecord(5, 0), at: 0, times: defaultTimes };
    books.report(uidOf(group), report);
    groups.tell({ key: objectKey(group.metadata), type: 'deleted', object: group });
    expect(books.has(uidOf(group))).toBe(false);
    await controller.stop();
  });

  test('forgets what was told by a machine that is gone', async () => {
    const cluster = memoryCluster();
    const { controller, group, books } = await bench(cluster);
    books.report(uidOf(group), {
      reporter: 'uid-gone/7',
      record: groupRecord(5, 0),
      at: 0,
      times: defaultTimes,
    });
    await cluster.clock.advance(1_000);
    expect([...books.get(uidOf(group)).reporters.keys()]).toEqual([]);
    await controller.stop();
  });

  test.each<[string, number, string, string | undefined]>([
    ['tries a write again that failed, and does not wait for the next tick', 500, 'InternalError', undefined],
    [
      'tells of a write that is refused, and does not wait for the next tick',
      403,
      'Forbidden',
      'WriteRefused',
    ],
  ])('%s', async (_, status, reason, told) => {
    const cluster = memoryCluster();
    cluster.intercept = ({ method, path }) =>
      method === 'POST' && WORKERS.test(path) ? refusedBy(status, reason) : undefined;
    const { controller, group } = await bench(cluster);
    await cluster.clock.advance(5_000);
    const tries = cluster.sent.filter((one) => one.startsWith('POST') && WORKERS.test(one)).length;
    const now = await cluster.kube.get<EndpointGroup>(endpointGroupResource, refOf(group));
    const ready = now?.status?.conditions?.find(({ type }) => type === 'Ready');
    if (told === undefined) expect(tries).toBeGreaterThan(1);
    else expect(ready?.reason).toBe(told);
    await controller.stop();
  });
});
