import { describe, expect, test } from 'vitest';
import { given, NOW, time } from '../../test/builders/observed.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import {
  cancelAt,
  expiresAt,
  hasService,
  isAtLostLimit,
  isRun,
  maxLifetimeOf,
  outcomeOf,
  type RunResult,
  type RunStatus,
  retryAt,
  runAfterEnd,
  runAfterRental,
  settledReason,
  settledRun,
  stopGraceMs,
} from './run.ts';

const LIMITS = {
  ...({ onSuccess: 'Destroy', onFailure: 'Destroy', backoffLimit: 1, lostLimit: 1 } as const),
  ...{ stopGrace: '30s', logBytes: '64Ki' },
};

function run(
  status: RunStatus = {},
  completion: Partial<GpuInstance['spec']['completion']> = {},
): GpuInstance {
  const { object } = given();
  return {
    ...object,
    spec: { ...object.spec, completion: { ...LIMITS, ...completion } },
    status: { ...object.status, run: status },
  };
}

function withoutStatus({ status: _, ...object }: GpuInstance): GpuInstance {
  return object;
}

/** A run that the operator has not seen yet. */
const NEW_RUN = withoutStatus(run());
/** An object that is no run, before and after its first status. */
const NEW_OBJECT = withoutStatus(given().object);
const OBJECT: GpuInstance = { ...given().object, status: { run: { lost: 9, outcome: 'Completed' } } };

const exited = (exitCode: number) => ({ type: 'exited', exitCode }) as const;
const log = (name: string) => ({ secretRef: { name }, bytes: 7, truncated: false });
const settle = (object: GpuInstance, result: RunResult) =>
  settledRun(object, { attempt: 3, result, now: NOW });
const at = time(0);

describe('the result of a machine', () => {
  test.each<[string, GpuInstance, RunResult, RunStatus]>([
    [
      'completes the run with code 0',
      run({ attempts: 2, failed: 1, collectingSince: at }),
      { ...exited(0), message: 'done' },
      {
        ...{ attempts: 2, failed: 1, exitCode: 0, message: 'done' },
        ...{ settled: { attempt: 3, reason: 'Completed', at }, outcome: 'Completed', finishedAt: at },
      },
    ],
    [
      'replaces message and log of the attempt before',
      run({ message: 'before', log: log('before') }),
      { ...exited(0), message: 'now', log: log('now') },
      {
        ...{ exitCode: 0, message: 'now', log: log('now') },
        ...{ settled: { attempt: 3, reason: 'Completed', at }, outcome: 'Completed', finishedAt: at },
      },
    ],
    [
      'has no message if the program printed nothing',
      run({ message: 'before' }),
      { ...exited(0), message: '' },
      {
        ...{ exitCode: 0, settled: { attempt: 3, reason: 'Completed', at } },
        ...{ outcome: 'Completed', finishedAt: at },
      },
    ],
    [
      'is the first of a run without a status',
      NEW_RUN,
      { type: 'unknown' },
      { lost: 1, settled: { attempt: 3, reason: 'ResultUnknown', at } },
    ],
    [
      'is retried with another code below backoffLimit',
      run(),
      exited(7),
      { exitCode: 7, failed: 1, settled: { attempt: 3, reason: 'RunFailed', at } },
    ],
    [
      'fails the run above backoffLimit',
      run({ failed: 1, message: 'of the attempt before' }),
      exited(7),
      {
        ...{ exitCode: 7, failed: 2, settled: { attempt: 3, reason: 'BackoffLimit', at } },
        ...{ outcome: 'BackoffLimit', finishedAt: at },
      },
    ],
    [
      'fails the run with a code that is not in retryCodes',
      run({}, { retryCodes: [1, 137] }),
      exited(7),
      {
        ...{ exitCode: 7, failed: 1, settled: { attempt: 3, reason: 'BackoffLimit', at } },
        ...{ outcome: 'BackoffLimit', finishedAt: at },
      },
    ],
    [
      'is retried with a code in retryCodes',
      run({}, { retryCodes: [1, 137] }),
      exited(137),
      { exitCode: 137, failed: 1, settled: { attempt: 3, reason: 'RunFailed', at } },
    ],
    [
      'counts as lost when it is unknown, and never as a failure',
      run({ failed: 1 }),
      { type: 'unknown' },
      { failed: 1, lost: 1, settled: { attempt: 3, reason: 'ResultUnknown', at } },
    ],
    [
      'fails the run above lostLimit',
      run({ lost: 1 }),
      { type: 'unknown' },
      {
        ...{ lost: 2, settled: { attempt: 3, reason: 'LostLimit', at } },
        ...{ outcome: 'LostLimit', finishedAt: at },
      },
    ],
    [
      'is given up when the run is cancelled',
      run({ failed: 1 }),
      { type: 'ended', reason: 'Cancelled' },
      {
        ...{ failed: 1, settled: { attempt: 3, reason: 'Cancelled', at } },
        ...{ outcome: 'Cancelled', finishedAt: at },
      },
    ],
  ])('%s', (_, object, result, expected) => {
    expect(settle(object, result)).toEqual(expected);
  });

  test('belongs to no attempt if the run ends without a machine', () => {
    const result: RunResult = { type: 'ended', reason: 'DeadlineExceeded' };
    expect(settledRun(run(), { result, now: NOW })).toEqual({ outcome: 'DeadlineExceeded', finishedAt: at });
  });

  test('has a reason for its own attempt only, and none before it is known', () => {
    const settled = { attempt: 3, reason: 'RunFailed', at };
    expect(settledReason(run({ settled }), 3)).toBe('RunFailed');
    expect(settledReason(run({ settled }), 4)).toBeUndefined();
    expect(settledReason(run({ settled: { ...settled, reason: 'OfAnotherVersion' } }), 3)).toBeUndefined();
    expect(settledReason(run(), 3)).toBeUndefined();
    expect(settledReason(NEW_RUN, 3)).toBeUndefined();
  });
});

