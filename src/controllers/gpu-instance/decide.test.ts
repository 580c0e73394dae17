import { describe, expect, test } from 'vitest';
import { decisionTables } from '../../../test/builders/decision-table.ts';
import { lists, OPEN_BREAKER, OUTDATED } from '../../../test/builders/ending-machine.ts';
import {
  at,
  facts,
  type Given,
  given,
  holding,
  intent,
  labelOf,
  machineOf,
  NOW,
  type ObservedParts,
  offer,
  readyCondition,
  row,
  time,
  withMachine,
} from '../../../test/builders/observed.ts';
import type { QueuePosition } from '../../accounts/queue/admission-queue.ts';
import { decide } from './decide.ts';
import type { Observed } from './types.ts';

const { table, close } = decisionTables('decide');

const offers = (...found: Parameters<typeof offer>[0][]): Pick<Given, 'observed'> => ({
  observed: { offers: new Map([[0, { type: 'found', offers: found.map((each) => offer(each)) }]]) },
});
const place = (change: Partial<QueuePosition> = {}): QueuePosition => ({
  ...{ for: 'rental', ahead: 12, expectedMs: 54_000, waitedMs: 3_000, isSerial: false },
  ...change,
});
const notReady: Observed['account'] = {
  state: 'notReady',
  reason: 'Unreachable',
  message: 'no',
  facts: undefined,
};
const missing = (
  id: string,
  begun: readonly number[],
  read?: 'absent' | 'present' | 'failed',
): ObservedParts => ({
  absences: new Map([[id, { lists: begun, read }]]),
});

