import { describe, expect, test } from 'vitest';
import { at, given, holding, row, time, withMachine } from '../../../test/builders/observed.ts';
import { formatTime } from '../../lib/time.ts';
import { avoidTarget, endedFields } from './history.ts';
import { limitState, priceRise } from './limits.ts';
import { withRow } from './machine-fields.ts';
import { ended } from './rules/ending.ts';

describe('a machine that ended', () => {
  const ending = {
    machine: { instanceId: '1', attempt: 1 },
    reason: 'HostOffline' as const,
    endedAt: at(-60),
  };
  const fields = endedFields(given(withMachine()), ending);

  test('M9: is remembered with its end, its states, its minutes and its money, and nothing else of it stays', () => {
    expect(fields.history).toEqual([
      {
        attempt: 1,
        instanceId: '1',
        machineId: '1100',
        hostId: '2100',
        reason: 'HostOffline',
        endedAt: time(-60),
        rentedMinutes: 4,
        cost: '0.033333',
        accrued: '0.033333',
        pricePerHour: '0.50',
        rentedAt: time(-300),
        runningAt: time(-240),
        lastStatus: 'running',
      },
    ]);
    expect(fields.cost).toEqual({ accrued: '0.033333', since: time(-60) });
    for (const field of ['instanceId', 'claim', 'actualStatus', 'ssh', 'endpoint', 'specHash'] as const) {
      expect(fields[field], field).toBeUndefined();
    }
    expect(fields).toMatchObject({ attempt: 1, firstRentedAt: time(-300), rentals: [time(-300)] });
  });

  test.each([
    ['a list dates it', {}],
    ['no list ever showed it', { rentedAt: undefined, cost: { accrued: '0.00', since: time(-300) } }],
  ])('did not end before its rental when %s and lists before it do not show it', (_, status) => {
    const early = { ...ending, endedAt: at(-347) };
    const fields = endedFields(given(withMachine({}, { status: status as object })), early);
    expect(fields.history).toMatchObject([{ endedAt: time(-300), rentedMinutes: 0, cost: '0.00' }]);
    expect(fields.cost).toEqual({ accrued: '0.00', since: time(-300) });
  });

  test('pushes out the oldest of five', () => {
    const past = (instanceId: string) => ({
      attempt: 1,
      instanceId,
      reason: 'Exited',
      endedAt: time(-900),
      rentedMinutes: 1,
      cost: '0.00',
    });
    const status = { history: ['11', '12', '13', '14', '15'].map(past) };
    expect(
      endedFields(given(withMachine({}, { status })), ending).history?.map(({ instanceId }) => instanceId),
    ).toEqual(['12', '13', '14', '15', '1']);
  });

  test.each([
    ['HostOffline', { type: 'host', id: '2100' }],
    ['HostOffline', { type: 'host', id: '2100' }],
    ['Exited', { type: 'machine', id: '1100' }],
    ['LoadingTimedOut', { type: 'machine', id: '1100' }],
    ['SpecChanged', undefined],
    ['Vanished', undefined],
  ] as const)('because of %s is kept off: %j', (reason, target) => {
    expect(avoidTarget(given({ status: holding() }), reason)).toEqual(target);
  });

  test('reports no host failure if many machines failed together (C2)', () => {
    const status = holding();
    expect(
      avoidTarget(given({ status, facts: { countsHostFailures: false } }), 'HostOffline'),
    ).toBeUndefined();
    expect(avoidTarget(given({ status, facts: { countsHostFailures: false } }), 'Exited')).toBeUndefined();
  });

  test('is kept off when it did not start, unless its market has no start at all', () => {
    const targetOf = (startUnsupported: boolean, reason: 'CannotStart' | 'Exited') =>
      avoidTarget(given({ status: holding(), facts: { startUnsupported } }), reason);
    const machine = { type: 'machine', id: '1100' };
    expect(targetOf(false, 'CannotStart')).toEqual(machine);
    expect(targetOf(true, 'CannotStart')).toBeUndefined();
    expect(targetOf(true, 'Exited')).toEqual(machine);
  });

  test('has its cost of the month before apart, and says that its cost is estimated', () => {
    const pastOf = (status: NonNullable<Parameters<typeof holding>[0]>) =>
      endedFields(given(withMachine({}, { status })), ending).history?.[0];
    const monthBegan = Date.UTC(2026, 10, 1);
    const cost = { accrued: '0.00', pricePerHour: '0.50', since: formatTime(monthBegan - 3_600_000) };
    const rentedAt = cost.since;
    expect(pastOf({ rentedAt, cost })).toMatchObject({ costBeforeMonth: '0.50' });
    expect(pastOf({})).not.toHaveProperty('costBeforeMonth');
    expect(pastOf({ cost: { ...holding().cost, accrued: '0.00', priceOffered: true } })).toMatchObject({
      costEstimated: true,
    });
    expect(pastOf({})).not.toHaveProperty('costEstimated');
  });

  test('without a record of its machine or host is not kept off', () => {
    const { machineId: _machine, hostId: _host, ...bare } = holding();
    const { hostId: _alone, ...machineOnly } = holding();
    expect(avoidTarget(given({ status: bare }), 'Exited')).toBeUndefined();
    expect(avoidTarget(given(), 'HostOffline')).toBeUndefined();
    expect(avoidTarget(given({ status: machineOnly }), 'HostOffline')).toEqual({
      type: 'machine',
      id: '1100',
    });
  });

  test('is kept off once, however often it ends, and beside 63 others', () => {
    const until = time(60);
    const mine = { kind: 'Host' as const, id: '2100', until };
    const namesake = { kind: 'Machine' as const, id: '2100', until };
    const ended = (avoid: readonly { kind: 'Machine' | 'Host'; id: string; until: string }[]) =>
      endedFields(given(withMachine({}, { status: { avoid: [...avoid] } })), ending).avoid;
    const now = { ...mine, until: time(86_400) };
    expect(ended([mine, namesake])).toEqual([namesake, now]);
    expect(ended([{ ...namesake, until: time(0) }])).toEqual([now]);
    expect(ended(Array.from({ length: 70 }, (_, id) => ({ ...namesake, id: String(id) })))).toHaveLength(64);
  });

  test('for a reason without a fault leaves the list as it was, without what is over', () => {
    const chosen = { ...ending, reason: 'SpecChanged' as const };
    const fieldsWith = (avoid: readonly { kind: 'Machine' | 'Host'; id: string; until: string }[]) =>
      endedFields(given(withMachine({}, { status: { avoid: [...avoid] } })), chosen);
    const alive = { kind: 'Host' as const, id: '6', until: time(60) };
    expect(fieldsWith([alive, { ...alive, id: '7', until: time(-1) }]).avoid).toEqual([alive]);
    expect(endedFields(given(withMachine()), chosen).avoid ?? []).toEqual([]);
  });

  test('is dated by its cost when the time of its rental is unknown', () => {
    const minutes = (status: NonNullable<Parameters<typeof holding>[0]>) =>
      endedFields(given(withMachine({}, { status })), ending).history?.[0]?.rentedMinutes;
    expect(minutes({ rentedAt: time(-180) })).toBe(2);
    expect(minutes({ rentedAt: undefined })).toBe(4);
    expect(minutes({ rentedAt: undefined, cost: undefined })).toBe(0);
  });

  test('is kept off by the object itself for a day, and what is over is forgotten', () => {
    const avoid = [
      { kind: 'Machine' as const, id: '5', until: time(-1) },
      { kind: 'Host' as const, id: '6', until: time(60) },
    ];
    expect(endedFields(given(withMachine({}, { status: { avoid } })), ending).avoid).toEqual([
      { kind: 'Host', id: '6', until: time(60) },
      { kind: 'Host', id: '2100', until: time(86_400) },
    ]);
  });
});

