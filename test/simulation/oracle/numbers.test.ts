import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../memory-kube/json.ts';
import { SYSTEM_NAMESPACE } from '../world.ts';
import { Bench } from './bench.ts';
import { atWork, processBegins } from './situations.ts';

const broken = ({ invariants }: Bench): readonly string[] =>
  invariants.violations.map(({ invariant, text }) => `${invariant} ${text}`);

const change = (bench: Bench, id: number, body: JsonObject): void =>
  bench.send('PUT', `/api/v0/instances/${id}/`, { body: JSON.stringify(body) });

/** Returns two working machines, of which the first was stopped, with an hourly limit of the account. */
async function oneStopped(maxSpendPerHour: string): Promise<{ bench: Bench; id: number }> {
  const bench = new Bench();
  const contract = await atWork(bench);
  bench.users.createInstance('b');
  await atWork(bench, 'b', 2);
  bench.users.account.set({ limits: { maxSpendPerHour } });
  const { store } = bench.world.market;
  store.put('contracts', { ...contract, actualStatus: 'stopped', intendedStatus: 'stopped' });
  bench.invariants.check();
  await bench.pass(120);
  return { bench, id: contract.id };
}

describe('the start of a stopped machine', () => {
  test('breaks I9 when the account then costs more than maxSpendPerHour', async () => {
    const { bench, id } = await oneStopped('0.50');
    change(bench, id, { state: 'running' });
    expect(broken(bench)).toEqual([expect.stringMatching(/^I9 a starts its machine: .* may for \$0.5\/h$/)]);
  });

  test('breaks nothing when the account may spend as much', async () => {
    const { bench, id } = await oneStopped('0.70');
    change(bench, id, { state: 'running' });
    expect(broken(bench)).toEqual([]);
  });
});

describe('a rental after twelve minutes of another machine', () => {
  async function rentedBeside(maxSpendPerMonth: string, startMs?: number): Promise<Bench> {
    const bench = new Bench(startMs === undefined ? {} : { startMs });
    await atWork(bench);
    bench.users.account.set({ limits: { maxSpendPerMonth } });
    bench.invariants.check();
    bench.users.createInstance('b');
    await bench.pass(720);
    bench.sendRent(2, 'b');
    await bench.rent(2, { name: 'b' });
    return bench;
  }

  test('breaks I9 when the month has no room for it', async () => {
    expect(broken(await rentedBeside('0.05'))).toEqual([expect.stringMatching(/^I9 .* spent this month/)]);
  });

  test('breaks nothing when the month has room, or the machine has billed too late to be known', async () => {
    expect(broken(await rentedBeside('0.10'))).toEqual([]);
    expect(broken(await rentedBeside('0.071'))).toEqual([]);
  });

  test('breaks nothing when most of the bill is that of last month, and I9 when this month has no room', async () => {
    const tenMinutesBefore = Date.UTC(2026, 0, 31, 23, 50);
    expect(broken(await rentedBeside('0.05', tenMinutesBefore))).toEqual([]);
    expect(broken(await rentedBeside('0.005', tenMinutesBefore - 5000))).toHaveLength(1);
  });
});

describe('the lease of a process that is alive', () => {
  async function takenAfter(seconds: number): Promise<Bench> {
    const bench = new Bench();
    processBegins(bench);
    const { kube, processes } = bench.world;
    const address = { kind: kube.kind('leases'), namespace: SYSTEM_NAMESPACE, name: 'lease' };
    const spec = { holderIdentity: `${processes[0]?.pod}_${bench.machine.name}`, leaseDurationSeconds: 15 };
    kube.writes.create(address, { metadata: { name: 'lease' }, spec });
    await bench.pass(seconds);
    const taken = { ...spec, holderIdentity: 'pod-2_operator-2' };
    kube.writes.update(address, (current) => ({ ...current, spec: taken }), undefined);
    return bench;
  }

  test('breaks I6 when another process takes it before its end', async () => {
    expect(broken(await takenAfter(14))).toEqual([
      expect.stringMatching(/^I6 pod-2_operator-2 took the lease/),
    ]);
  });

  test('breaks nothing when another process takes it at its end', async () => {
    expect(broken(await takenAfter(15))).toEqual([]);
  });
});

describe('a machine that its object has claimed', () => {
  async function claimed(): Promise<{ bench: Bench; id: number }> {
    const bench = new Bench();
    bench.sendRent(1);
    const { id } = await atWork(bench);
    bench.setStatus({ claim: 'c'.repeat(64) });
    return { bench, id };
  }

  test('breaks I4 when it is stopped although its object wants it to run', async () => {
    const { bench, id } = await claimed();
    change(bench, id, { state: 'stopped' });
    expect(broken(bench)).toEqual([`I4 contract ${id} was stopped while a wanted it to run`]);
  });

  test('breaks I4 when it is labelled as the machine of another object (A3)', async () => {
    const { bench, id } = await claimed();
    bench.users.createInstance('b');
    change(bench, id, { label: bench.label(1, 'b') });
    expect(broken(bench)).toEqual([expect.stringMatching(/^I4 contract \d+ was labelled/)]);
  });

  test('breaks nothing when it gets its own label again', async () => {
    const { bench, id } = await claimed();
    change(bench, id, { label: bench.label(1) });
    expect(broken(bench)).toEqual([]);
  });

  test('breaks I4 when it is destroyed for the label of another object that a person wrote (A3)', async () => {
    const { bench, id } = await claimed();
    bench.users.createInstance('b');
    const { store } = bench.world.market;
    const contract = store.current().tables.contracts[id];
    if (contract) store.put('contracts', { ...contract, label: bench.label(2, 'b') });
    await bench.pass(70);
    bench.sendDestroy(id);
    store.remove('contracts', id);
    bench.invariants.check();
    expect(broken(bench)).toEqual([`I4 contract ${id} was destroyed while a wanted it and it ran`]);
  });
});

describe('what an object counts for its machines', () => {
  /** Runs ten minutes of a machine that costs $0.304/h. */
  async function counted(cost: JsonObject): Promise<readonly string[]> {
    const bench = new Bench();
    bench.sendRent(1);
    await atWork(bench);
    await bench.pass(600);
    bench.setStatus({ cost });
    bench.invariants.checkConverged();
    return broken(bench).filter((text) => text.includes('counts'));
  }

  test('breaks I9 when the ledger has billed far less, or more', async () => {
    expect(await counted({ accrued: '844.79' })).toEqual([expect.stringMatching(/^I9 a counts \$844.7900/)]);
    expect(await counted({ accrued: '0.01' })).toHaveLength(1);
  });

  test('breaks nothing when the ledger has billed as much', async () => {
    expect(await counted({ accrued: '0.065' })).toEqual([]);
  });
});
