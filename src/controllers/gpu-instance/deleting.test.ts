import { describe, expect, test } from 'vitest';
import { decisionTables } from '../../../test/builders/decision-table.ts';
import { lists } from '../../../test/builders/ending-machine.ts';
import {
  at,
  type Given,
  given,
  holding,
  identity,
  intent,
  LOGIN,
  labelOf,
  listed,
  machineOf,
  type ObservedParts,
  row,
  time,
  UID,
  withMachine,
} from '../../../test/builders/observed.ts';
import type { MachineRow } from '../../market/machine.ts';
import { makeRetainedLabel } from '../../ownership/label.ts';
import { decide } from './decide.ts';
import type { AbsenceView } from './types.ts';

const { table, close } = decisionTables('deleting', { deleting: true });

const absent = (id: string, begun: readonly number[], read?: AbsenceView['read']): ObservedParts => ({
  absences: new Map([[id, { lists: begun, read }]]),
  listsBegun: begun,
});
const mark = (instanceId: string, seconds: number) => ({
  instanceId,
  reason: 'Deleting' as const,
  answeredAt: at(seconds),
  endedAt: at(seconds),
});
const goneByUs = (seconds: number, begun: readonly number[], read?: AbsenceView['read']): Given => ({
  intent: intent(),
  status: holding(),
  memory: { destroys: [mark('1', seconds)] },
  observed: absent('1', begun, read),
});
/** Returns a machine of that purchase with this start. */
function markedAsKept(attempt = 1, began: Pick<MachineRow, 'startedAt'> = { startedAt: at(-9) }) {
  const label = makeRetainedLabel(identity, { uid: UID, attempt, issuedAt: at(-5) });
  return listed(row({ id: '8', label, ...began }));
}

/** A machine that is to be kept, and that no record names. */
const keptByLabel: Given = {
  intent: intent(),
  spec: { deletionPolicy: 'Retain' },
  machines: [machineOf(1)],
};

/** Returns an object whose purchase long ago is open, and whose machine 7 an earlier list showed. */
const candidate = (observed: ObservedParts): Given => ({
  intent: intent({ issuedAt: at(-900) }),
  memory: { candidates: new Map([['7', labelOf(1)]]) },
  observed,
});

const release = { rule: 'let-go', actions: ['release'] };
const waits = { rule: 'confirm-gone', afterMs: 30_000, onList: true };

const withoutAccount: Given = { account: { state: 'missing' } };
const announced = { endpoint: '203.0.113.5:20022' };
const UNPUBLISHED: Given = { observed: { published: undefined } };