describe('the result of a run', () => {
  test('is the outcome in its status', () => {
    expect(outcomeOf(run({ outcome: 'BackoffLimit' }))).toBe('BackoffLimit');
    expect(outcomeOf(run({ outcome: 'OfAnotherVersion' }))).toBeUndefined();
  });

  test('is undefined before its end, and for an object that is no run', () => {
    for (const object of [run(), { ...run(), status: {} }, NEW_RUN, OBJECT])
      expect(outcomeOf(object)).toBeUndefined();
  });
});

test.each<[number, boolean]>([
  [1, false],
  [2, true],
])('after %s lost machines of at most 1, is above lostLimit: %s', (lost, isAbove) => {
  expect(isAtLostLimit(run({ lost }))).toBe(isAbove);
});

test('is not above lostLimit if no machine is lost, or the object is no run', () => {
  for (const object of [run(), { ...run(), status: {} }, NEW_RUN, OBJECT])
    expect(isAtLostLimit(object)).toBe(false);
});

test.each([
  ['30s', 30_000],
  ['10m', 600_000],
  ['1h', 600_000],
])('waits after a stop for stopGrace %s: %s ms', (stopGrace, ms) => {
  expect(stopGraceMs(run({}, { stopGrace }))).toBe(ms);
});

test('waits after no stop if the object is no run', () => {
  expect(isRun(run())).toBe(true);
  expect(isRun(OBJECT)).toBe(false);
  expect(stopGraceMs(OBJECT)).toBe(0);
});

