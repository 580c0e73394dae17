import { describe, expect, test } from 'vitest';
import { workerObject } from '../../../test/builders/group-worker.ts';
import { NOW, worker } from '../../../test/builders/observed-group.ts';
import { KubeError, type KubeErrorKind } from '../../runtime/kube/kube-error.ts';
import { execute } from './act.ts';
import { actionKey, actionsFor, changesOf, cheapestFirst } from './actions.ts';
import type { Change } from './autoscale/plan.ts';
import { EMPTY_LOAD } from './load/state.ts';
import { loadView } from './load/view.ts';
import { defaultTimes } from './times.ts';
import type { Action } from './types.ts';

const create = (ordinal: number, desiredRole: 'Hot' | 'Cold' = 'Hot'): Action => ({
  type: 'create',
  desiredRole,
  ordinal,
});
const remove = (name: string): Action => ({ type: 'delete', worker: worker(name) });
const order = (name: string, desiredRole: 'Hot' | 'Cold', powerState: 'Running' | 'Stopped'): Action => ({
  type: 'order',
  worker: worker(name),
  order: { powerState, desiredRole, drainSince: undefined, wokenAt: undefined },
});
const adopt: Action = { type: 'adopt', object: workerObject('lost') };
const hostFailure = (name: string): Action => ({
  type: 'reportHostFailure',
  worker: worker(name),
  reason: 'CannotStart',
  isForAll: true,
});

function kubeError(kind: KubeErrorKind): KubeError {
  return new KubeError('exceeded quota', { kind, status: 403, reason: '', outcome: 'refused' });
}

/** Executes actions of which some fail. Resolves with the outcome and the tried actions. */
async function bench(actions: readonly Action[], errors: Readonly<Record<string, Error>>, more: object = {}) {
  const tried: string[] = [];
  const outcome = await execute(actions, {
    act: async (action) => {
      tried.push(actionKey(action));
      const error = errors[actionKey(action)];
      if (error) throw error;
    },
    mayGoOn: () => true,
    isComplete: async () => true,
    ...more,
  });
  return { tried, ...outcome, done: outcome.done.map(actionKey) };
}

const all = [remove('a'), order('b', 'Cold', 'Stopped'), adopt, create(0), create(1)];
const keys = all.map(actionKey);

describe('a failed action', () => {
  test.each<KubeErrorKind>(['forbidden', 'invalid', 'terminating'])(
    'is reported as refused when the error is %s, and the others are carried out',
    async (kind) => {
      const { tried, done, refused, failures } = await bench(all, { [keys[0] ?? '']: kubeError(kind) });
      expect(tried).toEqual(keys);
      expect(done).toEqual(keys.slice(1));
      expect(refused).toEqual([{ action: 'delete a', detail: 'Cannot delete worker a: exceeded quota' }]);
      expect(failures).toEqual([]);
    },
  );

  test('is returned as failure after the others when the error is another one', async () => {
    const error = kubeError('unavailable');
    const { tried, refused, failures } = await bench(all, { 'delete a': error });
    expect([tried, refused, failures]).toEqual([keys, [], [error]]);
  });

  test.each<[Action, string]>([
    [create(3), 'create a worker'],
    [order('a', 'Hot', 'Running'), 'wake worker a'],
    [order('a', 'Cold', 'Running'), 'stop worker a'],
    [remove('a'), 'delete worker a'],
    [adopt, 'adopt worker lost'],
    [{ type: 'release' }, 'remove the finalizer of the group'],
  ])('is named in its refusal: %o', async (action, text) => {
    const { refused } = await bench([action], { [actionKey(action)]: kubeError('forbidden') });
    expect(refused.map(({ detail }) => detail)).toEqual([`Cannot ${text}: exceeded quota`]);
  });
});

describe('the actions of a reconcile', () => {
  test('stop when this process may not continue', async () => {
    let steps = 0;
    const { tried, isCut } = await bench(all, {}, { mayGoOn: () => steps++ < 2 });
    expect([tried, isCut]).toEqual([keys.slice(0, 2), true]);
  });

  test('stop when the process may not continue after the workers were counted', async () => {
    let isCounted = false;
    const isComplete = async () => {
      isCounted = true;
      return true;
    };
    const { tried } = await bench(all, {}, { isComplete, mayGoOn: () => !isCounted });
    expect(tried).toEqual(keys.slice(0, 3));
  });

  test('create no worker when uncounted workers exist', async () => {
    const { tried, isCut } = await bench(all, {}, { isComplete: async () => false });
    expect([tried, isCut]).toEqual([keys.slice(0, 3), true]);
  });

  test('do not release the group when uncounted workers exist', async () => {
    const { tried, isCut } = await bench([{ type: 'release' }], {}, { isComplete: async () => false });
    expect([tried, isCut]).toEqual([[], true]);
  });

  test('create no worker when the count of workers fails', async () => {
    const error = kubeError('unavailable');
    const { tried, failures } = await bench(all, {}, { isComplete: () => Promise.reject(error) });
    expect([tried, failures]).toEqual([keys.slice(0, 3), [error, error]]);
  });
});

test('sorts actions: removals first, creations last', () => {
  const mixed = [
    adopt,
    create(0),
    order('w', 'Hot', 'Running'),
    order('p', 'Cold', 'Running'),
    hostFailure('x'),
    remove('x'),
  ];
  expect(cheapestFirst(mixed).map(({ type }) => type)).toEqual([
    'order',
    'reportHostFailure',
    'delete',
    'adopt',
    'order',
    'create',
  ]);
});

const SILENT = loadView({
  ...{ loadState: EMPTY_LOAD, workers: [], source: 'workers', hasGateway: false, everReady: true },
  ...{ now: NOW, times: defaultTimes },
});

test('returns only the changes of completed actions', () => {
  const changes: readonly Change[] = [
    { type: 'rent', desiredRole: 'Hot' },
    { type: 'rent', desiredRole: 'Cold' },
    { type: 'park', name: 'p' },
    { type: 'destroy', name: 'x', why: 'WakeTimedOut' },
    { type: 'wake', name: 'w' },
  ];
  const workers = ['p', 'w', 'x'].map((name) => worker(name, { isServing: name === 'p' }));
  const limits = { maxQueueMs: 30_000, drainMs: 600_000, silentMs: 90_000, isTaken: () => false };
  const decided = actionsFor(changes, { ...limits, workers, load: SILENT, now: NOW });
  expect(changesOf(decided)).toEqual(changes);
  const isOf = (name: string) => (action: Action) => 'worker' in action && action.worker.name === name;
  // The host failure of x was reported, but its delete failed.
  const done = decided.filter((action) => !isOf('w')(action) && action.type !== 'delete');
  expect(changesOf(done)).toEqual(changes.slice(0, 3));
  expect(changesOf([remove('y'), adopt, { type: 'release' }])).toEqual([]);
});