describe('the deletion of an object', () => {
  table([
    [
      'is none of our business without our guard',
      withMachine({}, { finalizers: [] }),
      { rule: 'not-guarded' },
    ],
    [
      'scenario 14: lets go at once where nothing was ever rented',
      { finalizers: ['gpurental.dev/machine'] },
      { rule: 'never-rented', actions: ['release'] },
    ],
    [
      'destroys the machine',
      withMachine(),
      { rule: 'destroy-machines', actions: ['destroy 1 (Deleting)'], afterMs: 5_000, onList: true },
    ],
    [
      'takes the address of the machine out of its Service before anything else',
      { ...withMachine({}, { status: announced, spec: { ssh: true } }), ...UNPUBLISHED },
      { publish: false },
    ],
    [
      'takes it out, too, where the machine is to be kept, or nothing can be asked',
      {
        ...withMachine({}, { status: announced, spec: { deletionPolicy: 'Retain', ssh: true } }),
        ...UNPUBLISHED,
        ...withoutAccount,
      },
      { publish: false },
    ],
    [
      'destroys the machine at once where it opens no port, so that it has no Service',
      { ...withMachine({}, { status: announced }), ...UNPUBLISHED },
      { rule: 'destroy-machines', actions: ['destroy 1 (Deleting)'], afterMs: 5_000, onList: true },
    ],
    [
      'destroys the machine at once where no Service leads to it',
      {
        ...withMachine({}, { status: announced, spec: { ssh: true, service: { enabled: false } } }),
        ...UNPUBLISHED,
      },
      { rule: 'destroy-machines', actions: ['destroy 1 (Deleting)'], afterMs: 5_000, onList: true },
    ],
    [
      'destroys the machine, too, where its address cannot be taken away',
      {
        ...withMachine({}, { status: announced }),
        observed: { published: { type: 'failed', detail: 'The operator may not delete it.' } },
      },
      { rule: 'destroy-machines', actions: ['destroy 1 (Deleting)'], afterMs: 5_000, onList: true },
    ],
    [
      'scenario 15: destroys every machine that carries its label, whatever attempt it is of',
      {
        intent: intent({ attempt: 3 }),
        status: holding({ attempt: 3 }),
        machines: [machineOf(1, { id: '5' }), machineOf(3), machineOf(4, { id: '6' })],
      },
      {
        rule: 'destroy-machines',
        actions: ['destroy 1 (Deleting)', 'destroy 5 (Deleting)', 'destroy 6 (Deleting)'],
        afterMs: 5_000,
        onList: true,
      },
    ],
    [
      'scenario 68: never destroys a machine whose label does not fit its start',
      {
        intent: intent(),
        status: holding(),
        machines: [machineOf(1), machineOf(1, { id: '8', startedAt: at(-9_000) })],
      },
      { rule: 'destroy-machines', actions: ['destroy 1 (Deleting)'], afterMs: 5_000, onList: true },
    ],
    [
      'scenario 71: never destroys what a status names that someone else wrote',
      {
        intent: intent(),
        status: { ...holding(), instanceId: '5' },
        list: { recorded: row({ id: '5' }) },
        observed: { listsBegun: lists(-1) },
      },
      release,
    ],
    [
      'waits for a list before it destroys or lets go',
      { ...withMachine(), list: 'none' },
      { rule: 'wait-for-list', afterMs: 5_000, onList: true },
    ],
    [
      'waits for an account that is gone (77)',
      { ...withMachine(), account: { state: 'missing' } },
      { rule: 'wait-for-account', phase: 'Deleting', says: 'AccountMissing' },
    ],
    [
      'does not wait for an account that is gone where no machine and no purchase was left when it went',
      { intent: intent(), status: { attempt: 1 }, ...withoutAccount },
      { rule: 'settled-before', actions: ['release'] },
    ],
    [
      'does not wait for it because of a machine that this process has rented and that has ended since',
      {
        intent: intent(),
        status: { attempt: 1 },
        memory: { rented: rented('4'), destroys: [mark('4', -600)] },
        ...withoutAccount,
      },
      { rule: 'settled-before', actions: ['release'] },
    ],
    [
      'does not wait for it because of what a former self has bought',
      { intent: intent({ uid: 'aaaa' }), ...withoutAccount },
      { rule: 'settled-before', actions: ['release'] },
    ],
    ...(
      [
        ['a purchase of unknown outcome', { intent: intent({ attempt: 2 }) }],
        ['a purchase whose record somebody took away', { memory: { intent: intent({ attempt: 2 }) } }],
        ['a machine that is still to be recorded', { memory: { rented: rented('4') } }],
        ['the id of a machine', { status: { attempt: 1, instanceId: '1' } }],
        ['the claim of a machine', { status: { attempt: 1, claim: 'abc' } }],
        ['a record that somebody changed', { observed: { intent: { type: 'tampered' } } }],
      ] satisfies readonly (readonly [string, Given])[]
    ).map(
      ([what, left]) =>
        [
          `waits for an account that is gone where there is ${what}`,
          { intent: intent(), status: { attempt: 1 }, ...left, ...withoutAccount },
          { rule: 'wait-for-account', phase: 'Deleting', says: 'AccountMissing' },
        ] as const,
    ),
    [
      'scenario 15: waits out the outcome of a rental in flight',
      { intent: intent({ issuedAt: at(-10) }), observed: { listsBegun: lists(-1) } },
      { rule: 'settle-first', phase: 'Deleting', says: 'RentalUncertain', afterMs: 200_001, onList: true },
    ],
    [
      'destroys a machine that a rental in flight has made, before anything else, when the marketplace drops labels',
      {
        intent: intent({ issuedAt: at(-10) }),
        machines: [machineOf(1, { startedAt: at(-9), label: undefined as never })],
        observed: { listsBegun: lists(-1) },
        memory: { rented: rented('4') },
        facts: { labelEcho: 'notEchoed' },
      },
      { rule: 'destroy-machines', actions: ['destroy 4 (Deleting)'], afterMs: 5_000, onList: true },
    ],
    [
      'waits for a list that shows the label of a machine that a rental in flight has made (A8)',
      {
        intent: intent({ issuedAt: at(-10) }),
        machines: [listed(row({ id: '4', label: 'mine', startedAt: at(-9) }))],
        observed: { listsBegun: lists(-1) },
        memory: { rented: rented('4') },
      },
      { rule: 'settle-first', phase: 'Deleting', says: 'RentalUncertain', afterMs: 200_001, onList: true },
    ],
    [
      'destroys a machine of a purchase that nobody recorded, which was marked as kept before a person wanted it to go',
      { intent: intent({ issuedAt: at(-10) }), machines: [markedAsKept()] },
      { rule: 'destroy-machines', actions: ['destroy 8 (Deleting)'], afterMs: 5_000, onList: true },
    ],
    ...(
      [
        ['that is to be kept', { spec: { deletionPolicy: 'Retain' }, machines: [markedAsKept()] }],
        ['of another purchase', { machines: [markedAsKept(2)] }],
        ['that began at another time', { machines: [markedAsKept(1, { startedAt: at(-900) })] }],
        ['that tells no start', { machines: [markedAsKept(1, { startedAt: undefined })] }],
      ] satisfies readonly (readonly [string, Given])[]
    ).map(
      ([which, situation]) =>
        [
          `leaves a machine alone that is marked as kept, ${which}`,
          { intent: intent({ issuedAt: at(-10) }), ...situation },
          {
            rule: 'settle-first',
            phase: 'Deleting',
            says: 'RentalUncertain',
            afterMs: 200_001,
            onList: true,
          },
        ] as const,
    ),
    [
      'proves a machine gone that a rental in flight has made and that it has destroyed, however late the lists are',
      {
        intent: intent({ issuedAt: at(-90) }),
        memory: { rented: rented('4'), destroys: [mark('4', -80)] },
        observed: absent('4', lists(-5)),
      },
      { rule: 'confirm-gone', afterMs: 5_000 },
    ],
    [
      'destroys such a machine again that a late list shows',
      {
        intent: intent({ issuedAt: at(-90) }),
        list: { ids: ['4'] },
        memory: { rented: rented('4'), destroys: [mark('4', -80)] },
        observed: { listsBegun: lists(-5) },
      },
      { rule: 'destroy-machines', actions: ['destroy 4 (Deleting)'], afterMs: 5_000, onList: true },
    ],
    [
      'reads a machine that only its label assigns to the object before it keeps it',
      {
        ...keptByLabel,
        observed: { labelReads: new Map(), confirmed: undefined },
      },
      { reads: [{ type: 'confirmLabel', instanceId: '1' }] },
    ],
    [
      'leaves a kept machine alone if a read shows another label',
      {
        ...keptByLabel,
        observed: { labelReads: new Map([['1', row({ label: 'mine' })]]) },
      },
      { rule: 'confirm-label', phase: 'Deleting', says: 'RentalUncertain', afterMs: 30_000, onList: true },
    ],
    [
      'keeps a machine if lists and a read agree on its label',
      keptByLabel,
      { rule: 'keep-machine', actions: ['retain 1 (Retain)', 'release'] },
    ],
    [
      'does not release an object by one list that lacks the machine of the list before',
      candidate({ ...absent('7', lists(-11)), listsBegun: lists(-300, -200, -11) }),
      { rule: 'confirm-candidates', afterMs: 30_000, onList: true },
    ],
    [
      'reads a machine that lists have lacked for longer than they lag',
      candidate(absent('7', lists(-300, -200, -11))),
      { reads: [{ type: 'machine', instanceId: '7' }] },
    ],
    [
      'waits for the login proof if such a read finds no machine',
      candidate(absent('7', lists(-300, -200, -11), 'absent')),
      { reads: [{ type: 'loginProof' }] },
    ],
    [
      'keeps the object if a read finds a machine that lists lack',
      candidate(absent('7', lists(-300, -200, -11), 'present')),
      { rule: 'confirm-candidates', afterMs: 30_000, onList: true },
    ],
    [
      'reads a machine that lists show with another label',
      candidate({ listsBegun: lists(-300, -200, -11) }),
      { reads: [{ type: 'confirmLabel', instanceId: '7' }] },
    ],
    [
      'keeps the object if a read shows its label on a machine that lists show with another one',
      candidate({
        listsBegun: lists(-300, -200, -11),
        labelReads: new Map([['7', row({ id: '7', label: labelOf(1) })]]),
      }),
      { rule: 'confirm-candidates', afterMs: 30_000, onList: true },
    ],
    [
      'keeps the object if that read fails',
      candidate({ listsBegun: lists(-300, -200, -11), labelReads: new Map([['7', 'failed']]) }),
      { rule: 'confirm-candidates', afterMs: 30_000, onList: true },
    ],
    [
      'releases the object if lists and a read show that the machine has another label',
      candidate({
        listsBegun: lists(-300, -200, -11),
        labelReads: new Map([['7', row({ id: '7', label: 'mine' })]]),
      }),
      release,
    ],
    [
      'scenario 68: waits out the longest rental where the intent was changed',
      { intent: '{"v":1}', observed: { listsBegun: lists(-1) } },
      { rule: 'settle-first', phase: 'Deleting', says: 'RentalUncertain', afterMs: 209_001, onList: true },
    ],
    [
      'scenario 76: keeps its hands off an intent of another version',
      { intent: '{"v":9}' },
      { rule: 'record-unusable', phase: 'Deleting', says: 'stalled: RecordUnreadable' },
    ],
    [
      'scenario 32: destroys nothing with a key of another login',
      withMachine({}, { facts: { login: { ...LOGIN, userId: '8' } } }),
      { rule: 'record-unusable', phase: 'Deleting', says: 'stalled: LoginChanged' },
    ],
    [
      'waits after a destroy that failed',
      withMachine({}, { memory: { destroyNotBefore: at(20), destroyFailures: 1 } }),
      { rule: 'destroy-machines', afterMs: 20_000 },
    ],
    [
      'scenario 16: says what a destroy costs that keeps failing',
      withMachine({}, { memory: { destroyNotBefore: at(20), destroyFailures: 3 } }),
      { rule: 'destroy-machines', phase: 'Deleting', says: 'DestroyFailing', afterMs: 20_000 },
    ],
    [
      'says which key is missing when the account of the machine has none that may destroy (H3)',
      withMachine(
        {},
        { facts: { mayDestroy: false }, memory: { destroyNotBefore: at(20), destroyFailures: 3 } },
      ),
      { rule: 'destroy-machines', phase: 'Deleting', says: 'DestroyFailing', afterMs: 20_000 },
    ],
    [
      'says one fixed sentence in a namespace that may not use the account (M6)',
      {
        ...withMachine(),
        account: {
          state: 'notReady',
          outsider: 'refused',
          reason: 'NotAllowedByAccount',
          message: 'x',
          facts: undefined,
        },
      },
      { rule: 'wait-for-account', phase: 'Deleting', says: 'stalled: NotAllowedByAccount' },
    ],
    [
      'says the same when there is no such account (M6)',
      { ...withMachine(), account: { state: 'missing', outsider: 'refused' } },
      { rule: 'wait-for-account', phase: 'Deleting', says: 'stalled: NotAllowedByAccount' },
    ],
  ]);
});