describe('an object without a machine', () => {
  table([
    [
      'asks for offers before it decides anything',
      {},
      {
        reads: [
          {
            type: 'offers',
            index: 0,
            scope: 'shared',
            queries: [expect.objectContaining({ pricing: 'on-demand' })],
          },
        ],
      },
    ],
    [
      'says that it waits when its search is queued',
      { observed: { offers: new Map([[0, { type: 'queued', place: place() }]]) } },
      { rule: 'purchase', phase: 'Pending', says: 'Queued', afterMs: 13_500 },
    ],
    [
      'looks at nothing while it waits in the queue, and says so over an older reason (F2)',
      { observed: { place: place() }, status: { conditions: [readyCondition('AccountNotReady')] } },
      { rule: 'purchase', phase: 'Pending', says: 'Queued', afterMs: 13_500 },
    ],
    [
      'says nothing of a wait of a moment',
      { observed: { place: place({ expectedMs: 500, waitedMs: 0 }) } },
      { rule: 'purchase', afterMs: 3_000 },
    ],
    [
      'rents the cheapest offer, of two equal ones the one with the lower id',
      offers(
        { id: '9', pricePerHour: 300_000 },
        { id: '8', pricePerHour: 300_000 },
        { id: '1', pricePerHour: 400_000 },
      ),
      { rule: 'purchase', record: 'intent', actions: ['rent 8 as 1'] },
    ],
    [
      'leaves out what others are about to rent and what failed lately',
      {
        ...offers(
          { id: '1' },
          { id: '2' },
          { id: '3', hostId: '77' },
          { id: '4', machineId: '88' },
          { id: '5' },
        ),
        facts: {
          reserved: new Set(['1']),
          avoided: { offers: new Set(['2']), machines: new Set(['88']), hosts: new Set(['77']) },
        },
      },
      { rule: 'purchase', record: 'intent', actions: ['rent 5 as 1'] },
    ],
    [
      'waits for a complete list, since a machine of it may exist already',
      { ...offers({}), list: 'none' },
      { rule: 'wait-for-list', afterMs: 5_000, onList: true },
    ],
    [
      'rents nothing while it should be stopped',
      { ...offers({}), spec: { powerState: 'Stopped' } },
      { rule: 'stopped-and-unrented', phase: 'Stopped', says: 'Ready' },
    ],
    [
      'rents nothing while it is paused',
      { ...offers({}), spec: { paused: true } },
      { rule: 'paused', phase: 'Paused', says: 'Paused' },
    ],
    [
      'rents nothing for a namespace that the account does not allow',
      { ...offers({}), facts: { permitted: false } },
      { rule: 'namespace-not-allowed', phase: 'Pending', says: 'stalled: NotAllowedByAccount' },
    ],
    [
      'says that its namespace is not allowed before it says what is wrong with the account (M6)',
      {
        ...offers({}),
        intent: intent({ issuedAt: at(-3600) }),
        status: { attempt: 1 },
        account: { ...notReady, facts: facts({ permitted: false }) },
      },
      { rule: 'namespace-not-allowed', phase: 'Pending', says: 'stalled: NotAllowedByAccount' },
    ],
    [
      'says nothing while it is being found out whether its namespace is allowed (M6)',
      { ...offers({}), account: { state: 'missing', outsider: 'undecided' } },
      { rule: 'ask-permission', afterMs: 5000 },
    ],
    [
      'rents nothing while its account is not ready',
      { ...offers({}), account: notReady },
      { rule: 'wait-for-account', phase: 'Pending', says: 'AccountNotReady' },
    ],
    [
      'rents nothing without a price limit of its own or of the account',
      { ...offers({}), spec: { offers: [{}] } },
      { rule: 'preflight', phase: 'Pending', says: 'stalled: InvalidSpec' },
    ],
    [
      'takes the limit of the account where it has none',
      { ...offers({}), spec: { offers: [{}] }, facts: { limits: { maxPricePerHour: 600_000 } } },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 1'] },
    ],
    [
      'waits for an SSH key where SSH is wanted',
      { ...offers({}), spec: { ssh: true }, facts: { sshKeyRegistered: false } },
      { rule: 'preflight', phase: 'Pending', says: 'InputMissing', afterMs: 60_000 },
    ],
    [
      'scenario 30: waits an hour after the oldest of as many rentals as an hour may have',
      {
        ...offers({}),
        spec: { replacement: { maxPerHour: 2 } },
        intent: intent({ attempt: 2 }),
        status: { attempt: 2, rentals: [time(-4000), time(-1800), time(-60)] },
      },
      { rule: 'too-many-rentals', phase: 'Pending', says: 'AtLimit', afterMs: 1_800_000 },
    ],
    [
      'does not buy while one with its label is listed that says not when it began',
      {
        ...offers({}),
        intent: intent({ attempt: 2 }),
        status: { attempt: 2 },
        machines: [machineOf(1, { startedAt: undefined })],
      },
      { rule: 'old-machine-listed', phase: 'Pending', says: 'OldMachineNotGone', onList: true },
    ],
    [
      'does not buy while a machine with its label is still listed',
      {
        ...offers({}),
        intent: intent(),
        status: { attempt: 1, history: [past('1')] },
        machines: [machineOf(1)],
        memory: { destroys: [{ instanceId: '1', reason: 'Exited', answeredAt: at(-5), endedAt: at(-5) }] },
      },
      { rule: 'old-machine-listed', phase: 'Pending', says: 'OldMachineNotGone', onList: true },
    ],
    [
      'destroys a machine again that it gave up, and that is listed again',
      { spec: { paused: true }, status: { attempt: 1, history: [past('1')] }, machines: [machineOf(1)] },
      { rule: 'destroy-surplus', actions: ['destroy 1 (Deleting)'], afterMs: 0 },
    ],
    [
      'buys the next one as a new purchase after the last came to nothing',
      { ...offers({}), intent: intent(), memory: { refused: intent() } },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 2'] },
    ],
    [
      'searches wide to say why nothing matched, and closes the purchase that came to nothing',
      { ...offers(), intent: intent(), memory: { refused: intent() } },
      {
        reads: [
          { type: 'offers', index: 0, scope: 'broad', queries: [expect.objectContaining({ limit: 2000 })] },
        ],
      },
    ],
    [
      'says nothing is left where what matches is avoided, and looks again later',
      {
        facts: { reserved: new Set(['100']) },
        observed: {
          offers: new Map([[0, { type: 'found', offers: [offer({})] }]]),
          broadOffers: { type: 'found', offers: [offer({})] },
        },
      },
      { rule: 'purchase', phase: 'Pending', says: 'NoOffers', afterMs: 5_000 },
    ],
    [
      'does not buy another after someone else destroyed the machine and onVanish is Hold',
      {
        ...offers({}),
        spec: { onVanish: 'Hold' },
        intent: intent(),
        status: { attempt: 1, history: [past('1', 'Vanished')] },
      },
      { rule: 'ended-for-good', phase: 'Lost', says: 'stalled: VanishedHeld' },
    ],
    [
      'does not buy another after the machine ended itself and onVanish is Hold (C12)',
      {
        ...offers({}),
        spec: { onVanish: 'Hold' },
        intent: intent(),
        status: { attempt: 1, history: [past('1', 'EndedItself')] },
      },
      { rule: 'ended-for-good', phase: 'Lost', says: 'stalled: VanishedHeld' },
    ],
    [
      'does not buy another after the machine ended itself and maxLifetime is over (C12)',
      {
        ...offers({}),
        spec: { maxLifetime: '1h' },
        intent: intent(),
        status: { attempt: 1, firstRentedAt: time(-7_200), history: [past('1', 'EndedItself')] },
      },
      { rule: 'limit-reached', phase: 'Failed', says: 'stalled: LimitReached', afterMs: 600_000 },
    ],
    [
      'says then that the machine is still there where it is listed again',
      {
        ...offers({}),
        spec: { onVanish: 'Hold' },
        intent: intent(),
        status: { attempt: 1, history: [past('1', 'Vanished')] },
        machines: [machineOf(1)],
      },
      { rule: 'old-machine-listed', phase: 'Pending', says: 'OldMachineNotGone', onList: true },
    ],
    [
      'does not replace a lost machine where the policy is Never',
      {
        ...offers({}),
        spec: { replacement: { policy: 'Never' } },
        intent: intent(),
        status: { attempt: 1, history: [past('1', 'Exited')] },
      },
      { rule: 'ended-for-good', phase: 'Lost', says: 'stalled: ReplacementOff' },
    ],
    [
      'replaces a machine that was given up for a new spec although the policy is Never',
      {
        ...offers({}),
        spec: { replacement: { policy: 'Never' } },
        intent: intent(),
        status: { attempt: 1, history: [past('1', 'SpecChanged')] },
      },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 2'] },
    ],
    [
      'says what a refusal was about, and waits',
      {
        ...offers({}),
        memory: { refusal: { reason: 'InsufficientCredit', detail: 'no' }, notBefore: NOW + 9_000 },
      },
      { rule: 'backing-off', phase: 'Pending', says: 'InsufficientCredit', afterMs: 9_000 },
    ],
    [
      'rents nothing after its lifetime is over',
      { ...offers({}), spec: { maxLifetime: '1h' }, status: { firstRentedAt: time(-3600) } },
      { rule: 'limit-reached', phase: 'Failed', says: 'stalled: LimitReached', afterMs: 600_000 },
    ],
    [
      'rents nothing after its money is spent',
      { ...offers({}), spec: { maxTotalCost: '2' }, status: { cost: { accrued: '2.00' } } },
      { rule: 'limit-reached', phase: 'Failed', says: 'stalled: LimitReached', afterMs: 600_000 },
    ],
  ]);

  test.each(['notEchoed', 'unknown'] as const)(
    'takes the intent and its label from the same moment and puts the known ids down only where labels may not come back: %s',
    (labelEcho) => {
      const step = decide(given({ ...offers({}), facts: { labelEcho }, list: { ids: ['4', '5'] } }));
      if (step.type !== 'decision' || step.record.type !== 'intent') throw new Error('no purchase');
      expect(step.record.purchase).toMatchObject({
        attempt: 1,
        issuedAt: NOW,
        knownIds: ['4', '5'],
        pricePerHour: 500_000,
      });
      expect(step.record.purchase.request).toMatchObject({
        label: labelOf(1, NOW),
        diskGB: 10,
      });
      const echoed = decide(given(offers({})));
      if (echoed.type !== 'decision' || echoed.record.type !== 'intent') throw new Error('no purchase');
      expect(echoed.record.purchase.knownIds).toBeUndefined();
    },
  );
});

