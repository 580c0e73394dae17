import { describe, expect, test } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import { destroys, OUTDATED } from '../../../../test/builders/ending-machine.ts';
import {
  at,
  FRESH_RETRY,
  type Given,
  given,
  IN_HAND,
  machineOf,
  type ObservedParts,
  offer,
  time,
  withMachine,
} from '../../../../test/builders/observed.ts';
import { decide } from '../decide.ts';
import type { Decision, RetryView, SeenPurchase } from '../types.ts';
import { handOf } from './in-hand.ts';

const { table, close } = decisionTables('in-hand');

const NOTHING: ObservedParts = {
  offers: new Map([[0, { type: 'found', offers: [] }]]),
  broadOffers: { type: 'found', offers: [offer({ id: '7', diskGB: 50 })] },
  room: undefined,
};

/** Returns a working machine of an old spec; callers set only relevant fields. */
function outdated(situation: Given = {}): Given {
  return withMachine({}, { ...situation, status: { ...OUTDATED, ...situation.status } });
}

const keeps = (afterMs: number) => ({ rule: 'run', phase: 'Running', says: 'Ready', kept: true, afterMs });
const refused = (
  reason: 'AtLimit' | 'InsufficientCredit' | 'OfferReserved',
  retryAfterMs = 10_000,
): ObservedParts => ({
  ...IN_HAND,
  room: {
    type: 'refused',
    offerId: '100',
    pricePerHour: 500_000,
    at: at(0),
    retryAfterMs,
    reason,
    detail: 'm',
  },
});

/** No search of an earlier reconcile shows a matching offer. */
const NO_FIRST_SEARCH: Given = { memory: { replacement: { ...FRESH_RETRY, firstSearch: undefined } } };

const backingOff: RetryView = {
  refusal: { reason: 'NoOffers', detail: 'No offer matches.' },
  explained: undefined,
  failures: 3,
  notBefore: at(90),
};

const condition = (type: string, reason: string) => ({
  ...{ type, reason, status: 'True' as const, message: 'as it was', lastTransitionTime: time(-30) },
});
const BLOCKED = condition('ReplacementBlocked', 'ReplacementBlocked');