describe('the record of destroyed machines that an object leaves to its account', () => {
  const past = { attempt: 1, reason: 'SpecChanged', endedAt: time(-900), rentedMinutes: 5, cost: '0.01' };
  const leftBy = (situation: Given) => {
    const step = decide(given({ deleting: true, intent: intent(), ...situation }));
    const actions = step.type === 'decision' ? step.actions : [];
    return actions.flatMap((action) => (action.type === 'release' ? [action.destroyed] : []));
  };
  const history = [
    { ...past, instanceId: '7' },
    { ...past, instanceId: '8', reason: 'Vanished', provenGoneAt: time(-800) },
  ];

  test('names the machine whose destroy was answered', () => {
    expect(leftBy(goneByUs(-15, lists(-12, -2), 'absent'))).toEqual([['1']]);
  });

  test('names it when another process destroyed it', () => {
    const observed = { ...absent('1', lists(-61, -1), 'absent'), loginProven: true };
    expect(leftBy({ intent: intent({ issuedAt: at(-4000) }), status: holding(), observed })).toEqual([['1']]);
  });

  test('names earlier machines, except those that vanished', () => {
    const status = { ...holding(), history };
    expect(leftBy({ ...goneByUs(-15, lists(-12, -2), 'absent'), status })).toEqual([['7', '1']]);
  });

  test('leaves out a machine that the deletion policy keeps', () => {
    const kept = withMachine({}, { spec: { deletionPolicy: 'Retain' } });
    const status = { ...holding(), history };
    expect(leftBy({ ...kept, status })).toEqual([['7']]);
  });
});

