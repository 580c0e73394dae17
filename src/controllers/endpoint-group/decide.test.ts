import { describe, expect, test } from 'vitest';
import { condition, groupObject, workerObject } from '../../../test/builders/group-worker.ts';
import {
  calm as calmOf,
  type GroupSituation,
  NOW,
  observedGroup,
  reports,
  worker,
} from '../../../test/builders/observed-group.ts';
import { annotations, labels } from '../../api/v1alpha1/names.ts';
import { changesOf } from './actions.ts';
import { decide as decideObserved, endingForTemplate } from './decide.ts';
import { EMPTY_LOAD, withProblem } from './load/state.ts';
import type { Decision } from './types.ts';
import { templateHash, workerName } from './workers/template.ts';
import type { Worker } from './workers/worker.ts';

const SECOND = 1000;
/** Returns parts of an observation, for tests that spread and change them. */
const observe = (situation: GroupSituation = {}): GroupSituation => situation;
const decide = (situation: GroupSituation) => decideObserved(observedGroup(situation));
const group = groupObject();

const conditionOf = ({ status }: Decision, type: string) =>
  status.conditions?.find((one) => one.type === type);
const kinds = ({ actions }: Decision) => actions.map(({ type }) => type);
const memoryOf = (decision: Decision) => decision.memory;

describe('between two ticks', () => {
  test('the decision of the last tick stays in effect', () => {
    const first = decide(observe({ workers: [worker('a')], loadState: reports(['a']) }));
    const risen = reports(['a'], 9000);
    const between = observe({
      workers: [worker('a')],
      loadState: risen,
      memory: memoryOf(first),
      isTick: false,
    });
    expect(decide(between).actions).toEqual([]);
    expect(decide({ ...between, hasLateFigures: true }).actions.length).toBeGreaterThan(0);
    expect(decide({ ...between, isTick: true }).actions.length).toBeGreaterThan(0);
  });

  test('late figures respect the ramp of their tick', () => {
    const few = [worker('a'), worker('b'), worker('c')];
    const burst = observe({ workers: few, loadState: reports(['a', 'b', 'c'], 50_000), memory: calmOf(3) });
    const first = decide(burst);
    expect(first.memory.decision).toMatchObject({ hot: 6, rule: 'RampUp' });
    const booting = { isServing: false, wasEverReady: false, hasRun: false };
    const more = [...few, ...['d', 'e', 'f'].map((name) => worker(name, booting))];
    const late = { ...burst, workers: more, memory: first.memory, isTick: false, hasLateFigures: true };
    const second = decide(late);
    expect(second.memory.decision).toMatchObject({ hot: 6, rule: 'RampUp' });
    expect(decide({ ...late, memory: second.memory, isTick: true }).memory.decision?.hot).toBe(12);
  });

  test('the next tick is due one interval after the begin of the last', () => {
    const first = decide(observe({ now: NOW + 90, beganAt: NOW }));
    expect(first.memory.nextTickAt).toBe(NOW + 10 * SECOND);
    const late = decide(
      observe({
        now: NOW + 900,
        beganAt: NOW + 800,
        memory: first.memory,
        isTick: false,
        hasLateFigures: true,
      }),
    );
    expect(late.memory.nextTickAt).toBe(NOW + 10 * SECOND);
  });

  test('a wake is decided at once', () => {
    const first = decide(observe());
    const woken = decide(observe({ memory: memoryOf(first), isTick: false, wakeAsked: true }));
    expect(kinds(woken)).toEqual(['create']);
    expect(woken.memory.decision).toMatchObject({ hot: 1, rule: 'Wake' });
  });
});

describe('a worker that becomes ready between two ticks', () => {
  const overdue = {
    isServing: false,
    wasEverReady: false,
    hasRun: false,
    isOverdue: true,
    pricePerHour: 300_000,
  };
  const loadState = reports(['a']);
  const before = [worker('a'), worker('b', overdue)];
  const after = [worker('a'), worker('b', { pricePerHour: 300_000 })];

  test('removes no other worker during panic', () => {
    const first = decide(observe({ workers: before, loadState }));
    expect(first.memory.decision).toMatchObject({ hot: 1, rule: 'Panic' });
    const between = decide(observe({ workers: after, loadState, memory: memoryOf(first), isTick: false }));
    expect(between.actions).toEqual([]);
    expect(between.memory.decision).toMatchObject({ hot: 2, total: 2, rule: 'Panic' });
  });

  test('removes no other worker while figures are doubtful', () => {
    const lying = withProblem(loadState, 'uid-a/7', { kind: 'invalid', detail: 'invalid', at: NOW });
    const first = decide(observe({ workers: before, loadState: lying, memory: calmOf(1) }));
    const between = decide(
      observe({ workers: after, loadState: lying, memory: memoryOf(first), isTick: false }),
    );
    expect(between.actions).toEqual([]);
    expect(between.memory.decision).toMatchObject({ hot: 2, rule: 'MetricsMissing' });
  });

  test('replaces a more expensive worker otherwise', () => {
    const needed = groupObject({ minLoad: '50' });
    const first = decide(observe({ group: needed, workers: before, loadState, memory: calmOf(1) }));
    const between = observe({
      ...{ group: needed, workers: after, loadState: reports(['a', 'b']) },
      ...{ memory: memoryOf(first), isTick: false },
    });
    expect(decide(between).actions).toMatchObject([{ type: 'order', worker: { name: 'a' } }]);
  });
});

describe('a wake by annotation', () => {
  const asked = groupObject({}, { metadata: { annotations: { [annotations.wakeAt]: 'noon' } } });

  test('is handled once and confirmed in the status', () => {
    const heard = decide(observe({ group: asked }));
    expect(heard.status.wokenAt).toBe('noon');
    expect(heard.memory.decision?.rule).toBe('Wake');
    const again = decide(observe({ group: { ...asked, status: heard.status }, memory: undefined }));
    expect(again.memory.decision?.rule).toBe('Wake');
    const later = { ...asked, status: { ...heard.status, autoscaling: undefined } };
    expect(decide(observe({ group: later })).memory.decision?.rule).not.toBe('Wake');
  });

  test('is carried out after a restart when it was only recorded, unless a worker is hot', () => {
    const heard = decide(observe({ group: asked }));
    const restarted = { ...asked, status: heard.status };
    expect(kinds(decide(observe({ group: restarted })))).toEqual(['create']);
    expect(decide(observe({ group: restarted, workers: [worker('a')] })).actions).toEqual([]);
    const running = decide(
      observe({ group: restarted, memory: { ...memoryOf(heard), decision: undefined } }),
    );
    expect(running.memory.decision?.rule).not.toBe('Wake');
  });
});