describe('a machine of an old spec (P1)', () => {
  table([
    [
      'is destroyed with an offer in hand, and the event names the loss and the offer',
      outdated(),
      destroys('spec-changed', 'SpecChanged'),
    ],
    [
      'serves on if nothing matches the new spec, as after an edit from disk 32G to 90T',
      outdated({ spec: { disk: '90T' }, observed: NOTHING }),
      keeps(5_000),
    ],
    [
      'serves on if the account has no room even without it, as with maxInstances 0, and says that it does not count and what to do',
      outdated({ observed: refused('AtLimit') }),
      keeps(10_000),
    ],
    [
      'serves on while the credit of its account is used up',
      outdated({ observed: refused('InsufficientCredit') }),
      keeps(10_000),
    ],
    [
      'serves on if the pull Secret of its new image is missing',
      outdated({
        observed: {
          inputs: { type: 'problem', reason: 'InputMissing', detail: 'Secret pull does not exist.' },
        },
      }),
      keeps(60_000),
    ],
    [
      'serves on if its new start script is too long',
      outdated({
        observed: {
          inputs: { type: 'problem', reason: 'InvalidSpec', detail: 'The script is too long.' },
        },
      }),
      keeps(60_000),
    ],
    [
      'serves on if the login lacks the SSH key that the new spec needs',
      outdated({ spec: { ssh: true }, facts: { sshKeyRegistered: false } }),
      keeps(60_000),
    ],
    [
      'serves on if as many machines were rented within the hour as maxPerHour allows',
      outdated({ status: { rentals: [time(-600)] }, spec: { replacement: { maxPerHour: 1 } } }),
      keeps(3_000_000),
    ],
    [
      'serves on if its namespace may not use the account any more',
      outdated({ facts: { permitted: false } }),
      keeps(5_000),
    ],
    [
      'serves on if the search fails',
      outdated({
        observed: {
          offers: new Map([
            [0, { type: 'failed', kind: 'unavailable', detail: 'HTTP 503', retryAfterMs: undefined }],
          ]),
        },
      }),
      keeps(5_000),
    ],
    [
      'serves on while it is not known whether its namespace may use the account',
      outdated({ facts: { permitted: undefined } }),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 5_000 },
    ],
    [
      'serves on while the time of the service is uncertain',
      outdated({ facts: { serviceTime: { type: 'stale' } } }),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 1_000, onList: true },
    ],
    [
      'is not replaced for an offer that was seen too long ago',
      outdated({ observed: { room: { type: 'fits', offerId: '100', pricePerHour: 500_000, at: at(-41) } } }),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 0 },
    ],
    [
      'is not replaced for an offer whose rental was not admitted yet',
      outdated({ observed: { room: undefined } }),
      { reads: [{ type: 'room', offerId: '100', pricePerHour: 500_000 }] },
    ],
    [
      'is not replaced on the admission of another offer',
      outdated({ observed: { room: { type: 'fits', offerId: '9', pricePerHour: 500_000, at: at(0) } } }),
      { reads: [{ type: 'room', offerId: '100', pricePerHour: 500_000 }] },
    ],
    [
      'waits a moment if another object reserved the offer first',
      outdated({ observed: refused('OfferReserved', 1_000) }),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 1_000 },
    ],
    [
      'searches again after the back-off alone',
      outdated({ memory: { replacement: backingOff }, observed: { offers: new Map() } }),
      keeps(90_000),
    ],
    [
      'keeps its condition while the next search waits in the queue',
      outdated({
        status: { conditions: [BLOCKED] },
        observed: { offers: new Map([[0, { type: 'queued', place: undefined }]]) },
      }),
      keeps(3_000),
    ],
    [
      'is not Ready by that while it does not answer',
      outdated({
        observed: { ...NOTHING, probe: { ready: false, detail: 'Port 8080 does not answer.' } },
        spec: { readinessProbe: { tcpSocket: { port: 8080 } } },
      }),
      { rule: 'run', phase: 'Running', says: 'NotReachable, ReplacementBlocked', kept: true, afterMs: 5_000 },
    ],
    [
      'boots on if nothing matches the new spec',
      withMachine(
        { state: 'loading' },
        {
          status: { ...OUTDATED, runningAt: undefined, binding: undefined, actualStatus: 'loading' },
          observed: NOTHING,
        },
      ),
      { rule: 'boot', phase: 'Loading', says: 'Loading, ReplacementBlocked', kept: true, afterMs: 5_000 },
    ],
  ]);
});

