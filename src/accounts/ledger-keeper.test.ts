import { describe, expect, test } from 'vitest';
import { memoryCluster, refusedBy } from '../../test/builders/memory-cluster.ts';
import { spec } from '../../test/builders/observed.ts';
import type { GpuInstance, GpuInstanceStatus } from '../api/v1alpha1/gpu-instance.ts';
import { API_VERSION } from '../api/v1alpha1/names.ts';
import { beginCost } from '../instance/cost.ts';
import { silentLogger } from '../lib/logger.ts';
import { formatTime } from '../lib/time.ts';
import { configMapResource } from '../runtime/kube/core-resources.ts';
import { type KubeObject, objectKey } from '../runtime/kube/kube-object.ts';
import type { Change } from '../runtime/list-watch/object-store.ts';
import { CLOSE_AFTER_MS, LedgerKeeper } from './ledger-keeper.ts';

const HOUR = 3_600_000;

function object(uid: string, status: GpuInstanceStatus): GpuInstance {
  return {
    apiVersion: API_VERSION,
    kind: 'GpuInstance',
    metadata: { namespace: 'team-a', name: uid, uid },
    spec: spec(),
    status,
  };
}

/** Returns an object whose machine has run since then for a dollar an hour. */
const running = (uid: string, since: number) =>
  object(uid, {
    instanceId: `machine-of-${uid}`,
    rentedAt: formatTime(since),
    cost: beginCost(undefined, since, 1_000_000),
  });

/** Returns an object with one ended machine, which cost a dollar. */
const ended = (uid: string, at: number) =>
  object(uid, {
    history: [
      {
        ...{
          attempt: 1,
          instanceId: '9',
          reason: 'Exited',
          rentedMinutes: 60,
          cost: '1.00',
          accrued: '1.00',
        },
        ...{ rentedAt: formatTime(at - HOUR), endedAt: formatTime(at) },
      },
    ],
    cost: { accrued: '1.00', since: formatTime(at) },
  });

/** Returns an informer that holds what a test puts into it. */
function informer() {
  const objects = new Map<string, GpuInstance>();
  const listeners = new Set<(change: Change<GpuInstance>) => void>();
  const tell = (type: 'added' | 'deleted', instance: GpuInstance) => {
    const key = objectKey(instance.metadata);
    if (type === 'deleted') objects.delete(key);
    else objects.set(key, instance);
    for (const listener of listeners) listener({ type, key, object: instance });
  };
  return {
    list: () => [...objects.values()],
    get: (key: string) => objects.get(key),
    onChange: (listener: (change: Change<GpuInstance>) => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    put: (instance: GpuInstance) => tell('added', instance),
    remove: (instance: GpuInstance) => tell('deleted', instance),
  };
}

function setUp(cluster = memoryCluster(), instances = informer()) {
  const { kube, clock } = cluster;
  const options = { client: kube, namespace: 'default', instances, labels: [], months: 13, clock };
  /** Difference of the service's time to the clock. */
  const service = { aheadMs: 0 };
  const spendingTime = () => clock.now() + service.aheadMs;
  const keeper = new LedgerKeeper({ ...options, spendingTime, log: silentLogger });
  const end = () => ({ at: clock.now(), reason: 'Deleting' });
  return { cluster, clock, service, instances, keeper, end };
}

const NOVEMBER = 'gpurental-ledger-11';
type ConfigMap = KubeObject & { readonly data?: Readonly<Record<string, string>> };

async function stored({ kube }: ReturnType<typeof memoryCluster>, name = NOVEMBER) {
  const found = await kube.get<ConfigMap>(configMapResource, { namespace: 'default', name });
  const lines = (found?.data?.['entries'] ?? '').split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line));
}

const writes = ({ sent }: ReturnType<typeof memoryCluster>) => sent.filter((line) => !line.startsWith('GET'));

