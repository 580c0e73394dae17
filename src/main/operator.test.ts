import { describe, expect, test } from 'vitest';
import { type JsonObject, metadataOf, objectAt } from '../../test/simulation/memory-kube/json.ts';
import type { Fate } from '../../test/simulation/network.ts';
import { Users } from '../../test/simulation/users.ts';
import { type FateOf, NAMESPACE, SimulatedWorld, SYSTEM_NAMESPACE } from '../../test/simulation/world.ts';
import { definitions } from '../api/v1alpha1/definitions.ts';
import { IN_USE_RECORD, inUseKey } from '../api/v1alpha1/names.ts';
import type { RawOptions } from '../config.ts';
import { seededRandom } from '../lib/random.ts';
import { IDENTITY_SECRET } from '../ownership/identity.ts';

const QUIET: Fate = { requestMs: 2, responseMs: 2 };

type Call = Parameters<FateOf>[0];

/** Returns a cluster with an account and an object to rent for, and every call of its operators. */
function inhabited({
  flags = {},
  fate,
}: {
  flags?: RawOptions;
  fate?: (call: Call) => Fate | undefined;
} = {}) {
  const calls: { readonly by: string; readonly side: string; readonly what: string; readonly at: number }[] =
    [];
  const world: SimulatedWorld = new SimulatedWorld({
    ...{ seed: 1, keepTrace: false, flags },
    fate: (call) => {
      const { machine, side, request } = call;
      calls.push({ by: machine.name, side, what: `${request.method} ${request.path}`, at: world.second });
      return fate?.(call) ?? QUIET;
    },
  });
  const users = new Users(world, seededRandom(1));
  users.account.create('Report');
  users.createInstance('a');
  const pass = (seconds: number) => world.scheduler.runUntil(world.now + seconds * 1000, () => true);
  const read = (plural: string, name: string, namespace = SYSTEM_NAMESPACE) =>
    world.kube.writes.read({ kind: world.kube.kind(plural), namespace, name });
  return { world, users, calls, pass, read };
}

test('the in-use record shows the first machine, and that the last is gone', async () => {
  const { world, users, pass, read } = inhabited();
  const inUse = () => objectAt(read('configmaps', IN_USE_RECORD) ?? {}, 'data')[inUseKey];
  world.startProcess();
  await pass(60);
  expect(inUse()).toBe('true');
  users.delete('a');
  await pass(120);
  expect([inUse(), read('gpuinstances', 'a', NAMESPACE)]).toEqual(['false', undefined]);
});

describe('a stop', () => {
  test('ends what was asked of the marketplace: nothing of this process is sent after it', async () => {
    const { world, calls, pass } = inhabited();
    const { operator, machine } = world.startProcess();
    await pass(60);
    // The process would continue: only its own stop ends it here.
    machine.kill = () => {};
    void operator.manager.stop();
    await pass(10);
    const sent = () => calls.filter(({ by }) => by === machine.name).length;
    const before = sent();
    expect(before).toBeGreaterThan(0);
    await pass(120);
    expect(sent()).toBe(before);
  });

  /** Returns the seconds that a stop takes from the first matching call on; each of these calls takes `seconds`. */
  async function stopWhile(isSlow: (what: string) => boolean, seconds: number, flags: RawOptions = {}) {
    const begun = Promise.withResolvers<void>();
    const { world, pass, read } = inhabited({
      flags,
      fate: ({ request: { method, path } }) => {
        if (!isSlow(`${method} ${path}`)) return undefined;
        begun.resolve();
        return { ...QUIET, requestMs: seconds * 1000 };
      },
    });
    const { operator, machine } = world.startProcess();
    machine.kill = () => {};
    let lasted: number | undefined;
    let guard: JsonObject | undefined;
    const stopped = begun.promise.then(async () => {
      const at = world.second;
      await operator.manager.stop();
      lasted = world.second - at;
      guard = read('configmaps', IN_USE_RECORD);
    });
    await pass(240);
    await stopped;
    return { lasted, guard, world, read };
  }

  const isEvent = (what: string) => /^POST .*\/events$/.test(what);

  test('waits until events are written', async () => {
    const { lasted, world } = await stopWhile(isEvent, 3);
    expect(lasted).toBeGreaterThanOrEqual(3);
    expect(world.kube.store.all(world.kube.kind('events'))).not.toEqual([]);
  });

  test('waits for that no longer than is worth it', async () => {
    const { lasted } = await stopWhile(isEvent, 20);
    expect(lasted).toBeLessThan(10);
  });

  test('updates the in-use record when a machine is rented while it ends', async () => {
    const isIntent = (what: string) => /^PATCH .*\/gpuinstances\/a$/.test(what);
    const { guard } = await stopWhile(isIntent, 3);
    expect(objectAt(guard ?? {}, 'data')[inUseKey]).toBe('true');
  });

  test('lets a rental that was begun end, for as long as the flag says', async () => {
    const isRental = (what: string) => what.includes('/asks/');
    const patient = await stopWhile(isRental, 8);
    expect(patient.read('gpuinstances', 'a', NAMESPACE)?.['status']).toHaveProperty('machine.id');
    expect(patient.lasted).toBeGreaterThanOrEqual(8);
    const { lasted } = await stopWhile(isRental, 8, { shutdownGrace: '2s' });
    expect(lasted).toBeLessThan(8);
  });
});

