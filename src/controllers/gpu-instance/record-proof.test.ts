import { describe, expect, test } from 'vitest';
import { decisionTables } from '../../../test/builders/decision-table.ts';
import {
  at,
  type Given,
  given,
  intent,
  listed,
  machineOf,
  row,
  withMachine,
} from '../../../test/builders/observed.ts';
import type { Machine } from '../../accounts/beliefs/machine.ts';
import type { ListedMachine } from './types.ts';

const { table, close } = decisionTables('record-proof');

const STRANGER = { label: 'mine', startedAt: at(-310) };
const UNSETTLED: Partial<Machine> = { unsettled: new Set(['label']) };
/** Returns machine 1, named only by the reply to the rental, in the given form of lists. */
const named = (shown: Partial<Machine>, others: readonly ListedMachine[] = [], more: Given = {}): Given => ({
  ...withMachine(),
  machines: [listed(row({ id: '1', ...shown })), ...others].filter(({ row: { id } }) => id !== ''),
  ...more,
  status: { ...withMachine().status, unconfirmed: true, ...more.status },
});
const own = (change: Partial<Machine> = {}) => machineOf(1, { id: '2', ...change });
const stranger = (others: readonly ListedMachine[] = [], more: Given = {}): Given =>
  named(STRANGER, others, more);
const NO_READS: Given = { observed: { labelReads: new Map() } };
const read = (id: string) => ({ reads: [{ type: 'confirmLabel', instanceId: id }] });
const WAITS = { rule: 'await-second-list', afterMs: 30_000, onList: true };
/** Every machine of the purchase would be listed by now. */
const SETTLED: Given = {
  memory: { intentDeadline: { attempt: 1, at: at(-270) } },
  observed: { listsBegun: [at(-11), at(-1)] },
};
const DELETED: Given = { deleting: true };

describe('a machine that only the reply to a rental names (A8)', () => {
  table([
    [
      'is confirmed by a list that shows its label',
      named({ label: own().row.label, startedAt: own().row.startedAt }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    ['is kept while one list shows another label', named({ ...STRANGER, ...UNSETTLED }, [own()]), WAITS],
    ['is read before its record moves to the machine with the label', stranger([own()], NO_READS), read('1')],
    [
      'keeps its record when the read fails',
      stranger([own()], { observed: { labelReads: new Map([['1', 'failed' as const]]) } }),
      WAITS,
    ],
    [
      'keeps its record when the read shows the label of the purchase',
      stranger([own()], { observed: { labelReads: new Map([['1', own().row]]) } }),
      WAITS,
    ],
    [
      'scenario 118: gives its record to the machine that carries the label',
      stranger([own()]),
      { rule: 'move-record', record: 'status', phase: 'Provisioning', says: 'Provisioning', afterMs: 0 },
    ],
    ['keeps its record while one list shows the label elsewhere', stranger([own(UNSETTLED)]), WAITS],
    [
      'blocks the next rental while the machine of the purchase may still appear',
      stranger([], { memory: { intentDeadline: { attempt: 1, at: at(-10) } } }),
      { rule: 'await-settlement', phase: 'Renting', says: 'RentalUncertain', onList: true, afterMs: 170_001 },
    ],
    [
      'is read before its record is dropped',
      stranger([], { ...SETTLED, observed: { ...SETTLED.observed, labelReads: new Map() } }),
      read('1'),
    ],
    [
      'is dropped when the purchase made no machine',
      stranger([], SETTLED),
      {
        rule: 'drop-wrong-record',
        record: 'status',
        phase: 'Pending',
        says: 'RentalUncertain',
        afterMs: 0,
      },
    ],
    [
      'goes with its object when two lists and a read show its label',
      named({ label: own().row.label, startedAt: own().row.startedAt }, [], DELETED),
      { rule: 'destroy-machines', actions: ['destroy 1 (Deleting)'], afterMs: 5000, onList: true },
    ],
    [
      'is read before it goes with its object',
      named({ label: own().row.label, startedAt: own().row.startedAt }, [], { ...DELETED, ...NO_READS }),
      read('1'),
    ],
    [
      'stays when its object is deleted and one list shows another label',
      named({ ...STRANGER, ...UNSETTLED }, [], DELETED),
      WAITS,
    ],
    [
      'stays when its object is deleted, and the machine with the label goes',
      stranger([own()], DELETED),
      { rule: 'destroy-machines', actions: ['destroy 2 (Deleting)'], afterMs: 5000, onList: true },
    ],
    [
      'is read before its deleted object leaves it behind',
      stranger([], { ...SETTLED, ...DELETED, observed: { ...SETTLED.observed, labelReads: new Map() } }),
      read('1'),
    ],
    [
      'is left behind by its deleted object',
      stranger([], { ...SETTLED, ...DELETED }),
      { rule: 'let-go', actions: ['release'] },
    ],
    [
      'is left behind without a label of ours when its object keeps machines',
      stranger([], { ...SETTLED, ...DELETED, spec: { deletionPolicy: 'Retain' } }),
      { rule: 'keep-machine', actions: ['release'] },
    ],
    [
      'never ends for its price while its label is unsettled',
      named({ label: own().row.label, startedAt: own().row.startedAt, ...UNSETTLED }, [], {
        spec: { maxTotalCost: '0.01' },
        facts: { isEndJudged: true },
      }),
      { rule: 'run', phase: 'Running', says: 'Ready', onList: true },
    ],
  ]);
});

describe('a machine on record', () => {
  test('stays ours when a person changes its label after a list confirmed it', () => {
    const {
      machine: { owned: ownedMachine, recordProof },
    } = given({ ...stranger([own()]), status: withMachine().status ?? {} });
    expect([ownedMachine?.instanceId, recordProof]).toEqual(['1', 'confirmed']);
  });

  test.for([
    ['the marketplace drops labels', stranger([], { facts: { labelEcho: 'notEchoed' } }), 'confirmed'],
    [
      'it is unknown if labels come back, and it has none',
      named({ label: null }, [], { facts: { labelEcho: 'unknown' } }),
      'unseen',
    ],
    [
      'it is unknown if labels come back, and it has another',
      stranger([], { facts: { labelEcho: 'unknown' } }),
      'contradicted',
    ],
    ['no list shows it', named({ id: '' }), 'unseen'],
    ['no list shows it, and two show its label elsewhere', named({ id: '' }, [own()]), 'contradicted'],
    ['there is no list', stranger([], { list: 'none' }), 'unseen'],
  ] as const)('has the proof of %s', ([, situation, expected]) => {
    expect(given(situation).machine.recordProof).toBe(expected);
  });

  test('is not given up without the intent of its purchase', () => {
    expect(given(stranger([own()], { intent: 'none' })).machine.disowned).toBeUndefined();
    expect(given(stranger([own()], { intent: intent({ attempt: 2 }) })).machine.disowned).toBeUndefined();
  });
});

close();
