import { afterEach, describe, expect, test } from 'vitest';
import { given, identity, NOW, time } from '../../../test/builders/observed.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { MACHINE_FINALIZER } from '../../api/v1alpha1/names.ts';
import { silentLogger } from '../../lib/logger.ts';
import { seededRandom } from '../../lib/random.ts';
import { defaultConstants } from '../../ownership/constants.ts';
import type { Controller } from '../../runtime/controller.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { objectKey } from '../../runtime/kube/kube-object.ts';
import type { Change } from '../../runtime/list-watch/informer.ts';
import { createGpuInstanceController, type GpuInstanceControllerOptions } from './controller.ts';
import { SteadyClock } from './memory.ts';

const conflict = new KubeError('someone was faster', {
  kind: 'conflict',
  status: 409,
  reason: 'Conflict',
  outcome: 'refused',
});

let running: Controller | undefined;
afterEach(() => running?.stop());

/** Returns an object whose account is missing: a reconcile only writes its status. */
function objectOf(name: string, { deleting = false } = {}): GpuInstance {
  const { object } = given();
  const metadata = { ...object.metadata, name, uid: `uid-${name}` };
  if (!deleting) return { ...object, metadata };
  return {
    ...object,
    metadata: { ...metadata, deletionTimestamp: time(-1), finalizers: [MACHINE_FINALIZER] },
  };
}

/** Returns the controller of these objects, one at a time, with its requests and writes in order. */
function situation(first: readonly GpuInstance[], { lostRaces = 0 } = {}) {
  const clock = createVirtualClock({ startMs: NOW });
  const did: string[] = [];
  /** Names of the accounts that passes asked for, in order. */
  const accounts: string[] = [];
  const objects = new Map(first.map((object) => [objectKey(object.metadata), object]));
  let races = lostRaces;
  const listeners = new Set<(change: Change<GpuInstance>) => void>();
  const write = (verb: string, { name }: { readonly name: string }, object: object) => {
    did.push(`${verb} ${name}`);
    if (races-- > 0) throw conflict;
    return { ...objects.get(`team/${name}`), ...object };
  };
  const controller = createGpuInstanceController({
    ledger: { recordDeleted: () => Promise.resolve() },
    spendBudgets: { onChange: () => () => {} },
    budgets: { stop: () => undefined },
    env: { clock, random: seededRandom(1), log: silentLogger },
    steady: new SteadyClock(clock),
    instances: {
      list: () => [...objects.values()],
      get: (key: string) => objects.get(key),
      byIndex: () => [],
      isCurrent: () => true,
      keep: (object: GpuInstance) => object,
      wrote() {},
      onChange: (listener: (change: Change<GpuInstance>) => void) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    },
    cluster: {
      get: async (_: unknown, { name }: { name: string }) => {
        did.push(`ask for ${name}`);
        return objects.get(`team/${name}`);
      },
      replace: async (_: unknown, object: GpuInstance) => write('write', object.metadata, object),
      patch: async (_: unknown, ref: { name: string }, { body }: { body: object }) =>
        write('patch', ref, body),
    },
    accounts: {
      get: ({ name }: { readonly name: string }) => {
        accounts.push(name);
        return { type: 'missing' };
      },
      statusWriter: () => undefined,
      sessions: () => [],
      onChange: () => () => {},
    },
    identity: () => identity,
    constants: defaultConstants,
    lease: { leaseRemainingMs: () => 15_000 },
    events: { record() {} },
    prober: async ({ port }: { port: number }) => void did.push(`probe port ${port}`),
    allowPrivateAddresses: false,
    workers: 1,
  } as unknown as GpuInstanceControllerOptions);
  running = controller;
  return {
    controller,
    accounts,
    within: async (ms: number) => {
      did.length = 0;
      await clock.advance(ms);
      return [...did];
    },
    forget: (object: GpuInstance) => {
      const key = objectKey(object.metadata);
      objects.delete(key);
      for (const listener of listeners) listener({ type: 'deleted', key, object });
    },
    hear: (object: GpuInstance) => {
      const key = objectKey(object.metadata);
      const previous = objects.get(key);
      objects.set(key, object);
      const change: Change<GpuInstance> = previous
        ? { type: 'updated', key, object, previous }
        : { type: 'added', key, object };
      for (const listener of listeners) listener(change);
    },
  };
}

