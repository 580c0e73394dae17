import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { costObject, entry, runningSince } from '../../test/builders/ledger.ts';
import { compactMonth, daySums } from './compact.ts';
import {
  type Charge,
  chargesOfMonth,
  chargesSince,
  monthCostByNamespace,
  type ScopedSource,
} from './cost-sums.ts';
import type { Entry } from './entry.ts';
import { emptyMonth, type Ledger } from './ledger.ts';

const HOUR = 3_600_000;
const at = (day: number, hour = 0) => Date.UTC(2026, 10, day, hour);
const ONE = entry({ start: at(3, 22), end: at(4, 2), cost: 4_000_000 });
const ledger = (sums = false): Ledger =>
  new Map([
    ['2026-11', { ...emptyMonth('2026-11'), ...(sums ? { sums: daySums(ONE) } : { entries: [ONE] }) }],
  ]);
const charges = (from: number, until: number, sums = false) =>
  chargesSince({ ledger: ledger(sums), instances: [], now: until, namespace: undefined }, from);
/** Returns the ledger of a month with these entries. */
const withEntries = (entries: readonly Entry[], month = '2026-11'): Ledger =>
  new Map([[month, { ...emptyMonth(month), entries }]]);
const NONE: ScopedSource = { ledger: new Map(), instances: [], now: at(20), namespace: undefined };
const machines = (list: readonly Charge[]) => list.map(({ entry: of }) => of?.machine);
const cost = (list: readonly { readonly cost: number }[]) => list.reduce((sum, each) => sum + each.cost, 0);

describe('costs in a span of time', () => {
  test('are the part of a machine that falls into it', () => {
    expect(cost(charges(at(4), at(20)))).toBe(2_000_000);
    expect(cost(charges(at(1), at(4)))).toBe(2_000_000);
    expect(charges(at(5), at(20))).toEqual([]);
    expect(charges(at(1), at(3, 22))).toEqual([]);
  });

  test('have the bounds of the span, and the GPU time in it', () => {
    const source = { ...NONE, ledger: withEntries([{ ...ONE, gpus: 2 }]) };
    expect(chargesSince(source, at(4, 1))).toMatchObject([
      { start: at(4, 1), end: at(4, 2), cost: 1_000_000, gpuSeconds: 7_200, machines: 1, isOpen: false },
    ]);
    expect(chargesSince({ ...source, now: at(4) }, at(1))).toMatchObject([
      { start: at(3, 22), end: at(4), cost: 2_000_000, gpuSeconds: 14_400 },
    ]);
  });

  test('contain a machine that ended in the moment in which it began, as a whole', () => {
    const moment = entry({ start: at(4), end: at(4), cost: 7 });
    const source = { ...NONE, ledger: withEntries([moment]) };
    for (const from of [at(4), at(3)]) expect(cost(chargesSince(source, from))).toBe(7);
    expect(chargesSince(source, at(4) + 1)).toEqual([]);
  });

  test('list no machine that ended in the moment in which the span begins', () => {
    expect(charges(at(4, 2), at(20))).toEqual([]);
    expect(machines(charges(at(4, 2) - 1, at(20)))).toEqual(['100']);
  });

  test('are those of one namespace if the source has one', () => {
    const ledger = withEntries([entry(), entry({ machine: '101', namespace: 'team-b' })]);
    expect(machines(chargesSince({ ...NONE, ledger }, at(1)))).toEqual(['100', '101']);
    expect(machines(chargesSince({ ...NONE, ledger, namespace: 'team-b' }, at(1)))).toEqual(['101']);
  });

  test('contain a running machine until now, which is open', () => {
    const instances = [costObject(runningSince(at(19)))];
    expect(chargesSince({ ...NONE, instances }, at(19, 12))).toMatchObject([
      { start: at(19, 12), end: at(20), cost: 12_000_000, gpuSeconds: 86_400, isOpen: true, labels: {} },
    ]);
  });

  test('are the same after compaction, for whole days', () => {
    for (const sums of [false, true]) expect(cost(charges(at(4), at(20), sums))).toBe(2_000_000);
  });

  test('of adjacent spans add up to the whole', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 480 }), { maxLength: 6 }), (hours) => {
        const bounds = [at(1), ...hours.toSorted((a, b) => a - b).map((hour) => at(1) + hour * HOUR), at(28)];
        const parts = bounds.slice(1).map((until, index) => cost(charges(bounds[index] ?? until, until)));
        expect(parts.reduce((sum, part) => sum + part, 0)).toBe(4_000_000);
      }),
    );
  });
});

