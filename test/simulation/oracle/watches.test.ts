import { describe, expect, test } from 'vitest';
import type { Contract } from '../../../src/simulator/world/world.ts';
import { Bench } from './bench.ts';

const FAILED = { requestMs: 2, responseMs: 2, refusal: { status: 500, body: '' } };
const INSTANCES = '/apis/gpurental.dev/v1alpha1/namespaces/default/gpuinstances';
const WORKERS = ['a', 'b', 'c', 'd'];

/** A machine that the object records and that has run for a while. */
async function atWork(bench: Bench, name = 'a', attempt = 1): Promise<Contract> {
  const contract = await bench.rent(attempt, { name });
  bench.setStatus({ instanceId: contract.id, attempt, phase: 'Running' }, name);
  bench.world.market.store.put('contracts', { ...contract, actualStatus: 'running' });
  bench.invariants.check();
  await bench.pass(120);
  return contract;
}

function silence(bench: Bench, { machineId }: Contract): void {
  const { store } = bench.world.market;
  const machine = store.current().tables.machines[machineId];
  if (machine) store.put('machines', { ...machine, state: 'offline' });
  bench.invariants.check();
}

/** A worker of a group that has told it is ready. */
async function serving(bench: Bench): Promise<void> {
  bench.group(1);
  const conditions = [
    {
      type: 'Ready',
      status: 'True',
      reason: 'Ready',
      message: '',
      lastTransitionTime: '2026-01-05T12:00:00Z',
    },
  ];
  bench.setStatus({ actualStatus: 'running', conditions }, 'worker-0');
  await bench.pass(1);
}

/** A machine whose object a person has removed by force. */
async function abandoned(bench: Bench): Promise<Contract> {
  const contract = await bench.rent(1);
  bench.invariants.handsOn('a');
  bench.users.delete('a');
  bench.invariants.check();
  return contract;
}

