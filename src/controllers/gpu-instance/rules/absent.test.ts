import { describe, expect, test } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import { destroys, lists, OPEN_BREAKER } from '../../../../test/builders/ending-machine.ts';
import {
  at,
  type Given,
  given,
  holding,
  intent,
  NOW,
  type ObservedParts,
  time,
  UID,
} from '../../../../test/builders/observed.ts';
import type { GpuInstanceStatus } from '../../../api/v1alpha1/gpu-instance.ts';
import { decide } from '../decide.ts';
import type { Facts } from '../facts.ts';

const { table, close } = decisionTables('absent');

const absent = (begun: readonly number[], read?: 'absent' | 'present'): ObservedParts => ({
  absences: new Map([['1', { lists: begun, read }]]),
  listsBegun: begun,
});
const unlisted = (situation: Given = {}): Given => ({
  intent: intent({ issuedAt: at(-4000) }),
  ...situation,
  status: holding(situation.status),
});
const said = (type: 'Ready' | 'Reconciling', reason: string) => ({
  type,
  status: 'True' as const,
  reason,
  message: 'm',
  lastTransitionTime: time(-30),
});
const slow = {
  type: 'slow',
  since: 0,
  releasedAt: 0,
  releasedBy: 'hold',
  unhealthy: 4,
  message: 'm',
} as const;
const begun = (ready: string) => ({ conditions: [said('Reconciling', 'Replacing'), said('Ready', ready)] });

describe('a machine that the latest list does not show', () => {
  table([
    [
      'is waited for where there is no list yet',
      { ...unlisted(), list: 'none' },
      { rule: 'machine-missing', afterMs: 10000, onList: true },
    ],
    [
      'is not spoken of after one list',
      unlisted({ observed: absent(lists(-1)) }),
      { rule: 'machine-missing', afterMs: 60000, onList: true },
    ],
    [
      'is not spoken of where no list is known to miss it',
      unlisted(),
      { rule: 'machine-missing', afterMs: 60000, onList: true },
    ],
    [
      'is said to be missing after two',
      unlisted({ observed: absent(lists(-11, -1)) }),
      { rule: 'machine-missing', phase: 'Lost', says: 'NotRunning', afterMs: 60000, onList: true },
    ],
    [
      'is read by itself after lists far enough apart',
      unlisted({ observed: absent(lists(-61, -1)) }),
      { reads: [{ type: 'machine', instanceId: '1' }] },
    ],
    [
      'is still missing, not gone, while its own read shows it',
      unlisted({ observed: absent(lists(-61, -1), 'present') }),
      { rule: 'machine-missing', phase: 'Lost', says: 'NotRunning', afterMs: 60000, onList: true },
    ],
    [
      'is believed gone only by a key that proves its login',
      unlisted({ observed: absent(lists(-61, -1), 'absent') }),
      { reads: [{ type: 'loginProof' }] },
    ],
    [
      'has vanished by lists, read and login together',
      unlisted({ observed: { ...absent(lists(-61, -1), 'absent'), loginProven: true } }),
      {
        rule: 'machine-missing',
        record: 'status',
        phase: 'Replacing',
        says: 'Vanished',
        settled: ['1'],
        afterMs: 0,
      },
    ],
    [
      'is said to be missing and not judged while the breaker is open',
      unlisted({
        facts: { breaker: OPEN_BREAKER },
        observed: { ...absent(lists(-61, -1), 'absent'), loginProven: true },
      }),
      { rule: 'machine-missing', phase: 'Lost', says: 'NotRunning', afterMs: 60000, onList: true },
    ],
    [
      'has vanished in its turn after the hold of the breaker (C2)',
      unlisted({
        facts: { breaker: { ...slow, turn: UID } },
        observed: { ...absent(lists(-61, -1), 'absent'), loginProven: true },
      }),
      {
        rule: 'machine-missing',
        record: 'status',
        phase: 'Replacing',
        says: 'Vanished',
        settled: ['1'],
        afterMs: 0,
      },
    ],
    [
      'is not judged after the hold of the breaker unless it has the turn (C2)',
      unlisted({
        facts: { breaker: { ...slow, turn: 'another' } },
        observed: { ...absent(lists(-61, -1), 'absent'), loginProven: true },
      }),
      { rule: 'machine-missing', phase: 'Lost', says: 'NotRunning', afterMs: 60000, onList: true },
    ],
  ]);
});

