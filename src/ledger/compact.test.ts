import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { entry } from '../../test/builders/ledger.ts';
import { encodedBytes } from './codec.ts';
import { compactMonth, daySums } from './compact.ts';
import type { Entry } from './entry.ts';
import { emptyMonth, type Month } from './ledger.ts';

const month = (entries: readonly Entry[]): Month => ({ ...emptyMonth('2026-11'), entries });
const none = () => false;
const costOf = ({ entries, sums }: Month) => [...entries, ...sums].reduce((sum, { cost }) => sum + cost, 0);
const secondsOf = ({ sums }: Month) => sums.reduce((sum, { gpuSeconds }) => sum + gpuSeconds, 0);

const anyEntry = fc
  .record({
    machine: fc.nat(10_000).map(String),
    namespace: fc.constantFrom('team-a', 'team-b'),
    group: fc.constantFrom('', 'chat'),
    gpu: fc.constantFrom('', 'RTX 4090', 'H100'),
    gpus: fc.integer({ min: 1, max: 8 }),
    labels: fc.constantFrom({}, { team: 'x' }),
    start: fc.integer({ min: 0, max: 29 * 86_400 }),
    seconds: fc.integer({ min: 0, max: 5 * 86_400 }),
    cost: fc.nat(90_000_000),
  })
  .map(({ start, seconds, ...rest }) => {
    const begin = Date.UTC(2026, 10, 1) + start * 1000;
    return entry({ ...rest, start: begin, end: Math.min(Date.UTC(2026, 11, 1), begin + seconds * 1000) });
  });
const entries = fc.uniqueArray(anyEntry, { selector: ({ machine }) => machine, maxLength: 30 });

