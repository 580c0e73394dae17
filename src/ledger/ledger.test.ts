import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { entry } from '../../test/builders/ledger.ts';
import { daySums } from './compact.ts';
import type { Entry } from './entry.ts';
import {
  countedMachines,
  emptyMonth,
  type Ledger,
  type MonthEntry,
  presentMonth,
  withEntries,
} from './ledger.ts';
import { keptLedger } from './storage.ts';

const NOVEMBER = '2026-11';
const EMPTY: Ledger = new Map();
const inNovember = (change: Partial<Entry> = {}): MonthEntry => ({ month: NOVEMBER, entry: entry(change) });
/** Adds a cost in a later month, so that the others are old. */
const withMonth = (ledger: Ledger, month: string) =>
  withEntries(ledger, [{ month, entry: entry({ uid: 'later' }) }], month);
const costOf = (ledger: Ledger) =>
  [...ledger.values()].reduce(
    (sum, { entries, sums }) => sum + [...entries, ...sums].reduce((part, { cost }) => part + cost, 0),
    0,
  );

describe('adding to the ledger', () => {
  test('begins a month with the entry alone', () => {
    const month = { month: NOVEMBER, entries: [entry()], sums: [], counted: new Map(), unread: [] };
    expect([...withEntries(EMPTY, [inNovember()], NOVEMBER)]).toEqual([[NOVEMBER, month]]);
  });

  test('counts a machine once, however often it is added', () => {
    const once = withEntries(EMPTY, [inNovember()], NOVEMBER);
    expect(withEntries(once, [inNovember(), inNovember({ cost: 9_000_000 })], NOVEMBER)).toBe(once);
    expect(costOf(once)).toBe(1_000_000);
  });

  test('keeps machines of two objects apart, and two machines of one object', () => {
    const others = [inNovember(), inNovember({ uid: 'uid-2' }), inNovember({ machine: '101' })];
    expect(costOf(withEntries(EMPTY, others, NOVEMBER))).toBe(3_000_000);
  });

  test('replaces the part of a machine that was split too early by its end', () => {
    const split = withEntries(EMPTY, [inNovember({ reason: undefined })], NOVEMBER);
    expect(withEntries(split, [inNovember({ reason: undefined, cost: 2_000_000 })], NOVEMBER)).toBe(split);
    const ended = withEntries(split, [inNovember({ cost: 900_000 })], NOVEMBER);
    expect(ended.get(NOVEMBER)?.entries).toEqual([entry({ cost: 900_000 })]);
    expect(withEntries(ended, [inNovember({ reason: undefined })], NOVEMBER)).toBe(ended);
  });

  test('books a machine that ended more than a year ago in the oldest month', () => {
    const ledger = withEntries(EMPTY, [{ month: '2025-08', entry: entry() }], NOVEMBER);
    expect([...ledger.keys()]).toEqual(['2025-12']);
  });

  test('does not count a compacted machine again while its object shows it', () => {
    const added = withEntries(EMPTY, [inNovember()], NOVEMBER);
    const old = keptLedger(withMonth(added, '2027-01'), { now: '2027-01', months: 13, isShown: () => true });
    expect(old.get(NOVEMBER)?.entries).toEqual([]);
    expect(withEntries(old, [inNovember()], '2027-01')).toBe(old);
    expect(costOf(old)).toBe(2_000_000);
    expect(countedMachines(old).get('uid-1/100')).toMatchObject({ hasEnded: true, total: 1_000_000 });
  });

  test('gives the same costs in every order and with every repetition', () => {
    const machines = fc.array(
      fc.record({ machine: fc.constantFrom('1', '2', '3', '4'), cost: fc.nat(5_000_000) }),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(machines, (changes) => {
        const added = changes.map(({ machine, cost }) => inNovember({ machine, cost }));
        const once = withEntries(EMPTY, added, NOVEMBER);
        const oneByOne = added.reduce((ledger, each) => withEntries(ledger, [each], NOVEMBER), EMPTY);
        expect(oneByOne).toEqual(once);
        expect(withEntries(once, added.toReversed(), NOVEMBER)).toBe(once);
      }),
    );
  });
});

describe('the newest record of a machine', () => {
  test('is that of its last month, in whatever order the months come', () => {
    const part = entry({ reason: undefined, cost: 2_000_000 });
    const end = entry({ cost: 3_000_000, total: 5_000_000 });
    const october = { ...emptyMonth('2026-10'), entries: [part] };
    const november = { ...emptyMonth(NOVEMBER), entries: [end] };
    for (const months of [
      [october, november],
      [november, october],
    ]) {
      const counted = countedMachines(new Map(months.map((month) => [month.month, month])));
      expect([...counted]).toEqual([
        ['uid-1/100', { month: NOVEMBER, total: 5_000_000, cost: 3_000_000, hasEnded: true }],
      ]);
    }
  });
});

describe('the present month', () => {
  const [sum] = daySums(entry());
  const counted = new Map([['uid-1/100', { total: 1, hasEnded: true }]]);
  const sums = sum ? [sum] : [];

  test.each([
    ['an entry', { entries: [entry()] }],
    ['a sum', { sums }],
    ['a machine that is shown', { counted }],
    ['a line that it cannot read', { unread: ['nonsense'] }],
    ['all of them', { entries: [entry()], sums, counted, unread: ['nonsense'] }],
  ])('is the newest one with %s', (_, parts) => {
    const months = [emptyMonth('2026-12'), { ...emptyMonth(NOVEMBER), ...parts }, emptyMonth('2026-10')];
    const ledger: Ledger = new Map(months.map((month) => [month.month, month]));
    expect(presentMonth(ledger, '2025-01')).toBe(NOVEMBER);
  });

  test('is that of the clock while the ledger has no line', () => {
    expect(presentMonth(new Map([['2026-12', emptyMonth('2026-12')]]), '2026-10')).toBe('2026-10');
  });
});
