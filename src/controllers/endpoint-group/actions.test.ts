import { describe, expect, test } from 'vitest';
import { groupWorker } from '../../../test/builders/group-worker.ts';
import { observedGroup } from '../../../test/builders/observed-group.ts';
import {
  actionsFor,
  afterDraining,
  eventsFor,
  type OrdersInput,
  orderPatch,
  startEvents,
} from './actions.ts';
import type { Change } from './autoscale/plan.ts';
import type { LoadView } from './load/view.ts';
import type { Worker } from './workers/worker.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');

function loadOf(inFlight: { readonly count: number; readonly at: number } | undefined): LoadView {
  const load = { currentLoad: 0, maxPerf: undefined, isMissing: false, error: '', inFlight };
  return {
    history: { since: undefined, arrivals: [], maxima: [] },
    waiting: 0,
    reportsWaiting: false,
    metrics: 'told',
    problem: undefined,
    workers: new Map([['w', load]]),
  };
}

function input(worker: Partial<Worker>, more: Partial<OrdersInput> = {}): OrdersInput {
  return {
    workers: [groupWorker({ name: 'w', ...worker })],
    load: loadOf(undefined),
    now: NOW,
    maxQueueMs: 30_000,
    drainMs: 600_000,
    silentMs: 90_000,
    isTaken: () => false,
    ...more,
  };
}

const AWAY = { isServing: false };

/** What is ordered, in words. */
function ordered(actions: ReturnType<typeof actionsFor>): readonly string[] {
  return actions.map((action) => {
    if (action.type !== 'order') return action.type;
    const { powerState, desiredRole, drainSince, wokenAt } = action.order;
    const since = (name: string, at: number | undefined) => (at === undefined ? '' : ` ${name} ${at - NOW}`);
    return `${desiredRole} ${powerState}${since('drains', drainSince)}${since('woken', wokenAt)}`;
  });
}

describe('a change becomes', () => {
  test.each<[string, Partial<Worker>, Parameters<typeof actionsFor>[0][number], readonly string[]]>([
    ['a new worker', {}, { type: 'rent', desiredRole: 'Cold' }, ['create']],
    [
      'a start of one that sleeps',
      { powerState: 'Stopped' },
      { type: 'wake', name: 'w' },
      ['Hot Running woken 0'],
    ],
    ['no start of one that runs', { powerState: 'Running' }, { type: 'wake', name: 'w' }, ['Hot Running']],
    ['draining before a stop', { isServing: true }, { type: 'park', name: 'w' }, ['Cold Running drains 0']],
    [
      'the same draining where it drains already',
      { isServing: true, drainSince: NOW - 5000 },
      { type: 'park', name: 'w' },
      ['Cold Running drains -5000'],
    ],
    [
      'draining before a destroy',
      { isServing: true },
      { type: 'destroy', name: 'w', why: 'Surplus' },
      ['Gone Running drains 0'],
    ],
    [
      'the same draining where it does not answer for a moment',
      { isServing: false, drainSince: NOW - 5000 },
      { type: 'destroy', name: 'w', why: 'Surplus' },
      ['Gone Running drains -5000'],
    ],
    [
      'a destroy at once of one that serves nobody',
      { isServing: false },
      { type: 'destroy', name: 'w', why: 'Surplus' },
      ['delete'],
    ],
    [
      'a destroy and a blame of the host that did not wake it',
      { isServing: false },
      { type: 'destroy', name: 'w', why: 'WakeTimedOut' },
      ['reportHostFailure', 'delete'],
    ],
  ])('%s', (_, worker, change, actions) => {
    expect(ordered(actionsFor([change], input(worker)))).toEqual(actions);
  });

  test('new workers of the lowest numbers that are free', () => {
    const isTaken = (ordinal: number) => ordinal === 0 || ordinal === 2;
    const rents = Array(3).fill({ type: 'rent', desiredRole: 'Hot' });
    const actions = actionsFor(rents, input({}, { isTaken }));
    expect(actions).toMatchObject([{ ordinal: 1 }, { ordinal: 3 }, { ordinal: 4 }]);
  });

  test('nothing for a worker that is not there', () => {
    expect(actionsFor([{ type: 'wake', name: 'other' }], input({}))).toEqual([]);
  });
});

const DRAINING: Partial<Worker> = {
  desiredRole: 'Cold',
  powerState: 'Running',
  isServing: true,
  drainSince: NOW - 10_000,
};
const IDLE_SINCE = { count: 0, at: NOW };