describe('the limits of an object', () => {
  test.each([
    ['nothing set', {}, {}, { type: 'within', reachedInMs: undefined }],
    ['a lifetime that is not over', { maxLifetime: '10m' }, {}, { type: 'within', reachedInMs: 300_000 }],
    [
      'a lifetime that is over',
      { maxLifetime: '5m' },
      {},
      { type: 'reached', detail: 'spec.maxLifetime of 5m is over.' },
    ],
    ['money that is left', { maxTotalCost: '1' }, {}, { type: 'within', reachedInMs: 6_900_000 }],
    [
      'both, whichever comes first',
      { maxTotalCost: '1', maxLifetime: '10m' },
      {},
      { type: 'within', reachedInMs: 300_000 },
    ],
    [
      'both, the other way round',
      { maxTotalCost: '1', maxLifetime: '2400h' },
      {},
      { type: 'within', reachedInMs: 6_900_000 },
    ],
    [
      'a lifetime that has not begun',
      { maxLifetime: '10m' },
      { firstRentedAt: undefined },
      { type: 'within', reachedInMs: undefined },
    ],
    [
      'money, and nothing that costs',
      { maxTotalCost: '1' },
      { cost: { accrued: '0.00', pricePerHour: '0' } },
      { type: 'within', reachedInMs: undefined },
    ],
    [
      'money, and no price',
      { maxTotalCost: '1' },
      { cost: { accrued: '0.00' } },
      { type: 'within', reachedInMs: undefined },
    ],
    [
      'money, and nothing rented yet',
      { maxTotalCost: '1' },
      { cost: undefined },
      { type: 'within', reachedInMs: undefined },
    ],
    [
      'money for less than a second',
      { maxTotalCost: '0.041668' },
      {},
      { type: 'within', reachedInMs: 1_000 },
    ],
    [
      'money that is spent',
      { maxTotalCost: '0.04' },
      {},
      { type: 'reached', detail: 'spec.maxTotalCost of $0.04 is spent.' },
    ],
  ] as const)('with %s', (_, manifest, status, expected) => {
    const state = limitState(given(withMachine({}, { spec: manifest, status })));
    if (state.type === 'within' && state.reachedInMs !== undefined)
      expect({ ...state, reachedInMs: Math.round(state.reachedInMs / 1e3) * 1e3 }).toEqual(expected);
    else expect(state).toEqual(expected);
  });

  test.each([
    [525_000, undefined, undefined],
    [525_001, undefined, 'its offer said $0.50/h'],
    [500_000, 499_999, 'maxPricePerHour is $0.499999'],
    [undefined, 1, undefined],
  ])('a price of %s under a maximum of %s', (price, cap, said) => {
    const text = priceRise(given(withMachine()), price, cap);
    if (said === undefined) expect(text).toBeUndefined();
    else expect(text).toContain(said);
  });
});

