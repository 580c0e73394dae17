import { describe, expect, test } from 'vitest';
import { annotations } from '../../src/api/v1alpha1/names.ts';
import { workerName } from '../../src/controllers/endpoint-group/workers/template.ts';
import { PROMETHEUS, SimulatedGroup } from '../builders/simulated-group.ts';

const names = (life: SimulatedGroup) => life.workers().map(({ metadata }) => metadata.name);

function crash(life: SimulatedGroup): void {
  const [process] = life.world.processes;
  if (!process) throw new Error('No operator runs.');
  life.world.crash(process.machine, 'in a test');
}

/** Freezes the leader until the other process leads. A replacement process would lead immediately. */
function freezeLeader(life: SimulatedGroup): void {
  life.world.processes[0]?.machine.freeze(60_000);
}

describe('a restart', () => {
  test('after hours of a steady load keeps the pool of cold workers, although the load is over', async () => {
    // An hour of the long window passes in six minutes.
    const life = new SimulatedGroup({ flags: { scalingSpeed: '10' } });
    life.begin({ minLoad: '50', coldMultiplier: '3', maxWorkers: 8 });
    await life.until('one is ready', () => life.status().ready === 1);
    life.fleet.offered = 80;
    await life.until('three are there', () => life.status().total === 3 && life.status().starting === 0);
    await life.pass(400);
    const before = names(life);
    expect(before).toHaveLength(3);
    life.fleet.offered = 20;
    crash(life);
    await life.pass(120);
    expect(names(life)).toEqual(before);
  });

  test('while all workers sleep keeps them, although none has reported to the new process what it can do', async () => {
    const life = new SimulatedGroup({ flags: { scalingSpeed: '10' } });
    life.begin({ minLoad: '50', minColdLoad: '350', expectedPerf: undefined });
    await life.until('four are there', () => life.status().total === 4 && life.status().starting === 0);
    life.edit({ minLoad: '0' });
    await life.until('all sleep', () => life.status().replicas === 0 && life.fleet.running === 0);
    await life.pass(60);
    const before = names(life);
    crash(life);
    await life.pass(120);
    expect(names(life)).toEqual(before);
    expect(before).toHaveLength(4);
  });

  test('keeps every hot worker until it has seen the load for a minute, and then those that it needs', async () => {
    const life = new SimulatedGroup();
    life.begin({ minLoad: '250' });
    await life.until('three are ready', () => life.status().ready === 3);
    life.fleet.offered = 240;
    await life.pass(120);
    life.edit({ minLoad: '0' });
    crash(life);
    await life.until('it is looked at', () => life.status().observedGeneration === 2);
    await life.pass(300);
    expect(life.status()).toMatchObject({ replicas: 3, ready: 3 });
  });

  test('while the machine boots that a request has woken keeps it, although no load is seen in front of the group', async () => {
    const life = new SimulatedGroup({
      flags: { prometheusUrl: PROMETHEUS, prometheusTenancy: 'unrestricted' },
    });
    life.begin({ load: { type: 'Prometheus', prometheus: { loadQuery: 'load' } }, minLoad: '50' });
    await life.until('one serves', () => life.status().ready === 1);
    life.edit({ minLoad: '0' });
    await life.until('none is left', () => life.status().total === 0);
    await life.bootTakes(600);
    const before = life.rentals();
    life.annotate(annotations.wakeAt, 'now');
    await life.until('one boots', () => life.status().replicas === 1, 60);
    await life.pass(60);
    crash(life);
    await life.until('it serves', () => life.status().ready === 1, 900);
    expect(life.rentals() - before).toBe(1);
    await life.until('none is left again', () => life.status().total === 0, 600);
  });

  test('between the record of a wake and the wake itself wakes all the same', async () => {
    let strikes = 0;
    const life = new SimulatedGroup({
      fate: ({ request }) => {
        const isWake =
          request.method === 'PATCH' && String(request.body).includes('"gpurental.dev/woken-at"');
        if (!isWake || strikes > 0) return undefined;
        strikes += 1;
        return { requestMs: 2, responseMs: 2, crash: 'before' };
      },
    });
    life.begin({ coldWorkers: 1 });
    await life.until('one is cold', () => life.workers()[0]?.status?.actualStatus === 'stopped');
    life.annotate(annotations.wakeAt, 'now');
    await life.until('it serves', () => life.status().ready === 1, 120);
    expect(strikes).toBe(1);
    expect(life.rentals()).toBe(1);
  });
});

