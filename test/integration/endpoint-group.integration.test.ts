import { afterEach, describe, expect, test } from 'vitest';
import { annotations, endpointGroupResource } from '../../src/api/v1alpha1/names.ts';
import { serviceResource } from '../../src/runtime/kube/core-resources.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import { until } from '../builders/until.ts';
import {
  createGroup,
  type GroupBench,
  groupBench,
  patchGroup,
  workerTemplate,
} from './endpoint-group-bench.ts';
import { conditionOf, contracts, useBenches } from './gpu-instance-bench.ts';

useBenches();

let open: GroupBench | undefined;
const opened = async (...options: Parameters<typeof groupBench>): Promise<GroupBench> => {
  open = await groupBench(...options);
  return open;
};
afterEach(() => open?.close());

describe('a load that rises, bursts and ends', () => {
  test('cold workers wake, more are rented, and all go when the work is done', async () => {
    const epg = await opened({ flags: { scalingSpeed: '40' } });
    await createGroup(epg, { coldWorkers: 1, maxWorkers: 3 });
    // The one cold worker boots once, and is stopped when it was ready.
    const cold = await epg.reached(
      'one is cold',
      ({ status }) => status?.cold === 1 && status.starting === 0,
    );
    expect(cold.status).toMatchObject({ replicas: 0, ready: 0, total: 1 });
    const [first] = await until('it is stopped', async () => {
      const found = await epg.workers();
      return found[0]?.status?.actualStatus === 'exited' || found[0]?.status?.actualStatus === 'stopped'
        ? found
        : undefined;
    });
    expect(first?.spec.powerState).toBe('Stopped');
    expect(await epg.slices()).toEqual([]);

    await patchGroup(epg, { metadata: { annotations: { [annotations.wakeAt]: 'now' } } });
    const awake = await epg.reached('it is woken', ({ status }) => status?.ready === 1);
    expect(awake.status).toMatchObject({ replicas: 1, wokenAt: 'now' });
    expect(contracts(epg.bench)).toBe(1);

    epg.fleet.offered = 150;
    await epg.reached('a second one serves', ({ status }) => (status?.ready ?? 0) >= 2);
    const [port] = (await epg.slices()).flatMap(({ ports }) => ports);
    expect(port).toMatchObject({ name: 'http', protocol: 'TCP' });
    const tokens = [...epg.fleet.tokens.values()];
    expect(tokens.every((token) => token?.startsWith('Bearer '))).toBe(true);

    epg.fleet.offered = 0;
    await epg.reached('none is hot', ({ status }) => status?.replicas === 0 && status.cold === 2);
    await epg.reached('the group rests', ({ status }) => status?.phase === 'Zero' && status.draining === 0);
    expect(await epg.slices()).toEqual([]);
    expect(epg.fleet.lost).toBe(0);
    expect(conditionOf(await epg.group(), 'Ready')).toMatchObject({ status: 'True', reason: 'ScaledToZero' });
  });

  test('a burst against full workers brings as many as maxWorkers allows, and says that more are wanted', async () => {
    const epg = await opened({ flags: { scalingSpeed: '10' } });
    await createGroup(epg, { minLoad: '90', maxWorkers: 4 });
    await epg.reached('one is ready', ({ status }) => status?.ready === 1);
    epg.fleet.offered = 1000;
    const grown = await epg.reached('as many as may be are ready', ({ status }) => status?.ready === 4);
    expect(conditionOf(grown, 'AtMaxWorkers')).toMatchObject({ status: 'True', reason: 'AtLimit' });
    expect(grown.status?.autoscaling).toMatchObject({ hot: 4, total: 4 });
    expect(contracts(epg.bench)).toBe(4);
  });
});

describe('the Service', () => {
  test('is shared by groups of one endpoint name, and goes with the last of them', async () => {
    const epg = await opened();
    const shared = { endpointName: 'speech', minLoad: '50', maxWorkers: 2 };
    await createGroup(epg, shared, 'steady');
    await createGroup(epg, shared, 'cheap');
    const ref = { namespace: epg.bench.namespace, name: 'speech' };
    await until('both own it', async () => {
      const service = await epg.bench.kube.get<KubeObject>(serviceResource, ref);
      return service?.metadata.ownerReferences?.length === 2;
    });
    await until('each has a slice', async () => (await epg.slices()).length === 2);
    const groupRef = (name: string) => ({ namespace: epg.bench.namespace, name });
    for (const name of ['steady', 'cheap']) {
      await epg.bench.kube.delete(endpointGroupResource, groupRef(name));
      await until(
        `${name} is gone`,
        async () => (await epg.bench.kube.get(endpointGroupResource, groupRef(name))) === undefined,
      );
    }
    expect(await epg.bench.kube.get(serviceResource, ref)).toBeUndefined();
    expect(epg.bench.billing()).toEqual([]);
  });

  test('a Service of another owner is left alone', async () => {
    const epg = await opened();
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace: epg.bench.namespace, name: 'llm' },
      spec: { ports: [{ port: 80 }] },
    };
    await epg.bench.kube.create(serviceResource, service);
    await createGroup(epg, { minLoad: '50', maxWorkers: 1 });
    const group = await epg.reached('it says so', (one) => conditionOf(one, 'Ready')?.reason === 'NameTaken');
    expect(conditionOf(group, 'Ready')?.message).toContain('endpointName');
    expect(await epg.slices()).toEqual([]);
  });
});

describe('a changed template', () => {
  test('replaces workers one at a time, and one always serves', async () => {
    const epg = await opened();
    await createGroup(epg, { minLoad: '150', maxWorkers: 3 });
    await epg.reached('two are ready', ({ status }) => status?.ready === 2);
    epg.fleet.offered = 20;
    const old = new Set((await epg.workers()).map(({ metadata }) => metadata.uid));
    let least = 2;
    const watch = setInterval(() => {
      const note = ({ length }: { readonly length: number }) => {
        least = Math.min(least, length);
      };
      // One that is still asked for when the test ends is not answered.
      epg.slices().then(note, () => {});
    }, 100);
    await patchGroup(epg, { spec: { template: workerTemplate({ image: 'example/worker:2' }) } });
    await epg.reached(
      'both are new',
      ({ status }) =>
        status?.observedGeneration === 2 && status.updated === 2 && status.ready === 2 && status.total === 2,
    );
    clearInterval(watch);
    const now = await epg.workers();
    expect(now.some(({ metadata }) => old.has(metadata.uid))).toBe(false);
    expect(now.every(({ spec }) => spec.image === 'example/worker:2')).toBe(true);
    expect(least).toBe(1);
    expect(epg.fleet.lost).toBe(0);
  });
});
