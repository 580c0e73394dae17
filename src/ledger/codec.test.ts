import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { entry } from '../../test/builders/ledger.ts';
import { decodeMonth, decodePast, encodedBytes, encodeMonth, encodePast, isLedgerKey } from './codec.ts';
import { compactMonth } from './compact.ts';
import { emptyMonth, type Month } from './ledger.ts';
import { laterMonth, monthStartOf } from './months.ts';

/** Returns a month with two machines. */
const november = (change: Partial<Month> = {}): Month => ({
  ...emptyMonth('2026-11'),
  entries: [
    entry({ group: 'chat', gpus: 2, labels: { team: 'x' }, total: 3_000_000 }),
    entry({ machine: '101', price: undefined, reason: undefined, isEstimated: true, gpu: '' }),
  ],
  ...change,
});
/** Returns a month whose machines are sums, and are shown by their objects. */
const compacted = (month: string, machine = '100') =>
  compactMonth(
    {
      ...emptyMonth(month),
      entries: [entry({ machine, start: monthStartOf(month), end: monthStartOf(month) })],
    },
    { now: laterMonth(month, 12), isShown: () => true },
  );

describe('the text of the ledger', () => {
  test('is read as it was written', () => {
    expect(decodeMonth(encodeMonth(november()))).toEqual(november());
    const old = compactMonth(november(), { now: '2027-01', isShown: () => true });
    expect(decodeMonth(encodeMonth(old))).toEqual(old);
    expect(decodePast(encodePast([{ ...old, counted: new Map() }]))).toEqual([
      { ...old, counted: new Map() },
    ]);
  });

  test('of older months is read as it was written, the oldest first', () => {
    const months = [compacted('2026-03'), compacted('2026-04', '101')];
    expect(months.map(({ counted }) => [...counted.keys()])).toEqual([['uid-1/100'], ['uid-1/101']]);
    expect(decodePast(encodePast(months))).toEqual(months);
    expect(decodePast(encodePast(months.toReversed()))).toEqual(months);
  });

  test('of older months keeps lines that it cannot read, in the oldest of them', () => {
    const data = encodePast([compacted('2026-04'), { ...compacted('2026-03'), unread: ['nonsense'] }]);
    const read = decodePast({ ...data, '2026-04': `${data['2026-04']}{"period":1}\n` });
    expect(read.map(({ month, unread }) => [month, unread])).toEqual([
      ['2026-03', ['nonsense', '{"period":1}']],
      ['2026-04', []],
    ]);
  });

  test('of a month without a cost is that of the month', () => {
    expect(decodeMonth(encodeMonth(emptyMonth('2026-11')))).toEqual(emptyMonth('2026-11'));
  });

  test('has keys of its own in a ConfigMap', () => {
    const keys = [
      ...Object.keys(encodeMonth(november())),
      ...Object.keys(encodePast([compacted('2026-03')])),
    ];
    expect(keys.filter((key) => !isLedgerKey(key))).toEqual([]);
    expect(['note', '', '2026-13', 'values'].filter(isLedgerKey)).toEqual([]);
  });

  test('names a machine in a line, without what is empty', () => {
    expect(encodeMonth({ ...november(), entries: [entry()] })).toEqual({
      month: '2026-11',
      entries:
        '{"machine":"100","uid":"uid-1","name":"trainer","account":"team-a/main","namespace":"team-a","gpu":"RTX 4090","start":1793700000,"end":1793707200,"cost":"1.00","price":"0.50","reason":"Deleting"}\n',
      sums: '',
      counted: '',
      unread: '',
    });
    const poor = entry({ gpu: '', price: undefined, reason: undefined });
    expect(encodeMonth(november({ entries: [poor] }))['entries']).toBe(
      '{"machine":"100","uid":"uid-1","name":"trainer","account":"team-a/main","namespace":"team-a","start":1793700000,"end":1793707200,"cost":"1.00"}\n',
    );
  });

  test('keeps a line that it cannot read', () => {
    const data = { ...encodeMonth(november()), entries: '{"machine":1}\nnonsense\n' };
    const read = decodeMonth(data);
    expect(read).toMatchObject({ entries: [], unread: ['{"machine":1}', 'nonsense'] });
    expect(decodeMonth({ ...data, unread: 'older\n' })?.unread).toEqual([
      'older',
      '{"machine":1}',
      'nonsense',
    ]);
    expect(encodeMonth(read ?? november())['unread']).toBe('{"machine":1}\nnonsense\n');
  });

  test('keeps a line whose amount it cannot read', () => {
    const data = encodeMonth(november({ entries: [entry()] }));
    const line = data['entries']?.trim().replace('"cost":"1.00"', '"cost":"a lot"');
    expect(decodeMonth({ ...data, entries: `${line}\n` })).toMatchObject({ entries: [], unread: [line] });
  });

  test.each([undefined, {}, { month: '2026-13' }, { month: 'November' }])('of %j is no month', (data) => {
    expect(decodeMonth(data)).toBeUndefined();
  });

  test('never throws, and loses no line', () => {
    const line = fc.oneof(fc.string(), fc.json()).map((text) => text.replaceAll('\n', ''));
    fc.assert(
      fc.property(fc.array(line), fc.array(line), (entries, sums) => {
        const data = { month: '2026-11', entries: entries.join('\n'), sums: sums.join('\n') };
        const read = decodeMonth(data);
        const given = [...entries, ...sums].filter((text) => text !== '').length;
        expect((read?.unread.length ?? 0) + (read?.entries.length ?? 0) + (read?.sums.length ?? 0)).toBe(
          given,
        );
      }),
    );
  });

  test('of a year with 10,000 rentals fits etcd', () => {
    const aMonth = Array.from({ length: 850 }, (_, index) =>
      entry({
        ...{
          uid: `11111111-2222-4333-8444-${String(index).padStart(12, '0')}`,
          machine: String(20_000_000 + index),
        },
        ...{
          name: `chat-worker-${index}`,
          group: 'chat',
          labels: { team: 'research' },
          account: 'gpu-accounts/main',
        },
      }),
    );
    const bytes = encodedBytes({ ...november(), entries: aMonth });
    expect(bytes).toBeLessThan(256 * 1024);
    expect(bytes / aMonth.length).toBeLessThan(300);
  });
});

