import { describe } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import { lists } from '../../../../test/builders/ending-machine.ts';
import {
  at,
  facts,
  holding,
  intent,
  machineOf,
  type ObservedParts,
  row,
  withMachine,
} from '../../../../test/builders/observed.ts';
import { defaultConstants } from '../../../ownership/constants.ts';

const { table, close } = decisionTables('teardown', { deleting: true });

const absent = (begun: readonly number[], read?: 'absent' | 'present'): ObservedParts => ({
  absences: new Map([['1', { lists: begun, read }]]),
  listsBegun: begun,
});
const quick = { ...defaultConstants, rentCallMs: 0, lateCallMs: 0, listLagMs: 0 };
const blind = intent({ attempt: 1, issuedAt: at(-10), knownIds: [] });
const retain = { deletionPolicy: 'Retain' } as const;
const mark = (seconds: number, instanceId = '1') => ({
  instanceId,
  reason: 'Deleting' as const,
  answeredAt: at(seconds),
  endedAt: at(seconds),
});

describe('a deletion waits for a rental', () => {
  table([
    [
      'of which it cannot tell the machine',
      {
        intent: blind,
        list: { unowned: [row({ id: '4' }), row({ id: '5' })] },
        observed: { listsBegun: lists(-1) },
      },
      { rule: 'settle-first', phase: 'Deleting', says: 'RentalUncertain', afterMs: 60001, onList: true },
    ],
    [
      'whose intent was changed, until two lists begun after the longest rental',
      { intent: '{"v":1}', observed: { constants: quick, listsBegun: lists(-5, 0, 10) } },
      { rule: 'let-go', actions: ['release'] },
    ],
    [
      'whose intent was changed, not by lists of which one began at the last moment',
      { intent: '{"v":1}', observed: { constants: quick, listsBegun: lists(-1, 9) } },
      { rule: 'settle-first', phase: 'Deleting', says: 'RentalUncertain', afterMs: 1000, onList: true },
    ],
    [
      'only after what is there is destroyed',
      {
        intent: intent({ attempt: 2, issuedAt: at(-10) }),
        status: holding(),
        machines: [machineOf(1)],
        observed: { listsBegun: lists(-1) },
      },
      { rule: 'destroy-machines', actions: ['destroy 1 (Deleting)'], afterMs: 5000, onList: true },
    ],
    [
      'that this process remembers, where the annotation was taken away',
      {
        finalizers: ['gpurental.dev/machine'],
        memory: { intent: intent({ issuedAt: at(-10) }) },
        observed: { listsBegun: lists(-1) },
      },
      { rule: 'settle-first', phase: 'Deleting', says: 'RentalUncertain', afterMs: 200001, onList: true },
    ],
  ]);
});

describe('a deletion is more than letting go', () => {
  table([
    [
      'where a status names a machine, whoever wrote it',
      { finalizers: ['gpurental.dev/machine'], status: { instanceId: '5' } },
      { rule: 'let-go', actions: ['release'] },
    ],
    [
      'where a status has a claim',
      { finalizers: ['gpurental.dev/machine'], status: { claim: 'x' } },
      { rule: 'let-go', actions: ['release'] },
    ],
    [
      'where a listed machine carries its label',
      { finalizers: ['gpurental.dev/machine'], machines: [machineOf(1)] },
      { rule: 'destroy-machines', actions: ['destroy 1 (Deleting)'], afterMs: 5000, onList: true },
    ],
  ]);
});

describe('a deletion destroys', () => {
  table([
    [
      'a machine although another was destroyed a moment ago',
      withMachine({}, { memory: { destroys: [mark(-5, '9')] } }),
      { rule: 'destroy-machines', actions: ['destroy 1 (Deleting)'], afterMs: 5000, onList: true },
    ],
    [
      'nothing again before a list begun after half the lag',
      withMachine({}, { memory: { destroys: [mark(-31)] } }),
      { rule: 'confirm-gone', afterMs: 30000, onList: true },
    ],
    [
      'as soon as it may try again',
      withMachine({}, { memory: { destroyNotBefore: at(0), destroyFailures: 3 } }),
      { rule: 'destroy-machines', actions: ['destroy 1 (Deleting)'], afterMs: 20000, onList: true },
    ],
    [
      'nothing without an account that may be used',
      withMachine(
        {},
        { account: { state: 'notReady', reason: 'KeyRejected', message: 'm', facts: undefined } },
      ),
      { rule: 'wait-for-account', phase: 'Deleting', says: 'AccountNotReady' },
    ],
  ]);
});

