import { describe, expect, test } from 'vitest';
import { rebill } from '../../../src/simulator/world/ledger.ts';
import { Bench } from './bench.ts';
import { atWork } from './situations.ts';

type Policy = 'Stop' | 'Retain';

/** Makes the machine of `a` bill its disk only, or run again. */
function bills(bench: Bench, id: number, what: 'disk' | 'all'): void {
  const { store, now } = { store: bench.world.market.store, now: bench.world.now };
  const contract = store.current().tables.contracts[id];
  if (!contract) throw new Error('the machine is gone');
  const { gpuPricePerHour, diskPricePerHour } = contract;
  const rates = { gpuPerHour: what === 'all' ? gpuPricePerHour : 0, diskPerHour: diskPricePerHour };
  store.put('contracts', rebill(contract, now, rates));
}

/** Deletes an object that keeps its machine, which is marked so. */
function isKept(bench: Bench, id: number, policy: Policy): void {
  bench.users.setDeletionPolicy('a', policy);
  const { store } = bench.world.market;
  const contract = store.current().tables.contracts[id];
  if (!contract) throw new Error('the machine is gone');
  const label = bench.label(1).replace('gpurental1:', 'gpurental1-retained:');
  store.put('contracts', { ...contract, label });
  bench.users.delete('a');
  bench.invariants.check();
}

type Scene = readonly [title: string, play: (bench: Bench, id: number) => Promise<void> | void];

const BROKEN: readonly Scene[] = [
  ['runs on when its object goes', (bench, id) => isKept(bench, id, 'Stop')],
  [
    'begins to run after its object has gone',
    async (bench, id) => {
      bills(bench, id, 'disk');
      isKept(bench, id, 'Stop');
      await bench.pass(60);
      bills(bench, id, 'all');
    },
  ],
];

const QUIET: readonly Scene[] = [
  [
    'is stopped when its object goes',
    (bench, id) => {
      bills(bench, id, 'disk');
      isKept(bench, id, 'Stop');
    },
  ],
  ['is to run on', (bench, id) => isKept(bench, id, 'Retain')],
  [
    'loses its object by a hand that takes the guard away',
    (bench, id) => {
      bench.invariants.markHandled('a');
      isKept(bench, id, 'Stop');
    },
  ],
  [
    'begins to run for another object that takes it over',
    (bench, id) => {
      bills(bench, id, 'disk');
      isKept(bench, id, 'Stop');
      bench.users.createAdopting('b', id);
      bench.setStatus({ instanceId: String(id) }, 'b');
      bills(bench, id, 'all');
    },
  ],
];

async function violations(play: Scene[1]): Promise<readonly string[]> {
  const bench = new Bench();
  const { id } = await atWork(bench);
  await play(bench, id);
  bench.invariants.check();
  return bench.invariants.violations.map(({ invariant, text }) => `${invariant} ${text}`);
}

describe('a machine that deletionPolicy keeps', () => {
  test.each(BROKEN)('breaks a promise if it %s under Stop', async (_title, play) => {
    expect(await violations(play)).toEqual([
      expect.stringMatching(/^I9 contract \d+ was kept by Stop, and bills as a machine that runs$/),
    ]);
  });

  test.each(QUIET)('breaks none if it %s', async (_title, play) => {
    expect(await violations(play)).toEqual([]);
  });

  test.each([
    ['Stop', true],
    ['Retain', false],
  ] as const)('runs long after maxLifetime under %s: broken is %s', async (deletionPolicy, expected) => {
    const bench = new Bench();
    await atWork(bench);
    bench.users.setPolicies('a', { maxLifetime: '2m', deletionPolicy });
    await bench.pass(300);
    bench.invariants.checkConverged();
    const texts = bench.invariants.violations.map(({ text }) => text);
    expect(texts.some((text) => text.startsWith('a has a machine beyond its own limits'))).toBe(expected);
  });
});
