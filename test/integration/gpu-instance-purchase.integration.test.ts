import { describe, expect, test } from 'vitest';
import { annotations } from '../../src/api/v1alpha1/names.ts';
import type { FaultName } from '../../src/simulator/fault-catalogue.ts';
import type { OperatorBench } from '../builders/running-operator.ts';
import { until } from '../builders/until.ts';
import {
  contracts,
  crashAt,
  deleteInstance,
  goneFromCluster,
  patchInstance,
  reached,
  readyBench,
  rentCall,
  rents,
  running,
  useBenches,
  watchDoubles,
} from './gpu-instance-bench.ts';

useBenches();

const intentOf = (
  object: { metadata: { annotations?: Readonly<Record<string, string>> | undefined } } | undefined,
) => JSON.parse(object?.metadata.annotations?.[annotations.rentalIntent] ?? '{}') as { attempt?: number };

/** To settle one purchase takes longer: what is late, and what lists do not show yet. */
const SETTLED_AFTER_MS = 3_000;

/** Returns the milliseconds between two rent calls, in the order in which they reached the marketplace. */
function betweenRents(bench: OperatorBench, one: number, other: number): number {
  const at = rents(bench).map((call) => call.at);
  return (at[other] ?? Number.NaN) - (at[one] ?? Number.NaN);
}

