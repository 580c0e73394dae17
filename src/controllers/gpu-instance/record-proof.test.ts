import { describe, expect, test } from 'vitest';
import { decisionTables } from '../../../test/builders/decision-table.ts';
import {
  at,
  type Given,
  given,
  intent,
  labelOf,
  listed,
  machineOf,
  row,
  withMachine,
} from '../../../test/builders/observed.ts';
import { toyFacts } from '../../../test/builders/toy-market.ts';
import type { Machine } from '../../accounts/beliefs/machine.ts';
import { disownConfirmation, foundConfirmation, labelConfirmation } from './record-proof.ts';
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
  observed: { listsBegun: [at(-61), at(-11), at(-1)] },
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
    [
      'it is unknown if labels come back, and the market changed its label',
      named({ label: labelOf(1).slice(0, 20) }, [], { facts: { labelEcho: 'unknown' } }),
      'unseen',
    ],
    [
      'one list shows the label of its purchase',
      named({ label: own().row.label, startedAt: own().row.startedAt, ...UNSETTLED }),
      'unseen',
    ],
    ['no list shows it', named({ id: '' }), 'unseen'],
    ['no list shows it, and two show its label elsewhere', named({ id: '' }, [own()]), 'contradicted'],
    ['no list shows it, and one shows its label elsewhere', named({ id: '' }, [own(UNSETTLED)]), 'unseen'],
    [
      'no list shows it, and two show the label of another purchase elsewhere',
      named({ id: '' }, [machineOf(2, { id: '2' })]),
      'unseen',
    ],
    [
      'no list shows it, and two show a copy of its label elsewhere',
      named({ id: '' }, [own({ startedAt: at(-50_000) })]),
      'unseen',
    ],
    [
      'two lists show its label, and that of another purchase elsewhere',
      named({ label: labelOf(1), startedAt: at(-300) }, [machineOf(2, { id: '2' })]),
      'confirmed',
    ],
    [
      'two lists show the label of another purchase on it',
      named({ label: labelOf(2), startedAt: at(-300) }),
      'contradicted',
    ],
    ['two lists show no label on it, and labels come back', named({ label: null }), 'contradicted'],
    ['there is no list', stranger([], { list: 'none' }), 'unseen'],
  ] as const)('has the proof of %s', ([, situation, expected]) => {
    expect(given(situation).machine.recordProof).toBe(expected);
  });

  test('is not given up without the intent of its purchase', () => {
    const copied = intent({ uid: '99999999-2222-4333-8444-555555555555' });
    expect(given(stranger([own()], { intent: copied })).machine.disowned).toBeUndefined();
    expect(given(stranger([own()], { intent: 'none' })).machine.disowned).toBeUndefined();
    expect(given(stranger([own()], { intent: intent({ attempt: 2 }) })).machine.disowned).toBeUndefined();
  });
});

const MACHINE = { instanceId: '1', attempt: 1 };
const PROVEN: Partial<Machine> = { label: labelOf(1), startedAt: at(-300) };
const TOY: Given = { facts: { market: toyFacts, labelEcho: 'notEchoed' }, intent: intent({ knownIds: [] }) };
const GONE: Partial<Machine> = { id: '' };
type Read = Machine | 'absent' | 'failed';
/** Returns a machine of which a read shows this; undefined: it was not read. */
const readAs = (shown: Partial<Machine>, read: Read | undefined, more: Given = {}): Given =>
  named(shown, [], {
    ...more,
    observed: { ...more.observed, labelReads: new Map(read === undefined ? [] : [['1', read]]) },
  });
/** Returns a machine at a market without labels that lists show as new. */
const bare = (shown: Partial<Machine>, read: Read | undefined): Given => {
  const machine = row({ label: undefined, ...shown });
  const list = { recorded: machine, unowned: [machine], ids: ['1'] };
  return readAs(GONE, read, { ...TOY, list });
};
const NEEDS_READ = { type: 'read', requests: [{ type: 'confirmLabel', instanceId: '1' }] };

