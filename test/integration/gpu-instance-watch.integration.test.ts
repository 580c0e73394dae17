import { describe, expect, test } from 'vitest';
import { annotations, marketplaceAccountResource } from '../../src/api/v1alpha1/names.ts';
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
  watchDoubles,
} from './gpu-instance-bench.ts';

useBenches();

const IMPATIENT = { replacement: { tolerance: { exitedSeen: 2, unknown: '1s', offline: '1s' } } };

/** Returns the object once it runs on a machine other than this one. */
async function replaced(bench: Awaited<ReturnType<typeof readyBench>>, before: string | undefined) {
  return until('another machine runs', async () => {
    const job = await bench.instance('job');
    return job?.status?.phase === 'Running' && job.status.instanceId !== before ? job : undefined;
  });
}

const threeLists = async (bench: Awaited<ReturnType<typeof readyBench>>) => {
  const lists = () => bench.callsTo('GET', /\/instances\/$/).length;
  const enough = lists() + 3;
  await until('three more lists', () => lists() >= enough);
};

describe('a machine that is lost', () => {
  test.each([
    ['scenario 25: its container ends', 'exited', 'Exited'],
    ['scenario 25: its host is disconnected', 'offline', 'HostOffline'],
    ['scenario 25: its host sends no heartbeat', 'unknown', 'HostOffline'],
  ] as const)('%s: it is destroyed, confirmed gone and replaced elsewhere', async (_, fault, reason) => {
    // The only machine of an account: if nobody sees it, it is replaced after the hold of the breaker.
    const bench = await readyBench({ account: { maxUnhealthyHold: '1s' } });
    const first = await running(bench, 'job', IMPATIENT);
    const single = watchDoubles(bench);
    await bench.fault(fault, { instance: first.status?.instanceId });
    const second = await replaced(bench, first.status?.instanceId);
    expect(second.status?.history).toMatchObject([
      { attempt: 1, instanceId: first.status?.instanceId, reason },
    ]);
    expect(second.status?.machineId).not.toBe(first.status?.machineId);
    expect(destroys(bench)).toHaveLength(1);
    single();
  });

  test('scenario 26: a status that flaps at every look is neither replaced nor written down each time', async () => {
    const bench = await readyBench();
    const job = await running(bench, 'job', { replacement: { tolerance: { unknown: '10s' } } });
    await bench.fault('flap', { instance: job.status?.instanceId });
    const before = bench.kubeCalls.length;
    for (let round = 0; round < 4; round++) await threeLists(bench);
    const writes = bench.kubeCalls
      .slice(before)
      .filter(({ method, path }) => method === 'PUT' && path.endsWith('/gpuinstances/job/status'));
    expect(writes.length).toBeLessThanOrEqual(4);
    expect(destroys(bench)).toEqual([]);
  });

  test('scenario 27: an unknown status is shown and never judged', async () => {
    const bench = await readyBench();
    const job = await running(bench, 'job', IMPATIENT);
    await bench.fault('unknown-status', { instance: job.status?.instanceId });
    await reached(bench, 'job', 'NotRunning');
    await threeLists(bench);
    expect(destroys(bench)).toEqual([]);
    await bench.clearFaults();
    expect((await reached(bench, 'job', 'Ready')).status?.instanceId).toBe(job.status?.instanceId);
  });

  test('scenario 28: a machine that never gets past loading is replaced after its time', async () => {
    const bench = await readyBench();
    await bench.fault('stuck-loading', { count: 1 });
    await bench.createInstance('job', { timeouts: { loading: '2s' } });
    const job = await reached(bench, 'job', 'Ready');
    expect(job.status?.history).toMatchObject([{ reason: 'LoadingTimedOut' }]);
    expect(bench.billing()).toHaveLength(1);
  });

  test('scenario 9: a machine that is made stopped is asked to start, and replaced when it does not', async () => {
    const bench = await readyBench();
    await bench.fault('create-stopped', { count: 1 });
    await bench.fault('cannot-start', { count: 1 });
    await bench.createInstance('job', { timeouts: { start: '2s' } });
    const job = await reached(bench, 'job', 'Ready');
    expect(bench.billing()).toHaveLength(1);
    expect(String(bench.billing()[0]?.id)).toBe(job.status?.instanceId);
  });

  test.each([
    ['waits when it crashed on two machines', 2, 'RepeatedFailure'],
    ['stops at maxPerHour when that comes first', 1, 'AtLimit'],
  ] as const)('scenario 30: an image that crashes at start %s', async (_, maxPerHour, reason) => {
    const bench = await readyBench();
    await bench.fault('crash-image');
    await bench.createInstance('job', { replacement: { maxPerHour, tolerance: { exitedSeen: 1 } } });
    const job = await reached(bench, 'job', reason);
    expect(job.status?.rentals).toHaveLength(maxPerHour);
    await threeLists(bench);
    expect(rents(bench)).toHaveLength(maxPerHour);
    expect(bench.billing()).toEqual([]);
  });

  test('replacement.policy Never keeps the lost machine and says so', async () => {
    const bench = await readyBench();
    const job = await running(bench, 'job', {
      replacement: { policy: 'Never', tolerance: { offline: '1s' } },
    });
    await bench.fault('offline', { instance: job.status?.instanceId });
    const stalled = await reached(bench, 'job', 'ReplacementOff');
    expect(conditionOf(stalled, 'Stalled')?.status).toBe('True');
    expect(destroys(bench)).toEqual([]);
  });
});

