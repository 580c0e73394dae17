import { describe, expect, test } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import {
  at,
  given,
  holding,
  intent,
  machineOf,
  movingRecord,
  offer,
  row,
  time,
  withMachine,
} from '../../../../test/builders/observed.ts';
import type { Machine } from '../../../accounts/beliefs/machine.ts';
import { decide } from '../decide.ts';
import type { RentedFacts } from '../types.ts';

const { table, close } = decisionTables('rented');

const RUN = { command: ['train'], completion: {} };

const rented = (change: Partial<RentedFacts> = {}): RentedFacts => ({
  attempt: 1,
  instanceId: '7',
  answeredAt: at(-2),
  offer: undefined,
  offerIndex: undefined,
  pricePerHour: undefined,
  specHash: undefined,
  image: undefined,
  ...change,
});

describe('the answer to a rental', () => {
  table([
    [
      'is saved with all that was bought',
      {
        intent: intent(),
        memory: {
          rented: rented({
            offer: offer(),
            offerIndex: 1,
            pricePerHour: 500_000,
            specHash: 'v1:0',
            image: 'example/image:1',
          }),
        },
      },
      { rule: 'save-result', record: 'status', phase: 'Provisioning', says: 'Provisioning', onList: true },
    ],
    [
      'is saved where nothing is known but the machine',
      { intent: intent(), memory: { rented: rented() } },
      { rule: 'save-result', record: 'status', phase: 'Provisioning', says: 'Provisioning', onList: true },
    ],
    [
      'is followed by a list at once while it is not known whether labels come back',
      { intent: intent(), memory: { rented: rented() }, facts: { labelEcho: 'unknown' } },
      {
        ...{ rule: 'save-result', record: 'status', phase: 'Provisioning', says: 'Provisioning' },
        ...{ onList: true, asksForList: true },
      },
    ],
    [
      'is saved with one GPU where the offer does not count them',
      { intent: intent(), memory: { rented: rented({ offer: offer({ gpuCount: undefined }) }) } },
      { rule: 'save-result', record: 'status', phase: 'Provisioning', says: 'Provisioning', onList: true },
    ],
    [
      'counts beside the rentals of the last hour alone',
      {
        intent: intent({ attempt: 4 }),
        status: { attempt: 3, firstRentedAt: time(-9000), rentals: [time(-3601), time(-3600), time(-3599)] },
        memory: { rented: rented({ attempt: 4 }) },
      },
      { rule: 'save-result', record: 'status', phase: 'Provisioning', says: 'Provisioning', onList: true },
    ],
    [
      'keeps what earlier machines cost, and nothing else of them',
      {
        intent: intent({ attempt: 2 }),
        status: { attempt: 1, machineId: '9', hostId: '9', endpoint: 'old:1', cost: { accrued: '1.50' } },
        memory: { rented: rented({ attempt: 2 }) },
      },
      { rule: 'save-result', record: 'status', phase: 'Provisioning', says: 'Provisioning', onList: true },
    ],
  ]);
});

