import { describe, expect, test } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import { destroys, HOLD, lost, OUTDATED, since } from '../../../../test/builders/ending-machine.ts';
import { at, facts, type Given, given, time, UID, withMachine } from '../../../../test/builders/observed.ts';
import type { MachineState } from '../../../market/machine.ts';
import { decide } from '../decide.ts';

const { table, close } = decisionTables('held-back');

/** Returns a machine of an old spec whose end the annotation delays; callers set only relevant fields. */
function waiting(change: Parameters<typeof withMachine>[0], situation: Given = {}): Given {
  return withMachine(change, {
    ...situation,
    status: { ...OUTDATED, ...situation.status },
    annotations: { ...HOLD, ...situation.annotations },
  });
}

const isBooting = { runningAt: undefined, binding: undefined, actualStatus: 'loading' };

describe('while machines are replaced slowly (C2)', () => {
  const slow = (turn: string | undefined): Given => ({
    facts: {
      breaker: {
        type: 'slow',
        since: at(-3600),
        releasedAt: at(-1800),
        releasedBy: 'hold',
        unhealthy: 9,
        message: 'm',
        turn,
      },
    },
  });
  table([
    ['a lost machine is destroyed in its turn', lost(slow(UID)), destroys('lost', 'HostOffline')],
    [
      'a lost machine waits for its turn',
      lost(slow('another')),
      { rule: 'lost', phase: 'Lost', says: 'BreakerOpen', afterMs: 60_000 },
    ],
    [
      'a machine that costs too much is destroyed in its turn',
      withMachine({ pricePerHour: 1_100_000 }, { ...slow(UID), spec: { onPriceAbove: 'Replace' } }),
      destroys('price-raised', 'PriceRaised'),
    ],
    [
      'a machine that a person wants replaced has no turn',
      withMachine({}, { ...slow(UID), annotations: { 'gpurental.dev/replace-at': time(-10) } }),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 60_000 },
    ],
    [
      'a machine that works and is unwanted waits for its turn',
      withMachine({}, { ...slow('another'), status: OUTDATED }),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 60_000 },
    ],
  ]);
});

describe('in a namespace that may no longer use the account (H3)', () => {
  const ready = (outsider: 'refused' | 'undecided') => ({
    account: { state: 'ready' as const, facts: facts(), outsider },
  });
  const verdictOf = (situation: Given) => {
    const step = decide(given(situation));
    return step.type === 'decision' ? step : undefined;
  };

  test('a machine that works is not replaced, since no other could be rented', () => {
    const step = verdictOf(withMachine({}, { status: OUTDATED, ...ready('refused') }));
    expect(step?.actions).toEqual([]);
    expect(step?.status?.verdict.Ready.message).toContain('No MarketplaceAccount');
  });

  test('a machine is replaced while that is not decided', () => {
    expect(verdictOf(withMachine({}, { status: OUTDATED, ...ready('undecided') }))?.actions).toMatchObject([
      { type: 'destroy' },
    ]);
  });

  test('a machine beyond a limit is ended', () => {
    const limit = { spec: { maxLifetime: '1m' } };
    expect(verdictOf(withMachine({}, { ...limit, ...ready('refused') }))?.actions).toMatchObject([
      { type: 'destroy' },
    ]);
  });
});

describe('a lost machine without a known price', () => {
  const priceless = (situation: Given): Given =>
    withMachine(
      { state: 'offline', pricePerHour: undefined, storagePricePerHour: undefined },
      { ...situation, status: { ...since('offline', -61), cost: undefined } },
    );
  table([
    [
      'may still bill when the policy keeps it',
      priceless({ spec: { replacement: { policy: 'Never' } } }),
      { rule: 'lost', phase: 'Lost', says: 'stalled: ReplacementOff', afterMs: 60_000 },
    ],
    [
      'bills while its account is suspended',
      priceless({ facts: { suspended: true } }),
      { rule: 'lost', phase: 'Lost', says: 'Suspended', afterMs: 60_000 },
    ],
    [
      'cannot be destroyed',
      priceless({ memory: { destroyFailures: 3 } }),
      destroys('lost', 'HostOffline', 'DestroyFailing'),
    ],
  ]);
});

