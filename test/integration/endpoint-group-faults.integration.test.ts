import { afterEach, describe, expect, test } from 'vitest';
import { annotations, endpointGroupResource, gpuInstanceResource } from '../../src/api/v1alpha1/names.ts';
import { until } from '../builders/until.ts';
import type { Answer } from '../builders/worker-fleet.ts';
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

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('a cold worker that does not wake in time is destroyed, and another one is rented', async () => {
  const epg = await opened();
  await createGroup(epg, { coldWorkers: 1, maxWorkers: 3, wakeTimeout: '2s' });
  await epg.reached('one is cold', ({ status }) => status?.cold === 1 && status.starting === 0);
  const [sleeper] = await epg.workers();
  await until('it is stopped', async () =>
    ['exited', 'stopped'].includes((await epg.workers())[0]?.status?.actualStatus ?? ''),
  );
  await epg.bench.fault('cannot-start', { instance: sleeper?.status?.instanceId });
  await patchGroup(epg, { metadata: { annotations: { [annotations.wakeAt]: 'now' } } });
  const ready = await epg.reached('another one serves', ({ status }) => status?.ready === 1);
  expect(ready.status?.replicas).toBe(1);
  const names = (await epg.workers())
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.name);
  expect(names).not.toContain(sleeper?.metadata.name);
});

test('hosts that die while the group grows are made up for, and never more than maxWorkers bill', async () => {
  // One of three is more than the usual share: the breaker would wait, and blame no host.
  const epg = await opened({ account: { maxUnhealthy: '100%' } });
  const template = workerTemplate({ replacement: { tolerance: { offline: '1s', unknown: '1s' } } });
  await createGroup(epg, { minLoad: '250', maxWorkers: 4, template });
  await epg.reached('one is ready', ({ status }) => (status?.ready ?? 0) >= 1);
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, epg.bench.billing().length);
  }, 50);
  const [victim] = (await epg.workers()).filter(({ status }) => status?.actualStatus === 'running');
  await epg.bench.fault('host-death', { host: victim?.status?.hostId });
  // All three may have been ready before the operator saw the death.
  await until('the worker of the dead host is gone', async () =>
    (await epg.workers()).every(({ status }) => status?.hostId !== victim?.status?.hostId),
  );
  await epg.reached('three serve', ({ status }) => status?.ready === 3);
  clearInterval(watch);
  expect(most).toBeLessThanOrEqual(4);
});

const LIES: readonly (readonly [string, Answer, string])[] = [
  ['negative', reply({ new_load: -1 }), 'LoadUnavailable'],
  ['NaN', { status: 200, body: '{"new_load": NaN}' }, 'LoadUnavailable'],
  ['10^30', reply({ new_load: 1e30 }), 'LoadUnavailable'],
  ['of 10 MB', { status: 200, body: `{"new_load": 1, "x": "${'y'.repeat(10_000_000)}"}` }, 'LoadUnavailable'],
  ['an error', { status: 500, body: '' }, 'LoadUnavailable'],
  ['silence', { type: 'silent' }, 'LoadUnavailable'],
];

function reply(figures: Record<string, unknown>): Answer {
  return { status: 200, body: JSON.stringify(figures) };
}

describe('load figures that cannot be true', () => {
  test('are said, and never shrink the group', async () => {
    const epg = await opened({ flags: { scalingSpeed: '40' } });
    await createGroup(epg, {
      minLoad: '0',
      maxWorkers: 2,
      load: { type: 'HTTPPull', httpPull: { port: 'http', timeout: '1s' } },
    });
    await patchGroup(epg, { spec: { minLoad: '150' } });
    await epg.reached('two are ready', ({ status }) => status?.ready === 2);
    for (const [what, answer, reason] of LIES) {
      epg.fleet.answer = undefined;
      await epg.reached(
        'the figures are fine',
        (one) => conditionOf(one, 'MetricsAvailable')?.status === 'True',
      );
      epg.fleet.answer = () => answer;
      const told = await epg.reached(
        `${what} is told`,
        (one) => conditionOf(one, 'MetricsAvailable')?.reason === reason,
      );
      expect([what, conditionOf(told, 'MetricsAvailable')?.status]).toEqual([what, 'False']);
    }
    await patchGroup(epg, { spec: { minLoad: '0' } });
    await pause(9000);
    expect((await epg.group()).status).toMatchObject({ replicas: 2, ready: 2 });
  });
});