describe('a ConfigMap that a person has edited', () => {
  const inNovember = (named: string | undefined, ofLines: readonly string[]) =>
    named ?? ofLines[0] ?? '2025-11';

  test('without its month has the month of its lines', () => {
    const { month: _lost, ...data } = encodeMonth(november());
    expect(decodeMonth(data, inNovember)).toEqual(november());
    expect(decodeMonth({ ...data, month: 'November' }, inNovember)).toEqual(november());
  });

  test('without its month has the month of a machine that ran to its end', () => {
    const entries = [entry({ end: Date.UTC(2026, 11, 1) })];
    const { month: _lost, ...data } = encodeMonth(november({ entries }));
    expect(decodeMonth(data, inNovember)?.month).toBe('2026-11');
  });

  test.each([
    ['days', '2027-01'],
    ['months', '2027-08'],
  ])('without its month has the month of its %s', (_, now) => {
    const { month: _lost, ...data } = encodeMonth(compactMonth(november(), { now, isShown: () => false }));
    expect(decodeMonth(data, inNovember)?.month).toBe('2026-11');
  });

  test('without its month keeps the machines that are shown', () => {
    const counted = '{"key":"uid-1/100","total":"1.00","ended":true}\n';
    expect(decodeMonth({ counted }, inNovember)).toEqual({
      ...emptyMonth('2025-11'),
      counted: new Map([['uid-1/100', { total: 1_000_000, hasEnded: true }]]),
    });
  });

  test('without its month and any line that can be read keeps all lines', () => {
    const read = decodeMonth({ entries: 'nonsense\n', note: 'of mine' }, inNovember);
    expect(read).toEqual({ ...emptyMonth('2025-11'), unread: ['nonsense'] });
  });

  test.each([{}, { entries: '' }, { note: 'of mine' }])('is no month when it is empty: %j', (data) => {
    expect(decodeMonth(data, inNovember)).toBeUndefined();
  });

  test('counts a copied line once, and keeps one that differs', () => {
    const data = encodeMonth(november());
    const [line = ''] = data['entries']?.split('\n') ?? [];
    const cheaper = line.replace('"cost":"1.00"', '"cost":"0.01"');
    const read = decodeMonth({ ...data, entries: `${data['entries']}${line}\n${cheaper}\n` });
    expect(read).toEqual({ ...november(), unread: [cheaper] });
  });

  test('counts a copied sum once', () => {
    const old = compactMonth(november(), { now: '2027-01', isShown: () => false });
    const data = encodeMonth(old);
    expect(decodeMonth({ ...data, sums: `${data['sums']}${data['sums']}` })).toEqual(old);
  });

  test('keeps the operator from writing no cost: unreadable lines go before its bytes are too many', () => {
    const unread = Array.from({ length: 5000 }, (_, index) => `rubbish ${index} ${'x'.repeat(200)}`);
    const input = { now: '2026-11', isShown: () => false };
    const compact = compactMonth({ ...november(), unread }, input);
    expect(encodedBytes(compact)).toBeLessThan(1024 * 1024);
    expect(compact.unread.at(-1)).toBe(unread.at(-1));
    expect(compact.sums.reduce((sum, { cost }) => sum + cost, 0)).toBe(2_000_000);
  });
});
