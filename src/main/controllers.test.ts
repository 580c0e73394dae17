import { expect, test } from 'vitest';
import type { JsonObject } from '../../test/simulation/memory-kube/json.ts';
import { MACHINE } from '../../test/simulation/specs.ts';
import { statusAt } from '../../test/simulation/status-at.ts';
import { Users } from '../../test/simulation/users.ts';
import { NAMESPACE, SimulatedWorld } from '../../test/simulation/world.ts';
import { seededRandom } from '../lib/random.ts';
import type { Controller } from '../runtime/controller.ts';
import { controllersTask, isLeading } from './controllers.ts';

const QUIET = { requestMs: 2, responseMs: 2 };
const OTHER = 'other';

/** Creates a namespace with an account of the same login and an object that rents with it. */
function settleElsewhere({ kube, market }: SimulatedWorld): void {
  const put = (plural: string, name: string, object: JsonObject) =>
    kube.writes.create(
      { kind: kube.kind(plural), namespace: OTHER, name },
      { metadata: { name }, ...object },
    );
  const apiVersion = 'gpurental.dev/v1alpha1';
  const namespace = { kind: kube.kind('namespaces'), namespace: undefined, name: OTHER };
  kube.writes.create(namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: OTHER } });
  put('secrets', 'key', {
    apiVersion: 'v1',
    kind: 'Secret',
    data: { 'api-key': Buffer.from(market.apiKey).toString('base64') },
  });
  put('marketplaceaccounts', 'default', {
    apiVersion,
    kind: 'MarketplaceAccount',
    spec: { apiKeySecretRef: { name: 'key', key: 'api-key' }, orphanPolicy: 'Destroy' },
  });
  put('gpuinstances', 'b', { apiVersion, kind: 'GpuInstance', spec: MACHINE });
}

test('objects of every watched namespace claim their machines while an orphan of one login is swept', async () => {
  const flags = { watchNamespace: [NAMESPACE, OTHER] };
  const world = new SimulatedWorld({ seed: 1, keepTrace: false, flags, fate: () => QUIET });
  const users = new Users(world, seededRandom(1));
  users.account.create('Destroy');
  users.createInstance('a');
  settleElsewhere(world);
  world.startProcess();
  const pass = (seconds: number) => world.scheduler.runUntil(world.now + seconds * 1000, () => true);
  const machines = () => Object.keys(world.market.store.current().tables.contracts).map(Number);
  const machineOf = (namespace: string, name: string) => {
    const kind = world.kube.kind('gpuinstances');
    return Number(statusAt(world.kube.writes.read({ kind, namespace, name }) ?? {})['instanceId']);
  };
  await pass(90);
  const [orphan, kept] = [machineOf(NAMESPACE, 'a'), machineOf(OTHER, 'b')];
  expect(machines().toSorted()).toEqual([orphan, kept].toSorted());
  users.removeFinalizers('a');
  users.delete('a');
  await pass(300);
  expect(machines()).toEqual([kept]);
  expect(machineOf(OTHER, 'b')).toBe(kept);
});

test('a sweeper that freezes until its lease is over, and thaws with an orphan in its list, destroys nothing', async () => {
  const destroyedBy: string[] = [];
  const readBy: string[] = [];
  let isOrphaned = false;
  let hasFrozen = false;
  const world: SimulatedWorld = new SimulatedWorld({
    seed: 1,
    keepTrace: false,
    // A destroy waits for no other call.
    flags: { pacing: 'off' },
    fate: ({ machine, request: { method, path } }) => {
      if (method === 'DELETE' && /^\/api\/v0\/instances\/[1-9]/.test(path)) destroyedBy.push(machine.name);
      const isRead = /\/marketplaceaccounts(\?|$)/.test(path) && !path.includes('watch=true');
      if (isOrphaned && isRead && method === 'GET') readBy.push(machine.name);
      // The second sweep is the one that destroys, and the last that it reads.
      if (readBy.length === 2 && !hasFrozen) {
        hasFrozen = true;
        world.scheduler.after(3, () => machine.freeze(240_000));
      }
      return QUIET;
    },
  });
  const users = new Users(world, seededRandom(1));
  users.account.create('Destroy');
  users.createInstance('a');
  world.startProcess();
  world.startProcess();
  const pass = (seconds: number) => world.scheduler.runUntil(world.now + seconds * 1000, () => true);
  await pass(81);
  users.removeFinalizers('a');
  users.delete('a');
  isOrphaned = true;
  await pass(300);
  const [sweeper] = readBy;
  expect(readBy[1]).toBe(sweeper);
  expect(destroyedBy).toContain(sweeper === 'operator-1' ? 'operator-2' : 'operator-1');
  expect(destroyedBy).not.toContain(sweeper);
});

test('an account goes although another one of its namespace has machines: those are not its own', async () => {
  const world = new SimulatedWorld({ seed: 1, keepTrace: false, fate: () => QUIET });
  const users = new Users(world, seededRandom(1));
  users.account.create('Report');
  users.createInstance('a');
  const kind = world.kube.kind('marketplaceaccounts');
  const [own, spare] = ['default', 'spare'].map((name) => ({ kind, namespace: NAMESPACE, name }) as const);
  if (!own || !spare) throw new Error('there are two names');
  const { apiVersion = '', spec = {} } = world.kube.writes.read(own) ?? {};
  world.kube.writes.create(spare, {
    apiVersion,
    kind: 'MarketplaceAccount',
    metadata: { name: 'spare' },
    spec,
  });
  world.startProcess();
  const pass = (seconds: number) => world.scheduler.runUntil(world.now + seconds * 1000, () => true);
  await pass(90);
  expect(Object.keys(world.market.store.current().tables.contracts)).toHaveLength(1);
  world.kube.writes.delete(spare, {});
  await pass(60);
  expect(world.kube.writes.read(spare)).toBeUndefined();
  expect(world.kube.writes.read(own)).toBeDefined();
});

type Ended = PromiseWithResolvers<void>;

function controller(name: string, told: string[], ended: Ended) {
  return {
    name,
    queue: {} as Controller['queue'],
    start: () => void told.push(`start ${name}`),
    stop: (graceMs: number) => {
      told.push(`stop ${name} within ${graceMs}`);
      return ended.promise;
    },
  };
}

test('starts controllers in order, stops all at once, and waits for each, also if one fails', async () => {
  const told: string[] = [];
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const task = controllersTask([controller('a', told, first), controller('b', told, second)], {
    metrics: { watchQueue: (name) => void told.push(`watch ${name}`) },
    graceMs: 25_000,
  });
  await task.start();
  expect(told.splice(0)).toEqual(['watch a', 'start a', 'watch b', 'start b']);
  let hasEnded = false;
  const stopped = Promise.resolve(task.stop()).finally(() => {
    hasEnded = true;
  });
  expect(told).toEqual(['stop a within 25000', 'stop b within 25000']);
  first.reject(new Error('broken'));
  await Promise.resolve();
  await new Promise(setImmediate);
  expect(hasEnded).toBe(false);
  second.resolve();
  await expect(stopped).rejects.toThrow('broken');
});

test.each([
  ['an election that leaves more of the lease than the margin', 3_001, true],
  ['one that leaves no more than the margin: what begins now may end under another leader', 3_000, false],
  ['one that is not won', 0, false],
  ['no election', undefined, true],
])('by %s', (_, leftMs, leads) => {
  const election = leftMs === undefined ? undefined : { leaseRemainingMs: () => leftMs };
  expect(isLeading({ election, constants: { leaseMarginMs: 3_000 } })).toBe(leads);
});
