import { describe, expect, test } from 'vitest';
import { OPEN_BREAKER } from '../../../../test/builders/ending-machine.ts';
import {
  at,
  type Given,
  given,
  holding,
  row,
  time,
  withMachine,
} from '../../../../test/builders/observed.ts';
import type { Machine } from '../../../accounts/beliefs/machine.ts';
import { decide } from '../decide.ts';
import { decision } from '../decision.ts';
import type { Decision, Step } from '../types.ts';
import { withDoubts } from './doubts.ts';
import { reasonOfEnding } from './ending.ts';

function decisionOf(change: Partial<Machine>, situation: Given = {}): Decision {
  const step = decide(given(withMachine(change, situation)));
  if (step.type !== 'decision') throw new Error(`a ${step.type} instead of a decision`);
  return step;
}

/** Lists show $1,000,000/h instead of the believed $0.50/h. */
const dear = (isAgreed: boolean, isImplausible = true): Partial<Machine> => ({
  reports: { pricePerHour: { value: 1e12, isAgreed, isImplausible } },
});
const warnings = (events: Decision['events']) => events.filter(({ type }) => type === 'Warning');
const NEW = {
  row: { state: 'pending' as const, marketStatus: 'created' },
  given: { status: { runningAt: undefined, actualStatus: 'created' }, memory: { rentedSince: at(-60) } },
};
const BUDGET = { maxTotalCost: '1.00', onPriceAbove: 'Replace' } as const;
const read = (change: Partial<Machine>) => ({
  observed: { confirmed: { instanceId: '1', read: row(change) } },
});

describe('a machine that stopped by itself', () => {
  const cost = { pricePerHour: '0.50', storagePricePerHour: '0.01', accrued: '0.00', since: time(-300) };
  const stopped = (situation: Given): Given =>
    withMachine({ state: 'stopped' }, { status: { cost, actualStatus: 'stopped' }, ...situation });

  test('is read before it is charged as stopped (A1)', () => {
    const step = decide(given(stopped({ observed: { confirmed: undefined } })));
    expect(step).toEqual({ type: 'read', requests: [{ type: 'confirm', instanceId: '1' }] });
  });

  test.each([
    ['stopped', '0.01', {}],
    ['running', '0.50', { afterMs: 60_000 }],
  ] as const)('is charged as it was read if the read shows that it is %s (A1)', (state, price, requeue) => {
    const situation = stopped(read({ state }));
    const decided = decisionOf({ state: 'stopped' }, { ...situation, spec: { powerState: 'Stopped' } });
    expect(decided.status?.fields.cost?.pricePerHour).toBe(price);
    expect(decided.requeue).toMatchObject(requeue);
  });

  test.each([
    ['a list is the first that shows it', { unsettled: new Set(['state'] as const) }, {}],
    ['the service names no price of the disk', { storagePricePerHour: undefined }, {}],
    ['the stop was asked for and answered', {}, { memory: { stopAnsweredAt: at(-5) } }],
  ])('is not read if %s', (_, change, situation) => {
    const known = { status: { cost, actualStatus: 'stopped' }, spec: { powerState: 'Stopped' as const } };
    const none = { observed: { confirmed: undefined } };
    const step = decide(
      given(withMachine({ state: 'stopped', ...change }, { ...known, ...none, ...situation })),
    );
    expect(step.type).toBe('decision');
  });
});

