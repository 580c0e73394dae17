import { describe, expect, test } from 'vitest';
import { decisionTables } from '../../../test/builders/decision-table.ts';
import { at, type Given, given, intent, row, withMachine } from '../../../test/builders/observed.ts';
import { toyFacts } from '../../../test/builders/toy-market.ts';
import type { Machine } from '../../accounts/beliefs/machine.ts';
import type { ConfirmedView } from './types.ts';

const { table, close } = decisionTables('unlabelled-proof');

const OFFERED = { pricePerHour: 500_000 };
const UNSETTLED: Partial<Machine> = { unsettled: new Set(['startedAt', 'pricePerHour']) };
/** Returns a machine at a market without labels; new since the purchase. */
const bare = (id: string, change: Partial<Machine> = {}): Machine =>
  row({ id, label: undefined, ...OFFERED, ...change });
/** Every machine of the purchase would be listed by now. */
const SETTLED: Given = {
  memory: { intentDeadline: { attempt: 1, at: at(-270) } },
  observed: { listsBegun: [at(-61), at(-11), at(-1)] },
};
const EARLY: Given = { memory: { intentDeadline: { attempt: 1, at: at(-10) } } };

interface Shown {
  readonly named?: Partial<Machine> | undefined;
  readonly others?: readonly Machine[];
  /** Ids that were listed before the purchase. */
  readonly known?: readonly string[];
}

/** Returns an object whose machine 1 only the reply to its rental names. */
function named({ named: change, others = [], known = [] }: Shown, more: Given = {}): Given {
  const machine = change && bare('1', change);
  const rows = [...(machine ? [machine] : []), ...others];
  return {
    ...withMachine(),
    machines: [],
    ...more,
    intent: intent({ knownIds: known }),
    facts: { market: toyFacts, labelEcho: 'notEchoed', ...more.facts },
    list: { recorded: machine, unowned: rows, ids: rows.map(({ id }) => id) },
    observed: {
      labelReads: new Map(rows.map((shown) => [shown.id, shown])),
      confirmed: { instanceId: '1', read: machine ?? 'absent' },
      ...more.observed,
    },
    status: { ...withMachine().status, unconfirmed: true, ...more.status },
  };
}

/** Reads of machines 1 and 2. */
const reads = (first: ConfirmedView['read'], second: ConfirmedView['read']) =>
  new Map([
    ['1', first],
    ['2', second],
  ]);

const proofOf = (situation: Given) => given(situation).machine.recordProof;

describe('the proof of a machine at a market without labels', () => {
  test.for<readonly [string, Given, string]>([
    ['is missing before a list', { ...named({ named: {} }), list: 'none' }, 'unseen'],
    ['is missing while one list shows the machine', named({ named: UNSETTLED }), 'unseen'],
    [
      'is missing while lists do not agree on its start',
      named({ named: { unsettled: new Set(['startedAt']) } }),
      'unseen',
    ],
    [
      'is missing while lists do not agree on its price',
      named({ named: { unsettled: new Set(['pricePerHour']) } }),
      'unseen',
    ],
    ['is complete when lists agree on it', named({ named: {} }), 'confirmed'],
    [
      'is complete beside another new machine of its price',
      named({ named: {}, others: [bare('2')] }, SETTLED),
      'confirmed',
    ],
    [
      'is complete if neither has the price of the offer',
      named({ named: { pricePerHour: 600_000 }, others: [bare('2', { pricePerHour: 700_000 })] }, SETTLED),
      'confirmed',
    ],
    [
      'is complete beside another new machine without a price, if the offer had none',
      named(
        { named: { pricePerHour: 600_000 }, others: [bare('2', { pricePerHour: undefined })] },
        { ...SETTLED, status: { offerPricePerHour: undefined } },
      ),
      'confirmed',
    ],
    [
      'is contradicted if another new machine alone costs what the offer did',
      named({ named: { pricePerHour: 600_000 }, others: [bare('2')] }, SETTLED),
      'contradicted',
    ],
    [
      'is disputed while lists do not agree on that price',
      named({ named: { pricePerHour: 600_000 }, others: [bare('2', UNSETTLED)] }, SETTLED),
      'disputed',
    ],
    [
      'is disputed while another machine may still appear',
      named({ named: { pricePerHour: 600_000 }, others: [bare('2')] }, EARLY),
      'disputed',
    ],
    ['is missing while the machine may still be listed', named({ others: [bare('2')] }, EARLY), 'unseen'],
    [
      'is contradicted if another is listed in its place',
      named({ others: [bare('2')] }, SETTLED),
      'contradicted',
    ],
    [
      'is missing if only machines from before are listed',
      named({ others: [bare('2')], known: ['2'] }, SETTLED),
      'unseen',
    ],
    ['is missing if nothing is listed', named({}, SETTLED), 'unseen'],
  ])('%s', ([, situation, expected]) => {
    expect(proofOf(situation)).toBe(expected);
  });

  test('is the reply alone if the purchase has no record of what was listed before', () => {
    expect(proofOf({ ...named({ named: {} }), intent: intent() })).toBe('confirmed');
    expect(proofOf({ ...named({ named: {} }), intent: 'none' })).toBe('confirmed');
  });
});