describe('a machine that was found', () => {
  table([
    [
      'is recorded with what its row and its intent tell',
      { intent: intent(), machines: [machineOf(1)] },
      {
        rule: 'record-found-machine',
        record: 'status',
        phase: 'Provisioning',
        says: 'Provisioning',
        afterMs: 0,
      },
    ],
    [
      'is reported when nothing shows the fuse that its run needs',
      { spec: RUN, intent: intent(), machines: [machineOf(1)] },
      {
        rule: 'record-found-machine',
        record: 'status',
        phase: 'Provisioning',
        says: 'Provisioning',
        afterMs: 0,
      },
    ],
    [
      'is the same attempt of a run when the record moves to it',
      withMachine({}, movingRecord({ spec: RUN, status: holding({ run: { attempts: 1 } }) })),
      {
        rule: 'move-record',
        record: 'status',
        phase: 'Provisioning',
        says: 'Provisioning',
        afterMs: 0,
      },
    ],
    [
      'is read before it is recorded (A8)',
      { intent: intent(), machines: [machineOf(1)], observed: { labelReads: new Map() } },
      { reads: [{ type: 'confirmLabel', instanceId: machineOf(1).row.id }] },
    ],
    [
      'is not recorded while its read shows another label (A8)',
      {
        intent: intent(),
        machines: [machineOf(1)],
        observed: { labelReads: new Map([[machineOf(1).row.id, row({ label: 'mine' })]]) },
      },
      { rule: 'await-second-list', afterMs: 30_000, onList: true },
    ],
    [
      'is recorded without what its row does not tell',
      {
        intent: intent(),
        machines: [
          machineOf(1, {
            pricePerHour: undefined,
            startedAt: undefined,
            machineId: undefined,
            image: undefined,
          }),
        ],
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
      'is recorded with an image name of bearable length',
      { intent: intent(), machines: [machineOf(1, { image: 'i'.repeat(600) })] },
      {
        rule: 'record-found-machine',
        record: 'status',
        phase: 'Provisioning',
        says: 'Provisioning',
        afterMs: 0,
      },
    ],
    [
      'is recorded by its own row, not by another',
      {
        intent: intent({ attempt: 2 }),
        status: { attempt: 1 },
        machines: [machineOf(1, { id: '4', pricePerHour: 900_000 }), machineOf(2, { id: '5' })],
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
      'is recorded by its row among those without a label',
      { intent: intent({ knownIds: [] }), list: { unowned: [row({ id: '5', pricePerHour: 700_000 })] } },
      {
        rule: 'record-found-machine',
        record: 'status',
        phase: 'Provisioning',
        says: 'Provisioning',
        afterMs: 0,
      },
    ],
    [
      'of another purchase than the intent names is not said to be of its offer',
      { intent: intent({ attempt: 1 }), status: { attempt: 1 }, machines: [machineOf(3, { id: '5' })] },
      {
        rule: 'record-found-machine',
        record: 'status',
        phase: 'Provisioning',
        says: 'Provisioning',
        afterMs: 0,
      },
    ],
    [
      'is recorded where the intent is gone',
      { finalizers: ['gpurental.dev/machine'], machines: [machineOf(2, { id: '5' })] },
      {
        rule: 'record-found-machine',
        record: 'status',
        phase: 'Provisioning',
        says: 'Provisioning',
        afterMs: 0,
      },
    ],
  ]);
});

describe('the price of a found machine', () => {
  const priceOf = (change: Partial<Machine>) => {
    const step = decide(given({ intent: intent(), machines: [machineOf(1, change)] }));
    return step.type === 'decision' ? step.status?.fields.offerPricePerHour : step;
  };

  test.each([
    ['is on record below the limit', { pricePerHour: 500_000 }, '0.50'],
    ['is on record at the limit', { pricePerHour: 1_000_000 }, '1.00'],
    ['waits for a read above the limit', { pricePerHour: 1_000_001 }, undefined],
    [
      'waits for a read while lists do not agree',
      { unsettled: new Set(['pricePerHour'] as const) },
      undefined,
    ],
    ['is not known when no list shows it', { pricePerHour: undefined }, undefined],
  ])('%s', (_, change, expected) => {
    expect(priceOf(change)).toBe(expected);
  });

  test('is not on record when the read shows another price than two lists', () => {
    const listed = machineOf(1, { pricePerHour: 0 });
    const read = { ...listed.row, pricePerHour: 500_000 };
    const step = decide(
      given({
        ...{ intent: intent(), machines: [listed] },
        observed: { labelReads: new Map([[listed.row.id, read]]) },
      }),
    );
    expect(step).toMatchObject({ rule: 'record-found-machine' });
    expect(step.type === 'decision' && step.status?.fields.offerPricePerHour).toBeUndefined();
  });
});

close();
