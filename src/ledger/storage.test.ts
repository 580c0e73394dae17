import { describe, expect, test } from 'vitest';
import { entry } from '../../test/builders/ledger.ts';
import { LEDGER_PAST } from '../api/v1alpha1/names.ts';
import type { LedgerData } from './codec.ts';
import { countedMachines, emptyMonth, type Ledger, type Month, presentMonth, withEntries } from './ledger.ts';
import { laterMonth } from './months.ts';
import { LEDGER_NAMES } from './names.ts';
import { keptLedger, readLedger, storedForm } from './storage.ts';

const START = '2026-11';
const EMPTY: Ledger = new Map();
const costOf = (ledger: Ledger) =>
  [...ledger.values()]
    .flatMap(({ entries, sums }) => [...entries, ...sums])
    .reduce((sum, { cost }) => sum + cost, 0);

const add = (ledger: Ledger, month: string) =>
  withEntries(ledger, [{ month, entry: entry({ machine: month, uid: month }) }], month);

const kept = (ledger: Ledger, months = 13, isShown = (_key: string) => false) =>
  keptLedger(ledger, { now: presentMonth(ledger, START), months, isShown });

/** Writes the ledger as a process would, one ConfigMap after the other; `until` cuts it off. */
function written(ledger: Ledger, before: ReadonlyMap<string, LedgerData>, until = Number.POSITIVE_INFINITY) {
  const form = [...storedForm(ledger, presentMonth(ledger, START), before)];
  return new Map([...before, ...form.slice(0, until)]);
}

/** Returns the ledger of so many months, one dollar in each, stored and read in each month. */
function monthsOf(count: number, months = 13) {
  let stored: ReadonlyMap<string, LedgerData> = new Map();
  for (let at = 0; at < count; at += 1) {
    stored = written(
      kept(add(readLedger(stored, laterMonth(START, at)), laterMonth(START, at)), months),
      stored,
    );
  }
  return { stored, ledger: readLedger(stored, laterMonth(START, count)) };
}

describe('the ConfigMaps of the ledger', () => {
  test('have names that a role can list', () => {
    const { stored } = monthsOf(30);
    expect(LEDGER_NAMES).toHaveLength(13);
    expect([...stored.keys()].filter((name) => !LEDGER_NAMES.includes(name))).toEqual([]);
  });

  test('keep the months of the retention, and no other', () => {
    const months = (of: Ledger) => [...of.keys()].toSorted();
    expect(months(monthsOf(12).ledger)).toHaveLength(12);
    expect(months(monthsOf(13).ledger)).toEqual(months(monthsOf(13, 99).ledger));
    expect(months(monthsOf(20).ledger)[0]).toBe(laterMonth(START, 7));
    expect(costOf(monthsOf(20).ledger)).toBe(13_000_000);
    expect(costOf(monthsOf(20, 3).ledger)).toBe(3_000_000);
    expect(costOf(monthsOf(40, 40).ledger)).toBe(40_000_000);
  });

  test('lose no month if the process ends between two writes of a new year', () => {
    const { stored, ledger } = monthsOf(12);
    const next = kept(add(ledger, '2027-11'));
    for (const writes of [0, 1, 2, 3]) {
      const cut = readLedger(written(next, stored, writes), '2027-11');
      expect(costOf(kept(add(cut, '2027-11'))), `${writes} writes`).toBe(13_000_000);
    }
  });

  test('remember for years a machine that an object shows', () => {
    let stored: ReadonlyMap<string, LedgerData> = new Map();
    for (let at = 0; at < 30; at += 1) {
      const ledger = add(readLedger(stored, laterMonth(START, at)), laterMonth(START, at));
      stored = written(
        kept(ledger, 13, (key) => key === `${START}/${START}`),
        stored,
      );
    }
    const read = readLedger(stored, laterMonth(START, 30));
    expect(countedMachines(read).get(`${START}/${START}`)).toMatchObject({ hasEnded: true });
    expect(costOf(read)).toBe(13_000_000);
  });

  test('are neither compacted nor dropped by a clock that is years ahead', () => {
    const { ledger } = monthsOf(3);
    expect(presentMonth(ledger, '2040-01')).toBe('2027-01');
    expect(withEntries(ledger, [], '2040-01')).toBe(ledger);
    const entries = [{ month: '2060-01', entry: entry({ uid: 'wrong' }) }];
    expect([...withEntries(ledger, entries, '2027-01').keys()].at(-1)).toBe('2027-02');
  });

  test('with sums only of the past stay within their bytes', { tags: 'long' }, () => {
    const months = Array.from({ length: 20 }, (_, at) => laterMonth(START, at));
    const many = months.reduce<Ledger>((ledger, month) => {
      const entries = Array.from({ length: 600 }, (_, index) => ({
        month,
        entry: entry({ uid: `${index}`, machine: month, group: `group-${index}-${'x'.repeat(200)}` }),
      }));
      return withEntries(ledger, entries, month);
    }, EMPTY);
    const stored = storedForm(kept(many, 40), '2028-06', new Map());
    const past = Object.values(stored.get(LEDGER_PAST) ?? {}).reduce((sum, { length }) => sum + length, 0);
    expect(past).toBeGreaterThan(0);
    expect(past).toBeLessThan(1024 * 1024);
  });

  test('that a person has given the month of another do not replace it', () => {
    const { stored } = monthsOf(2);
    const spoilt = new Map(stored).set('gpurental-ledger-12', {
      ...stored.get('gpurental-ledger-12'),
      month: '2026-11',
    });
    expect(readLedger(spoilt, '2026-12')).toEqual(readLedger(stored, '2026-12'));
  });

  test('without a month or a readable line have the latest month of their name', () => {
    const stored = new Map([['gpurental-ledger-11', { entries: 'nonsense\n' }]]);
    expect([...readLedger(stored, '2026-12').keys()]).toEqual(['2026-11']);
    expect([...readLedger(stored, '2026-10').keys()]).toEqual(['2026-11']);
    expect([...readLedger(stored, '2026-09').keys()]).toEqual(['2025-11']);
  });
});