describe('a restart', () => {
  test('keeps the workers of the recorded down window', () => {
    const pooled = groupObject({ coldMultiplier: '3' });
    const asleep = { desiredRole: 'Cold', powerState: 'Stopped', isServing: false, isStopped: true } as const;
    const workers = [worker('a'), worker('b', asleep), worker('c', asleep)];
    const first = decide(observe({ group: pooled, workers, loadState: reports(['a'], 800) }));
    expect(first.memory.decision).toMatchObject({ hot: 1, total: 3 });
    const recorded = { ...pooled, status: first.status };
    const restarted = decide(observe({ group: recorded, workers, loadState: reports(['a']) }));
    expect(restarted.memory.decision).toMatchObject({ hot: 1, total: 3 });
    expect(restarted.actions).toEqual([]);
  });

  test('begins in panic with the present hot workers', () => {
    const four = ['a', 'b', 'c', 'd'].map((name) => worker(name));
    const restarted = decide(observe({ workers: four, loadState: reports(['a', 'b', 'c', 'd']) }));
    expect(restarted.memory.decision).toMatchObject({ hot: 4, rule: 'Panic' });
    expect(restarted.actions).toEqual([]);
    expect(restarted.status.panicUntil).toBe('2026-11-20T12:01:00Z');
  });

  test('applies lower replicas only after the down window', () => {
    const four = ['a', 'b', 'c', 'd'].map((name) => worker(name));
    const group = groupObject({ replicas: 1 });
    const restarted = decide(observe({ group, workers: four }));
    expect(restarted.memory.decision).toMatchObject({ hot: 4, rule: 'DownWindow' });
    const later = (seconds: number) =>
      decide(observe({ group, workers: four, now: NOW + seconds * SECOND, memory: restarted.memory }));
    expect(later(299).memory.decision?.hot).toBe(4);
    expect(later(300).memory.decision).toMatchObject({ hot: 1, rule: 'Replicas' });
  });

  test('does not delay replicas that are lowered later', () => {
    const four = ['a', 'b', 'c', 'd'].map((name) => worker(name));
    const restarted = decide(observe({ workers: four }));
    const asked = observe({ group: groupObject({ replicas: 1 }), workers: four, memory: restarted.memory });
    expect(decide(asked).memory.decision?.hot).toBe(1);
  });
});

test('F11: a group of fixed size has no condition MetricsAvailable for any figures', () => {
  const group = groupObject({ replicas: 2 });
  const workers = [worker('a'), worker('b')];
  const lying = withProblem(reports(['a']), 'uid-a/7', { kind: 'invalid', detail: 'no number', at: NOW });
  for (const loadState of [lying, undefined]) {
    const decision = decide(observe({ group, workers, ...(loadState && { loadState }) }));
    expect(conditionOf(decision, 'MetricsAvailable')).toBeUndefined();
    expect(
      conditionOf(decide(observe({ workers, ...(loadState && { loadState }) })), 'MetricsAvailable'),
    ).toBeDefined();
  }
});

describe('missing or invalid figures', () => {
  const four = ['a', 'b', 'c', 'd'].map((name) => worker(name));
  const calm = calmOf(4);

  test('never shrink the group', () => {
    const shrunk = decide(observe({ workers: four, loadState: reports(['a', 'b', 'c', 'd']), memory: calm }));
    expect(kinds(shrunk)).toHaveLength(4);
    const lying = withProblem(reports(['a', 'b', 'c', 'd']), 'uid-a/7', {
      kind: 'invalid',
      detail: 'worker a: new_load is negative',
      at: NOW,
    });
    const doubtful = decide(observe({ workers: four, loadState: lying, memory: calm }));
    expect(doubtful.actions).toEqual([]);
    expect(conditionOf(doubtful, 'MetricsAvailable')).toMatchObject({
      status: 'False',
      reason: 'LoadUnavailable',
    });
    expect(conditionOf(doubtful, 'MetricsAvailable')?.message).toContain('new_load is negative');
    const missing = decide(observe({ workers: four, memory: calm }));
    expect(missing.actions).toEqual([]);
    expect(conditionOf(missing, 'MetricsAvailable')).toMatchObject({
      status: 'False',
      reason: 'LoadUnavailable',
    });
  });

  test('grow the group only for a wake when all are missing', () => {
    const floor = groupObject({ minLoad: '900' });
    const missing = decide(observe({ group: floor, workers: four, memory: calm }));
    expect(missing.actions).toEqual([]);
    const group = floor;
    expect(kinds(decide(observe({ group, workers: four, memory: calm, wakeAsked: true })))).not.toEqual([]);
  });

  test.each<[string, Record<string, unknown>, number]>([
    ['minLoad', { minLoad: '250' }, 1],
    ['scaleToZero: Never', { scaleToZero: 'Never' }, 1],
    ['nothing', { minLoad: '0' }, 0],
  ])('do not prevent the hot workers of %s', (_, spec, hot) => {
    const problem = { kind: 'unreachable', detail: 'Prometheus: unreachable', at: NOW } as const;
    const loadState = withProblem(EMPTY_LOAD, '', problem);
    const first = decide(
      observe({ source: 'group', group: groupObject(spec), loadState, memory: calmOf(0) }),
    );
    expect(first.memory.decision).toMatchObject({ hot, total: hot });
    expect(first.actions).toHaveLength(hot);
  });

  test('set Ready to False when a source returns an unreadable reply and no worker is hot', () => {
    const detail = 'Prometheus: loadQuery returns 2 series';
    const loadState = withProblem(EMPTY_LOAD, '', { kind: 'invalid', detail, at: NOW });
    const decision = decide(observe({ source: 'group', loadState, memory: calmOf(0) }));
    expect(conditionOf(decision, 'MetricsAvailable')).toMatchObject({ reason: 'LoadUnavailable' });
    expect(conditionOf(decision, 'Ready')).toMatchObject({ status: 'False', reason: 'LoadUnavailable' });
  });

  test('are reported with the unreachable source', () => {
    const loadState = withProblem(EMPTY_LOAD, 'uid-a/7', {
      kind: 'unreachable',
      detail: 'worker a: unreachable',
      at: NOW,
    });
    const decision = decide(observe({ workers: [worker('a')], loadState, memory: calm }));
    expect(conditionOf(decision, 'MetricsAvailable')).toMatchObject({
      status: 'False',
      reason: 'LoadUnavailable',
    });
    expect(conditionOf(decision, 'MetricsAvailable')?.message).toContain('worker a: unreachable');
  });

  test('remove no worker when they come from one source for the group', () => {
    const lie = withProblem(EMPTY_LOAD, '', { kind: 'invalid', detail: 'loadQuery is negative', at: NOW });
    const decision = decide(observe({ source: 'group', workers: four, loadState: lie, memory: calm }));
    expect(decision.actions).toEqual([]);
    expect(conditionOf(decision, 'MetricsAvailable')?.status).toBe('False');
  });
});

