import { describe, expect, test } from 'vitest';
import { createMetricRegistry } from '../../../src/server/metric-registry.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import type { JsonObject } from '../memory-kube/json.ts';
import { Bench } from './bench.ts';
import { losesRace, searchesInVain, setGroupStatus, takesOver } from './situations.ts';

const conditionWith = (message: string): JsonObject => ({
  type: 'Ready',
  status: 'False',
  reason: 'Told',
  message,
  lastTransitionTime: '2026-01-05T12:00:00Z',
});

/** Runs an object whose probe sends this header, with that reason of Ready. */
async function probed(bench: Bench, value: string, reason: string): Promise<void> {
  const httpGet = { port: 8080, path: '/', httpHeaders: [{ name: 'x', value }] };
  const wish: JsonObject = { readinessProbe: { httpGet } };
  bench.users.createInstance('probed', wish);
  const contract = await bench.rent(1, { name: 'probed' });
  bench.world.market.store.put('contracts', { ...contract, actualStatus: 'running' });
  const conditions = [{ ...conditionWith(''), reason }];
  bench.setStatus({ instanceId: String(contract.id), attempt: 1, phase: 'Running', conditions }, 'probed');
  bench.invariants.checkConverged();
}

/** Keeps what a test plants in memory. */
const planted = new Map<string, number>();

