import { describe, expect, test } from 'vitest';
import { addressOf } from '../kubectl.ts';
import type { JsonObject } from '../memory-kube/json.ts';
import { Bench } from './bench.ts';
import { atWork } from './situations.ts';

/* Each machine costs $0.30 to $0.32 per hour. */

function setBudget(bench: Bench, spec: JsonObject, name = 'team'): void {
  const address = addressOf(bench.world, 'spendbudgets', name);
  const kind = { apiVersion: 'gpurental.dev/v1alpha1', kind: 'SpendBudget' };
  bench.world.kube.writes.create(address, { ...kind, metadata: { name: address.name }, spec });
}

const broken = ({ invariants }: Bench): readonly string[] =>
  invariants.violations.map(({ invariant, text }) => `${invariant} ${text}`);

/** Rents a machine for another object beside a working one after some seconds, and lets it bill for `seconds`. */
async function rentsBeside(bench: Bench, seconds = 130, afterSeconds = 40): Promise<number> {
  await bench.pass(afterSeconds);
  bench.users.createInstance('b');
  bench.sendRent(2, 'b');
  const { id } = await bench.rent(2, { name: 'b' });
  await bench.pass(seconds);
  return id;
}

async function oneAtWork(budget: JsonObject, name = 'team'): Promise<Bench> {
  const bench = new Bench();
  bench.users.createNamespace('other');
  bench.sendRent(1);
  await atWork(bench);
  setBudget(bench, budget, name);
  return bench;
}

describe('a rental beside a working machine', () => {
  test.each([
    ['the hour', { perHour: '0.50' }],
    ['the month', { perMonth: '0.60' }],
  ])('breaks the budget of %s', async (_, budget) => {
    const bench = await oneAtWork(budget);
    await rentsBeside(bench);
    expect(broken(bench)).toEqual([
      expect.stringMatching(/^Budget machine \d+ is rented: .*default cost \$0\.6/),
    ]);
  });

  test.each([
    ['leaves room', { perHour: '0.70', perMonth: '0.70' }, 'team'],
    ['only reports', { perHour: '0.50', action: 'Report' }, 'team'],
    ['is that of another namespace', { perHour: '0.50' }, 'team.other'],
  ])('breaks nothing when the budget %s', async (_, budget, name) => {
    const bench = await oneAtWork(budget, name);
    await rentsBeside(bench);
    expect(broken(bench)).toEqual([]);
  });

  test('breaks the narrowest of several budgets', async () => {
    const bench = await oneAtWork({ perHour: '5' });
    setBudget(bench, { perHour: '0.50' }, 'extra');
    await rentsBeside(bench);
    expect(broken(bench)).toHaveLength(1);
  });

  test('breaks nothing when the budget is too new to be known', async () => {
    const bench = await oneAtWork({ perHour: '5' });
    await bench.pass(40);
    setBudget(bench, { perHour: '0.50' }, 'extra');
    await rentsBeside(bench, 130, 25);
    expect(broken(bench)).toEqual([]);
  });

  test('breaks nothing when a process may have missed the budget', async () => {
    const bench = await oneAtWork({ perHour: '0.50' });
    bench.invariants.missedEvent(bench.machine, '/apis/gpurental.dev/v1alpha1/spendbudgets');
    await rentsBeside(bench);
    expect(broken(bench)).toEqual([]);
  });

  test('breaks nothing when one of the machines is about to end', async () => {
    const bench = await oneAtWork({ perHour: '0.50' });
    const id = await rentsBeside(bench, 60);
    bench.sendDestroy(id);
    await bench.pass(130);
    expect(broken(bench).filter((text) => text.startsWith('Budget'))).toEqual([]);
  });
});

describe('the start of a stopped machine', () => {
  async function startsBeside(perHour: string): Promise<Bench> {
    const bench = new Bench();
    bench.sendRent(1);
    const asleep = await atWork(bench);
    bench.users.createInstance('b');
    bench.sendRent(2, 'b');
    await atWork(bench, 'b', 2);
    const { store } = bench.world.market;
    store.put('contracts', { ...asleep, actualStatus: 'stopped', intendedStatus: 'stopped' });
    setBudget(bench, { perHour });
    await bench.pass(40);
    bench.send('PUT', `/api/v0/instances/${asleep.id}/`, { body: JSON.stringify({ state: 'running' }) });
    store.put('contracts', { ...asleep, actualStatus: 'running', intendedStatus: 'running' });
    await bench.pass(130);
    return bench;
  }

  test('breaks the budget of the hour when it has no room', async () => {
    expect(broken(await startsBeside('0.50'))).toEqual([
      expect.stringMatching(/^Budget a starts its machine: .*allow \$0\.5\/h/),
    ]);
  });

  test('breaks nothing when it has room', async () => {
    expect(broken(await startsBeside('0.70'))).toEqual([]);
  });
});