describe('a worker that is silent while others report', () => {
  const floor = groupObject({ minLoad: '150' });
  const both = [worker('a'), worker('b')];

  test('has no capacity when its report is overdue, so another is rented', () => {
    expect(decide(observe({ group: floor, workers: both, loadState: reports(['a', 'b']) })).actions).toEqual(
      [],
    );
    const decision = decide(observe({ group: floor, workers: both, loadState: reports(['a']) }));
    expect(kinds(decision)).toEqual(['create']);
    expect(decision.status.autoscaling).toMatchObject({ capacity: '100', hot: 3 });
  });

  test('keeps its capacity for 90 s after it became ready', () => {
    const fresh = [worker('a'), worker('b', { readySince: NOW - 89 * SECOND })];
    expect(decide(observe({ group: floor, workers: fresh, loadState: reports(['a']) })).actions).toEqual([]);
  });
});

describe('workers of another template', () => {
  const older = { templateHash: 'v1:0000000000000000' };

  test('are drained one at a time', () => {
    const workers = [worker('a', older), worker('b', older)];
    const floor = groupObject({ minLoad: '150' });
    const decision = decide(observe({ group: floor, workers, loadState: reports(['a', 'b']) }));
    expect(decision.actions).toMatchObject([
      { type: 'order', order: { desiredRole: 'Gone', powerState: 'Running' } },
    ]);
    expect(decision.status).toMatchObject({ phase: 'Updating', updated: 0 });
  });

  test('stay while the Service cannot be written', () => {
    const workers = [worker('a', older), worker('b', older)];
    const decision = decide(
      observe({
        workers,
        group: groupObject({ minLoad: '150' }),
        loadState: reports(['a', 'b']),
        published: { type: 'problem', reason: 'NameTaken', detail: 'Service llm is not of this group' },
      }),
    );
    expect(decision.actions).toEqual([]);
  });

  test.each(['v0:0000000000000000', undefined])('stay when their hash, %s, is not comparable', (hash) => {
    const workers = [worker('a', { templateHash: hash }), worker('b', { templateHash: hash })];
    const floor = groupObject({ minLoad: '150' });
    const decision = decide(observe({ group: floor, workers, loadState: reports(['a', 'b']) }));
    expect(decision.actions).toEqual([]);
    expect(decision.status.updated).toBe(2);
  });

  test('stay while the new worker cannot be published', () => {
    const hidden = worker('b', {
      object: workerObject('b', { status: { ...READY_AT, publicAddress: '10.0.0.8' } }),
    });
    const floor = groupObject({ minLoad: '150' });
    const workers = [worker('a', older), { ...hidden, templateHash: templateHash(floor) }];
    const decision = decide(observe({ group: floor, workers, loadState: reports(['a', 'b']) }));
    expect(decision.actions).toEqual([]);
    expect(conditionOf(decision, 'Ready')).toMatchObject({ status: 'False', reason: 'EndpointsLeftOut' });
  });
});

describe('a worker of an old template whose machine fits the new one (M4)', () => {
  const fitting = (overrides: Partial<Worker> = {}) =>
    worker('a', { templateHash: 'v1:0000000000000000', object: workerObject('a'), ...overrides });
  const decided = (one: Worker, spec: object = {}) =>
    decide(
      observe({
        group: groupObject({ minLoad: '50', ...spec }),
        workers: [one],
        loadState: reports(['a'], 0, { inFlight: 1 }),
      }),
    );

  test('is updated to the template and keeps serving', () => {
    const one = fitting();
    const decision = decided(one);
    expect(decision.actions).toEqual([{ type: 'update', worker: one }]);
    expect(decision.endpoints).toHaveLength(1);
  });

  test('is unchanged under OnDelete', () => {
    expect(decided(fitting(), { updateStrategy: { type: 'OnDelete' } }).actions).toEqual([]);
  });

  test.each<[string, Partial<Worker>]>([
    ['it is being deleted', { isDeleting: true }],
    ['it leaves', { desiredRole: 'Gone', drainSince: NOW - SECOND }],
  ])('is not updated when %s', (_, overrides) => {
    expect(kinds(decided(fitting(overrides)))).not.toContain('update');
  });
});

describe('a worker that drains', () => {
  const patient = groupObject({ minLoad: '50', maxQueueTime: '30s', drainTimeout: '60s' });
  const actionsSince = (seconds: number) => {
    const leaving = worker('a', { desiredRole: 'Gone', drainSince: NOW - seconds * SECOND });
    const loadState = reports(['a', 'b'], 0, { inFlight: 1 });
    const workers = [leaving, worker('b')];
    return kinds(decide(observe({ group: patient, workers, loadState, memory: calmOf(1) })));
  };

  test('stays with requests after maxQueueTime until drainTimeout', () => {
    expect(actionsSince(45)).toEqual([]);
  });

  test('is deleted at drainTimeout', () => {
    expect(actionsSince(60)).toEqual(['delete']);
  });
});

const READY_AT = {
  observedGeneration: 1,
  instanceId: '8',
  actualStatus: 'running',
  ports: [{ containerPort: 8000, protocol: 'TCP' as const, publicPort: 20008, name: 'http' }],
  conditions: [condition('Ready', 'True', '2026-11-20T11:10:00Z')],
};

