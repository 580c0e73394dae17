import { describe, expect, test } from 'vitest';
import {
  at,
  type Given,
  given,
  intent,
  machineOf,
  NOW,
  row,
  time,
  withMachine,
} from '../../../test/builders/observed.ts';
import { decide } from './decide.ts';
import { withRow } from './machine-fields.ts';
import { unsettledUntil } from './rules/deleting.ts';

const HOUR_S = 3600;

/**
 * Returns a situation in which the operator's wall clock is wrong by that many seconds; elapsed time and the service's
 * clock are right.
 */
const clockOff = (seconds: number, situation: Given = {}): Given => ({
  ...situation,
  observed: { now: at(seconds), ...situation.observed },
  list: { begunAt: at(seconds - 1) },
});
const stale: Given = { facts: { serviceTime: { type: 'stale' } } };

const costOf = (change: Parameters<typeof row>[0], situation: Given) =>
  withRow(given(withMachine(change, situation)), row(change)).cost;

describe.each([
  ['ahead', HOUR_S],
  ['behind', -HOUR_S],
])('with a wall clock that is an hour %s', (_, skew) => {
  test('a stopped machine has cost what it cost by the clock of the service', () => {
    expect(costOf({ state: 'stopped' }, clockOff(skew))).toMatchObject({
      accrued: '0.041528',
      pricePerHour: '0.01',
      since: time(-1),
    });
  });

  test('another price of the same machine counts from now by that clock', () => {
    expect(costOf({ pricePerHour: 600_000 }, clockOff(skew))).toMatchObject({
      accrued: '0.041667',
      since: time(0),
    });
  });

  test('a machine without a start date costs from now by that clock', () => {
    const bare = { startedAt: undefined };
    expect(costOf(bare, clockOff(skew, { status: { cost: undefined } }))?.since).toBe(time(0));
  });

  test('one that vanished has cost what it cost until it was last listed', () => {
    const step = decide(
      given(
        clockOff(skew, {
          ...withMachine(),
          machines: [],
          observed: {
            absences: new Map([['1', { lists: [at(-100), at(-30)], read: 'absent' as const }]]),
            loginProven: true,
          },
        }),
      ),
    );
    expect(step).toMatchObject({
      status: { fields: { cost: { accrued: '0.027778', since: time(-100) } } },
    });
  });
});

describe.each([
  ['ahead', HOUR_S],
  ['behind', -HOUR_S],
])('with a wall clock that is an hour %s, and a service time that one reply contradicts', (_, skew) => {
  const contradicted: Given = { facts: { serviceTime: { type: 'stale', expected: NOW } } };
  const deleted = (change: Given) =>
    decide(given(clockOff(skew, { ...withMachine({}, contradicted), deleting: true, ...change })));
  const absences = (lists: readonly number[]) => new Map([['1', { lists, read: 'absent' as const }]]);

  test('a machine without a start date costs from the believed time', () => {
    const bare = { startedAt: undefined };
    expect(costOf(bare, clockOff(skew, { ...contradicted, status: { cost: undefined } }))?.since).toBe(
      time(0),
    );
  });

  test('a found machine without a start date costs from the believed time', () => {
    const found = machineOf(1, { startedAt: undefined });
    const step = decide(given(clockOff(skew, { ...contradicted, intent: intent(), machines: [found] })));
    expect(step).toMatchObject({
      rule: 'record-found-machine',
      status: { fields: { cost: { since: time(0) }, firstRentedAt: time(0) } },
    });
  });

  test('billing of a deleted machine ends at its first missing list by the believed time', () => {
    const step = deleted({
      machines: [],
      observed: { now: at(skew), absences: absences([at(-100), at(-30)]), loginProven: true },
    });
    expect(step).toMatchObject({ rule: 'let-go', actions: [{ type: 'release', endedAt: at(-100) }] });
  });

  test('billing of a kept machine ends for its object at the believed time', () => {
    const step = deleted({ spec: { deletionPolicy: 'Retain' } });
    expect(step).toMatchObject({ rule: 'keep-machine' });
    expect(step).toHaveProperty(
      'actions',
      expect.arrayContaining([expect.objectContaining({ type: 'release', endedAt: at(0) })]),
    );
  });
});

describe('while no clock can be trusted', () => {
  test('no price is written down, and none is lost', () => {
    const cost = { pricePerHour: '0.50', storagePricePerHour: '0.01', accrued: '0.00', since: time(-300) };
    expect(costOf({ state: 'stopped' }, { ...stale, status: { cost } })).toEqual(cost);
    const stopped = row({ state: 'stopped' });
    const known = withMachine(
      {},
      {
        status: { cost, actualStatus: 'stopped' },
        observed: { confirmed: { instanceId: '1', read: stopped } },
      },
    );
    expect(withRow(given(known), stopped).cost).toMatchObject({
      pricePerHour: '0.01',
      accrued: '0.041667',
    });
  });

  test('a machine that vanished is let go of after the next list', () => {
    const step = decide(
      given({
        ...withMachine({}, stale),
        machines: [],
        observed: {
          absences: new Map([['1', { lists: [at(-100), at(-30)], read: 'absent' as const }]]),
          loginProven: true,
        },
      }),
    );
    expect(step).toMatchObject({ rule: 'machine-missing', requeue: { onList: true } });
    expect(step).not.toHaveProperty('ended');
  });
});

test('a machine that is listed has begun: a date beyond tomorrow is not believed', () => {
  const fields = (startedAt: number) =>
    withRow(given(withMachine({}, { status: { rentedAt: undefined } })), row({ startedAt }));
  expect(fields(NOW + 86_400_000)).toMatchObject({ rentedAt: time(86_400) });
  expect(fields(NOW + 86_400_001)).toMatchObject({ cost: { since: time(-300) } });
});

describe('an object that is deleted and whose intent cannot be read', () => {
  const begun = (seconds: number) => ({
    listsBegun: [at(seconds - 60), at(seconds - 10), at(seconds)],
    steadyNow: at(seconds + 1),
  });
  const waitsAt = (seconds: number, situation: Given = {}) =>
    unsettledUntil(
      given({
        intent: 'tampered',
        deleting: true,
        ...situation,
        observed: { now: at(seconds), ...begun(seconds) },
      }),
    ) !== undefined;
  const serviceAt = (seconds: number): Given => ({
    facts: { serviceTime: { type: 'known', at: at(seconds), isConfirmed: true } },
  });

  test('is let go of no sooner because our own clock is ahead', () => {
    expect(waitsAt(HOUR_S, serviceAt(10))).toBe(true);
    expect(waitsAt(HOUR_S, serviceAt(300))).toBe(false);
  });

  test('and no later because it is behind', () => {
    expect(waitsAt(-HOUR_S, serviceAt(10))).toBe(true);
    expect(waitsAt(-HOUR_S, serviceAt(300))).toBe(false);
  });

  test('waits while no clock can be trusted', () => {
    expect(waitsAt(HOUR_S, stale)).toBe(true);
  });
});