describe('a machine whose replacement is blocked', () => {
  table([
    ['goes on with its work', waiting({}), { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 60_000 }],
    [
      'goes on with it while the object is paused',
      withMachine({}, { status: OUTDATED, spec: { paused: true } }),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 60_000 },
    ],
    [
      'is stopped where that is wanted',
      waiting({}, { spec: { powerState: 'Stopped' } }),
      {
        rule: 'stop',
        record: 'status',
        actions: ['stop 1'],
        phase: 'Stopping',
        says: 'Stopping, Paused',
        afterMs: 30_000,
      },
    ],
    [
      'is stopped while it boots',
      waiting({ state: 'loading' }, { status: isBooting, spec: { powerState: 'Stopped' } }),
      {
        rule: 'stop-while-booting',
        record: 'status',
        actions: ['stop 1'],
        phase: 'Stopping',
        says: 'Stopping, Paused',
        afterMs: 30_000,
      },
    ],
    [
      'is as ready as any other while it is stopped',
      waiting({ state: 'stopped' }, { spec: { powerState: 'Stopped' } }),
      { rule: 'stopped-as-desired', phase: 'Stopped', says: 'Ready', afterMs: 60_000 },
    ],
    [
      'is started where that is wanted',
      waiting({ state: 'stopped' }),
      {
        rule: 'start',
        record: 'status',
        actions: ['start 1'],
        phase: 'Starting',
        says: 'Starting, Paused',
        afterMs: 60_000,
      },
    ],
    [
      'has the time to boot that every machine has',
      waiting({ state: 'loading' }, { status: isBooting, memory: { seenStatus: word('loading', -10) } }),
      { rule: 'boot', phase: 'Loading', says: 'Loading, Paused', afterMs: 60_000 },
    ],
    [
      'is lost when it does not boot in time, and held all the same',
      waiting({ state: 'loading' }, { status: isBooting, memory: { seenStatus: word('loading', -90_000) } }),
      { rule: 'boot-timed-out', phase: 'Lost', says: 'Paused', afterMs: 60_000 },
    ],
    [
      'is lost when it ends by itself, and held all the same',
      waiting({ state: 'offline' }, { memory: { seenStatus: word('offline', -9000) } }),
      { rule: 'lost', phase: 'Lost', says: 'Paused', afterMs: 60_000 },
    ],
    [
      'says what it costs too much by',
      withMachine(
        { state: 'loading', pricePerHour: 900_000 },
        {
          status: isBooting,
          spec: { onPriceAbove: 'Replace', paused: true },
          memory: { seenStatus: word('loading', -10) },
        },
      ),
      { rule: 'boot', phase: 'Loading', says: 'Loading, Paused', afterMs: 60_000 },
    ],
  ]);
});

describe('a machine that was taken over by an object that can rent no other', () => {
  const takenOver = {
    adopt: { instanceId: '1', policy: 'Manage' },
    offers: undefined,
    image: undefined,
    replacement: { policy: 'Never' },
  } as const;
  const kept = { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 60_000 };
  table([
    ['stays when the spec changes', withMachine({}, { spec: takenOver, status: OUTDATED }), kept],
    [
      'stays when another is asked for',
      withMachine({}, { spec: takenOver, annotations: { 'gpurental.dev/replace-at': time(-10) } }),
      kept,
    ],
    [
      'stays when the alternatives alone are missing',
      withMachine({}, { spec: { ...takenOver, image: 'example/image:1' }, status: OUTDATED }),
      kept,
    ],
    [
      'stays when the image alone is missing',
      withMachine({}, { spec: { ...takenOver, offers: [{ maxPricePerHour: '1.00' }] }, status: OUTDATED }),
      kept,
    ],
    [
      'ends all the same when its time is over',
      withMachine({}, { spec: { ...takenOver, maxLifetime: '5m' } }),
      destroys('limit-reached', 'LimitReached'),
    ],
  ]);
});