const PLANTED: readonly (readonly [string, string, (bench: Bench) => Promise<void> | void])[] = [
  [
    'I1',
    'a machine bills that no object claims',
    async (bench) => {
      await bench.rent(1);
      bench.users.delete('a');
      bench.invariants.checkConverged();
    },
  ],
  [
    'I2',
    'two machines of one object live at once',
    async (bench) => {
      await bench.rent(1);
      await bench.pass(10);
      await bench.rent(2);
    },
  ],
  [
    'I3',
    'a machine of somebody else is labelled anew',
    async (bench) => {
      await bench.users.console.rent(8_000_005, 'mine');
      bench.invariants.check();
      const { store } = bench.world.market;
      const [contract] = Object.values(store.current().tables.contracts);
      if (contract) store.put('contracts', { ...contract, label: 'yours' });
      bench.invariants.check();
    },
  ],
  [
    'I3',
    'a machine of somebody else is taken over under an account that lets nobody do so',
    async (bench) => void (await takesOver(bench, 'None')),
  ],
  [
    'I4',
    'a machine that works is destroyed',
    async (bench) => {
      const contract = await bench.rent(1);
      bench.setStatus({ instanceId: String(contract.id), attempt: 1 });
      bench.world.market.store.put('contracts', { ...contract, actualStatus: 'running' });
      bench.invariants.check();
      await bench.pass(120);
      bench.sendDestroy(contract.id);
      bench.world.market.store.remove('contracts', contract.id);
      bench.invariants.check();
    },
  ],
  [
    'I5',
    'a machine is rented before its intent stands',
    async (bench) => void (await bench.rent(1, { intent: false })),
  ],
  [
    'I6',
    'one attempt is sent twice',
    async (bench) => {
      bench.sendRent(1);
      await bench.pass(10);
      bench.sendRent(1);
    },
  ],
  [
    'I6',
    'a process asks for one offer for two objects at once',
    (bench) => {
      bench.users.createInstance('b');
      bench.sendRent(1);
      bench.sendRent(1, 'b');
    },
  ],
  [
    'I7',
    'an object is let go while its machine lives',
    async (bench) => {
      await bench.rent(1);
      bench.users.delete('a');
    },
  ],
  [
    'I8',
    'an attempt goes back',
    (bench) => {
      bench.setStatus({ attempt: 3 });
      bench.setStatus({ attempt: 2 });
    },
  ],
  [
    'I9',
    'an object rents more often than its brake allows',
    async (bench) => {
      bench.users.setBrake('a', 2);
      for (let attempt = 1; attempt <= 3; attempt += 1) {
        await bench.pass(10);
        const { id } = await bench.rent(attempt);
        bench.world.market.store.remove('contracts', id);
        bench.invariants.check();
      }
    },
  ],
  [
    'I10',
    'two destroys follow each other too closely',
    async (bench) => {
      bench.send('DELETE', '/api/v0/instances/0/');
      await bench.pass(2);
      bench.send('DELETE', '/api/v0/instances/5/');
    },
  ],
  [
    'I11',
    'an object that waits for what nobody offers is written twice within a minute',
    async (bench) => {
      bench.users.createInstance('b', { offers: [{ gpuNames: ['H100'], maxPricePerHour: '0.01' }] });
      const settledAt = bench.world.now;
      await bench.pass(100);
      searchesInVain(bench, 'b', 'No offer matches.');
      await bench.pass(30);
      searchesInVain(bench, 'b', 'No offer matches at that price.');
      bench.invariants.isUnsettledAfter(settledAt);
    },
  ],
  [
    'ESR',
    'an object says that nothing matches, and something does',
    (bench) => {
      searchesInVain(bench, 'a', 'No offer matches.');
      bench.invariants.checkConverged();
    },
  ],
  [
    'I11',
    'a settled cluster is written to',
    async (bench) => {
      const settledAt = bench.world.now;
      await bench.pass(1);
      bench.setStatus({ attempt: 1 });
      bench.invariants.isUnsettledAfter(settledAt);
    },
  ],
  [
    'I12',
    'a status tells the key',
    (bench) => bench.setStatus({ conditions: [conditionWith(bench.world.market.apiKey)] }),
  ],
  [
    'I12',
    'an annotation tells the key in base64',
    (bench) =>
      bench.edit({ annotations: { hint: Buffer.from(bench.world.market.apiKey).toString('base64') } }),
  ],
  [
    'I12',
    'an error in a log line tells the key',
    (bench) => {
      const error = new Error('failed', { cause: new Error(`Bearer ${bench.world.market.apiKey}`) });
      bench.invariants.logged(bench.machine, 'Call failed', { error });
    },
  ],
  [
    'I12',
    'a metric tells the key',
    async (bench) => {
      const registry = createMetricRegistry();
      registry
        .counter({ name: 'calls', help: 'Calls.', labelNames: ['key'] })
        .inc({ key: bench.world.market.apiKey });
      const process = bench.world.startProcess();
      bench.world.processes.splice(0, 1, { ...process, registry });
      await bench.invariants.checkMetrics();
    },
  ],
  [
    'I13',
    'an object that is gone is still remembered',
    async (bench) => {
      planted.set(bench.uid, 1);
      bench.users.delete('a');
      await bench.pass(700);
      await bench.invariants.checkMemory();
    },
  ],
  [
    'I14',
    'a status claims a machine that the lists no longer show',
    async (bench) => {
      bench.setStatus({ phase: 'Running', instanceId: '4711' });
      for (let poll = 0; poll < 3; poll += 1) await bench.poll(10);
    },
  ],
  [
    'Status',
    'a status is ready and not done',
    (bench) => {
      const says = { ...conditionWith(''), status: 'True', observedGeneration: 1 };
      const conditions = ['Ready', 'Reconciling'].map((type) => ({ ...says, type }));
      bench.setStatus({ observedGeneration: 1, conditions });
    },
  ],
  ['Group', 'a group has more workers than it may', (bench) => bench.group(4)],
  [
    'Group',
    'a group is let go before its workers',
    (bench) => {
      bench.group(2);
      bench.users.groups.delete('group');
    },
  ],
  [
    'Group',
    'a group rents beyond its ceiling',
    async (bench) => {
      bench.group(3);
      bench.setCeiling('0.80');
      for (let index = 0; index < 3; index += 1) {
        await bench.pass(10);
        await bench.rent(index + 1, { name: `worker-${index}` });
      }
    },
  ],
  [
    'ESR',
    'a group has fewer workers than its load needs',
    (bench) => {
      bench.group(0);
      bench.invariants.checkConverged();
    },
  ],
  [
    'I14',
    'the probe of an object cannot be sent, and Ready does not say so (C1)',
    async (bench) => {
      await probed(bench, 'line\n', 'NotReachable');
    },
  ],
  [
    'I14',
    'a machine answers its probe, and Ready says that it does not (M8)',
    async (bench) => {
      await probed(bench, 'well', 'NotReachable');
    },
  ],
  [
    'I14',
    'a slice outlives its object (L7)',
    (bench) => {
      const { kube } = bench.world;
      const name = 'left-direct';
      const address = { kind: kube.kind('endpointslices'), namespace: 'gpu-rental-system', name };
      kube.writes.create(address, { metadata: { name, labels: { 'gpurental.dev/instance-uid': 'gone' } } });
      bench.invariants.checkConverged();
    },
  ],
  [
    'ESR',
    'an object that wants to run has no machine',
    (bench) => {
      bench.invariants.checkConverged();
    },
  ],
];

