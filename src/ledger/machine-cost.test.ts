import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { costObject as object, runningSince } from '../../test/builders/ledger.ts';
import type { GpuInstance, GpuInstanceStatus } from '../api/v1alpha1/gpu-instance.ts';
import {
  beginCost,
  endCost,
  HISTORY_LENGTH,
  machineCost,
  machineCostUntil,
  monthStart,
  repriced,
  spentThisMonth,
  totalCost,
  withReport,
} from '../instance/cost.ts';
import { formatDollars } from '../lib/money.ts';
import { formatTime } from '../lib/time.ts';
import { monthCostByNamespace } from './cost-sums.ts';
import { countedMachines, type Ledger, type MonthEntry, presentMonth, withEntries } from './ledger.ts';
import { closedEntries, endedEntries, openEntries, shownMachines } from './machine-cost.ts';
import { keptLedger } from './storage.ts';

const HOUR = 3_600_000;
const EMPTY: Ledger = new Map();
const NONE = { counted: new Map(), labels: ['team'] };
const on = (month: number, day: number, hour = 0) => Date.UTC(2026, month - 1, day, hour);

const running = (since = on(10, 30, 22)) => runningSince(since);

const amounts = (entries: readonly MonthEntry[]) =>
  entries.map(({ month, entry: { cost, total, reason } }) => ({ month, cost, total, reason }));

describe('the entries of a machine', () => {
  test('that was deleted name its object, its times and its cost', () => {
    const [only, ...others] = endedEntries(object(running(on(11, 2))), NONE, {
      at: on(11, 2, 3),
      reason: 'Deleting',
    });
    expect(others).toEqual([]);
    expect(only).toEqual({
      month: '2026-11',
      entry: {
        account: 'team-a/default',
        ...{ namespace: 'team-a', group: 'chat', name: 'trainer', uid: 'uid-1', machine: '100' },
        ...{ gpu: 'RTX 4090', gpus: 2, labels: { team: 'research' } },
        ...{ start: on(11, 2), end: on(11, 2, 3), cost: 3_000_000, total: 3_000_000 },
        ...{ price: 1_000_000, reason: 'Deleting', isEstimated: false },
      },
    });
  });

  test('that spans two months are split at the first moment of the second', () => {
    const entries = endedEntries(object(running()), NONE, { at: on(11, 1, 5), reason: 'Deleting' });
    expect(amounts(entries)).toEqual([
      { month: '2026-10', cost: 26_000_000, total: 26_000_000, reason: undefined },
      { month: '2026-11', cost: 5_000_000, total: 31_000_000, reason: 'Deleting' },
    ]);
  });

  test('that ended at the last moment of a month are in that month', () => {
    const entries = endedEntries(object(running()), NONE, { at: on(11, 1), reason: 'Deleting' });
    expect(amounts(entries)).toMatchObject([{ month: '2026-10', cost: 26_000_000, reason: 'Deleting' }]);
  });

  test('are split by the price of each month', () => {
    const status = {
      ...running(),
      cost: repriced(running().cost ?? { accrued: '0.00' }, on(11, 2), 3_000_000),
    };
    const entries = endedEntries(object(status), NONE, { at: on(11, 2, 1), reason: 'Deleting' });
    expect(entries.map(({ entry: { cost } }) => cost)).toEqual([26_000_000, 27_000_000]);
  });

  test('of one that only is observed are none', () => {
    const watched = object(running(), { adopt: { instanceId: '100', policy: 'Observe' } });
    expect(endedEntries(watched, NONE, { at: on(11, 2), reason: 'Deleting' })).toEqual([]);
    expect(openEntries(watched, NONE, on(11, 2))).toEqual([]);
  });

  test('for a month are closed after its grace, if the price is confirmed', () => {
    const close = (instance: GpuInstance, now: number) =>
      amounts(closedEntries(instance, NONE, { now, graceMs: HOUR }));
    expect(close(object(running()), on(11, 1, 1) - 1)).toEqual([]);
    expect(close(object(running()), on(11, 1, 1))).toMatchObject([{ month: '2026-10', cost: 26_000_000 }]);
    const cost = withReport(running().cost ?? { accrued: '0.00' }, 2_000_000, on(10, 31));
    expect(close(object({ ...running(), cost }), on(11, 1, 1))).toEqual([]);
    const { rentedAt: _undated, ...undated } = running();
    expect(close(object(undated), on(11, 1, 1))).toEqual([]);
  });

  test('after a closed month begin with the next one', () => {
    const now = on(11, 1, 2);
    const closed = withEntries(
      EMPTY,
      closedEntries(object(running()), NONE, { now, graceMs: HOUR }),
      '2026-11',
    );
    const input = { ...NONE, counted: countedMachines(closed) };
    expect(amounts(openEntries(object(running()), input, now))).toMatchObject([
      { month: '2026-11', cost: 2_000_000, total: 28_000_000 },
    ]);
  });

  test('say if the price was never confirmed', () => {
    const cost = { ...running().cost, accrued: '0.00', priceAssumed: true };
    const [first] = endedEntries(object({ ...running(), cost }), NONE, { at: on(11, 2), reason: 'Deleting' });
    expect(first?.entry.isEstimated).toBe(true);
  });
});

