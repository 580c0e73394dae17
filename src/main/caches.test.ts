import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../runtime/kube/kube-object.ts';
import type { Change, Informer, InformerHealth } from '../runtime/list-watch/informer.ts';
import { combineInformers } from './caches.ts';

type Listener = (change: Change<KubeObject>) => void;

const object = (namespace: string, name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Widget',
  metadata: { namespace, name },
});

const FRESH: InformerHealth = {
  lastContactAt: 9_000,
  divergences: 0,
  failure: undefined,
  rewoundSince: undefined,
};

/** Returns the informer of one namespace, which records its calls and syncs on request. */
function informerOf(namespace: string, health: Partial<InformerHealth> = {}) {
  const told: string[] = [];
  const behind = new Set<string>();
  const listeners = new Set<Listener>();
  const firstList = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  let synced = false;
  const objects = [object(namespace, 'a'), object(namespace, 'b')];
  const informer: Informer<KubeObject> = {
    name: `widgets in ${namespace}`,
    start: () => void told.push('start'),
    stop: () => {
      told.push('stop');
      return stopped.promise;
    },
    synced: firstList.promise,
    hasSynced: () => synced,
    get: (key) => objects.find(({ metadata }) => key === `${namespace}/${metadata.name}`),
    list: () => objects,
    byIndex: (index, value) =>
      index === 'name' ? objects.filter(({ metadata }) => metadata.name === value) : [],
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    wrote: ({ metadata }) => void behind.add(`${metadata.namespace}/${metadata.name}`),
    keep: (object) => object,
    isCurrent: (key) => !behind.has(key),
    health: () => ({ ...FRESH, ...health }),
  };
  return {
    informer,
    told,
    stopped,
    listeners,
    sync() {
      synced = true;
      firstList.resolve();
    },
  };
}

type Part = ReturnType<typeof informerOf>;

const combined = (parts: Readonly<Record<string, Part>>) =>
  combineInformers(new Map(Object.entries(parts).map(([namespace, { informer }]) => [namespace, informer])));

const two = () => ({ red: informerOf('red'), blue: informerOf('blue') });

/** Returns true if the promise is settled after all pending work has run. */
async function isOver(promise: Promise<void>): Promise<boolean> {
  let over = false;
  void promise.then(() => {
    over = true;
  });
  await new Promise(setImmediate);
  return over;
}

describe('informers of two namespaces as if they were one', () => {
  test('are synced when the last of them is', async () => {
    const { red, blue } = two();
    const both = combined({ red, blue });
    red.sync();
    expect([await isOver(both.synced), both.hasSynced()]).toEqual([false, false]);
    blue.sync();
    expect([await isOver(both.synced), both.hasSynced()]).toEqual([true, true]);
  });

  test('all start, and all have stopped when the stop is over', async () => {
    const { red, blue } = two();
    const both = combined({ red, blue });
    both.start();
    const stopped = both.stop();
    expect([red.told, blue.told]).toEqual([
      ['start', 'stop'],
      ['start', 'stop'],
    ]);
    red.stopped.resolve();
    expect(await isOver(stopped)).toBe(false);
    blue.stopped.resolve();
    expect(await isOver(stopped)).toBe(true);
  });

  test('find objects of each, alone, together and by an index', () => {
    const both = combined(two());
    expect(both.get('blue/a')?.metadata).toEqual({ namespace: 'blue', name: 'a' });
    expect(both.list()).toHaveLength(4);
    expect(both.byIndex('name', 'b').map(({ metadata }) => metadata.namespace)).toEqual(['red', 'blue']);
    expect(both.get('green/a')).toBeUndefined();
  });

  test('emit changes of each, until the listener leaves', () => {
    const { red, blue } = two();
    const leave = combined({ red, blue }).onChange(() => {});
    expect([red.listeners.size, blue.listeners.size]).toEqual([1, 1]);
    leave();
    expect([red.listeners.size, blue.listeners.size]).toEqual([0, 0]);
  });

  test('are behind where this process wrote, in the namespace of the object alone', () => {
    const both = combined(two());
    both.wrote(object('blue', 'a'));
    expect(['red/a', 'blue/a', 'blue/b', 'green/a'].map((key) => both.isCurrent(key))).toEqual([
      true,
      false,
      true,
      true,
    ]);
  });
});

describe('the health of several', () => {
  const healthOf = (red: Partial<InformerHealth>, blue: Partial<InformerHealth>) =>
    combined({ red: informerOf('red', red), blue: informerOf('blue', blue) }).health();

  test('is their oldest contact, and none where one never had any', () => {
    expect(healthOf({ lastContactAt: 7_000 }, { lastContactAt: 8_000 }).lastContactAt).toBe(7_000);
    expect(healthOf({ lastContactAt: 8_000 }, { lastContactAt: 7_000 }).lastContactAt).toBe(7_000);
    expect(healthOf({ lastContactAt: undefined }, {}).lastContactAt).toBeUndefined();
  });

  test('is rewound or failing where one is', () => {
    expect(healthOf({}, {})).toEqual(FRESH);
    expect(healthOf({}, { rewoundSince: 5, failure: 'no route' })).toMatchObject({
      rewoundSince: 5,
      failure: 'no route',
    });
  });

  test('counts the divergences of all', () => {
    expect(healthOf({ divergences: 2 }, { divergences: 3 }).divergences).toBe(5);
  });
});
