import { describe, expect, test } from 'vitest';
import { OTHER_NAMESPACE } from '../installer.ts';
import { Bench } from './bench.ts';

const FAR = `far.${OTHER_NAMESPACE}`;
const WORDS = 'Secret default/marketplace-key has no key api-key; it has root-password.';

/** Returns a bench with a second account of the login that has a key of its own, and an object `b` that rents by it. */
function twoAccounts(orphanPolicy: 'Destroy' | 'Report' = 'Report') {
  const bench = new Bench({ orphanPolicy });
  const own = bench.world.addKey();
  bench.users.second.create(orphanPolicy, own);
  bench.users.createInstance('b', { isOfSecond: true });
  return { bench, own, others: bench.world.market.apiKey };
}

/** Returns the reports of a rule. */
const saidOf = (bench: Bench, rule: string) =>
  bench.invariants.violations.filter(({ invariant }) => invariant === rule).map(({ text }) => text);

describe('a write with the key of another account of the login is seen (H3):', () => {
  test('a rental', () => {
    const { bench, own, others } = twoAccounts();
    bench.sendRent(1, 'b', { apiKey: own });
    bench.sendRent(1, 'a', { apiKey: others });
    expect(saidOf(bench, 'Keys')).toEqual([]);
    bench.sendRent(2, 'b', { apiKey: others });
    expect(saidOf(bench, 'Keys')).toEqual([
      'PUT /api/v0/asks/8000001/ is made for default/second, and carries the key of default/default',
    ]);
  });

  test.each(['DELETE', 'PUT'])('a %s of a machine', async (method) => {
    const { bench, own, others } = twoAccounts();
    const { id } = await bench.rent(1, { name: 'b' });
    const path = `/api/v0/instances/${id}/`;
    bench.send(method, path, { apiKey: own });
    bench.send('GET', path, { apiKey: others });
    expect(saidOf(bench, 'Keys')).toEqual([]);
    bench.send(method, path, { apiKey: others });
    expect(saidOf(bench, 'Keys')).toHaveLength(1);
  });

  test('not a key that was in the Secret of the account before, nor the one that is kept of it', async () => {
    const { bench, own, others } = twoAccounts();
    bench.users.second.spoilKey({ 'api-key': 'another' });
    bench.sendRent(1, 'b', { apiKey: own });
    expect(saidOf(bench, 'Keys')).toEqual([]);
    bench.sendRent(1, 'b', { apiKey: others });
    expect(saidOf(bench, 'Keys')).toHaveLength(1);
  });

  test('not the sweep of an orphan by any account whose policy is to destroy', async () => {
    const { bench, own } = twoAccounts('Destroy');
    const { id } = await bench.rent(1, { name: 'a' });
    bench.users.removeFinalizers('a');
    bench.users.delete('a');
    bench.send('DELETE', `/api/v0/instances/${id}/`, { apiKey: own });
    expect(saidOf(bench, 'Keys')).toEqual([]);
  });

  test('not the sweep of a machine that was rented late, although its object is there', async () => {
    const { bench, others } = twoAccounts('Destroy');
    const label = bench.label(1, 'b');
    await bench.pass(200);
    const { id } = await bench.rent(1, { name: 'b', label });
    bench.send('DELETE', `/api/v0/instances/${id}/`, { apiKey: others });
    expect(saidOf(bench, 'Keys')).toEqual([]);
  });

  test('not the sweep of a machine that was rented late beside the one that its object has', async () => {
    const { bench, own, others } = twoAccounts('Destroy');
    const label = bench.label(1, 'b');
    const inTime = await bench.rent(1, { name: 'b', label });
    await bench.pass(200);
    const late = await bench.rent(2, { name: 'b', label });
    bench.send('DELETE', `/api/v0/instances/${late.id}/`, { apiKey: others });
    bench.send('DELETE', `/api/v0/instances/${inTime.id}/`, { apiKey: own });
    expect(saidOf(bench, 'Keys')).toEqual([]);
    bench.send('DELETE', `/api/v0/instances/${inTime.id}/`, { apiKey: others });
    expect(saidOf(bench, 'Keys')).toHaveLength(1);
  });
});

describe('a namespace that may not use an account', () => {
  function far(from: 'All' | 'Same') {
    const bench = new Bench();
    bench.users.createNamespace(OTHER_NAMESPACE);
    bench.users.account.set({ allowedNamespaces: { from } });
    bench.users.createInstance(FAR);
    return bench;
  }

  test.each(['All', 'Same'] as const)('starts no stopped machine (M3): allowed %s', async (from) => {
    const bench = far(from);
    const { id } = await bench.rent(1, { name: FAR });
    await bench.pass(40);
    bench.send('PUT', `/api/v0/instances/${id}/`, { body: '{"state":"stopped"}' });
    expect(saidOf(bench, 'Access')).toEqual([]);
    bench.send('PUT', `/api/v0/instances/${id}/`, { body: '{"state":"running"}' });
    const text = 'far starts a machine by default/default, which is not for its namespace';
    expect(saidOf(bench, 'Access')).toEqual(from === 'All' ? [] : [text]);
  });

  const condition = (message: string) => ({
    conditions: [
      { type: 'Ready', status: 'False', reason: 'x', message, lastTransitionTime: '2026-01-05T12:00:00Z' },
    ],
  });

  /** Makes the account report {@link WORDS}. */
  function accountSays(bench: Bench): void {
    expect(bench.objectOf('default', 'marketplaceaccounts')).not.toEqual({});
    const kind = bench.world.kube.kind('marketplaceaccounts');
    const address = { kind, namespace: 'default', name: 'default' };
    bench.world.kube.writes.update(
      address,
      (current) => ({ ...current, status: condition(WORDS) }),
      'status',
    );
  }

  test('may still show what it could read before it lost the permission (M6)', () => {
    const bench = far('All');
    accountSays(bench);
    bench.users.account.set({ allowedNamespaces: { from: 'Same' } });
    bench.setStatus(condition(`The MarketplaceAccount is not ready: ${WORDS}`), FAR);
    expect(saidOf(bench, 'Access')).toEqual([]);
  });

  test.each(['All', 'Same'] as const)('reads no word of it (M6): allowed %s', (from) => {
    const bench = far(from);
    accountSays(bench);
    bench.setStatus(condition('No MarketplaceAccount of that name allows it.'), FAR);
    expect(saidOf(bench, 'Access')).toEqual([]);
    bench.setStatus(condition(`The MarketplaceAccount is not ready: ${WORDS}`), FAR);
    expect(saidOf(bench, 'Access')).toHaveLength(from === 'All' ? 0 : 1);
  });
});
