import { describe, expect, test } from 'vitest';
import { condition, groupObject, workerObject } from '../../../test/builders/group-worker.ts';
import { calm, NOW, observedGroup, record, reports, worker } from '../../../test/builders/observed-group.ts';
import { decide } from './decide.ts';
import { withReport } from './load/book.ts';
import { defaultTimes } from './scaling/scaling-times.ts';
import type { Decision } from './types.ts';
import { workerOf } from './workers/worker.ts';

const MINUTE = 60_000;
const wants = (replicas: number) => groupObject({ replicas });
const says = ({ status }: Decision, type: string) => status.conditions?.find((one) => one.type === type);
const deleted = ({ actions }: Decision) =>
  actions.flatMap((action) =>
    action.type === 'delete' || action.type === 'order' ? [action.worker.name] : [],
  );

/** Runs since then, and does not serve. */
const unready = (name: string, minutes: number) =>
  worker(name, { isServing: false, unreadySince: NOW - minutes * MINUTE, isOverdue: true });

describe('a worker that runs and never becomes ready (S1)', () => {
  test('is replaced after notReadyTimeout, and named in a condition', () => {
    const decision = decide(
      observedGroup({ group: wants(2), workers: [unready('a', 11), worker('b')], memory: calm(2) }),
    );
    expect(deleted(decision)).toEqual(['a']);
  });

  test('is kept before that', () => {
    expect(
      deleted(
        decide(observedGroup({ group: wants(2), workers: [unready('a', 9), worker('b')], memory: calm(2) })),
      ),
    ).toEqual([]);
  });

  test('is replaced one at a time when all of them fail', () => {
    const workers = ['a', 'b', 'c'].map((name) => unready(name, 30));
    const decision = decide(observedGroup({ group: wants(3), workers, memory: calm(3) }));
    expect(deleted(decision)).toHaveLength(1);
    expect(says(decision, 'Ready')?.message).toContain('Worker a runs and is not ready');
  });

  test('is kept while another is on its way, held, frozen or young', () => {
    const booting = worker('b', { isServing: false, isBooted: false, isOverdue: false });
    const kept = (change: Parameters<typeof observedGroup>[0]) =>
      expect(deleted(decide(observedGroup({ group: wants(2), memory: calm(2), ...change })))).toEqual([]);
    kept({ workers: [unready('a', 30), booting] });
    kept({ workers: [{ ...unready('a', 30), isHeld: true }, worker('b')] });
    kept({ workers: [{ ...unready('a', 30), createdAt: NOW - 5 * MINUTE }, worker('b')] });
    kept({ workers: [unready('a', 30), worker('b')], frozen: new Set(['uid-a']) });
  });

  test('counts from when it ran', () => {
    const status = {
      actualStatus: 'running',
      conditions: [
        {
          type: 'Ready',
          status: 'False',
          reason: 'ProbeFailing',
          message: '',
          lastTransitionTime: '2026-11-20T11:00:00Z',
        },
        {
          type: 'Booted',
          status: 'True',
          reason: 'Running',
          message: '',
          lastTransitionTime: '2026-11-20T11:30:00Z',
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
        group: wants(1),
        workers: [worker('a')],
        book: reports(['a'], 0, { error: 'CUDA\n error' }),
        memory: calm(1),
        ...more,
      }),
    );

  test('leaves the Service at once, and the group says what it reports', () => {
    const decision = broken();
    expect(decision.endpoints).toEqual([]);
    expect(says(decision, 'Ready')).toMatchObject({ status: 'False', reason: 'WorkersFailing' });
    expect(says(decision, 'Ready')?.message).toContain('Worker a reports: "CUDA error"');
    expect(deleted(decision)).toEqual([]);
  });

  test('is quoted in the condition although enough other workers are ready', () => {
    const decision = broken({
      workers: [worker('a'), worker('b')],
      book: withReport(reports(['b']), {
        ...{ reporter: 'uid-a/7', at: NOW, times: defaultTimes },
        record: record({ error: 'CUDA error' }),
      }),
    });
    expect(says(decision, 'Ready')).toMatchObject({ status: 'True', reason: 'Stable' });
    expect(says(decision, 'Ready')?.message).toContain('Worker a reports: "CUDA error"');
  });

  test('is replaced after a minute of it', () => {
    const since = (ms: number) => calm(1, { brokenSince: new Map([['uid-a/7', NOW - ms]]) });
    expect(deleted(broken({ memory: since(59_000) }))).toEqual([]);
    expect(deleted(broken({ memory: since(60_000) }))).toEqual(['a']);
  });
});

describe('the conditions of a group with several broken workers', () => {
  const ready = (given: Parameters<typeof observedGroup>[0]) => says(decide(observedGroup(given)), 'Ready');
  const faulty = (well: readonly string[], errors: Readonly<Record<string, string>>) =>
    Object.entries(errors).reduce(
      (book, [name, error]) =>
        withReport(book, {
          reporter: `uid-${name}/7`,
          record: record({ error }),
          at: NOW,
          times: defaultTimes,
        }),
      reports(well),
    );

  test('quote the first by name of those that report errors, and count the others', () => {
    const workers = ['d', 'c', 'a', 'b'].map((name) => worker(name));
    const book = faulty(['d'], { c: 'no disk', a: '  CUDA\nerror \t  7 ', b: 'no memory' });
    const given = { group: wants(4), workers, book, memory: calm(4) };
    expect(ready(given)).toMatchObject({
      status: 'False',
      reason: 'ScalingUp',
      message: '1 of 4 hot workers are ready. Worker a reports: "CUDA error 7". 2 more report errors.',
    });
    expect(ready({ ...given, workers: workers.toReversed() })).toEqual(ready(given));
  });

  test('count nobody else where one alone reports an error', () => {
    const book = faulty(['b'], { a: 'no disk' });
    const workers = [worker('a'), worker('b')];
    expect(ready({ group: wants(2), workers, book, memory: calm(2) })?.message).toBe(
      '1 of 2 hot workers are ready. Worker a reports: "no disk".',
    );
  });

  test('name the first by name of those that are not ready for too long, and why it is not', () => {
    const conditions = [
      condition('Booted', 'True', '2026-11-20T11:10:00Z'),
      { ...condition('Ready', 'False', '2026-11-20T11:10:00Z'), reason: 'ProbeFailing' },
    ];
    const probed = { ...unready('b', 10), object: workerObject('b', { status: { conditions } }) };
    const cold = { ...unready('a', 30), wanted: 'Cold' as const };
    const given = {
      group: wants(3),
      workers: [unready('c', 30), probed, cold, worker('d')],
      book: reports(['d']),
      memory: calm(3),
    };
    expect(ready(given)?.message).toBe(
      '1 of 3 hot workers are ready. Worker b runs and is not ready (ProbeFailing) for longer than notReadyTimeout 10m.',
    );
    expect(ready({ ...given, workers: given.workers.toReversed() })).toEqual(ready(given));
  });

  test('call the reason unknown where the worker has no condition Ready', () => {
    const booted = { conditions: [condition('Booted', 'True', '2026-11-20T11:10:00Z')] };
    for (const status of [{}, booted]) {
      const mute = { ...unready('a', 30), object: workerObject('a', { status }) };
      const given = { group: wants(2), workers: [mute, worker('b')], book: reports(['b']), memory: calm(2) };
      expect(ready(given)?.message).toContain('Worker a runs and is not ready (unknown)');
    }
  });

  test('name nobody who is not ready for less than notReadyTimeout', () => {
    const workers = [
      { ...unready('a', 10), unreadySince: NOW - 10 * MINUTE + 1 },
      worker('b', { isServing: false }),
      worker('c'),
    ];
    const given = { group: wants(3), workers, book: reports(['c']), memory: calm(3) };
    expect(ready(given)?.message).toBe('1 of 3 hot workers are ready.');
  });

  test('say that the group progresses where a cold worker alone cannot go on', () => {
    const workers = [worker('a'), worker('b', { wanted: 'Cold', isServing: false, isStalled: true })];
    const decision = decide(
      observedGroup({ group: wants(1), workers, book: reports(['a']), memory: calm(1) }),
    );
    expect(says(decision, 'Progressing')).toMatchObject({ status: 'True', reason: 'ScalingUp' });
  });

  test('leave out what holds no more, and keep what is written by others', () => {
    const before = ['AtMaxWorkers', 'Custom'].map((type) => condition(type, 'True', '2026-11-20T11:10:00Z'));
    const group = groupObject({ replicas: 1 }, { status: { conditions: before } });
    const decision = decide(
      observedGroup({ group, workers: [worker('a')], book: reports(['a']), memory: calm(1) }),
    );
    expect(says(decision, 'AtMaxWorkers')).toBeUndefined();
    expect(says(decision, 'Custom')).toBeDefined();
    expect(says(decision, 'Ready')?.status).toBe('True');
  });

  test('count the refused writes that are like the first', () => {
    const detail = 'Making a worker is refused: exceeded quota';
    const refused = [0, 1, 2].map((ordinal) => ({ action: `create ${ordinal}`, detail }));
    expect(ready({ group: wants(3), memory: calm(3), refused })?.message).toContain(
      `${detail}. And so are 2 more.`,
    );
  });
});

test('the group of these tests waits ten minutes by default', () => {
  expect(groupObject().spec.notReadyTimeout).toBe('10m');
});
