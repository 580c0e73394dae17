import { describe, expect, test } from 'vitest';
import { secretResource } from '../../src/runtime/kube/core-resources.ts';
import type { SecretWithData } from '../builders/running-operator.ts';
import { until } from '../builders/until.ts';
import {
  conditionOf,
  contracts,
  deleteInstance,
  destroys,
  goneFromCluster,
  patchInstance,
  reached,
  readyBench,
  rents,
  running,
  useBenches,
} from './gpu-instance-bench.ts';

useBenches();

describe('the life of a machine', () => {
  test('it is rented, runs, and is described by status and connection Secret', async () => {
    const bench = await readyBench();
    const job = await running(bench);
    expect(job.metadata.finalizers).toEqual(['gpurental.dev/machine']);
    expect(job.status).toMatchObject({
      observedGeneration: 1,
      phase: 'Running',
      attempt: 1,
      instanceId: String(bench.billing()[0]?.id),
      binding: { name: 'job-connection' },
    });
    for (const type of ['Ready', 'Rented', 'Running']) {
      expect(conditionOf(job, type)).toMatchObject({ status: 'True', observedGeneration: 1 });
    }
    const secret = await bench.kube.get<SecretWithData>(secretResource, {
      namespace: bench.namespace,
      name: 'job-connection',
    });
    const values = Object.fromEntries(
      Object.entries(secret?.data ?? {}).map(([key, value]) => [
        key,
        Buffer.from(value, 'base64').toString(),
      ]),
    );
    expect(values).toMatchObject({
      type: 'gpu-instance',
      host: job.status?.ssh?.host,
      port: String(job.status?.ssh?.port),
      username: 'root',
      'instance-id': String(job.status?.instanceId),
    });
    expect(values['instance-api-key']).toBeTruthy();
    expect(values['worker-token']?.length).toBeGreaterThan(30);
  });

  test('it costs three or four writes of the object, one trial and one create per child, no read, one search and one rent', async () => {
    const bench = await readyBench();
    const before = bench.kubeCalls.length;
    const calls = bench.calls.length;
    await running(bench, 'job', {
      ports: [{ name: 'http', containerPort: 8080 }],
      service: { enabled: true },
    });
    const sent = bench.kubeCalls.slice(before).map(({ method, path }) => {
      const [address = '', query = ''] = path.split('?');
      return { method, path: address, isTrial: query.includes('dryRun=All') };
    });
    const ofObject = sent.filter(
      ({ method, path }) => method !== 'GET' && path.includes('/gpuinstances/job'),
    );
    expect(ofObject.length).toBeGreaterThanOrEqual(3);
    expect(ofObject.length).toBeLessThanOrEqual(4);
    const creates = sent.filter(
      ({ method, path }) => method === 'POST' && !/(events|selfsubjectaccessreviews)$/.test(path),
    );
    const children = ['endpointslices', 'secrets', 'services'];
    for (const trial of [true, false]) {
      const kinds = creates
        .filter(({ isTrial }) => isTrial === trial)
        .map(({ path }) => path.split('/').at(-1));
      expect(kinds.sort()).toEqual(children);
    }
    const reads = sent.filter(({ method, path }) => method === 'GET' && path.includes('job'));
    expect(reads).toEqual([]);
    const marketplace = bench.calls.slice(calls);
    expect(marketplace.filter(({ path }) => path.includes('/bundles/'))).toHaveLength(1);
    expect(marketplace.filter(({ path }) => path.includes('/asks/'))).toHaveLength(1);
    expect(
      marketplace.filter(({ method, path }) => method === 'GET' && /\/instances\/\d+/.test(path)).length,
    ).toBeLessThanOrEqual(1);
  });

  test('nothing is written while nothing changes', async () => {
    const bench = await readyBench();
    await running(bench);
    const lists = () => bench.callsTo('GET', /\/instances\/$/).length;
    const settled = lists() + 2;
    await until('two more lists', () => lists() >= settled);
    const before = bench.kubeCalls.length;
    const quiet = lists() + 4;
    await until('four more lists', () => lists() >= quiet);
    const writes = bench.kubeCalls
      .slice(before)
      .filter(({ method, path }) => method !== 'GET' && !path.includes('/leases'));
    expect(writes).toEqual([]);
  });

  test('it is destroyed, confirmed gone and let go with two writes when its object is deleted', async () => {
    const bench = await readyBench();
    await running(bench);
    const before = bench.kubeCalls.length;
    await deleteInstance(bench);
    await goneFromCluster(bench);
    expect(bench.billing()).toEqual([]);
    expect(destroys(bench)).toHaveLength(1);
    const writes = bench.kubeCalls
      .slice(before)
      .filter(({ method, path }) => method !== 'GET' && path.includes('/gpuinstances/job'));
    // The first write records the time at which the marketplace answered the destroy, the second removes the finalizer.
    expect(writes.map(({ method }) => method)).toEqual(['PUT', 'PATCH']);
  });

  test('its money agrees with the ledger within two seconds of its price', async () => {
    const bench = await readyBench();
    await running(bench);
    await patchInstance(bench, { spec: { image: 'example/image:2' } });
    const next = await until('it was replaced', async () => {
      const job = await bench.instance('job');
      return job?.status?.history?.length === 1 ? job : undefined;
    });
    const [past] = next.status?.history ?? [];
    const ended = bench.simulator.world().tables.endedContracts[Number(past?.instanceId)];
    const price = Number(next.status?.offerPricePerHour ?? past?.cost ?? 1);
    expect(Math.abs(Number(past?.cost) - (ended?.dollarsMicros ?? 0) / 1e6)).toBeLessThanOrEqual(
      (2 * Math.max(price, 5)) / 3600,
    );
  });

  test('it is stopped and started again as powerState says', async () => {
    const bench = await readyBench();
    await running(bench);
    await patchInstance(bench, { spec: { powerState: 'Stopped' } });
    const stopped = await reached(bench, 'job', 'Stopped');
    expect(stopped.status?.phase).toBe('Stopped');
    await patchInstance(bench, { spec: { powerState: 'Running' } });
    const again = await reached(bench, 'job', 'Ready');
    expect(again.status?.instanceId).toBe(stopped.status?.instanceId);
    expect(contracts(bench)).toBe(1);
  });

  test('ten objects get ten machines with ten different offers', async () => {
    const bench = await readyBench();
    const names = Array.from({ length: 10 }, (_, index) => `job-${index}`);
    await Promise.all(names.map((name) => bench.createInstance(name)));
    const jobs = await Promise.all(names.map((name) => reached(bench, name, 'Ready')));
    expect(new Set(jobs.map((job) => job.status?.offerId)).size).toBe(10);
    expect(contracts(bench)).toBe(10);
    expect(rents(bench)).toHaveLength(10);
  });
});
