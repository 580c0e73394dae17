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
/** Parts of an observation; a test may spread it and change some. */
const observe = (situation: GroupSituation = {}): GroupSituation => situation;
const decide = (situation: GroupSituation) => decideObserved(observedGroup(situation));
const group = groupObject();

const says = ({ status }: Decision, type: string) => status.conditions?.find((one) => one.type === type);
const kinds = ({ actions }: Decision) => actions.map(({ type }) => type);
const memoryOf = (decision: Decision) => decision.memory;

describe('between two ticks', () => {
  test('the decision of the last one holds', () => {
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

  test('late figures add no more than the tick may', () => {
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

  test('the next one keeps its distance from the beginning of the last', () => {
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

  test('a wake is decided about at once', () => {
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

  test('costs no other its place while panic forbids a decrease', () => {
    const first = decide(observe({ workers: before, loadState }));
    expect(first.memory.decision).toMatchObject({ hot: 1, rule: 'Panic' });
    const between = decide(observe({ workers: after, loadState, memory: memoryOf(first), isTick: false }));
    expect(between.actions).toEqual([]);
    expect(between.memory.decision).toMatchObject({ hot: 2, total: 2, rule: 'Panic' });
  });

  test('costs no other its place while figures may be wrong', () => {
    const lying = withProblem(loadState, 'uid-a/7', { kind: 'invalid', detail: 'a lie', at: NOW });
    const first = decide(observe({ workers: before, loadState: lying, memory: calmOf(1) }));
    const between = decide(
      observe({ workers: after, loadState: lying, memory: memoryOf(first), isTick: false }),
    );
    expect(between.actions).toEqual([]);
    expect(between.memory.decision).toMatchObject({ hot: 2, rule: 'MetricsMissing' });
  });

  test('takes the place of a dearer one otherwise', () => {
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

  test('is handled once, and echoed', () => {
    const heard = decide(observe({ group: asked }));
    expect(heard.status.wokenAt).toBe('noon');
    expect(heard.memory.decision?.rule).toBe('Wake');
    const again = decide(observe({ group: { ...asked, status: heard.status }, memory: undefined }));
    expect(again.memory.decision?.rule).toBe('Wake');
    const later = { ...asked, status: { ...heard.status, autoscaling: undefined } };
    expect(decide(observe({ group: later })).memory.decision?.rule).not.toBe('Wake');
  });

  test('that the process before recorded and did not carry out is carried out, unless a worker is hot', () => {
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
  test('keeps the workers that the record holds for the down window', () => {
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

  test('acts as in panic with the hot workers that there are', () => {
    const four = ['a', 'b', 'c', 'd'].map((name) => worker(name));
    const restarted = decide(observe({ workers: four, loadState: reports(['a', 'b', 'c', 'd']) }));
    expect(restarted.memory.decision).toMatchObject({ hot: 4, rule: 'Panic' });
    expect(restarted.actions).toEqual([]);
    expect(restarted.status.panicUntil).toBe('2026-11-20T12:01:00Z');
  });

  test('applies fewer replicas only after the down window, since it is unknown how long fewer are wanted', () => {
    const four = ['a', 'b', 'c', 'd'].map((name) => worker(name));
    const group = groupObject({ replicas: 1 });
    const restarted = decide(observe({ group, workers: four }));
    expect(restarted.memory.decision).toMatchObject({ hot: 4, rule: 'DownWindow' });
    const later = (seconds: number) =>
      decide(observe({ group, workers: four, now: NOW + seconds * SECOND, memory: restarted.memory }));
    expect(later(299).memory.decision?.hot).toBe(4);
    expect(later(300).memory.decision).toMatchObject({ hot: 1, rule: 'Replicas' });
  });

  test('is no reason to keep more than the replicas that are asked for later', () => {
    const four = ['a', 'b', 'c', 'd'].map((name) => worker(name));
    const restarted = decide(observe({ workers: four }));
    const asked = observe({ group: groupObject({ replicas: 1 }), workers: four, memory: restarted.memory });
    expect(decide(asked).memory.decision?.hot).toBe(1);
  });
});

test('F11: a group of fixed size sets no condition about load figures, whatever they are', () => {
  const group = groupObject({ replicas: 2 });
  const workers = [worker('a'), worker('b')];
  const lying = withProblem(reports(['a']), 'uid-a/7', { kind: 'invalid', detail: 'no number', at: NOW });
  for (const loadState of [lying, undefined]) {
    const decision = decide(observe({ group, workers, ...(loadState && { loadState }) }));
    expect(says(decision, 'MetricsAvailable')).toBeUndefined();
    expect(
      says(decide(observe({ workers, ...(loadState && { loadState }) })), 'MetricsAvailable'),
    ).toBeDefined();
  }
});

describe('figures that do not come, or cannot be true', () => {
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
    expect(says(doubtful, 'MetricsAvailable')).toMatchObject({ status: 'False', reason: 'LoadUnavailable' });
    expect(says(doubtful, 'MetricsAvailable')?.message).toContain('new_load is negative');
    const missing = decide(observe({ workers: four, memory: calm }));
    expect(missing.actions).toEqual([]);
    expect(says(missing, 'MetricsAvailable')).toMatchObject({ status: 'False', reason: 'LoadUnavailable' });
  });

  test('do not grow it either, unless a wake is requested', () => {
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
  ])('keep none from being hot where %s asks for one whatever the load', (_, spec, hot) => {
    const problem = { kind: 'unreachable', detail: 'Prometheus: it cannot be reached', at: NOW } as const;
    const loadState = withProblem(EMPTY_LOAD, '', problem);
    const first = decide(
      observe({ source: 'group', group: groupObject(spec), loadState, memory: calmOf(0) }),
    );
    expect(first.memory.decision).toMatchObject({ hot, total: hot });
    expect(first.actions).toHaveLength(hot);
  });

  test('a source that answers what cannot be read is not called unreachable', () => {
    const detail = 'Prometheus: loadQuery answers with 2 series';
    const loadState = withProblem(EMPTY_LOAD, '', { kind: 'invalid', detail, at: NOW });
    const decision = decide(observe({ source: 'group', loadState, memory: calmOf(0) }));
    expect(says(decision, 'MetricsAvailable')).toMatchObject({ reason: 'LoadUnavailable' });
    expect(says(decision, 'Ready')).toMatchObject({ status: 'False', reason: 'LoadUnavailable' });
  });

  test('a source that cannot be reached is named', () => {
    const loadState = withProblem(EMPTY_LOAD, 'uid-a/7', {
      kind: 'unreachable',
      detail: 'worker a: it cannot be reached',
      at: NOW,
    });
    const decision = decide(observe({ workers: [worker('a')], loadState, memory: calm }));
    expect(says(decision, 'MetricsAvailable')).toMatchObject({
      status: 'False',
      reason: 'LoadUnavailable',
    });
    expect(says(decision, 'MetricsAvailable')?.message).toContain('it cannot be reached');
  });

  test('figures of one source for the whole group are judged alike', () => {
    const lie = withProblem(EMPTY_LOAD, '', { kind: 'invalid', detail: 'loadQuery is negative', at: NOW });
    const decision = decide(observe({ source: 'group', workers: four, loadState: lie, memory: calm }));
    expect(decision.actions).toEqual([]);
    expect(says(decision, 'MetricsAvailable')?.status).toBe('False');
  });
});

describe('a worker that is silent while others report', () => {
  const floor = groupObject({ minLoad: '150' });
  const both = [worker('a'), worker('b')];

  test('counts as no capacity once it should have reported, and another one is rented', () => {
    expect(decide(observe({ group: floor, workers: both, loadState: reports(['a', 'b']) })).actions).toEqual(
      [],
    );
    const decision = decide(observe({ group: floor, workers: both, loadState: reports(['a']) }));
    expect(kinds(decision)).toEqual(['create']);
    expect(decision.status.autoscaling).toMatchObject({ capacity: '100', hot: 3 });
  });

  test('is waited for after it has become ready', () => {
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

  test('wait while the Service cannot be written: new ones would receive no requests', () => {
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

  test.each(['v0:0000000000000000', undefined])(
    'stay where their hash, %s, says nothing about drift',
    (hash) => {
      const workers = [worker('a', { templateHash: hash }), worker('b', { templateHash: hash })];
      const floor = groupObject({ minLoad: '150' });
      const decision = decide(observe({ group: floor, workers, loadState: reports(['a', 'b']) }));
      expect(decision.actions).toEqual([]);
      expect(decision.status.updated).toBe(2);
    },
  );

  test('stay while a new one serves where no Service can lead to', () => {
    const hidden = worker('b', {
      object: workerObject('b', { status: { ...READY_AT, publicAddress: '10.0.0.8' } }),
    });
    const floor = groupObject({ minLoad: '150' });
    const workers = [worker('a', older), { ...hidden, templateHash: templateHash(floor) }];
    const decision = decide(observe({ group: floor, workers, loadState: reports(['a', 'b']) }));
    expect(decision.actions).toEqual([]);
    expect(says(decision, 'Ready')).toMatchObject({ status: 'False', reason: 'EndpointsLeftOut' });
  });
});

describe('a worker of another text whose machine fits the template (M4)', () => {
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

  test('takes over the text when the group updates its workers, and serves on', () => {
    const one = fitting();
    const decision = decided(one);
    expect(decision.actions).toEqual([{ type: 'update', worker: one }]);
    expect(decision.endpoints).toHaveLength(1);
  });

  test('stays as it is when the group updates workers only as they are deleted', () => {
    expect(decided(fitting(), { updateStrategy: { type: 'OnDelete' } }).actions).toEqual([]);
  });

  test.each<[string, Partial<Worker>]>([
    ['it is being deleted', { isDeleting: true }],
    ['it was told to go', { desiredRole: 'Gone', drainSince: NOW - SECOND }],
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

  test('keeps working when no request may wait longer and drainTimeout is not over', () => {
    expect(actionsSince(45)).toEqual([]);
  });

  test('is deleted when drainTimeout is over', () => {
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

describe('the Service leads to', () => {
  test.each<[string, Parameters<typeof worker>[1], boolean]>([
    ['a hot worker that serves', {}, true],
    ['no worker that does not serve', { isServing: false }, false],
    ['no worker that goes cold', { desiredRole: 'Cold', drainSince: NOW - SECOND }, false],
    ['no worker that goes', { desiredRole: 'Gone', drainSince: NOW - SECOND }, false],
    ['no worker that is being deleted', { isDeleting: true }, false],
  ])('%s', (_, overrides, isThere) => {
    const floor = groupObject({ minLoad: '50' });
    const decision = decide(
      observe({ group: floor, workers: [worker('a', overrides)], loadState: reports(['a']) }),
    );
    expect(decision.endpoints?.map((one) => one.worker.metadata.name)).toEqual(isThere ? ['a'] : []);
  });

  test('no worker that is ordered to leave in the same pass', () => {
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
    ['keeps its first worker until it has been ready once', groupObject({}, born(24)), {}, true],
    ['keeps it, however late after its own beginning it was asked for', groupObject({}, born(600)), {}, true],
    ['lets it go when it should have booted long ago', groupObject({}, born(26)), overdue, false],
    [
      'keeps one that serves where nobody can be led to, until it should have been ready',
      groupObject({}, born(25)),
      { isServing: true },
      true,
    ],
    [
      'lets one go that serves where nobody can be led to, once it should have been ready long ago',
      groupObject({}, born(26)),
      { isServing: true },
      false,
    ],
    ['keeps its last one while that is to come back and none tells of a load', served(600), {}, true],
    ['lets it go when it should have come back long ago', served(600), overdue, false],
    ['lets it go where it tells of no load', served(600), { isServing: true }, false],
  ])('%s', (_, group, overrides, isKept) => {
    const one = { ...booting, ...overrides };
    const loadState = one.isServing ? reports(['a']) : EMPTY_LOAD;
    const decision = decide(observe({ group, workers: [one], memory: calm, loadState }));
    expect(decision.memory.decision?.hot).toBe(isKept ? 1 : 0);
    expect(decision.actions).toHaveLength(isKept ? 0 : 1);
  });
});

test('a group that was never ready keeps all of which one still boots', () => {
  const booting = worker('b', { isServing: false, wasEverReady: false, hasRun: false });
  const group = groupObject(
    {},
    { metadata: { creationTimestamp: new Date(NOW - 3600 * SECOND).toISOString() } },
  );
  const workers = [worker('a'), booting];
  const { memory } = decide(observe({ group, workers, memory: calmOf(2), loadState: reports(['a']) }));
  expect(memory.decision?.rule).toBe('NotReadyYet');
});

test('of a group without ports those are ready that serve', () => {
  const { offers, image } = groupObject().spec.template.spec;
  const group = groupObject({ template: { spec: { offers, image } } });
  const workers = [worker('a'), worker('b', { isServing: false })];
  expect(decide(observe({ group, workers })).status.ready).toBe(1);
});

test('a drained worker may leave half a tick after its order when ticks are short', () => {
  const workers = [worker('a'), worker('b', { desiredRole: 'Gone', drainSince: NOW - 1500 })];
  const situation = { group: groupObject({ minLoad: '50' }), workers, memory: calmOf(1) };
  const loadState = reports(['a', 'b']);
  expect(decide(observe({ ...situation, loadState })).actions).toEqual([]);
  const times = { ...observedGroup().clock.times, tickMs: 2000 };
  expect(decide(observe({ ...situation, loadState, times })).actions).toMatchObject([{ type: 'delete' }]);
});

describe('after a restart', () => {
  test('a pass before the first tick decides as well', () => {
    const { memory } = decide(observe({ isTick: false, group: groupObject({ minLoad: '50' }) }));
    expect(memory.decision).toMatchObject({ hot: 1 });
  });

  const boots = { isServing: false, wasEverReady: false, hasRun: false };

  test.each<[string, readonly Worker[], boolean]>([
    ['one that boots alone may have been woken, and has its time', [worker('a', boots)], true],
    ['one that serves needs none', [worker('a')], false],
    ['one that boots beside one that serves has none', [worker('a', boots), worker('b')], false],
    ['one that is to stay cold was not woken', [worker('a', { ...boots, desiredRole: 'Cold' })], false],
    ['nobody was woken where nobody is', [], false],
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
  test('makes workers one after the other, since each must know where the others are', () => {
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

  test('destroys the worker and reports a host failure after wakeTimeout', () => {
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
      'its own group if the worker is broken, since the image may be the cause (S1, S2)',
      floor,
      { isServing: false, unreadySince: NOW - 3_600_000 },
      'WorkersFailing',
      false,
    ],
  ] as const)('reports a host failure for %s', (_, of, given, reason, isForAll) => {
    const { actions } = decide(observe({ group: of, workers: [worker('a', given)] }));
    expect(actions).toContainEqual(expect.objectContaining({ type: 'reportHostFailure', reason, isForAll }));
  });

  test('not a second before, and not while the breaker of the account is open', () => {
    const almost = worker('a', { ...failing, wokenAt: NOW - 60 * SECOND + 1 });
    const early = decide(observe({ group: floor, workers: [almost] }));
    expect(early.actions).toEqual([]);
    expect(early.requeueAfterMs).toBeLessThanOrEqual(10);
    const frozen = new Set(['uid-a']);
    expect(decide(observe({ group: floor, workers: [worker('a', failing)], frozen })).actions).toEqual([]);
  });
});

describe('workers without an owner', () => {
  test('are taken in', () => {
    const orphan = workerObject('lost', { metadata: { labels: { [labels.endpointGroup]: 'llm' } } });
    expect(kinds(decide(observe({ orphans: [orphan] })))).toEqual(['adopt']);
  });

  test('may be all that is needed: none is rented in the pass that takes them in', () => {
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
      status: { conditions: [condition('AtMaxWorkers', 'True', '2026-11-20T11:00:00Z')], hot: 3, ready: 3 },
    },
  );

  test('destroys its workers, and is released when they are gone', () => {
    const going = decide(
      observe({ group: deleted, workers: [worker('a'), worker('b', { isDeleting: true })] }),
    );
    expect(going.actions).toMatchObject([{ type: 'delete', worker: { name: 'a' } }]);
    expect(going.endpoints).toEqual([]);
    expect(going).toMatchObject({ waiting: [], because: '' });
    expect(going.status).toMatchObject({
      phase: 'Deleting',
      hot: 0,
      ready: 0,
      total: 2,
      observedGeneration: 2,
    });
    expect(kinds(decide(observe({ group: deleted })))).toEqual(['release']);
  });

  test('reads no load at each look, since nothing is decided by it', () => {
    for (const memory of [undefined, calmOf(1)])
      expect(decide(observe({ group: deleted, workers: [worker('a')], memory })).memory.nextTickAt).toBe(
        NOW + 10 * SECOND,
      );
  });

  test('says nothing of an older generation any more', () => {
    const { status } = decide(observe({ group: deleted, workers: [worker('a')] }));
    expect(status.conditions?.map(({ type, observedGeneration }) => [type, observedGeneration])).toEqual([
      ['Ready', 2],
      ['Reconciling', 2],
    ]);
  });

  test('keeps since when it has been what it is', () => {
    const since = '2026-11-20T10:00:00Z';
    const conditions = [condition('Ready', 'False', since), condition('Reconciling', 'True', since)];
    const again = { ...deleted, status: { conditions } };
    const { status } = decide(observe({ group: again, workers: [worker('a')] }));
    expect(status.conditions?.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual([since, since]);
  });

  test('of which nothing was written yet is released all the same', () => {
    const fresh = { ...groupObject(), metadata: { ...deleted.metadata, generation: undefined } };
    const { status, actions } = decide(observe({ group: fresh }));
    expect(actions).toEqual([{ type: 'release' }]);
    expect(status).toMatchObject({ observedGeneration: -1, phase: 'Deleting' });
  });

  test('leaves its workers where they are to be orphans', () => {
    const orphaning = { ...deleted, metadata: { ...deleted.metadata, finalizers: ['orphan'] } };
    const decision = decide(observe({ group: orphaning, workers: [worker('a')] }));
    expect(kinds(decision)).toEqual(['release']);
    expect(decision.endpoints).toBeUndefined();
  });
});

describe('the name of a new worker', () => {
  test('is the first that nothing has, be it a worker on its way out or one that was released', () => {
    const floor = groupObject({ minLoad: '250' });
    const [first, second] = [workerName(floor, 0), workerName(floor, 2)];
    const leaving = worker(first, { object: workerObject(first), isDeleting: true, isServing: false });
    const takenNames = new Set([second]);
    const decision = decide(observe({ group: floor, workers: [leaving], takenNames }));
    const made = decision.actions.flatMap((action) => (action.type === 'create' ? [action.ordinal] : []));
    expect(made).toEqual([1, 3, 4]);
  });

  test('is another for a group that was created again under its name', () => {
    const again = groupObject({}, { metadata: { uid: 'uid-again' } });
    expect(workerName(again, 0)).not.toBe(workerName(group, 0));
    expect(workerName(group, 0)).toMatch(/^llm-[a-z0-9]{6}$/);
  });
});

describe('a ceiling on what a group may spend', () => {
  const busy = { load: { type: 'Static', static: { load: '900' } }, minLoad: '900' };
  const rented = (spec: object) =>
    kinds(decide(observe({ group: groupObject({ ...busy, spreadBy: 'None', ...spec }) }))).filter(
      (kind) => kind === 'create',
    ).length;

  test('leaves room for as many workers as it pays at the price that one may cost', () => {
    expect(rented({})).toBeGreaterThan(3);
    expect(rented({ maxSpendPerHour: '1.30' })).toBe(2);
    expect(rented({ maxSpendPerHour: '0.50' })).toBe(0);
  });
});

describe('figures that move by themselves', () => {
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

  /** Whether they are written anew, where these were written so many seconds ago. */
  function isWritten({ secondsAgo, terms, lastActivity, now: more }: Written): boolean {
    const { autoscaling } = decide({ ...steady, ...more }).status;
    if (!autoscaling) throw new Error('Nothing was decided.');
    const at = new Date(NOW - secondsAgo * SECOND).toISOString();
    const before = {
      ...{ ...status, load: '0.007', lastActivity: lastActivity ?? status.lastActivity },
      autoscaling: { ...autoscaling, at, ...terms },
    };
    return decide({ ...steady, ...more, group: { ...floor, status: before } }).status.load !== '0.007';
  }

  test.each<[string, number, Partial<Terms>, boolean]>([
    ['stay as they were written while nothing moves', 3600, {}, false],
    ['stay where the load moved by 5 %', 60, { load: '84' }, false],
    ['are written where it moved by more', 60, { load: '84.3' }, true],
    ['are written where it fell by more', 60, { load: '75.9' }, true],
    ['stay until a minute has passed', 59, { load: '160' }, false],
    ['are written where the longest load moved', 60, { longLoad: '160' }, true],
    ['are written where the queue moved', 60, { queue: '1' }, true],
    ['are written where the capacity moved', 60, { capacity: '160' }, true],
    ['are written where a performance is known that was not', 60, { perf: undefined }, true],
    ['are written at once where other workers are wanted hot', 0, { hot: 2 }, true],
    ['are written at once where other workers are wanted in all', 0, { total: 2 }, true],
    ['are written at once where a clock that was ahead has written them', -1, {}, true],
  ])('%s', (_, secondsAgo, terms, written) => {
    expect(isWritten({ secondsAgo, terms })).toBe(written);
  });

  test.each<[string, Partial<typeof steady>, boolean]>([
    ['are written before a worker is made', { workers: [], memory: calmOf(0) }, true],
    ['are written where a wake is asked for, so that a restart knows of it', { wakeAsked: true }, true],
    ['stay where an orphan is taken in, which spends nothing', { orphans: [workerObject('lost')] }, false],
  ])('%s', (_, more, written) => {
    expect(isWritten({ secondsAgo: 1, now: more })).toBe(written);
  });

  test.each<[string, number, boolean]>([
    ['are written where work ended half a minute ago, since idleness counts from there', 30, true],
    ['stay until then', 29, false],
  ])('%s', (_, secondsAgo, written) => {
    const loadState = { ...reports(['a']), lastActivity: NOW - secondsAgo * SECOND };
    const idle = { lastActivity: '2026-11-20T11:30:00Z', now: { loadState } };
    expect(isWritten({ secondsAgo: 60, ...idle })).toBe(written);
    expect(isWritten({ secondsAgo: 59, ...idle })).toBe(false);
  });

  test('are kept whole: load, terms, maxima, activity', () => {
    const before = { ...status, lastActivity: '2026-11-20T11:59:50Z', loadMaxima: [] };
    const { conditions: _, ...after } = decide({ ...steady, group: { ...floor, status: before } }).status;
    const { conditions: _before, ...kept } = before;
    expect(after).toEqual({ ...kept, panicUntil: undefined });
  });
});

describe('a group remembers', () => {
  test('that it was ready once', () => {
    const group = groupObject({}, { status: { everReady: true } });
    expect(decide(observe({ group })).status.everReady).toBe(true);
    expect(decide(observe()).status.everReady).toBe(false);
  });

  test('the maxima of an hour, and no older ones', () => {
    const maxima = (minutes: number) => [{ at: NOW - minutes * 60 * SECOND, load: 7 }];
    const loadState = (minutes: number) => ({
      ...EMPTY_LOAD,
      history: { ...EMPTY_LOAD.history, maxima: maxima(minutes) },
    });
    expect(decide(observe({ loadState: loadState(60) })).status.loadMaxima).toHaveLength(1);
    expect(decide(observe({ loadState: loadState(61) })).status.loadMaxima).toEqual([]);
  });

  test('a wake of any length as far as a status takes it', () => {
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
    ['is now where a process begins and load was on record', { group: busy }, '2026-11-20T12:00:00Z'],
    ['is what was recorded where none was', { group: idle }, recorded],
    ['is what was recorded while the process goes on', { group: busy, memory: calmOf(0) }, recorded],
    [
      'is now where a wake is asked for',
      { group: idle, memory: calmOf(0), wakeAsked: true },
      '2026-11-20T12:00:00Z',
    ],
    [
      'is the last report of work',
      { group: idle, loadState: { ...EMPTY_LOAD, lastActivity: NOW - SECOND } },
      '2026-11-20T11:59:59Z',
    ],
    [
      'is not later than now, whatever a clock that was ahead has noted',
      { group: groupObject({}, { status: { lastActivity: '2026-11-21T11:30:00Z' } }), memory: calmOf(0) },
      '2026-11-20T12:00:00Z',
    ],
  ])('%s', (_, given, lastActivity) => {
    expect(decide(observe(given)).status.lastActivity).toBe(lastActivity);
  });
});

describe('a restart counts as hot', () => {
  test.each<[string, Parameters<typeof worker>[1], boolean]>([
    ['a worker that is wanted hot', {}, true],
    ['no worker that is wanted cold', { desiredRole: 'Cold' }, false],
    ['no worker that is being deleted', { isDeleting: true }, false],
  ])('%s', (_, overrides, isHot) => {
    const { memory } = decide(observe({ workers: [worker('a', overrides)], loadState: reports(['a']) }));
    expect(memory.scaling.panicUntil).toBe(isHot ? NOW + 60 * SECOND : 0);
  });

  test('and goes on with the panic that is on record', () => {
    const group = groupObject({}, { status: { panicUntil: '2026-11-20T12:00:30Z' } });
    expect(decide(observe({ group })).memory.scaling.panicUntil).toBe(NOW + 30 * SECOND);
  });
});

describe('where workers stand apart the next is made', () => {
  const apart = groupObject({ minLoad: '250', spreadBy: 'Host' });
  test.each<[string, Parameters<typeof worker>[1], number]>([
    ['not while one has no machine yet', { isRented: false }, 0],
    ['once it has one', { isRented: true }, 1],
    [
      'beside one that is stopped without a machine',
      { isRented: false, isStopped: true, isOnHold: true, desiredRole: 'Gone' },
      1,
    ],
    ['beside one that is on its way out', { isRented: false, isDeleting: true }, 1],
    ['beside one that waits for a person', { isRented: false, isStalled: true }, 1],
    [
      'beside one that has found no machine for longer than a boot may take',
      { isRented: false, isOverdue: true },
      1,
    ],
  ])('%s', (_, overrides, made) => {
    const present = worker('a', { isServing: false, ...overrides });
    const { actions } = decide(observe({ group: apart, workers: [present], memory: calmOf(1) }));
    expect(actions.filter(({ type }) => type === 'create')).toHaveLength(made);
  });

  test('while one that sleeps is woken all the same', () => {
    const asleep = { desiredRole: 'Cold', powerState: 'Stopped', isServing: false, isStopped: true } as const;
    const workers = [worker('a', { isRented: false, isServing: false }), worker('b', asleep)];
    const { actions } = decide(observe({ group: apart, workers, memory: calmOf(1) }));
    expect(actions).toMatchObject([{ type: 'order', worker: { name: 'b' } }]);
  });
});

test('one that drains and is idle is not stopped in the pass that wants it back', () => {
  const group = groupObject({ minLoad: '150' });
  const workers = [worker('a'), worker('b', { desiredRole: 'Cold', drainSince: NOW - 25 * SECOND })];
  const { actions } = decide(
    observe({ group, workers, loadState: reports(['a', 'b'], 500), memory: calmOf(1) }),
  );
  expect(actions).toMatchObject([{ type: 'order', worker: { name: 'b' }, order: { desiredRole: 'Hot' } }]);
});

test('a worker that is deleted leaves the Service first, and one that stays does not', () => {
  const workers = [worker('a'), worker('b', { desiredRole: 'Gone', drainSince: NOW - 60 * SECOND })];
  const group = groupObject({ minLoad: '50' });
  const { actions, endpoints } = decide(
    observe({ group, workers, loadState: reports(['a', 'b']), memory: calmOf(1) }),
  );
  expect(actions).toMatchObject([{ type: 'delete', worker: { name: 'b' } }]);
  expect(endpoints?.map(({ worker: { metadata } }) => metadata.name)).toEqual(['a']);
});

describe('a worker that may not be taken in', () => {
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

  test('keeps its place, since it may bill', () => {
    expect(created({ refused: refused('lost') })).toBe(1);
  });

  test('delays all others until it was tried', () => {
    expect(created({ refused: [] })).toBe(0);
    expect(created({ refused: refused('another') })).toBe(0);
  });
});

describe('the next look is', () => {
  const floor = groupObject({ minLoad: '50', wakeTimeout: '60s', maxQueueTime: '30s' });
  const waking = { isServing: false, ranSinceWoken: false, wokenAt: NOW - 57 * SECOND };
  const draining = { desiredRole: 'Gone', drainSince: NOW - 26 * SECOND } as const;

  test.each<[string, Parameters<typeof worker>[1], number]>([
    ['at the next tick', {}, 10_000],
    ['when a wake has failed', waking, 3000],
    [
      'at the next tick where the woken one runs',
      { ...waking, ranSinceWoken: true, isServing: true },
      10_000,
    ],
    ['when nobody may wait any longer in who drains', draining, 4000],
    [
      'at the next tick where nobody can wait there',
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

describe('work looks like a queue', () => {
  const short = groupObject({ minLoad: '50', maxWorkers: 1, targetQueueTime: '2s' });
  test.each<[string, object, number, boolean]>([
    ['above the target time', { currentLoad: 201 }, 0, true],
    ['not at it', { currentLoad: 200 }, 0, false],
    [
      'not where waiting work is told apart, which is then no guess',
      { currentLoad: 201, waitingLoad: 201 },
      0,
      false,
    ],
    ['not where the capacity does not suffice, which is then the reason', { currentLoad: 201 }, 1000, false],
  ])('%s', (_, record, amount, looksSlow) => {
    const loadState = reports(['a'], amount, record);
    const { memory } = decide(
      observe({ group: short, workers: [worker('a')], loadState, memory: calmOf(1) }),
    );
    expect(memory.slowSince).toBe(looksSlow ? NOW : undefined);
  });
});

describe('the first pass of a process', () => {
  test('notes work that looks like a queue when it remembers nothing', () => {
    const short = groupObject({ minLoad: '50', maxWorkers: 1, targetQueueTime: '2s' });
    const loadState = reports(['a'], 0, { currentLoad: 201 });
    expect(decide(observe({ group: short, workers: [worker('a')], loadState })).memory.slowSince).toBe(NOW);
  });

  test('records since when a worker is broken when it reports an error', () => {
    const loadState = reports(['a'], 0, { error: 'out of memory' });
    const { status } = decide(observe({ workers: [worker('a')], loadState }));
    const since = '2026-11-20T12:00:00Z';
    expect(status.failingWorkers).toEqual([{ worker: 'a', instanceId: '7', since, error: 'out of memory' }]);
  });

  test('lets no action wait when it is a tick', () => {
    expect(decide(observe()).waiting).toEqual([]);
  });
});

describe('the endpoint', () => {
  const renamed = groupObject({ endpointName: 'chat' }, { status: { endpoint: 'llm.team-a.svc' } });
  const taken = {
    type: 'problem',
    reason: 'NameTaken',
    detail: 'Service chat belongs to somebody else.',
  } as const;

  test.each([
    ['a group that was renamed', { group: renamed }, /^chat\./],
    [
      'a group whose new name is taken: the former one, which leads on',
      { group: renamed, published: taken },
      /^llm\./,
    ],
    ['a group that never had another name', { group, published: taken }, /^llm\./],
  ])('of %s', (_, changes, expected) => {
    expect(decide(observe(changes)).status.endpoint).toMatch(expected);
  });
});

describe('workers that end for the template if other machines can be rented', () => {
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
    ['are as many as the group may miss', { group: floor(), workers: two }, ['a']],
    ['are all workers if the group may miss all', { group: floor(all), workers: two }, ['a', 'b']],
    [
      'are none of the present template',
      { group: floor(all), workers: [worker('a'), two[1] ?? worker('b')] },
      ['b'],
    ],
    ['are none if none is outdated', { group: floor(all), workers: [worker('a'), worker('b')] }, []],
    [
      'are none without a machine',
      { group: floor(all), workers: [worker('a', { ...outdated, isRented: false })] },
      [],
    ],
    [
      'are only those with a machine, beside one without',
      {
        group: floor(all),
        workers: [worker('a', { ...outdated, isRented: false, hasRun: false }), ...two.slice(1)],
      },
      ['b'],
    ],
    ['are none while the group is paused', { group: floor({ ...all, ...paused }), workers: two }, []],
    ['are none of a group that is being deleted', { group: deleting, workers: two }, []],
    [
      'are none that leave for another reason',
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
  const problem = 'The Secrets of its gateway cannot be written: no right';

  test.each([
    ['are checked when a check is due', { identity: due }, true],
    ['are not checked before', {}, false],
    ['are not checked for a group that is being deleted', { identity: due, group: deleting }, false],
  ])('%s', (_, changes, checksIdentity) => {
    expect(decide(observe(changes)).checksIdentity).toBe(checksIdentity);
  });

  test.each([true, false])('are named in the status while they cannot be written (tick: %s)', (isTick) => {
    const observed = observe({ isTick, identity: { problem, isDue: false } });
    const decision = decide(observed);
    expect(says(decision, 'Ready')).toMatchObject({
      reason: 'NotPermitted',
      message: expect.stringContaining(`${problem}.`),
    });
    expect(decision.waiting).toEqual([{ action: 'identity', detail: problem }]);
    const mended = decide({
      ...observed,
      refused: decision.waiting,
      identity: { problem: undefined, isDue: false },
    });
    expect([says(mended, 'Ready')?.reason, mended.waiting]).toEqual(['ScaledToZero', []]);
  });

  test('are named in no more text than the status takes', () => {
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

  test('name what keeps workers of an old template, and a container in which nothing runs', () => {
    const group = groupObject({ minLoad: '50' });
    const { events } = decide(observe({ group, workers: [outdated], outlook: blocked }));
    expect(events.map(({ reason }) => reason)).toEqual(['InvalidSpec', 'ReplacementBlocked']);
  });

  test('name a service that the group needs and has lost', () => {
    const before = condition('MetricsAvailable', 'True', '2026-11-20T11:10:00Z');
    const group = groupObject({ minLoad: '50' }, { status: { everReady: true, conditions: [before] } });
    const { services } = decide(observe({ group, workers: [worker('a')] }));
    expect(services.map(({ reason }) => reason)).toEqual(['LoadUnavailable']);
  });

  test('name no service that a group loses while it is being deleted', () => {
    const metadata = { deletionTimestamp: '2026-11-20T11:59:00Z' };
    const { events, services } = decide(observe({ group: groupObject({}, { metadata }) }));
    expect([events.map(({ reason }) => reason), services]).toEqual([['InvalidSpec'], []]);
  });
});