describe('the proof that a machine is gone, after our own destroy', () => {
  table([
    ['is not the answer to the destroy', goneByUs(-1, []), { ...waits }],
    [
      'is not one list: no other is looked at for 10 s',
      goneByUs(-15, lists(-4)),
      { rule: 'confirm-gone', afterMs: 6_000 },
    ],
    [
      'waits a second for a list that another object requests',
      goneByUs(-15, lists(-10.5)),
      { rule: 'confirm-gone', afterMs: 500, onList: true },
    ],
    [
      'requests a list when no other object has by then',
      goneByUs(-15, lists(-12)),
      { ...waits, asksForList: true },
    ],
    ['is not one list and the read', goneByUs(-15, lists(-12), 'absent'), { ...waits, asksForList: true }],
    [
      'is not two lists too close together (10 s)',
      goneByUs(-15, lists(-12, -3), 'absent'),
      { ...waits, asksForList: true },
    ],
    [
      'does not count a list that began before the answer',
      goneByUs(-12, lists(-12, -2), 'absent'),
      { rule: 'confirm-gone', afterMs: 8_000 },
    ],
    [
      'asks for the machine itself when two lists agree',
      goneByUs(-15, lists(-12, -2)),
      { reads: [{ type: 'machine', instanceId: '1' }] },
    ],
    [
      'scenario 20: is not there while the machine itself is',
      goneByUs(-15, lists(-12, -2), 'present'),
      waits,
    ],
    ['is not there while the machine itself cannot be asked', goneByUs(-15, lists(-12, -2), 'failed'), waits],
    ['is two lists far enough apart and the read together', goneByUs(-15, lists(-12, -2), 'absent'), release],
    [
      'scenario 17: waits while a list still shows it, and asks again for its end after half the lag',
      { ...goneByUs(-32, []), machines: [machineOf(1)] },
      { rule: 'destroy-machines', actions: ['destroy 1 (Deleting)'], afterMs: 5_000, onList: true },
    ],
    [
      'scenario 23: waits within half the lag while a list still shows it',
      { ...goneByUs(-20, []), machines: [machineOf(1)] },
      waits,
    ],
  ]);
});

