import { expect, test } from 'vitest';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { DeadlineError } from '../../lib/deadline.ts';
import { KubeError } from '../kube/kube-error.ts';
import type { KubeObject, Resource } from '../kube/kube-object.ts';
import { CurrentObjects } from './current-objects.ts';

const resource: Resource = { group: 'g', version: 'v1', plural: 'things', kind: 'Thing', namespaced: true };
const thing = (resourceVersion: string): KubeObject => ({
  apiVersion: 'g/v1',
  kind: 'Thing',
  metadata: { namespace: 'team', name: 'a', resourceVersion },
});

function setUp(cached: KubeObject | undefined, onServer: KubeObject | undefined) {
  const clock = createVirtualClock();
  const state = { isCurrent: true, asked: 0, delaysMs: [] as number[] };
  const written: KubeObject[] = [];
  const objects = new CurrentObjects<KubeObject>({
    clock,
    resource,
    informer: { get: () => cached, isCurrent: () => state.isCurrent, keep: (object) => object },
    client: {
      get: async <T extends KubeObject>() => {
        state.asked += 1;
        await clock.advance(state.delaysMs.shift() ?? 0);
        return onServer as T | undefined;
      },
      replace: async <T extends KubeObject>(_: Resource, body: KubeObject) => {
        written.push(body);
        return body as T;
      },
    },
  });
  return { clock, state, objects, written, read: () => objects.read('team/a') };
}

test('a copy that is current is believed without asking', async () => {
  const { read, state } = setUp(thing('1'), undefined);
  expect(await read()).toEqual({ type: 'found', object: thing('1') });
  expect(state.asked).toBe(0);
});

test('an object that is in no copy is gone', async () => {
  expect(await setUp(undefined, undefined).read()).toEqual({ type: 'gone' });
});

test('a copy that is behind is waited for, and asked for after two seconds', async () => {
  const { read, state, clock } = setUp(thing('1'), thing('2'));
  state.isCurrent = false;
  expect(await read()).toEqual({ type: 'behind', afterMs: 20 });
  await clock.advance(1_999);
  expect(await read()).toEqual({ type: 'behind', afterMs: 20 });
  await clock.advance(1);
  expect(await read()).toEqual({ type: 'found', object: thing('2') });
  expect(state.asked).toBe(1);
});

test('patience begins again once the copy has caught up', async () => {
  const { read, state, clock } = setUp(thing('1'), thing('2'));
  state.isCurrent = false;
  await read();
  await clock.advance(5_000);
  state.isCurrent = true;
  await read();
  state.isCurrent = false;
  expect((await read()).type).toBe('behind');
});

test('an object that the server no longer has is gone', async () => {
  const { read, state, clock } = setUp(thing('1'), undefined);
  state.isCurrent = false;
  await read();
  await clock.advance(2_000);
  expect(await read()).toEqual({ type: 'gone' });
});

test('what cannot be undone is decided on the object as the server has it', async () => {
  const { objects, read, state } = setUp(thing('1'), thing('2'));
  expect(await objects.readNow('team/a')).toEqual(thing('2'));
  // The copy has another version: the next reconcile reads from the API server as well.
  expect(await read()).toEqual({ type: 'found', object: thing('2') });
  expect(state.asked).toBe(2);
  expect(await setUp(thing('1'), undefined).objects.readNow('team/a')).toBeUndefined();
});

test('a copy that agrees with the server right before an act is believed by the next pass', async () => {
  const { objects, read, state } = setUp(thing('1'), thing('1'));
  expect(await objects.readNow('team/a')).toEqual(thing('1'));
  await read();
  expect(state.asked).toBe(1);
});

test('scenario 111: an object is read again right before an act when its answer took longer than a second', async () => {
  const { objects, state } = setUp(thing('1'), thing('1'));
  state.delaysMs.push(1001, 1000);
  expect(await objects.readNow('team/a')).toEqual(thing('1'));
  expect(state.asked).toBe(2);
});

test('an act is put off when three answers about its object took longer than a second', async () => {
  const { objects, state } = setUp(thing('1'), thing('1'));
  state.delaysMs.push(1001, 1001, 1001);
  await expect(objects.readNow('team/a')).rejects.toMatchObject({
    kind: 'unavailable',
    message: '3 answers about Thing team/a took longer than 1000 ms each',
  });
  expect(state.asked).toBe(3);
});

test('a pass that ends with a conflict has lost a race, one that ends otherwise has not', async () => {
  const { objects, read, state } = setUp(thing('1'), thing('2'));
  const failing = (error: Error) => objects.duringPass('team/a', () => Promise.reject(error));
  expect(await objects.duringPass('team/a', () => Promise.resolve(5))).toBe(5);
  const unrelated = new Error('no');
  await expect(failing(unrelated)).rejects.toBe(unrelated);
  // Once, to report on the object that its reconcile failed.
  expect(state.asked).toBe(1);
  await read();
  expect(state.asked).toBe(1);
  const conflict = new KubeError('m', {
    kind: 'conflict',
    status: 409,
    reason: 'Conflict',
    outcome: 'refused',
  });
  await expect(failing(conflict)).rejects.toBe(conflict);
  expect(await read()).toEqual({ type: 'found', object: thing('2') });
});

test('a copy that lost a race is doubted until the server shows the same version', async () => {
  const stale = setUp(thing('1'), thing('2'));
  stale.objects.lostRace('team/a');
  expect(await stale.read()).toEqual({ type: 'found', object: thing('2') });
  expect(await stale.read()).toEqual({ type: 'found', object: thing('2') });
  expect(stale.state.asked).toBe(2);
  const fresh = setUp(thing('2'), thing('2'));
  fresh.objects.lostRace('team/a');
  await fresh.read();
  await fresh.read();
  expect(fresh.state.asked).toBe(1);
});

test.each<[string, () => Promise<never>, string]>([
  [
    'with an error that nobody expects',
    () => Promise.reject(new TypeError('reads the key s3cret')),
    "Reconcile of this Thing failed: internal error (TypeError). Retrying with backoff; the operator's log has the error.",
  ],
  [
    'since the API server refuses what it writes',
    () =>
      Promise.reject(new KubeError('no', { kind: 'invalid', status: 422, reason: '', outcome: 'refused' })),
    "Reconcile of this Thing failed: the API server refuses a write (HTTP 422). Retrying with backoff; the operator's log has the error.",
  ],
])('sets a condition on its object when a pass ends %s (C1)', async (_, pass, message) => {
  const conditions = [
    { type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime: 'x' },
  ];
  const object = { ...thing('7'), status: { conditions, phase: 'Running' } };
  const { objects, written } = setUp(object, object);
  await expect(objects.duringPass('team/a', pass)).rejects.toThrow();
  expect(written).toMatchObject([
    {
      metadata: { namespace: 'team', name: 'a', resourceVersion: '7' },
      status: {
        phase: 'Running',
        conditions: [
          conditions[0],
          { type: 'Reconciling', status: 'True', reason: 'ReconcileError', message },
        ],
      },
    },
  ]);
});

test.each<[string, Error]>([
  ['lost a race', new KubeError('', { kind: 'conflict', status: 409, reason: '', outcome: 'refused' })],
  [
    'met a server that is away',
    new KubeError('', { kind: 'unavailable', status: 503, reason: '', outcome: 'unknown' }),
  ],
  ['was out of time', new DeadlineError('late')],
])('writes no condition when a pass %s', async (_, error) => {
  const { objects, written } = setUp(thing('7'), thing('7'));
  await expect(objects.duringPass('team/a', () => Promise.reject(error))).rejects.toThrow(error);
  expect(written).toEqual([]);
});
