import { describe, expect, test } from 'vitest';
import { type Given, given, holding, NOW, time } from '../../test/builders/observed.ts';
import type { GpuInstance, GpuInstanceStatus } from '../api/v1alpha1/gpu-instance.ts';
import type { Reason } from '../api/v1alpha1/reasons.ts';
import { describeFailures, failuresAfter, failureWait, growingWaitMs, isOfSpec } from './repeated-failure.ts';

const PROBE = { readinessProbe: { tcpSocket: { port: 8080 } } };

/** Returns the object after its machine ended; the machine never ran unless the status shows it. */
function end(
  reason: Reason,
  status: Partial<GpuInstanceStatus> = {},
  { text, spec = {} }: { readonly text?: string; readonly spec?: Given['spec'] } = {},
) {
  const { runningAt: _ran, ...machine } = holding();
  const { object } = given({ spec, status: { ...machine, ...status } });
  return failuresAfter(object, { reason, endedAt: NOW, now: NOW, cost: 50_000, text });
}

const one = {
  reason: 'LoadingTimedOut',
  machines: 1,
  machineId: '9',
  at: time(-60),
  cost: '0.05',
  generation: 1,
};
const two = { ...one, machines: 2 };

describe('B04: failures in a row', () => {
  test('begin with the first machine, whose failure proves nothing', () => {
    const failures = end('LoadingTimedOut');
    expect(failures).toEqual({ ...one, machineId: '1100', at: time(0) });
    expect(isOfSpec(failures)).toBe(false);
  });

  test('are the fault of the spec when a second machine fails alike, and add up what they cost', () => {
    const failures = end('LoadingTimedOut', { repeatedFailure: one });
    expect(failures).toEqual({ ...two, machineId: '1100', at: time(0), cost: '0.10' });
    expect(isOfSpec(failures)).toBe(true);
  });

  test.each<[string, Reason, Partial<GpuInstanceStatus>, number | undefined]>([
    ['stay one when the same physical machine fails again', 'LoadingTimedOut', { machineId: '9' }, 1],
    ['begin anew when the next machine fails in another way', 'Exited', {}, 1],
    ['stay when a host goes offline', 'HostOffline', {}, 1],
    [
      'stay when a person replaces a machine that runs for a minute',
      'ReplaceRequested',
      { runningAt: time(-60) },
      1,
    ],
    ['end with a machine that ran for ten minutes', 'HostOffline', { runningAt: time(-600) }, undefined],
    [
      'end with a program that ran for ten minutes before it exited',
      'Exited',
      { runningAt: time(-1000), actualStatus: 'exited', actualStatusSince: time(-400) },
      undefined,
    ],
    [
      'begin anew with a program that exited at once and was seen ten minutes later',
      'Exited',
      { runningAt: time(-1000), actualStatus: 'exited', actualStatusSince: time(-990) },
      1,
    ],
    ['stay when a machine that ran does not load again', 'LoadingTimedOut', { runningAt: time(-300) }, 1],
  ])('%s', (_, reason, status, machines) => {
    expect(end(reason, { repeatedFailure: one, ...status })?.machines).toBe(machines);
  });

  test('go on in any of the ways once they are of the spec, on whichever machine', () => {
    expect(end('Exited', { repeatedFailure: two })).toMatchObject({ reason: 'Exited', machines: 3 });
    expect(end('LoadingTimedOut', { repeatedFailure: two, machineId: '9' })?.machines).toBe(3);
  });

  test('are forgotten by another generation of the spec', () => {
    expect(end('LoadingTimedOut', { repeatedFailure: { ...two, generation: 0 } })?.machines).toBe(1);
    expect(end('HostOffline', { repeatedFailure: { ...two, generation: 0 } })).toBeUndefined();
  });

  test('count a probe that never succeeded within five minutes, whatever ended the machine', () => {
    const ran = { runningAt: time(-300), repeatedFailure: { ...one, reason: 'NotReachable' } };
    expect(end('ReplaceRequested', ran, { spec: PROBE })).toMatchObject({
      reason: 'NotReachable',
      machines: 2,
    });
    const late = { ...ran, runningAt: time(-3600) };
    expect(end('HostOffline', late, { spec: PROBE })).toMatchObject({ machines: 2 });
    expect(end('HostOffline', { ...late, readyAt: time(-60) }, { spec: PROBE })).toBeUndefined();
    expect(end('ReplaceRequested', { ...ran, runningAt: time(-299) }, { spec: PROBE })?.machines).toBe(1);
  });

  test('repeat the text of the marketplace bounded, printable and without credentials', () => {
    const text = `pull\u0000 of\n\u202Ehttps://user:hunter2@registry.example/x failed ${'y'.repeat(500)}`;
    const said = end('LoadingTimedOut', {}, { text })?.text ?? '';
    expect(said).toHaveLength(160);
    expect(said).toMatch(/^pull of https:\/\/registry\.example\/x failed y+$/);
    expect(end('LoadingTimedOut', {}, { text: '\u0000\n' })?.text).toBeUndefined();
  });
});

describe('B04: the wait before the next rental', () => {
  const object = (status: Partial<GpuInstanceStatus>, spec: Given['spec'] = {}): GpuInstance =>
    given({ status, spec }).object;

  test.each([
    [2, 60],
    [3, 120],
    [4, 240],
    [7, 1920],
    [8, 3600],
    [1000, 3600],
  ])('after %i machines is %i s', (machines, seconds) => {
    const wait = failureWait(object({ repeatedFailure: { ...two, machines } }));
    expect(wait?.until).toBe(NOW - 60_000 + seconds * 1000);
  });

  test('is none after one machine, or for another spec than the one that failed', () => {
    expect(failureWait(object({ repeatedFailure: one }))).toBeUndefined();
    expect(failureWait(object({ repeatedFailure: { ...two, generation: 0 } }))).toBeUndefined();
    expect(failureWait(object({}))).toBeUndefined();
  });

  test('names image, pull Secret, last text, cost and the next rental', () => {
    const failed = { repeatedFailure: { ...two, text: 'manifest unknown' } };
    const says = (each: GpuInstance) => {
      const wait = failureWait(each);
      return wait && describeFailures(each, wait);
    };
    expect(says(object(failed, { imagePullSecretRef: { name: 'registry' } }))).toBe(
      '2 machines in a row failed (LoadingTimedOut) with image example/image:1 and pull Secret registry. Last status: "manifest unknown". They cost $0.05. Next rental: 2026-11-20T12:00:00Z.',
    );
    expect(says(object({ repeatedFailure: two }))).toContain('and no pull Secret. They cost');
  });

  test('grows from its first length for groups and objects alike', () => {
    expect([0, 1, 2, 3].map((inRow) => growingWaitMs(inRow, 720_000))).toEqual([
      720_000, 720_000, 1_440_000, 2_880_000,
    ]);
    expect(growingWaitMs(5000, 60_000)).toBe(3_600_000);
  });
});
