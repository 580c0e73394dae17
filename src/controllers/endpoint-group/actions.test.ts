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
    metrics: 'available',
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

/** Returns orders as text: role, power state and times relative to now. */
function ordered(actions: ReturnType<typeof actionsFor>): readonly string[] {
  return actions.map((action) => {
    if (action.type !== 'order') return action.type;
    const { powerState, desiredRole, drainSince, wokenAt } = action.order;
    const since = (name: string, at: number | undefined) => (at === undefined ? '' : ` ${name} ${at - NOW}`);
    return `${desiredRole} ${powerState}${since('drains', drainSince)}${since('woken', wokenAt)}`;
  });
}

describe('the actions of a change', () => {
  test.each<[string, Partial<Worker>, Parameters<typeof actionsFor>[0][number], readonly string[]]>([
    ['create a worker for a rental', {}, { type: 'rent', desiredRole: 'Cold' }, ['create']],
    [
      'start a stopped worker on a wake',
      { powerState: 'Stopped' },
      { type: 'wake', name: 'w' },
      ['Hot Running woken 0'],
    ],
    [
      'start no running worker on a wake',
      { powerState: 'Running' },
      { type: 'wake', name: 'w' },
      ['Hot Running'],
    ],
    [
      'drain a serving worker before it is stopped',
      { isServing: true },
      { type: 'park', name: 'w' },
      ['Cold Running drains 0'],
    ],
    [
      'keep the drain start of a worker that already drains before a stop',
      { isServing: true, drainSince: NOW - 5000 },
      { type: 'park', name: 'w' },
      ['Cold Running drains -5000'],
    ],
    [
      'drain a serving worker before it is deleted',
      { isServing: true },
      { type: 'destroy', name: 'w', why: 'Surplus' },
      ['Gone Running drains 0'],
    ],
    [
      'keep the drain start of a worker that is briefly unready',
      { isServing: false, drainSince: NOW - 5000 },
      { type: 'destroy', name: 'w', why: 'Surplus' },
      ['Gone Running drains -5000'],
    ],
    [
      'delete a worker at once when it does not serve',
      { isServing: false },
      { type: 'destroy', name: 'w', why: 'Surplus' },
      ['delete'],
    ],
    [
      'report a host failure and delete the worker when a wake timed out',
      { isServing: false },
      { type: 'destroy', name: 'w', why: 'WakeTimedOut' },
      ['reportHostFailure', 'delete'],
    ],
  ])('%s', (_, worker, change, actions) => {
    expect(ordered(actionsFor([change], input(worker)))).toEqual(actions);
  });

  test('create workers with the lowest free numbers', () => {
    const isTaken = (ordinal: number) => ordinal === 0 || ordinal === 2;
    const rents = Array(3).fill({ type: 'rent', desiredRole: 'Hot' });
    const actions = actionsFor(rents, input({}, { isTaken }));
    expect(actions).toMatchObject([{ ordinal: 1 }, { ordinal: 3 }, { ordinal: 4 }]);
  });

  test('are empty for a missing worker', () => {
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

describe('a worker that leaves', () => {
  test.each<[string, Partial<Worker>, Partial<OrdersInput>, readonly string[]]>([
    ['is stopped when it reports no requests', DRAINING, { load: loadOf(IDLE_SINCE) }, ['Cold Stopped']],
    ['is kept while it has requests', DRAINING, { load: loadOf({ count: 1, at: NOW }) }, []],
    ['is kept while it does not report', DRAINING, {}, []],
    ...(
      [
        ['scenario 97: is kept after maxQueueTime while it reports requests (L1)', 31_000, 1, 0, []],
        ['is kept until drainTimeout', 599_999, 1, 0, []],
        ['is stopped at drainTimeout even with requests (L1)', 600_000, 1, 0, ['Cold Stopped']],
        ['is stopped after maxQueueTime when its last report is old', 31_000, 1, 90_000, ['Cold Stopped']],
        [
          'is stopped after maxQueueTime when it was idle before it left',
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
      'is kept when its report is from before it left the Service',
      DRAINING,
      { load: loadOf({ count: 0, at: NOW - 10_001 }) },
      [],
    ],
    [
      'is kept when its report is from the settle time',
      DRAINING,
      { load: loadOf({ count: 0, at: NOW - 8001 }) },
      [],
    ],
    [
      'is stopped after maxQueueTime when it never reported',
      { ...DRAINING, drainSince: NOW - 30_000 },
      { load: loadOf(undefined) },
      ['Cold Stopped'],
    ],
    ['is stopped when its machine is down', { ...DRAINING, ...AWAY, isUp: false }, {}, ['Cold Stopped']],
    ['is kept while it is briefly unready', { ...DRAINING, ...AWAY }, {}, []],
    [
      'is stopped when it is unready for maxQueueTime',
      { ...DRAINING, ...AWAY, drainSince: NOW - 30_000 },
      {},
      ['Cold Stopped'],
    ],
    [
      'is stopped when it becomes ready after its first boot',
      { desiredRole: 'Cold', isServing: true, drainSince: undefined },
      {},
      ['Cold Stopped'],
    ],
    [
      'is kept until it was ready once',
      { desiredRole: 'Cold', isServing: false, drainSince: undefined },
      {},
      [],
    ],
    ['is not stopped twice', { desiredRole: 'Cold', powerState: 'Stopped', isServing: false }, {}, []],
    [
      'is deleted when it has drained',
      { ...DRAINING, desiredRole: 'Gone' },
      { load: loadOf(IDLE_SINCE) },
      ['delete'],
    ],
    [
      'is kept instead of deleted while it has requests',
      { ...DRAINING, desiredRole: 'Gone' },
      { load: loadOf({ count: 2, at: NOW }) },
      [],
    ],
    [
      'drains from now when its drain start is in the future',
      { ...DRAINING, desiredRole: 'Gone', drainSince: NOW + 1 },
      { load: loadOf(IDLE_SINCE) },
      ['Gone Running drains 0'],
    ],
    [
      'is stopped when its drain start is in the future and its machine is down',
      { ...DRAINING, ...AWAY, isUp: false, drainSince: NOW + 1 },
      {},
      ['Cold Stopped'],
    ],
    ['is kept when it is on hold', { ...DRAINING, isOnHold: true }, { load: loadOf(IDLE_SINCE) }, []],
    [
      'is unchanged when it is being deleted',
      { ...DRAINING, isDeleting: true },
      { load: loadOf(IDLE_SINCE) },
      [],
    ],
    [
      'is unchanged when its desired role is hot',
      { desiredRole: 'Hot', isServing: true },
      { load: loadOf(IDLE_SINCE) },
      [],
    ],
  ])('%s', (_, worker, more, actions) => {
    expect(ordered(afterDraining(input(worker, more), []))).toEqual(actions);
  });

  test('follows its new order instead of the former one', () => {
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
    ['Normal WorkersWoken (ScaleUp): Waking 2 cold workers.', { type: 'wake', name: 'w' }],
    ['Normal WorkersAdded (ScaleUp): Added 2 hot workers.', { type: 'rent', desiredRole: 'Hot' }],
    ['Normal WorkersAdded (ScaleUp): Added 2 cold workers.', { type: 'rent', desiredRole: 'Cold' }],
    ['Normal WorkersParked (ScaleDown): Draining 2 workers to stop them.', { type: 'park', name: 'w' }],
    [
      'Normal WorkersRemoved (Replace): Deleting 2 workers whose machines ended without a replacement.',
      destroyed('Ended'),
    ],
    [
      'Normal WorkersReplaced (Replace): Replacing 2 workers: no offer within an outdated price limit.',
      destroyed('OldPrice'),
    ],
    [
      'Normal WorkersRemoved (ScaleDown): Deleting 2 workers without a machine: maxSpendPerHour allows no more.',
      destroyed('BeyondCeiling'),
    ],
    ['Normal WorkersRemoved (ScaleDown): Draining 2 surplus workers to delete them.', destroyed('Surplus')],
    [
      'Normal WorkersReplaced (RollingUpdate): Replacing 2 workers of an old template.',
      destroyed('OldTemplate'),
    ],
    ['Warning WorkersReplaced (Replace): Replacing 2 failing workers.', destroyed('Broken')],
    [
      'Warning CannotStart (Wake): Deleting 2 workers that did not wake within wakeTimeout.',
      destroyed('WakeTimedOut'),
    ],
  ])('reads: %s', (text, change) => {
    const events = eventsFor([change, change], 'Load 7.').map(
      ({ type, reason, action, note }) => `${type} ${reason} (${action}): ${note}`,
    );
    expect(events).toEqual([`${text} Load 7.`]);
  });

  test('counts all changes of a kind', () => {
    const notes = eventsFor([destroyed('Broken'), destroyed('Ended'), destroyed('Broken')], 'Load 7.');
    expect(notes.map(({ note }) => note)).toEqual([
      'Deleting 1 worker whose machine ended without a replacement. Load 7.',
      'Replacing 2 failing workers. Load 7.',
    ]);
  });
});

test('writes only the times that an order has', () => {
  const names = { desiredRole: 'x/role', drainSince: 'x/drains', wokenAt: 'x/woken' };
  const times = { drainSince: NOW, wokenAt: NOW - 1 };
  const patch = (given: Partial<typeof times>) =>
    orderPatch(
      groupWorker({ name: 'w' }),
      { powerState: 'Running', desiredRole: 'Cold', drainSince: undefined, wokenAt: undefined, ...given },
      names,
    );
  expect(patch({})).toMatchObject({ spec: { powerState: 'Running' } });
  expect(patch({})).toHaveProperty('metadata.annotations', { 'x/role': 'Cold' });
  expect(patch(times)).toHaveProperty('metadata.annotations', {
    'x/role': 'Cold',
    'x/drains': '2026-11-20T12:00:00.000Z',
    'x/woken': '2026-11-20T11:59:59.999Z',
  });
});

test('B01: warns once for each generation when no program starts in the workers', () => {
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