describe('a rental whose answer is missing', () => {
  const open = intent({ attempt: 1, issuedAt: at(-100) });
  const settles = (100 - 30 - 180) * -1000 + 1;
  table([
    [
      'scenarios 2 and 5: rents nothing before a list that began after the last possible moment',
      { ...offers({}), intent: open, observed: { ...offers({}).observed, listsBegun: lists(-90, -1) } },
      { rule: 'await-settlement', phase: 'Renting', says: 'RentalUncertain', afterMs: settles, onList: true },
    ],
    [
      'is not settled by a list that began exactly at the last possible moment',
      {
        intent: intent({ issuedAt: at(-211) }),
        observed: { ...offers({}).observed, listsBegun: lists(-1) },
      },
      { rule: 'await-settlement', phase: 'Renting', says: 'RentalUncertain', afterMs: 1_000, onList: true },
    ],
    [
      'rents nothing while one list alone that began later shows nothing',
      {
        intent: intent({ issuedAt: at(-222) }),
        observed: { ...offers({}).observed, listsBegun: lists(-70, -10) },
      },
      { rule: 'await-settlement', phase: 'Renting', says: 'RentalUncertain', afterMs: 1_000, onList: true },
    ],
    [
      'rents nothing while two such lists began less than a poll apart',
      {
        intent: intent({ issuedAt: at(-222) }),
        observed: { ...offers({}).observed, listsBegun: lists(-61, -10, -1) },
      },
      { rule: 'await-settlement', phase: 'Renting', says: 'RentalUncertain', afterMs: 1_000, onList: true },
    ],
    [
      'rents the next one after two lists that began later show nothing',
      {
        intent: intent({ issuedAt: at(-222) }),
        observed: { ...offers({}).observed, listsBegun: lists(-61, -11, -1) },
      },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 2'] },
    ],
    [
      'scenario 58: waits longer by as much as the clock jumped ahead',
      {
        intent: intent({ issuedAt: at(-3810) }),
        memory: { intentDeadline: { attempt: 1, at: at(-180) } },
        observed: { ...offers({}).observed, listsBegun: lists(-1) },
      },
      { rule: 'await-settlement', phase: 'Renting', says: 'RentalUncertain', afterMs: 1_000, onList: true },
    ],
    [
      'scenarios 1 and 3: records the machine that carries its label',
      { intent: open, machines: [machineOf(1, { id: '7' })] },
      {
        rule: 'record-found-machine',
        record: 'status',
        phase: 'Provisioning',
        says: 'Provisioning',
        afterMs: 0,
      },
    ],
    [
      'counts the intent that this process wrote when the annotation was taken away',
      { ...offers({}), finalizers: ['gpurental.dev/machine'], memory: { intent: open } },
      { rule: 'await-settlement', phase: 'Renting', says: 'RentalUncertain', afterMs: settles, onList: true },
    ],
    [
      'scenario 49: saves an answer that this process remembers before anything else',
      {
        intent: open,
        memory: {
          rented: {
            attempt: 1,
            instanceId: '7',
            answeredAt: at(-99),
            offer: offer(),
            offerIndex: 0,
            pricePerHour: 500_000,
            specHash: 'v1:x',
            image: 'i',
          },
        },
      },
      { rule: 'save-result', record: 'status', phase: 'Provisioning', says: 'Provisioning', onList: true },
    ],
    [
      'records the lowest of two machines of one purchase where none is on record',
      {
        finalizers: ['gpurental.dev/machine'],
        machines: [machineOf(1, { id: '7' }), machineOf(1, { id: '9' })],
      },
      {
        rule: 'record-found-machine',
        record: 'status',
        phase: 'Provisioning',
        says: 'Provisioning',
        afterMs: 0,
      },
    ],
    [
      'adopts the only new machine where labels do not come back',
      {
        intent: intent({ knownIds: ['3'] }),
        list: { unowned: [row({ id: '3', label: undefined }), row({ id: '8', label: undefined })] },
      },
      {
        rule: 'record-found-machine',
        record: 'status',
        phase: 'Provisioning',
        says: 'Provisioning',
        afterMs: 0,
      },
    ],
    [
      'scenario 69: holds where a new machine without a label may be it and nobody knows whether labels come back',
      {
        intent: intent({ knownIds: ['3'], issuedAt: at(-9000) }),
        list: { doubtful: [row({ id: '3', label: null }), row({ id: '8', label: null })] },
        observed: { ...offers({}).observed, listsBegun: lists(-1) },
      },
      { rule: 'hold-uncertain-rental', phase: 'Renting', says: 'RentalUncertain', onList: true },
    ],
    [
      'scenario 69: holds where two new machines could be it and labels do not come back',
      {
        intent: intent({ knownIds: ['3'], issuedAt: at(-9000) }),
        list: { unowned: [row({ id: '8', label: undefined }), row({ id: '9', label: undefined })] },
        observed: { ...offers({}).observed, listsBegun: lists(-1) },
      },
      { rule: 'hold-uncertain-rental', phase: 'Renting', says: 'RentalUncertain', onList: true },
    ],
  ]);
});