describe('a ledger as it is kept', () => {
  const input = (now: string, isShown = (_key: string) => true) => ({ now, months: 13, isShown });
  const counted = (key: string): Month['counted'] => new Map([[key, { total: 1_000_000, hasEnded: true }]]);
  const monthWith = (month: string): Month => ({ ...emptyMonth(month), counted: counted(`uid/${month}`) });
  const ledgerOf = (...months: readonly Month[]): Ledger =>
    new Map(months.map((month) => [month.month, month]));

  test('is the same object while nothing is too old', () => {
    const ledger = ledgerOf(monthWith('2026-11'), monthWith('2026-10'));
    expect(keptLedger(ledger, input('2026-11'))).toBe(ledger);
  });

  test('has its months in order, and the machines of dropped ones in the oldest', () => {
    const months = ['2027-01', '2026-12', '2025-12', '2025-11', '2026-02'].map(monthWith);
    const keys = [...keptLedger(ledgerOf(...months), input('2027-01'))].map(([name, { counted: of }]) => [
      name,
      ...of.keys(),
    ]);
    expect(keys).toEqual([
      ['2026-02', 'uid/2025-11', 'uid/2025-12', 'uid/2026-02'],
      ['2026-12', 'uid/2026-12'],
      ['2027-01', 'uid/2027-01'],
    ]);
  });

  test('is empty when all of it is too old', () => {
    expect(keptLedger(ledgerOf(monthWith('2024-01')), input('2027-01'))).toEqual(new Map());
  });
});

describe('the stored form of a ledger', () => {
  const sumsOf = (month: string, namespaces: number, group = 'chat'): Month => ({
    ...emptyMonth(month),
    sums: Array.from({ length: namespaces }, (_, index) => ({
      ...{ period: month, account: 'team-a/main', namespace: `team-${index}`, group, gpu: '', labels: {} },
      ...{ cost: 1_000_000, gpuSeconds: 1, machines: 1 },
    })),
  });
  const ledgerOf = (...months: readonly Month[]): Ledger =>
    new Map(months.map((month) => [month.month, month]));
  const past = (ledger: Ledger, now: string) => storedForm(ledger, now, new Map()).get(LEDGER_PAST);
  const monthsIn = (data: LedgerData | undefined) => Object.keys(data ?? {}).filter((key) => /^\d/.test(key));

  test('has no ConfigMap of older months while there are none', () => {
    const form = storedForm(ledgerOf(sumsOf('2026-11', 1), sumsOf('2026-12', 1)), '2026-12', new Map());
    expect([...form.keys()]).toEqual(['gpurental-ledger-11', 'gpurental-ledger-12']);
  });

  test('has a month of last year in the ConfigMap of older months alone', () => {
    const ledger = ledgerOf(sumsOf('2027-11', 1), sumsOf('2026-11', 2));
    const form = storedForm(ledger, '2027-11', new Map());
    expect(form.get('gpurental-ledger-11')?.['month']).toBe('2027-11');
    expect(monthsIn(form.get(LEDGER_PAST))).toEqual(['2026-11']);
  });

  test('empties the ConfigMap of a month that was dropped, and names the month that it has room for', () => {
    const before = new Map([
      ['gpurental-ledger-03', {}],
      ['gpurental-ledger-11', {}],
    ]);
    const form = storedForm(ledgerOf(sumsOf('2026-11', 1)), '2026-11', before);
    expect(form.get('gpurental-ledger-03')).toMatchObject({ month: '2026-03', sums: '' });
    expect(form.get('gpurental-ledger-11')?.['sums']).toContain('team-0');
    expect(form.size).toBe(2);
  });

  test('keeps the groups of older months while there is room for them', () => {
    expect(past(ledgerOf(sumsOf('2026-11', 2)), '2028-01')?.['2026-11']).toContain('"group":"chat"');
  });

  test('has sums of namespaces alone when groups of older months are too large', { tags: 'long' }, () => {
    const wide = (month: string) => sumsOf(month, 2_000, `chat-${'x'.repeat(400)}`);
    const data = past(ledgerOf(wide('2026-11'), wide('2026-12')), '2028-01');
    expect(monthsIn(data)).toEqual(['2026-11', '2026-12']);
    expect(data?.['2026-11']?.split('\n')).toHaveLength(2_001);
    expect(data?.['2026-11']).not.toContain('group');
  });

  test('drops the oldest of older months, and no other, when namespaces are too many', {
    tags: 'long',
  }, () => {
    const older = ['2026-09', '2026-10', '2026-11', '2026-12'].map((month) => sumsOf(month, 3_000, ''));
    expect(monthsIn(past(ledgerOf(...older), '2028-01'))).toEqual(['2026-11', '2026-12']);
    expect(monthsIn(past(ledgerOf(sumsOf('2026-12', 9_000, '')), '2028-01'))).toEqual(['2026-12']);
  });
});
