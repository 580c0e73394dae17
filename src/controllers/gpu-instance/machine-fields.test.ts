import { describe, expect, test } from 'vitest';
import { at, type Given, given, NOW, row, time, withMachine } from '../../../test/builders/observed.ts';
import { shownStatus } from '../../instance/machine-state.ts';
import { currentPrice } from './billing.ts';
import { deadlineAfter, rentedSince, statusSeenSince } from './deadlines.ts';
import { carriedFields, statusSince, withRow } from './machine-fields.ts';
import type { RecordProof } from './record-proof.ts';

type Row = Parameters<typeof row>[0];

const REPORTED = { value: 400_000, isAgreed: false, isImplausible: false };

const fieldsOf = (change: Row, situation: Given = {}) =>
  withRow(given(withMachine(change, situation)), row(change));

describe('the fields that stay', () => {
  test('echo the request that is handled by looking, cut to what a field may hold', () => {
    const asked = (text: string) => given({ annotations: { 'gpurental.dev/requested-at': text } });
    expect(carriedFields(asked('now'))).toEqual({ requestedAt: 'now' });
    expect(carriedFields(asked('x'.repeat(300))).requestedAt).toHaveLength(253);
    expect(carriedFields(asked(''))).toEqual({});
    expect(carriedFields(given({ status: { attempt: 2, phase: 'Lost', conditions: [] } }))).toEqual({
      attempt: 2,
    });
  });
});

describe('how to reach a machine', () => {
  const ports = { '8080/tcp': 40_001, '53/udp': 40_002, '53/tcp': 40_003, 'x/tcp': 40_004 };

  test('is its SSH address first, and its ports by number and protocol', () => {
    const named = { ports: [{ name: 'web', containerPort: 8080 }] };
    expect(fieldsOf({ ports }, { spec: named })).toMatchObject({
      endpoint: '203.0.113.5:20022',
      ssh: { host: '203.0.113.5', port: 20_022 },
      publicAddress: '203.0.113.5',
      ports: [
        { containerPort: 53, protocol: 'TCP', publicPort: 40_003 },
        { containerPort: 53, protocol: 'UDP', publicPort: 40_002 },
        { containerPort: 8080, protocol: 'TCP', publicPort: 40_001, name: 'web' },
      ],
    });
  });

  test('names a port only where number and protocol are those of the spec', () => {
    const spec = { ports: [{ name: 'dns', containerPort: 53, protocol: 'UDP' as const }] };
    expect(fieldsOf({ ports }, { spec }).ports?.map(({ name }) => name)).toEqual([
      undefined,
      'dns',
      undefined,
    ]);
  });

  test.each<readonly [string, Row]>([
    ['host', { sshHost: undefined }],
    ['port', { sshPort: undefined }],
  ])('is its first port where the SSH %s is missing', (_, change) => {
    const fields = fieldsOf({ ...change, ports });
    expect(fields).toMatchObject({ endpoint: '203.0.113.5:40003' });
    expect(fields).not.toHaveProperty('ssh');
  });

  test.each<readonly [string, Row]>([
    ['a port', { sshHost: undefined }],
    ['an address', { sshHost: undefined, publicAddress: undefined, ports }],
  ])('is not known without %s', (_, change) => {
    expect(fieldsOf(change)).not.toHaveProperty('endpoint');
  });

  test('has no list of ports where none is mapped, and 64 at most', () => {
    expect(fieldsOf({})).not.toHaveProperty('ports');
    const many = Object.fromEntries(
      Array.from({ length: 70 }, (_, port) => [`${port + 1}/tcp`, 40_000 + port]),
    );
    expect(fieldsOf({ ports: many }).ports).toHaveLength(64);
  });
});

describe('what a machine is made of', () => {
  const gpu = { name: 'RTX 4090', count: 4, memory: '24000M' };
  test.each<readonly [string, Row, unknown]>([
    [
      'is as its row says',
      { gpuCount: 2, gpuMemoryMB: 48_000 },
      { name: 'RTX 4090', count: 2, memory: '48000M' },
    ],
    ['is as it was known where the row leaves it out', { gpuCount: undefined, gpuMemoryMB: undefined }, gpu],
  ])('%s', (_, change, expected) => {
    expect(fieldsOf(change, { status: { gpu } }).gpu).toEqual(expected);
  });

  test('is one GPU when no count is given', () => {
    const bare = { gpuCount: undefined, gpuMemoryMB: undefined };
    expect(fieldsOf(bare).gpu).toEqual({ name: 'RTX 4090', count: 1 });
  });

  test('is absent when the row names no GPU', () => {
    expect(fieldsOf({ gpuName: undefined }, { status: { gpu } }).gpu).toEqual(gpu);
    expect(fieldsOf({ gpuName: undefined })).not.toHaveProperty('gpu');
  });
});