describe('a machine beyond a limit that may not be destroyed', () => {
  const beyond = { maxLifetime: '5m', powerState: 'Stopped' } as const;
  table([
    [
      'is stopped where that is wanted, and the policy is Stop, whatever the annotation says',
      withMachine({}, { spec: { ...beyond, deletionPolicy: 'Stop' }, annotations: HOLD }),
      {
        rule: 'limit-reached',
        record: 'status',
        actions: ['stop 1'],
        phase: 'Failed',
        says: 'stalled: LimitReached',
        afterMs: 30_000,
      },
    ],
    [
      'is stopped where that is wanted, and the policy is Retain',
      withMachine({}, { spec: { ...beyond, deletionPolicy: 'Retain' } }),
      {
        rule: 'limit-reached',
        record: 'status',
        actions: ['stop 1'],
        phase: 'Failed',
        says: 'stalled: LimitReached',
        afterMs: 30_000,
      },
    ],
    [
      'is not started again',
      withMachine(
        { state: 'stopped' },
        { spec: { maxLifetime: '5m', deletionPolicy: 'Stop' }, annotations: HOLD },
      ),
      { rule: 'limit-reached', record: 'status', phase: 'Failed', says: 'stalled: LimitReached' },
    ],
  ]);
});

describe('while its end is blocked', () => {
  const fieldsOf = (situation: Given) => {
    const step = decide(given(situation));
    return step.type === 'decision' ? step.status?.fields : undefined;
  };

  test('shows the address of a machine once it runs', () => {
    const status = { ...isBooting, rentedAt: undefined };
    expect(fieldsOf(waiting({}, { status }))).toMatchObject({
      endpoint: '203.0.113.5:20022',
      ssh: { host: '203.0.113.5', port: 20_022 },
      runningAt: time(-1),
      rentedAt: time(-300),
      binding: { name: 'job-connection' },
    });
  });

  test.each<readonly [string, Given]>([
    ['that works', { status: OUTDATED }],
    ['beyond a limit', { spec: { maxLifetime: '5m', deletionPolicy: 'Retain' } }],
    ['that is lost', { memory: { seenStatus: word('offline', -9000) } }],
  ])('the price of one %s is written down', (_, situation) => {
    const state = situation.memory ? ('offline' as const) : ('running' as const);
    const cost = { accrued: '0.00', since: time(-300) };
    const observed = withMachine(
      { state },
      { ...situation, annotations: HOLD, status: { ...situation.status, cost } },
    );
    expect(fieldsOf(observed)?.cost).toMatchObject({ pricePerHour: '0.50' });
  });

  test('a machine that no alternative asks for any more says what it lacks', () => {
    const spec = { offers: [{ gpuNames: ['H100'] }] };
    const step = decide(given(withMachine({}, { spec, annotations: HOLD })));
    expect(step.type === 'decision' && step.status?.verdict.Ready.message).toContain('H100');
    const changed = decide(given(withMachine({}, { annotations: HOLD, status: OUTDATED })));
    expect(changed.type === 'decision' && changed.status?.verdict.Ready.message).toContain(
      'still matches the old one',
    );
  });

  test('a request that is due is not looked at each second', () => {
    const due = withMachine({}, { annotations: { ...HOLD, 'gpurental.dev/replace-at': time(-1) } });
    expect(decide(given(due))).toMatchObject({ requeue: { afterMs: 60_000 } });
  });
});

function word(state: MachineState, seconds: number) {
  return { state, marketStatus: state, since: at(seconds) };
}

close();