describe('the oracle says so when', () => {
  // One asks for every object of the process, which other tests have filled.
  test.for(PLANTED)('%s: %s', { timeout: 180_000 }, async ([invariant, , plant]) => {
    const bench = new Bench();
    await plant(bench);
    bench.invariants.check();
    expect(bench.invariants.violations.map((each) => each.invariant)).toContain(invariant);
  });
});

describe('the oracle says so when a machine that no object claims outlives one sweep after the other', () => {
  const leftAlone = /^I1 .*several sweeps have left it$/;
  const HALF_AN_HOUR_OFF = { requestMs: 2, responseMs: 2, dateOffMs: 1_800_000 };
  const saidAfter = async (act: (bench: Bench, leaks: readonly Contract[]) => Promise<void> | void) => {
    const bench = new Bench({ strict: false, orphanPolicy: 'Destroy' });
    bench.users.createInstance('b');
    const leaks = [await bench.rent(1), await bench.rent(2, { name: 'b' })];
    for (const name of ['a', 'b']) bench.users.delete(name);
    await bench.pass(70);
    for (let poll = 0; poll < 4; poll += 1) await bench.poll(10);
    await act(bench, leaks);
    return bench.invariants.violations.some(({ invariant, text }) => leftAlone.test(`${invariant} ${text}`));
  };

  test('and nothing happens', async () => {
    expect(await saidAfter((bench) => bench.pass(10))).toBe(true);
  });

  test('and another one is destroyed again and again, which is no turn of the others', async () => {
    const destroysTwice = async (bench: Bench, [first]: readonly Contract[]): Promise<void> => {
      for (let sent = 0; sent < 2; sent += 1) {
        if (first) bench.sendDestroy(first.id);
        await bench.pass(10);
      }
    };
    expect(await saidAfter(destroysTwice)).toBe(true);
  });

  test('and a search is answered with a wrong time, by which no process sets its own (H2)', async () => {
    const searches = async (bench: Bench): Promise<void> => {
      bench.send('POST', '/api/v0/bundles/', { fate: HALF_AN_HOUR_OFF });
      await bench.pass(10);
    };
    expect(await saidAfter(searches)).toBe(true);
  });

  test('but for a time in which a list was answered with a wrong time', async () => {
    const polls = async (bench: Bench): Promise<void> => {
      await bench.poll(10, { fate: HALF_AN_HOUR_OFF });
      for (let poll = 0; poll < 6; poll += 1) await bench.poll(10);
    };
    expect(await saidAfter(polls)).toBe(false);
  });
});

test('the oracle says nothing of a machine that is rented, recorded, used and destroyed in order', {
  timeout: 180_000,
}, async () => {
  const bench = new Bench();
  bench.sendRent(1);
  const contract = await bench.rent(1);
  bench.setStatus({ instanceId: String(contract.id), attempt: 1, phase: 'Running' });
  await bench.pass(700);
  bench.edit({ finalizers: ['gpurental.dev/gpu-instance'] });
  bench.users.delete('a');
  bench.sendDestroy(contract.id);
  bench.world.market.store.remove('contracts', contract.id);
  bench.invariants.check();
  bench.edit({ finalizers: [] });
  bench.invariants.checkConverged();
  await bench.invariants.checkMemory();
  expect(bench.invariants.violations).toEqual([]);
});

test('the oracle remembers neither a group that is gone nor its workers (I13)', {
  timeout: 180_000,
}, async () => {
  const bench = new Bench();
  bench.group(1);
  setGroupStatus(bench, { wokenAt: '2026-01-05T12:00:00Z' });
  bench.edit({ annotations: { 'gpurental.dev/desired-role': 'Hot' } }, 'worker-0');
  losesRace(bench);
  bench.users.removeFinalizers('worker-0');
  bench.users.delete('worker-0');
  bench.users.groups.delete('group');
  await bench.pass(700);
  await bench.invariants.checkMemory();
  expect(bench.invariants.violations).toEqual([]);
});

test.each([
  ['says so if it carries no label of ours', 'mine', ['I3']],
  ['says nothing if it carries a copied label', 'gpurental1:00000000:copied', []],
])(
  'when a person destroys a machine of another tenant in the console, the oracle %s',
  async (_, label, expected) => {
    const bench = new Bench();
    await bench.users.console.rent(8_000_005, label);
    bench.invariants.check();
    const { store } = bench.world.market;
    const [contract] = Object.values(store.current().tables.contracts);
    bench.invariants.destroyedElsewhere(contract?.id ?? 0);
    store.remove('contracts', contract?.id ?? 0);
    bench.invariants.check();
    expect(bench.invariants.violations.map(({ invariant }) => invariant)).toEqual(expected);
  },
);
