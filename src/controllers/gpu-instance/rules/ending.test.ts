import { describe } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import { at, type Given, held, holding, intent, time } from '../../../../test/builders/observed.ts';
import type { Observed } from '../types.ts';

const { table, close } = decisionTables('ending');

const lists = (...seconds: number[]): readonly number[] => seconds.map((second) => at(second));
const absent = (begun: readonly number[], read?: 'absent' | 'present'): Partial<Observed> => ({
  absences: new Map([[1, { lists: begun, read }]]),
  listsBegun: begun,
});
const mark = (
  seconds: number,
  reason: 'Exited' | 'HostOffline' | 'LimitReached' | 'SpecChanged' = 'SpecChanged',
  instanceId = 1,
) => ({ instanceId, reason, answeredAt: at(seconds), endedAt: at(seconds) });
const offline = { actualStatus: 'offline', actualStatusSince: time(-61) };
const lost = (situation: Given = {}): Given =>
  held({ actualStatus: 'offline' }, { ...situation, status: { ...offline, ...situation.status } });
const gone = (seconds: number, reason?: Parameters<typeof mark>[1]): Given => ({
  intent: intent(),
  status: holding(),
  memory: { destroys: [mark(seconds, reason)] },
  observed: absent(lists(-12, -2), 'absent'),
});
const said = (type: 'Ready' | 'Reconciling', reason: string) => ({
  type,
  status: 'True' as const,
  reason,
  message: 'm',
  lastTransitionTime: time(-30),
});

describe('what holds back the end of a machine', () => {
  table([
    [
      'a limit is not held back by a pause, an open breaker or a policy of Never',
      held(
        {},
        {
          spec: { maxLifetime: '5m', paused: true, replacement: { policy: 'Never' } },
          facts: {
            breaker: { type: 'open', since: at(-5), cause: 'massFailure', unhealthy: 4, message: 'm' },
          },
        },
      ),
      {
        rule: 'limit-reached',
        record: 'status',
        actions: ['destroy 1 (LimitReached)'],
        phase: 'Replacing',
        says: 'LimitReached, Replacing',
        afterMs: 1000,
      },
    ],
    [
      'a limit is not held back by the annotation: a budget that it lifts is none (L4)',
      held({}, { spec: { maxLifetime: '5m' }, annotations: { 'gpurental.dev/hold': '' } }),
      {
        rule: 'limit-reached',
        record: 'status',
        actions: ['destroy 1 (LimitReached)'],
        phase: 'Replacing',
        says: 'LimitReached, Replacing',
        afterMs: 1000,
      },
    ],
    [
      'a policy of Never is about lost machines, not about unwanted ones',
      held({}, { spec: { replacement: { policy: 'Never' } }, status: { specHash: 'v2:0000000000000000' } }),
      {
        rule: 'spec-changed',
        record: 'status',
        actions: ['destroy 1 (SpecChanged)'],
        phase: 'Replacing',
        says: 'SpecChanged, Replacing',
        afterMs: 1000,
      },
    ],
  ]);
});

describe('the destroy of a machine', () => {
  table([
    [
      'is not taken for answered by that of another',
      lost({ memory: { destroys: [mark(-5, 'Exited', 9)] } }),
      {
        rule: 'lost',
        record: 'status',
        actions: ['destroy 1 (HostOffline)'],
        phase: 'Replacing',
        says: 'HostOffline, Replacing',
        afterMs: 1000,
      },
    ],
    [
      'waits after one that failed, and says nothing new',
      lost({ memory: { destroyFailures: 1, destroyNotBefore: at(20) } }),
      { rule: 'lost', record: 'status', phase: 'Replacing', says: 'HostOffline, Replacing', afterMs: 20000 },
    ],
    [
      'is tried again after that, without another event',
      lost({ memory: { destroyFailures: 1, destroyNotBefore: at(0) } }),
      {
        rule: 'lost',
        record: 'status',
        actions: ['destroy 1 (HostOffline)'],
        phase: 'Replacing',
        says: 'HostOffline, Replacing',
        afterMs: 1000,
      },
    ],
    [
      'does not wait for what failed that is no destroy',
      lost({ memory: { notBefore: at(86_400), failures: 1 } }),
      {
        rule: 'lost',
        record: 'status',
        actions: ['destroy 1 (HostOffline)'],
        phase: 'Replacing',
        says: 'HostOffline, Replacing',
        afterMs: 1000,
      },
    ],
    [
      'is not said to fail after two',
      lost({ memory: { destroyFailures: 2 } }),
      {
        rule: 'lost',
        record: 'status',
        actions: ['destroy 1 (HostOffline)'],
        phase: 'Replacing',
        says: 'HostOffline, Replacing',
        afterMs: 1000,
      },
    ],
    [
      'is said to fail after three, with what the machine costs',
      lost({ memory: { destroyFailures: 3 } }),
      {
        rule: 'lost',
        record: 'status',
        actions: ['destroy 1 (HostOffline)'],
        phase: 'Replacing',
        says: 'HostOffline, DestroyFailing',
        afterMs: 1000,
      },
    ],
    [
      'is said to fail without a price where none is known',
      lost({ memory: { destroyFailures: 3 }, status: { cost: undefined } }),
      {
        rule: 'lost',
        record: 'status',
        actions: ['destroy 1 (HostOffline)'],
        phase: 'Replacing',
        says: 'HostOffline, DestroyFailing',
        afterMs: 1000,
      },
    ],
  ]);
});