const DELETED: Given = { deleting: true };
const LIMIT: Given = { spec: { maxTotalCost: '0.01' }, facts: { isEndJudged: true } };

describe('a machine that only the reply to a rental names, at a market without labels', () => {
  table([
    [
      'is not destroyed at its limit before a list shows it',
      named({}, LIMIT),
      { rule: 'machine-missing', afterMs: 60_000, onList: true },
    ],
    [
      'gives its record to the new machine that is listed in its place',
      named(
        { others: [bare('2')] },
        {
          ...SETTLED,
          observed: {
            ...SETTLED.observed,
            labelReads: reads('absent', bare('2')),
          },
        },
      ),
      { rule: 'move-record', record: 'status', phase: 'Provisioning', says: 'Provisioning', afterMs: 0 },
    ],
    [
      'is read before its record moves',
      named(
        { others: [bare('2')] },
        { ...SETTLED, observed: { ...SETTLED.observed, labelReads: new Map() } },
      ),
      { reads: [{ type: 'confirmLabel', instanceId: '1' }] },
    ],
    [
      'keeps its record while its read shows it',
      named(
        { others: [bare('2')] },
        {
          ...SETTLED,
          observed: {
            ...SETTLED.observed,
            labelReads: reads(bare('1'), bare('2')),
          },
        },
      ),
      { rule: 'await-second-list', afterMs: 30_000, onList: true },
    ],
    [
      'keeps its record while the read of the other machine shows another price',
      named(
        { others: [bare('2')] },
        {
          ...SETTLED,
          observed: {
            ...SETTLED.observed,
            labelReads: reads('absent', bare('2', { pricePerHour: 1 })),
          },
        },
      ),
      { rule: 'await-second-list', afterMs: 30_000, onList: true },
    ],
    [
      'keeps its record while the read of the other machine shows another start',
      named(
        { others: [bare('2')] },
        {
          ...SETTLED,
          observed: {
            ...SETTLED.observed,
            labelReads: reads('absent', bare('2', { startedAt: at(-200) })),
          },
        },
      ),
      { rule: 'await-second-list', afterMs: 30_000, onList: true },
    ],
    [
      'leaves the choice among several new machines to a person',
      named({ others: [bare('2'), bare('3')] }, SETTLED),
      { rule: 'hold-uncertain-rental', phase: 'Renting', says: 'RentalUncertain', onList: true },
    ],
    [
      'stays when its object is deleted before lists show it, and the object waits',
      named({ named: UNSETTLED }, DELETED),
      { rule: 'confirm-gone', onList: true, afterMs: 30_000 },
    ],
    [
      'goes with its object when lists and a read show it',
      named({ named: {} }, DELETED),
      { rule: 'destroy-machines', actions: ['destroy 1 (Deleting)'], afterMs: 5000, onList: true },
    ],
    [
      'stays when its object is deleted, and the machine that is listed in its place goes',
      named(
        { others: [bare('2')] },
        {
          ...SETTLED,
          ...DELETED,
          observed: {
            ...SETTLED.observed,
            labelReads: reads('absent', bare('2')),
          },
        },
      ),
      { rule: 'destroy-machines', actions: ['destroy 2 (Deleting)'], afterMs: 5000, onList: true },
    ],
  ]);
});

close();
