import { expect, test } from 'vitest';
import { type Contestant, live, type Plan, type Scene, Unfinished } from '../../bench/peers/life.ts';
import type { LiveMachine } from '../../bench/peers/market.ts';
import { barChart, growthChart } from '../../bench/peers/pictures.ts';
import { goalsOf, goalsTable, type Result, tableOf } from '../../bench/peers/report.ts';
import { type Entrant, interleaved, ratioOf } from '../../bench/peers/rounds.ts';
import type { Scenario } from '../../bench/peers/scenarios.ts';
import { requestsIn, type SeenObject } from '../../bench/peers/stage.ts';
import { createVirtualClock, type VirtualClock } from '../builders/virtual-clock.ts';

const PLAN: Plan = {
  ...{
    objects: 20,
    workersPerGroup: 0,
    trickle: 4,
    pollSeconds: 1,
    outage: false,
    failover: false,
    restart: false,
  },
  ...{ restPollSeconds: 10, restSeconds: 10, deletion: true, limitSeconds: 60 },
};
const SCENARIO: Scenario = {
  ...{ name: 'planted', contenders: [], rounds: 3, dropped: 1, roundTripMs: 0, paced: false },
  plan: PLAN,
};

/** Behaviour of the planted contender. */
interface Planted {
  readonly msPerObject: number;
  /** Number of rentals after which it stops. */
  readonly rents?: number;
  /** Machines for each object. */
  readonly machines?: number;
  /** The name of the machine in each status. */
  readonly statusNames?: string;
  readonly secrets?: boolean;
  readonly leavesMachines?: boolean;
  readonly ends?: boolean;
}

/** Returns an in-memory cluster and marketplace in which the planted contender handles object after object. */
function sceneOf(planted: Planted, clock: VirtualClock): Scene {
  const objects = new Map<string, SeenObject>();
  const machines: LiveMachine[] = [];
  let [busyUntil, done, ended] = [0, 0, 0];
  let deletedAt: number | undefined;
  const later = (run: () => void): void => {
    busyUntil = Math.max(busyUntil, clock.monotonic()) + planted.msPerObject;
    clock.setTimer(busyUntil - clock.monotonic(), run);
  };
  const rent = (seen: SeenObject): void => {
    if (done >= (planted.rents ?? Number.POSITIVE_INFINITY)) return;
    done += 1;
    for (let index = 0; index < (planted.machines ?? 1); index += 1)
      machines.push({ id: machines.length + 1, label: `x:${seen.uid}:1`, createdAt: clock.now() });
    seen.instanceId = planted.statusNames ?? String(machines.length);
    seen.phase = 'Running';
    seen.runningAt = clock.now();
  };
  const contestant: Contestant = {
    startedAt: clock.now(),
    cpuMs: () => done * planted.msPerObject,
    residentMiB: () => 50,
    peakMiB: () => 60,
    check() {
      if (planted.ends) throw new Error('planted ended (exit code 1)');
    },
    kill() {},
    stop: async () => {},
  };
  return {
    clock,
    ...{ roundTripMs: 0, paced: false },
    objects: {
      live: objects,
      lastDeletedAt: () => deletedAt,
      async create(names) {
        for (const name of names) {
          const createdAt = clock.now();
          const seen = { uid: `uid-${name}`, createdAt, phase: '', instanceId: '', runningAt: undefined };
          objects.set(name, seen);
          later(() => rent(seen));
        }
      },
      createGroups: async () => {},
      async deleteAll() {
        for (const name of [...objects.keys()])
          later(() => {
            objects.delete(name);
            deletedAt = clock.now();
            if (!planted.leavesMachines) ended += machines.splice(0, 1).length;
          });
      },
      connectionSecrets: async () => (planted.secrets === false ? 0 : objects.size),
    },
    market: {
      requests: async () => ({ list: 1 }),
      state: async () => ({
        ...{ requests: { list: 1 }, tooManyRequests: 0, maxRentsInFlight: 1, lastDestroyAt: undefined },
        ...{ live: machines, ended },
      }),
      fault: async () => {},
    },
    start: async () => contestant,
    countRequests: () => () => ({ 'update gpuinstances/status': 2 * PLAN.objects }),
    serversCpuMs: () => 0,
  };
}

/** Runs on a virtual clock: a run takes milliseconds, and its figures are exact. */
function entrant(name: string, planted: Planted): Entrant {
  return {
    name,
    async run() {
      const clock = createVirtualClock();
      let settled = false;
      const result = live(sceneOf(planted, clock), PLAN);
      const end = result.then(
        () => (settled = true),
        () => (settled = true),
      );
      while (!settled) await clock.advance(50);
      await end;
      return result;
    },
  };
}

async function compare(planted: Readonly<Record<string, Planted>>): Promise<Result> {
  const entrants = Object.entries(planted).map(([name, one]) => entrant(name, one));
  return { scenario: SCENARIO, outcomes: await interleaved(entrants, SCENARIO) };
}

const GOOD: Planted = { msPerObject: 10 };

test('a planted slow contender is reported as slower, by as much as it is', async () => {
  const { outcomes, scenario } = await compare({ fast: GOOD, slow: { msPerObject: 30 } });
  const [fast, slow] = outcomes;
  for (const figure of ['all rented, s', 'all running, s', 'processor time per object, ms'])
    expect(ratioOf(slow, fast, figure)?.least).toBeCloseTo(3, 6);
  const table = tableOf({ scenario, outcomes: slow && fast ? [slow, fast] : [] });
  expect(table).toMatch(/\| all running, s \| 0.600 \| 0.200 \| 3(\.00)? \|/);
});