describe('a worker that was ordered to leave', () => {
  test.each<[string, Partial<Worker>, Partial<OrdersInput>, readonly string[]]>([
    ['is stopped when it says that it is idle', DRAINING, { load: loadOf(IDLE_SINCE) }, ['Cold Stopped']],
    ['is not while requests are in it', DRAINING, { load: loadOf({ count: 1, at: NOW }) }, []],
    ['is not while it says nothing', DRAINING, {}, []],
    ...(
      [
        [
          'scenario 97: is not after maxQueueTime while it says that it works on requests (L1)',
          31_000,
          1,
          0,
          [],
        ],
        ['is not right before drainTimeout', 599_999, 1, 0, []],
        ['is stopped at drainTimeout, whatever it works on (L1)', 600_000, 1, 0, ['Cold Stopped']],
        [
          'is stopped after maxQueueTime where it has said nothing for long',
          31_000,
          1,
          90_000,
          ['Cold Stopped'],
        ],
        [
          'is stopped after maxQueueTime where it was idle before it left',
          31_000,
          0,
          32_000,
          ['Cold Stopped'],
        ],
      ] as const
    ).map(
      ([what, drainsForMs, count, agoMs, actions]): [
        string,
        Partial<Worker>,
        Partial<OrdersInput>,
        readonly string[],
      ] => [
        what,
        { ...DRAINING, drainSince: NOW - drainsForMs },
        { load: loadOf({ count, at: NOW - agoMs }) },
        actions,
      ],
    ),
    [
      'is not for a report from before it left the Service',
      DRAINING,
      { load: loadOf({ count: 0, at: NOW - 10_001 }) },
      [],
    ],
    [
      'is not for a report of the seconds in which requests still come',
      DRAINING,
      { load: loadOf({ count: 0, at: NOW - 8001 }) },
      [],
    ],
    [
      'is when nothing may wait any longer, where it does not tell its requests',
      { ...DRAINING, drainSince: NOW - 30_000 },
      { load: loadOf(undefined) },
      ['Cold Stopped'],
    ],
    ['is stopped when its machine runs no more', { ...DRAINING, ...AWAY, isUp: false }, {}, ['Cold Stopped']],
    ['is not stopped while it does not answer for a moment', { ...DRAINING, ...AWAY }, {}, []],
    [
      'is stopped when it does not answer for the longest that work may wait',
      { ...DRAINING, ...AWAY, drainSince: NOW - 30_000 },
      {},
      ['Cold Stopped'],
    ],
    [
      'is stopped after its first boot, once it was ready',
      { desiredRole: 'Cold', isServing: true, drainSince: undefined },
      {},
      ['Cold Stopped'],
    ],
    [
      'is not stopped before it was ready once',
      { desiredRole: 'Cold', isServing: false, drainSince: undefined },
      {},
      [],
    ],
    ['is not stopped twice', { desiredRole: 'Cold', powerState: 'Stopped', isServing: false }, {}, []],
    [
      'is destroyed when it has finished',
      { ...DRAINING, desiredRole: 'Gone' },
      { load: loadOf(IDLE_SINCE) },
      ['delete'],
    ],
    [
      'is not destroyed before',
      { ...DRAINING, desiredRole: 'Gone' },
      { load: loadOf({ count: 2, at: NOW }) },
      [],
    ],
    [
      'drains from now on where that was noted by a clock ahead of this one',
      { ...DRAINING, desiredRole: 'Gone', drainSince: NOW + 1 },
      { load: loadOf(IDLE_SINCE) },
      ['Gone Running drains 0'],
    ],
    [
      'is stopped where a clock ahead noted that, and its machine runs no more',
      { ...DRAINING, ...AWAY, isUp: false, drainSince: NOW + 1 },
      {},
      ['Cold Stopped'],
    ],
    ['is left where a person holds it', { ...DRAINING, isOnHold: true }, { load: loadOf(IDLE_SINCE) }, []],
    [
      'is left where it is on its way out',
      { ...DRAINING, isDeleting: true },
      { load: loadOf(IDLE_SINCE) },
      [],
    ],
    [
      'is not touched while it is wanted',
      { desiredRole: 'Hot', isServing: true },
      { load: loadOf(IDLE_SINCE) },
      [],
    ],
  ])('%s', (_, worker, more, actions) => {
    expect(ordered(afterDraining(input(worker, more), []))).toEqual(actions);
  });

  test('follows its present order, not the former one', () => {
    const idle = input(DRAINING, { load: loadOf(IDLE_SINCE) });
    expect(ordered(afterDraining(idle, [{ type: 'wake', name: 'w' }]))).toEqual([]);
    expect(
      ordered(
        afterDraining(idle, [
          { type: 'wake', name: 'other' },
          { type: 'rent', desiredRole: 'Hot' },
        ]),
      ),
    ).toEqual(['Cold Stopped']);
  });
});

