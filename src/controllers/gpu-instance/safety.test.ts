import { describe, expect, test } from 'vitest';
import { decisionTables } from '../../../test/builders/decision-table.ts';
import { lists, OPEN_BREAKER } from '../../../test/builders/ending-machine.ts';
import {
  at,
  facts,
  type Given,
  given,
  holding,
  intent,
  machineOf,
  type ObservedParts,
  offer,
  row,
  time,
  withMachine,
} from '../../../test/builders/observed.ts';
import { outline } from '../../../test/builders/outline.ts';
import { defaultConstants } from '../../ownership/constants.ts';
import { decide } from './decide.ts';
import type { SeenPurchase } from './types.ts';

const { table, close } = decisionTables('safety');

const offers: ObservedParts = { offers: new Map([[0, { type: 'found', offers: [offer()] }]]) };
const missing = (begun: readonly number[], read?: 'absent'): ObservedParts => ({
  absences: new Map([['1', { lists: begun, read }]]),
});
const mark = { instanceId: '1', reason: 'SpecChanged' as const, answeredAt: at(-15), endedAt: at(-15) };
const three: SeenPurchase['offers'] = new Map([
  [0, { type: 'found', offers: [offer({ id: '1' }), offer({ id: '2' }), offer({ id: '3' })] }],
]);
/** Returns the machine of offer 1 and the host of offer 2, avoided until that many seconds from now. */
const failed = (seconds: number) => [
  { kind: 'Machine' as const, id: '1001', until: time(seconds) },
  { kind: 'Host' as const, id: '2002', until: time(seconds) },
];

describe('a purchase', () => {
  table([
    [
      'under a number that was refused before is settled by itself',
      {
        intent: intent({ issuedAt: at(-50) }),
        memory: { refused: { attempt: 1, issuedAt: at(-90) } },
        observed: { ...offers, listsBegun: lists(-1) },
      },
      { rule: 'await-settlement', phase: 'Renting', says: 'RentalUncertain', afterMs: 160_001, onList: true },
    ],
    [
      'waits where our clocks have parted since the service last named the time, and says so (58, H2)',
      { facts: { serviceTime: { type: 'stale' } }, observed: offers },
      {
        rule: 'purchase',
        phase: 'Pending',
        says: 'AccountNotReady',
        afterMs: 1_000,
        onList: true,
      },
    ],
  ]);

  table([
    [
      'is not made while the account is not ready, whatever was found before',
      {
        account: { state: 'notReady', reason: 'Unreachable', message: 'm', facts: facts() },
        observed: offers,
      },
      { rule: 'account-not-ready', phase: 'Pending', says: 'AccountNotReady' },
    ],
    [
      'leaves out machines and hosts that failed for this object itself',
      { status: { avoid: failed(60) }, observed: { offers: three } },
      { rule: 'purchase', record: 'intent', actions: ['rent 3 as 1'] },
    ],
    [
      'takes them again when their time on record is over',
      { status: { avoid: failed(-1) }, observed: { offers: three } },
      { rule: 'purchase', record: 'intent', actions: ['rent 1 as 1'] },
    ],
  ]);

  test('is dated by our own clock where the service names no time', () => {
    const step = decide(given({ facts: { serviceTime: { type: 'unknown' } }, observed: offers }));
    if (step.type !== 'decision' || step.record.type !== 'intent') throw new Error('no purchase');
    expect(step.record.purchase.issuedAt).toBe(at(0));
  });

  test('is dated by the service where it does', () => {
    const step = decide(
      given({
        facts: { serviceTime: { type: 'known', at: at(-3600), isConfirmed: true } },
        observed: offers,
      }),
    );
    if (step.type !== 'decision' || step.record.type !== 'intent') throw new Error('no purchase');
    expect(step.record.purchase).toMatchObject({ issuedAt: at(-3600), decidedAt: at(0) });
  });
});

describe('a machine whose destroy was answered', () => {
  table([
    [
      'is on its way out although a list shows it running (23)',
      withMachine({}, { memory: { destroys: [mark] } }),
      {
        rule: 'carry-through-destroy',
        phase: 'Replacing',
        says: 'SpecChanged, Replacing',
        afterMs: 15_000,
        onList: true,
      },
    ],
    [
      'is in the history under the reason for which it was destroyed, once it is gone',
      {
        intent: intent(),
        status: holding(),
        memory: { destroys: [mark] },
        observed: missing(lists(-12, -2), 'absent'),
      },
      {
        rule: 'carry-through-destroy',
        record: 'status',
        phase: 'Replacing',
        says: 'SpecChanged',
        settled: ['1'],
        afterMs: 0,
      },
    ],
    [
      'is not gone by one list, however close two may be',
      {
        intent: intent(),
        status: holding(),
        memory: { destroys: [mark] },
        observed: { ...missing(lists(-2), 'absent'), constants: { ...defaultConstants, goneSpacingMs: 0 } },
      },
      {
        rule: 'carry-through-destroy',
        phase: 'Replacing',
        says: 'SpecChanged, Replacing',
        afterMs: 15_000,
        onList: true,
      },
    ],
  ]);
});