describe('the ledger', () => {
  test('has the machine of a deleted object before its finalizer may go', async () => {
    const { cluster, clock, keeper, end } = setUp();
    keeper.start();
    await keeper.recordDeleted(running('a', clock.now() - 2 * HOUR), end());
    expect(await stored(cluster)).toMatchObject([
      { machine: 'machine-of-a', cost: '2.00', reason: 'Deleting' },
    ]);
  });

  test('ends a machine whose finalizer a person removed by the time of its service', async () => {
    const { cluster, clock, service, instances, keeper } = setUp();
    const instance = running('a', clock.now() - 2 * HOUR);
    instances.put(instance);
    keeper.start();
    service.aheadMs = -HOUR;
    instances.remove(instance);
    await clock.advance(10_000);
    expect(await stored(cluster)).toMatchObject([{ machine: 'machine-of-a', cost: '1.00' }]);
  });

  test('counts a machine once if the process ends between the write and the finalizer', async () => {
    const first = setUp();
    const { cluster, clock, instances } = first;
    const instance = running('a', clock.now() - 2 * HOUR);
    instances.put(instance);
    first.keeper.start();
    await first.keeper.recordDeleted(instance, first.end());
    // Killed: the next process sees the object, with a machine that still seems to run.
    const next = setUp(cluster, instances);
    await clock.advance(HOUR);
    next.keeper.start();
    await next.keeper.recordDeleted(instance, next.end());
    instances.remove(instance);
    await clock.advance(10_000);
    expect(await stored(cluster)).toMatchObject([{ machine: 'machine-of-a', cost: '2.00' }]);
  });

  test('counts a machine once if the reply to the write was lost', async () => {
    const { cluster, clock, keeper, end } = setUp();
    keeper.start();
    await keeper.recordDeleted(running('a', clock.now() - HOUR), end());
    const { intercept } = cluster;
    cluster.intercept = (request) => {
      if (request.method !== 'PATCH') return undefined;
      cluster.intercept = intercept;
      return cluster.memory.transport(request).then(() => refusedBy(500, 'InternalError'));
    };
    const instance = running('b', clock.now() - HOUR);
    const recorded = keeper.recordDeleted(instance, end()).catch((error: unknown) => error);
    await clock.advance(5_000);
    expect(await recorded).toBeInstanceOf(Error);
    const again = keeper.recordDeleted(instance, end());
    await clock.advance(20_000);
    await again;
    expect((await stored(cluster)).map(({ machine }) => machine)).toEqual(['machine-of-a', 'machine-of-b']);
  });

  test('writes many deletions together', async () => {
    const { cluster, clock, keeper, end } = setUp();
    keeper.start();
    await clock.settle();
    const all = Array.from({ length: 1000 }, (_, index) =>
      keeper.recordDeleted(running(`${index}`, clock.now() - HOUR), end()),
    );
    await clock.advance(5_000);
    await Promise.all(all);
    expect(await stored(cluster)).toHaveLength(1000);
    expect(writes(cluster).length).toBeLessThanOrEqual(2);
  });

  test('adds a machine that ended while its object lives, once', async () => {
    const { cluster, clock, instances, keeper } = setUp();
    keeper.start();
    const instance = ended('a', clock.now());
    for (let times = 0; times < 3; times += 1) {
      instances.put(instance);
      await clock.advance(5_000);
    }
    expect(await stored(cluster)).toMatchObject([{ machine: '9', reason: 'Exited', cost: '1.00' }]);
    expect(writes(cluster)).toHaveLength(1);
  });

  test('has the machine of an object whose finalizer a person removed', async () => {
    const { cluster, clock, instances, keeper } = setUp();
    const instance = running('a', clock.now() - HOUR);
    instances.put(instance);
    keeper.start();
    await clock.settle();
    instances.remove(instance);
    await clock.advance(5_000);
    expect(await stored(cluster)).toMatchObject([{ machine: 'machine-of-a', cost: '1.00' }]);
  });

  test('closes no month that goes on for the service, although our wall clock is in the next one', async () => {
    const { cluster, clock, service, instances, keeper } = setUp();
    instances.put(running('a', clock.now() - 2 * HOUR));
    const left = Date.UTC(2026, 11, 1) - clock.now();
    service.aheadMs = -HOUR;
    keeper.start();
    await clock.advance(left + HOUR / 2);
    expect(await stored(cluster)).toEqual([]);
    await clock.advance(HOUR / 2 + CLOSE_AFTER_MS);
    expect(await stored(cluster)).toMatchObject([{ machine: 'machine-of-a' }]);
  });

  test('closes the month of a running machine after its end, also if nothing else happens', async () => {
    const { cluster, clock, instances, keeper } = setUp();
    const since = clock.now();
    instances.put(running('a', since));
    keeper.start();
    const left = Date.UTC(2026, 11, 1) - since;
    await clock.advance(left + CLOSE_AFTER_MS - 1);
    expect(await stored(cluster)).toEqual([]);
    await clock.advance(1_000);
    expect(await stored(cluster)).toMatchObject([
      { cost: `${left / HOUR}.00`, end: Date.UTC(2026, 11, 1) / 1000 },
    ]);
  });

  test('keeps what another process wrote, and adds to it', async () => {
    const one = setUp();
    const { cluster, clock } = one;
    const two = setUp(cluster);
    one.keeper.start();
    two.keeper.start();
    await clock.settle();
    await one.keeper.recordDeleted(running('a', clock.now() - HOUR), one.end());
    await two.keeper.recordDeleted(running('b', clock.now() - HOUR), two.end());
    const last = one.keeper.recordDeleted(running('c', clock.now() - HOUR), one.end());
    await clock.advance(5_000);
    await last;
    expect((await stored(cluster)).map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });

  test('refuses to let an object go while it cannot be written, and writes it later', async () => {
    const { cluster, clock, keeper, end } = setUp();
    keeper.start();
    await clock.settle();
    cluster.intercept = ({ method }) => (method === 'GET' ? undefined : refusedBy(403, 'Forbidden'));
    const instance = running('a', clock.now() - HOUR);
    await expect(keeper.recordDeleted(instance, end())).rejects.toThrow();
    cluster.intercept = () => undefined;
    const again = keeper.recordDeleted(instance, end());
    await clock.advance(20_000);
    await again;
    expect(await stored(cluster)).toHaveLength(1);
  });

  test('is written before the process ends', async () => {
    const { cluster, clock, instances, keeper } = setUp();
    keeper.start();
    await clock.settle();
    instances.put(ended('a', clock.now()));
    await clock.settle();
    instances.put(ended('b', clock.now()));
    const stopping = keeper.stop();
    await clock.advance(5_000);
    await stopping;
    expect(await stored(cluster)).toHaveLength(2);
    await expect(
      keeper.recordDeleted(ended('c', clock.now()), { at: 0, reason: 'Deleting' }),
    ).rejects.toThrow();
  });

  test('is shown after it was read', async () => {
    const { clock, keeper } = setUp();
    expect(keeper.view()).toBeUndefined();
    keeper.start();
    await clock.settle();
    // A new installation has no object and no cost yet.
    await clock.advance(1_000);
    expect(keeper.view()?.ledger.size ?? 0).toBe(0);
  });

  test('is written as a whole by two processes at once', async () => {
    const one = setUp();
    const { cluster, clock } = one;
    const two = setUp(cluster);
    one.keeper.start();
    two.keeper.start();
    await clock.settle();
    const all = Array.from({ length: 40 }, (_, index) => {
      const { keeper, end } = index % 2 === 0 ? one : two;
      return keeper.recordDeleted(running(`${index}`, clock.now() - HOUR), end());
    });
    await clock.advance(30_000);
    await Promise.all(all);
    const uids = (await stored(cluster)).map(({ uid }) => uid);
    expect(uids.toSorted()).toEqual(all.map((_, index) => `${index}`).toSorted());
  });

  test('comes back with all its lines when a person has deleted its ConfigMap, and an object goes', async () => {
    const { cluster, clock, keeper, end } = setUp();
    keeper.start();
    await keeper.recordDeleted(running('a', clock.now() - HOUR), end());
    await cluster.kube.delete(configMapResource, { namespace: 'default', name: NOVEMBER });
    const recorded = keeper.recordDeleted(running('b', clock.now() - HOUR), end());
    await clock.advance(10_000);
    await recorded;
    expect((await stored(cluster)).map(({ uid }) => uid)).toEqual(['a', 'b']);
  });

  test('comes back within an hour when nothing else happens, also after a write that failed', async () => {
    const { cluster, clock, keeper, end } = setUp();
    keeper.start();
    await keeper.recordDeleted(running('a', clock.now() - HOUR), end());
    await cluster.kube.delete(configMapResource, { namespace: 'default', name: NOVEMBER });
    cluster.intercept = ({ method }) => (method === 'GET' ? undefined : refusedBy(503, 'ServiceUnavailable'));
    await clock.advance(HOUR);
    expect(await stored(cluster)).toEqual([]);
    cluster.intercept = () => undefined;
    await clock.advance(20_000);
    expect((await stored(cluster)).map(({ uid }) => uid)).toEqual(['a']);
  });

  test('comes back when its ConfigMap was deleted and the process stops, and the next process has its lines', async () => {
    const { cluster, clock, instances, keeper, end } = setUp();
    keeper.start();
    await keeper.recordDeleted(running('a', clock.now() - HOUR), end());
    await cluster.kube.delete(configMapResource, { namespace: 'default', name: NOVEMBER });
    const stopping = keeper.stop();
    await clock.advance(5_000);
    await stopping;
    setUp(cluster, instances).keeper.start();
    await clock.settle();
    expect((await stored(cluster)).map(({ uid }) => uid)).toEqual(['a']);
  });

  test('is left as another process wrote it when a process stops', async () => {
    const { cluster, clock, instances, keeper, end } = setUp();
    keeper.start();
    await clock.settle();
    const next = setUp(cluster, instances);
    next.keeper.start();
    await next.keeper.recordDeleted(running('a', clock.now() - HOUR), end());
    const before = writes(cluster).length;
    const stopping = keeper.stop();
    await clock.advance(5_000);
    await stopping;
    expect(writes(cluster)).toHaveLength(before);
    expect((await stored(cluster)).map(({ uid }) => uid)).toEqual(['a']);
  });

  const edit = async ({ kube }: ReturnType<typeof memoryCluster>, data: Record<string, string | null>) => {
    const name = { namespace: 'default', name: NOVEMBER };
    await kube.patch(configMapResource, name, { type: 'merge', body: { data } });
  };

  test.each([
    ['without its month', { month: null }],
    ['with the month of another', { month: '2026-03' }],
    ['with a line that is no JSON', { sums: 'nonsense\n' }],
    ['with a note', { note: 'of mine' }],
  ])('loses no line and no word of a ConfigMap that a person has edited: %s', async (_, data) => {
    const { cluster, clock, keeper, end } = setUp();
    keeper.start();
    await keeper.recordDeleted(running('a', clock.now() - HOUR), end());
    await edit(cluster, data);
    const recorded = keeper.recordDeleted(running('b', clock.now() - HOUR), end());
    await clock.advance(10_000);
    await recorded;
    expect((await stored(cluster)).map(({ uid }) => uid)).toEqual(['a', 'b']);
    const found = await cluster.kube.get<ConfigMap>(configMapResource, {
      namespace: 'default',
      name: NOVEMBER,
    });
    expect(found?.data).toMatchObject({
      month: '2026-11',
      ...('note' in data && data),
      ...('sums' in data && { unread: 'nonsense\n' }),
    });
  });

  test('is read again after an hour, with what a person has removed on purpose', async () => {
    const { cluster, clock, keeper, end } = setUp();
    keeper.start();
    await keeper.recordDeleted(running('a', clock.now() - HOUR), end());
    expect(keeper.view()?.ledger.get('2026-11')?.entries).toHaveLength(1);
    await edit(cluster, { entries: '' });
    await clock.advance(HOUR + 10_000);
    expect(keeper.view()?.ledger.get('2026-11')?.entries).toEqual([]);
  });

  test('is shown as it was read last while it cannot be read again', async () => {
    const { cluster, clock, keeper, end } = setUp();
    keeper.start();
    await keeper.recordDeleted(running('a', clock.now() - HOUR), end());
    cluster.intercept = () => refusedBy(503, 'ServiceUnavailable');
    await clock.advance(2 * HOUR);
    expect(keeper.view()?.ledger.get('2026-11')?.entries).toHaveLength(1);
  });
});