describe('a machine whose destroy was answered', () => {
  table([
    [
      'is destroyed again where a list begun after half the lag still shows it',
      held({}, { memory: { destroys: [mark(-32)] } }),
      {
        rule: 'carry-through-destroy',
        record: 'status',
        actions: ['destroy 1 (SpecChanged)'],
        phase: 'Replacing',
        says: 'SpecChanged, OldMachineNotGone',
        afterMs: 1000,
      },
    ],
    [
      'is waited for by a list begun at the very end of half the lag',
      held({}, { memory: { destroys: [mark(-31)] } }),
      {
        rule: 'carry-through-destroy',
        phase: 'Replacing',
        says: 'SpecChanged, Replacing',
        afterMs: 1000,
        onList: true,
      },
    ],
    [
      'is waited for where the latest list does not show it',
      {
        intent: intent(),
        status: holding(),
        memory: { destroys: [mark(-32)] },
        observed: absent(lists(-20)),
      },
      {
        rule: 'carry-through-destroy',
        phase: 'Replacing',
        says: 'SpecChanged, Replacing',
        afterMs: 1000,
        onList: true,
      },
    ],
    [
      'is waited for without a list',
      { intent: intent(), status: holding(), list: 'none', memory: { destroys: [mark(-32)] } },
      {
        rule: 'carry-through-destroy',
        phase: 'Replacing',
        says: 'SpecChanged, Replacing',
        afterMs: 1000,
        onList: true,
      },
    ],
    [
      'stays said to be there, once it was',
      held(
        {},
        {
          memory: { destroys: [mark(-15)] },
          status: { conditions: [said('Reconciling', 'OldMachineNotGone'), said('Ready', 'SpecChanged')] },
        },
      ),
      {
        rule: 'carry-through-destroy',
        phase: 'Replacing',
        says: 'SpecChanged, OldMachineNotGone',
        afterMs: 15000,
        onList: true,
      },
    ],
    [
      'is read by itself once two lists agree',
      { ...gone(-15), observed: absent(lists(-12, -2)) },
      { look: { type: 'read', instanceId: 1 } },
    ],
    [
      'is kept off together with its host, where that was silent',
      gone(-15, 'HostOffline'),
      {
        rule: 'carry-through-destroy',
        record: 'status',
        phase: 'Replacing',
        says: 'HostOffline',
        avoid: ['host 2100'],
        settled: [1],
        afterMs: 0,
      },
    ],
    [
      'is kept off itself, where it ended',
      gone(-15, 'Exited'),
      {
        rule: 'carry-through-destroy',
        record: 'status',
        phase: 'Replacing',
        says: 'Exited',
        avoid: ['machine 1100'],
        settled: [1],
        afterMs: 0,
      },
    ],
    [
      'is not kept off, where it was not to blame',
      gone(-15, 'SpecChanged'),
      {
        rule: 'carry-through-destroy',
        record: 'status',
        phase: 'Replacing',
        says: 'SpecChanged',
        settled: [1],
        afterMs: 0,
      },
    ],
    [
      'leaves a failed object, where a limit ended it',
      gone(-15, 'LimitReached'),
      {
        rule: 'carry-through-destroy',
        record: 'status',
        phase: 'Failed',
        says: 'stalled: LimitReached',
        settled: [1],
        afterMs: 0,
      },
    ],
    [
      'ends for the reason on record, not for the one of this process',
      {
        ...gone(-15, 'Exited'),
        status: holding({ conditions: [said('Reconciling', 'Replacing'), said('Ready', 'LimitReached')] }),
      },
      {
        rule: 'carry-through-destroy',
        record: 'status',
        phase: 'Failed',
        says: 'stalled: LimitReached',
        settled: [1],
        afterMs: 0,
      },
    ],
  ]);
});

close();