describe('a price that lists show and that is not confirmed', () => {
  test('scenario 116: destroys no machine with a budget, and is provisional (A1)', () => {
    const { actions, status, requeue } = decisionOf(dear(false), { spec: BUDGET });
    expect(actions).toEqual([]);
    expect(requeue.onList).toBe(true);
    expect(status?.fields.cost).toMatchObject({
      pricePerHour: '0.50',
      reported: { pricePerHour: '1000000.00' },
    });
  });

  test('is a condition and an event that people see when it is implausible (A1)', () => {
    const { status, events } = decisionOf(dear(false));
    expect(status?.verdict.OverBudget).toMatchObject({ status: 'Unknown', reason: 'DiffersFromOffer' });
    expect(warnings(events)).toMatchObject([{ reason: 'DiffersFromOffer' }]);
  });

  test.each([
    ['three times the believed one', 1_500_000, []],
    ['more', 1_500_001, ['DiffersFromOffer']],
  ])(
    'is an event when a new machine costs %s although its offer named less (HIGH 3)',
    (_, value, expected) => {
      const reports = { pricePerHour: { value, isAgreed: false, isImplausible: false } };
      for (const situation of [{ row: { state: 'running' as const }, given: {} }, NEW]) {
        const { events } = decisionOf({ reports, ...situation.row }, situation.given);
        expect(warnings(events).map(({ reason }) => reason)).toEqual(expected);
      }
    },
  );

  test.each(['created', 'loading'] as const)(
    'of a machine that is %s is on record and over its limit when two lists and a read agree (HIGH 3)',
    (actualStatus) => {
      const pricePerHour = 25_000_000;
      const reports = { pricePerHour: { value: pricePerHour, isAgreed: true, isImplausible: false } };
      const { status } = decisionOf(
        { state: actualStatus === 'created' ? 'pending' : actualStatus, marketStatus: actualStatus, reports },
        { ...NEW.given, status: { runningAt: undefined, actualStatus }, ...read({ pricePerHour }) },
      );
      expect(status?.fields.cost?.pricePerHour).toBe('25.00');
      expect(status?.verdict.OverBudget).toMatchObject({ status: 'True', reason: 'PriceRaised' });
    },
  );

  test('is read of the machine by itself when lists agree (A1, A2)', () => {
    const step = decide(given(withMachine(dear(true), { observed: { confirmed: undefined } })));
    expect(step).toEqual({ type: 'read', requests: [{ type: 'confirm', instanceId: '1' }] });
  });

  test('stays provisional when the read contradicts it (A1, A2)', () => {
    const { actions, status, requeue } = decisionOf(dear(true), { spec: BUDGET, ...read({}) });
    expect(actions).toEqual([]);
    expect(requeue.afterMs).toBe(60_000);
    expect(status?.fields.cost?.reported?.pricePerHour).toBe('1000000.00');
  });

  test('replaces the machine when the read confirms it (A2)', () => {
    const { actions, status } = decisionOf(dear(true), { spec: BUDGET, ...read({ pricePerHour: 1e12 }) });
    expect(actions).toMatchObject([{ type: 'destroy', reason: 'PriceRaised' }]);
    expect(status?.verdict.OverBudget?.status).toBe('True');
  });

  test('waits until the breaker has judged a list since it was confirmed (A2)', () => {
    const situation = { spec: BUDGET, facts: { isEndJudged: false }, ...read({ pricePerHour: 1e12 }) };
    expect(decisionOf(dear(true), situation)).toMatchObject({ actions: [], plansEnd: true });
  });

  test('scenario 116: is charged from when lists began to show it once it is confirmed (A4)', () => {
    const reported = { pricePerHour: '1000000.00', since: holding().runningAt ?? '' };
    const cost = { pricePerHour: '0.50', accrued: '0.00', since: holding().rentedAt ?? '', reported };
    const { status } = decisionOf(dear(true), { status: { cost }, ...read({ pricePerHour: 1e12 }) });
    expect(status?.fields.cost).toMatchObject({ pricePerHour: '1000000.00', since: reported.since });
    expect(status?.fields.cost).not.toHaveProperty('reported');
  });

  test('is taken back when lists show the believed price again (A4)', () => {
    const reported = { pricePerHour: '1000000.00', since: holding().runningAt ?? '' };
    const cost = {
      pricePerHour: '0.50',
      storagePricePerHour: '0.01',
      accrued: '0.00',
      since: holding().rentedAt ?? '',
    };
    const { status } = decisionOf({}, { status: { cost: { ...cost, reported } } });
    expect(status?.fields.cost).toEqual(cost);
  });
});