describe('the event of a change', () => {
  const destroyed = (why: Extract<Change, { type: 'destroy' }>['why']): Change => ({
    type: 'destroy',
    name: 'w',
    why,
  });

  test.each<[string, Change]>([
    ['Normal WorkersWoken (ScaleUp): 2 workers woken.', { type: 'wake', name: 'w' }],
    ['Normal WorkersAdded (ScaleUp): 2 workers added to serve.', { type: 'rent', desiredRole: 'Hot' }],
    [
      'Normal WorkersAdded (ScaleUp): 2 workers added to the pool of cold ones.',
      { type: 'rent', desiredRole: 'Cold' },
    ],
    ['Normal WorkersParked (ScaleDown): 2 workers drained and then stopped.', { type: 'park', name: 'w' }],
    [
      'Normal WorkersRemoved (Replace): 2 workers whose machines have ended and that rent no others destroyed.',
      destroyed('Ended'),
    ],
    [
      'Normal WorkersReplaced (Replace): 2 workers without an offer under an outdated price limit replaced.',
      destroyed('OldPrice'),
    ],
    [
      'Normal WorkersRemoved (ScaleDown): 2 workers without a machine deleted, since maxSpendPerHour leaves no room for them.',
      destroyed('BeyondCeiling'),
    ],
    ['Normal WorkersRemoved (ScaleDown): 2 workers drained and then destroyed.', destroyed('Surplus')],
    [
      'Normal WorkersReplaced (RollingUpdate): 2 workers of an old template replaced.',
      destroyed('OldTemplate'),
    ],
    [
      'Warning WorkersReplaced (Replace): 2 workers that served nobody for too long replaced.',
      destroyed('Broken'),
    ],
    [
      'Warning CannotStart (Wake): 2 workers did not wake in time and are destroyed.',
      destroyed('WakeTimedOut'),
    ],
  ])('reads: %s', (text, change) => {
    const told = eventsFor([change, change], 'Load 7.').map(
      ({ type, reason, action, note }) => `${type} ${reason} (${action}): ${note}`,
    );
    expect(told).toEqual([`${text} Load 7.`]);
  });

  test('counts all changes of a kind', () => {
    const notes = eventsFor([destroyed('Broken'), destroyed('Ended'), destroyed('Broken')], 'Load 7.');
    expect(notes.map(({ note }) => note)).toEqual([
      '1 worker whose machine has ended and that rents no other destroyed. Load 7.',
      '2 workers that served nobody for too long replaced. Load 7.',
    ]);
  });
});

test('an order is written with the times that it has, and no others', () => {
  const names = { desiredRole: 'x/wanted', drainSince: 'x/drains', wokenAt: 'x/woken' };
  const times = { drainSince: NOW, wokenAt: NOW - 1 };
  const patch = (given: Partial<typeof times>) =>
    orderPatch(
      groupWorker({ name: 'w' }),
      { powerState: 'Running', desiredRole: 'Cold', drainSince: undefined, wokenAt: undefined, ...given },
      names,
    );
  expect(patch({})).toMatchObject({ spec: { powerState: 'Running' } });
  expect(patch({})).toHaveProperty('metadata.annotations', { 'x/wanted': 'Cold' });
  expect(patch(times)).toHaveProperty('metadata.annotations', {
    'x/wanted': 'Cold',
    'x/drains': '2026-11-20T12:00:00.000Z',
    'x/woken': '2026-11-20T11:59:59.999Z',
  });
});

test('B01: says once for each generation that nothing starts in the workers', () => {
  const { group } = observedGroup();
  const { template } = group.spec;
  const withArgs = (args: readonly string[] | undefined, observedGeneration: number | undefined) =>
    startEvents({
      ...group,
      metadata: { ...group.metadata, generation: 2 },
      spec: {
        ...group.spec,
        template: { ...template, spec: { ...template.spec, onStart: undefined, args: args && [...args] } },
      },
      status: { ...group.status, observedGeneration } as never,
    }).map(({ reason }) => reason);
  expect(withArgs(undefined, undefined)).toEqual(['InvalidSpec']);
  expect(withArgs(undefined, 1)).toEqual(['InvalidSpec']);
  expect(withArgs(undefined, 2)).toEqual([]);
  expect(withArgs([], 1)).toEqual([]);
});
