import { describe, expect, test } from 'vitest';
import { annotations } from '../../src/api/v1alpha1/names.ts';
import { workerToken } from '../../src/ownership/worker-token.ts';
import { SimulatedGroup } from '../builders/simulated-group.ts';
import { metadataOf } from '../simulation/memory-kube/json.ts';

const STATUS_WRITE = /^PUT .*\/endpointgroups\/llm\/status$/;

/** Sends a report of the first worker, with its token, to the process at that place (default: the first). */
function report(life: SimulatedGroup, figures: Record<string, unknown>, place = 0): number {
  const [worker] = life.workers();
  const process = life.world.processes[place];
  const identity = life.world.processes[0]?.operator.installation.identity();
  const { instanceId, attempt } = worker?.status ?? {};
  if (!process || !identity || attempt === undefined) throw new Error('There is no process to report to.');
  const uid = worker?.metadata.uid ?? '';
  const mtoken = workerToken(identity.keys, { uid, attempt });
  return process.operator.intake.take('/worker_status/', { id: instanceId, mtoken, ...figures }).status;
}

async function awake(spec: Record<string, string> = {}): Promise<SimulatedGroup> {
  const life = new SimulatedGroup();
  life.begin({ load: { type: 'Push' }, coldWorkers: 1, maxWorkers: 3, ...spec });
  await life.until('one is cold', () => life.workers()[0]?.status?.actualStatus === 'stopped');
  life.annotate(annotations.wakeAt, 'now');
  await life.until('it serves', () => life.status().ready === 1);
  return life;
}

describe('workers that report by themselves', () => {
  test('have others woken and rented by what they say', async () => {
    const life = await awake();
    for (let second = 0; second < 40; second += 1) {
      expect(report(life, { new_load: 160, cur_load: 200, max_perf: 100 })).toBe(200);
      await life.pass(1);
    }
    expect(life.status().replicas).toBeGreaterThanOrEqual(2);
  });

  test('keep the last one by asking for a wake, without a write for each time', async () => {
    const life = await awake({ inactivityTimeout: '60s' });
    await life.pass(320);
    const before = life.callsTo(STATUS_WRITE).length;
    life.annotate(annotations.wakeAt, 'again');
    await life.until('it serves', () => life.status().ready === 1);
    for (let tenth = 0; tenth < 4000; tenth += 1) {
      report(life, { new_load: 0, cur_load: 0, wake: { cost: 1 } });
      await life.pass(0.1);
      expect(life.status().replicas).toBe(1);
    }
    expect(life.callsTo(STATUS_WRITE).length - before).toBeLessThan(20);
    await life.until('it sleeps', () => life.status().replicas === 0, 420);
  });

  test('count if they ask for a wake while a decision without it is being written', async () => {
    let strike = () => {};
    const life = new SimulatedGroup({
      fate: ({ request }) => {
        if (request.method === 'PUT' && /endpointgroups\/llm\/status/.test(request.path)) strike();
        return undefined;
      },
    });
    life.begin({ load: { type: 'Push' }, coldWorkers: 1, maxWorkers: 3 });
    await life.until('one is cold', () => life.workers()[0]?.status?.actualStatus === 'stopped');
    await life.pass(400);
    let asked = 0;
    strike = () => {
      if (asked === 0) asked = report(life, { new_load: 0, cur_load: 0, wake: { cost: 1 } });
    };
    life.edit({ maxWorkers: 4 });
    await life.until('it serves', () => life.status().ready === 1, 60);
    expect(asked).toBe(200);
  });

  test('count no more if another object controls them, be their label what it was', async () => {
    const life = await awake();
    const [name = ''] = life.workers().map(({ metadata }) => metadata.name);
    expect(report(life, { new_load: 0, cur_load: 0 })).toBe(200);
    const owner = {
      apiVersion: 'x.example/v1',
      kind: 'Other',
      name: 'other',
      uid: 'other',
      controller: true,
    };
    life.editWorker(name, (worker) => ({
      ...worker,
      metadata: { ...metadataOf(worker), ownerReferences: [owner] },
    }));
    await life.pass(20);
    expect(life.workers().map(({ metadata }) => metadata.name)[0]).toBe(name);
    expect(report(life, { new_load: 5000, wake: { cost: 1 } })).toBe(401);
  });

  test('are to try again if the process that receives them does not lead', async () => {
    const life = await awake();
    life.world.startProcess();
    await life.pass(30);
    expect(report(life, { new_load: 0 }, 1)).toBe(503);
    expect(report(life, { new_load: 0 })).toBe(200);
  });

  test('are missed with the reason where the operator listens nowhere', async () => {
    const life = await awake();
    await life.until('it is told', () => life.condition('MetricsAvailable')?.status === 'False', 120);
    expect(life.condition('MetricsAvailable')?.message).toContain('--worker-report-bind-address');
  });

  test('that send lies shrink nothing, and are named', async () => {
    const life = await awake();
    for (let second = 0; second < 400; second += 10) {
      expect(report(life, { new_load: 1e30 })).toBe(400);
      await life.pass(10);
    }
    expect(life.status()).toMatchObject({ replicas: 1, ready: 1 });
    expect(life.condition('MetricsAvailable')).toMatchObject({ status: 'False' });
  });
});

describe('an edit of the group whose event was lost', () => {
  test('is found at the next write that it makes impossible', async () => {
    let drops = 0;
    const life = new SimulatedGroup({
      fate: ({ request }) =>
        request.path.includes('endpointgroups') && request.path.includes('watch=true')
          ? { requestMs: 2, responseMs: 2, dropChunk: () => drops-- > 0 }
          : undefined,
    });
    life.begin({ minLoad: '50' });
    await life.until('one is ready', () => life.status().ready === 1);
    drops = 1;
    life.edit({ minLoad: '250' });
    await life.pass(20);
    expect(life.status().replicas).toBe(1);
    life.fleet.offered = 90;
    await life.until('three are wanted', () => life.status().replicas === 3, 120);
  });
});