describe('an end by limit', () => {
  const OVER = { spec: { maxTotalCost: '0.01' } } as const;

  test('waits until the breaker has judged a list since it was planned (A1)', () => {
    const step = decisionOf({}, { ...OVER, facts: { isEndJudged: false } });
    expect(step).toMatchObject({ actions: [], plansEnd: true, requeue: { onList: true } });
  });

  test('scenario 117: waits while the breaker holds the ends of many (A1)', () => {
    const breaker = {
      type: 'open',
      since: at(-10),
      cause: 'massEnds',
      unhealthy: 9,
      message: 'many',
    } as const;
    const step = decisionOf({}, { ...OVER, facts: { breaker } });
    expect(step).toMatchObject({ actions: [], plansEnd: true });
    expect(step.status?.verdict).toMatchObject({
      ...{ phase: 'Running', OverBudget: { reason: 'LimitReached' } },
    });
  });

  test('waits when a read of the machine names another price (A1)', () => {
    expect(decisionOf({}, { ...OVER, ...read({ pricePerHour: 1 }) }).actions).toEqual([]);
  });

  test('destroys the machine when lists and read agree (A1)', () => {
    expect(decisionOf({}, OVER).actions).toMatchObject([{ type: 'destroy', reason: 'LimitReached' }]);
  });
});

describe('a machine that differs from what was rented', () => {
  test.each([
    ['another GPU', { gpuName: 'RTX 3090' }, 'GPU RTX 3090 instead of RTX 4090'],
    ['fewer GPUs', { gpuCount: 0 }, '0 GPUs instead of 1'],
    ['less GPU memory', { gpuMemoryMB: 8_000 }, '8000M of GPU memory instead of 24000M'],
    ['a smaller disk', { diskGB: 8 }, '8G of disk instead of 10G'],
  ])('is kept, and said, when it has %s (B13)', (_, change, text) => {
    const { actions, events, status } = decisionOf(change);
    expect(actions).toEqual([]);
    expect(warnings(events)).toMatchObject([
      { reason: 'DiffersFromOffer', note: expect.stringContaining(text) },
    ]);
    expect(status?.verdict.Rented).toMatchObject({ status: 'True', reason: 'DiffersFromOffer' });
    expect(status?.verdict.Ready.message).toContain(text);
  });

  test.each([
    ['one list', { gpuName: 'RTX 3090', unsettled: new Set(['gpuName'] as const) }],
    ['a memory that is counted differently', { gpuMemoryMB: 23_500 }],
    ['more than was rented', { gpuCount: 2, diskGB: 99 }],
  ])('is none by %s (B13)', (_, change) => {
    expect(decisionOf(change).status?.verdict.Rented.reason).toBe('Rented');
  });
});

const known = (type: string, reason: string) => ({
  conditions: [{ type, reason, status: 'True' as const, message: 'm', lastTransitionTime: time(-30) }],
});