describe('the label of a machine that is to be destroyed', () => {
  test.for<readonly [string, Given, object | string]>([
    ['is not needed after a list confirmed it', withMachine(), 'confirmed'],
    ['is read', readAs(PROVEN, undefined), NEEDS_READ],
    ['is confirmed by lists and a read', readAs(PROVEN, row(PROVEN)), 'confirmed'],
    ['is not confirmed by one list', readAs({ ...PROVEN, ...UNSETTLED }, row(PROVEN)), 'unconfirmed'],
    ['is not confirmed by lists that show another', readAs(STRANGER, row(STRANGER)), 'unconfirmed'],
    [
      'is not confirmed by a read that shows another',
      readAs(PROVEN, row({ ...PROVEN, label: 'mine' })),
      'unconfirmed',
    ],
    ['is not confirmed by a read that fails', readAs(PROVEN, 'failed'), 'unconfirmed'],
    ['is not confirmed by a read that finds no machine', readAs(PROVEN, 'absent'), 'unconfirmed'],
    ['is the one that was sent if no list shows the machine', readAs(GONE, row(PROVEN)), 'confirmed'],
    ['is the one that was sent before a list', readAs(GONE, row(PROVEN), { list: 'none' }), 'confirmed'],
    ['is not another one than was sent', readAs(GONE, row(STRANGER)), 'unconfirmed'],
    [
      'is not known without the intent of its purchase',
      readAs(GONE, row(PROVEN), { intent: 'none' }),
      'unconfirmed',
    ],
    ['is start and price at a market without labels', bare({}, row({ label: undefined })), 'confirmed'],
    [
      'is not another price at a market without labels',
      bare({}, row({ label: undefined, pricePerHour: 1 })),
      'unconfirmed',
    ],
    [
      'is not confirmed without a list at a market without labels',
      readAs(GONE, row({ label: undefined }), TOY),
      'unconfirmed',
    ],
  ])('%s', ([, situation, expected]) => {
    expect(labelConfirmation(given(situation), MACHINE.instanceId)).toEqual(expected);
  });
});

describe('a record that lists contradict', () => {
  test.for<readonly [string, Given, object | string]>([
    ['is kept until the machine was read', readAs(STRANGER, undefined), NEEDS_READ],
    ['is given up when the read shows the label of the lists', readAs(STRANGER, row(STRANGER)), 'confirmed'],
    ['is kept when the read shows another label', readAs(STRANGER, row(PROVEN)), 'unconfirmed'],
    ['is kept when the read fails', readAs(STRANGER, 'failed'), 'unconfirmed'],
    ['is kept when the read fails, and no list shows the machine', readAs(GONE, 'failed'), 'unconfirmed'],
    ['is kept when the read finds no machine that lists show', readAs(STRANGER, 'absent'), 'unconfirmed'],
    ['is given up when neither list nor read shows the machine', readAs(GONE, 'absent'), 'confirmed'],
    [
      'is given up before a list when the read shows none',
      readAs(GONE, 'absent', { list: 'none' }),
      'confirmed',
    ],
    [
      'is given up when the read alone shows it, with another label',
      readAs(GONE, row(STRANGER)),
      'confirmed',
    ],
    ['is kept when the read alone shows it, with the label sent', readAs(GONE, row(PROVEN)), 'unconfirmed'],
    ['is given up by start and price without labels', bare({}, row({ label: undefined })), 'confirmed'],
    [
      'is kept when the price differs without labels',
      bare({}, row({ label: undefined, pricePerHour: 1 })),
      'unconfirmed',
    ],
    [
      'is kept when the read alone shows it without labels',
      readAs(GONE, row({ label: undefined }), TOY),
      'unconfirmed',
    ],
  ])('%s', ([, situation, expected]) => {
    expect(disownConfirmation(given(situation), MACHINE)).toEqual(expected);
  });
});

describe('a machine that no reply to a rental named', () => {
  const unknown = { startedAt: undefined, pricePerHour: undefined, label: undefined };

  test.for<readonly [string, Partial<Machine>, Given, object | string]>([
    ['is read before it is recorded', PROVEN, readAs(PROVEN, undefined), NEEDS_READ],
    ['is recorded when the read shows its label', PROVEN, readAs(PROVEN, row(PROVEN)), 'confirmed'],
    ['is not recorded when the read shows another', PROVEN, readAs(PROVEN, row(STRANGER)), 'unconfirmed'],
    ['is not recorded when the read finds none', unknown, readAs(PROVEN, 'absent'), 'unconfirmed'],
    ['is not recorded when the read fails', unknown, readAs(PROVEN, 'failed'), 'unconfirmed'],
    ['is recorded by start and price without labels', {}, bare({}, row()), 'confirmed'],
    ['is not recorded at another start without labels', {}, bare({}, row({ startedAt: 1 })), 'unconfirmed'],
    ['is not recorded when none is found without labels', unknown, bare({}, 'absent'), 'unconfirmed'],
  ])('%s', ([, shown, situation, expected]) => {
    expect(foundConfirmation(given(situation), row(shown))).toEqual(expected);
  });
});

close();