test('a price is not judged by an offer that named none', () => {
  const silent = given(withMachine({}, { status: { offerPricePerHour: undefined } }));
  expect(priceRise(silent, 900_000, undefined)).toBeUndefined();
  expect(priceRise(given({}), 900_000, undefined)).toBeUndefined();
});

describe('B04: a machine that failed by the spec', () => {
  const ending = {
    machine: { instanceId: '1', attempt: 1 },
    reason: 'Exited' as const,
    endedAt: at(-60),
  };
  const failures = {
    reason: 'Exited',
    machines: 1,
    machineId: '9',
    at: time(-600),
    cost: '0.10',
    generation: 1,
  };
  const avoid = [
    { kind: 'Machine' as const, id: '9', until: time(3000) },
    { kind: 'Host' as const, id: '9', until: time(3000) },
  ];

  test('is not avoided, nor is the first one any more', () => {
    const seen = given(withMachine({}, { status: { repeatedFailure: failures, avoid } }));
    expect(endedFields(seen, ending)).toMatchObject({
      avoid: [{ kind: 'Host', id: '9' }],
      repeatedFailure: { reason: 'Exited', machines: 2, machineId: '1100' },
    });
  });

  test('takes back at the account what the first one made avoided, once', () => {
    const end = (machines: number) => {
      const repeatedFailure = { ...failures, machines };
      const seen = given(withMachine({}, { status: { repeatedFailure } }));
      const { avoid, forgiven } = ended(seen, { ...ending, kind: 'lost' }, ending.endedAt);
      return { avoid, forgiven };
    };
    const first = { target: { type: 'machine', id: '9' }, reason: 'Exited' };
    expect(end(1)).toEqual({ avoid: [], forgiven: first });
    expect(end(2)).toEqual({ avoid: [], forgiven: undefined });
  });

  test('says nothing of the spec while many machines of the account fail together', () => {
    const seen = given(
      withMachine({}, { status: { repeatedFailure: failures }, facts: { countsHostFailures: false } }),
    );
    expect(endedFields(seen, ending).repeatedFailure).toEqual(failures);
  });

  test('leaves no failures to another generation of the spec', () => {
    const status = { repeatedFailure: { ...failures, generation: 7 } };
    expect(withRow(given(withMachine({}, { status })), row()).repeatedFailure).toBeUndefined();
  });
});