describe('what a machine costs', () => {
  test.each([
    ['running', 500_000],
    ['loading', 500_000],
    ['stopped', 10_000],
  ] as const)('while it is %s', (state, price) => {
    expect(currentPrice(row({ state }))).toBe(price);
  });

  describe('while its status hides its power', () => {
    const cost = { accrued: '0.00', since: time(-300), storagePricePerHour: '0.01' };
    const charged = (pricePerHour: string, actualStatus: string) => ({
      status: { actualStatus, runningAt: time(-200), cost: { ...cost, pricePerHour } },
    });
    const stopped = charged('0.01', 'stopped');
    const running = charged('0.50', 'running');
    const unsettled = new Set(['state'] as const);

    test.each(['offline', 'unseen', 'exited', 'broken', 'ended', 'pending'] as const)(
      'stays as it was before %s',
      (state) => {
        expect(fieldsOf({ state }, stopped).cost).toMatchObject({
          pricePerHour: '0.01',
          since: time(-300),
        });
        expect(fieldsOf({ state }, running).cost).toMatchObject({
          pricePerHour: '0.50',
          since: time(-300),
        });
      },
    );

    test('stays that of the disk in the lists after', () => {
      const silent = charged('0.01', 'offline');
      expect(fieldsOf({ state: 'offline' }, silent).cost).toMatchObject({ pricePerHour: '0.01' });
    });

    test.each([
      ['is the whole one after a start was requested', { startRequestedAt: time(-20) }, {}, '0.50'],
      ['is the whole one when two lists show its power on', {}, { power: 'running' }, '0.50'],
      [
        'stays when one list shows its power on',
        {},
        { power: 'running', unsettled: new Set(['power'] as const) },
        '0.01',
      ],
    ] as const)('of a stopped machine %s', (_, status, change, pricePerHour) => {
      const before = { status: { ...stopped.status, ...status } };
      expect(fieldsOf({ state: 'offline', ...change }, before).cost).toMatchObject({ pricePerHour });
    });

    test.each([
      ['is that of the disk when two lists show its power off', {}, { power: 'stopped' }, '0.01'],
      [
        'is that of the disk after a stop was answered',
        { spec: { powerState: 'Stopped' }, memory: { stopAnsweredAt: at(-5) } },
        { unsettled },
        '0.01',
      ],
    ] as const)('of a running machine %s', (_, situation, change, pricePerHour) => {
      const fields = fieldsOf({ state: 'offline', ...change }, { ...running, ...situation });
      expect(fields.cost).toMatchObject({ pricePerHour });
    });
  });

  test('is corrected by the row that first says since when it bills', () => {
    const { cost, rentedAt } = fieldsOf({ startedAt: at(-310) }, { status: { rentedAt: undefined } });
    expect(rentedAt).toBe(time(-310));
    expect(cost).toEqual({
      accrued: '0.00',
      pricePerHour: '0.50',
      since: time(-310),
      storagePricePerHour: '0.01',
    });
  });

  test('is the whole price until the list that first shows the machine stopped, and of the disk since (seed 900012)', () => {
    const { cost } = fieldsOf(
      { state: 'stopped', startedAt: at(-310) },
      { status: { rentedAt: undefined, actualStatus: undefined } },
    );
    expect(cost).toEqual({
      accrued: '0.042917',
      pricePerHour: '0.01',
      since: time(-1),
      storagePricePerHour: '0.01',
    });
  });

  test('is the whole price while the first list alone shows the machine stopped (seed 77519995)', () => {
    const { cost } = fieldsOf(
      { state: 'stopped', startedAt: at(-310), unsettled: new Set(['state'] as const) },
      {
        status: {
          rentedAt: undefined,
          actualStatus: undefined,
          cost: { accrued: '0.00', since: time(-300) },
        },
      },
    );
    expect(cost).toMatchObject({ accrued: '0.00', pricePerHour: '0.50', since: time(-310) });
  });

  test('is the assumed one until a stop when no list named a price before', () => {
    const assumed = { pricePerHour: '1.00', priceAssumed: true, accrued: '0.00', since: time(-300) } as const;
    const { cost } = fieldsOf({ state: 'stopped', pricePerHour: undefined }, { status: { cost: assumed } });
    expect(cost).toMatchObject({ accrued: '0.083056', pricePerHour: '0.01', since: time(-1) });
    expect(cost).not.toHaveProperty('priceAssumed');
  });

  describe('when it runs after a stop, and no list named its running price', () => {
    const disk = {
      pricePerHour: '0.01',
      storagePricePerHour: '0.01',
      accrued: '0.02',
      since: time(-100),
    } as const;
    const known = { actualStatus: 'stopped', offerPricePerHour: undefined, cost: disk } as object;
    const bare = { pricePerHour: undefined, reports: { pricePerHour: REPORTED } } as const;
    const unsettled: ReadonlySet<'state'> = new Set(['state'] as const);

    test('is the highest allowed one from the first list after the answer to its start (seed 1011)', () => {
      const situation = { status: known, memory: { startAnsweredAt: at(-5) } };
      expect(fieldsOf({ ...bare, unsettled }, situation).cost).toMatchObject({
        ...{ accrued: '0.020275', pricePerHour: '1.00', priceAssumed: true, since: time(-1) },
      });
    });

    test('stays that of the disk while one list says that it runs by itself', () => {
      const { cost } = fieldsOf({ ...bare, unsettled }, { status: known });
      expect(cost).toMatchObject({ ...disk, reported: { pricePerHour: '0.40', since: time(-1) } });
    });

    test.each(['stopped', 'running'])(
      'is the highest allowed one from there when two say so (%s)',
      (before) => {
        const cost = { ...disk, reported: { pricePerHour: '0.40', since: time(-20) } };
        const status = { ...known, actualStatus: before, cost } as object;
        expect(fieldsOf(bare, { status }).cost).toMatchObject({
          ...{ accrued: '0.020222', pricePerHour: '1.00', priceAssumed: true, since: time(-20) },
        });
      },
    );

    test('is none, not that of the disk, when nothing says what it may cost', () => {
      const watched = { spec: { adopt: { instanceId: '40', policy: 'Observe' } }, status: known } as const;
      const { cost } = fieldsOf(bare, watched);
      expect(cost).toMatchObject({ accrued: '0.020275', since: time(-1) });
      expect(cost).not.toHaveProperty('pricePerHour');
    });
  });

  test('begins with the row where nothing is on record', () => {
    const status = { cost: undefined, rentedAt: undefined };
    expect(fieldsOf({}, { status }).cost).toMatchObject({ since: time(-300), pricePerHour: '0.50' });
    expect(fieldsOf({ startedAt: undefined }, { status }).cost).toMatchObject({ since: time(0) });
  });

  test('stays where the row names no price', () => {
    const bare = { pricePerHour: undefined, storagePricePerHour: undefined };
    expect(fieldsOf(bare).cost).toEqual({ ...withMachine().status?.cost });
    const fresh = fieldsOf(bare, { status: { cost: undefined } }).cost;
    expect(fresh).toEqual({ accrued: '0.00', since: time(-300), pricePerHour: '0.50', priceAssumed: true });
  });

  test('counts at the highest allowed price while no row names one, and is corrected by the row that does (S4)', () => {
    const unknown = { status: { cost: undefined, offerPricePerHour: undefined } };
    const bare = fieldsOf({ pricePerHour: undefined, storagePricePerHour: undefined }, unknown).cost;
    expect(bare).toMatchObject({ pricePerHour: '1.00', priceAssumed: true, since: time(-300) });
    const told = fieldsOf({ pricePerHour: 400_000 }, { status: { cost: bare } }).cost;
    expect(told).toMatchObject({ accrued: '0.00', pricePerHour: '0.40', since: time(-300) });
    expect(told).not.toHaveProperty('priceAssumed');
  });

  test('is not assumed of a machine that is only watched', () => {
    const watched = {
      spec: { adopt: { instanceId: '40', policy: 'Observe' } },
      status: { cost: undefined, offerPricePerHour: undefined },
    } as const;
    const { cost } = fieldsOf({ pricePerHour: undefined, storagePricePerHour: undefined }, watched);
    expect(cost).not.toHaveProperty('pricePerHour');
  });

  test('changes now where the machine does what it did before', () => {
    expect(fieldsOf({ pricePerHour: 600_000 }).cost).toMatchObject({
      accrued: '0.041667',
      pricePerHour: '0.60',
      since: time(0),
    });
  });

  test('changes with the list that first showed another state, never before the last change', () => {
    const change = { state: 'stopped' } as const;
    expect(fieldsOf(change).cost).toMatchObject({ pricePerHour: '0.01', since: time(-1) });
    const late = { status: { cost: { pricePerHour: '0.50', accrued: '0.00', since: time(10) } } };
    expect(fieldsOf(change, late).cost).toMatchObject({ since: time(10) });
  });
});