describe('objects that are there at the start', () => {
  test('are all looked at, although nothing changes', async () => {
    const { controller, within } = situation([objectOf('a'), objectOf('b')]);
    controller.start();
    expect(await within(10)).toEqual(['write a', 'write b']);
  });

  test('are looked at in the order deleted, without a machine, with one', async () => {
    const named = (object: GpuInstance): GpuInstance => {
      const accountRef = { name: `account of ${object.metadata.name}` };
      return { ...object, spec: { ...object.spec, accountRef } };
    };
    const rented = { ...objectOf('a'), status: { instanceId: '7' } } as GpuInstance;
    const objects = [rented, objectOf('b'), objectOf('c', { deleting: true })].map(named);
    const { controller, within, accounts } = situation(objects);
    controller.start();
    await within(10);
    expect([...new Set(accounts)]).toEqual(['account of c', 'account of b', 'account of a']);
  });

  test('wait in a replica that waits for the lease, whatever event it receives', async () => {
    const { controller, within, hear } = situation([]);
    hear(objectOf('a'));
    expect([await within(1_000), controller.queue.length()]).toEqual([[], 0]);
    controller.start();
    expect(await within(10)).toEqual(['write a']);
  });
});

test('what a deletion asks for comes before what is bought', async () => {
  const { controller, within } = situation([
    objectOf('a'),
    objectOf('b'),
    objectOf('c'),
    objectOf('d', { deleting: true }),
  ]);
  controller.start();
  expect(await within(10)).toEqual(['patch d', 'write a', 'write b', 'write c']);
});

test('an object that is changed is looked at again', async () => {
  const { controller, within, hear } = situation([objectOf('a'), objectOf('b')]);
  controller.start();
  await within(10);
  hear(objectOf('b'));
  expect(await within(10)).toEqual(['write b']);
});

test('after a lost race the API server is asked: the copy may have missed an event', async () => {
  const { controller, within } = situation([objectOf('a')], { lostRaces: 1 });
  controller.start();
  expect(await within(10)).toEqual(['write a']);
  expect(await within(200)).toEqual(['ask for a', 'write a']);
});

test('after a finalizer that could not be taken off the API server is asked, too', async () => {
  const { controller, within } = situation([objectOf('a', { deleting: true })], { lostRaces: 1 });
  controller.start();
  expect(await within(1)).toEqual(['patch a']);
  expect(await within(200)).toEqual(['ask for a', 'patch a']);
});

describe('a machine is asked whether it serves', () => {
  /** Returns an object with a running machine, and a probe of it. */
  function probed(): GpuInstance {
    const { spec, ...object } = objectOf('a');
    const readinessProbe = { tcpSocket: { port: 22 }, periodSeconds: 10, timeoutSeconds: 1 };
    return {
      ...object,
      spec: { ...spec, readinessProbe } as GpuInstance['spec'],
      status: {
        ...{ instanceId: '5', actualStatus: 'running', runningAt: time(-60) },
        ssh: { host: 'ssh.market.example', port: 2222 },
      },
    };
  }
  const asks = (did: readonly string[]) => did.filter((what) => what === 'probe port 2222').length;

  test('until its object is gone', async () => {
    const { controller, within, forget } = situation([probed()]);
    controller.start();
    expect(asks(await within(25_000))).toBe(3);
    forget(probed());
    await within(10);
    expect(asks(await within(60_000))).toBe(0);
  });

  test('until this process leads no more', async () => {
    const { controller, within } = situation([probed()]);
    controller.start();
    expect(asks(await within(25_000))).toBe(3);
    await controller.stop();
    expect(asks(await within(60_000))).toBe(0);
  });
});