/** Returns the status of an object whose machine ended on 2 November, 3:00, for three dollars. */
const past = (change: Partial<Past> = {}): GpuInstanceStatus => ({
  history: [
    {
      ...{ attempt: 1, instanceId: '99', reason: 'Exited', endedAt: formatTime(on(11, 2, 3)) },
      ...{ rentedMinutes: 120, cost: '3.00' },
      ...change,
    },
  ],
});
type Past = NonNullable<GpuInstanceStatus['history']>[number];

describe('the entries of a machine in the history', () => {
  test('have all that the history says of it', () => {
    const status = past({
      ...{ rentedAt: formatTime(on(11, 2)), pricePerHour: '1.00', costEstimated: true },
      ...{ gpuName: 'H100', gpuCount: 8 },
    });
    expect(endedEntries(object(status), NONE)).toEqual([
      {
        month: '2026-11',
        entry: {
          account: 'team-a/default',
          ...{ namespace: 'team-a', group: 'chat', name: 'trainer', uid: 'uid-1', machine: '99' },
          ...{ gpu: 'H100', gpus: 8, labels: { team: 'research' } },
          ...{ start: on(11, 2), end: on(11, 2, 3), cost: 3_000_000, total: 3_000_000 },
          ...{ price: 1_000_000, reason: 'Exited', isEstimated: true },
        },
      },
    ]);
  });

  test('have its begin by its rented minutes, and one GPU, if the history says no more', () => {
    expect(endedEntries(object(past()), NONE).map(({ entry }) => entry)).toMatchObject([
      {
        ...{ start: on(11, 2, 1), end: on(11, 2, 3), cost: 3_000_000, gpu: '', gpus: 1 },
        ...{ price: undefined, isEstimated: false },
      },
    ]);
  });

  test('are in the month before and in the last one by the cost before it', () => {
    const status = past({ rentedAt: formatTime(on(10, 30)), cost: '75.00', costBeforeMonth: '48.00' });
    expect(amounts(endedEntries(object(status), NONE))).toEqual([
      { month: '2026-10', cost: 48_000_000, total: 48_000_000, reason: undefined },
      { month: '2026-11', cost: 27_000_000, total: 75_000_000, reason: 'Exited' },
    ]);
  });

  test('have the cost of months that the object does not separate in the next one that it does', () => {
    const status = past({ rentedAt: formatTime(on(8, 30)), cost: '75.00', costBeforeMonth: '48.00' });
    expect(amounts(endedEntries(object(status), NONE))).toMatchObject([
      { month: '2026-10', cost: 48_000_000 },
      { month: '2026-11', cost: 27_000_000 },
    ]);
  });

  test('are in the month before if it ended in the first moment of a month', () => {
    const status = past({ rentedAt: formatTime(on(10, 30)), endedAt: formatTime(on(11, 1)), cost: '48.00' });
    expect(amounts(endedEntries(object(status), NONE))).toEqual([
      { month: '2026-10', cost: 48_000_000, total: 48_000_000, reason: 'Exited' },
    ]);
  });

  test('are none if its end cannot be read', () => {
    expect(endedEntries(object(past({ endedAt: 'yesterday' })), NONE)).toEqual([]);
  });
});

describe('the entries of an object', () => {
  const all = (instance: GpuInstance) => [
    ...endedEntries(instance, NONE, { at: on(11, 2), reason: 'Deleting' }),
    ...closedEntries(instance, NONE, { now: on(11, 2), graceMs: HOUR }),
    ...openEntries(instance, NONE, on(11, 2)),
  ];

  test('are none without a machine, or without its cost', () => {
    const { instanceId, cost } = running();
    const { status: _none, ...fresh } = object({});
    for (const instance of [fresh, object({}), object({ instanceId }), object({ cost })])
      expect(all(instance)).toEqual([]);
  });

  test('have no group, GPU model or label that the object does not have', () => {
    const { gpu: _unknown, ...status } = running();
    const { metadata, ...rest } = object(status);
    const plain = { ...rest, metadata: { ...metadata, labels: { other: 'x' } } };
    const [first] = openEntries(plain, { ...NONE, labels: ['team', 'other'] }, on(10, 31));
    expect(first?.entry).toMatchObject({ group: '', gpu: '', gpus: 1 });
    expect(Object.entries(first?.entry.labels ?? {})).toEqual([['other', 'x']]);
  });
});

describe('a month that the ledger has closed', () => {
  const closing = { now: on(11, 1, 2), graceMs: HOUR };
  const ledger = withEntries(EMPTY, closedEntries(object(running()), NONE, closing), '2026-11');
  const input = { ...NONE, counted: countedMachines(ledger) };

  test('is replaced by the end of a machine that turns out to have ended before', () => {
    const entries = endedEntries(object(running()), input, { at: on(10, 31, 12), reason: 'EndedItself' });
    expect(amounts(entries)).toEqual([
      { month: '2026-10', cost: 14_000_000, total: 14_000_000, reason: 'EndedItself' },
    ]);
  });

  test('gets nothing for a running machine by a clock that was set back', () => {
    expect(openEntries(object(running()), input, on(10, 31, 12))).toEqual([]);
  });
});