describe('scenario 24: a machine that a person destroyed', () => {
  test('is replaced once lists and read agree', async () => {
    const bench = await readyBench();
    const first = await running(bench);
    await bench.fault('destroyed-elsewhere', { instance: first.status?.instanceId });
    const second = await replaced(bench, first.status?.instanceId);
    expect(second.status?.history).toMatchObject([{ reason: 'Vanished' }]);
  });

  test('is not replaced where onVanish is Hold', async () => {
    const bench = await readyBench();
    const first = await running(bench, 'job', { onVanish: 'Hold' });
    await bench.fault('destroyed-elsewhere', { instance: first.status?.instanceId });
    const held = await reached(bench, 'job', 'VanishedHeld');
    expect(conditionOf(held, 'Stalled')?.status).toBe('True');
    expect(rents(bench)).toHaveLength(1);
  });
});

describe('lists that cannot be trusted', () => {
  test.each([
    ['scenario 20: empty with 200', 'empty-list', 2],
    ['scenario 21: truncated', 'truncated-list', 4],
  ] as const)('%s: nothing is destroyed, nothing is rented', async (_, fault, count) => {
    const bench = await readyBench();
    const job = await running(bench);
    await bench.fault(fault, { endpoint: 'list', count });
    await threeLists(bench);
    await threeLists(bench);
    expect(destroys(bench)).toEqual([]);
    expect(rents(bench)).toHaveLength(1);
    expect((await reached(bench, 'job', 'Ready')).status?.instanceId).toBe(job.status?.instanceId);
  });

  test('scenario 23: a list that still shows the destroyed machine as running delays the next one, and brings nothing back', async () => {
    const bench = await readyBench();
    const first = await running(bench, 'job', IMPATIENT);
    const single = watchDoubles(bench);
    await bench.fault('ghost-rows', { seconds: 3 });
    await patchInstance(bench, { spec: { image: 'example/image:2' } });
    const second = await replaced(bench, first.status?.instanceId);
    expect(second.status?.history).toMatchObject([{ reason: 'SpecChanged' }]);
    expect(contracts(bench)).toBe(2);
    single();
  });
});

/** Sets how many machines the account allows. */
async function limit(bench: Awaited<ReturnType<typeof readyBench>>, maxInstances: number): Promise<void> {
  const reference = { namespace: bench.namespace, name: 'default' };
  const body = { spec: { limits: { maxInstances } } };
  await bench.kube.patch(marketplaceAccountResource, reference, { type: 'merge', body });
}

/** Returns the object once its replacement is blocked. */
const blockedJob = (bench: Awaited<ReturnType<typeof readyBench>>) =>
  until('its replacement is blocked', async () => {
    const job = await bench.instance('job');
    return conditionOf(job, 'ReplacementBlocked') && job;
  });