describe('an offer that one search shows', () => {
  const found = (...ids: readonly string[]): ObservedParts => ({
    offers: new Map([[0, { type: 'found', offers: ids.map((id) => offer({ id })), begunAt: at(0) }]]),
    room: { type: 'fits', offerId: ids.at(-1) ?? '', pricePerHour: 500_000, at: at(0) },
  });
  const first = (seconds: number, ids: readonly string[], misses = 0): Pick<Given, 'memory'> => {
    const firstSearch = { begunAt: at(seconds), offerIds: ids, misses };
    return { memory: { replacement: { ...FRESH_RETRY, firstSearch } } };
  };
  const keepsSearch = (ids: readonly string[], misses: number) => ({
    reads: [{ type: 'firstSearch', search: { begunAt: at(0), offerIds: ids, misses } }],
  });
  const waits = (afterMs: number) => ({ rule: 'run', phase: 'Running', says: 'Ready', afterMs });
  table([
    [
      'is kept until another search shows it, and the machine serves on',
      outdated({ observed: found('100'), ...NO_FIRST_SEARCH }),
      keepsSearch(['100'], 0),
    ],
    [
      'is searched for again after three seconds',
      outdated({ observed: { offers: new Map() }, ...first(-1, ['100']) }),
      waits(2_000),
    ],
    [
      'is in hand when a search three seconds later shows it as well',
      outdated({ observed: found('100'), ...first(-3, ['100']) }),
      destroys('spec-changed', 'SpecChanged'),
    ],
    [
      'is passed over for one that both searches show',
      outdated({ observed: found('90', '100'), ...first(-30, ['80', '100']) }),
      destroys('spec-changed', 'SpecChanged'),
    ],
    [
      'ends no machine if the next search shows only others, which are searched for again',
      outdated({ observed: found('90'), ...first(-30, ['100']) }),
      keepsSearch(['90'], 1),
    ],
    [
      'is forgotten if the next search shows none that matches',
      outdated({ observed: NOTHING, ...first(-30, ['100']) }),
      { reads: [{ type: 'firstSearch', search: undefined }] },
    ],
    [
      'is blocked while searches agree on none, at longer intervals',
      outdated({ observed: { offers: new Map() }, ...first(-1, ['90'], 2) }),
      keeps(9_000),
    ],
    [
      'is seen for the first time again when the first search is ten minutes old',
      outdated({ observed: found('100'), ...first(-601, ['100']) }),
      keepsSearch(['100'], 0),
    ],
  ]);

  test('is searched for by a search that begins three seconds after the first', () => {
    const step = decide(given(outdated({ observed: { offers: new Map() }, ...first(-10, ['100']) })));
    expect(step).toMatchObject({ type: 'read', requests: [{ type: 'offers', index: 0, since: at(-7) }] });
  });

  test('is confirmed by no reply of a search that began before those three seconds', () => {
    const observed = { ...found('100'), steadyNow: at(2) };
    const hand = handOf(given(outdated({ observed, ...first(-1, ['100']) })), {
      ...{ machine: { instanceId: '1', attempt: 1 }, reason: 'SpecChanged' },
    });
    expect(hand).toEqual({ type: 'searching', requeue: { afterMs: 0 } });
  });

  test('needs no second search when nothing works that could be lost', () => {
    const step = decide(given({ observed: found('100') }));
    expect(step).toMatchObject({ actions: [{ type: 'rent' }] });
  });

  test.for([
    ['ReplaceRequested', { annotations: { 'gpurental.dev/replace-at': time(-5) } }],
    ['PriceRaised', { spec: { onPriceAbove: 'Replace' } }],
  ] as const)('ends no machine for %s either', ([reason, situation]) => {
    const machine = withMachine(
      { pricePerHour: 530_000 },
      { ...situation, observed: { ...found('100'), room: undefined }, ...NO_FIRST_SEARCH },
    );
    expect(decide(given(machine)), reason).toMatchObject({
      type: 'read',
      requests: [{ type: 'firstSearch', search: { offerIds: ['100'] } }],
    });
  });
});

describe('the siblings of an edit (P1)', () => {
  const priced = (change: Given = {}): Given =>
    withMachine({ pricePerHour: 530_000 }, { ...change, spec: { onPriceAbove: 'Replace', ...change.spec } });
  table([
    [
      'a machine whose price rose serves on if no offer is cheaper than it is now',
      priced({
        observed: {
          offers: new Map([[0, { type: 'found', offers: [offer({ pricePerHour: 530_000 })] }]]),
          broadOffers: { type: 'found', offers: [offer({ pricePerHour: 530_000 })] },
        },
        ...NO_FIRST_SEARCH,
      }),
      keeps(5_000),
    ],
    [
      'a machine whose price rose is replaced by a cheaper one',
      priced(),
      destroys('price-raised', 'PriceRaised'),
    ],
    [
      'a machine that a person wants replaced serves on if nothing can be rented',
      withMachine({}, { annotations: { 'gpurental.dev/replace-at': time(-5) }, observed: NOTHING }),
      keeps(5_000),
    ],
    [
      'a stopped machine keeps its disk while powerState is Stopped',
      withMachine({ state: 'stopped' }, { spec: { powerState: 'Stopped' }, status: OUTDATED }),
      { rule: 'stopped-as-desired', phase: 'Stopped', says: 'Ready', kept: true, afterMs: 60_000 },
    ],
    [
      'a machine of an old spec that is to stop is stopped and not destroyed',
      withMachine({}, { spec: { powerState: 'Stopped' }, status: OUTDATED }),
      {
        ...{ rule: 'stop', record: 'status', actions: ['stop 1'], phase: 'Stopping' },
        ...{ says: 'Stopping, ReplacementBlocked', kept: true, afterMs: 30_000 },
      },
    ],
    [
      'a stopped machine of a service without start keeps its disk if nothing can be rented',
      withMachine({ state: 'stopped' }, { facts: { startUnsupported: true }, observed: NOTHING }),
      {
        ...{ rule: 'start-unsupported', phase: 'Stopped', says: 'CannotStart, ReplacementBlocked' },
        ...{ kept: true, afterMs: 5_000 },
      },
    ],
    [
      'a lost machine is destroyed without an offer',
      withMachine(
        { state: 'offline' },
        { status: { ...OUTDATED, actualStatus: 'offline', actualStatusSince: time(-61) }, observed: NOTHING },
      ),
      destroys('lost', 'HostOffline'),
    ],
    [
      'a machine beyond its limit is destroyed without an offer',
      withMachine({}, { spec: { maxLifetime: '5m' }, observed: NOTHING }),
      destroys('limit-reached', 'LimitReached'),
    ],
  ]);
});