describe('the Service publishes', () => {
  test.each<[string, Parameters<typeof worker>[1], boolean]>([
    ['a hot worker that serves', {}, true],
    ['no worker that does not serve', { isServing: false }, false],
    ['no worker that drains for the cold pool', { desiredRole: 'Cold', drainSince: NOW - SECOND }, false],
    ['no worker that drains before its deletion', { desiredRole: 'Gone', drainSince: NOW - SECOND }, false],
    ['no worker that is being deleted', { isDeleting: true }, false],
  ])('%s', (_, overrides, isThere) => {
    const floor = groupObject({ minLoad: '50' });
    const decision = decide(
      observe({ group: floor, workers: [worker('a', overrides)], loadState: reports(['a']) }),
    );
    expect(decision.endpoints?.map((one) => one.worker.metadata.name)).toEqual(isThere ? ['a'] : []);
  });

  test('no worker that is ordered to leave in the same reconcile', () => {
    const idle = calmOf(1);
    const decision = decide(
      observe({
        group: groupObject({}, { status: { everReady: true } }),
        workers: [worker('a')],
        loadState: reports(['a']),
        memory: idle,
      }),
    );
    expect(decision.actions).toMatchObject([{ type: 'order', order: { desiredRole: 'Gone' } }]);
    expect(decision.endpoints).toEqual([]);
  });
});

describe('a group without load', () => {
  const booting = worker('a', { isServing: false, wasEverReady: false, hasRun: false, isRented: false });
  const calm = calmOf(1);
  const born = (minutesAgo: number) => ({
    metadata: { creationTimestamp: new Date(NOW - minutesAgo * 60 * SECOND).toISOString() },
  });

  const overdue = { isOverdue: true };
  const served = (minutesAgo: number) =>
    groupObject({}, { ...born(minutesAgo), status: { everReady: true } });

  test.each<[string, ReturnType<typeof groupObject>, Partial<Worker>, boolean]>([
    ['keeps its first worker until it was ready once', groupObject({}, born(24)), {}, true],
    [
      'keeps its first worker when it was rented long after the group was created',
      groupObject({}, born(600)),
      {},
      true,
    ],
    ['removes its first worker when its boot is overdue', groupObject({}, born(26)), overdue, false],
    [
      'keeps an unpublished worker until the boot deadline',
      groupObject({}, born(25)),
      { isServing: true },
      true,
    ],
    [
      'removes an unpublished worker after the boot deadline',
      groupObject({}, born(26)),
      { isServing: true },
      false,
    ],
    ['keeps its last worker while it boots and no load is reported', served(600), {}, true],
    ['removes its last worker when its boot is overdue', served(600), overdue, false],
    ['removes its last worker when it reports no load', served(600), { isServing: true }, false],
  ])('%s', (_, group, overrides, isKept) => {
    const one = { ...booting, ...overrides };
    const loadState = one.isServing ? reports(['a']) : EMPTY_LOAD;
    const decision = decide(observe({ group, workers: [one], memory: calm, loadState }));
    expect(decision.memory.decision?.hot).toBe(isKept ? 1 : 0);
    expect(decision.actions).toHaveLength(isKept ? 0 : 1);
  });
});

test('keeps a worker of a never ready group while another boots', () => {
  const booting = worker('b', { isServing: false, wasEverReady: false, hasRun: false });
  const group = groupObject(
    {},
    { metadata: { creationTimestamp: new Date(NOW - 3600 * SECOND).toISOString() } },
  );
  const workers = [worker('a'), booting];
  const { memory } = decide(observe({ group, workers, memory: calmOf(2), loadState: reports(['a']) }));
  expect(memory.decision?.rule).toBe('NotReadyYet');
});

test('counts serving workers as ready when the group has no ports', () => {
  const { offers, image } = groupObject().spec.template.spec;
  const group = groupObject({ template: { spec: { offers, image } } });
  const workers = [worker('a'), worker('b', { isServing: false })];
  expect(decide(observe({ group, workers })).status.ready).toBe(1);
});

test('deletes a drained worker half a tick after its order when ticks are short', () => {
  const workers = [worker('a'), worker('b', { desiredRole: 'Gone', drainSince: NOW - 1500 })];
  const situation = { group: groupObject({ minLoad: '50' }), workers, memory: calmOf(1) };
  const loadState = reports(['a', 'b']);
  expect(decide(observe({ ...situation, loadState })).actions).toEqual([]);
  const times = { ...observedGroup().clock.times, tickMs: 2000 };
  expect(decide(observe({ ...situation, loadState, times })).actions).toMatchObject([{ type: 'delete' }]);
});

describe('after a restart', () => {
  test('a reconcile before the first tick decides', () => {
    const { memory } = decide(observe({ isTick: false, group: groupObject({ minLoad: '50' }) }));
    expect(memory.decision).toMatchObject({ hot: 1 });
  });

  const boots = { isServing: false, wasEverReady: false, hasRun: false };

  test.each<[string, readonly Worker[], boolean]>([
    ['a worker that boots alone counts as woken', [worker('a', boots)], true],
    ['a serving worker counts as not woken', [worker('a')], false],
    [
      'a worker that boots beside a serving one counts as not woken',
      [worker('a', boots), worker('b')],
      false,
    ],
    ['a cold worker counts as not woken', [worker('a', { ...boots, desiredRole: 'Cold' })], false],
    ['a group without workers counts as not woken', [], false],
  ])('%s', (_, workers, isWake) => {
    const { recent } = decide(observe({ workers })).memory.scaling;
    expect(recent[0]?.isWake).toBe(isWake);
  });

  test('restores the maxima of the windows from the record', () => {
    const status = { autoscaling: { stabilizedTotalCapacity: '300', totalCapacity: '100' } };
    const totals = (autoscaling: object) =>
      decide(
        observe({ group: groupObject({}, { status: { autoscaling } as never }) }),
      ).memory.scaling.recent.map(({ total }) => total);
    expect(totals(status.autoscaling)).toContain(300);
    expect(totals({ totalCapacity: '100' })).toContain(100);
  });
});

describe('spreadBy', () => {
  test('creates one worker at a time, each after the last is rented', () => {
    const apart = groupObject({ minLoad: '250', spreadBy: 'Host' });
    const first = decide(observe({ group: apart }));
    expect(kinds(first)).toEqual(['create']);
    expect(changesOf(first.actions)).toEqual([{ type: 'rent', desiredRole: 'Hot' }]);
    const open = worker('a', { isRented: false, isServing: false });
    const waiting = decide(observe({ group: apart, workers: [open] }));
    expect([kinds(waiting), changesOf(waiting.actions)]).toEqual([[], []]);
    expect(kinds(decide(observe({ group: groupObject({ minLoad: '250' }) })))).toEqual([
      'create',
      'create',
      'create',
    ]);
  });
});