describe('compaction', () => {
  test('keeps each machine of this month and of the month before', () => {
    const before = month([entry()]);
    expect(compactMonth(before, { now: '2026-12', isShown: none })).toBe(before);
  });

  test('keeps days for half a year, then months', () => {
    const before = month([
      entry(),
      entry({ machine: '101', start: Date.UTC(2026, 10, 4), end: Date.UTC(2026, 10, 5) }),
    ]);
    const periods = (now: string) =>
      compactMonth(before, { now, isShown: none }).sums.map(({ period }) => period);
    expect(periods('2027-01')).toEqual(['2026-11-03', '2026-11-04']);
    expect(periods('2027-05')).toEqual(['2026-11-03', '2026-11-04']);
    expect(periods('2027-06')).toEqual(['2026-11']);
  });

  test('keeps the tags of machines in sums of days and of months', () => {
    const tags = { group: 'chat', gpu: 'H100', labels: { team: 'x' } };
    const before = month([entry(tags), entry({ ...tags, machine: '101', gpus: 2 })]);
    for (const [now, period] of [
      ['2027-01', '2026-11-03'],
      ['2027-06', '2026-11'],
    ] as const)
      expect(compactMonth(before, { now, isShown: none }).sums, now).toEqual([
        {
          ...{ account: 'team-a/main', namespace: 'team-a', ...tags, period },
          ...{ cost: 2_000_000, gpuSeconds: 3 * 7_200, machines: 2 },
        },
      ]);
  });

  test('makes months of days as they get older', () => {
    const days = compactMonth(
      month([entry(), entry({ machine: '101', start: Date.UTC(2026, 10, 4), end: Date.UTC(2026, 10, 5) })]),
      { now: '2027-01', isShown: none },
    );
    const { sums } = compactMonth(days, { now: '2027-06', isShown: none });
    expect(sums).toMatchObject([{ period: '2026-11', cost: 2_000_000, machines: 2 }]);
  });

  test('orders sums by their period, and keeps the order of those of one period', () => {
    const on = (day: number, namespace: string) =>
      entry({
        ...{ namespace, machine: `${day}` },
        start: Date.UTC(2026, 10, day),
        end: Date.UTC(2026, 10, day),
      });
    const list = [on(5, 'b'), on(5, 'a'), on(3, 'c'), on(5, 'd'), on(4, 'e')];
    const { sums } = compactMonth(month(list), { now: '2027-01', isShown: none });
    expect(sums.map(({ namespace }) => namespace)).toEqual(['c', 'e', 'b', 'a', 'd']);
  });

  test('changes no sum, whatever the age', { tags: 'long' }, () => {
    fc.assert(
      fc.property(entries, fc.constantFrom('2026-11', '2027-01', '2027-08'), (list, now) => {
        const before = month(list);
        const after = compactMonth(before, { now, isShown: none });
        expect(costOf(after)).toBe(costOf(before));
        expect(compactMonth(after, { now, isShown: none })).toBe(after);
        const byDay = compactMonth(before, { now: '2027-01', isShown: none });
        const byMonth = compactMonth(byDay, { now: '2027-08', isShown: none });
        expect(costOf(byMonth)).toBe(costOf(before));
        expect(secondsOf(byMonth)).toBe(secondsOf(byDay));
        for (const namespace of ['team-a', 'team-b']) {
          const only = (of: Month) => costOf({ ...of, ...partOf(of, namespace) });
          expect(only(byMonth)).toBe(only(before));
        }
      }),
    );
  });

  test('divides a machine over its days without losing a millionth', () => {
    fc.assert(
      fc.property(anyEntry, (one) => {
        const sums = daySums(one);
        expect(sums.reduce((sum, { cost }) => sum + cost, 0)).toBe(one.cost);
        expect(sums.every(({ cost }) => cost >= 0)).toBe(true);
        expect(sums.reduce((sum, { machines }) => sum + machines, 0)).toBe(1);
      }),
    );
  });

  test('divides cost and GPU time of a machine at midnight', () => {
    const one = entry({ start: Date.UTC(2026, 10, 3, 21), end: Date.UTC(2026, 10, 4, 1), gpus: 2, cost: 4 });
    expect(daySums(one)).toMatchObject([
      { period: '2026-11-03', cost: 3, gpuSeconds: 21_600, machines: 1 },
      { period: '2026-11-04', cost: 1, gpuSeconds: 7_200, machines: 0 },
    ]);
  });

  test('has the whole cost of a machine that ended in the moment in which it began', () => {
    const moment = Date.UTC(2026, 10, 4);
    expect(daySums(entry({ start: moment, end: moment, cost: 7 }))).toMatchObject([
      { period: '2026-11-04', cost: 7, gpuSeconds: 0, machines: 1 },
    ]);
  });

  test('keeps a month within its bytes, with less detail and the same sum', { tags: 'long' }, () => {
    const many = Array.from({ length: 3000 }, (_, index) =>
      entry({ machine: String(index), group: `group-${index}`, start: Date.UTC(2026, 10, 1 + (index % 28)) }),
    );
    const before = month(many);
    const maxBytes = 100_000;
    const after = compactMonth(before, { now: '2026-11', isShown: none, maxBytes });
    expect(encodedBytes(after)).toBeLessThanOrEqual(maxBytes);
    expect(costOf(after)).toBe(costOf(before));
    expect(after.sums).toMatchObject([{ namespace: 'team-a', period: '2026-11', machines: 3000 }]);
  });

  test('keeps all detail of a month that has exactly its maximum bytes, and less beyond', () => {
    const before = month([entry(), entry({ machine: '101', group: 'chat' })]);
    const input = (maxBytes: number) => ({ now: '2026-11', isShown: none, maxBytes });
    const bytes = encodedBytes(before);
    expect(compactMonth(before, input(bytes))).toBe(before);
    expect(compactMonth(before, input(bytes - 1))).toMatchObject({
      entries: [],
      sums: [{ group: '' }, { group: 'chat' }],
    });
  });

  test.each([
    ['groups', (index: number) => ({ group: `${index}` })],
    ['GPU models', (index: number) => ({ gpu: `${index}` })],
    ['labels', (index: number) => ({ labels: { team: `${index}` } })],
  ])('joins the %s of a month that is too large, and changes it no more', (_, tag) => {
    const plain = { group: '', gpu: '', labels: {} };
    const many = Array.from({ length: 20 }, (_each, index) =>
      entry({ ...plain, ...tag(index), machine: String(index) }),
    );
    const old = compactMonth(month(many), { now: '2027-08', isShown: none });
    expect(old.sums).toHaveLength(20);
    const input = { now: '2027-08', isShown: none, maxBytes: 1_000 };
    const small = compactMonth(old, input);
    expect(small.sums).toMatchObject([{ ...plain, period: '2026-11', cost: 20_000_000, machines: 20 }]);
    expect(compactMonth(small, { ...input, maxBytes: 10 })).toBe(small);
  });

  test('drops the oldest unreadable lines, and no other, when nothing else makes a month small enough', () => {
    const unread = Array.from({ length: 16 }, (_, index) => `line ${String(index).padStart(4, '0')}`);
    const before = { ...emptyMonth('2026-11'), unread };
    const lines = (maxBytes: number) =>
      compactMonth(before, { now: '2026-11', isShown: none, maxBytes }).unread;
    const bytes = encodedBytes(before);
    expect(lines(bytes - 1)).toEqual(unread.slice(2));
    expect(lines(encodedBytes({ ...before, unread: unread.slice(2) }))).toEqual(unread.slice(2));
    expect(lines(10)).toEqual([]);
  });

  test('forgets machines of a young month when no object shows them any more', () => {
    const counted = new Map([['uid-1/100', { total: 1_000_000, hasEnded: true }]]);
    const before: Month = { ...month([entry({ machine: '101' })]), counted };
    const input = { now: '2026-11', isShown: none };
    expect(compactMonth(before, input)).toEqual({ ...before, counted: new Map() });
    expect(compactMonth(before, { ...input, isShown: () => true })).toBe(before);
  });

  test('remembers compacted machines only while an object shows them', () => {
    const old = compactMonth(month([entry()]), { now: '2027-01', isShown: () => true });
    expect([...old.counted.keys()]).toEqual(['uid-1/100']);
    expect(compactMonth(old, { now: '2027-01', isShown: none }).counted.size).toBe(0);
  });
});

function partOf(of: Month, namespace: string): Pick<Month, 'entries' | 'sums'> {
  return {
    entries: of.entries.filter((each) => each.namespace === namespace),
    sums: of.sums.filter((each) => each.namespace === namespace),
  };
}
