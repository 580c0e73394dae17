import { expect, test } from 'vitest';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { MACHINE_FINALIZER } from '../../api/v1alpha1/names.ts';
import { sleep } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { constantsFromData, constantsToData, defaultConstants } from '../../ownership/constants.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import type { Change } from '../../runtime/list-watch/object-store.ts';
import { InUseRecord, type InUseRecordOptions } from './in-use.ts';

const instance = (uid: string, finalizers: readonly string[] = []): GpuInstance =>
  ({ apiVersion: 'v1', kind: 'GpuInstance', metadata: { name: uid, uid, finalizers }, spec: {} }) as never;
const rented = (uid: string) => instance(uid, [MACHINE_FINALIZER]);

const times = constantsToData(defaultConstants);

function bench(present: readonly GpuInstance[] = [], constants = defaultConstants) {
  const clock = createVirtualClock();
  const listeners = new Set<(change: Change<GpuInstance>) => void>();
  const cluster = {
    stored: undefined as Record<string, string> | undefined,
    writes: 0,
    isDown: false,
    /** Delay of each write in milliseconds, in order. */
    delays: [] as number[],
  };
  const write = async <T>(_: unknown, object: unknown): Promise<T> => {
    if (cluster.isDown) throw new Error('down');
    await sleep(clock, cluster.delays.shift() ?? 0);
    cluster.writes += 1;
    cluster.stored = (object as { data: Record<string, string> }).data;
    return object as T;
  };
  const client: InUseRecordOptions['client'] = {
    get: async <T>() => cluster.stored && ({ data: cluster.stored } as T),
    create: write,
    patch: (resource, _ref, { body }) => write(resource, body as KubeObject),
  };
  const record = new InUseRecord({
    client,
    namespace: 'operators',
    constants,
    clock,
    log: silentLogger,
    instances: {
      list: () => present,
      onChange: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
  });
  const tell = (type: Change<GpuInstance>['type'], object: GpuInstance) => {
    const change = { type, key: object.metadata.name, object, previous: object } as Change<GpuInstance>;
    for (const listener of listeners) listener(change);
    return clock.advance(1);
  };
  const start = () => {
    record.start();
    return clock.advance(1);
  };
  return { clock, cluster, record, start, tell };
}

test('says at its start that nothing is rented', async () => {
  const { cluster, start } = bench([instance('a')]);
  await start();
  expect(cluster.stored).toEqual({ inUse: 'false', ...times });
});

test('is written when the first machine appears and when the last one ends, and not in between', async () => {
  const { cluster, start, tell } = bench();
  await start();
  await tell('added', rented('a'));
  expect(cluster).toMatchObject({ stored: { inUse: 'true', ...times }, writes: 2 });
  await tell('added', rented('b'));
  await tell('updated', rented('b'));
  await tell('deleted', rented('a'));
  expect(cluster).toMatchObject({ stored: { inUse: 'true', ...times }, writes: 2 });
  await tell('updated', instance('b'));
  expect(cluster).toMatchObject({ stored: { inUse: 'false', ...times }, writes: 3 });
});

test('writes nothing after a restart that changed nothing', async () => {
  const { cluster, start } = bench([rented('a')]);
  cluster.stored = { inUse: 'true', ...times };
  await start();
  expect(cluster.writes).toBe(0);
});

test('repeats a write that failed until it succeeds', async () => {
  const { clock, cluster, start, tell } = bench();
  await start();
  cluster.isDown = true;
  await tell('added', rented('a'));
  expect(cluster.stored).toEqual({ inUse: 'false', ...times });
  cluster.isDown = false;
  await clock.advance(5_000);
  expect(cluster.stored).toEqual({ inUse: 'true', ...times });
});

test('writes one after the other, so that a slow write is not the last word', async () => {
  const { clock, cluster, start, tell } = bench();
  await start();
  cluster.delays = [1_000, 10];
  for (const uid of ['a', 'b']) await tell('added', rented(uid));
  for (const uid of ['a', 'b']) await tell('deleted', rented(uid));
  await clock.advance(2_000);
  expect(cluster).toMatchObject({ stored: { inUse: 'false', ...times }, writes: 3 });
});

test('has written what it began to write when it has stopped, and tries no more what failed', async () => {
  const { clock, cluster, record, start, tell } = bench();
  await start();
  cluster.delays = [1_000];
  await tell('added', rented('a'));
  const stopped = record.stop().then(() => cluster.stored);
  await clock.advance(1_000);
  expect(await stopped).toEqual({ inUse: 'true', ...times });
  expect(clock.nextTimerMs()).toBeUndefined();
});

test('writes nothing once it was stopped', async () => {
  const { clock, cluster, record, start, tell } = bench();
  await start();
  await record.stop();
  await tell('added', rented('a'));
  await clock.advance(60_000);
  expect(cluster.stored).toEqual({ inUse: 'false', ...times });
});

test('publishes the times of this operator when it starts with other flags than the one before (L8)', async () => {
  const { cluster, start } = bench([rented('a')], {
    ...defaultConstants,
    lateCallMs: 1_200_000,
    listLagMs: 1_500,
  });
  cluster.stored = { inUse: 'true', ...times };
  await start();
  expect(cluster).toMatchObject({
    writes: 1,
    stored: { inUse: 'true', 'late-call': '20m', 'list-lag': '1500ms' },
  });
  expect(constantsFromData(cluster.stored)).toEqual({
    ...defaultConstants,
    lateCallMs: 1_200_000,
    listLagMs: 1_500,
  });
});
