import { describe, expect, test } from 'vitest';
import { annotations } from '../../src/api/v1alpha1/names.ts';
import { SimulatedGroup } from '../builders/simulated-group.ts';
import { type JsonObject, metadataOf, objectAt } from '../simulation/memory-kube/json.ts';

const TICK = 10_000;
const STATUS_WRITE = /^PUT .*\/endpointgroups\/llm\/status$/;
const WORKER_MADE = /^POST .*\/gpuinstances$/;

/** Returns a group whose only worker has booted and was stopped. */
async function asleep(spec: Record<string, string | number> = {}): Promise<SimulatedGroup> {
  const life = new SimulatedGroup();
  life.begin({ coldWorkers: 1, ...spec });
  await life.until('one is cold', () => life.status().cold === 1 && life.fleet.running === 0);
  await life.until('it is stopped', () => life.workers()[0]?.status?.actualStatus === 'stopped');
  return life;
}

describe('what is written', () => {
  test('nothing for a quarter of an hour of a steady load', async () => {
    const life = new SimulatedGroup();
    life.begin({ minLoad: '150' });
    await life.until('two are ready', () => life.status().ready === 2);
    life.fleet.offered = 120;
    await life.pass(300);
    const before = life.calls.length;
    await life.pass(900);
    expect(life.calls.slice(before)).toEqual([]);
  });

  test('a term that moves at most once a minute, and not at all below 5 %', async () => {
    const life = new SimulatedGroup();
    life.begin({ minLoad: '150' });
    await life.until('two are ready', () => life.status().ready === 2);
    life.fleet.offered = 100;
    await life.pass(400);
    const steady = life.callsTo(STATUS_WRITE).length;
    life.fleet.offered = 103;
    await life.pass(400);
    expect(life.callsTo(STATUS_WRITE)).toHaveLength(steady);
    for (let offered = 50; offered < 110; offered += 2) {
      life.fleet.offered = offered;
      await life.pass(10);
    }
    const writes = life.callsTo(STATUS_WRITE).slice(steady);
    expect(writes.length).toBeGreaterThan(2);
    const gaps = writes.slice(1).map(({ at }, index) => at - (writes[index]?.at ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(60_000);
  });
});

describe('a load that rises', () => {
  test('has a cold worker asked to wake one tick and 100 ms later at most, however slow another worker is', async () => {
    const life = new SimulatedGroup();
    life.begin({ minLoad: '150', coldWorkers: 3 });
    await life.until('two are ready and one is cold', () => {
      const { ready, cold, starting } = life.status();
      return ready === 2 && cold === 1 && starting === 0;
    });
    const [silent] = life.workers().filter(({ spec }) => spec.powerState === 'Running');
    life.fleet.offered = 150;
    await life.pass(120);
    life.fleet.answer = ({ id }) =>
      String(id) === silent?.status?.instanceId ? { type: 'silent' } : undefined;
    life.fleet.offered = 2000;
    await life.pass((TICK + 100) / 1000);
    expect(life.workers().filter(({ spec }) => spec.powerState === 'Stopped')).toEqual([]);
  });

  test('loses no request that was taken when it falls again', async () => {
    const life = new SimulatedGroup();
    life.begin({ minLoad: '50', targetQueueTime: '10s' });
    await life.until('one is ready', () => life.status().ready === 1);
    for (const offered of [380, 90, 270, 0]) {
      life.fleet.offered = offered;
      await life.pass(340);
    }
    await life.until('one is left', () => life.status().replicas === 1 && life.fleet.running === 1);
    expect(life.fleet.done).toBeGreaterThan(80_000);
    expect(life.fleet.lost).toBe(0);
  });
});

describe('cold workers', () => {
  test('boot two at a time for the first time, and are stopped once they were ready', async () => {
    const life = new SimulatedGroup();
    life.begin({ coldWorkers: 5, maxWorkers: 8 });
    let most = 0;
    for (let second = 0; second < 900; second += 1) {
      await life.pass(1);
      const { starting = 0, draining = 0 } = life.status();
      most = Math.max(most, starting + draining);
    }
    expect(most).toBe(2);
    expect(life.status()).toMatchObject({ cold: 5, replicas: 0, starting: 0, total: 5 });
    expect(life.workers().map(({ spec }) => spec.powerState)).toEqual(Array(5).fill('Stopped'));
    expect(life.fleet.running).toBe(0);
  });

  test('wake when asked to, and go to sleep when nothing comes', async () => {
    const life = await asleep();
    life.annotate(annotations.wakeAt, 'now');
    await life.until('it serves', () => life.status().ready === 1);
    expect(life.status()).toMatchObject({ wokenAt: 'now', replicas: 1 });
    expect(life.callsTo(WORKER_MADE)).toHaveLength(1);
    await life.until('it sleeps again', () => life.status().replicas === 0 && life.fleet.running === 0);
    expect(life.status()).toMatchObject({ cold: 1, total: 1, phase: 'Zero' });
  });

  test('that do not wake in time are destroyed, their hosts avoided, and others rented', async () => {
    const life = await asleep({ wakeTimeout: '60s' });
    const [sleeper] = life.workers();
    await life.fault('cannot-start', { instance: sleeper?.status?.instanceId ?? 0 });
    life.annotate(annotations.wakeAt, 'now');
    const askedAt = life.world.now;
    await life.pass(59);
    expect(life.workers().map(({ metadata }) => metadata.uid)).toEqual([sleeper?.metadata.uid]);
    await life.until('another one serves', () => life.status().ready === 1);
    expect(life.world.now - askedAt).toBeLessThan(600_000);
    const [successor] = life.workers();
    expect(successor?.metadata.uid).not.toBe(sleeper?.metadata.uid);
    expect(successor?.status?.hostId).not.toBe(sleeper?.status?.hostId);
    expect(life.billing()).toHaveLength(1);
  });
});

describe('a hot worker that a person stops', () => {
  const stopped = async (more: JsonObject = {}) => {
    const life = new SimulatedGroup();
    life.begin({ minLoad: '50' });
    await life.until('one is ready', () => life.status().ready === 1);
    await life.pass(60);
    const [name = ''] = life.workers().map(({ metadata }) => metadata.name);
    life.editWorker(name, (worker) => ({
      ...worker,
      metadata: {
        ...metadataOf(worker),
        annotations: { ...objectAt(metadataOf(worker), 'annotations'), ...more },
      },
      spec: { ...objectAt(worker, 'spec'), powerState: 'Stopped' },
    }));
    return life;
  };

  test('is woken again where it is needed', async () => {
    const life = await stopped();
    await life.pass(60);
    expect(life.workers().map(({ spec }) => spec.powerState)).toEqual(['Running']);
    expect(life.status()).toMatchObject({ replicas: 1, ready: 1 });
    expect(life.rentals()).toBe(1);
  });

  test('and holds is left as it is, and the group says that it is short of a worker', async () => {
    const life = await stopped({ [annotations.hold]: 'mine' });
    await life.pass(600);
    expect(life.workers().map(({ spec }) => spec.powerState)).toEqual(['Stopped']);
    expect(life.status()).toMatchObject({ replicas: 1, ready: 0 });
    expect(life.condition('Ready')).toMatchObject({ status: 'False', reason: 'NoReadyWorkers' });
  });
});

describe('an edit whose first pass meets a conflict', () => {
  test('is judged by the next pass, and never called done by the decision before it', async () => {
    let isArmed = false;
    const life: SimulatedGroup = new SimulatedGroup({
      fate: ({ request }) => {
        if (!isArmed || request.method !== 'PUT' || !/endpointgroups\/llm\/status/.test(request.path))
          return undefined;
        isArmed = false;
        life.label('team', 'x');
        return undefined;
      },
    });
    life.begin({ minLoad: '50' });
    await life.until('one is ready', () => life.status().ready === 1);
    await life.pass(93);
    isArmed = true;
    life.edit({ minLoad: '250' });
    await life.until('it is judged', () => life.status().observedGeneration === 2, 5);
    expect(isArmed).toBe(false);
    expect(life.status()).toMatchObject({ replicas: 3 });
    expect(life.condition('Ready')).toMatchObject({ status: 'False' });
  });

  test('creates no worker by the refused decision when the watch misses the edit', async () => {
    let isArmed = false;
    let isDeaf = false;
    const life: SimulatedGroup = new SimulatedGroup({
      fate: ({ request: { method, path } }) => {
        if (!path.includes('endpointgroups')) return undefined;
        if (path.includes('watch=true')) return { requestMs: 2, responseMs: 2, dropChunk: () => isDeaf };
        if (!isArmed || method !== 'PUT') return undefined;
        isArmed = false;
        isDeaf = true;
        life.edit({ maxWorkers: 1 });
        return undefined;
      },
    });
    life.begin({ minLoad: '50' });
    await life.until('one is ready', () => life.status().ready === 1);
    isArmed = true;
    life.edit({ minLoad: '250' });
    await life.pass(5);
    expect(isArmed).toBe(false);
    expect(life.workers()).toHaveLength(1);
  });
});

describe('hosts that die while a group grows', () => {
  test('are made up for, and never more than maxWorkers bill', async () => {
    const life = new SimulatedGroup();
    life.begin({ minLoad: '350', maxWorkers: 5 });
    await life.until('one is ready', () => (life.status().ready ?? 0) >= 1);
    const [victim] = life.workers().filter(({ status }) => status?.actualStatus === 'running');
    await life.fault('host-death', { host: victim?.status?.hostId ?? 0 });
    await life.until('four serve elsewhere', () => {
      const hosts = life.workers().map(({ status }) => status?.hostId);
      return life.status().ready === 4 && !hosts.includes(victim?.status?.hostId);
    });
    expect(life.mostBilling).toBeLessThanOrEqual(5);
  });
});
