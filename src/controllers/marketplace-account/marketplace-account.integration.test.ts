import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { OperatorBench, type SecretWithData } from '../../../test/builders/running-operator.ts';
import { until } from '../../../test/builders/until.ts';
import type { ClusterAccess } from '../../../test/cluster/connect.ts';
import { sharedCluster } from '../../../test/cluster/shared-cluster.ts';
import { gpuInstanceResource, marketplaceAccountResource } from '../../api/v1alpha1/names.ts';
import { secretResource } from '../../runtime/kube/core-resources.ts';

let cluster: ClusterAccess;
beforeAll(() => {
  cluster = sharedCluster();
});

const benches: OperatorBench[] = [];
afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.close();
});

async function open(options: Parameters<typeof OperatorBench.open>[1] = {}): Promise<OperatorBench> {
  const bench = await OperatorBench.open(cluster, options);
  benches.push(bench);
  return bench;
}

/** Returns an operator, an account with the simulator's full key, and the account Ready. */
async function readyAccount(spec: Record<string, unknown> = {}, options: Parameters<typeof open>[0] = {}) {
  const bench = await open(options);
  await bench.putKey(bench.simulator.apiKey);
  await bench.createAccount(spec);
  await bench.start();
  await condition(bench, 'Ready', 'True');
  return bench;
}

/** Waits for a condition of the account, and gives it. */
async function condition(bench: OperatorBench, type: string, status: string, reason?: string) {
  return until(`${type}=${status} ${reason ?? ''}`, async () => {
    const account = await bench.account();
    const found = account?.status?.conditions?.find((entry) => entry.type === type);
    return found?.status === status && (reason === undefined || found.reason === reason) ? found : undefined;
  });
}

async function runningInstance(bench: OperatorBench, name: string) {
  await bench.createInstance(name);
  return until(`${name} runs`, async () => {
    const instance = await bench.instance(name);
    return instance?.status?.phase === 'Running' ? instance : undefined;
  });
}

async function removeSecret(bench: OperatorBench): Promise<void> {
  await bench.kube.delete(secretResource, { namespace: bench.namespace, name: 'marketplace-key' });
}

const keptName = async (bench: OperatorBench) => `gpuacct-${(await bench.account())?.metadata.uid}`;

async function keptKey(bench: OperatorBench): Promise<string | undefined> {
  const ref = { namespace: bench.namespace, name: await keptName(bench) };
  const secret = await bench.kube.get<SecretWithData>(secretResource, ref);
  const encoded = secret?.data?.['api-key'];
  return encoded && Buffer.from(encoded, 'base64').toString();
}

describe('an account that is as it should be', () => {
  test('is Ready with its login pinned, its finalizer set and its key kept', async () => {
    const bench = await readyAccount();
    const account = await bench.account();
    expect(account?.metadata.finalizers).toEqual(['gpurental.dev/account']);
    expect(account?.status).toMatchObject({
      observedGeneration: 1,
      login: { url: 'http://127.0.0.1:9', userId: expect.stringMatching(/^\d+$/) },
      twoFactor: 'Disabled',
      credit: '1000.00',
      machines: { objects: 0, rented: 0, billing: 0, retained: 0, orphaned: 0, foreign: 0 },
    });
    expect(await keptKey(bench)).toBe(bench.simulator.apiKey);
  });

  test('is not written to while nothing changes, and a restart is no news', async () => {
    const bench = await readyAccount();
    const before = await bench.account();
    await bench.stop();
    await bench.start();
    const lists = bench.callsTo('GET', /instances\/$/).length;
    await until('three more lists', () => bench.callsTo('GET', /instances\/$/).length >= lists + 3);
    expect((await bench.account())?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
  });

  test('its canary key appears in no log, status, event or metric', async () => {
    const bench = await readyAccount();
    await runningInstance(bench, 'canary');
    await bench.fault('revoked-key', { count: 3 });
    await until('an error was logged', () => bench.logLines.some((line) => line.includes('"status":401')));
    const canary = bench.simulator.apiKey;
    const objects = await Promise.all([
      cluster.kubectl(['get', 'gpuacct,gpui,events', '-n', bench.namespace, '-o', 'yaml']),
      bench.metrics(),
    ]);
    for (const text of [...objects, ...bench.logLines]) expect(text).not.toContain(canary);
  });
});

describe('scenario 34: the Secret', () => {
  test.each([
    ['missing', undefined, 'InputMissing'],
    ['without the key that is named', { token: 'x' }, 'InputMissing'],
    ['with an empty key', { 'api-key': '' }, 'InputMissing'],
    ['with two lines', { 'api-key': 'a\nb' }, 'InputMissing'],
  ] as const)('%s gives a condition, and recovers by itself', async (_, data, reason) => {
    const bench = await open();
    if (data) {
      const metadata = { namespace: bench.namespace, name: 'marketplace-key' };
      await bench.kube.create(secretResource, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata,
        stringData: data,
      } as SecretWithData);
    }
    await bench.createAccount();
    await bench.start();
    const found = await condition(bench, 'Authenticated', 'False', reason);
    expect(found.message).toContain(`${bench.namespace}/marketplace-key`);
    await bench.putKey(`${bench.simulator.apiKey}\n`);
    await condition(bench, 'Ready', 'True');
    expect(bench.calls.every((call) => call.key === bench.simulator.apiKey)).toBe(true);
  });
});

