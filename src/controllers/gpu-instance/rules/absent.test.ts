import { describe } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import { destroys, lists, OPEN_BREAKER } from '../../../../test/builders/ending-machine.ts';
import {
  at,
  type Given,
  holding,
  intent,
  type ObservedParts,
  time,
  UID,
} from '../../../../test/builders/observed.ts';

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