describe('a machine that is gone when its own fuse was due (C12)', () => {
  const gone = { ...absent(lists(-61, -1), 'absent'), loginProven: true };
  const spec = { maxLifetime: '2h', ssh: true } as const;
  const held = (status: Partial<GpuInstanceStatus>, observed: object = gone, more: Given = {}) =>
    given(
      unlisted({
        spec,
        ...more,
        status: { rentedAt: time(-9_000), runningAt: time(-8_900), ...status },
        observed,
      }),
    );
  const life = { selfEnd: { lifeSeconds: 7_800, proof: 'Proven' } } as const;
  const leased = (renewed: number) => ({
    selfEnd: { lifeSeconds: 90_000, leaseSeconds: 7_200, proof: 'Unproven' } as const,
    lease: { since: time(-8_900), renewedAt: time(renewed) },
  });
  const decided = (facts: Facts) => {
    const step = decide(facts);
    if (step.type === 'publish') throw new Error('no decision');
    if (step.type === 'read') return step.requests;
    const past = step.status?.fields.history?.at(-1);
    const [warning] = step.events.filter(({ type }) => type === 'Warning');
    return { reason: past?.reason, endedAt: past?.endedAt, note: warning?.note };
  };

  test('ended itself by its life fuse, and cost money until then', () => {
    expect(decided(held(life))).toEqual({
      ...{ reason: 'EndedItself', endedAt: time(-1_100) },
      note: `Machine 1 ended itself at about ${time(-1_100)}, by the maxLifetime of its rental.`,
    });
  });

  test('ended itself by its lease, and cost money until then', () => {
    expect(decided(held(leased(-8_000)))).toEqual({
      ...{ reason: 'EndedItself', endedAt: time(-800) },
      note: `Machine 1 ended itself at about ${time(-800)}: its lease was last renewed at ${time(-8_000)}.`,
    });
  });

  test('vanished when lists lacked it before its fuse was due', () => {
    expect(decided(held(leased(-7_000)))).toMatchObject({ reason: 'Vanished' });
    const early = { ...absent(lists(-1_500, -1), 'absent'), loginProven: true };
    expect(decided(held(life, early))).toMatchObject({ reason: 'Vanished', endedAt: time(-1_500) });
  });

  test('vanished when this process has renewed its lease since', () => {
    const lease = { failures: 0, hostKey: undefined, renewedAt: at(-600) };
    expect(decided(held(leased(-8_000), { ...gone, lease }))).toMatchObject({ reason: 'Vanished' });
  });

  test('is not believed gone earlier than any other', () => {
    expect(decided(held(life, absent(lists(-61, -1), 'absent')))).toEqual([{ type: 'loginProof' }]);
    expect(decided(held(life, absent(lists(-61, -1))))).toEqual([{ type: 'machine', instanceId: '1' }]);
    const open = { facts: { breaker: OPEN_BREAKER } };
    expect(decided(held(life, gone, open))).toMatchObject({ reason: undefined });
    expect(decided(held(life, absent(lists(-1))))).toMatchObject({ reason: undefined });
  });

  test('keeps the reason for which the operator began to end it', () => {
    expect(decided(held({ ...life, ...begun('SpecChanged') }))).toMatchObject({ reason: 'SpecChanged' });
  });

  test('cost money until lists lacked it when its fuse is dated after that', () => {
    const ahead = { ...life, runningAt: time(-7_000) };
    expect(decided(held(ahead))).toMatchObject({ reason: 'EndedItself', endedAt: time(-61) });
  });

  test('is dated by the clock of the marketplace', () => {
    const behind = {
      facts: { serviceTime: { type: 'known', at: NOW - 60_000, isConfirmed: true } },
    } as const;
    expect(decided(held(life, gone, behind))).toMatchObject({ endedAt: time(-1_160) });
  });
});