describe('scenario 63: a guard that a person removed', () => {
  const bare = { finalizers: [] };
  table([
    [
      'is put back while a machine is held',
      withMachine({}, bare),
      { rule: 'restore-finalizer', record: 'finalizer', afterMs: 0 },
    ],
    [
      'is put back while a rental may still make a machine',
      { ...bare, intent: intent({ issuedAt: at(-100) }), observed: { listsBegun: lists(-1) } },
      { rule: 'restore-finalizer', record: 'finalizer', afterMs: 0 },
    ],
    [
      'is not needed where nothing is rented',
      { ...bare, ...offers({}) },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 1'] },
    ],
  ]);
});

describe('a record that is in doubt', () => {
  table([
    [
      'scenario 68: holds where the intent was changed',
      { ...offers({}), intent: '{"v":1,"mac":"00"}' },
      holdsWith('RecordUnreadable'),
    ],
    [
      'scenario 76: keeps its hands off an intent of another version',
      { ...offers({}), intent: '{"v":2}' },
      holdsWith('RecordUnreadable'),
    ],
    [
      'holds where the machine of its former self is still listed',
      { ...offers({}), intent: intent({ uid: 'aaaa' }), list: { formerSelf: row({ id: '6' }) } },
      { ...holdsWith('CopiedObject'), onList: true },
    ],
    [
      'B12: holds a copy, whose original is there',
      {
        ...offers({}),
        intent: intent({ uid: 'aaaa' }),
        list: { formerSelf: row({ id: '6' }), copiedFrom: 'team/a' },
      },
      { ...holdsWith('CopiedObject'), onList: true },
    ],
    [
      'goes on where the machine of its former self is gone',
      { ...offers({}), intent: intent({ uid: 'aaaa' }) },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 1'] },
    ],
    [
      'scenario 32: holds where the account is now one of another login',
      { ...offers({}), intent: intent({ login: '8@https://market.example' }), status: { attempt: 1 } },
      holdsWith('LoginChanged'),
    ],
    [
      'scenario 71: does not believe a machine in a status that someone else wrote',
      {
        ...offers({}),
        status: { instanceId: '5', attempt: 1, claim: 'ab' },
        list: { recorded: row({ id: '5' }) },
      },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 2'] },
    ],
  ]);
});