describe('costs of a month', () => {
  const ofMonth = (source: Partial<ScopedSource>, month = '2026-11') =>
    chargesOfMonth({ ...NONE, ...source }, month);

  test('are machines and sums as a whole, each with its time and its tags', () => {
    const older = entry({ group: 'chat', labels: { team: 'x' }, gpus: 2 });
    const days = { ...emptyMonth('2026-11'), sums: daySums(older), entries: [ONE] };
    const tags = { account: 'team-a/main', namespace: 'team-a', gpu: 'RTX 4090' };
    expect(ofMonth({ ledger: new Map([['2026-11', days]]) })).toEqual([
      {
        ...{ ...tags, group: '', labels: {}, start: at(3, 22), end: at(4, 2), cost: 4_000_000 },
        ...{ gpuSeconds: 14_400, machines: 1, entry: ONE, isOpen: false },
      },
      {
        ...{ ...tags, group: 'chat', labels: { team: 'x' }, start: at(3), end: at(4), cost: 1_000_000 },
        ...{ gpuSeconds: 14_400, machines: 1, isOpen: false },
      },
    ]);
  });

  test('are the sums of a month that has no days any more', () => {
    const input = { now: '2027-08', isShown: () => false };
    const month = compactMonth({ ...emptyMonth('2026-11'), entries: [ONE] }, input);
    const ledger: Ledger = new Map([['2026-11', month]]);
    expect(ofMonth({ ledger })).toMatchObject([{ start: at(1), end: at(31), cost: 4_000_000, machines: 1 }]);
    expect([ofMonth({ ledger }, '2026-10'), ofMonth({ ledger }, '2026-12')]).toEqual([[], []]);
  });

  test('contain no part of a machine that ended in the first moment of the month', () => {
    const instances = [costObject(runningSince(Date.UTC(2026, 9, 31)))];
    const open = (month: string) => ofMonth({ instances, now: at(1) }, month).map(({ cost: of }) => of);
    expect([open('2026-10'), open('2026-11')]).toEqual([[24_000_000], []]);
  });

  test('of running machines have the labels that the ledger keeps of others, and `team`', () => {
    const instances = [costObject(runningSince(at(19)))];
    const labels = (source: Partial<ScopedSource>) => ofMonth({ instances, ...source }).at(-1)?.labels;
    expect(labels({})).toEqual({ team: 'research' });
    const ledger = withEntries([entry({ machine: '1', uid: 'other', labels: { secret: 'x' } })]);
    expect(labels({ ledger })).toEqual({ team: 'research', secret: 'no' });
    expect(labels({ ledger, labels: ['secret'] })).toEqual({ secret: 'no' });
    const sums = daySums(entry({ labels: { secret: 'x' } }));
    const compacted: Ledger = new Map([['2026-11', { ...emptyMonth('2026-11'), sums }]]);
    expect(labels({ ledger: compacted })).toEqual({ team: 'research', secret: 'no' });
  });
});

describe('costs of the present month by namespace', () => {
  test('are those of finished machines, of sums and of running machines until now', () => {
    const finished = entry({ machine: '1', namespace: 'team-b', cost: 5 });
    const sums = daySums(entry({ namespace: 'team-b', cost: 2 }));
    const ledger: Ledger = new Map([
      ['2026-10', { ...emptyMonth('2026-10'), entries: [entry({ machine: '2', cost: 100 })] }],
      ['2026-11', { ...emptyMonth('2026-11'), entries: [finished], sums }],
    ]);
    const instances = [costObject(runningSince(Date.UTC(2026, 9, 31)))];
    expect(monthCostByNamespace({ ledger, instances, now: at(2) })).toEqual(
      new Map([
        ['team-b', 7],
        ['team-a', 24_000_000],
      ]),
    );
  });

  test('do not exist without a cost', () => {
    expect(monthCostByNamespace(NONE)).toEqual(new Map());
  });
});