describe('an edit that cannot be rented (P1)', () => {
  test('keeps machine and id, says ReplacementBlocked, and says nothing once the edit is reverted', async () => {
    const bench = await readyBench();
    const before = await running(bench, 'job', { disk: '32G' });
    await patchInstance(bench, { spec: { disk: '90T' } });
    const blocked = await blockedJob(bench);
    expect(conditionOf(blocked, 'ReplacementBlocked')).toMatchObject({
      reason: 'ReplacementBlocked',
      message: expect.stringContaining('NoOffers'),
    });
    expect(conditionOf(blocked, 'Ready')?.status).toBe('True');
    await threeLists(bench);
    await patchInstance(bench, { spec: { disk: '32G' } });
    const after = await until('the block is over', async () => {
      const job = await bench.instance('job');
      const isBlocked = job && conditionOf(job, 'ReplacementBlocked') !== undefined;
      return job?.status?.observedGeneration === job?.metadata.generation && !isBlocked ? job : undefined;
    });
    expect(after?.status?.instanceId).toBe(before.status?.instanceId);
    expect(destroys(bench)).toEqual([]);
    expect(rents(bench)).toHaveLength(1);
  });

  test('keeps the machine while the account allows none, and replaces it once it allows one', async () => {
    const bench = await readyBench();
    const before = await running(bench);
    await limit(bench, 0);
    await patchInstance(bench, { spec: { image: 'example/image:2' } });
    const blocked = await blockedJob(bench);
    expect(conditionOf(blocked, 'ReplacementBlocked')?.message).toContain('AtLimit');
    expect(destroys(bench)).toEqual([]);
    await limit(bench, 1);
    const next = await replaced(bench, before.status?.instanceId);
    expect(next.status?.history).toMatchObject([{ reason: 'SpecChanged' }]);
  });
});

describe('a destroy that does not go as it should', () => {
  test.each([
    ['scenario 16: its answer is lost', 'reset-after', {}],
    ['scenario 16: it times out before it is done', 'reset-before', { count: 2 }],
    ['scenario 17: it answers success and does nothing', 'delete-ignored', { count: 1 }],
    ['scenario 18: it says that there is no such machine', '5xx-with-effect', {}],
    ['scenario 19: it answers 404 as for a bad key', 'auth-as-404', { count: 1 }],
  ] as const)('%s: it is repeated until lists and read prove the machine gone', async (_, fault, body) => {
    const bench = await readyBench();
    await running(bench);
    await bench.fault(fault, { endpoint: 'destroy', ...body });
    await deleteInstance(bench);
    await goneFromCluster(bench);
    expect(bench.billing()).toEqual([]);
  });

  test('scenario 31: a key that is revoked stops it, and it goes on by itself when the key is good again', async () => {
    const bench = await readyBench();
    await running(bench);
    await bench.fault('revoked-key', { count: 40 });
    await deleteInstance(bench);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect((await bench.instance('job'))?.metadata.finalizers).toEqual(['gpurental.dev/machine']);
    expect(bench.billing()).toHaveLength(1);
    await bench.clearFaults();
    await goneFromCluster(bench);
    expect(bench.billing()).toEqual([]);
  });
});