describe('a second machine of the same object', () => {
  table([
    [
      'scenarios 4 and 55: is destroyed when it is of an older purchase',
      {
        intent: intent({ attempt: 2 }),
        machines: [machineOf(1, { id: '3' }), machineOf(2, { id: '1' })],
        status: holding({ attempt: 2 }),
      },
      { rule: 'destroy-surplus', actions: ['destroy 3 (Deleting)'], afterMs: 0 },
    ],
    [
      'is destroyed when it is of the same purchase and the recorded one is listed, whichever id is lower',
      {
        intent: intent(),
        machines: [machineOf(1, { id: '4' }), machineOf(1, { id: '9' })],
        status: holding({ instanceId: '9' }),
      },
      { rule: 'destroy-surplus', actions: ['destroy 4 (Deleting)'], afterMs: 0 },
    ],
    [
      'is left alone while the recorded one of the same purchase is not listed',
      {
        intent: intent(),
        machines: [machineOf(1, { id: '4' })],
        status: holding({ instanceId: '9' }),
        observed: missing('9', lists(-1)),
      },
      { rule: 'machine-missing', afterMs: 60_000, onList: true },
    ],
    [
      'scenario 65: is adopted when its purchase is newer than the record',
      {
        intent: intent(),
        machines: [machineOf(1, { id: '1' }), machineOf(3, { id: '9' })],
        status: holding(),
      },
      {
        rule: 'record-found-machine',
        record: 'status',
        phase: 'Provisioning',
        says: 'Provisioning',
        afterMs: 0,
      },
    ],
    [
      'scenario 68: is never touched when its label does not fit its start',
      {
        intent: intent({ attempt: 2 }),
        machines: [machineOf(1, { id: '3', startedAt: at(-9000) }), machineOf(2, { id: '1' })],
        status: holding({ attempt: 2 }),
      },
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'scenario 23: is not destroyed again while the lists may lag behind its destroy',
      {
        intent: intent({ attempt: 2 }),
        machines: [machineOf(1, { id: '3' }), machineOf(2, { id: '1' })],
        status: holding({ attempt: 2 }),
        memory: {
          destroys: [{ instanceId: '3', reason: 'Deleting', answeredAt: at(-20), endedAt: at(-20) }],
        },
        observed: { published: undefined },
      },
      { publish: true },
    ],
  ]);
});