describe('a report that is not believed', () => {
  const priced = (change: Partial<Machine>, pricePerHour?: string) => {
    const cost = { accrued: '0.00', since: time(-60), ...(pricePerHour && { pricePerHour }) };
    return decisionOf({ ...dear(false), ...change }, { status: { cost } }).status?.verdict.OverBudget
      ?.message;
  };

  test.each([
    ['the believed price', {}, '0.40', ' instead of $0.50/h'],
    [
      'the price on record when no list was believed',
      { pricePerHour: undefined },
      '0.40',
      ' instead of $0.40/h',
    ],
    ['no price when none is known', { pricePerHour: undefined }, undefined, ''],
  ])('names %s beside the reported one', (_, change, onRecord, instead) => {
    expect(priced(change, onRecord)).toContain(
      `Lists show $1000000.00/h${instead}; it counts when lists and a read of the machine agree.`,
    );
  });

  test('is a condition and an event when it is about the start', () => {
    const startedAt = { value: at(-600), isAgreed: false, isImplausible: true };
    const { status, events, requeue } = decisionOf({ reports: { startedAt } });
    expect(status?.verdict.OverBudget).toMatchObject({
      ...{ status: 'Unknown', reason: 'DiffersFromOffer' },
      message: expect.stringContaining(`Lists show ${time(-600)} as the start of the machine`),
    });
    expect(warnings(events)).toMatchObject([{ reason: 'DiffersFromOffer', action: 'Watching' }]);
    expect(requeue.onList).toBe(true);
  });

  test('is reconciled at the next list when nothing else is open', () => {
    expect(decisionOf({ unsettled: new Set(['gpuName'] as const) }).requeue.onList).toBe(true);
    expect(decisionOf({}).requeue.onList).toBeUndefined();
  });

  test('does not hide a limit that is reached', () => {
    const breaker = {
      type: 'open',
      since: at(-10),
      cause: 'massEnds',
      unhealthy: 9,
      message: 'many',
    } as const;
    const { status } = decisionOf(dear(false), { spec: { maxLifetime: '5m' }, facts: { breaker } });
    expect(status?.verdict.OverBudget?.reason).toBe('LimitReached');
  });

  test.each([
    ['price', dear(false), known('OverBudget', 'DiffersFromOffer')],
    ['GPU', { gpuName: 'RTX 3090' }, known('Rented', 'DiffersFromOffer')],
  ])('is no second event when the condition reports the %s already', (_, change, status) => {
    expect(warnings(decisionOf(change, { status }).events)).toEqual([]);
    expect(warnings(decisionOf(change, { status: known('Rented', 'Rented') }).events)).toHaveLength(1);
  });
});

describe('a difference from the rental', () => {
  test('names each difference', () => {
    const { status } = decisionOf({ gpuName: 'RTX 3090', diskGB: 8 });
    expect(status?.verdict.Rented.message).toContain(
      'The machine differs from what was rented: GPU RTX 3090 instead of RTX 4090, 8G of disk instead of 10G.',
    );
  });

  test('leaves the cause of a machine that is not ready', () => {
    const { status } = decisionOf(
      { gpuName: 'RTX 3090' },
      {
        spec: { readinessProbe: { tcpSocket: { port: 8080 } } },
        observed: { probe: { ready: false, detail: 'Port 8080 does not answer.' } },
      },
    );
    expect(status?.verdict.Ready).toMatchObject({ status: 'False', reason: 'NotReachable' });
    expect(status?.verdict.Ready.message).not.toContain('RTX 3090');
    expect(status?.verdict.Rented.reason).toBe('DiffersFromOffer');
  });

  test('is none of a machine that is only observed', () => {
    const adopt = { instanceId: '1', policy: 'Observe' } as const;
    expect(decisionOf({ gpuName: 'RTX 3090' }, { spec: { adopt } }).status?.verdict.Rented.reason).not.toBe(
      'DiffersFromOffer',
    );
  });
});

test('a difference leaves the message of a machine that is ready because it is stopped', () => {
  const stopped = { state: 'stopped', gpuName: 'RTX 3090' } as const;
  const { status } = decisionOf(stopped, { spec: { powerState: 'Stopped' } });
  expect(status?.verdict.Rented.reason).toBe('DiffersFromOffer');
  expect(status?.verdict.Ready).toMatchObject({ status: 'True', reason: 'Stopped' });
  expect(status?.verdict.Ready.message).not.toContain('RTX 3090');
});