describe('the proof that a machine is gone, without our own destroy', () => {
  const gone = (begun: readonly number[], read?: AbsenceView['read'], loginProven?: boolean): Given => ({
    intent: intent({ issuedAt: at(-4000) }),
    status: holding(),
    observed: { ...absent('1', begun, read), loginProven },
  });
  table([
    ['needs lists as far apart as lists may lag', gone(lists(-60, -1), 'absent', true), waits],
    [
      'asks for the machine itself first',
      gone(lists(-61, -1)),
      { reads: [{ type: 'machine', instanceId: '1' }] },
    ],
    [
      'scenario 19: then asks whether the key is still the one of the login',
      gone(lists(-61, -1), 'absent'),
      { reads: [{ type: 'loginProof' }] },
    ],
    [
      'scenario 19: is not there with a key that proves nothing',
      gone(lists(-61, -1), 'absent', false),
      waits,
    ],
    ['is lists, read and login together', gone(lists(-61, -1), 'absent', true), release],
    [
      'scenario 22: does not count lists in which a new machine need not be seen yet',
      {
        intent: intent({ issuedAt: at(-100) }),
        status: holding(),
        observed: { ...absent('1', lists(-90, -9, -1), 'absent'), loginProven: true },
      },
      waits,
    ],
  ]);
});

