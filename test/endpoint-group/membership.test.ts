import { expect, test } from 'vitest';
import { SimulatedGroup } from '../builders/simulated-group.ts';
import { metadataOf } from '../simulation/memory-kube/json.ts';

const WORKER_MADE = /^POST .*\/gpuinstances$/;
const STATUS_WRITE = /^PUT .*\/endpointgroups\/llm\/status$/;

async function serving(spec: Parameters<SimulatedGroup['begin']>[0], ready: number) {
  const life = new SimulatedGroup();
  life.begin(spec);
  await life.until('all are ready', () => life.status().ready === ready);
  await life.pass(60);
  return life;
}

test('a worker that a person releases keeps its name, and another takes its place under the next', async () => {
  const life = await serving({ minLoad: '150' }, 2);
  const [name = ''] = life.workers().map(({ metadata }) => metadata.name);
  const made = life.callsTo(WORKER_MADE).length;
  const written = life.callsTo(STATUS_WRITE).length;
  life.editWorker(name, (worker) => ({
    ...worker,
    metadata: { ...metadataOf(worker), labels: {}, ownerReferences: [] },
  }));
  await life.until('another serves', () => life.status().ready === 2 && life.workers().length === 2, 300);
  await life.pass(600);
  expect(life.callsTo(WORKER_MADE).length - made).toBe(1);
  expect(life.callsTo(STATUS_WRITE).length - written).toBeLessThan(10);
  expect(life.workers().map(({ metadata }) => metadata.name)).not.toContain(name);
});

test('a group that is created again over the workers of the one before it takes them in and rents no other', async () => {
  const life = await serving({ minLoad: '250', maxWorkers: 5 }, 3);
  const before = life.workers().map(({ metadata }) => metadata.uid);
  for (const { machine } of life.world.processes) life.world.crash(machine, 'so that it misses what comes');
  life.abandonWorkers();
  expect([life.group(), life.workers().length]).toEqual([undefined, 3]);
  life.create({ minLoad: '250', maxWorkers: 5 });
  await life.until('all are ready', () => life.status().ready === 3);
  await life.pass(60);
  expect(life.workers().map(({ metadata }) => metadata.uid)).toEqual(before);
  expect(life.rentals()).toBe(3);
});

test('a group whose limit is lowered while its workers are counted makes none for the limit before', async () => {
  let isRaised = false;
  let edits = 0;
  const life: SimulatedGroup = new SimulatedGroup({
    fate: ({ request }) => {
      const counts = request.method === 'GET' && request.path.includes('labelSelector=');
      if (!counts || !isRaised) return undefined;
      if (edits === 0) life.edit({ maxWorkers: 1 });
      edits += 1;
      return { requestMs: 2, responseMs: 500 };
    },
  });
  life.begin({ minLoad: '50', maxWorkers: 5 });
  await life.until('one is ready', () => life.status().ready === 1);
  isRaised = true;
  life.edit({ minLoad: '250' });
  await life.pass(300);
  expect(edits).toBeGreaterThan(0);
  expect(life.callsTo(WORKER_MADE)).toHaveLength(1);
});

test('a group that is deleted publishes none of its workers before they go', async () => {
  const life = await serving({ minLoad: '150' }, 2);
  const before = life.calls.length;
  life.delete();
  await life.until('it is gone', () => life.group() === undefined);
  const ends = life.calls
    .slice(before)
    .map(({ what }) => /^DELETE .*\/(endpointslices|gpuinstances)\//.exec(what)?.[1])
    .filter((plural) => plural !== undefined);
  expect(ends).toEqual(['endpointslices', 'endpointslices', 'gpuinstances', 'gpuinstances']);
  expect(life.billing()).toEqual([]);
});
