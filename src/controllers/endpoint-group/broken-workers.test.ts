import { describe, expect, test } from 'vitest';
import { condition, groupObject, workerObject } from '../../../test/builders/group-worker.ts';
import { calm, NOW, observedGroup, record, reports, worker } from '../../../test/builders/observed-group.ts';
import { changesOf } from './actions.ts';
import { decide } from './decide.ts';
import { EMPTY_LOAD, withReport } from './load/state.ts';
import { defaultTimes } from './times.ts';
import type { Decision } from './types.ts';
import { workerOf } from './workers/worker.ts';

const MINUTE = 60_000;
const withReplicas = (replicas: number) => groupObject({ replicas });
const conditionOf = ({ status }: Decision, type: string) =>
  status.conditions?.find((one) => one.type === type);
const deleted = ({ actions }: Decision) =>
  actions.flatMap((action) =>
    action.type === 'delete' || action.type === 'order' ? [action.worker.name] : [],
  );

/** Returns a worker that has run for some minutes without serving. */
const unready = (name: string, minutes: number) =>
  worker(name, { isServing: false, unreadySince: NOW - minutes * MINUTE, isOverdue: true });

describe('a worker that runs and never becomes ready (S1)', () => {
  test('is replaced after notReadyTimeout', () => {
    const decision = decide(
      observedGroup({ group: withReplicas(2), workers: [unready('a', 11), worker('b')], memory: calm(2) }),
    );
    expect(deleted(decision)).toEqual(['a']);
  });

  test('is kept until notReadyTimeout', () => {
    expect(
      deleted(
        decide(
          observedGroup({ group: withReplicas(2), workers: [unready('a', 9), worker('b')], memory: calm(2) }),
        ),
      ),
    ).toEqual([]);
  });

  test('scenario 103: is replaced one at a time and named in Ready when all workers fail', () => {
    const workers = ['a', 'b', 'c'].map((name) => unready(name, 30));
    const decision = decide(observedGroup({ group: withReplicas(3), workers, memory: calm(3) }));
    expect(deleted(decision)).toHaveLength(1);
    expect(conditionOf(decision, 'Ready')?.message).toContain('Worker a has been running but not ready');
  });

  test('is kept while another worker boots, or while it is on hold, frozen or new', () => {
    const booting = worker('b', { isServing: false, isOverdue: false });
    const kept = (change: Parameters<typeof observedGroup>[0]) =>
      expect(deleted(decide(observedGroup({ group: withReplicas(2), memory: calm(2), ...change })))).toEqual(
        [],
      );
    kept({ workers: [unready('a', 30), booting] });
    kept({ workers: [{ ...unready('a', 30), isOnHold: true }, worker('b')] });
    kept({ workers: [{ ...unready('a', 30), createdAt: NOW - 5 * MINUTE }, worker('b')] });
    kept({ workers: [unready('a', 30), worker('b')], frozen: new Set(['uid-a']) });
  });

  test('counts from the time of its last start', () => {
    const status = {
      actualStatus: 'running',
      runningAt: '2026-11-20T11:10:00Z',
      lastRunAt: '2026-11-20T11:30:00Z',
      conditions: [
        {
          type: 'Ready',
          status: 'False',
          reason: 'NotReachable',
          message: '',
          lastTransitionTime: '2026-11-20T11:00:00Z',
        },
      ],
    };
    const since = (change: object) =>
      workerOf(workerObject('a', { status: { ...status, ...change } as never }), NOW).unreadySince;
    expect(since({})).toBe(Date.parse('2026-11-20T11:30:00Z'));
    expect(since({ actualStatus: 'loading' })).toBeUndefined();
  });
});