describe('a machine that is wanted running', () => {
  table([
    ['is left alone while it runs', withMachine(), { rule: 'run', phase: 'Running', says: 'Ready' }],
    [
      'is waited for while it is provisioned',
      withMachine({ state: 'pending', startedAt: at(-60) }, { status: booting() }),
      { rule: 'boot', phase: 'Provisioning', says: 'Provisioning', afterMs: 240_000 },
    ],
    [
      'scenario 28: is lost when it is not provisioned in time',
      withMachine({ state: 'pending', startedAt: at(-301) }, { status: booting() }),
      replacing('1', 'ProvisioningTimedOut', 'boot-timed-out'),
    ],
    [
      'is waited for while it loads',
      withMachine(
        { state: 'loading' },
        { status: booting({ actualStatus: 'loading', actualStatusSince: time(-600) }) },
      ),
      { rule: 'boot', phase: 'Loading', says: 'Loading', afterMs: 600_000 },
    ],
    [
      'is given more time while loading shows progress',
      withMachine(
        { state: 'loading' },
        {
          status: booting({ actualStatus: 'loading', actualStatusSince: time(-1300) }),
          memory: { progress: { text: 'x', at: at(-10) } },
        },
      ),
      { rule: 'boot', phase: 'Loading', says: 'Loading', afterMs: 1_190_000 },
    ],
    [
      'scenario 28: is lost after an hour of loading, whatever progress is seen',
      withMachine(
        { state: 'loading' },
        {
          status: booting({ actualStatus: 'loading', actualStatusSince: time(-3600) }),
          memory: { progress: { text: 'x', at: at(-1) } },
        },
      ),
      replacing('1', 'LoadingTimedOut', 'boot-timed-out'),
    ],
    [
      'scenario 27: is said and never judged while the marketplace names an unknown word',
      withMachine(
        { state: 'unrecognized', marketStatus: 'scheduling' },
        { status: booting({ actualStatusSince: time(-90_000) }) },
      ),
      { rule: 'show-word', phase: 'Loading', says: 'NotRunning' },
    ],
    [
      'is tolerated when it is seen ended once',
      withMachine({ state: 'exited' }, { observed: { listsBegun: lists(-1) } }),
      { rule: 'tolerate', phase: 'Lost', says: 'Exited', onList: true },
    ],
    [
      'scenario 25: is lost when it is seen ended twice',
      withMachine(
        { state: 'exited' },
        {
          status: { actualStatus: 'exited', actualStatusSince: time(-11) },
          observed: { listsBegun: lists(-11, -1) },
        },
      ),
      replacing('1', 'Exited', 'lost'),
    ],
    [
      'is waited out while its host is offline for less than a minute',
      withMachine(
        { state: 'offline' },
        { status: { actualStatus: 'offline', actualStatusSince: time(-59) } },
      ),
      { rule: 'tolerate', phase: 'Lost', says: 'HostOffline', afterMs: 1_000 },
    ],
    [
      'scenario 25: is lost when its host was offline for a minute',
      withMachine(
        { state: 'offline' },
        { status: { actualStatus: 'offline', actualStatusSince: time(-61) } },
      ),
      replacing('1', 'HostOffline', 'lost'),
    ],
    [
      'is lost when its host sent no heartbeat for a minute',
      withMachine({ state: 'unseen' }, { status: { actualStatus: 'unknown', actualStatusSince: time(-61) } }),
      replacing('1', 'HostOffline', 'lost'),
    ],
    [
      'scenario 26: is not written down at each turn while it flaps',
      withMachine(
        { state: 'unseen' },
        {
          memory: {
            badEndedAt: at(-30),
            seenStatus: { state: 'unseen', marketStatus: 'unknown', since: at(-1) },
          },
        },
      ),
      { rule: 'tolerate', afterMs: 59_000, onList: true },
    ],
    [
      'is started when it is stopped',
      withMachine({ state: 'stopped' }),
      {
        rule: 'start',
        record: 'status',
        actions: ['start 1'],
        phase: 'Starting',
        says: 'Starting',
        afterMs: 120_000,
      },
    ],
    [
      'is not started twice while it is given time to start',
      withMachine({ state: 'stopped' }, { memory: { startAnsweredAt: at(-30) } }),
      { rule: 'start', record: 'status', phase: 'Starting', says: 'Starting', afterMs: 90_000 },
    ],
    [
      'is asked to start again when the request was never answered, however long ago it was written down',
      withMachine({ state: 'stopped' }, { status: { startRequestedAt: time(-9000) } }),
      {
        rule: 'start',
        record: 'status',
        actions: ['start 1'],
        phase: 'Starting',
        says: 'Starting',
        afterMs: 120_000,
      },
    ],
    [
      'scenario 35: is not lost while its start is refused by a limit of the account',
      withMachine(
        { state: 'stopped' },
        {
          status: { startRequestedAt: time(-9000) },
          memory: { refusal: { reason: 'InsufficientCredit', detail: 'no' }, notBefore: at(20) },
        },
      ),
      { rule: 'start-refused', phase: 'Stopped', says: 'InsufficientCredit', afterMs: 20_000 },
    ],
    [
      'scenario 35: shows a refused start as refused while it is asked for again, so that nothing is written by trying',
      withMachine(
        { state: 'stopped' },
        {
          status: { startRequestedAt: time(-9000) },
          memory: { refusal: { reason: 'InsufficientCredit', detail: 'no' }, notBefore: at(0) },
        },
      ),
      {
        rule: 'start',
        record: 'status',
        phase: 'Stopped',
        says: 'InsufficientCredit',
        actions: ['start 1'],
        afterMs: 120_000,
      },
    ],
    [
      'is lost when it does not start in time',
      withMachine({ state: 'stopped' }, { memory: { startAnsweredAt: at(-120) } }),
      replacing('1', 'CannotStart', 'start-timed-out', 'stopped'),
    ],
    [
      'is not lost by a list of long before the time of its start was over',
      withMachine(
        { state: 'stopped' },
        { memory: { startAnsweredAt: at(-120) }, list: { begunSteady: at(-31) } },
      ),
      { rule: 'start', record: 'status', phase: 'Starting', says: 'Starting', onList: true },
    ],
    [
      'is lost when others bid more',
      withMachine(
        { state: 'stopped', marketStatus: 'frozen', interruptible: true },
        { memory: { startAnsweredAt: at(-120) } },
      ),
      replacing('1', 'SoldToOther', 'start-timed-out', 'stopped'),
    ],
    [
      'is replaced when it is stopped and the service has no start',
      withMachine({ state: 'stopped' }, { facts: { startUnsupported: true } }),
      replacing('1', 'CannotStart', 'start-unsupported', 'stopped'),
    ],
    [
      'scenario 83: is not started when its account no longer allows its namespace (M3)',
      withMachine({ state: 'stopped' }, { facts: { permitted: false } }),
      { rule: 'start-not-allowed', phase: 'Stopped', says: 'stalled: NotAllowedByAccount' },
    ],
    [
      'is not destroyed for another one either, when the service has no start (M3)',
      withMachine({ state: 'stopped' }, { facts: { permitted: false, startUnsupported: true } }),
      { rule: 'start-not-allowed', phase: 'Stopped', says: 'stalled: NotAllowedByAccount' },
    ],
    [
      'is not started while it is being found out whether its namespace is allowed (M3)',
      withMachine({ state: 'stopped' }, { facts: { permitted: undefined } }),
      { rule: 'start-not-allowed', afterMs: 5000 },
    ],
    [
      'stays stopped when the service has no start and nothing may be replaced',
      withMachine(
        { state: 'stopped' },
        { facts: { startUnsupported: true }, spec: { replacement: { policy: 'Never' } } },
      ),
      { rule: 'start-unsupported', phase: 'Failed', says: 'stalled: ReplacementOff' },
    ],
  ]);
});