describe('the end of a block (P1)', () => {
  table([
    [
      'is an event if the edit was reverted',
      withMachine({}, { status: { conditions: [BLOCKED] } }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is an event if an offer was found',
      outdated({ status: { conditions: [BLOCKED] } }),
      destroys('spec-changed', 'SpecChanged'),
    ],
    [
      'is no event while it lasts',
      outdated({ status: { conditions: [BLOCKED] }, observed: NOTHING }),
      keeps(5_000),
    ],
  ]);
});

describe('a replacement that was decided before a restart (P1)', () => {
  const decided = (change: Given = {}): Given =>
    outdated({
      ...change,
      status: { conditions: [condition('Reconciling', 'Replacing'), condition('Ready', 'SpecChanged')] },
    });
  const read = (state: 'absent' | 'present'): ObservedParts => ({
    ...NOTHING,
    absences: new Map([['1', { lists: [], read: state }]]),
  });
  const waiting = { phase: 'Replacing', says: 'SpecChanged, Replacing' };
  table([
    ['is carried out with an offer in hand', decided(), destroys('spec-changed', 'SpecChanged')],
    [
      'reads the machine if there is no offer any more: its destroy may have been sent',
      decided({ observed: NOTHING }),
      { reads: [{ type: 'machine', instanceId: '1' }] },
    ],
    ['is dropped if there is no offer any more', decided({ observed: read('present') }), keeps(5_000)],
    [
      'waits for a list if the machine is gone by its own read',
      decided({ observed: read('absent') }),
      { rule: 'spec-changed', ...waiting, afterMs: 5_000, onList: true },
    ],
    [
      'does not search while a failed destroy waits for its next try',
      decided({
        memory: { destroyFailures: 1, destroyNotBefore: at(20) },
        observed: { offers: new Map(), room: undefined },
      }),
      { rule: 'spec-changed', record: 'status', ...waiting, afterMs: 20_000 },
    ],
  ]);
});

describe('what a pass reports of a search that it made (P1)', () => {
  function decisionOf(situation: Given): Decision {
    const step = decide(given(situation));
    if (step.type !== 'decision') throw new Error(`a ${step.type} instead of a decision`);
    return step;
  }
  const QUEUED: ObservedParts = { offers: new Map([[0, { type: 'queued', place: undefined }]]) };

  test('is the refusal and the back-off when nothing was found', () => {
    const step = decisionOf(outdated({ observed: NOTHING }));
    expect(step.blocked).toMatchObject({ afterMs: 5_000, refusal: { reason: 'NoOffers' } });
    expect(step).not.toHaveProperty('waits');
  });

  test('is a longer back-off after each failure', () => {
    const replacement = { ...backingOff, failures: 2, notBefore: at(0) };
    const { blocked } = decisionOf(outdated({ memory: { replacement }, observed: NOTHING }));
    expect(blocked?.afterMs).toBe(20_000);
  });

  test('is nothing while a back-off lasts', () => {
    const step = decisionOf(outdated({ memory: { replacement: backingOff } }));
    expect(step).not.toHaveProperty('blocked');
    expect(step).not.toHaveProperty('waits');
  });

  test('is its place in the queue while the search waits', () => {
    const step = decisionOf(outdated({ observed: QUEUED }));
    expect(step.waits).toBeDefined();
    expect(step).not.toHaveProperty('blocked');
  });

  test('is no condition of another cause while the search waits', () => {
    const conditions = [condition('ReplacementBlocked', 'BreakerOpen')];
    const { status } = decisionOf(outdated({ status: { conditions }, observed: QUEUED }));
    expect(status?.verdict.ReplacementBlocked).toBeUndefined();
  });

  test('is not in the queue of the login when a rental waits there', () => {
    const room = { ...IN_HAND.room, type: 'refused', reason: 'Queued', retryAfterMs: 2_000, detail: 'm' };
    const step = decisionOf(outdated({ observed: { ...IN_HAND, room: room as SeenPurchase['room'] } }));
    expect(step.requeue.afterMs).toBe(2_000);
    expect(step.status?.verdict.ReplacementBlocked).toBeUndefined();
  });

  test('is an admission of another price that is read again', () => {
    const room = { type: 'fits', offerId: '100', pricePerHour: 1, at: at(0) } as const;
    expect(decide(given(outdated({ observed: { ...IN_HAND, room } })))).toEqual({
      type: 'read',
      requests: [{ type: 'room', offerId: '100', pricePerHour: 500_000 }],
    });
  });

  test('is an offer in hand at the very end of its time', () => {
    const room = { type: 'fits', offerId: '100', pricePerHour: 500_000, at: at(-40) } as const;
    expect(decisionOf(outdated({ observed: { ...IN_HAND, room } })).actions).toMatchObject([
      { type: 'destroy', reason: 'SpecChanged' },
    ]);
  });

  test('is a search again at the very end of a back-off', () => {
    const replacement = { ...backingOff, notBefore: at(0) };
    expect(decisionOf(outdated({ memory: { replacement } })).actions).toMatchObject([{ type: 'destroy' }]);
  });

  test('is the explanation of an empty search as well', () => {
    const observed = {
      ...NOTHING,
      broadOffers: { type: 'found', offers: [offer({ gpuName: 'H100' })] },
    } as const;
    const { blocked } = decisionOf(
      outdated({ spec: { offers: [{ gpuNames: ['RTX 4090'], maxPricePerHour: '1.00' }] }, observed }),
    );
    expect(blocked?.explained).toMatchObject({
      reason: 'NoOffers',
      detail: expect.stringContaining('1 without gpuNames RTX 4090'),
    });
  });

  test('is a longer back-off after each refusal by the account', () => {
    const replacement = { ...backingOff, notBefore: at(0) };
    const observed = refused('AtLimit');
    expect(decisionOf(outdated({ memory: { replacement }, observed })).blocked?.afterMs).toBe(40_000);
  });
});

describe('the refusal of a rental in place of a machine', () => {
  const refusalOf = (reason: 'PriceRaised' | 'SpecChanged', situation: Given) => {
    const hand = handOf(given(withMachine({}, situation)), {
      ...{ machine: { instanceId: '1', attempt: 1 }, reason },
    });
    return hand.type === 'none' ? hand.refusal : undefined;
  };
  const DEAR: ObservedParts = {
    offers: new Map([[0, { type: 'found', offers: [] }]]),
    broadOffers: { type: 'found', offers: [offer({ pricePerHour: 600_000 })] },
    room: undefined,
  };
  const CHEAPER = 'No matching offer costs less than $0.50/h.';

  test('names the present price if no offer is below it after a price rise', () => {
    const refusal = { reason: 'NoOffers', detail: CHEAPER };
    expect(refusalOf('PriceRaised', { observed: DEAR })).toMatchObject(refusal);
  });

  test('names the limit of the spec if that is exceeded after an edit', () => {
    const refusal = refusalOf('SpecChanged', {
      spec: { offers: [{ maxPricePerHour: '0.55' }] },
      observed: DEAR,
    });
    expect(refusal).toMatchObject({
      reason: 'NoOffers',
      detail: expect.not.stringContaining(CHEAPER),
    });
  });

  test('names its own cause if that is another after a price rise', () => {
    const inputs = { type: 'problem', reason: 'InvalidSpec', detail: 'Too long.' } as const;
    expect(refusalOf('PriceRaised', { observed: { inputs }, ...NO_FIRST_SEARCH })).toEqual({
      reason: 'InvalidSpec',
      detail: expect.stringContaining('Too long.'),
    });
  });
});

test('no offer is in hand while another machine of the object is listed', () => {
  const machines = [machineOf(1), machineOf(1, { id: '2' })];
  const facts = given(withMachine({}, { machines, status: OUTDATED }));
  const replaced = { machine: { instanceId: '1', attempt: 1 }, reason: 'SpecChanged' } as const;
  expect(handOf(facts, replaced)).toMatchObject({ type: 'searching', requeue: { onList: true } });
});

close();
