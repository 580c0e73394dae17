import { describe } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import {
  at,
  type Given,
  intent,
  labelOf,
  listed,
  machineOf,
  offer,
  row,
  time,
  withMachine,
} from '../../../../test/builders/observed.ts';

const { table, close } = decisionTables('unrented');

const found: Pick<Given, 'observed'> = {
  observed: { offers: new Map([[0, { type: 'found', offers: [offer()] }]]) },
};
const late = row({ label: labelOf(1, at(-900)), startedAt: at(-500) });
/** The first purchase was closed without a machine. */
const closed = { status: { attempt: 1 }, intent: intent({ issuedAt: at(-900) }) };
/** Lists of a process that began a short while ago: they span less than lists may lag. */
const SHORT = [at(-61) + 1, at(-11), at(-1)];
/** Returns the situation in which the machine came later, and these lists no longer show it. */
const lateMissingFrom = (lists: readonly number[], listsBegun = lists): Given => ({
  ...closed,
  memory: { late: { attempt: 1, issuedAt: at(-900), row: late } },
  observed: { ...found.observed, listsBegun, absences: new Map([[late.id, { lists, read: undefined }]]) },
});
const past = (reason: string) => ({
  attempt: 1,
  history: [{ attempt: 1, instanceId: '1', reason, endedAt: time(-30), rentedMinutes: 5, cost: '0.04' }],
});

const failed = (machines: number, secondsAgo: number) => ({
  attempt: 2,
  repeatedFailure: {
    reason: 'LoadingTimedOut',
    machines,
    machineId: '9',
    at: time(-secondsAgo),
    cost: '0.10',
    generation: 1,
  },
});

describe('B04: an object whose spec failed on two machines', () => {
  table([
    [
      'scenario 115: waits before the next rental, and says for what',
      { ...found, status: failed(2, 20) },
      { rule: 'repeated-failure', phase: 'Pending', says: 'RepeatedFailure', afterMs: 40_000 },
    ],
    [
      'waits twice as long after the third',
      { ...found, status: failed(3, 20) },
      { rule: 'repeated-failure', phase: 'Pending', says: 'RepeatedFailure', afterMs: 100_000 },
    ],
    [
      'rents when the wait is over, also after a restart',
      { ...found, status: failed(2, 60) },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 3'] },
    ],
    [
      'rents at once when a person asks for it',
      { ...found, status: failed(5, 0), annotations: { 'gpurental.dev/requested-at': 'now' } },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 3'] },
    ],
    [
      'waits again once that was handled',
      {
        ...found,
        status: { ...failed(2, 20), requestedAt: 'now' },
        annotations: { 'gpurental.dev/requested-at': 'now' },
      },
      { rule: 'repeated-failure', phase: 'Pending', says: 'RepeatedFailure', afterMs: 40_000 },
    ],
    [
      'rents at once by another spec',
      {
        ...found,
        status: { ...failed(5, 0), repeatedFailure: { ...failed(5, 0).repeatedFailure, generation: 0 } },
      },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 3'] },
    ],
    [
      'rents at once when a person has asked for another machine',
      { ...found, status: { ...past('ReplaceRequested'), ...failed(5, 0) } },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 3'] },
    ],
    [
      'rents after the failure of one machine',
      { ...found, status: failed(1, 0) },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 3'] },
    ],
  ]);
});

describe('an object without a machine rents', () => {
  table([
    [
      'with SSH where a key is registered',
      { ...found, spec: { ssh: true } },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 1'] },
    ],
    [
      'with SSH where it is not known whether one is',
      { ...found, spec: { ssh: true }, facts: { sshKeyRegistered: undefined } },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 1'] },
    ],
    [
      'without SSH where no key is registered',
      { ...found, facts: { sshKeyRegistered: false } },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 1'] },
    ],
    [
      'after its machine vanished, where that is to be made good',
      { ...found, spec: { onVanish: 'Recreate' }, status: past('Vanished') },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 2'] },
    ],
    [
      'after its machine ended itself by its own fuse, where that is to be made good (C12)',
      { ...found, spec: { onVanish: 'Recreate' }, status: past('EndedItself') },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 2'] },
    ],
    [
      'after its machine ended by itself, whatever is to happen when one vanishes',
      { ...found, spec: { onVanish: 'Hold' }, status: past('Exited') },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 2'] },
    ],
    [
      'when lists that span the lag of lists show no machine of its last purchase (H6)',
      { ...closed, observed: { ...found.observed, listsBegun: [at(-61), at(-1)] } },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 2'] },
    ],
    [
      'a short while after a restart when its last purchase was refused (H6)',
      {
        ...closed,
        memory: { refused: { attempt: 1, issuedAt: at(-900) } },
        observed: { ...found.observed, listsBegun: SHORT },
      },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 2'] },
    ],
    [
      'a short while after a restart when it never rented',
      { observed: { ...found.observed, listsBegun: SHORT } },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 1'] },
    ],
    [
      'when lists have long lacked the machine of its last purchase that came late (H6)',
      lateMissingFrom([at(-121), at(-1)]),
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 2'] },
    ],
    [
      'beside a machine that only copies its label',
      { ...found, status: { attempt: 1 }, machines: [machineOf(1, { startedAt: at(-90_000) })] },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 2'] },
    ],
    [
      'beside a copy of the label of its last machine, which it had and lost (H6)',
      {
        ...found,
        status: past('Exited'),
        intent: intent({ issuedAt: at(-900) }),
        machines: [listed(row({ id: '9', label: labelOf(1, at(-900)), startedAt: at(-500) }))],
      },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 2'] },
    ],
    [
      'an hour after the last of as many rentals as an hour may have',
      {
        ...found,
        spec: { replacement: { maxPerHour: 2 } },
        status: { attempt: 3, rentals: [time(-3601), time(-3600), time(-1)] },
      },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 4'] },
    ],
  ]);
});