describe('a machine that no list shows', () => {
  const gone: Given = {
    intent: intent({ issuedAt: at(-4000) }),
    status: holding(),
    observed: { ...missing(lists(-61, -1), 'absent'), loginProven: true },
  };
  const NOT_READY = { state: 'notReady', reason: 'KeyRejected', message: 'm', facts: facts() } as const;
  table([
    [
      'has vanished where lists, read and login agree (24)',
      gone,
      {
        rule: 'machine-missing',
        record: 'status',
        phase: 'Replacing',
        says: 'Vanished',
        settled: ['1'],
        afterMs: 0,
      },
    ],
    [
      'is missing, and has not vanished, while the breaker is open (20, 29)',
      { ...gone, facts: { breaker: OPEN_BREAKER } },
      { rule: 'machine-missing', phase: 'Lost', says: 'NotRunning', afterMs: 60_000, onList: true },
    ],
    [
      'is missing, and has not vanished, while the account is not ready (31)',
      { ...gone, account: NOT_READY },
      { rule: 'machine-missing', phase: 'Lost', says: 'NotRunning', afterMs: 60_000, onList: true },
    ],
    [
      'is not even missing then where no list has ever shown it',
      { ...gone, status: holding({ actualStatus: undefined }), account: NOT_READY },
      { rule: 'machine-missing', afterMs: 10_000, onList: true },
    ],
    [
      'is said to be missing after two lists, and nothing else is done',
      { intent: intent({ issuedAt: at(-4000) }), status: holding(), observed: missing(lists(-11, -1)) },
      { rule: 'machine-missing', phase: 'Lost', says: 'NotRunning', afterMs: 60_000, onList: true },
    ],
    [
      'is not spoken of after one',
      { intent: intent({ issuedAt: at(-4000) }), status: holding(), observed: missing(lists(-1)) },
      { rule: 'machine-missing', afterMs: 60_000, onList: true },
    ],
  ]);
});

test('a machine that this object let go of is not taken back by its label (23)', () => {
  const history = [
    {
      attempt: 1,
      instanceId: '1',
      reason: 'Exited',
      endedAt: '2026-11-20T11:59:00Z',
      rentedMinutes: 1,
      cost: '0.00',
    },
  ];
  const situation: Given = { intent: intent(), status: { attempt: 1, history }, machines: [machineOf(1)] };
  expect(outline(decide(given(situation)))).toMatchObject({ rule: 'destroy-surplus' });
});

describe('an answered rental', () => {
  const rented = {
    attempt: 1,
    instanceId: '1',
    answeredAt: at(-300),
    offer: offer(),
    offerIndex: 0,
    pricePerHour: 500_000,
    specHash: undefined,
    image: undefined,
  };
  table([
    [
      'whose result is on record is not saved again over a later one',
      withMachine({}, { memory: { rented } }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
  ]);
});

describe('an adoption', () => {
  table([
    [
      'does not begin while the object is paused',
      {
        spec: { offers: undefined, adopt: { instanceId: '1' }, paused: true },
        facts: { adoption: 'Unlabelled' },
        list: { adoptTarget: { row: row({ id: '1' }), ownership: { type: 'unlabelled' } } },
        finalizers: [],
      },
      { rule: 'paused', phase: 'Paused', says: 'Paused' },
    ],
    [
      'is refused in a namespace that the account does not allow',
      {
        spec: { offers: undefined, adopt: { instanceId: '1' } },
        facts: { permitted: false, adoption: 'Unlabelled' },
        finalizers: [],
      },
      { rule: 'refuse-adoption', phase: 'Failed', says: 'stalled: NotAllowedByAccount', afterMs: 300_000 },
    ],
  ]);
});

describe('an intent of another login', () => {
  test('is not settled by the lists of this one', () => {
    const other = intent({ login: 'https://market.example 8', issuedAt: at(-3600), deadline: at(-3570) });
    const observed = given({ intent: other, observed: { listsBegun: lists(-20, -1) } });
    expect(observed.purchase.intentOutcome.type).toBe('unknown');
  });
});

close();