describe('a deletion that keeps the machine', () => {
  const retain = { deletionPolicy: 'Retain' } as const;
  const stop = { deletionPolicy: 'Stop' } as const;
  const KEYLESS = { state: 'notReady', reason: 'KeyRejected', message: 'm', facts: undefined } as const;
  table([
    [
      'says so on the machine and lets go',
      withMachine({}, { spec: retain }),
      { rule: 'keep-machine', actions: ['retain 1 (Retain)', 'release'] },
    ],
    [
      'needs no key with Retain: the way out when a key is gone for ever',
      withMachine({}, { spec: retain, account: KEYLESS, memory: { firstSeenAt: at(-60) } }),
      { rule: 'give-up-machine', actions: ['retain 1 (Retain)', 'release'] },
    ],
    [
      'says that a purchase may have made a machine, where none is on record and nothing can be asked',
      {
        intent: intent(),
        spec: retain,
        account: KEYLESS,
        memory: { firstSeenAt: at(-60) },
      },
      { rule: 'give-up-machine', actions: ['release'] },
    ],
    [
      'gives nothing up in its first minute: no process has a proved key when it starts',
      withMachine({}, { spec: retain, account: KEYLESS, memory: { firstSeenAt: at(-59) } }),
      { rule: 'give-up-machine', phase: 'Deleting', says: 'AccountNotReady', afterMs: 1_000 },
    ],
    [
      'does not take an account for gone in its first minute, either',
      withMachine({}, { spec: retain, account: { state: 'missing' }, memory: { firstSeenAt: at(0) } }),
      { rule: 'give-up-machine', phase: 'Deleting', says: 'AccountMissing', afterMs: 60_000 },
    ],
    [
      'never gives one up because the account is in a namespace that is not watched, and says that',
      withMachine(
        {},
        {
          spec: retain,
          account: { state: 'missing', isUnwatched: true },
          memory: { firstSeenAt: at(-600) },
        },
      ),
      { rule: 'give-up-machine', phase: 'Deleting', says: 'AccountMissing' },
    ],
    [
      'stops it first with Stop',
      withMachine({}, { spec: stop }),
      {
        rule: 'stop-machine',
        record: 'status',
        actions: ['stop 1'],
        phase: 'Deleting',
        says: 'Stopping',
        afterMs: 30_000,
        onList: true,
      },
    ],
    [
      'does not ask to stop it again at once',
      withMachine({}, { spec: stop, memory: { stopAskedAt: at(-10) } }),
      { rule: 'stop-machine', phase: 'Deleting', says: 'Stopping', afterMs: 20_000, onList: true },
    ],
    [
      'lets go of it once it is stopped',
      withMachine({ state: 'stopped' }, { spec: stop }),
      { rule: 'keep-machine', actions: ['retain 1 (Stop)', 'release'] },
    ],
    [
      'waits for a start that was sent before, and that may still be carried out',
      withMachine({ state: 'stopped' }, { spec: stop, memory: { startSentAt: at(-149) } }),
      { rule: 'keep-machine', phase: 'Deleting', says: 'Stopping', afterMs: 1_001 },
    ],
    [
      'waits for a list that was begun after that time',
      withMachine({ state: 'stopped' }, { spec: stop, memory: { startSentAt: at(-151) } }),
      { rule: 'keep-machine', phase: 'Deleting', says: 'Stopping', afterMs: 30_000, onList: true },
    ],
    [
      'lets go of it by a list that was begun after that time',
      withMachine({ state: 'stopped' }, { spec: stop, memory: { startSentAt: at(-152) } }),
      { rule: 'keep-machine', actions: ['retain 1 (Stop)', 'release'] },
    ],
    [
      'waits for a start of a process before this one, which may have asked the stopped machine',
      withMachine(
        { state: 'stopped' },
        {
          spec: stop,
          status: { actualStatus: 'stopped' },
          memory: { firstSeenAt: at(-100), foundMachine: '1' },
        },
      ),
      { rule: 'keep-machine', phase: 'Deleting', says: 'Stopping', afterMs: 50_001 },
    ],
    [
      'waits for no start of a process before this one if the machine has run for long',
      withMachine(
        { state: 'stopped' },
        {
          spec: stop,
          status: { actualStatus: 'running', actualStatusSince: time(-3_600) },
          memory: { firstSeenAt: at(-100), foundMachine: '1' },
        },
      ),
      { rule: 'keep-machine', actions: ['retain 1 (Stop)', 'release'] },
    ],
    [
      'waits for no start of a process before this one, which rented the machine',
      withMachine(
        { state: 'stopped' },
        { spec: stop, status: { actualStatus: 'stopped' }, memory: { firstSeenAt: at(-100) } },
      ),
      { rule: 'keep-machine', actions: ['retain 1 (Stop)', 'release'] },
    ],
    [
      'waits for no start with Retain',
      withMachine({}, { spec: retain, memory: { startSentAt: at(-1) } }),
      { rule: 'keep-machine', actions: ['retain 1 (Retain)', 'release'] },
    ],
    [
      'asks to stop it again when a read finds no machine while lists show it stopped',
      withMachine(
        { state: 'stopped' },
        { spec: stop, observed: { confirmed: { instanceId: '1', read: 'absent' } } },
      ),
      {
        rule: 'stop-machine',
        record: 'status',
        actions: ['stop 1'],
        phase: 'Deleting',
        says: 'Stopping',
        afterMs: 30_000,
        onList: true,
      },
    ],
    [
      'still destroys a second machine that nobody asked for',
      {
        intent: intent(),
        status: holding(),
        spec: retain,
        machines: [machineOf(1), machineOf(2, { id: '7' })],
      },
      { rule: 'destroy-machines', actions: ['destroy 7 (Deleting)'], afterMs: 5_000, onList: true },
    ],
    [
      'destroys that one also while no list shows the machine that is to be kept',
      { intent: intent(), status: holding(), spec: retain, machines: [machineOf(1, { id: '7' })] },
      { rule: 'destroy-machines', actions: ['destroy 7 (Deleting)'], afterMs: 5_000, onList: true },
    ],
    [
      'keeps one whose container ended once the service has taken note that it is to stop',
      withMachine({ state: 'exited', intendedPower: 'stopped' }, { spec: stop }),
      { rule: 'keep-machine', actions: ['retain 1 (Stop)', 'release'] },
    ],
    [
      'keeps one that reads exited after its stop was answered, of a service that shows no intended status (D8)',
      withMachine(
        { state: 'exited', intendedPower: undefined },
        { spec: stop, memory: { stopAskedAt: at(-5) } },
      ),
      { rule: 'keep-machine', actions: ['retain 1 (Stop)', 'release'] },
    ],
    [
      'asks one that reads exited to stop first, of a service that shows no intended status (D8)',
      withMachine({ state: 'exited', intendedPower: undefined }, { spec: stop }),
      {
        rule: 'stop-machine',
        record: 'status',
        actions: ['stop 1'],
        phase: 'Deleting',
        says: 'Stopping',
        afterMs: 30_000,
        onList: true,
      },
    ],
    [
      'asks one whose container ended to stop',
      withMachine({ state: 'exited' }, { spec: stop }),
      {
        rule: 'stop-machine',
        record: 'status',
        actions: ['stop 1'],
        phase: 'Deleting',
        says: 'Stopping',
        afterMs: 30_000,
        onList: true,
      },
    ],
    [
      'keeps one whose destroy was answered and ignored, once a person wants it kept',
      withMachine({}, { spec: retain, memory: { destroys: [destroyed('1', -300)] } }),
      { rule: 'keep-machine', actions: ['retain 1 (Retain)', 'release'] },
    ],
    [
      'stops and keeps the one of the newest purchase where the record was taken away',
      { intent: intent(), spec: stop, machines: [machineOf(1)] },
      {
        rule: 'stop-machine',
        record: 'status',
        actions: ['stop 1'],
        phase: 'Deleting',
        says: 'Stopping',
        afterMs: 30_000,
        onList: true,
      },
    ],
    [
      'says on that one that it is kept, and destroys the others',
      { intent: intent({ attempt: 2 }), spec: retain, machines: [machineOf(1), machineOf(2, { id: '7' })] },
      { rule: 'destroy-machines', actions: ['destroy 1 (Deleting)'], afterMs: 5_000, onList: true },
    ],
    [
      'lets go of that one with its label where a person wrote another into the status',
      {
        intent: intent(),
        status: { attempt: 1, instanceId: '9' },
        spec: retain,
        machines: [machineOf(1), listed(row({ id: '9', label: null }))],
      },
      { rule: 'keep-machine', actions: ['retain 1 (Retain)', 'release'] },
    ],
    [
      'leaves alone what it only watched',
      withMachine({}, { spec: { adopt: { instanceId: '1', policy: 'Observe' } } }),
      { rule: 'observed-only', actions: ['release'] },
    ],
  ]);
});

function destroyed(instanceId: string, seconds: number) {
  return { instanceId, reason: 'SpecChanged', answeredAt: at(seconds), endedAt: at(seconds) } as const;
}

function rented(instanceId: string) {
  return {
    attempt: 1,
    instanceId,
    answeredAt: at(-5),
    offer: undefined,
    offerIndex: undefined,
    pricePerHour: undefined,
    specHash: undefined,
    image: undefined,
  };
}

test('what a deletion released says what all machines cost', () => {
  const step = decide(given({ deleting: true, ...goneByUs(-15, lists(-12, -2), 'absent') }));
  if (step.type !== 'decision') throw new Error('no decision');
  // 285 s at $0.50/h, rented at -300 s and ended at -15 s.
  expect(step.actions[0]).toMatchObject({ note: { note: expect.stringContaining('$0.039583') } });
  expect(time(-15)).toBeTruthy();
});

close();