describe('a wake that fails', () => {
  const failing = { isServing: false, ranSinceWoken: false, wokenAt: NOW - 60 * SECOND };
  const floor = groupObject({ minLoad: '50' });

  test('deletes the worker and reports a host failure after wakeTimeout', () => {
    const decision = decide(observe({ group: floor, workers: [worker('a', failing)] }));
    expect(kinds(decision)).toEqual(expect.arrayContaining(['reportHostFailure', 'delete', 'create']));
    expect(changesOf(decision.actions)).toContainEqual({ type: 'destroy', name: 'a', why: 'WakeTimedOut' });
  });

  test.each([
    ['all namespaces after the default wakeTimeout', floor, failing, 'CannotStart', true],
    [
      'its own group after a shorter wakeTimeout (H9)',
      groupObject({ minLoad: '50', wakeTimeout: '59s' }),
      failing,
      'CannotStart',
      false,
    ],
    [
      'its own group when the worker is broken (S1, S2)',
      floor,
      { isServing: false, unreadySince: NOW - 3_600_000 },
      'WorkersFailing',
      false,
    ],
  ] as const)('reports a host failure for %s', (_, of, given, reason, isForAll) => {
    const { actions } = decide(observe({ group: of, workers: [worker('a', given)] }));
    expect(actions).toContainEqual(expect.objectContaining({ type: 'reportHostFailure', reason, isForAll }));
  });

  test('deletes nothing before wakeTimeout or while the breaker of the account is open', () => {
    const almost = worker('a', { ...failing, wokenAt: NOW - 60 * SECOND + 1 });
    const early = decide(observe({ group: floor, workers: [almost] }));
    expect(early.actions).toEqual([]);
    expect(early.requeueAfterMs).toBeLessThanOrEqual(10);
    const frozen = new Set(['uid-a']);
    expect(decide(observe({ group: floor, workers: [worker('a', failing)], frozen })).actions).toEqual([]);
  });
});

describe('workers without an owner', () => {
  test('are adopted', () => {
    const orphan = workerObject('lost', { metadata: { labels: { [labels.endpointGroup]: 'llm' } } });
    expect(kinds(decide(observe({ orphans: [orphan] })))).toEqual(['adopt']);
  });

  test('delay rentals until they are adopted', () => {
    const orphan = workerObject('lost', { metadata: { labels: { [labels.endpointGroup]: 'llm' } } });
    const floor = groupObject({ minLoad: '250' });
    const decision = decide(observe({ group: floor, orphans: [orphan] }));
    expect(kinds(decision)).toEqual(['adopt']);
    expect(changesOf(decision.actions)).toEqual([]);
  });
});