test('what the operator keeps for itself is in its own namespace', async () => {
  const { world, pass } = inhabited({ flags: { namespace: 'ops' } });
  const kindOf = (plural: string) => world.kube.kind(plural);
  world.kube.writes.create(
    { kind: kindOf('namespaces'), namespace: undefined, name: 'ops' },
    { metadata: { name: 'ops' } },
  );
  world.startProcess();
  await pass(60);
  const own = ['leases', 'secrets', 'configmaps'].flatMap((plural) => world.kube.store.all(kindOf(plural)));
  const places = own.map(metadataOf).map(({ namespace, name }) => `${String(namespace)}/${String(name)}`);
  const { uid } = metadataOf(world.kube.store.all(kindOf('marketplaceaccounts'))[0] ?? {});
  expect(places.filter((place) => !place.startsWith(`${NAMESPACE}/`)).toSorted()).toEqual([
    `ops/${IN_USE_RECORD}`,
    'ops/gpu-rental-operator',
    `ops/${IDENTITY_SECRET}`,
    `ops/gpuacct-${String(uid)}`,
  ]);
});

test('an operator of named namespaces asks for nothing beyond them, also while an account goes', async () => {
  const { world, users, calls, pass, read } = inhabited({ flags: { watchNamespace: [NAMESPACE] } });
  world.startProcess();
  await pass(90);
  users.delete('a');
  users.account.delete();
  await pass(300);
  expect(world.kube.store.all(world.kube.kind('marketplaceaccounts'))).toEqual([]);
  expect(read('gpuinstances', 'a', NAMESPACE)).toBeUndefined();
  const beyond = /\/apis\/gpurental\.dev\/v1alpha1\/[a-z]+(\?|$)/;
  expect(calls.map(({ what }) => what).filter((what) => beyond.test(what))).toEqual([]);
});

test('each controller has the workers that its flag says', async () => {
  const flags = { gpuInstanceWorkers: '3', marketplaceAccountWorkers: '5', endpointGroupWorkers: '7' };
  const { world, pass } = inhabited({ flags });
  const { registry } = world.startProcess();
  await pass(30);
  const lines = (await registry.expose()).split('\n').filter((line) => line.includes('max_concurrent'));
  const shown = lines.flatMap((line) => /controller="(\w+)"\} (\d+)$/.exec(line)?.slice(1).join(' ') ?? []);
  expect(shown.toSorted()).toEqual([
    'childsweep 1',
    'endpointgroup 7',
    'gpuinstance 3',
    'marketplaceaccount 5',
    'orphansweep 1',
    'spendbudget 1',
  ]);
});