describe('limits', () => {
  test('the ceiling keeps workers from being rented, and a price rise takes none away', async () => {
    const epg = await opened();
    await createGroup(epg, {
      minLoad: '450',
      maxWorkers: 6,
      maxSpendPerHour: '1.50',
      template: {
        spec: {
          image: 'example/worker:1',
          offers: [{ maxPricePerHour: '0.60', minDirectPorts: 1 }],
          ports: [{ name: 'http', containerPort: 8000 }],
        },
      },
    });
    const full = await epg.reached(
      'the ceiling is said',
      (one) => one.status?.ready === 3 && conditionOf(one, 'AtSpendCeiling')?.status === 'True',
    );
    expect(conditionOf(full, 'AtSpendCeiling')?.message).toContain('maxSpendPerHour $1.50');
    expect(epg.bench.billing()).toHaveLength(3);
    const [worker] = await epg.workers();
    const { simulator } = epg.bench;
    const contract = simulator.world().tables.contracts[Number(worker?.status?.instanceId)];
    if (!contract) throw new Error('The worker has no contract.');
    simulator.store.put('contracts', { ...contract, gpuPricePerHour: 900_000 });
    await epg.reached('the price is seen', ({ status }) => Number(status?.pricePerHour) > 1.6);
    await pause(1500);
    expect((await epg.group()).status).toMatchObject({ replicas: 3, ready: 3 });
  });
});

describe('a restart', () => {
  test('in every phase makes no worker twice and forgets no activity', async () => {
    const epg = await opened();
    await createGroup(epg, { minLoad: '150', maxWorkers: 3 });
    await epg.reached('workers are being made', ({ status }) => (status?.replicas ?? 0) >= 1);
    await epg.bench.crash();
    await epg.bench.start();
    await epg.reached('two are ready', ({ status }) => status?.ready === 2);
    expect(epg.bench.billing()).toHaveLength(2);

    epg.fleet.offered = 120;
    await epg.reached('the load is seen', ({ status }) => Number(status?.load) > 60);
    await epg.bench.crash();
    await epg.bench.start();
    await pause(2000);
    const after = await epg.group();
    expect(after.status).toMatchObject({ replicas: 2, ready: 2 });
    expect(after.status?.loadMaxima?.length).toBeGreaterThan(0);

    epg.fleet.offered = 0;
    await patchGroup(epg, { spec: { minLoad: '50' } });
    await epg.reached('one drains or is gone', ({ status }) => status?.replicas === 1);
    await epg.bench.crash();
    await epg.bench.start();
    await epg.reached(
      'one is left',
      ({ status }) => status?.replicas === 1 && status.ready === 1 && status.draining === 0,
    );
    expect(epg.fleet.lost).toBe(0);
  });
});

describe('two operators', () => {
  test('of which one froze while it made a worker make no more than there may be', async () => {
    const epg = await opened();
    const { bench } = epg;
    await createGroup(epg, { minLoad: '50', maxWorkers: 3 });
    await epg.reached('one is ready', ({ status }) => status?.ready === 1);
    const frozen = new Promise<() => Promise<void>>((resolve, reject) => {
      bench.tap = ({ when, method, path }) => {
        if (when !== 'before' || method !== 'POST' || !/\/gpuinstances(\?|$)/.test(path)) return;
        bench.tap = undefined;
        bench.freeze().then(resolve, reject);
      };
    });
    await patchGroup(epg, { spec: { minLoad: '250' } });
    const thaw = await frozen;
    await bench.start();
    await epg.reached('three are ready', ({ status }) => status?.ready === 3);
    await thaw();
    await pause(2000);
    expect(await epg.workers()).toHaveLength(3);
    expect(contracts(bench)).toBe(3);
  });
});

describe('ownership', () => {
  test('workers that were left behind are taken in, and deletion takes all down', async () => {
    const epg = await opened();
    await createGroup(epg, { minLoad: '50', maxWorkers: 2 });
    await epg.reached('one is ready', ({ status }) => status?.ready === 1);
    const [worker] = await epg.workers();
    const ref = { namespace: epg.bench.namespace, name: worker?.metadata.name ?? '' };
    await epg.bench.kube.patch(gpuInstanceResource, ref, {
      type: 'merge',
      body: { metadata: { ownerReferences: null } },
    });
    await until('it is taken in again', async () => {
      const [now] = await epg.workers();
      return now?.metadata.ownerReferences?.[0]?.controller === true;
    });
    await epg.bench.kube.delete(endpointGroupResource, { namespace: epg.bench.namespace, name: 'llm' });
    await until('everything is gone', async () => (await epg.workers()).length === 0);
    expect(epg.bench.billing()).toEqual([]);
  });
});
