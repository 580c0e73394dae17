import { expect, test } from 'vitest';
import type { OperatorBench } from '../builders/running-operator.ts';
import { until } from '../builders/until.ts';
import { conditionOf, reached, readyBench, useBenches } from './gpu-instance-bench.ts';

useBenches();

/** Adds a marketplace user with a separate key, and an account object that names it. */
async function addAccount(bench: OperatorBench, name: string): Promise<string> {
  const { store } = bench.simulator;
  const { users, apiKeys } = bench.simulator.world().tables;
  const [user] = Object.values(users);
  const [key] = Object.values(apiKeys);
  if (!user || !key) throw new Error('the simulator has no first user');
  const id = user.id + 1000 + Object.keys(users).length;
  const secret = `key-of-${name}`;
  store.put('users', { ...user, id, email: `${name}@example.test` });
  store.put('apiKeys', { ...key, id: store.nextId('apiKey'), userId: id, secret });
  await bench.putKey(secret, secret);
  await bench.createAccount({ apiKeySecretRef: { name: secret } }, name);
  await until(`account ${name} is ready`, async () => {
    return conditionOf(await bench.account(name), 'Ready')?.status === 'True';
  });
  return secret;
}

const EACH = 8;
/** Deadline of a call that is never answered. */
const HUNG_CALL_ENDS_MS = 30_000;

/** Makes objects of these accounts all at once; gives how long each account took until all of its objects run. */
async function burst(
  bench: OperatorBench,
  accounts: readonly string[],
  waited: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const begun = performance.now();
  const names = (account: string) =>
    Array.from({ length: EACH }, (_, index) => `${account}-${begun.toFixed()}-${index}`);
  await Promise.all(
    accounts.flatMap((account) =>
      names(account).map((name) => bench.createInstance(name, { accountRef: { name: account } })),
    ),
  );
  const took = new Map<string, number>();
  await Promise.all(
    waited.map(async (account) => {
      await Promise.all(names(account).map((name) => reached(bench, name, 'Ready')));
      took.set(account, performance.now() - begun);
    }),
  );
  return took;
}

test('scenario 74: of three keys one hangs, and the objects of the others wait for none of its calls', async () => {
  const bench = await readyBench({ simulator: { catalog: 400 } });
  const dead = await addAccount(bench, 'dead');
  await addAccount(bench, 'alive');

  const hang = Promise.withResolvers<void>();
  bench.tap = ({ when, side, key }) =>
    side === 'marketplace' && when === 'before' && key === dead ? hang.promise : undefined;
  const seen = bench.callsTo('PUT', /asks/).length;
  const with3 = await burst(bench, ['dead', 'default', 'alive'], ['default', 'alive']);
  for (const [account, took] of with3) {
    expect(took, account).toBeLessThan(HUNG_CALL_ENDS_MS);
  }
  expect(bench.callsTo('PUT', /asks/).length - seen).toBe(2 * EACH);
  hang.resolve();
});