const SPOILT: readonly (readonly [string, RegExp, Bench, (bench: Bench) => Promise<void> | void])[] = [
  [
    'a purchase is recorded on an object that is paused',
    /^I5 purchase 1 of a was recorded although it is paused$/,
    new Bench(),
    (bench) => {
      bench.users.setPaused('a', true);
      bench.edit({ annotations: { 'gpurental.dev/rental-intent': '{"attempt":1}' } });
    },
  ],
  [
    'an object records a machine again that it had let go of',
    /^I14 a records machine 7 again/,
    new Bench(),
    (bench) => {
      bench.setStatus({ instanceId: 7 });
      bench.setStatus({ instanceId: 8 });
      bench.setStatus({ instanceId: 7 });
    },
  ],
  [
    'a machine is given up as soon as its host is silent',
    /^I4 .* was given up after 20 s of silence, and a bears 60 s$/,
    new Bench(),
    async (bench) => {
      const contract = await atWork(bench);
      silence(bench, contract);
      await bench.pass(20);
      bench.sendDestroy(contract.id);
    },
  ],
  [
    'the machine of the newest purchase is on no record for lists on end',
    /^I1 .* of a bills and is not on its record$/,
    new Bench(),
    async (bench) => {
      await bench.rent(1);
      for (let poll = 0; poll < 3; poll += 1) await bench.poll(10);
    },
  ],
  [
    'a machine is swept although the policy is to report it',
    /^I1 .* was swept although the policy is to report it$/,
    new Bench(),
    async (bench) => bench.sendDestroy((await abandoned(bench)).id),
  ],
  [
    'a machine is swept that has just begun',
    /^I1 .* was swept 20 s after it began$/,
    new Bench({ strict: false, orphanPolicy: 'Destroy' }),
    async (bench) => {
      const { id } = await abandoned(bench);
      for (let poll = 0; poll < 2; poll += 1) await bench.poll(10);
      bench.sendDestroy(id);
    },
  ],
  [
    'a machine is swept that one list has shown',
    /^I1 .* was swept after 1 lists$/,
    new Bench({ strict: false, orphanPolicy: 'Destroy' }),
    async (bench) => {
      const { id } = await abandoned(bench);
      await bench.pass(90);
      await bench.poll(1);
      bench.sendDestroy(id);
    },
  ],
  [
    'a machine is given up right after four turned bad together',
    /^I4 .* was given up while the breaker had to be open$/,
    new Bench(),
    async (bench) => {
      for (const name of WORKERS.slice(1)) bench.users.createInstance(name);
      const contracts: Contract[] = [];
      for (const [index, name] of WORKERS.entries()) contracts.push(await atWork(bench, name, index + 1));
      await bench.poll(10);
      for (const contract of contracts) silence(bench, contract);
      await bench.poll(10);
      bench.sendDestroy(contracts[0]?.id ?? 0);
    },
  ],
  [
    'a machine is given up while the list fails',
    /^I4 .* was given up while the breaker had to be open$/,
    new Bench(),
    async (bench) => {
      const { id } = await atWork(bench);
      for (let tries = 0; tries < 3; tries += 1) await bench.poll(2, FAILED);
      await bench.pass(10);
      bench.sendDestroy(id);
    },
  ],
  [
    'a machine is given up while its object is paused',
    /^I4 .* was given up while a was paused$/,
    new Bench(),
    async (bench) => {
      const { id } = await atWork(bench);
      bench.users.setPaused('a', true);
      bench.sendDestroy(id);
    },
  ],
  [
    'an account has more machines than it may',
    /^I9 the account has 2 machines, and may have 1$/,
    new Bench(),
    async (bench) => {
      bench.users.setAccount({ limits: { maxInstances: 1 } });
      await bench.rent(1);
      await bench.pass(10);
      await bench.rent(2);
    },
  ],
  [
    'an account rents for more than it may',
    /^I9 the account rents for .*, and may for \$0.1\/h$/,
    new Bench(),
    async (bench) => {
      bench.users.setAccount({ limits: { maxSpendPerHour: '0.10' } });
      await bench.rent(1);
    },
  ],
  [
    'a worker is stopped that was never ready',
    /^Group worker worker-0 was stopped before it was ever ready$/,
    new Bench(),
    (bench) => {
      bench.group(1);
      bench.users.setPowerState('worker-0', 'Stopped');
    },
  ],
  [
    'a worker is deleted while it serves',
    /^Group worker worker-0 was deleted while it served$/,
    new Bench(),
    async (bench) => {
      await serving(bench);
      await bench.pass(60);
      bench.sendToCluster('DELETE', `${INSTANCES}/worker-0`);
    },
  ],
  [
    'a worker is given up right after a restart',
    /^Group worker worker-0 was given up right after a restart$/,
    new Bench(),
    async (bench) => {
      await serving(bench);
      bench.sendToCluster('GET', INSTANCES);
      bench.sendToCluster('DELETE', `${INSTANCES}/worker-0`);
    },
  ],
];

describe('the oracle says so when', () => {
  test.for(SPOILT)('%s', async ([, expected, bench, spoil]) => {
    await spoil(bench);
    bench.invariants.check();
    const texts = bench.invariants.violations.map(({ invariant, text }) => `${invariant} ${text}`);
    expect(texts).toContainEqual(expect.stringMatching(expected));
  });
});

describe('the oracle says nothing when', () => {
  test.for<readonly [string, (bench: Bench) => Promise<void>]>([
    [
      'a machine is given up whose host has been silent for longer than the object bears',
      async (bench) => {
        const contract = await atWork(bench);
        silence(bench, contract);
        await bench.pass(70);
        bench.sendDestroy(contract.id);
      },
    ],
    [
      'a machine is given up two good lists after the list failed',
      async (bench) => {
        const { id } = await atWork(bench);
        bench.users.setImage('a', 'example/work:2');
        for (let tries = 0; tries < 3; tries += 1) await bench.poll(2, FAILED);
        for (let polls = 0; polls < 2; polls += 1) await bench.poll(10);
        bench.sendDestroy(id);
      },
    ],
  ])('%s', async ([, live]) => {
    const bench = new Bench();
    await live(bench);
    bench.invariants.check();
    expect(bench.invariants.violations).toEqual([]);
  });
});