test('a URL that the operator does not list is refused, and nothing is sent', async () => {
  const bench = await open();
  await bench.putKey('anything');
  await bench.createAccount({ url: 'https://elsewhere.example' });
  await bench.start();
  const found = await condition(bench, 'Authenticated', 'False', 'AddressInvalid');
  expect(found.message).toContain('--marketplace-url');
  await condition(bench, 'Stalled', 'True', 'AddressInvalid');
  expect(bench.calls).toHaveLength(0);
});

describe('scenario 31: a key that is revoked while machines run', () => {
  test('stops every call but the check of the key, keeps everything, and recovers alone', async () => {
    const bench = await readyAccount();
    await runningInstance(bench, 'worker');
    await bench.fault('revoked-key', { count: 100_000 });
    await condition(bench, 'Authenticated', 'False', 'KeyRejected');
    const before = bench.calls.length;
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const since = bench.calls.slice(before);
    expect(since.every((call) => call.path.includes('/users/current'))).toBe(true);
    expect(since.length).toBeLessThanOrEqual(4);
    expect((await bench.instance('worker'))?.metadata.finalizers).toContain('gpurental.dev/machine');
    expect(bench.billing()).toHaveLength(1);
    await bench.clearFaults();
    await condition(bench, 'Ready', 'True');
    expect(bench.callsTo('PUT', /asks/)).toHaveLength(1);
    expect(bench.callsTo('DELETE', /instances\/[1-9]/)).toHaveLength(0);
  });
});

test('scenario 19: 404 for a bad key is no proof that a machine is gone', async () => {
  const bench = await readyAccount();
  const before = await runningInstance(bench, 'worker');
  await bench.fault('auth-as-404', { count: 100_000 });
  await condition(bench, 'Authenticated', 'False', 'KeyRejected');
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  await bench.clearFaults();
  await condition(bench, 'Ready', 'True');
  const lists = bench.callsTo('GET', /instances\/$/).length;
  await until('two more lists', () => bench.callsTo('GET', /instances\/$/).length >= lists + 2);
  expect((await bench.instance('worker'))?.status?.instanceId).toBe(before.status?.instanceId);
  expect(bench.callsTo('PUT', /asks/)).toHaveLength(1);
  expect(bench.billing()).toHaveLength(1);
});

describe('scenario 32: a key of another user', () => {
  test('changes nothing, destroys nothing, sets LoginChanged, and the right key resolves it', async () => {
    const bench = await readyAccount();
    await runningInstance(bench, 'worker');
    const pinned = (await bench.account())?.status?.login;
    const other = otherUsersKey(bench);
    await bench.putKey(other);
    const found = await condition(bench, 'Authenticated', 'False', 'LoginChanged');
    expect(found.message).toContain(String(pinned?.userId));
    await condition(bench, 'Stalled', 'True', 'LoginChanged');
    await bench.kube.delete(gpuInstanceResource, { namespace: bench.namespace, name: 'worker' });
    const before = bench.calls.length;
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(bench.calls.slice(before).every((call) => call.path.includes('/users/current'))).toBe(true);
    expect(bench.billing()).toHaveLength(1);
    expect((await bench.account())?.status?.login).toEqual(pinned);
    expect(await keptKey(bench)).toBe(bench.simulator.apiKey);

    await bench.putKey(bench.simulator.apiKey);
    await until('the machine is destroyed', () => bench.billing().length === 0);
    await condition(bench, 'Ready', 'True');
  });
});

