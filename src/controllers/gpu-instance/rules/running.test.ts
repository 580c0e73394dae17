import { describe } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import { destroys } from '../../../../test/builders/ending-machine.ts';
import { at, type Given, intent, offer, time, withMachine } from '../../../../test/builders/observed.ts';

const { table, close } = decisionTables('running');

const adopted = (label: string | null, situation: Given = {}): Given =>
  withMachine({ label }, { ...situation, spec: { adopt: { instanceId: '1' }, ...situation.spec } });
const replaceAt = (seconds: number) => ({ annotations: { 'gpurental.dev/replace-at': time(seconds) } });

describe('the later machine of an offer that was sold twice (S9)', () => {
  const PROBED = { spec: { readinessProbe: { tcpSocket: { port: 8080 } } } };
  const reachable = (status: 'True' | 'False', seconds: number) => ({
    conditions: [{ type: 'Running', status, reason: 'x', message: '', lastTransitionTime: time(seconds) }],
  });
  const sold = (situation: Given, isOfferSoldBefore = true): Given =>
    withMachine({}, { ...PROBED, ...situation, observed: { isOfferSoldBefore, ...situation.observed } });
  const WAITS = { rule: 'run', phase: 'Running', says: 'NotReachable' };
  table([
    [
      'scenario 119: is replaced when it was never reachable within the time of a start',
      sold({ status: reachable('False', -300) }),
      { ...destroys('sold-twice', 'SoldToOther') },
    ],
    [
      'is kept when it was reachable before',
      sold({ status: reachable('False', -60) }),
      { ...WAITS, onList: true },
    ],
    [
      'is kept within the time of a start',
      sold({ status: { ...reachable('False', -300), runningAt: time(-100) } }),
      { ...WAITS, onList: true },
    ],
    ['is kept when its offer was sold once', sold({ status: reachable('False', -300) }, false), WAITS],
    [
      'is kept when it was ready before',
      sold({ status: { ...reachable('False', -300), readyAt: time(-200) } }),
      { ...WAITS, onList: true },
    ],
    [
      'is kept when it answers now',
      sold({ status: reachable('False', -300), observed: { probe: { ready: true, detail: '' } } }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
  ]);
});

describe('a running machine', () => {
  table([
    [
      'runs from the list that first showed it, and forgets what led there',
      withMachine(
        {},
        { status: { runningAt: undefined, startRequestedAt: time(-90), progressAt: time(-90) } },
      ),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'runs since when it was first seen to',
      withMachine({}, { status: { runningAt: time(-9000) } }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is looked at when its lifetime will be over',
      withMachine({}, { spec: { maxLifetime: '10m' } }),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 300000 },
    ],
    [
      'is looked at when its money will be spent',
      withMachine({}, { spec: { maxTotalCost: '1.00' } }),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 6899997.6 },
    ],
    [
      'is not ready before its probe has answered',
      withMachine({}, { spec: { readinessProbe: { tcpSocket: { port: 8080 } } } }),
      { rule: 'run', phase: 'Running', says: 'NotReachable' },
    ],
    [
      'is not ready while its probe fails',
      withMachine(
        {},
        {
          spec: { readinessProbe: { tcpSocket: { port: 8080 } } },
          observed: { probe: { ready: false, detail: 'Port 8080 does not answer.' } },
        },
      ),
      { rule: 'run', phase: 'Running', says: 'NotReachable' },
    ],
    [
      'is ready once its probe succeeds',
      withMachine(
        {},
        {
          spec: { readinessProbe: { tcpSocket: { port: 8080 } } },
          observed: { probe: { ready: true, detail: '' } },
        },
      ),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is asked to stop again half a minute after it was, as when its fuse started it in the same seconds (C15)',
      withMachine({}, { spec: { powerState: 'Stopped' }, memory: { stopAskedAt: at(-30) } }),
      {
        rule: 'stop',
        record: 'status',
        actions: ['stop 1'],
        phase: 'Stopping',
        says: 'Stopping',
        afterMs: 30000,
      },
    ],
  ]);
});

describe('a replacement that was asked for', () => {
  table([
    [
      'is due at the very moment',
      withMachine({}, replaceAt(0)),
      destroys('replace-requested', 'ReplaceRequested'),
    ],
    [
      'is done once',
      withMachine({}, { ...replaceAt(-10), status: { replacedAt: time(-10) } }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is over for a machine that is as old as the request',
      withMachine({}, replaceAt(-300)),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'needs to know how old the machine is',
      withMachine({ startedAt: undefined }, { ...replaceAt(-10), status: { rentedAt: undefined } }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is none without a time, which is told',
      withMachine({}, { annotations: { 'gpurental.dev/replace-at': 'soon' } }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is none without a time, which is told once',
      withMachine(
        {},
        { annotations: { 'gpurental.dev/replace-at': 'soon' }, status: { replacedAt: 'soon' } },
      ),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is none without a time, which is told once of a long text',
      withMachine(
        {},
        {
          annotations: { 'gpurental.dev/replace-at': 'so'.repeat(200) },
          status: { replacedAt: 'so'.repeat(200).slice(0, 253) },
        },
      ),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is told anew of another text',
      withMachine({}, { annotations: { 'gpurental.dev/replace-at': 'now' }, status: { replacedAt: 'soon' } }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
  ]);
});

describe('a limit of an object that keeps its machine', () => {
  table([
    [
      'stops nothing where the policy is Retain',
      withMachine({}, { spec: { maxLifetime: '5m', deletionPolicy: 'Retain' } }),
      { rule: 'limit-reached', record: 'status', phase: 'Failed', says: 'stalled: LimitReached' },
    ],
    [
      'stops nothing that is stopped',
      withMachine({ state: 'stopped' }, { spec: { maxLifetime: '5m', deletionPolicy: 'Stop' } }),
      { rule: 'limit-reached', record: 'status', phase: 'Failed', says: 'stalled: LimitReached' },
    ],
    [
      'does not ask to stop again at once',
      withMachine(
        {},
        { spec: { maxLifetime: '5m', deletionPolicy: 'Stop' }, memory: { stopAskedAt: at(-29) } },
      ),
      {
        rule: 'limit-reached',
        record: 'status',
        phase: 'Failed',
        says: 'stalled: LimitReached',
        afterMs: 1000,
      },
    ],
    [
      'stops a machine that boots as well, which bills like one that runs',
      withMachine({ state: 'loading' }, { spec: { maxLifetime: '5m', deletionPolicy: 'Stop' } }),
      {
        rule: 'limit-reached',
        record: 'status',
        actions: ['stop 1'],
        phase: 'Failed',
        says: 'stalled: LimitReached',
        afterMs: 30000,
      },
    ],
    [
      'is looked at when it is reached while the machine is stopped',
      withMachine({ state: 'stopped' }, { spec: { powerState: 'Stopped', maxLifetime: '10m' } }),
      { rule: 'stopped-as-desired', phase: 'Stopped', says: 'Ready', afterMs: 300000 },
    ],
    [
      'is not reached by our own clock where the service has another time',
      withMachine({}, { spec: { maxLifetime: '12h', maxTotalCost: '9.00' }, observed: { now: at(86_400) } }),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 42900000 },
    ],
    [
      'is not judged by a clock that was set a moment ago',
      withMachine(
        {},
        {
          spec: { maxLifetime: '12h' },
          facts: { serviceTime: { type: 'stale' } },
          observed: { now: at(86_400) },
        },
      ),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 10000 },
    ],
    [
      'is reached by our own clock where the service never says what time it is',
      withMachine(
        {},
        {
          spec: { maxLifetime: '12h' },
          facts: { serviceTime: { type: 'unknown' } },
          observed: { now: at(86_400), steadyNow: at(86_400) },
        },
      ),
      destroys('limit-reached', 'LimitReached'),
    ],
    [
      'is not reached by a wall clock that jumped, when the service never says its time (H2)',
      withMachine(
        {},
        {
          spec: { maxLifetime: '12h' },
          facts: { serviceTime: { type: 'unknown' } },
          observed: { now: at(86_400) },
        },
      ),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 42900000 },
    ],
    [
      'is not reached by a time on which two complete lists do not agree yet (H2)',
      withMachine(
        {},
        {
          spec: { maxLifetime: '12h', maxTotalCost: '9.00' },
          annotations: { 'gpurental.dev/replace-at': time(3_600) },
          facts: { serviceTime: { type: 'known', at: at(86_400), isConfirmed: false } },
        },
      ),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 10_000 },
    ],
    [
      'asks to stop again after half a minute',
      withMachine(
        {},
        { spec: { maxLifetime: '5m', deletionPolicy: 'Stop' }, memory: { stopAskedAt: at(-30) } },
      ),
      {
        rule: 'limit-reached',
        record: 'status',
        actions: ['stop 1'],
        phase: 'Failed',
        says: 'stalled: LimitReached',
        afterMs: 30000,
      },
    ],
    [
      'destroys a booting machine as well',
      withMachine({ state: 'loading' }, { spec: { maxLifetime: '5m' } }),
      destroys('limit-reached', 'LimitReached'),
    ],
  ]);
});

describe('the price of a machine', () => {
  table([
    [
      'scenario 109: is judged by an alternative that the machine satisfies, whatever place it was moved to (M4)',
      withMachine(
        { pricePerHour: 520_000 },
        {
          spec: {
            offers: [{ gpuNames: ['H100 SXM'], maxPricePerHour: '0.51' }, { maxPricePerHour: '1.00' }],
            onPriceAbove: 'Replace',
          },
          status: { offerIndex: 0 },
        },
      ),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is judged by the dearest of the alternatives that the machine satisfies',
      withMachine(
        { pricePerHour: 520_000 },
        {
          spec: {
            offers: [{ maxPricePerHour: '0.51' }, { maxPricePerHour: '1.00' }],
            onPriceAbove: 'Replace',
          },
          status: { offerIndex: undefined },
        },
      ),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is above its maximum although an alternative for another GPU model allows more',
      withMachine(
        { pricePerHour: 520_000 },
        {
          spec: {
            offers: [{ gpuNames: ['H100 SXM'], maxPricePerHour: '1.00' }, { maxPricePerHour: '0.51' }],
            onPriceAbove: 'Replace',
          },
          observed: {
            offers: new Map([
              [0, { type: 'found', offers: [] }],
              [1, { type: 'found', offers: [offer()] }],
            ]),
          },
        },
      ),
      destroys('price-raised', 'PriceRaised'),
    ],
    [
      'is judged by the only alternative when no index is on record',
      withMachine(
        { pricePerHour: 520_000 },
        {
          spec: { offers: [{ maxPricePerHour: '0.51' }], onPriceAbove: 'Replace' },
          status: { offerIndex: undefined },
        },
      ),
      destroys('price-raised', 'PriceRaised'),
    ],
    [
      'is judged by the account where the object names no offers',
      adopted('x', {
        spec: { offers: undefined },
        facts: { limits: { maxPricePerHour: 490_000 } },
      }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'above the limit of the account is told and borne: that limit stops no machine that runs',
      withMachine(
        { pricePerHour: 495_000 },
        {
          spec: { offers: [{ maxPricePerHour: '1.00' }], onPriceAbove: 'Replace' },
          facts: { limits: { maxPricePerHour: 490_000 } },
        },
      ),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is judged while it boots',
      withMachine({ state: 'loading', pricePerHour: 1_100_000 }, { spec: { onPriceAbove: 'Replace' } }),
      destroys('price-raised', 'PriceRaised'),
    ],
    [
      'is not judged while it is stopped',
      withMachine(
        { state: 'stopped', pricePerHour: 1_100_000 },
        { spec: { onPriceAbove: 'Replace', powerState: 'Stopped' } },
      ),
      { rule: 'stopped-as-desired', phase: 'Stopped', says: 'Ready' },
    ],
    [
      'may be exactly the most that is allowed',
      withMachine({ pricePerHour: 1_000_000 }, { status: { offerPricePerHour: '1.00' } }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'may be five per cent over its offer',
      withMachine({ pricePerHour: 525_000 }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is not judged where it is not named',
      withMachine({ pricePerHour: undefined }, { spec: { onPriceAbove: 'Replace' } }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
  ]);
});

describe('the label of a machine that was taken over', () => {
  table([
    [
      'is put on where the list shows an empty one',
      adopted(''),
      { rule: 'label-adopted', actions: ['relabel 1'], afterMs: 0 },
    ],
    [
      'is put on again after the lag of the lists',
      adopted(null, { memory: { relabelledAt: at(-60) } }),
      { rule: 'label-adopted', actions: ['relabel 1'], afterMs: 0 },
    ],
    [
      'is not put on before what failed may be tried again',
      adopted(null, { memory: { notBefore: at(1) } }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    ['is not put over another', adopted('of a person'), { rule: 'run', phase: 'Running', says: 'Ready' }],
    [
      'is for the machine that was taken over, not for the one after it',
      adopted(null, { intent: intent({ attempt: 2 }), status: { attempt: 2 } }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is not for a machine that was rented',
      withMachine({ label: null }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is put on a machine that is stopped, too',
      withMachine(
        { label: null, state: 'stopped' },
        { spec: { adopt: { instanceId: '1' }, powerState: 'Stopped' } },
      ),
      { rule: 'label-adopted', actions: ['relabel 1'], afterMs: 0 },
    ],
  ]);
});

describe('a fuse or lease', () => {
  table([
    [
      'was set by a shorter maxLifetime than that of the spec, beside the state of a machine that works (C13)',
      withMachine(
        {},
        {
          spec: { maxLifetime: '9h', ssh: true },
          status: {
            ...{ runningAt: time(-60), firstRentedAt: time(-90) },
            selfEnd: { lifeSeconds: 4_200, proof: 'Proven' },
          },
        },
      ),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 32_310_000 },
    ],
    [
      'that was never renewed is reported beside the state of a machine that works',
      withMachine(
        {},
        {
          spec: { lease: { duration: '2h', by: 'SSH' } },
          observed: { lease: { failures: 2, detail: 'no route', hostKey: undefined } },
        },
      ),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
  ]);
});

close();
