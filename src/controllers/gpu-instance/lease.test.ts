import { describe, expect, test } from 'vitest';
import { type Given, given, movingRecord, time, withMachine } from '../../../test/builders/observed.ts';
import type { GpuInstanceManifestSpec } from '../../api/v1alpha1/gpu-instance.ts';
import { decide } from './decide.ts';
import type { LeaseView } from './types.ts';

const MINUTE = 60_000;

/** Lease as far as the process knows it, renewed so many minutes ago. */
type Renewed = Omit<LeaseView, 'renewedAt' | 'hostKey'> & { readonly minutes?: number };

/** Returns the situation of a running machine with a lease of two hours. */
function leased(conditions: readonly object[] = []): Given {
  const spec = { lease: { duration: '2h', by: 'SSH' } } as const;
  return withMachine({}, { spec, status: { runningAt: time(-9_000), conditions } as object });
}

const decided = (view: Renewed, conditions: readonly object[] = []) => decidedOn(leased(conditions), view);

/** Returns the decision on an object whose lease is so. */
function decidedOn(situation: Given, { minutes, ...rest }: Renewed) {
  const observed = given(situation);
  const renewedAt = minutes === undefined ? undefined : observed.clock.steadyNow - minutes * MINUTE;
  const lease: LeaseView = { ...rest, hostKey: 'host-1', ...(renewedAt !== undefined && { renewedAt }) };
  const step = decide({ ...observed, machine: { ...observed.machine, lease } });
  if (step.type !== 'decision') throw new Error('no decision');
  const events = step.events.filter(({ action }) => action !== 'Provisioning' && action !== 'Renting');
  return { lease: step.status?.fields.lease, risk: step.status?.verdict.LeaseAtRisk, events };
}

test('a machine that was rented before its lease is said to have none, once', () => {
  const step = (
    selfEnd: object | undefined,
    conditions: readonly object[] = [],
    change: GpuInstanceManifestSpec = {},
  ) => {
    const spec = { lease: { duration: '2h', by: 'SSH' }, deletionPolicy: 'Destroy', ...change } as const;
    const status = { runningAt: time(-9_000), selfEnd, conditions } as object;
    const decision = decide(given(withMachine({}, { spec, status })));
    if (decision.type !== 'decision') throw new Error('no decision');
    const events = decision.events.filter(({ action }) => action !== 'Provisioning' && action !== 'Keeping');
    return { risk: decision.status?.verdict.LeaseAtRisk, events: events.length };
  };
  const life = { lifeSeconds: 4_200, proof: 'Proven' };
  const message = expect.stringContaining('rented without a lease');
  const risk = { status: 'True', reason: 'LeaseNotRenewed', message };
  expect(step(life)).toEqual({ risk, events: 1 });
  expect(step(life, atRisk)).toEqual({ risk, events: 0 });
  expect(step({ ...life, leaseSeconds: 7_200 })).toEqual({ risk: undefined, events: 0 });
  expect(step(undefined)).toEqual({ risk: undefined, events: 0 });
  expect(step(life, [], { deletionPolicy: 'Stop' })).toEqual({ risk: undefined, events: 0 });
  const adopted = { instanceId: '1', policy: 'Manage' } as const;
  expect(step(life, [], { adopt: adopted })).toEqual({ risk: undefined, events: 0 });
});

const atRisk = [{ type: 'LeaseAtRisk', status: 'True', reason: 'LeaseNotRenewed', message: '' }];

describe('the lease of a machine', () => {
  test('shows the last renewal and the pinned host key', () => {
    expect(decided({ minutes: 10, failures: 0 })).toEqual({
      lease: { since: time(0), renewedAt: time(-600), hostKey: 'host-1' },
      risk: undefined,
      events: [],
    });
  });

  test('keeps its recorded time when a process reads it back with a fraction of a second', () => {
    const since = time(-7_000);
    const recorded = { since, renewedAt: time(-3_600), hostKey: 'host-1' };
    const situation = leased();
    const read = { ...situation, status: { ...situation.status, lease: recorded } };
    const { lease, risk } = decidedOn(read, { minutes: 60 + 0.5 / MINUTE, failures: 0 });
    expect(lease).toEqual(recorded);
    expect(risk?.message).toContain(`was last renewed at ${time(-3_600)}.`);
    const renewed = decidedOn(read, { minutes: 60 - 1_000 / MINUTE, failures: 0 });
    expect(renewed.lease?.renewedAt).toBe(time(-3_599));
  });

  test('is reported by an event after two failures, once', () => {
    expect(decided({ minutes: 10, failures: 1, detail: 'no route' }).events).toEqual([]);
    expect(decided({ minutes: 10, failures: 2, detail: 'no route' }).events).toMatchObject([
      { type: 'Warning', reason: 'LeaseNotRenewed', note: 'The lease was not renewed 2 times: no route.' },
    ]);
    expect(decided({ minutes: 10, failures: 3, detail: 'no route' }).events).toEqual([]);
  });

  test('is at risk after half its duration, with the time of the end (C08)', () => {
    expect(decided({ minutes: 59, failures: 7, detail: 'no route' }).risk).toBeUndefined();
    const { risk, events } = decided({ minutes: 60, failures: 8, detail: 'no route' });
    expect(risk).toMatchObject({ status: 'True', reason: 'LeaseNotRenewed' });
    expect(risk?.message).toContain(`was last renewed at ${time(-3_600)}: no route.`);
    expect(risk?.message).toContain(`destroys itself at about ${time(3_600)}.`);
    expect(events).toMatchObject([{ type: 'Warning', reason: 'LeaseNotRenewed' }]);
    expect(decided({ minutes: 60, failures: 8, detail: 'no route' }, atRisk).events).toEqual([]);
  });

  test('is at risk without a reason when a process begins after half its duration', () => {
    const { risk } = decided({ minutes: 90, failures: 0 });
    expect(risk?.message).toContain(`was last renewed at ${time(-5_400)}. The machine destroys itself`);
  });

  test('stays with its machine when the record moves to another one', () => {
    const moved = decidedOn(movingRecord(leased()), { minutes: 90, failures: 8, detail: 'no route' });
    expect(moved).toEqual({ lease: undefined, risk: undefined, events: [] });
  });

  test('is not armed when no renewal ever worked, which is said', () => {
    expect(decided({ failures: 1, detail: 'no route' })).toMatchObject({ risk: undefined, events: [] });
    const { lease, risk } = decided({ failures: 2, detail: 'no route' });
    expect(lease).toEqual({ since: time(0), hostKey: 'host-1' });
    expect(risk?.message).toContain(
      'The lease is not armed, so that only the operator ends this machine: no route.',
    );
  });

  test('is reported when it is renewed again', () => {
    const { risk, events } = decided({ minutes: 0, failures: 0 }, atRisk);
    expect(risk).toBeUndefined();
    expect(events).toMatchObject([
      { type: 'Normal', reason: 'LeaseRenewed', note: 'The lease is renewed again.' },
    ]);
  });
});