describe('a worker that reports an error (S2)', () => {
  const broken = (more: Parameters<typeof observedGroup>[0] = {}) =>
    decide(
      observedGroup({
        group: withReplicas(1),
        workers: [worker('a')],
        loadState: reports(['a'], 0, { error: 'CUDA\n error' }),
        memory: calm(1),
        ...more,
      }),
    );

  test('leaves the Service at once, and the condition quotes its error', () => {
    const decision = broken();
    expect(decision.endpoints).toEqual([]);
    expect(conditionOf(decision, 'Ready')).toMatchObject({ status: 'False', reason: 'WorkersFailing' });
    expect(conditionOf(decision, 'Ready')?.message).toContain('Worker a reports: "CUDA error"');
    expect(deleted(decision)).toEqual([]);
  });

  test('is quoted in the condition when enough other workers are ready', () => {
    const decision = broken({
      workers: [worker('a'), worker('b')],
      loadState: withReport(reports(['b']), {
        ...{ reporter: 'uid-a/7', at: NOW, times: defaultTimes },
        record: record({ error: 'CUDA error' }),
      }),
    });
    expect(conditionOf(decision, 'Ready')).toMatchObject({ status: 'True', reason: 'Ready' });
    expect(conditionOf(decision, 'Ready')?.message).toContain('Worker a reports: "CUDA error"');
  });

  const at = (msAgo: number) => new Date(NOW - msAgo).toISOString();
  const failingFor = (ms: number, more: object = {}) =>
    groupObject(
      { replicas: 1 },
      {
        status: {
          failingWorkers: [{ worker: 'a', instanceId: '7', since: at(ms), error: 'CUDA error' }],
          ...more,
        },
      },
    );

  test('is replaced after a minute with a report of its host', () => {
    expect(deleted(broken({ group: failingFor(59_000) }))).toEqual([]);
    const replaced = broken({ group: failingFor(60_000) });
    expect(deleted(replaced)).toEqual(['a']);
    expect(replaced.actions).toContainEqual(
      expect.objectContaining({ type: 'reportHostFailure', reason: 'WorkersFailing' }),
    );
  });

  test('is replaced after a minute and unpublished before when the operator restarts', () => {
    const restarted = { memory: undefined, loadState: EMPTY_LOAD };
    const early = broken({ ...restarted, group: failingFor(30_000) });
    expect(early.endpoints).toEqual([]);
    expect(deleted(early)).toEqual([]);
    expect(conditionOf(early, 'Ready')?.message).toContain('Worker a reports: "CUDA error"');
    expect(early.status.failingWorkers).toEqual([
      { worker: 'a', instanceId: '7', since: '2026-11-20T11:59:30Z', error: 'CUDA error' },
    ]);
    expect(deleted(broken({ ...restarted, group: failingFor(60_000) }))).toEqual(['a']);
  });

  test('scenario 104: stays unpublished when it reports no more', () => {
    const silent = broken({ group: failingFor(30_000), now: NOW + 95_000, beganAt: NOW + 95_000 });
    expect(silent.endpoints).toEqual([]);
    expect(deleted(silent)).toEqual(['a']);
  });

  test('is published again when it reports no error or has another machine', () => {
    const well = broken({ group: failingFor(600_000), loadState: reports(['a']) });
    expect(well.endpoints).toHaveLength(1);
    expect(well.status.failingWorkers).toBeUndefined();
    const object = workerObject('a');
    const other = { ...object, status: { ...object.status, instanceId: '8' } as never };
    const moved = broken({
      group: failingFor(600_000),
      loadState: EMPTY_LOAD,
      workers: [worker('a', { object: other, reporter: 'uid-a/8' })],
    });
    expect(moved.status.failingWorkers).toBeUndefined();
  });

  test('keeps its recorded error when the error changes, and replaces an unreadable one', () => {
    const other = broken({ group: failingFor(30_000), loadState: reports(['a'], 0, { error: 'error 17' }) });
    expect(other.status.failingWorkers?.[0]?.error).toBe('CUDA error');
    expect(conditionOf(other, 'Ready')?.message).toContain('"error 17"');
    const unreadable = broken({ loadState: reports(['a'], 0, { error: '錯誤' }) });
    expect(unreadable.endpoints).toEqual([]);
    expect(conditionOf(unreadable, 'Ready')?.message).toContain('an error without readable text');
  });

  test('counts from now when its recorded time is in the future', () => {
    const ahead = broken({ group: failingFor(-600_000) });
    expect(ahead.status.failingWorkers?.[0]?.since).toBe('2026-11-20T12:00:00Z');
  });

  test('is forgotten when one source reports for the whole group', () => {
    const silent = broken({ group: failingFor(600_000), source: 'group', loadState: EMPTY_LOAD });
    expect(silent.status.failingWorkers).toBeUndefined();
  });
});