describe('a machine that is wanted stopped', () => {
  const stopped = { powerState: 'Stopped' } as const;
  table([
    [
      'is left alone while it is stopped',
      withMachine({ state: 'stopped' }, { spec: stopped }),
      { rule: 'stopped-as-desired', phase: 'Stopped', says: 'Ready' },
    ],
    [
      'is left alone when it has ended',
      withMachine({ state: 'exited' }, { spec: stopped }),
      { rule: 'ended-while-stopped-wanted', phase: 'Stopped', says: 'Ready' },
    ],
    [
      'is stopped while it runs',
      withMachine({}, { spec: stopped }),
      {
        rule: 'stop',
        record: 'status',
        actions: ['stop 1'],
        phase: 'Stopping',
        says: 'Stopping',
        afterMs: 30_000,
      },
    ],
    [
      'is not stopped again at once',
      withMachine({}, { spec: stopped, memory: { stopAskedAt: at(-10) } }),
      { rule: 'stop', record: 'status', phase: 'Stopping', says: 'Stopping', afterMs: 20_000 },
    ],
    [
      'is only spoken of while its host is offline, however long',
      withMachine(
        { state: 'offline' },
        { spec: stopped, status: { actualStatus: 'offline', actualStatusSince: time(-9000) } },
      ),
      { rule: 'unseen-while-stopped-wanted', phase: 'Lost', says: 'HostOffline' },
    ],
  ]);
});

describe('what holds a replacement back', () => {
  const offline = { actualStatus: 'offline', actualStatusSince: time(-61) };
  const lost = (situation: Given) => withMachine({ state: 'offline' }, { ...situation, status: offline });
  table([
    [
      'hold',
      lost({ annotations: { 'gpurental.dev/hold': 'yes' } }),
      { rule: 'lost', phase: 'Lost', says: 'Paused', afterMs: 60_000 },
    ],
    [
      'paused',
      lost({ spec: { paused: true } }),
      { rule: 'lost', phase: 'Lost', says: 'Paused', afterMs: 60_000 },
    ],
    [
      'a policy of Never',
      lost({ spec: { replacement: { policy: 'Never' } } }),
      { rule: 'lost', phase: 'Lost', says: 'stalled: ReplacementOff', afterMs: 60_000 },
    ],
    [
      'scenario 29: an open breaker',
      lost({
        facts: { breaker: OPEN_BREAKER },
      }),
      { rule: 'lost', phase: 'Lost', says: 'BreakerOpen', afterMs: 60_000 },
    ],
    [
      'an account that is not ready',
      lost({
        account: {
          state: 'notReady',
          reason: 'KeyRejected',
          message: 'm',
          facts: given().account.state === 'ready' ? readyFacts() : undefined,
        },
      }),
      { rule: 'lost', phase: 'Lost', says: 'AccountNotReady', afterMs: 60_000 },
    ],
  ]);
});