test.for<[title: string, planted: Planted, why: string]>([
  ['rents half of the machines', { ...GOOD, rents: 12 }, '12 of 24 run: not all after 60 s'],
  ['ends in the middle', { ...GOOD, rents: 12, ends: true }, 'planted ended (exit code 1)'],
  ['rents a machine too many for each object', { ...GOOD, machines: 2 }, '48 machines were rented for 24'],
  ['reports machines that it has not', { ...GOOD, statusNames: '1' }, 'which is not its own'],
  ['writes no Secret', { ...GOOD, secrets: false }, '0 connection Secrets of 24'],
  ['lets machines bill behind deleted objects', { ...GOOD, leavesMachines: true }, '24 machines bill'],
])('a contender that %s is failed, not fast', async ([, planted, why]) => {
  const result = await compare({ own: GOOD, bad: { ...planted, msPerObject: 1 } });
  const [own, bad] = result.outcomes;
  expect(bad).toMatchObject({ type: 'failed', why: expect.stringContaining(why) });
  expect(ratioOf(own, bad, 'all rented, s')).toBeUndefined();
  expect(tableOf(result)).toMatch(/\| all rented, s \| [\d.]+ \| failed \| – \|/);
  expect(barChart(result, ['all rented, s'])).toContain('>failed<');
});

test('one that failed once runs no more, and others go on', async () => {
  const rounds: string[] = [];
  const flaky: Entrant = {
    name: 'flaky',
    async run(round) {
      rounds.push(`flaky ${round}`);
      if (round === 1) throw new Unfinished('not all run');
      return { 'all rented, s': 1 };
    },
  };
  const steady: Entrant = {
    name: 'steady',
    async run(round) {
      rounds.push(`steady ${round}`);
      return { 'all rented, s': 2 };
    },
  };
  const [first, second] = await interleaved([flaky, steady], { rounds: 3, dropped: 1 });
  expect(first).toEqual({ type: 'failed', name: 'flaky', why: 'round 2 of 3: not all run' });
  expect(second).toMatchObject({ type: 'measured', rounds: [{ round: 1 }, { round: 2 }] });
  expect(rounds).toEqual(['flaky 0', 'steady 0', 'steady 1', 'flaky 1', 'steady 2']);
});

test('an error of the bench itself is no failure of a contender', async () => {
  const broken: Entrant = { name: 'broken', run: () => Promise.reject(new TypeError('a bug of the bench')) };
  await expect(interleaved([broken], { rounds: 1, dropped: 0 })).rejects.toThrow('a bug of the bench');
});

const measured = (name: string, figures: Record<string, number>): Result['outcomes'][number] => ({
  type: 'measured',
  name,
  rounds: [{ round: 0, figures }],
});

test('goals are met, not met, or not measured', () => {
  const own = { 'all rented, s': 3, 'all running, s': 2, 'writes of the object': 3 };
  const outcomes = [
    measured('gpu-rental-operator', own),
    measured('controller-runtime tuned', { 'all rented, s': 2, 'all running, s': 2 }),
  ];
  const table = goalsTable(goalsOf([{ scenario: SCENARIO, outcomes }]));
  expect(table).toContain('| all rented, s, round trip 0 ms | ≤ 1 × controller-runtime tuned | 1.50 ×');
  expect(table).toMatch(/all rented, s, round trip 0 ms .*\*\*not met\*\* \|/);
  expect(table).toMatch(/all running, s, round trip 0 ms .*\| met \|/);
  expect(table).toMatch(/writes of the object .*\| met \|/);
  expect(table).toMatch(/all rented, s, round trip 100 ms .*\| not measured in this run \| {2}\|/);
});

test('a contender that failed meets no goal', () => {
  const outcomes: Result['outcomes'] = [
    { type: 'failed', name: 'gpu-rental-operator', why: 'not all run' },
    measured('controller-runtime tuned', { 'all rented, s': 2 }),
  ];
  expect(goalsOf([{ scenario: SCENARIO, outcomes }]).filter(({ met }) => met)).toEqual([]);
});

test('pictures are drawn of sizes from few to many', () => {
  const results = [10, 1000].map((objects) => ({
    scenario: { ...SCENARIO, plan: { ...PLAN, objects } },
    outcomes: [measured('one', { 'all rented, s': objects / 100 }), measured('other', {})],
  }));
  const svg = growthChart(results, 'all rented, s');
  expect(svg).toMatch(/^<svg .*<polyline points="70,\d+ 550,\d+".*<\/svg>\n$/s);
  expect(svg).not.toMatch(/NaN|Infinity|undefined/);
});

test('requests are counted by verb and resource; leases and the end of a watch are not', () => {
  const line = (verb: string, objectRef: object, stage = 'ResponseComplete') =>
    JSON.stringify({ stage, verb, objectRef });
  expect(
    requestsIn([
      line('update', { resource: 'gpuinstances', subresource: 'status' }),
      line('update', { resource: 'gpuinstances', subresource: 'status' }),
      line('update', { resource: 'leases' }),
      line('watch', { resource: 'gpuinstances' }, 'ResponseStarted'),
      line('watch', { resource: 'gpuinstances' }),
    ]),
  ).toEqual({ 'update gpuinstances/status': 2, 'watch gpuinstances': 1 });
});