describe('a machine that was rented and never seen', () => {
  table([
    [
      'is waited for as long as provisioning may take',
      unlisted({
        status: { actualStatus: undefined },
        memory: { rentedSince: at(-60), watchedSince: at(-60) },
        observed: absent(lists(-1)),
      }),
      { rule: 'machine-missing', phase: 'Provisioning', says: 'Provisioning', afterMs: 240000, onList: true },
    ],
    [
      'is looked for again soon near the end of that time',
      unlisted({
        status: { actualStatus: undefined },
        memory: { rentedSince: at(-299.5), watchedSince: at(-299.5) },
        observed: absent(lists(-1)),
      }),
      { rule: 'machine-missing', phase: 'Provisioning', says: 'Provisioning', afterMs: 1000, onList: true },
    ],
    [
      'is not given up by a list of long before that time was over',
      unlisted({
        status: { actualStatus: undefined },
        list: { begunSteady: at(-31) },
        memory: { rentedSince: at(-300), watchedSince: at(-300) },
        observed: absent(lists(-31)),
      }),
      { rule: 'machine-missing', phase: 'Provisioning', says: 'Provisioning', onList: true },
    ],
    [
      'is given up at the end of it',
      unlisted({
        status: { actualStatus: undefined },
        memory: { rentedSince: at(-300), watchedSince: at(-300) },
        observed: absent(lists(-1)),
      }),
      destroys('machine-missing', 'ProvisioningTimedOut'),
    ],
  ]);
});

describe('a machine whose end this object had begun before a crash', () => {
  table([
    [
      'ends for the reason that was written down',
      unlisted({
        status: begun('SpecChanged'),
        observed: { ...absent(lists(-61, -1), 'absent'), loginProven: true },
      }),
      {
        rule: 'machine-missing',
        record: 'status',
        phase: 'Replacing',
        says: 'SpecChanged',
        settled: ['1'],
        afterMs: 0,
      },
    ],
    [
      'ends although the breaker is open',
      unlisted({
        status: begun('SpecChanged'),
        facts: { breaker: OPEN_BREAKER },
        observed: { ...absent(lists(-61, -1), 'absent'), loginProven: true },
      }),
      {
        rule: 'machine-missing',
        record: 'status',
        phase: 'Replacing',
        says: 'SpecChanged',
        settled: ['1'],
        afterMs: 0,
      },
    ],
    [
      'ends when its destroy was answered, by the record (no process remembers the answer)',
      unlisted({
        status: { answered: { action: 'Destroy', at: time(-120), reason: 'SpecChanged' } },
        observed: { ...absent(lists(-61, -1), 'absent'), loginProven: true },
      }),
      {
        rule: 'machine-missing',
        record: 'status',
        phase: 'Replacing',
        says: 'SpecChanged',
        settled: ['1'],
        afterMs: 0,
      },
    ],
    [
      'ends when a process before this one missed it',
      unlisted({
        status: { ...begun('SpecChanged'), missingSince: time(-150) },
        observed: { ...absent(lists(-61, -1), 'absent'), loginProven: true },
      }),
      {
        rule: 'machine-missing',
        record: 'status',
        phase: 'Replacing',
        says: 'SpecChanged',
        settled: ['1'],
        afterMs: 0,
      },
    ],
    [
      'ends as destroyed where the reason is not known here',
      unlisted({
        status: begun('FromTheFuture'),
        observed: { ...absent(lists(-61, -1), 'absent'), loginProven: true },
      }),
      {
        rule: 'machine-missing',
        record: 'status',
        phase: 'Replacing',
        says: 'Destroyed',
        settled: ['1'],
        afterMs: 0,
      },
    ],
    [
      'ends as destroyed where none was written',
      unlisted({
        status: { conditions: [said('Reconciling', 'OldMachineNotGone')] },
        observed: { ...absent(lists(-61, -1), 'absent'), loginProven: true },
      }),
      {
        rule: 'machine-missing',
        record: 'status',
        phase: 'Replacing',
        says: 'Destroyed',
        settled: ['1'],
        afterMs: 0,
      },
    ],
    [
      'is told from one on which something else was done',
      unlisted({
        status: { conditions: [said('Reconciling', 'Loading'), said('Ready', 'Loading')] },
        observed: { ...absent(lists(-61, -1), 'absent'), loginProven: true },
      }),
      {
        rule: 'machine-missing',
        record: 'status',
        phase: 'Replacing',
        says: 'Vanished',
        settled: ['1'],
        afterMs: 0,
      },
    ],
  ]);
});

close();