describe('a machine that works and is no longer wanted', () => {
  const raised = { pricePerHour: 530_000 };
  table([
    [
      'scenario 70: is replaced when the spec changed',
      withMachine({}, { spec: { image: 'example/image:2' }, status: OUTDATED }),
      replacing('1', 'SpecChanged', 'spec-changed', 'running'),
    ],
    [
      'is kept when the spec changed and the strategy is OnDelete',
      withMachine({}, { spec: { updateStrategy: { type: 'OnDelete' } }, status: OUTDATED }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is kept when its hash is of another version of the operator',
      withMachine({}, { status: { specHash: 'v0:0000000000000000' } }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is replaced when a person asks for it',
      withMachine({}, { annotations: { 'gpurental.dev/replace-at': time(-1) } }),
      replacing('1', 'ReplaceRequested', 'replace-requested', 'running'),
    ],
    [
      'is not replaced before the time asked for',
      withMachine({}, { annotations: { 'gpurental.dev/replace-at': time(60) } }),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 60_000 },
    ],
    [
      'is not replaced when it is younger than the request',
      withMachine({}, { annotations: { 'gpurental.dev/replace-at': time(-400) } }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is kept and reported when its price rose',
      withMachine(raised),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is replaced when its price rose and that is wanted',
      withMachine(raised, { spec: { onPriceAbove: 'Replace' } }),
      replacing('1', 'PriceRaised', 'price-raised', 'running'),
    ],
    [
      'is not replaced at a time that only our own clock has reached',
      withMachine(
        {},
        { annotations: { 'gpurental.dev/replace-at': time(3600) }, observed: { now: at(86_400) } },
      ),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 3_600_000 },
    ],
    [
      'is asked to stop where it is not wanted to run, whatever its word means',
      withMachine({ state: 'unrecognized', marketStatus: 'dozing' }, { spec: { powerState: 'Stopped' } }),
      {
        rule: 'stop-unrecognized',
        record: 'status',
        actions: ['stop 1'],
        phase: 'Stopping',
        says: 'Stopping',
        afterMs: 30_000,
      },
    ],
    [
      'is held by the annotation, and still ready',
      withMachine({}, { annotations: { 'gpurental.dev/hold': '', 'gpurental.dev/replace-at': time(-1) } }),
      { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 60_000 },
    ],
    [
      'is held by the annotation, and not ready while it does not answer',
      withMachine(
        {},
        {
          annotations: { 'gpurental.dev/hold': '', 'gpurental.dev/replace-at': time(-1) },
          spec: { readinessProbe: { tcpSocket: { port: 8080 } } },
          observed: { probe: { ready: false, detail: 'Port 8080 does not answer.' } },
        },
      ),
      { rule: 'run', phase: 'Running', says: 'NotReachable, Paused', afterMs: 60_000 },
    ],
    [
      'is destroyed when its lifetime is over',
      withMachine({}, { spec: { maxLifetime: '5m' } }),
      replacing('1', 'LimitReached', 'limit-reached', 'running'),
    ],
    [
      'is stopped when its money is spent and the deletion policy is Stop',
      withMachine({}, { spec: { maxTotalCost: '0.04', deletionPolicy: 'Stop' } }),
      {
        rule: 'limit-reached',
        record: 'status',
        actions: ['stop 1'],
        phase: 'Failed',
        says: 'stalled: LimitReached',
        afterMs: 30_000,
      },
    ],
  ]);
});

describe('a machine that exists already', () => {
  const adopt = { adopt: { instanceId: '40' } };
  const allowed = { adoption: 'Unlabelled' as const };
  const free = { row: row({ id: '40', label: null }), ownership: { type: 'unlabelled' as const } };
  const guarded = { finalizers: ['gpurental.dev/machine'] };
  table([
    [
      'is guarded before it is claimed',
      { spec: adopt, facts: allowed, list: { adoptTarget: free } },
      { rule: 'finalizer-before-adopting', record: 'finalizer', afterMs: 0 },
    ],
    [
      'is claimed, and becomes ours',
      { spec: adopt, facts: allowed, list: { adoptTarget: free }, ...guarded },
      { rule: 'adopt', record: 'status', phase: 'Provisioning', says: 'Provisioning', afterMs: 0 },
    ],
    [
      'is left alone where the account does not allow it',
      { spec: adopt, list: { adoptTarget: free }, ...guarded },
      { rule: 'refuse-adoption', phase: 'Failed', says: 'stalled: NotAllowedByAccount', afterMs: 300_000 },
    ],
    [
      'is missed where it does not exist',
      { spec: adopt, facts: allowed, ...guarded },
      refused('AdoptionTargetInvalid'),
    ],
    [
      "is left alone where it carries anyone's label",
      {
        spec: adopt,
        facts: allowed,
        list: { adoptTarget: { ...free, ownership: { type: 'someoneElses' } } },
        ...guarded,
      },
      refused('AdoptionTargetInvalid'),
    ],
    [
      'is left to the older of two objects that name it',
      {
        spec: adopt,
        facts: allowed,
        list: { adoptTarget: free },
        observed: { olderClaimant: true },
        ...guarded,
      },
      refused('AdoptionTargetInvalid'),
    ],
    [
      'is given its label after it was claimed',
      withMachine({ label: null }, { spec: { adopt: { instanceId: '1' } } }),
      { rule: 'label-adopted', actions: ['relabel 1'], afterMs: 0 },
    ],
    [
      'is not labelled again while the lists may lag',
      withMachine(
        { label: null },
        { spec: { adopt: { instanceId: '1' } }, memory: { relabelledAt: at(-50) } },
      ),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'is only shown where it is to be watched',
      {
        spec: { adopt: { instanceId: '40', policy: 'Observe' } },
        facts: allowed,
        list: { adoptTarget: free },
      },
      { rule: 'observe', phase: 'Observed', says: 'Ready' },
    ],
  ]);

  test('that is watched is never claimed', () => {
    const situation: Given = {
      spec: { adopt: { instanceId: '40', policy: 'Observe' } },
      facts: allowed,
      list: { adoptTarget: free },
    };
    const step = decide(given(situation));
    if (step.type !== 'decision') throw new Error('no decision');
    expect(step.status?.fields).toMatchObject({ instanceId: '40' });
    expect(step.status?.fields.claim).toBeUndefined();
    expect(step.actions).toEqual([]);
  });
});

function refused(reason: string): Record<string, unknown> {
  return { rule: 'refuse-adoption', phase: 'Failed', says: `stalled: ${reason}`, afterMs: 60_000 };
}

function past(instanceId: string, reason = 'Exited') {
  return { attempt: 1, instanceId, reason, endedAt: time(-30), rentedMinutes: 5, cost: '0.04' };
}

function holdsWith(reason: string): Record<string, unknown> {
  return { rule: 'hold-for-a-person', phase: 'Failed', says: `stalled: ${reason}` };
}

function booting(change: Partial<ReturnType<typeof holding>> = {}) {
  const { runningAt: _notYet, binding: _none, ...status } = holding({ actualStatus: 'provisioning' });
  return { ...status, runningAt: undefined, binding: undefined, ...change };
}

function replacing(id: string, reason: string, rule: string, _state?: string): Record<string, unknown> {
  return {
    rule,
    record: 'status',
    actions: [`destroy ${id} (${reason})`],
    phase: 'Replacing',
    says: `${reason}, Replacing`,
    afterMs: 1_000,
  };
}

function readyFacts() {
  const { account } = given();
  if (account.state !== 'ready') throw new Error('the quiet day has a ready account');
  return account.facts;
}

close();