describe('an object without a machine waits', () => {
  table([
    [
      'while a machine of its last purchase is listed that was carried out late (H6)',
      { ...found, ...closed, machines: [listed(late)] },
      { rule: 'late-machine-listed', phase: 'Pending', says: 'RentalUncertain', onList: true },
    ],
    [
      'while a machine of an earlier purchase is listed that was carried out late (H6)',
      { ...found, status: { attempt: 2 }, intent: intent({ attempt: 2 }), machines: [listed(late)] },
      { rule: 'late-machine-listed', phase: 'Pending', says: 'RentalUncertain', onList: true },
    ],
    [
      'while one list lacks the machine of an earlier purchase that came late (H6)',
      {
        ...lateMissingFrom([at(-1)], [at(-11), at(-1)]),
        status: { attempt: 2 },
        intent: intent({ attempt: 2 }),
      },
      { rule: 'late-machine-listed', phase: 'Pending', says: 'RentalUncertain', onList: true },
    ],
    [
      'while one list lacks the machine of its last purchase that came late (H6)',
      lateMissingFrom([at(-1)], [at(-11), at(-1)]),
      { rule: 'late-machine-listed', phase: 'Pending', says: 'RentalUncertain', onList: true },
    ],
    [
      'for further lists after a restart when its last purchase brought no machine (H6)',
      { ...closed, observed: { ...found.observed, listsBegun: SHORT } },
      { rule: 'wait-for-more-lists', onList: true, afterMs: 60_000 },
    ],
    [
      'for further lists after a restart when its last machine has ended (H6)',
      { status: past('Exited'), observed: { ...found.observed, listsBegun: SHORT } },
      { rule: 'wait-for-more-lists', onList: true, afterMs: 60_000 },
    ],
    [
      'for further lists after a restart when another purchase was refused (H6)',
      {
        ...closed,
        memory: { refused: { attempt: 2, issuedAt: at(-900) } },
        observed: { ...found.observed, listsBegun: SHORT },
      },
      { rule: 'wait-for-more-lists', onList: true, afterMs: 60_000 },
    ],
    [
      'without a word while it is being found out whether the account allows its namespace',
      { ...found, facts: { permitted: undefined } },
      { rule: 'namespace-not-allowed', afterMs: 5_000 },
    ],
    [
      'M9: where there were as many rentals within the hour as it may have, with the time of the next',
      {
        ...found,
        spec: { replacement: { maxPerHour: 2 } },
        status: { attempt: 3, rentals: [time(-3599), time(-1)] },
      },
      { rule: 'too-many-rentals', phase: 'Pending', says: 'AtLimit', afterMs: 1000 },
    ],
    [
      'after something failed that is not worth a condition',
      { ...found, memory: { notBefore: at(9) } },
      { rule: 'backing-off', afterMs: 9000 },
    ],
    [
      'until its time is over, not longer',
      { ...found, memory: { notBefore: at(0), refusal: { reason: 'Throttled', detail: 'slower' } } },
      { rule: 'purchase', record: 'intent', actions: ['rent 100 as 1'] },
    ],
    [
      'while it should be stopped, and closes the purchase that came to nothing',
      { spec: { powerState: 'Stopped' }, intent: intent(), memory: { refused: intent() } },
      { rule: 'stopped-and-unrented', phase: 'Stopped', says: 'Ready' },
    ],
    [
      'for an account that is missing',
      { account: { state: 'missing' } },
      { rule: 'wait-for-account', phase: 'Pending', says: 'AccountMissing' },
    ],
    [
      'for an account in a namespace that is not watched',
      { account: { state: 'missing', isUnwatched: true } },
      { rule: 'wait-for-account', phase: 'Pending', says: 'AccountMissing' },
    ],
    [
      'for an account that is missing, whatever machine it holds',
      withMachine({}, { account: { state: 'missing' } }),
      { rule: 'keep-until-account-known' },
    ],
  ]);
});

describe('an object that a person must look at', () => {
  table([
    [
      'says so of its machine as well',
      withMachine({}, { intent: '{"v":1}' }),
      { rule: 'hold-for-a-person', phase: 'Failed', says: 'stalled: RecordUnreadable' },
    ],
  ]);
});

close();