test('the ledger needs the records of the machines that an object shows', () => {
  expect(shownMachines(object({}))).toEqual([]);
  expect(shownMachines(object({ ...past(), ...running() }))).toEqual(['uid-1/99', 'uid-1/100']);
  expect(shownMachines(object(past()))).toEqual(['uid-1/99']);
});

/** A step of the life of an object: hours, and then a change. */
const steps = fc.array(
  fc.record({
    hours: fc.integer({ min: 1, max: 500 }),
    change: fc.constantFrom('price', 'end', 'close', 'compact', 'crash'),
    price: fc.integer({ min: 0, max: 3_000_000 }),
  }),
  { minLength: 1, maxLength: 25 },
);

/** An object, its ledger, and the ledger of the last write before a crash. */
class Life {
  now = on(8, 30, 23);
  next = 1;
  status: GpuInstanceStatus = this.#rented({});
  ledger: Ledger = EMPTY;

  get month(): string {
    return new Date(this.now).toISOString().slice(0, 7);
  }

  /** Total cost until now, in the ledger or not yet. */
  get costs(): number {
    const finished = [...this.ledger.values()].flatMap(({ entries, sums }) => [...entries, ...sums]);
    const open = openEntries(object(this.status), this.#input, this.now).map(({ entry }) => entry);
    return [...finished, ...open].reduce((sum, { cost }) => sum + cost, 0);
  }

  write(): void {
    const { now } = this;
    const instance = object(this.status);
    const closed = closedEntries(instance, this.#input, { now, graceMs: HOUR });
    this.ledger = withEntries(this.ledger, closed, this.month);
    this.ledger = withEntries(this.ledger, endedEntries(instance, this.#input), this.month);
  }

  price(price: number): void {
    const { cost } = this.status;
    if (cost) this.status = { ...this.status, cost: repriced(cost, this.now, price) };
  }

  end(): void {
    const { status, now } = this;
    const cost = endCost(status.cost, now);
    const spent = machineCost(status, now);
    const before = Math.min(spent, machineCostUntil(status, monthStart(now)) ?? 0);
    const past = {
      ...{
        attempt: this.next,
        instanceId: status.instanceId ?? '',
        reason: 'Exited',
        endedAt: formatTime(now),
      },
      ...{ rentedMinutes: 1, rentedAt: status.rentedAt, cost: formatDollars(spent) },
      ...(before > 0 && { costBeforeMonth: formatDollars(before) }),
      accrued: cost?.accrued,
    };
    this.status = this.#rented({ cost, history: [...(status.history ?? []), past].slice(-HISTORY_LENGTH) });
  }

  compact(): void {
    const shown = new Set(shownMachines(object(this.status)));
    this.ledger = keptLedger(this.ledger, {
      now: presentMonth(this.ledger, this.month),
      months: 99,
      isShown: (key) => shown.has(key),
    });
  }

  get #input() {
    return { ...NONE, counted: countedMachines(this.ledger) };
  }

  #rented(status: GpuInstanceStatus): GpuInstanceStatus {
    const cost = beginCost(status.cost, this.now, 1_000_000);
    return { ...status, instanceId: String(this.next++), rentedAt: formatTime(this.now), cost };
  }
}

describe('the ledger of an object', () => {
  test('adds up to what the object says, over months, prices, machines, compactions and crashes', {
    tags: 'long',
  }, () => {
    fc.assert(
      fc.property(steps, (life) => {
        const world = new Life();
        for (const { hours, change, price } of life) {
          world.now += hours * HOUR;
          const before = world.ledger;
          world.write();
          if (change === 'price') world.price(price);
          if (change === 'end') world.end();
          if (change === 'compact') world.compact();
          // The write was lost with the process; the next one has it.
          if (change === 'crash') world.ledger = before;
          expect(world.costs).toBe(totalCost(world.status.cost, world.now));
        }
        world.write();
        world.write();
        expect(world.costs).toBe(totalCost(world.status.cost, world.now));
      }),
      { numRuns: 300 },
    );
  });

  test('has of each month what the limits of the account count', { tags: 'long' }, () => {
    fc.assert(
      fc.property(steps, (life) => {
        const world = new Life();
        for (const { hours, change, price } of life) {
          world.now += hours * HOUR;
          world.write();
          if (change === 'price') world.price(price);
          if (change === 'end') world.end();
          const instances = [object(world.status)];
          const costs = monthCostByNamespace({ ledger: world.ledger, instances, now: world.now });
          expect(costs.get('team-a') ?? 0).toBe(spentThisMonth(object(world.status), world.now));
        }
      }),
      { numRuns: 300 },
    );
  });
});
