import { afterEach, expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { seededRandom } from '../lib/random.ts';
import { conflict, done, type Result } from './controller.ts';
import { KubeError } from './kube/kube-error.ts';
import { type KubeObject, objectKey, type Resource } from './kube/kube-object.ts';
import type { Change } from './list-watch/informer.ts';
import { createObjectController, type ObjectController } from './object-controller.ts';

const resource: Resource = { group: 'g', version: 'v1', plural: 'things', kind: 'Thing', namespaced: true };

function thing(name: string, metadata: Partial<KubeObject['metadata']> = {}): KubeObject {
  return {
    apiVersion: 'g/v1',
    kind: 'Thing',
    metadata: { namespace: 'team', name, resourceVersion: '1', ...metadata },
  };
}

const deleted = (name: string) => thing(name, { deletionTimestamp: '2026-11-20T12:00:00Z' });

let running: ObjectController | undefined;
afterEach(() => running?.stop());

/** Returns a controller of these objects with one worker; `reconcile` returns done by default. */
function bench(
  first: readonly KubeObject[],
  reconcile: (object: KubeObject) => Promise<Result> = async () => done,
  priorityOf?: (object: KubeObject) => number,
) {
  const clock = createVirtualClock();
  const objects = new Map(first.map((object) => [objectKey(object.metadata), object]));
  const happened: string[] = [];
  const state = { isCurrent: true };
  let emit: (change: Change<KubeObject>) => void = () => {};
  const controller = createObjectController<KubeObject>({
    ...{ clock, resource, name: 'things', random: seededRandom(1), log: silentLogger },
    informer: {
      get: (key) => objects.get(key),
      list: () => [...objects.values()],
      isCurrent: () => state.isCurrent,
      keep: (object) => object,
      onChange: (listener) => {
        emit = listener;
        return () => {};
      },
    },
    client: {
      get: async <T extends KubeObject>() => {
        happened.push('read from the API server');
        return first[0] as T | undefined;
      },
      replace: async (_, body) => body,
    },
    priorityOf,
    reconcile: (object, { key }) => {
      happened.push(key);
      return reconcile(object);
    },
    onGone: (key) => happened.push(`gone ${key}`),
    onDeleted: ({ metadata }) => happened.push(`deleted ${metadata.name}`),
  });
  running = controller;
  return {
    controller,
    objects,
    state,
    emit: (change: Change<KubeObject>) => emit(change),
    /** Returns the calls within `ms`. */
    within: async (ms: number) => {
      await clock.advance(ms);
      return happened.splice(0);
    },
  };
}

test('reconciles every object at the start, deleted ones first', async () => {
  const { controller, within } = bench([thing('a'), thing('b'), deleted('c')]);
  controller.start();
  expect(await within(5)).toEqual(['team/c', 'team/a', 'team/b']);
});

test('reconciles an object after each change, a deleted one before those that wait', async () => {
  const { controller, objects, emit, within } = bench([]);
  controller.start();
  for (const object of [thing('a'), thing('b'), deleted('c')]) {
    const key = objectKey(object.metadata);
    objects.set(key, object);
    emit({ type: 'added', key, object });
  }
  expect((await within(5)).toSorted()).toEqual(['team/a', 'team/b', 'team/c']);
  for (const name of ['a', 'b', 'c']) controller.enqueue(`team/${name}`);
  expect((await within(5)).indexOf('team/c')).toBeLessThan(2);
});

test('reconciles objects by the priority that they have, or that is asked for, deleted ones first', async () => {
  const priorityOf = ({ metadata }: KubeObject) => (metadata.name === 'new' ? 1 : 0);
  const first = [thing('known'), thing('new'), thing('called'), deleted('gone')];
  const { controller, within } = bench(first, undefined, priorityOf);
  controller.start();
  controller.enqueue('team/called', 2);
  expect(await within(5)).toEqual(['team/gone', 'team/called', 'team/new', 'team/known']);
});

test('collects no key before the start, and cleans up after a deleted object all the same', async () => {
  const { controller, emit, within } = bench([]);
  emit({ type: 'added', key: 'team/a', object: thing('a') });
  emit({ type: 'deleted', key: 'team/a', object: thing('a') });
  controller.enqueue('team/a');
  expect(controller.queue.length()).toBe(0);
  controller.start();
  expect(await within(5)).toEqual(['deleted a']);
});

test('calls onGone instead of reconcile when the object does not exist', async () => {
  const { controller, objects, emit, within } = bench([thing('a')]);
  controller.start();
  await within(5);
  objects.clear();
  emit({ type: 'deleted', key: 'team/a', object: thing('a') });
  expect(await within(5)).toEqual(['deleted a', 'gone team/a']);
});

test('waits for a cache that lacks the last write of this process', async () => {
  const { controller, state, within } = bench([thing('a')]);
  state.isCurrent = false;
  controller.start();
  expect(await within(5)).toEqual([]);
  state.isCurrent = true;
  expect(await within(20)).toEqual(['team/a']);
});

const refusal = new KubeError('another writer was first', {
  kind: 'conflict',
  status: 409,
  reason: 'Conflict',
  outcome: 'refused',
});

test.each<[string, () => Promise<Result>]>([
  ['returned', async () => conflict()],
  ['thrown', () => Promise.reject(refusal)],
])('reads the object from the API server after a conflict that was %s', async (_, fail) => {
  let left = 1;
  const { controller, within } = bench([thing('a')], () => (left-- > 0 ? fail() : Promise.resolve(done)));
  controller.start();
  expect(await within(100)).toEqual(['team/a', 'read from the API server', 'team/a']);
});

test('retries a conflict without backoff', async () => {
  let left = 5;
  const { controller, within } = bench([thing('a')], async () => (left-- > 0 ? conflict(10) : done));
  controller.start();
  const happened = await within(60);
  expect(happened.filter((what) => what === 'team/a')).toHaveLength(6);
});