/** Makes a second user with a key of its own. */
function otherUsersKey(bench: OperatorBench): string {
  const { store } = bench.simulator;
  const { users, apiKeys } = bench.simulator.world().tables;
  const [user] = Object.values(users);
  const [key] = Object.values(apiKeys).filter(({ userId }) => userId === user?.id);
  if (!user || !key) throw new Error('the simulator has no first user');
  const id = user.id + 1000;
  store.put('users', { ...user, id, email: 'other@example.test' });
  store.put('apiKeys', { ...key, id: store.nextId('apiKey'), userId: id, secret: 'key-of-another-user' });
  return 'key-of-another-user';
}

describe('scenario 33: a key that may not destroy', () => {
  test('is found out before anything is rented', async () => {
    const bench = await open();
    const { store } = bench.simulator;
    const [key] = Object.values(bench.simulator.world().tables.apiKeys);
    if (!key) throw new Error('the simulator has no key');
    const permissions = { api: { misc: {}, user_read: {}, instance_read: {} } };
    store.put('apiKeys', { ...key, id: store.nextId('apiKey'), secret: 'narrow-key', permissions });
    await bench.putKey('narrow-key');
    await bench.createAccount();
    await bench.start();
    await condition(bench, 'Authenticated', 'False', 'KeyTooNarrow');
    await bench.createInstance('waiting');
    await until(
      'the object was looked at',
      async () => (await bench.instance('waiting'))?.status?.phase !== undefined,
    );
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(bench.callsTo('PUT', /asks/)).toHaveLength(0);
    await bench.putKey(bench.simulator.apiKey);
    await until('it runs', async () => (await bench.instance('waiting'))?.status?.phase === 'Running');
  });
});

describe('the kept key', () => {
  test('destroys what is left while the Secret is gone, and rents nothing', async () => {
    const bench = await readyAccount();
    await runningInstance(bench, 'worker');
    await removeSecret(bench);
    await condition(bench, 'Authenticated', 'False', 'UsingKeptKey');
    await bench.createInstance('refused');
    await bench.kube.delete(gpuInstanceResource, { namespace: bench.namespace, name: 'worker' });
    await until('the object is gone', async () => (await bench.instance('worker')) === undefined);
    expect(bench.billing()).toHaveLength(0);
    expect(bench.callsTo('PUT', /asks/)).toHaveLength(1);
  });

  test('destroys what is left while the marketplace refuses the key in the Secret', async () => {
    const bench = await readyAccount();
    await runningInstance(bench, 'worker');
    await bench.putKey('no-key-of-anyone');
    await condition(bench, 'Authenticated', 'False', 'UsingKeptKey');
    await bench.kube.delete(gpuInstanceResource, { namespace: bench.namespace, name: 'worker' });
    await until('the object is gone', async () => (await bench.instance('worker')) === undefined);
    expect(bench.billing()).toHaveLength(0);
  });

  test('goes with the account, whose deletion waits for its machines and names them', async () => {
    const bench = await readyAccount();
    await runningInstance(bench, 'worker');
    const kept = await keptName(bench);
    await bench.kube.delete(marketplaceAccountResource, { namespace: bench.namespace, name: 'default' });
    const found = await condition(bench, 'Ready', 'False', 'Deleting');
    expect(found.message).toContain(`${bench.namespace}/worker`);
    await bench.kube.delete(gpuInstanceResource, { namespace: bench.namespace, name: 'worker' });
    await until('the account is gone', async () => (await bench.account()) === undefined);
    expect(bench.billing()).toHaveLength(0);
    expect(await bench.kube.get(secretResource, { namespace: bench.namespace, name: kept })).toBeUndefined();
  });
});

describe('a marketplace in trouble', () => {
  test('scenario 37: 503 for a while is one condition, asks ever more slowly, and is followed by no storm', async () => {
    const bench = await readyAccount();
    await runningInstance(bench, 'worker');
    await bench.fault('5xx', { count: 100_000 });
    await condition(bench, 'Reachable', 'False', 'Unreachable');
    const written = (await bench.account())?.metadata.resourceVersion;
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect((await bench.account())?.metadata.resourceVersion).toBe(written);
    await bench.clearFaults();
    await condition(bench, 'Ready', 'True');
    expect((await bench.instance('worker'))?.status?.phase).toBe('Running');
    expect(bench.callsTo('PUT', /asks/)).toHaveLength(1);
  });

  test('scenario 21: a list that contradicts its own count is not believed', async () => {
    const bench = await readyAccount();
    for (const name of ['one', 'two']) await runningInstance(bench, name);
    await bench.fault('truncated-list', { count: 100_000 });
    await condition(bench, 'Reachable', 'False', 'Unreachable');
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await bench.clearFaults();
    await condition(bench, 'Ready', 'True');
    expect(bench.billing()).toHaveLength(2);
    expect(bench.callsTo('PUT', /asks/)).toHaveLength(2);
    expect(bench.callsTo('DELETE', /instances\/[1-9]/)).toHaveLength(0);
  });

  test('scenario 36: a plain-text 429 without Retry-After is waited out', async () => {
    const bench = await readyAccount();
    await bench.fault('429-text', { endpoint: 'list', count: 6 });
    await until('the lists arrive again', async () => {
      const lists = bench.callsTo('GET', /instances\/$/);
      return lists.length > 8;
    });
    await condition(bench, 'Ready', 'True');
  });
});