describe('two operators', () => {
  test('of which one sleeps through the loss of its lease make no worker twice, and the sleeper does nothing more', async () => {
    let sleptAt = Number.POSITIVE_INFINITY;
    const life = new SimulatedGroup({
      fate: ({ machine, request }) => {
        const makesWorker = request.method === 'POST' && /\/gpuinstances(\?|$)/.test(request.path);
        if (!makesWorker || machine.name !== 'operator-1' || life.workers().length === 0) return undefined;
        if (life.world.now < sleptAt) machine.freeze(25_000);
        sleptAt = Math.min(sleptAt, life.world.now);
        return undefined;
      },
    });
    life.begin({ minLoad: '50', maxWorkers: 5 });
    await life.until('one is ready', () => life.status().ready === 1);
    life.world.startProcess();
    life.edit({ minLoad: '250' });
    await life.until('three are ready', () => life.status().ready === 3);
    await life.pass(300);
    expect(life.workers()).toHaveLength(3);
    expect(life.rentals()).toBe(3);
    const later = life.calls.filter(({ at, process }) => process === 'operator-1' && at > sleptAt);
    expect(later.filter(({ what }) => /endpointgroups|endpointslices|gpuinstances$/.test(what))).toEqual([]);
  });

  test('of which one acts on a copy without the newest workers make no worker twice, and it finds them', async () => {
    const life = await withFollowerThatMissesWorkers();
    await life.until('three are there', () => life.workers().length === 3);
    freezeLeader(life);
    await life.pass(120);
    expect(life.callsTo(/endpointgroups/).at(-1)?.process).toBe('operator-2');
    expect(names(life)).toHaveLength(3);
    expect(life.status()).toMatchObject({ replicas: 3, total: 3 });
    expect(life.rentals()).toBeLessThanOrEqual(3);
  });

  test('a worker whose event the copy has missed is not made a second time by the one that leads then', async () => {
    const life = await withFollowerThatMissesWorkers();
    await life.until('three are ready', () => life.status().ready === 3);
    // What is left is not what the deaf one would make next: that name is free again.
    const group = life.group();
    if (!group) throw new Error('There is no group.');
    life.edit({ pause: { scaleUp: true } });
    await life.pass(5);
    life.deleteWorker(workerName(group, 1));
    await life.until('two are left', () => life.workers().length === 2);
    life.edit({ minLoad: '150', maxWorkers: 2, pause: {} });
    await life.until('both are ready', () => life.status().ready === 2);
    const before = names(life);
    expect([before.length, life.rentals()]).toEqual([2, 3]);
    freezeLeader(life);
    await life.pass(120);
    expect(life.callsTo(/endpointgroups/).at(-1)?.process).toBe('operator-2');
    expect(names(life)).toEqual(before);
    expect(life.status()).toMatchObject({ replicas: 2, total: 2 });
    expect(life.rentals()).toBe(3);
  });
});

/** Returns a group with one worker that serves and two requested ones that the standby's watch misses. */
async function withFollowerThatMissesWorkers(): Promise<SimulatedGroup> {
  let misses = false;
  const life = new SimulatedGroup({
    fate: ({ machine, request }) =>
      machine.name === 'operator-2' &&
      request.path.includes('gpuinstances') &&
      request.path.includes('watch=true')
        ? { requestMs: 2, responseMs: 2, dropChunk: () => misses }
        : undefined,
  });
  life.begin({ minLoad: '50', maxWorkers: 9 });
  await life.until('one is ready', () => life.status().ready === 1);
  life.world.startProcess();
  await life.pass(30);
  misses = true;
  life.edit({ minLoad: '250' });
  return life;
}