describe('what people do', () => {
  test('scenario 46: an object deleted and created again under its name: the old machine goes, the new object gets its own', async () => {
    const bench = await readyBench();
    const first = await running(bench);
    await deleteInstance(bench);
    await goneFromCluster(bench);
    const second = await running(bench);
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    expect(bench.billing().map(({ id }) => String(id))).toEqual([second.status?.instanceId]);
  });

  test('scenario 62: all objects of a namespace that are deleted at once go when their machines are gone', async () => {
    const bench = await readyBench();
    await running(bench, 'one');
    await running(bench, 'two');
    await bench.cluster.kubectl(['delete', 'gpuinstances', '--all', '-n', bench.namespace, '--wait=false']);
    await goneFromCluster(bench, 'one');
    await goneFromCluster(bench, 'two');
    expect(bench.billing()).toEqual([]);
  });

  test('scenario 68: a machine onto which a person copied a label is never destroyed with the object', async () => {
    const bench = await readyBench();
    const job = await running(bench);
    const { contracts: table } = bench.simulator.world().tables;
    const mine = table[Number(job.status?.instanceId)];
    if (!mine) throw new Error('no contract');
    bench.simulator.store.put('contracts', {
      ...mine,
      id: mine.id + 500,
      startedAt: mine.createdAt,
      createdAt: mine.createdAt - 86_400_000,
    } as never);
    await threeLists(bench);
    await deleteInstance(bench);
    await goneFromCluster(bench);
    expect(destroys(bench)).toHaveLength(1);
    expect(destroys(bench)[0]?.path).toContain(String(mine.id));
  });

  test('scenario 71: a status that a person edits is repaired by the label, and nothing foreign is touched', async () => {
    const bench = await readyBench();
    const job = await running(bench);
    await bench.cluster.kubectl([
      'patch',
      'gpuinstance',
      'job',
      '-n',
      bench.namespace,
      '--subresource=status',
      '--type=merge',
      '-p',
      JSON.stringify({ status: { machine: { id: '4711' } } }),
    ]);
    const repaired = await until('the status is right again', async () => {
      const seen = await bench.instance('job');
      return seen?.status?.instanceId === job.status?.instanceId ? seen : undefined;
    });
    expect(repaired.status?.attempt).toBe(1);
    expect(contracts(bench)).toBe(1);
    expect(destroys(bench)).toEqual([]);
  });

  test('scenario 76: an intent of another version is left alone', async () => {
    const bench = await readyBench();
    await bench.stop();
    await bench.createInstance('job');
    await patchInstance(bench, { metadata: { annotations: { [annotations.rentalIntent]: '{"v":99}' } } });
    await bench.start();
    await reached(bench, 'job', 'RecordUnreadable');
    expect(rents(bench)).toEqual([]);
  });

  test('an object that is paused keeps its lost machine, and goes on when it is not', async () => {
    const bench = await readyBench();
    const first = await running(bench, 'job', { ...IMPATIENT, paused: false });
    await patchInstance(bench, { spec: { paused: true } });
    await bench.fault('offline', { instance: first.status?.instanceId });
    await reached(bench, 'job', 'Paused');
    expect(destroys(bench)).toEqual([]);
    await patchInstance(bench, { spec: { paused: false } });
    await replaced(bench, first.status?.instanceId);
  });

  test('replace-at asks for another machine once', async () => {
    const bench = await readyBench();
    const first = await running(bench);
    const when = new Date().toISOString();
    await patchInstance(bench, { metadata: { annotations: { [annotations.replaceAt]: when } } });
    const second = await replaced(bench, first.status?.instanceId);
    expect(second.status?.history).toMatchObject([{ reason: 'ReplaceRequested' }]);
    await threeLists(bench);
    await threeLists(bench);
    expect((await bench.instance('job'))?.status?.instanceId).toBe(second.status?.instanceId);
    expect(contracts(bench)).toBe(2);
  });

  test('requested-at is echoed', async () => {
    const bench = await readyBench();
    await running(bench);
    await patchInstance(bench, { metadata: { annotations: { [annotations.requestedAt]: 'now-1' } } });
    await until('the echo', async () => (await bench.instance('job'))?.status?.requestedAt === 'now-1');
  });

  test('deletionPolicy Retain leaves the machine with a label that says so', async () => {
    const bench = await readyBench();
    await running(bench, 'job', { deletionPolicy: 'Retain' });
    await deleteInstance(bench);
    await goneFromCluster(bench);
    expect(bench.billing()).toMatchObject([{ label: expect.stringMatching(/^gpurental1-retained:/) }]);
    expect(destroys(bench)).toEqual([]);
  });

  test('deletionPolicy Stop leaves the machine stopped', async () => {
    const bench = await readyBench();
    const job = await running(bench, 'job', { deletionPolicy: 'Stop' });
    await deleteInstance(bench);
    await goneFromCluster(bench);
    const contract = bench.simulator.world().tables.contracts[Number(job.status?.instanceId)];
    expect(contract?.actualStatus).toBe('stopped');
    expect(contract?.label).toMatch(/^gpurental1-retained:/);
  });

  test('maxTotalCost destroys the machine and says so', async () => {
    const bench = await readyBench();
    await bench.createInstance('job', { maxTotalCost: '0.0005' });
    await until('it is stalled', async () => {
      const stalled = conditionOf(await bench.instance('job'), 'Stalled');
      return stalled?.status === 'True' && stalled.reason === 'LimitReached';
    });
    expect(bench.billing()).toEqual([]);
    expect(rents(bench)).toHaveLength(1);
  });
});
