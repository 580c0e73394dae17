import { describe, expect, test } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import {
  destroys,
  HOLD,
  lists,
  lost,
  OPEN_BREAKER,
  OUTDATED,
  since,
} from '../../../../test/builders/ending-machine.ts';
import {
  at,
  type Given,
  given,
  holding,
  intent,
  type ObservedParts,
  time,
  withMachine,
} from '../../../../test/builders/observed.ts';
import { decide } from '../decide.ts';

const { table, close } = decisionTables('ending');

const absent = (begun: readonly number[], read?: 'absent' | 'present'): ObservedParts => ({
  absences: new Map([['1', { lists: begun, read }]]),
  listsBegun: begun,
});
const mark = (
  seconds: number,
  reason: 'Exited' | 'HostOffline' | 'LimitReached' | 'SpecChanged' = 'SpecChanged',
  instanceId = '1',
) => ({ instanceId, reason, answeredAt: at(seconds), endedAt: at(seconds) });
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
      withMachine(
        {},
        {
          spec: { maxLifetime: '5m', paused: true, replacement: { policy: 'Never' } },
          facts: {
            breaker: OPEN_BREAKER,
          },
        },
      ),
      destroys('limit-reached', 'LimitReached'),
    ],
    [
      'a limit is not held back by the annotation: a budget that it lifts is none (L4)',
      withMachine({}, { spec: { maxLifetime: '5m' }, annotations: HOLD }),
      destroys('limit-reached', 'LimitReached'),
    ],
    [
      'a policy of Never is about lost machines, not about unwanted ones',
      withMachine({}, { spec: { replacement: { policy: 'Never' } }, status: OUTDATED }),
      destroys('spec-changed', 'SpecChanged'),
    ],
  ]);
});

describe('the destroy of a machine', () => {
  table([
    [
      'is not taken for answered by that of another',
      lost({ memory: { destroys: [mark(-5, 'Exited', '9')] } }),
      destroys('lost', 'HostOffline'),
    ],
    [
      'waits after one that failed, and says nothing new',
      lost({ memory: { destroyFailures: 1, destroyNotBefore: at(20) } }),
      { rule: 'lost', record: 'status', phase: 'Replacing', says: 'HostOffline, Replacing', afterMs: 20000 },
    ],
    [
      'is tried again after that, without another event',
      lost({ memory: { destroyFailures: 1, destroyNotBefore: at(0) } }),
      destroys('lost', 'HostOffline'),
    ],
    [
      'does not wait for what failed that is no destroy',
      lost({ memory: { notBefore: at(86_400), failures: 1 } }),
      destroys('lost', 'HostOffline'),
    ],
    [
      'is not said to fail after two',
      lost({ memory: { destroyFailures: 2 } }),
      destroys('lost', 'HostOffline'),
    ],
    [
      'is said to fail after three, with what the machine costs',
      lost({ memory: { destroyFailures: 3 } }),
      destroys('lost', 'HostOffline', 'DestroyFailing'),
    ],
    [
      'is said to fail without a price where none is known',
      lost({ memory: { destroyFailures: 3 }, status: { cost: undefined } }),
      destroys('lost', 'HostOffline', 'DestroyFailing'),
    ],
  ]);
});

describe('a machine whose destroy was answered', () => {
  table([
    [
      'is destroyed again where a list begun after half the lag still shows it',
      withMachine({}, { memory: { destroys: [mark(-32)] } }),
      destroys('carry-through-destroy', 'SpecChanged', 'OldMachineNotGone'),
    ],
    [
      'is waited for by a list begun at the very end of half the lag',
      withMachine({}, { memory: { destroys: [mark(-31)] } }),
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
      withMachine(
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
      'is not said to be there before it was',
      withMachine(
        {},
        {
          memory: { destroys: [mark(-15)] },
          status: { conditions: [said('Reconciling', 'Replacing'), said('Ready', 'SpecChanged')] },
        },
      ),
      {
        rule: 'carry-through-destroy',
        phase: 'Replacing',
        says: 'SpecChanged, Replacing',
        afterMs: 15000,
        onList: true,
      },
    ],
    [
      'is read by itself once two lists agree',
      { ...gone(-15), observed: absent(lists(-12, -2)) },
      { reads: [{ type: 'machine', instanceId: '1' }] },
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
        settled: ['1'],
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
        settled: ['1'],
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
        settled: ['1'],
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
        settled: ['1'],
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
        settled: ['1'],
        afterMs: 0,
      },
    ],
  ]);
});

describe('a read that finds no machine while lists show it', () => {
  const over = { state: 'stopped', endsAt: at(-60) } as const;
  const ends: readonly (readonly [string, Given])[] = [
    ['an offline host', lost()],
    [
      'an exited container',
      withMachine(
        { state: 'exited' },
        { status: since('exited', -60), observed: { listsBegun: lists(-30, -1) } },
      ),
    ],
    ['a boot that timed out', withMachine({ state: 'loading' }, { status: since('loading', -1300) })],
    ['a limit', withMachine({}, { spec: { maxLifetime: '5m' } })],
    ['a raised price', withMachine({ pricePerHour: 1_100_000 }, { spec: { onPriceAbove: 'Replace' } })],
    [
      'the end of its contract',
      withMachine(over, {
        status: { actualStatus: 'stopped', contractEnd: { at: time(-60), isReported: true } },
      }),
    ],
  ];
  const destroyed = (situation: Given, confirmed?: ObservedParts['confirmed']) => {
    const step = decide(
      given({ ...situation, observed: { ...situation.observed, ...(confirmed && { confirmed }) } }),
    );
    return step.type === 'decision' ? step.actions.map(({ type }) => type) : step;
  };

  test.each(ends)('does not confirm %s', (_reason, situation) => {
    expect(destroyed(situation)).toEqual(['destroy']);
    expect(destroyed(situation, { instanceId: '1', read: 'absent' })).toEqual([]);
  });
});

close();