describe('a purchase that is cut short', () => {
  test('scenario 1: dies after the rent was answered, before its result was written: the machine is found by its label', async () => {
    const bench = await readyBench();
    const single = watchDoubles(bench);
    const crashed = crashAt(bench, rentCall('after'));
    await bench.createInstance('job');
    await crashed;
    expect((await bench.instance('job'))?.status?.instanceId).toBeUndefined();
    await bench.start();
    const job = await reached(bench, 'job', 'Ready');
    expect(job.status).toMatchObject({ attempt: 1, instanceId: String(bench.billing()[0]?.id) });
    expect(rents(bench)).toHaveLength(1);
    single();
  });

  test('scenario 2: dies after the intent, before the rent is sent: waits out the settle window, then buys as the next', async () => {
    const bench = await readyBench();
    let diedAt = Infinity;
    const crashed = crashAt(bench, (moment) => {
      const isRent = rentCall('before')(moment);
      if (isRent) diedAt = Date.now();
      return isRent;
    });
    await bench.createInstance('job');
    await crashed;
    expect(intentOf(await bench.instance('job')).attempt).toBe(1);
    await bench.start();
    const job = await reached(bench, 'job', 'Ready');
    expect(job.status?.attempt).toBe(2);
    expect(contracts(bench)).toBe(1);
    expect((rents(bench)[0]?.at ?? 0) - diedAt).toBeGreaterThan(SETTLED_AFTER_MS);
  });

  test.each([
    ['scenario 3: the answer is lost', 'reset-after', {}],
    ['scenario 6: it fails with 500 and was carried out all the same', '5xx-with-effect', {}],
    ['scenario 8: it answers 200 with success false and was carried out', 'success-false-with-effect', {}],
    ['scenario 4: it is carried out late, within the settle window', 'delayed', { seconds: 2 }],
  ] as const)('%s: the machine is adopted, and none is rented beside it', async (_, fault, body) => {
    const bench = await readyBench();
    const single = watchDoubles(bench);
    await bench.fault(fault as FaultName, { endpoint: 'rent', ...body });
    const job = await running(bench);
    expect(job.status?.attempt).toBe(1);
    expect(rents(bench)).toHaveLength(1);
    expect(contracts(bench)).toBe(1);
    single();
  });

  test('scenario 6: a refusal that names a machine is a rental', async () => {
    const bench = await readyBench();
    await bench.fault('error-with-effect', { endpoint: 'rent' });
    const job = await running(bench);
    expect(job.status).toMatchObject({ attempt: 1, instanceId: String(bench.billing()[0]?.id) });
    expect(contracts(bench)).toBe(1);
  });

  test.each([
    ['scenario 5: the request is lost', 'reset-before'],
    ['scenario 8: it answers 200 with success false', 'success-false'],
    ['scenario 6: it fails with 503', '5xx'],
  ] as const)('%s: nothing is rented before it is settled, then the next one is', async (_, fault) => {
    const bench = await readyBench();
    await bench.fault(fault, { endpoint: 'rent' });
    await bench.createInstance('job');
    expect((await reached(bench, 'job', 'Ready')).status?.attempt).toBe(2);
    expect(betweenRents(bench, 0, 1)).toBeGreaterThan(SETTLED_AFTER_MS);
    expect(contracts(bench)).toBe(1);
  });

  test('scenario 7: an offer that is gone is left at once for the next one', async () => {
    const bench = await readyBench();
    await bench.fault('offer-gone', { count: 4 });
    const job = await running(bench);
    const offers = rents(bench).map(({ path }) => path);
    expect(new Set(offers).size).toBe(5);
    expect(job.status?.attempt).toBe(5);
    expect(betweenRents(bench, 0, 4)).toBeLessThan(4 * SETTLED_AFTER_MS);
  });

  test('scenario 14: an object that is deleted before anything was sent rents nothing', async () => {
    const bench = await readyBench();
    await bench.stop();
    await bench.createInstance('job');
    await deleteInstance(bench);
    await bench.start();
    await goneFromCluster(bench);
    expect(rents(bench)).toEqual([]);
  });

  test('scenario 15: an object that is deleted while its rental is in flight destroys what comes of it', async () => {
    const bench = await readyBench();
    await bench.fault('delayed', { endpoint: 'rent', seconds: 1 });
    await bench.createInstance('job');
    await until('the rent call is under way', () => rents(bench).length === 1);
    await deleteInstance(bench);
    await goneFromCluster(bench);
    expect(contracts(bench)).toBe(1);
    expect(bench.billing()).toEqual([]);
  });

  test('scenario 15: and also when the process dies in between', async () => {
    const bench = await readyBench();
    const crashed = crashAt(bench, rentCall('after'));
    await bench.createInstance('job');
    await crashed;
    await deleteInstance(bench);
    await bench.start();
    await goneFromCluster(bench);
    expect(contracts(bench)).toBe(1);
    expect(bench.billing()).toEqual([]);
  });

  test('scenario 48: rents nothing on an outdated object when another client writes first', async () => {
    const bench = await readyBench();
    let meddled = false;
    bench.tap = async ({ when, side, method, path }) => {
      if (
        meddled ||
        when !== 'before' ||
        side !== 'kube' ||
        method !== 'PATCH' ||
        !path.includes('/gpuinstances/job')
      )
        return;
      meddled = true;
      await patchInstance(bench, { metadata: { labels: { team: 'a' } } });
    };
    const job = await running(bench);
    expect(meddled).toBe(true);
    expect(rents(bench)).toHaveLength(1);
    expect(job.metadata.labels).toMatchObject({ team: 'a' });
    expect(contracts(bench)).toBe(1);
  });

  test('scenario 49: the result write loses a race: it is repeated until saved', async () => {
    const bench = await readyBench();
    let raced = 0;
    bench.tap = async ({ when, side, method, path }) => {
      if (
        raced >= 2 ||
        when !== 'before' ||
        side !== 'kube' ||
        method !== 'PUT' ||
        !path.endsWith('/gpuinstances/job/status')
      )
        return;
      raced++;
      await patchInstance(bench, { metadata: { labels: { turn: String(raced) } } });
    };
    const job = await running(bench);
    expect(raced).toBe(2);
    expect(job.status?.attempt).toBe(1);
    expect(contracts(bench)).toBe(1);
  });

  test('scenario 50: the intent write was applied although its answer was lost: nothing was sent, and the next purchase follows', async () => {
    const bench = await readyBench();
    const crashed = crashAt(
      bench,
      ({ when, side, method, path }) =>
        when === 'after' && side === 'kube' && method === 'PATCH' && path.includes('/gpuinstances/job'),
    );
    await bench.createInstance('job');
    await crashed;
    expect(intentOf(await bench.instance('job')).attempt).toBe(1);
    expect(rents(bench)).toEqual([]);
    await bench.start();
    expect((await reached(bench, 'job', 'Ready')).status?.attempt).toBe(2);
    expect(contracts(bench)).toBe(1);
  });

  test('scenario 22: a new machine that lists do not show yet is waited for', async () => {
    const bench = await readyBench();
    const single = watchDoubles(bench);
    await bench.fault('lagging-list', { seconds: 2 });
    const job = await running(bench);
    expect(job.status?.attempt).toBe(1);
    expect(contracts(bench)).toBe(1);
    single();
  });

  test('scenario 70: a spec that changes while renting is followed once the machine is there', async () => {
    const bench = await readyBench();
    const single = watchDoubles(bench);
    await bench.fault('delayed', { endpoint: 'rent', seconds: 1 });
    await bench.createInstance('job');
    await until('the rent call is under way', () => rents(bench).length === 1);
    await patchInstance(bench, { spec: { image: 'example/image:2' } });
    const job = await until('the new image runs', async () => {
      const seen = await bench.instance('job');
      return seen?.status?.image === 'example/image:2' && seen.status.phase === 'Running' ? seen : undefined;
    });
    expect(job.status?.history).toMatchObject([{ reason: 'SpecChanged', attempt: 1 }]);
    expect(bench.billing()).toHaveLength(1);
    single();
  });

  test('scenario 59: SIGTERM in the middle of a rent: it is finished and saved before the lease goes', async () => {
    const bench = await readyBench();
    await bench.fault('delayed', { endpoint: 'rent', seconds: 1 });
    await bench.createInstance('job');
    await until('the rent call is under way', () => rents(bench).length === 1);
    await bench.stop();
    expect((await bench.instance('job'))?.status).toMatchObject({
      attempt: 1,
      instanceId: String(bench.billing()[0]?.id),
    });
  });

  test('scenario 61: a process that dies again and again ends with one machine', async () => {
    const bench = await readyBench();
    const single = watchDoubles(bench);
    const first = crashAt(bench, rentCall('after'));
    await bench.createInstance('job');
    await first;
    for (let round = 0; round < 4; round++) {
      await bench.start();
      await new Promise((resolve) => setTimeout(resolve, 150));
      await bench.crash();
    }
    await bench.start();
    await reached(bench, 'job', 'Ready');
    expect(contracts(bench)).toBe(1);
    single();
  });
});