describe('the service’s word', () => {
  test('is that of provisioning before there is one, and of bearable length', () => {
    expect(shownStatus(row({ state: 'pending' }))).toBe('provisioning');
    expect(shownStatus(row({ marketStatus: 'x'.repeat(99) }))).toHaveLength(64);
  });

  test('counts since it was first recorded, or else since the list that showed it', () => {
    const running = given(withMachine());
    expect(statusSince(running, row())).toBe(at(-240));
    expect(statusSince(given(withMachine({}, { status: { actualStatusSince: undefined } })), row())).toBe(
      NOW,
    );
    expect(statusSince(running, row({ state: 'exited' }))).toBe(at(-1));
    expect(statusSince(given({ ...withMachine(), list: 'none' }), row({ state: 'exited' }))).toBe(NOW);
  });

  test.each<readonly [string, Given, number]>([
    [
      'what this process saw',
      { memory: { seenStatus: { state: 'running', marketStatus: 'running', since: at(-30) } } },
      at(-30),
    ],
    [
      'the record',
      { memory: { seenStatus: { state: 'exited', marketStatus: 'exited', since: at(-30) } } },
      at(-240),
    ],
    ['the list', { status: { actualStatus: 'exited' } }, at(-2)],
    ['this moment', { status: { actualStatus: 'exited' }, list: 'none' }, NOW],
  ])('counts in steady time since %s', (_, situation, since) => {
    const list = situation.list ?? { begunSteady: at(-2) };
    expect(statusSeenSince(given(withMachine({}, { ...situation, list })), row())).toBe(since);
  });
});