test('scenario 35: without credit nothing is rented, and with credit it goes on alone', async () => {
  const bench = await open();
  await bench.putKey(bench.simulator.apiKey);
  await bench.createAccount({ limits: { minCredit: '2000' } });
  await bench.start();
  await bench.createInstance('waiting');
  await condition(bench, 'Funded', 'False', 'InsufficientCredit');
  await until('the object says why', async () => {
    const conditions = (await bench.instance('waiting'))?.status?.conditions ?? [];
    return conditions.some(({ reason }) => reason === 'InsufficientCredit');
  });
  expect(bench.callsTo('PUT', /asks/)).toHaveLength(0);
  const setMinCredit = (minCredit: string) =>
    bench.kube.patch(
      marketplaceAccountResource,
      { namespace: bench.namespace, name: 'default' },
      { type: 'merge', body: { spec: { limits: { minCredit } } } },
    );
  await setMinCredit('5');
  await until('it runs', async () => (await bench.instance('waiting'))?.status?.phase === 'Running');
  const credit = Number((await bench.account())?.status?.credit);
  await setMinCredit((credit - 1).toFixed(2));
  await condition(bench, 'CreditLow', 'True', 'CreditLow');
  await condition(bench, 'Ready', 'True');
  await setMinCredit('5');
  await until('the condition ends', async () => {
    const conditions = (await bench.account())?.status?.conditions ?? [];
    return !conditions.some(({ type }) => type === 'CreditLow');
  });
});

describe('scenarios 20 and 29: many machines that turn bad at once', () => {
  test('a list that is empty by mistake replaces and destroys nothing', async () => {
    const bench = await readyAccount();
    for (const name of ['a', 'b', 'c', 'd', 'e']) await bench.createInstance(name);
    await until(
      'all run',
      async () => bench.billing().length === 5 && (await allRun(bench, ['a', 'b', 'c', 'd', 'e'])),
    );
    await bench.fault('empty-list', { count: 1 });
    await until('the breaker opens', async () => (await bench.account())?.status?.breaker?.open === true);
    await until('the breaker closes', async () => (await bench.account())?.status?.breaker?.open === false);
    expect(bench.billing()).toHaveLength(5);
    expect(bench.callsTo('PUT', /asks/)).toHaveLength(5);
    expect(bench.callsTo('DELETE', /instances\/[1-9]/)).toHaveLength(0);
  });

  test('a mass outage opens the breaker with an event and a metric, and an annotation closes it', async () => {
    const bench = await readyAccount({ pollInterval: '2s' });
    const names = ['a', 'b', 'c', 'd', 'e'];
    for (const name of names) await bench.createInstance(name);
    await until('all run', () => allRun(bench, names));
    await bench.fault('mass-outage', { seconds: 600 });
    await until('the breaker opens', async () => (await bench.account())?.status?.breaker?.open === true);
    expect(await bench.metrics()).toMatch(/gpu_rental_breaker_open\{.*\} 1/);
    await until('the event is written', async () => {
      const events = await cluster.kubectl(['get', 'events', '-n', bench.namespace]);
      return events.includes('BreakerOpen');
    });
    await bench.kube.patch(
      marketplaceAccountResource,
      { namespace: bench.namespace, name: 'default' },
      {
        type: 'merge',
        body: { metadata: { annotations: { 'gpurental.dev/close-breaker': 'looked at it' } } },
      },
    );
    await until('it is closed by hand', async () => {
      const breaker = (await bench.account())?.status?.breaker;
      return breaker?.open === false;
    });
  });
});

async function allRun(bench: OperatorBench, names: readonly string[]): Promise<boolean> {
  const instances = await Promise.all(names.map((name) => bench.instance(name)));
  return instances.every((instance) => instance?.status?.phase === 'Running');
}