describe('a deletion that keeps its machine', () => {
  const STOPPING = {
    rule: 'stop-machine',
    phase: 'Deleting',
    says: 'Stopping',
    afterMs: 30000,
    onList: true,
  };
  table([
    [
      'stops it again half a minute after it was asked to',
      withMachine({}, { spec: { deletionPolicy: 'Stop' }, memory: { stopAskedAt: at(-30) } }),
      { ...STOPPING, record: 'status', actions: ['stop 1'] },
    ],
    [
      'asks one to stop whose host is silent, too',
      withMachine({ state: 'offline', intendedPower: 'running' }, { spec: { deletionPolicy: 'Stop' } }),
      { ...STOPPING, record: 'status', actions: ['stop 1'] },
    ],
    [
      'waits for no silent host that cannot stop anything, once the wish is noted',
      withMachine({ state: 'offline', intendedPower: 'stopped' }, { spec: { deletionPolicy: 'Stop' } }),
      { rule: 'keep-machine', actions: ['retain 1 (Stop)', 'release'] },
    ],
    [
      'waits for a machine that is still stopping',
      withMachine(
        { state: 'running', intendedPower: 'stopped' },
        { spec: { deletionPolicy: 'Stop' }, memory: { stopAskedAt: at(-5) } },
      ),
      { ...STOPPING, afterMs: 25_000 },
    ],
    [
      'asks one to stop that lists show stopped and a read shows running (A1)',
      withMachine(
        { state: 'stopped' },
        { spec: { deletionPolicy: 'Stop' }, observed: { confirmed: { instanceId: '1', read: row() } } },
      ),
      { ...STOPPING, record: 'status', actions: ['stop 1'] },
    ],
    [
      'takes a frozen machine for stopped',
      withMachine({ state: 'stopped', marketStatus: 'frozen' }, { spec: { deletionPolicy: 'Stop' } }),
      { rule: 'keep-machine', actions: ['retain 1 (Stop)', 'release'] },
    ],
    [
      'relabels it where the key may still be used for that',
      withMachine(
        {},
        {
          spec: retain,
          account: { state: 'notReady', reason: 'LimitReached', message: 'm', facts: facts() },
        },
      ),
      { rule: 'keep-machine', actions: ['retain 1 (Retain)', 'release'] },
    ],
    [
      'destroys what else there is where the account may be used for that alone',
      {
        ...{ spec: retain, intent: intent(), status: holding() },
        machines: [machineOf(1), machineOf(2, { id: '7' })],
        account: { state: 'notReady', reason: 'LimitReached', message: 'm', facts: facts() },
      },
      { rule: 'destroy-machines', actions: ['destroy 7 (Deleting)'], afterMs: 5_000, onList: true },
    ],
    [
      'relabels it where nothing is listed for a minute',
      withMachine(
        {},
        {
          spec: retain,
          list: 'none',
          account: { state: 'notReady', reason: 'Connecting', message: 'm', facts: facts() },
        },
      ),
      { rule: 'give-up-machine', actions: ['retain 1 (Retain)', 'release'] },
    ],
    [
      'says what it bills, where that is known',
      withMachine({}, { spec: retain, status: { cost: { accrued: '1.00' } } }),
      { rule: 'keep-machine', actions: ['retain 1 (Retain)', 'release'] },
    ],
    [
      'says that none was on record',
      { spec: retain, intent: intent(), account: { state: 'missing' } },
      { rule: 'give-up-machine', actions: ['release'] },
    ],
    [
      'proves a machine gone that is not listed any more',
      {
        spec: retain,
        intent: intent({ issuedAt: at(-4000) }),
        status: holding(),
        observed: absent(lists(-61, -1)),
      },
      { reads: [{ type: 'machine', instanceId: '1' }] },
    ],
    [
      'proves gone what else it destroyed',
      withMachine({}, { spec: retain, memory: { destroys: [mark(-15, '9')] } }),
      { rule: 'confirm-gone', afterMs: 30000, onList: true },
    ],
    [
      'is dated by its first bill if no list has shown since when it is rented',
      withMachine({}, { spec: retain, status: { rentedAt: undefined } }),
      { rule: 'keep-machine', actions: ['retain 1 (Retain)', 'release'] },
    ],
  ]);
});

close();