describe('an account', () => {
  test('gets the owner of each machine of its login', async () => {
    const { world, pass, read } = inhabited();
    world.startProcess();
    await pass(60);
    const status = objectAt(read('marketplaceaccounts', 'default', NAMESPACE) ?? {}, 'status');
    expect(status['machines']).toMatchObject({ rented: 1, billing: 1, orphaned: 0, foreign: 0 });
  });

  test('has its key read as often as the flag says', async () => {
    const { world, calls, pass } = inhabited({ flags: { keyCheckInterval: '10s' } });
    world.startProcess();
    await pass(20);
    calls.length = 0;
    await pass(100);
    const reads = calls.filter(({ what }) => what.endsWith('/secrets/marketplace-key'));
    expect(reads.length).toBeGreaterThanOrEqual(9);
  });

  test('whose limit is raised rents at once for who waited for it', async () => {
    const { world, users, calls, pass } = inhabited();
    const limitTo = (maxInstances: number) =>
      world.kube.writes.update(
        { kind: world.kube.kind('marketplaceaccounts'), namespace: NAMESPACE, name: 'default' },
        (account) => ({ ...account, spec: { ...objectAt(account, 'spec'), limits: { maxInstances } } }),
        undefined,
      );
    const rentals = () => calls.filter(({ what }) => what.includes('/asks/')).length;
    limitTo(1);
    users.createInstance('b');
    world.startProcess();
    // In the middle of the ten seconds after which it would poll again.
    await pass(64);
    limitTo(2);
    expect(rentals()).toBe(1);
    await pass(2);
    expect(rentals()).toBe(2);
  });

  test('shows in its status that no flag names its marketplace, and sends no request', async () => {
    const { world, calls, pass, read } = inhabited();
    const address = { kind: world.kube.kind('marketplaceaccounts'), namespace: NAMESPACE, name: 'default' };
    const elsewhere = 'https://console.vast.ai';
    world.kube.writes.update(
      address,
      (account) => ({ ...account, spec: { ...objectAt(account, 'spec'), url: elsewhere } }),
      undefined,
    );
    world.startProcess();
    await pass(60);
    expect(JSON.stringify(read('marketplaceaccounts', 'default', NAMESPACE)?.['status'])).toContain(
      elsewhere,
    );
    expect(calls.filter(({ side }) => side === 'market')).toEqual([]);
  });
});

test('an identity that cannot be read at first does not end the process: it is read when it can be', async () => {
  const { world, pass, read } = inhabited({
    fate: ({ request }) =>
      world.second < 60 && request.path.includes(IDENTITY_SECRET)
        ? { ...QUIET, loseRequest: true }
        : undefined,
  });
  const { machine } = world.startProcess();
  await pass(50);
  expect(machine.alive).toBe(true);
  await pass(120);
  expect([machine.alive, read('secrets', IDENTITY_SECRET)?.['kind']]).toEqual([true, 'Secret']);
});

test('reports a lost identity if no account is left to find it by', async () => {
  const { world, pass } = inhabited();
  const first = world.startProcess();
  await pass(60);
  const at = (plural: string, namespace: string, name: string) => ({
    ...{ kind: world.kube.kind(plural), namespace, name },
  });
  world.crash(first.machine, 'in a disaster');
  world.kube.writes.delete(at('secrets', SYSTEM_NAMESPACE, IDENTITY_SECRET), {});
  const account = at('marketplaceaccounts', NAMESPACE, 'default');
  world.kube.writes.update(
    account,
    (current) => ({ ...current, metadata: { ...metadataOf(current), finalizers: [] } }),
    undefined,
  );
  world.kube.writes.delete(account, {});
  await pass(60);
  expect(world.processes[0]?.operator.installation.state()).toMatchObject({
    type: 'lost',
    why: { reason: 'IdentityInvalid' },
  });
});

test.for(definitions.map(({ names }) => names.plural))(
  'a process is not ready and does not act while its copy of %s is incomplete',
  async (plural) => {
    const { world, pass } = inhabited({
      fate: ({ request }) =>
        request.path.includes(`/${plural}`) ? { ...QUIET, loseRequest: true } : undefined,
    });
    const { operator } = world.startProcess();
    await pass(60);
    expect([operator.manager.isReady(), operator.manager.isLeading()]).toEqual([false, false]);
  },
);
