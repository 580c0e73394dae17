import { describe, expect, test } from 'vitest';
import { groupObject, workerObject } from '../../../test/builders/group-worker.ts';
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

test('the group of these tests waits ten minutes by default', () => {
  expect(groupObject().spec.notReadyTimeout).toBe('10m');
});