describe('a timeout', () => {
  const watched = (seconds: number | undefined) =>
    given({ memory: { watchedSince: seconds === undefined ? undefined : at(seconds) } });

  test.each([
    ['counts from its beginning', undefined, 300_000, at(200)],
    ['does not strike in the first minute of a process', -10, 100_000, at(50)],
    ['is as short as it is told, in the first minute too', -10, 20_000, at(10)],
  ])('%s', (_, since, timeoutMs, expected) => {
    expect(deadlineAfter(watched(since), at(-100), timeoutMs)).toBe(expected);
  });

  test.each<readonly [string, Given, number | undefined, number]>([
    ['what this process knows', { memory: { rentedSince: at(-50) } }, at(-40), at(-50)],
    ['the service’s word', {}, at(-40), at(-40)],
    ['the record of its money', {}, undefined, at(-300)],
    ['now', { status: { cost: undefined } }, undefined, NOW],
  ])('begins with %s', (_, situation, startedAt, expected) => {
    expect(rentedSince(given(withMachine({}, situation)), startedAt)).toBe(expected);
  });
});

describe('the fields of a listed machine', () => {
  test('say that the record is not confirmed until the label proves it', () => {
    const facts = given(withMachine());
    const by = (recordProof: RecordProof) => ({ ...facts, machine: { ...facts.machine, recordProof } });
    expect(withRow(by('confirmed'), row())).not.toHaveProperty('unconfirmed');
    expect(withRow(by('unseen'), row()).unconfirmed).toBe(true);
  });

  const priced = (pricing: string) => ({ field: 'pricing', value: pricing });

  test.each([
    [true, 'Interruptible'],
    [false, 'OnDemand'],
  ])('report the pricing of a found machine that is interruptible: %s', (interruptible, pricing) => {
    expect(fieldsOf({ interruptible }, { status: { facts: undefined } }).facts).toEqual(
      expect.arrayContaining([priced(pricing), { field: 'gpuName', value: 'RTX 4090' }]),
    );
  });

  test('report no pricing that the row does not show', () => {
    const found = fieldsOf({ interruptible: undefined }, { status: { facts: undefined } }).facts;
    expect(found?.map(({ field }) => field)).not.toContain('pricing');
  });

  test('report nothing of a found machine while one field is not agreed on', () => {
    const unsettled = new Set(['gpuName'] as const);
    expect(fieldsOf({ unsettled }, { status: { facts: undefined } }).facts).toBeUndefined();
  });

  test('keep what is on record of a machine that was rented', () => {
    const facts = [priced('OnDemand')];
    expect(fieldsOf({ gpuName: 'H100' }, { status: { facts } }).facts).toEqual(facts);
  });

  const reports = { pricePerHour: { value: 1e12, isAgreed: false, isImplausible: true } };
  const offered = { accrued: '0.00', since: time(-300), pricePerHour: '0.50', priceOffered: true };

  test('say that the price is that of the offer while lists contradict it', () => {
    expect(fieldsOf({ reports }, { status: { cost: offered } }).cost?.priceOffered).toBe(true);
    expect(fieldsOf({}, { status: { cost: offered } }).cost).not.toHaveProperty('priceOffered');
  });
});
