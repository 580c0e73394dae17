import { describe } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import { at, type Given, machineOf, row, withMachine } from '../../../../test/builders/observed.ts';

const { table, close } = decisionTables('surplus');

const two = (situation: Given = {}): Given =>
  withMachine(
    {},
    { machines: [machineOf(1), machineOf(1, { id: '2' }), machineOf(1, { id: '3' })], ...situation },
  );
const mark = (instanceId: string, seconds: number) => ({
  instanceId,
  reason: 'Deleting' as const,
  answeredAt: at(seconds),
  endedAt: at(seconds),
});

describe('machines that are too many', () => {
  table([
    [
      'are destroyed together',
      two(),
      { rule: 'destroy-surplus', actions: ['destroy 2 (Deleting)', 'destroy 3 (Deleting)'], afterMs: 0 },
    ],
    [
      'are destroyed although the object is paused',
      two({ spec: { paused: true } }),
      { rule: 'destroy-surplus', actions: ['destroy 2 (Deleting)', 'destroy 3 (Deleting)'], afterMs: 0 },
    ],
    [
      'scenario 116: stay while one list shows their label (A3)',
      withMachine({}, { machines: [machineOf(1), machineOf(1, { id: '2', unsettled: new Set(['label']) })] }),
      { rule: 'run', phase: 'Running', says: 'Ready', onList: true },
    ],
    [
      'stay when a read shows another label (A3)',
      two({ observed: { labelReads: new Map(['2', '3'].map((id) => [id, row({ id, label: 'other' })])) } }),
      { rule: 'run', phase: 'Running', says: 'Ready', onList: true },
    ],
    [
      'stay when their reads fail (A3)',
      two({ observed: { labelReads: new Map(['2', '3'].map((id) => [id, 'failed'])) } }),
      { rule: 'run', phase: 'Running', says: 'Ready', onList: true },
    ],
    [
      'are read by themselves when two lists agree on their label (A3)',
      two({ observed: { labelReads: new Map() } }),
      {
        reads: [
          { type: 'confirmLabel', instanceId: '2' },
          { type: 'confirmLabel', instanceId: '3' },
        ],
      },
    ],
    [
      'wait after a destroy that failed',
      two({ memory: { destroyNotBefore: at(1) } }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'are destroyed once that time is over, however long a rental was put off',
      two({ memory: { destroyNotBefore: at(0), notBefore: at(3_600) } }),
      { rule: 'destroy-surplus', actions: ['destroy 2 (Deleting)', 'destroy 3 (Deleting)'], afterMs: 0 },
    ],
    [
      'are not destroyed twice within half the time that lists may lag',
      two({ memory: { destroys: [mark('2', -31)] } }),
      { rule: 'destroy-surplus', actions: ['destroy 3 (Deleting)'], afterMs: 0 },
    ],
    [
      'are destroyed again where a list begun later still shows them',
      two({ memory: { destroys: [mark('2', -32), mark('3', -5)] } }),
      { rule: 'destroy-surplus', actions: ['destroy 2 (Deleting)'], afterMs: 0 },
    ],
    [
      'are destroyed again where somebody wrote another machine into the status after the first destroy was answered',
      {
        status: { attempt: 1, instanceId: '7' },
        machines: [machineOf(1)],
        memory: { destroys: [mark('1', -40)] },
      },
      { rule: 'destroy-surplus', actions: ['destroy 1 (Deleting)'], afterMs: 0 },
    ],
    [
      'are waited for while their list may only lag',
      {
        status: { attempt: 1, instanceId: '7' },
        machines: [machineOf(1)],
        memory: { destroys: [mark('1', -5)] },
      },
      { rule: 'old-machine-listed', phase: 'Pending', says: 'OldMachineNotGone', onList: true },
    ],
  ]);
});

close();