describe('a group that is being deleted', () => {
  const deleted = groupObject(
    {},
    {
      metadata: { deletionTimestamp: '2026-11-20T11:59:00Z', generation: 2 },
      status: {
        conditions: [condition('AtMaxWorkers', 'True', '2026-11-20T11:00:00Z')],
        replicas: 3,
        ready: 3,
      },
    },
  );

  test('deletes its workers and is then released', () => {
    const deleting = decide(
      observe({ group: deleted, workers: [worker('a'), worker('b', { isDeleting: true })] }),
    );
    expect(deleting.actions).toMatchObject([{ type: 'delete', worker: { name: 'a' } }]);
    expect(deleting.endpoints).toEqual([]);
    expect(deleting).toMatchObject({ waiting: [], because: '' });
    expect(deleting.status).toMatchObject({
      phase: 'Deleting',
      replicas: 0,
      ready: 0,
      total: 2,
      observedGeneration: 2,
    });
    expect(kinds(decide(observe({ group: deleted })))).toEqual(['release']);
  });

  test('reads no load between ticks', () => {
    for (const memory of [undefined, calmOf(1)])
      expect(decide(observe({ group: deleted, workers: [worker('a')], memory })).memory.nextTickAt).toBe(
        NOW + 10 * SECOND,
      );
  });

  test('drops conditions of an earlier generation', () => {
    const { status } = decide(observe({ group: deleted, workers: [worker('a')] }));
    expect(status.conditions?.map(({ type, observedGeneration }) => [type, observedGeneration])).toEqual([
      ['Ready', 2],
      ['Reconciling', 2],
    ]);
  });

  test('keeps the transition times of its conditions', () => {
    const since = '2026-11-20T10:00:00Z';
    const conditions = [condition('Ready', 'False', since), condition('Reconciling', 'True', since)];
    const again = { ...deleted, status: { conditions } };
    const { status } = decide(observe({ group: again, workers: [worker('a')] }));
    expect(status.conditions?.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual([since, since]);
  });

  test('is released when it has no status yet', () => {
    const fresh = { ...groupObject(), metadata: { ...deleted.metadata, generation: undefined } };
    const { status, actions } = decide(observe({ group: fresh }));
    expect(actions).toEqual([{ type: 'release' }]);
    expect(status).toMatchObject({ observedGeneration: -1, phase: 'Deleting' });
  });

  test('keeps its workers when they are orphaned', () => {
    const orphaning = { ...deleted, metadata: { ...deleted.metadata, finalizers: ['orphan'] } };
    const decision = decide(observe({ group: orphaning, workers: [worker('a')] }));
    expect(kinds(decision)).toEqual(['release']);
    expect(decision.endpoints).toBeUndefined();
  });
});

describe('the name of a new worker', () => {
  test('has the lowest free number, also beside leaving and foreign objects', () => {
    const floor = groupObject({ minLoad: '250' });
    const [first, second] = [workerName(floor, 0), workerName(floor, 2)];
    const leaving = worker(first, { object: workerObject(first), isDeleting: true, isServing: false });
    const takenNames = new Set([second]);
    const decision = decide(observe({ group: floor, workers: [leaving], takenNames }));
    const ordinals = decision.actions.flatMap((action) => (action.type === 'create' ? [action.ordinal] : []));
    expect(ordinals).toEqual([1, 3, 4]);
  });

  test('differs for a group that was created again with the same name', () => {
    const again = groupObject({}, { metadata: { uid: 'uid-again' } });
    expect(workerName(again, 0)).not.toBe(workerName(group, 0));
    expect(workerName(group, 0)).toMatch(/^llm-[a-z0-9]{6}$/);
  });
});

describe('maxSpendPerHour', () => {
  const busy = { load: { type: 'Static', static: { load: '900' } }, minLoad: '900' };
  const rented = (spec: object) =>
    kinds(decide(observe({ group: groupObject({ ...busy, spreadBy: 'None', ...spec }) }))).filter(
      (kind) => kind === 'create',
    ).length;

  test('allows as many workers as it pays at their maximum price', () => {
    expect(rented({})).toBeGreaterThan(3);
    expect(rented({ maxSpendPerHour: '1.30' })).toBe(2);
    expect(rented({ maxSpendPerHour: '0.50' })).toBe(0);
  });
});

describe('figures that follow the load', () => {
  const floor = groupObject({ minLoad: '50' });
  const steady = observe({
    group: floor,
    workers: [worker('a')],
    loadState: reports(['a'], 800),
    memory: calmOf(1),
  });
  const { status } = decide(steady);
  type Terms = NonNullable<typeof status.autoscaling>;

  interface Written {
    readonly secondsAgo: number;
    readonly terms?: Partial<Terms>;
    readonly lastActivity?: string;
    readonly now?: Partial<typeof steady>;
  }

  /** Returns true if the figures are written again over figures of some seconds ago. */
  function isWritten({ secondsAgo, terms, lastActivity, now: more }: Written): boolean {
    const { autoscaling } = decide({ ...steady, ...more }).status;
    if (!autoscaling) throw new Error('No decision.');
    const at = new Date(NOW - secondsAgo * SECOND).toISOString();
    const before = {
      ...{ ...status, load: '0.007', lastActivity: lastActivity ?? status.lastActivity },
      autoscaling: { ...autoscaling, at, ...terms },
    };
    return decide({ ...steady, ...more, group: { ...floor, status: before } }).status.load !== '0.007';
  }

  test.each<[string, number, Partial<Terms>, boolean]>([
    ['stay while they are constant', 3600, {}, false],
    ['stay when the load changed by 5 %', 60, { load: '84' }, false],
    ['are written when the load rose by more than 5 %', 60, { load: '84.3' }, true],
    ['are written when the load fell by more than 5 %', 60, { load: '75.9' }, true],
    ['stay until a minute has passed', 59, { load: '160' }, false],
    ['are written when the maximum load changed', 60, { longLoad: '160' }, true],
    ['are written when the queue changed', 60, { queue: '1' }, true],
    ['are written when the capacity changed', 60, { capacity: '160' }, true],
    ['are written when performance becomes known', 60, { perf: undefined }, true],
    ['are written at once when the hot target changes', 0, { hot: 2 }, true],
    ['are written at once when the total target changes', 0, { total: 2 }, true],
    ['are written at once when they were written in the future', -1, {}, true],
  ])('%s', (_, secondsAgo, terms, written) => {
    expect(isWritten({ secondsAgo, terms })).toBe(written);
  });

  test.each<[string, Partial<typeof steady>, boolean]>([
    ['are written before a worker is created', { workers: [], memory: calmOf(0) }, true],
    ['are written when a wake is requested', { wakeAsked: true }, true],
    ['stay when a worker is adopted', { orphans: [workerObject('lost')] }, false],
  ])('%s', (_, more, written) => {
    expect(isWritten({ secondsAgo: 1, now: more })).toBe(written);
  });

  test.each<[string, number, boolean]>([
    ['are written when work ended half a minute ago', 30, true],
    ['stay when work ended less than half a minute ago', 29, false],
  ])('%s', (_, secondsAgo, written) => {
    const loadState = { ...reports(['a']), lastActivity: NOW - secondsAgo * SECOND };
    const idle = { lastActivity: '2026-11-20T11:30:00Z', now: { loadState } };
    expect(isWritten({ secondsAgo: 60, ...idle })).toBe(written);
    expect(isWritten({ secondsAgo: 59, ...idle })).toBe(false);
  });

  test('stay together: load, terms, maxima, activity', () => {
    const before = { ...status, lastActivity: '2026-11-20T11:59:50Z', loadMaxima: [] };
    const { conditions: _, ...after } = decide({ ...steady, group: { ...floor, status: before } }).status;
    const { conditions: _before, ...kept } = before;
    expect(after).toEqual({ ...kept, panicUntil: undefined });
  });
});

describe('the status records', () => {
  test('that the group was ready once', () => {
    const group = groupObject({}, { status: { everReady: true } });
    expect(decide(observe({ group })).status.everReady).toBe(true);
    expect(decide(observe()).status.everReady).toBe(false);
  });

  test('the load maxima of the last hour only', () => {
    const maxima = (minutes: number) => [{ at: NOW - minutes * 60 * SECOND, load: 7 }];
    const loadState = (minutes: number) => ({
      ...EMPTY_LOAD,
      history: { ...EMPTY_LOAD.history, maxima: maxima(minutes) },
    });
    expect(decide(observe({ loadState: loadState(60) })).status.loadMaxima).toHaveLength(1);
    expect(decide(observe({ loadState: loadState(61) })).status.loadMaxima).toEqual([]);
  });

  test('the first 253 characters of a wake request', () => {
    const asked = { metadata: { annotations: { [annotations.wakeAt]: 'w'.repeat(300) } } };
    const { status } = decide(observe({ group: groupObject({}, asked) }));
    expect(status.wokenAt).toBe('w'.repeat(253));
    const heard = { ...groupObject({}, { ...asked, status: { wokenAt: 'w'.repeat(253) } }) };
    expect(decide(observe({ group: heard })).memory.decision?.rule).not.toBe('Wake');
  });
});

describe('the last activity', () => {
  const recorded = '2026-11-20T11:30:00Z';
  const busy = groupObject({}, { status: { load: '5', lastActivity: recorded } });
  const idle = groupObject({}, { status: { load: '0', lastActivity: recorded } });

  test.each<[string, Parameters<typeof observe>[0], string]>([
    ['is now when a process begins with a recorded load', { group: busy }, '2026-11-20T12:00:00Z'],
    ['is the recorded time when a process begins without a recorded load', { group: idle }, recorded],
    ['is the recorded time while the process runs', { group: busy, memory: calmOf(0) }, recorded],
    [
      'is now when a wake is requested',
      { group: idle, memory: calmOf(0), wakeAsked: true },
      '2026-11-20T12:00:00Z',
    ],
    [
      'is the last report of work',
      { group: idle, loadState: { ...EMPTY_LOAD, lastActivity: NOW - SECOND } },
      '2026-11-20T11:59:59Z',
    ],
    [
      'is at most now when the recorded time is in the future',
      { group: groupObject({}, { status: { lastActivity: '2026-11-21T11:30:00Z' } }), memory: calmOf(0) },
      '2026-11-20T12:00:00Z',
    ],
  ])('%s', (_, given, lastActivity) => {
    expect(decide(observe(given)).status.lastActivity).toBe(lastActivity);
  });
});

describe('a restart counts as hot', () => {
  test.each<[string, Parameters<typeof worker>[1], boolean]>([
    ['a hot worker', {}, true],
    ['no cold worker', { desiredRole: 'Cold' }, false],
    ['no worker that is being deleted', { isDeleting: true }, false],
  ])('%s', (_, overrides, isHot) => {
    const { memory } = decide(observe({ workers: [worker('a', overrides)], loadState: reports(['a']) }));
    expect(memory.scaling.panicUntil).toBe(isHot ? NOW + 60 * SECOND : 0);
  });

  test('and continues the recorded panic', () => {
    const group = groupObject({}, { status: { panicUntil: '2026-11-20T12:00:30Z' } });
    expect(decide(observe({ group })).memory.scaling.panicUntil).toBe(NOW + 30 * SECOND);
  });
});

describe('with spreadBy the next worker is created', () => {
  const apart = groupObject({ minLoad: '250', spreadBy: 'Host' });
  test.each<[string, Parameters<typeof worker>[1], number]>([
    ['not while another has no machine', { isRented: false }, 0],
    ['when the other has a machine', { isRented: true }, 1],
    [
      'beside a stopped worker without a machine',
      { isRented: false, isStopped: true, isOnHold: true, desiredRole: 'Gone' },
      1,
    ],
    ['beside a worker that is being deleted', { isRented: false, isDeleting: true }, 1],
    ['beside a stalled worker', { isRented: false, isStalled: true }, 1],
    ['beside a worker that is past its boot deadline', { isRented: false, isOverdue: true }, 1],
  ])('%s', (_, overrides, creates) => {
    const present = worker('a', { isServing: false, ...overrides });
    const { actions } = decide(observe({ group: apart, workers: [present], memory: calmOf(1) }));
    expect(actions.filter(({ type }) => type === 'create')).toHaveLength(creates);
  });

  test('after a stopped one is woken', () => {
    const asleep = { desiredRole: 'Cold', powerState: 'Stopped', isServing: false, isStopped: true } as const;
    const workers = [worker('a', { isRented: false, isServing: false }), worker('b', asleep)];
    const { actions } = decide(observe({ group: apart, workers, memory: calmOf(1) }));
    expect(actions).toMatchObject([{ type: 'order', worker: { name: 'b' } }]);
  });
});

test('keeps a drained worker running when it becomes hot again', () => {
  const group = groupObject({ minLoad: '150' });
  const workers = [worker('a'), worker('b', { desiredRole: 'Cold', drainSince: NOW - 25 * SECOND })];
  const { actions } = decide(
    observe({ group, workers, loadState: reports(['a', 'b'], 500), memory: calmOf(1) }),
  );
  expect(actions).toMatchObject([{ type: 'order', worker: { name: 'b' }, order: { desiredRole: 'Hot' } }]);
});

test('unpublishes only the worker that is deleted', () => {
  const workers = [worker('a'), worker('b', { desiredRole: 'Gone', drainSince: NOW - 60 * SECOND })];
  const group = groupObject({ minLoad: '50' });
  const { actions, endpoints } = decide(
    observe({ group, workers, loadState: reports(['a', 'b']), memory: calmOf(1) }),
  );
  expect(actions).toMatchObject([{ type: 'delete', worker: { name: 'b' } }]);
  expect(endpoints?.map(({ worker: { metadata } }) => metadata.name)).toEqual(['a']);
});

describe('a worker whose adoption is refused', () => {
  const group = groupObject({ minLoad: '250', maxWorkers: 3 });
  const refused = (name: string) => [{ action: `adopt ${name}`, detail: 'refused' }];
  const created = (more: Parameters<typeof observe>[0]) =>
    kinds(
      decide(
        observe({
          group,
          workers: [worker('a')],
          loadState: reports(['a']),
          memory: calmOf(3),
          orphans: [workerObject('lost')],
          ...more,
        }),
      ),
    ).filter((kind) => kind === 'create').length;

  test('counts for maxWorkers, since it may be billed', () => {
    expect(created({ refused: refused('lost') })).toBe(1);
  });

  test('delays creations until its adoption was tried', () => {
    expect(created({ refused: [] })).toBe(0);
    expect(created({ refused: refused('another') })).toBe(0);
  });
});

describe('the requeue is due', () => {
  const floor = groupObject({ minLoad: '50', wakeTimeout: '60s', maxQueueTime: '30s' });
  const waking = { isServing: false, ranSinceWoken: false, wokenAt: NOW - 57 * SECOND };
  const draining = { desiredRole: 'Gone', drainSince: NOW - 26 * SECOND } as const;

  test.each<[string, Parameters<typeof worker>[1], number]>([
    ['at the next tick', {}, 10_000],
    ['at wakeTimeout of a waking worker', waking, 3000],
    [
      'at the next tick when the woken worker runs',
      { ...waking, ranSinceWoken: true, isServing: true },
      10_000,
    ],
    ['at maxQueueTime of a draining worker', draining, 4000],
    [
      'at the next tick when the machine of the draining worker is down',
      { ...draining, isServing: false, isUp: false, isOnHold: true },
      10_000,
    ],
  ])('%s', (_, overrides, afterMs) => {
    const loadState = reports(['a'], 0, { inFlight: 1 });
    const workers = [worker('a', overrides), worker('other', { isOnHold: true })];
    const { requeueAfterMs } = decide(observe({ group: floor, workers, loadState, memory: calmOf(1) }));
    expect(requeueAfterMs).toBe(afterMs);
  });
});

describe('work counts as a queue', () => {
  const short = groupObject({ minLoad: '50', maxWorkers: 1, targetQueueTime: '2s' });
  test.each<[string, object, number, boolean]>([
    ['above targetQueueTime', { currentLoad: 201 }, 0, true],
    ['not at targetQueueTime', { currentLoad: 200 }, 0, false],
    ['not when waiting work is reported separately', { currentLoad: 201, waitingLoad: 201 }, 0, false],
    ['not when the capacity is too low', { currentLoad: 201 }, 1000, false],
  ])('%s', (_, record, amount, looksSlow) => {
    const loadState = reports(['a'], amount, record);
    const { memory } = decide(
      observe({ group: short, workers: [worker('a')], loadState, memory: calmOf(1) }),
    );
    expect(memory.slowSince).toBe(looksSlow ? NOW : undefined);
  });
});

describe('the first reconcile of a process', () => {
  test('notes work that counts as a queue', () => {
    const short = groupObject({ minLoad: '50', maxWorkers: 1, targetQueueTime: '2s' });
    const loadState = reports(['a'], 0, { currentLoad: 201 });
    expect(decide(observe({ group: short, workers: [worker('a')], loadState })).memory.slowSince).toBe(NOW);
  });

  test('records the time and error of a failing worker', () => {
    const loadState = reports(['a'], 0, { error: 'out of memory' });
    const { status } = decide(observe({ workers: [worker('a')], loadState }));
    const since = '2026-11-20T12:00:00Z';
    expect(status.failingWorkers).toEqual([{ worker: 'a', instanceId: '7', since, error: 'out of memory' }]);
  });

  test('delays no action when it is a tick', () => {
    expect(decide(observe()).waiting).toEqual([]);
  });
});

describe('the endpoint in the status', () => {
  const renamed = groupObject({ endpointName: 'chat' }, { status: { endpoint: 'llm.team-a.svc' } });
  const taken = {
    type: 'problem',
    reason: 'NameTaken',
    detail: 'Service chat is not owned by this group.',
  } as const;

  test.each([
    ['is the new name when endpointName changed', { group: renamed }, /^chat\./],
    ['is the former name while the new one is taken', { group: renamed, published: taken }, /^llm\./],
    ['is the name of the group when there is no former name', { group, published: taken }, /^llm\./],
  ])('%s', (_, changes, expected) => {
    expect(decide(observe(changes)).status.endpoint).toMatch(expected);
  });
});

describe('workers that the template would replace', () => {
  const outdated = { templateHash: 'v1:0000000000000000' };
  const two = [worker('a', outdated), worker('b', outdated)];
  const floor = (spec: Record<string, unknown> = {}) => groupObject({ minLoad: '150', ...spec });
  const all = { updateStrategy: { type: 'RollingUpdate', maxUnavailable: '100%' } };
  const paused = { pause: { scaleUp: true } };
  const deleting = groupObject(
    { minLoad: '150' },
    { metadata: { deletionTimestamp: '2026-11-20T11:59:00Z' } },
  );

  test.each<[string, Parameters<typeof observe>[0], readonly string[]]>([
    ['are at most maxUnavailable', { group: floor(), workers: two }, ['a']],
    ['are all workers when maxUnavailable is 100 %', { group: floor(all), workers: two }, ['a', 'b']],
    [
      'exclude workers of the present template',
      { group: floor(all), workers: [worker('a'), two[1] ?? worker('b')] },
      ['b'],
    ],
    ['are none when no worker is outdated', { group: floor(all), workers: [worker('a'), worker('b')] }, []],
    [
      'exclude workers without a machine',
      { group: floor(all), workers: [worker('a', { ...outdated, isRented: false })] },
      [],
    ],
    [
      'are the rented workers beside one without a machine',
      {
        group: floor(all),
        workers: [worker('a', { ...outdated, isRented: false, hasRun: false }), ...two.slice(1)],
      },
      ['b'],
    ],
    ['are none while the group is paused', { group: floor({ ...all, ...paused }), workers: two }, []],
    ['are none when the group is being deleted', { group: deleting, workers: two }, []],
    [
      'exclude workers that leave for another reason',
      { group: floor(all), workers: [worker('a', { ...outdated, hasEnded: true })] },
      [],
    ],
  ])('%s', (_, changes, names) => {
    const loadState = reports(['a', 'b']);
    const observed = observe({ memory: calmOf(2), loadState, outlook: undefined, ...changes });
    expect(endingForTemplate(observedGroup(observed)).map(({ name }) => name)).toEqual(names);
  });
});

describe('the Secrets of a gateway', () => {
  const deleting = groupObject({}, { metadata: { deletionTimestamp: '2026-11-20T11:59:00Z' } });
  const due = { problem: undefined, isDue: true };
  const problem = 'Cannot write the Secrets of its gateway: no right';

  test.each([
    ['are checked when a check is due', { identity: due }, true],
    ['are not checked before a check is due', {}, false],
    ['are not checked for a group that is being deleted', { identity: due, group: deleting }, false],
  ])('%s', (_, changes, checksIdentity) => {
    expect(decide(observe(changes)).checksIdentity).toBe(checksIdentity);
  });

  test.each([true, false])('are named in the status while they cannot be written (tick: %s)', (isTick) => {
    const observed = observe({ isTick, identity: { problem, isDue: false } });
    const decision = decide(observed);
    expect(conditionOf(decision, 'Ready')).toMatchObject({
      reason: 'NotPermitted',
      message: expect.stringContaining(`${problem}.`),
    });
    expect(decision.waiting).toEqual([{ action: 'identity', detail: problem }]);
    const repaired = decide({
      ...observed,
      refused: decision.waiting,
      identity: { problem: undefined, isDue: false },
    });
    expect([conditionOf(repaired, 'Ready')?.reason, repaired.waiting]).toEqual(['ScaledToZero', []]);
  });

  test('are named in at most 1024 characters', () => {
    const [refusal] = decide(observe({ identity: { problem: 'x'.repeat(2000), isDue: false } })).waiting;
    expect(refusal?.detail).toHaveLength(1024);
  });
});

describe('events of a decision', () => {
  const blocked = {
    inHand: new Set<string>(),
    blocked: { reason: 'NoOffers', detail: 'No offer.' },
  } as const;
  const outdated = worker('a', { templateHash: 'v1:0000000000000000' });

  test('report a blocked rollout, and a container in which no program runs', () => {
    const group = groupObject({ minLoad: '50' });
    const { events } = decide(observe({ group, workers: [outdated], outlook: blocked }));
    expect(events.map(({ reason }) => reason)).toEqual(['InvalidSpec', 'ReplacementBlocked']);
  });

  test('report a lost service', () => {
    const before = condition('MetricsAvailable', 'True', '2026-11-20T11:10:00Z');
    const group = groupObject({ minLoad: '50' }, { status: { everReady: true, conditions: [before] } });
    const { services } = decide(observe({ group, workers: [worker('a')] }));
    expect(services.map(({ reason }) => reason)).toEqual(['LoadUnavailable']);
  });

  test('report no lost service while the group is being deleted', () => {
    const metadata = { deletionTimestamp: '2026-11-20T11:59:00Z' };
    const { events, services } = decide(observe({ group: groupObject({}, { metadata }) }));
    expect([events.map(({ reason }) => reason), services]).toEqual([['InvalidSpec'], []]);
  });
});