describe('the pace of replacing broken workers (S1, S2)', () => {
  const replaced = (minutesAgo: number, count: number, name = 'gone') => ({
    lastReplacement: {
      ...{ worker: name, count },
      at: new Date(NOW - minutesAgo * MINUTE).toISOString().replace('.000', ''),
    },
  });
  const old = worker('b', { createdAt: NOW - 1_000 * MINUTE });
  const paced = (status: object, workers = [unready('a', 40), old]) =>
    decide(
      observedGroup({
        group: groupObject({ replicas: 2 }, { status }),
        workers,
        loadState: reports(['b']),
        memory: calm(2),
      }),
    );

  test('scenario 105: is recorded with each replacement', () => {
    const first = paced({});
    expect(deleted(first)).toEqual(['a']);
    expect(first.status.lastReplacement).toEqual({ worker: 'a', at: '2026-11-20T12:00:00Z', count: 1 });
    expect(paced(replaced(30, 1)).status.lastReplacement?.count).toBe(2);
    const none = paced(replaced(5, 1));
    expect(none.status.lastReplacement).toEqual(replaced(5, 1).lastReplacement);
  });

  test.each([
    [1, 12],
    [2, 24],
    [3, 48],
    [4, 60],
    [9, 60],
  ])('after %i replacements in a row delays the next by %i minutes', (count, minutes) => {
    expect(deleted(paced(replaced(minutes - 1, count)))).toEqual([]);
    expect(deleted(paced(replaced(minutes, count)))).toEqual(['a']);
  });

  test('restarts when no worker was replaced for two hours', () => {
    expect(paced(replaced(119, 4)).status.lastReplacement?.count).toBe(5);
    expect(paced(replaced(120, 4)).status.lastReplacement?.count).toBe(1);
  });

  test('restarts when a new worker has served for the first delay', () => {
    const serving = (minutes: number, age = 25) =>
      worker('b', { createdAt: NOW - age * MINUTE, readySince: NOW - minutes * MINUTE });
    const beside = (b: ReturnType<typeof worker>) => paced(replaced(25, 4), [unready('a', 40), b]);
    expect(deleted(beside(serving(11)))).toEqual([]);
    expect(deleted(beside(serving(12)))).toEqual(['a']);
    expect(deleted(beside(serving(12, 26)))).toEqual([]);
  });

  test('is in the condition while a broken worker waits for its replacement', () => {
    expect(conditionOf(paced(replaced(5, 3)), 'Ready')?.message).toContain(
      '3 replaced in a row; next replacement after 2026-11-20T12:43:00Z.',
    );
    expect(conditionOf(paced(replaced(5, 1)), 'Ready')?.message).toContain(
      'Next replacement after 2026-11-20T12:07:00Z.',
    );
    expect(conditionOf(paced(replaced(5, 3), [worker('b'), worker('c')]), 'Ready')?.message).not.toContain(
      'row',
    );
  });

  test('continues a replacement that was recorded but not carried out', () => {
    const workers = [unready('a', 40), unready('c', 40)].map((one) => ({ ...one, isOverdue: false }));
    const retried = paced(replaced(1, 3, 'a'), workers);
    expect(deleted(retried)).toEqual(['a']);
    expect(retried.status.lastReplacement).toEqual(replaced(1, 3, 'a').lastReplacement);
  });

  test('does not continue a replacement when a new worker has the same name', () => {
    const reborn = { ...unready('a', 15), createdAt: NOW - 20 * MINUTE };
    expect(deleted(paced(replaced(20, 2, 'a'), [reborn, worker('b')]))).toEqual([]);
  });

  test('ignores a replacement that is recorded in the future', () => {
    expect(deleted(paced(replaced(-30, 4)))).toEqual(['a']);
  });
});

describe('a worker that boots for the cold pool and never becomes ready (S1)', () => {
  const cold = (minutes: number, more: Parameters<typeof worker>[1] = {}) => ({
    ...unready('a', minutes),
    desiredRole: 'Cold' as const,
    ...more,
  });
  const decided = (workers: ReturnType<typeof worker>[]) => {
    const group = groupObject({ replicas: 1, coldWorkers: 1 });
    return decide(observedGroup({ group, workers, loadState: reports(['b']), memory: calm(1) }));
  };

  const broken = ({ actions }: Decision) =>
    changesOf(actions).flatMap((change) =>
      change.type === 'destroy' && change.why === 'Broken' ? [change.name] : [],
    );

  test('is replaced and named in the condition', () => {
    const decision = decided([cold(11), worker('b')]);
    expect(broken(decision)).toEqual(['a']);
    expect(conditionOf(decision, 'Ready')?.message).toContain('Worker a has been running but not ready');
  });

  test('is kept while it is being stopped', () => {
    const stopping = workerOf(workerObject('a', { spec: { powerState: 'Stopped' } }), NOW);
    expect(stopping).toMatchObject({ desiredRole: 'Cold', isServing: false, isUp: true, isStopped: false });
    const decision = decided([stopping, worker('b')]);
    expect(broken(decision)).toEqual([]);
    expect(conditionOf(decision, 'Ready')?.message).not.toContain('Worker a');
  });

  test('is kept while it is stopped', () => {
    const asleep = cold(30, { unreadySince: undefined, isStopped: true, powerState: 'Stopped' });
    expect(broken(decided([asleep, worker('b')]))).toEqual([]);
  });
});