describe('the end of a machine', () => {
  test('is a loss without a result', () => {
    expect(runAfterEnd(run({ attempts: 1, collectingSince: at }), 1, 'HostOffline')).toEqual({
      ...{ attempts: 1, lost: 1 },
    });
  });

  test('is no loss after a result, and none by request', () => {
    const settled = { attempt: 1, reason: 'RunFailed', at };
    expect(runAfterEnd(run({ settled }), 1, 'Vanished')).toEqual({ settled });
    expect(runAfterEnd(run({ stopped: true }), 1, 'ReplaceRequested')).toEqual({});
  });

  test('is a loss if the result is of an earlier machine', () => {
    const settled = { attempt: 1, reason: 'RunFailed', at };
    expect(runAfterEnd(run({ settled }), 2, 'Vanished')).toEqual({ settled, lost: 1 });
  });

  test('is the first loss of a run without a status', () => {
    expect(runAfterEnd(NEW_RUN, 1, 'HostOffline')).toEqual({ lost: 1 });
  });

  test('changes nothing if the object is no run', () => {
    expect(runAfterEnd(OBJECT, 1, 'HostOffline')).toEqual(OBJECT.status?.run);
    expect(runAfterEnd(NEW_OBJECT, 1, 'HostOffline')).toBeUndefined();
  });
});

test('counts each rented machine once', () => {
  expect(runAfterRental(run(), true)).toEqual({ attempts: 1 });
  expect(runAfterRental(run({ attempts: 4, stopped: true, collectingSince: at }), true)).toEqual({
    attempts: 5,
  });
  expect(runAfterRental(run({ attempts: 4 }), false)).toEqual({ attempts: 4 });
  expect(runAfterRental(NEW_RUN, true)).toEqual({ attempts: 1 });
  expect(runAfterRental(OBJECT, true)).toEqual(OBJECT.status?.run);
  expect(runAfterRental(NEW_OBJECT, true)).toBeUndefined();
});

test.each([
  [1, 10],
  [2, 20],
  [5, 160],
  [6, 300],
  [100, 300],
])('waits after %s failed attempts for %s s', (failed, seconds) => {
  const settled = { attempt: 1, reason: 'RunFailed', at };
  expect(retryAt(run({ failed, settled }))).toBe(NOW + seconds * 1_000);
});

test('does not wait after a machine that was lost', () => {
  expect(retryAt(run({ failed: 1, settled: { attempt: 1, reason: 'ResultUnknown', at } }))).toBeUndefined();
  expect(retryAt(run())).toBeUndefined();
  expect(retryAt(NEW_RUN)).toBeUndefined();
});

test('has 24 h of lifetime and no Service, unless the object is no run', () => {
  const { object } = given();
  expect(maxLifetimeOf(run().spec)).toBe('24h');
  expect(maxLifetimeOf({ ...run().spec, maxLifetime: '2h' })).toBe('2h');
  expect(maxLifetimeOf(object.spec)).toBeUndefined();
  const service = { enabled: true };
  expect(hasService({ spec: { ...run().spec, service } })).toBe(false);
  expect(hasService({ spec: { ...object.spec, service } })).toBe(true);
});

test('is cancelled at the time of the annotation, for a run only', () => {
  const cancelled = (object: GpuInstance, value: string) => ({
    ...object,
    metadata: { ...object.metadata, annotations: { 'gpurental.dev/cancel-at': value } },
  });
  expect(cancelAt(cancelled(run(), at))).toBe(NOW);
  expect(cancelAt(cancelled(run(), 'now'))).toBe('invalid');
  expect(cancelAt(cancelled(given().object, at))).toBeUndefined();
  expect(cancelAt(run())).toBeUndefined();
  const { annotations: _, ...metadata } = run().metadata;
  expect(cancelAt({ ...run(), metadata })).toBeUndefined();
});

test('expires after its end, if it has a ttl', () => {
  expect(expiresAt(run({ finishedAt: at }, { ttlAfterFinished: '1h' }))).toBe(NOW + 3_600_000);
  expect(expiresAt(run({ finishedAt: at }))).toBeUndefined();
  expect(expiresAt(run({}, { ttlAfterFinished: '1h' }))).toBeUndefined();
  const waiting = run({}, { ttlAfterFinished: '1h' });
  expect(expiresAt({ ...waiting, status: {} })).toBeUndefined();
  expect(expiresAt({ spec: waiting.spec })).toBeUndefined();
  expect(expiresAt(OBJECT)).toBeUndefined();
});