describe('doubts on a recorded machine', () => {
  const doubted = (change: Partial<Machine>, step: Step, situation: Given = {}) => {
    const recorded = {
      machine: { instanceId: '1', attempt: 1 },
      state: { type: 'running', row: row(change) },
    } as const;
    return withDoubts(given(withMachine(change, situation)), recorded, step);
  };
  const running = decision({
    fields: {},
    finding: {
      ...{ phase: 'Running', reason: 'Ready', ready: true },
      machine: { type: 'stopped', origin: 'Rented', reason: 'Stopped' },
    },
    requeue: { afterMs: 5_000 },
  });

  test('leave a read as it is', () => {
    const step: Step = { type: 'read', requests: [{ type: 'confirm', instanceId: '1' }] };
    expect(doubted(dear(false), step)).toBe(step);
  });

  test('add a reconcile alone to a decision without a status', () => {
    const step = decision({ requeue: { afterMs: 5_000 } });
    expect(doubted(dear(false), step)).toEqual({ ...step, requeue: { afterMs: 5_000, onList: true } });
  });

  test('leave a sooner reconcile as it is when a read contradicts the lists', () => {
    expect(doubted(dear(true), running, read({}))).toMatchObject({ requeue: { afterMs: 5_000 } });
  });

  test('wait for the next list when this pass read no machine', () => {
    const late = { ...running, requeue: { afterMs: 90_000 } };
    expect(doubted(dear(true), late, { observed: { confirmed: undefined } })).toMatchObject({
      requeue: { afterMs: 90_000, onList: true },
    });
  });

  test('name no difference of a machine that is only observed', () => {
    const adopt = { instanceId: '1', policy: 'Observe' } as const;
    expect(doubted({ gpuName: 'RTX 3090' }, running, { spec: { adopt } })).toEqual(running);
  });

  test('name the reported price alone when no cost is on record', () => {
    const step = doubted({ ...dear(false), pricePerHour: undefined }, running, {
      status: { cost: undefined },
    });
    expect(step.type === 'decision' && step.status?.verdict.OverBudget?.message).toContain(
      'Lists show $1000000.00/h; it counts',
    );
  });

  test('are one event alone when the start is in doubt and nothing differs', () => {
    const startedAt = { value: at(-600), isAgreed: false, isImplausible: true };
    expect(doubted({ reports: { startedAt } }, running)).toMatchObject({
      events: [{ type: 'Warning', reason: 'DiffersFromOffer' }],
    });
  });
});

describe('an end by limit that a policy lets a machine survive', () => {
  const kept = (deletionPolicy: 'Retain' | 'Destroy', reason: string) => {
    const conditions = [
      { type: 'Ready', status: 'False' as const, reason, message: 'm', lastTransitionTime: time(-30) },
    ];
    return decisionOf(
      {},
      { spec: { maxLifetime: '4m', deletionPolicy }, status: { conditions }, facts: { isEndJudged: false } },
    );
  };

  test('is planned once, and is no end any more after it was applied', () => {
    expect(kept('Retain', 'LimitReached').rule).toBe('limit-reached');
    expect(kept('Retain', 'LimitReached')).not.toHaveProperty('plansEnd');
  });

  test('is planned until it was applied', () => {
    expect(kept('Retain', 'Ready')).toMatchObject({ rule: 'run', plansEnd: true });
  });

  test('is planned on when the machine is to be destroyed', () => {
    expect(kept('Destroy', 'LimitReached')).toMatchObject({ actions: [], plansEnd: true });
  });
});

test('the reason of an end that has begun is that of Ready, whatever the order of conditions', () => {
  const condition = (type: string, reason: string) => ({ ...known(type, reason).conditions[0] });
  const conditions = [condition('Ready', 'SpecChanged'), condition('Reconciling', 'Replacing')];
  const status = { conditions: conditions as ReturnType<typeof known>['conditions'] };
  expect(reasonOfEnding(given(withMachine({}, { status })))).toBe('SpecChanged');
});

test('a lost machine that is to stop names its own cause while the breaker is open', () => {
  const situation = {
    ...({ spec: { powerState: 'Stopped' }, status: { actualStatus: 'offline' } } as const),
    facts: { breaker: OPEN_BREAKER },
  };
  const { status } = decisionOf({ state: 'offline' }, situation);
  expect(status?.verdict).toMatchObject({ phase: 'Lost', Ready: { reason: 'HostOffline' } });
});