describe('the conditions of a group with several broken workers', () => {
  const ready = (given: Parameters<typeof observedGroup>[0]) =>
    conditionOf(decide(observedGroup(given)), 'Ready');
  const faulty = (well: readonly string[], errors: Readonly<Record<string, string>>) =>
    Object.entries(errors).reduce(
      (loadState, [name, error]) =>
        withReport(loadState, {
          reporter: `uid-${name}/7`,
          record: record({ error }),
          at: NOW,
          times: defaultTimes,
        }),
      reports(well),
    );

  test('quote the first error by name and count the others', () => {
    const workers = ['d', 'c', 'a', 'b'].map((name) => worker(name));
    const loadState = faulty(['d'], { c: 'no disk', a: '  CUDA\nerror \t  7 ', b: 'no memory' });
    const given = { group: withReplicas(4), workers, loadState, memory: calm(4) };
    expect(ready(given)).toMatchObject({
      status: 'False',
      reason: 'Scaling',
      message:
        '1 of 4 hot workers are ready. Worker a reports: "CUDA error 7". 2 other workers report errors.',
    });
    expect(ready({ ...given, workers: workers.toReversed() })).toEqual(ready(given));
  });

  test('count no other worker when only one reports an error', () => {
    const loadState = faulty(['b'], { a: 'no disk' });
    const workers = [worker('a'), worker('b')];
    expect(ready({ group: withReplicas(2), workers, loadState, memory: calm(2) })?.message).toBe(
      '1 of 2 hot workers are ready. Worker a reports: "no disk".',
    );
  });

  test('name the first unready worker by name, with its reason', () => {
    const conditions = [{ ...condition('Ready', 'False', '2026-11-20T11:10:00Z'), reason: 'NotReachable' }];
    const probed = { ...unready('b', 10), object: workerObject('b', { status: { conditions } }) };
    const leaving = { ...unready('a', 30), desiredRole: 'Gone' as const };
    const given = {
      group: withReplicas(3),
      workers: [unready('c', 30), probed, leaving, worker('d')],
      loadState: reports(['d']),
      memory: calm(3),
    };
    expect(ready(given)?.message).toBe(
      '1 of 3 hot workers are ready. Worker b has been running but not ready (NotReachable) for longer than notReadyTimeout (10m).',
    );
    expect(ready({ ...given, workers: given.workers.toReversed() })).toEqual(ready(given));
  });

  test('give the reason unknown when the worker has no condition Ready', () => {
    const running = { conditions: [condition('Running', 'True', '2026-11-20T11:10:00Z')] };
    for (const status of [{}, running]) {
      const mute = { ...unready('a', 30), object: workerObject('a', { status }) };
      const given = {
        group: withReplicas(2),
        workers: [mute, worker('b')],
        loadState: reports(['b']),
        memory: calm(2),
      };
      expect(ready(given)?.message).toContain('Worker a has been running but not ready (unknown)');
    }
  });

  test('name no worker that is unready for less than notReadyTimeout', () => {
    const workers = [
      { ...unready('a', 10), unreadySince: NOW - 10 * MINUTE + 1 },
      worker('b', { isServing: false }),
      worker('c'),
    ];
    const given = { group: withReplicas(3), workers, loadState: reports(['c']), memory: calm(3) };
    expect(ready(given)?.message).toBe('1 of 3 hot workers are ready.');
  });

  test('report progress when only a cold worker is stalled', () => {
    const workers = [worker('a'), worker('b', { desiredRole: 'Cold', isServing: false, isStalled: true })];
    const decision = decide(
      observedGroup({ group: withReplicas(1), workers, loadState: reports(['a']), memory: calm(1) }),
    );
    expect(conditionOf(decision, 'Progressing')).toMatchObject({ status: 'True', reason: 'Scaling' });
  });

  test('drop conditions that no longer apply, and keep conditions of other writers', () => {
    const before = ['AtMaxWorkers', 'Custom'].map((type) => condition(type, 'True', '2026-11-20T11:10:00Z'));
    const group = groupObject({ replicas: 1 }, { status: { conditions: before } });
    const decision = decide(
      observedGroup({ group, workers: [worker('a')], loadState: reports(['a']), memory: calm(1) }),
    );
    expect(conditionOf(decision, 'AtMaxWorkers')).toBeUndefined();
    expect(conditionOf(decision, 'Custom')).toBeDefined();
    expect(conditionOf(decision, 'Ready')?.status).toBe('True');
  });

  test('count the other refused writes', () => {
    const detail = 'Cannot create a worker: exceeded quota';
    const refused = [0, 1, 2].map((ordinal) => ({ action: `create ${ordinal}`, detail }));
    expect(ready({ group: withReplicas(3), memory: calm(3), refused })?.message).toContain(
      `${detail}. 2 other writes are refused too.`,
    );
  });
});

test('the default of notReadyTimeout is ten minutes', () => {
  expect(groupObject().spec.notReadyTimeout).toBe('10m');
});
