import { describe, expect, test } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import { destroys } from '../../../../test/builders/ending-machine.ts';
import {
  at,
  type Given,
  given,
  NOW,
  type ObservedParts,
  offer,
  row,
  time,
  withMachine,
} from '../../../../test/builders/observed.ts';
import type { WatchedField } from '../../../accounts/beliefs/sightings.ts';
import { decide } from '../decide.ts';
import { isContractOver } from './contract-end.ts';

const { table, close } = decisionTables('contract-end');

const NOTHING: ObservedParts = {
  offers: new Map([[0, { type: 'found', offers: [] }]]),
  broadOffers: { type: 'found', offers: [offer({ gpuName: 'GTX 1080' })] },
  room: undefined,
};
const HOUR = 3_600;
const DAY = 24 * HOUR;

/** Returns a machine whose contract ends that many seconds from now, by the list and the record. */
function ending(seconds: number, actualStatus: 'running' | 'stopped' | 'exited', change: Given = {}): Given {
  const status = {
    actualStatus,
    contractEnd: { at: time(seconds), isReported: seconds <= DAY },
    ...change.status,
  };
  return withMachine({ state: actualStatus, endsAt: at(seconds) }, { ...change, status });
}

const stoppedRow = () => row({ state: 'stopped', endsAt: at(-60) });
const unsettledRow = (field: WatchedField) => ({ ...stoppedRow(), unsettled: new Set([field]) });

describe('the end of a rental contract (B14)', () => {
  table([
    [
      'is shown in the status',
      withMachine({ endsAt: at(3 * DAY) }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is reported by an event a day before it',
      withMachine({ endsAt: at(DAY) }, { status: { contractEnd: { at: time(DAY) } } }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is not reported while no clock is confirmed',
      withMachine(
        { endsAt: at(HOUR) },
        {
          status: { contractEnd: { at: time(HOUR) } },
          facts: { serviceTime: { type: 'known', at: NOW, isConfirmed: false } },
        },
      ),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 10_000 },
    ],
    ['is reported once', ending(HOUR, 'running'), { rule: 'run', phase: 'Running', says: 'Ready' }],
    [
      'is due to be reported at that moment',
      ending(2 * DAY, 'running'),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: DAY * 1000 },
    ],
    [
      'is reported again if the host sets another one',
      withMachine(
        { endsAt: at(HOUR) },
        { status: { contractEnd: { at: time(2 * HOUR), isReported: true } } },
      ),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'changes nothing of a machine that runs on',
      ending(-HOUR, 'running'),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'replaces a stopped machine if another one can be rented',
      ending(-60, 'stopped'),
      destroys('contract-ended', 'ContractEnd'),
    ],
    [
      'keeps a stopped machine and its disk while no other can be rented',
      ending(-60, 'stopped', { observed: NOTHING }),
      {
        ...{ rule: 'contract-ended', phase: 'Stopped', says: 'ContractEnd, ReplacementBlocked' },
        ...{ kept: true, afterMs: 5_000 },
      },
    ],
    [
      'keeps a machine whose container ended with it while no other can be rented',
      ending(-60, 'exited', { observed: NOTHING }),
      {
        ...{ rule: 'contract-ended', phase: 'Stopped', says: 'ContractEnd, ReplacementBlocked' },
        ...{ kept: true, afterMs: 5_000 },
      },
    ],
    [
      'keeps a stopped machine for a person under onContractEnd: Keep',
      ending(-60, 'stopped', { spec: { onContractEnd: 'Keep' } }),
      { rule: 'contract-ended', phase: 'Stopped', says: 'stalled: ContractEnd' },
    ],
    [
      'is not believed before an earlier list said so too',
      withMachine({ state: 'stopped', endsAt: at(-60) }, { status: { actualStatus: 'stopped' } }),
      {
        ...{ rule: 'start', record: 'status', actions: ['start 1'], phase: 'Starting', says: 'Starting' },
        afterMs: 120_000,
      },
    ],
    [
      'starts a stopped machine while one list alone shows another end of the contract (B14)',
      ending(-60, 'stopped', { list: { recorded: unsettledRow('endsAt') } }),
      {
        ...{ rule: 'start', record: 'status', actions: ['start 1'], phase: 'Starting', says: 'Starting' },
        ...{ onList: true, afterMs: 120_000 },
      },
    ],
    [
      'waits for another list while one list alone shows the machine stopped (B14)',
      ending(-60, 'stopped', { list: { recorded: unsettledRow('state') } }),
      {
        rule: 'start',
        record: 'status',
        phase: 'Starting',
        says: 'Starting',
        onList: true,
        afterMs: 120_000,
      },
    ],
    ...(
      [
        ['that the machine runs', { state: 'running' }, { afterMs: 60_000 }],
        ['another end of the contract', { endsAt: at(DAY) }, {}],
      ] as const
    ).map(
      ([what, change, next]) =>
        [
          `keeps a machine whose read shows ${what} (B14)`,
          ending(-60, 'stopped', {
            observed: { confirmed: { instanceId: '1', read: { ...stoppedRow(), ...change } } },
          }),
          { rule: 'contract-ended', phase: 'Stopped', says: 'ContractEnd, ReplacementBlocked', ...next },
        ] as const,
    ),
    [
      'leaves a machine alone that a person stopped',
      ending(-60, 'stopped', { spec: { powerState: 'Stopped' } }),
      { rule: 'stopped-as-desired', phase: 'Stopped', says: 'Ready' },
    ],
  ]);
});

describe('the end of a contract (B14)', () => {
  const isOver = (list: number, record: number) => {
    const change: Given = { status: { contractEnd: { at: time(record) } } };
    const listed = { state: 'stopped', endsAt: at(list) } as const;
    return isContractOver(given(withMachine(listed, change)), row(listed));
  };

  test.each([
    ['both say this moment', 0, 0, true],
    ['lists say a later one', 1, -60, false],
    ['the record says a later one', -60, 1, false],
  ])('is judged by the later of lists and record when %s', (_, list, record, expected) => {
    expect(isOver(list, record)).toBe(expected);
  });

  test('is not known of a machine that no list shows', () => {
    const recorded = given(withMachine({}, { status: { contractEnd: { at: time(-60) } } }));
    expect(isContractOver(recorded, undefined)).toBe(false);
  });

  test('is not known of an object without a status', () => {
    expect(isContractOver(given(), stoppedRow())).toBe(false);
  });
});

describe('the event a day before the end of a contract (B14)', () => {
  const noteOf = (onContractEnd: 'Keep' | 'Replace') => {
    const status = { contractEnd: { at: time(DAY) } };
    const step = decide(given(withMachine({ endsAt: at(DAY) }, { spec: { onContractEnd }, status })));
    return step.type === 'decision' && step.events.map(({ note }) => note).join();
  };

  test('says that the machine is kept when the spec says so', () => {
    expect(noteOf('Keep')).toContain('It is kept stopped then (spec.onContractEnd: Keep).');
  });

  test('says how the disk is kept when the machine is to be replaced', () => {
    expect(noteOf('Replace')).toContain('its disk is lost; to keep it, set spec.onContractEnd: Keep.');
  });
});

close();
