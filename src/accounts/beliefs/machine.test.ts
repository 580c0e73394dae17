import { describe, expect, test } from 'vitest';
import { at, holding, row, time } from '../../../test/builders/observed.ts';
import type { GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import {
  afterRead,
  believe,
  IMPLAUSIBLE_MS,
  listsAgree,
  type Machine,
  needsRead,
  readAgrees,
  unrecorded,
} from './machine.ts';
import type { Agreement, WatchedField } from './sightings.ts';

const POLL_MS = 10_000;

/** `undefined`: no complete list shows the value. */
type Held = Partial<Record<WatchedField, number | undefined>>;

/** Lists that agree on every field for an hour but on these. */
const agreeing = (held: Held = {}): Agreement => ({
  spacingMs: POLL_MS,
  heldMs: (field) => (field in held ? held[field] : 3_600_000),
});

const costOf = (pricePerHour: string) => ({
  pricePerHour,
  storagePricePerHour: '0.01',
  accrued: '0.00',
  since: time(-300),
});

const believed = (change: Partial<Machine>, held: Held = {}, status: Partial<GpuInstanceStatus> = {}) =>
  believe(row(change), agreeing(held), { status: holding(status), issuedAt: at(-301) });

describe('the price of a machine', () => {
  test('is the one on record when one list shows another (A1, A2, A4)', () => {
    expect(believed({ pricePerHour: 1_200_000 }, { pricePerHour: 0 })).toMatchObject({
      pricePerHour: 500_000,
      reports: { pricePerHour: { value: 1_200_000, isAgreed: false } },
    });
  });

  test('waits for a read when two lists a poll apart agree (A1)', () => {
    const machine = believed({ pricePerHour: 1_200_000 }, { pricePerHour: POLL_MS });
    expect(machine).toMatchObject({ pricePerHour: 500_000, reports: { pricePerHour: { isAgreed: true } } });
    expect(needsRead(machine)).toBe(true);
  });

  test('changes when the read agrees with the lists (A1)', () => {
    const machine = believed({ pricePerHour: 1_200_000 }, { pricePerHour: POLL_MS });
    expect(afterRead(machine, row({ pricePerHour: 1_200_000 }))).toMatchObject({
      pricePerHour: 1_200_000,
      reports: {},
    });
  });

  test('stays when the read contradicts the lists (A1)', () => {
    const machine = believed({ pricePerHour: 1_200_000 }, { pricePerHour: POLL_MS });
    expect(afterRead(machine, row({ pricePerHour: 500_000 }))).toBe(machine);
  });

  test('stays when a read agrees with one list (A1)', () => {
    const machine = believed({ pricePerHour: 1_200_000 }, { pricePerHour: 0 });
    expect(afterRead(machine, row({ pricePerHour: 1_200_000 }))).toBe(machine);
  });

  test('needs ten minutes of agreement above three times the offer (A1)', () => {
    const dear = (heldMs: number) => believed({ pricePerHour: 1_500_001 }, { pricePerHour: heldMs });
    expect(dear(IMPLAUSIBLE_MS - 1).reports.pricePerHour).toMatchObject({
      isAgreed: false,
      isImplausible: true,
    });
    expect(dear(IMPLAUSIBLE_MS).reports.pricePerHour?.isAgreed).toBe(true);
  });

  test.each([
    ['no list was believed before', {}],
    ['lists contradicted the offer from the first on', { pricePerHour: '0.50', priceOffered: true }],
  ])('far above the offer needs two lists and a read when %s (A1)', (_, known) => {
    const status = { cost: { ...known, accrued: '0.00', since: time(-300) } };
    const machine = believed({ pricePerHour: 25_000_000 }, { pricePerHour: POLL_MS }, status);
    expect(machine.pricePerHour).toBe(500_000);
    expect(machine.reports.pricePerHour).toMatchObject({ isAgreed: true, isImplausible: false });
    expect(afterRead(machine, row({ pricePerHour: 25_000_000 })).pricePerHour).toBe(25_000_000);
  });

  test.each([
    { shown: 525_000, expected: 525_000, offered: 'at most 5 % above' },
    { shown: 525_001, expected: 500_000, offered: 'more than 5 % above' },
    { shown: 475_000, expected: 475_000, offered: 'at most 5 % below' },
    { shown: 474_999, expected: 500_000, offered: 'more than 5 % below' },
    { shown: 1_000_000, expected: 500_000, offered: 'far above' },
    { shown: 100_000, expected: 500_000, offered: 'far below' },
  ])('is $expected when the first list is $offered the offer (A1)', ({ shown, expected }) => {
    const first = { cost: { accrued: '0.00', since: time(-300) } };
    expect(believed({ pricePerHour: shown }, { pricePerHour: 0 }, first).pricePerHour).toBe(expected);
  });

  test.each([
    { recorded: '0.50', offered: '0.50', shown: 1_500_000, isImplausible: false },
    { recorded: '0.50', offered: '0.50', shown: 1_500_001, isImplausible: true },
    { recorded: '0.20', offered: '0.50', shown: 1_500_000, isImplausible: false },
    { recorded: '0.20', offered: '0.50', shown: 1_500_001, isImplausible: true },
    { recorded: '0.50', offered: '0.20', shown: 1_500_000, isImplausible: false },
    { recorded: '0.50', offered: '0.20', shown: 1_500_001, isImplausible: true },
    { recorded: '0.50', offered: undefined, shown: 1_500_000, isImplausible: false },
    { recorded: '0.50', offered: undefined, shown: 1_500_001, isImplausible: true },
  ])(
    'of $shown is implausible: $isImplausible, with $recorded on record and an offer of $offered (A1)',
    ({ recorded, offered, shown, isImplausible }) => {
      const status = { cost: costOf(recorded), offerPricePerHour: offered } as object;
      const { reports } = believed({ pricePerHour: shown }, { pricePerHour: POLL_MS }, status);
      expect(reports.pricePerHour).toEqual({ value: shown, isAgreed: !isImplausible, isImplausible });
    },
  );

  const HELD = { cost: costOf('0.50') };
  const FIRST = { cost: { accrued: '0.00', since: time(-300) } };
  const DISK = { actualStatus: 'offline', cost: costOf('0.01') };
  test.each([
    { when: 'is 0', status: HELD, shown: 0, isImplausible: true },
    { when: 'is a third of the confirmed one', status: HELD, shown: 170_000, isImplausible: false },
    { when: 'is below that', status: HELD, shown: 166_666, isImplausible: true },
    { when: 'is the first, and below a third of the offer', status: FIRST, shown: 1, isImplausible: true },
    { when: 'is the first, and half the offer', status: FIRST, shown: 250_000, isImplausible: false },
    { when: 'is below a third of the offer of a stopped one', status: DISK, shown: 1, isImplausible: true },
    {
      when: 'comes back to the offer',
      status: { cost: costOf('25.00') },
      shown: 510_000,
      isImplausible: false,
    },
  ])('counts after ten minutes, not two lists, when it $when: $isImplausible (A1)', (row) => {
    const { status, shown, isImplausible } = row;
    const reportAfter = (heldMs: number) =>
      believed({ pricePerHour: shown }, { pricePerHour: heldMs }, status as object).reports.pricePerHour;
    expect(reportAfter(POLL_MS)).toEqual({ value: shown, isAgreed: !isImplausible, isImplausible });
    expect(reportAfter(IMPLAUSIBLE_MS)).toEqual({ value: shown, isAgreed: true, isImplausible });
  });

  const OFFERED = 500_000;
  test.each([
    { name: 'the confirmed one', cost: costOf('0.70'), expected: 700_000 },
    { name: 'the offer when no cost is on record', cost: undefined, expected: OFFERED },
    {
      name: 'the offer when the record is that of the disk',
      actualStatus: 'offline',
      cost: costOf('0.01'),
      expected: OFFERED,
    },
    {
      name: 'the offer when the machine was stopped',
      actualStatus: 'stopped',
      cost: costOf('0.30'),
      expected: OFFERED,
    },
  ])('stays $name when one list shows another price (A1)', ({ name: _, expected, ...status }) => {
    const machine = believed({ pricePerHour: 900_000 }, { pricePerHour: 0 }, status as object);
    expect(machine.pricePerHour).toBe(expected);
    expect(machine.reports.pricePerHour).toMatchObject({ value: 900_000, isAgreed: false });
  });

  test('is not that of the disk when the machine runs, and needs two lists and a read (seed 1011)', () => {
    const status = { actualStatus: 'running', offerPricePerHour: undefined, cost: costOf('0.01') } as object;
    const machine = believed({ pricePerHour: 500_000 }, { pricePerHour: POLL_MS }, status);
    expect(machine.pricePerHour).toBeUndefined();
    expect(machine.reports.pricePerHour).toEqual({ value: 500_000, isAgreed: true, isImplausible: false });
  });

  test('is exactly the confirmed one when one list shows a close price', () => {
    expect(believed({ pricePerHour: 510_000 }, { pricePerHour: 0 }).pricePerHour).toBe(500_000);
  });

  test.each([
    ['shows the price on record', 500_000],
    ['leaves the price out', undefined],
  ])('has no report when a list %s', (_, shown) => {
    const machine = believed({ pricePerHour: shown }, { pricePerHour: 0 });
    expect(machine).toMatchObject({ pricePerHour: 500_000, reports: {} });
    expect(machine.reports).toEqual({});
  });

  test('is not agreed when no complete list shows it, however close lists may be', () => {
    const agreement = { ...agreeing({ pricePerHour: undefined }), spacingMs: 0 };
    const record = { status: holding(), issuedAt: at(-301) };
    const machine = believe(row({ pricePerHour: 600_000 }), agreement, record);
    expect(machine.reports.pricePerHour?.isAgreed).toBe(false);
    expect(machine.unsettled.has('pricePerHour')).toBe(true);
  });

  test('is unknown when one list names it and nothing else is on record', () => {
    const status = { offerPricePerHour: undefined, cost: { accrued: '0.00', since: time(-300) } } as object;
    expect(believed({ pricePerHour: 1e12 }, { pricePerHour: 0 }, status).pricePerHour).toBeUndefined();
  });
});

describe('the price of a disk', () => {
  const UNKNOWN = { cost: { pricePerHour: '0.50', accrued: '0.00', since: time(-300) } };

  test.each([
    { shown: 499_999, expected: 499_999 },
    { shown: 500_000, expected: 500_000 },
    { shown: 500_001, expected: undefined },
    { shown: 1e12, expected: undefined },
  ])('is $expected when the first list shows $shown, and the machine costs 500000 (A1)', (row) => {
    const machine = believed({ storagePricePerHour: row.shown }, { storagePricePerHour: 0 }, UNKNOWN);
    expect(machine.storagePricePerHour).toBe(row.expected);
    expect(machine.reports.storagePricePerHour?.isImplausible).toBe(row.expected ? undefined : true);
  });

  test('is that of the first list when no price of the machine is known', () => {
    const status = { cost: undefined, offerPricePerHour: undefined } as object;
    const machine = believed({ storagePricePerHour: 20_000 }, { storagePricePerHour: 0 }, status);
    expect(machine.storagePricePerHour).toBe(20_000);
  });

  test('is the one on record until two lists and a read show another (A1)', () => {
    const shown = (heldMs: number) =>
      believed({ storagePricePerHour: 20_000 }, { storagePricePerHour: heldMs });
    const report = { value: 20_000, isImplausible: false };
    expect(shown(0)).toMatchObject({
      storagePricePerHour: 10_000,
      reports: { storagePricePerHour: { ...report, isAgreed: false } },
    });
    const agreed = shown(POLL_MS);
    expect(agreed).toMatchObject({
      storagePricePerHour: 10_000,
      reports: { storagePricePerHour: { ...report, isAgreed: true } },
    });
    expect(afterRead(agreed, row({ storagePricePerHour: 20_000 })).storagePricePerHour).toBe(20_000);
  });

  test('has no report when lists show the one on record', () => {
    expect(believed({ storagePricePerHour: 10_000 }, { storagePricePerHour: 0 }).reports).toEqual({});
  });
});

describe('the start of a machine', () => {
  test('is the one on record when one list shows another (A1)', () => {
    expect(believed({ startedAt: at(-90_000) }, { startedAt: 0 })).toMatchObject({
      startedAt: at(-300),
      reports: { startedAt: { isAgreed: false, isImplausible: true } },
    });
  });

  test('is unknown when the first list shows one before the rental (A1)', () => {
    const status = { rentedAt: undefined } as object;
    const machine = believed({ startedAt: at(-90_000) }, { startedAt: POLL_MS }, status);
    expect(machine.startedAt).toBeUndefined();
    expect(machine.reports.startedAt?.isAgreed).toBe(false);
  });

  const SKEWED = at(-361);
  test.each([
    {
      when: 'more than a minute before the rental',
      shown: SKEWED - 1,
      issuedAt: at(-301),
      isImplausible: true,
    },
    { when: 'a minute before the rental', shown: SKEWED, issuedAt: at(-301), isImplausible: false },
    { when: 'after the rental', shown: at(-200), issuedAt: at(-301), isImplausible: false },
    { when: 'long ago, of an unknown rental', shown: at(-90_000), issuedAt: undefined, isImplausible: false },
  ])('$when is implausible: $isImplausible (A1)', ({ shown, issuedAt, isImplausible }) => {
    const agreement = agreeing({ startedAt: POLL_MS });
    const known = believe(row({ startedAt: shown }), agreement, { status: holding(), issuedAt });
    expect(known.startedAt).toBe(at(-300));
    expect(known.reports.startedAt).toEqual({ value: shown, isAgreed: !isImplausible, isImplausible });
    const unknown = { status: { ...holding(), rentedAt: undefined } as object, issuedAt };
    const first = believe(row({ startedAt: shown }), agreeing({ startedAt: 0 }), unknown);
    expect(first.startedAt).toBe(isImplausible ? undefined : shown);
  });

  test('is the listed one when it lies in the second on record', () => {
    const machine = believed({ startedAt: at(-300) + 999 }, { startedAt: 0 });
    expect(machine).toMatchObject({ startedAt: at(-300) + 999, reports: {} });
    expect(machine.reports).toEqual({});
  });
});

describe('a read', () => {
  /** Lists agree on another price, and not yet on another start. */
  const reported = believed(
    { pricePerHour: 700_000, startedAt: at(-200) },
    { pricePerHour: POLL_MS, startedAt: 0 },
  );

  test('is needed when lists agree on one of two reports', () => {
    expect(needsRead(reported)).toBe(true);
  });

  test('is not needed when lists agree on no report', () => {
    expect(needsRead(believed({ pricePerHour: 700_000 }, { pricePerHour: 0 }))).toBe(false);
    expect(needsRead(believed({}))).toBe(false);
  });

  test('settles the report that lists agree on, and no other (A1)', () => {
    const read = afterRead(reported, row({ pricePerHour: 700_000, startedAt: at(-200) }));
    expect(read).toMatchObject({ pricePerHour: 700_000, startedAt: at(-300) });
    expect(read.reports).toEqual({ startedAt: reported.reports.startedAt });
  });

  test('settles all reports that lists agree on (A1)', () => {
    const change = { pricePerHour: 700_000, startedAt: at(-200) };
    const machine = believed(change, { pricePerHour: POLL_MS, startedAt: POLL_MS });
    const read = afterRead(machine, row(change));
    expect(read).toMatchObject(change);
    expect(read.reports).toEqual({});
  });
});

describe('the end of a rental contract', () => {
  const ENDS = { contractEnd: { at: time(86_400) } };

  test.each([
    ['another one', { endsAt: at(-60) }],
    ['none', { endsAt: undefined }],
  ])('is the one on record until two lists show %s (B14)', (_, change) => {
    expect(believed(change, { endsAt: 0 }, ENDS).endsAt).toBe(at(86_400));
    expect(believed(change, { endsAt: POLL_MS }, ENDS).endsAt).toBe(change.endsAt);
  });

  test('is shown by the first list and is not settled (B14)', () => {
    const machine = believed({ endsAt: at(-60) }, { endsAt: 0 });
    expect(machine.endsAt).toBe(at(-60));
    expect(listsAgree(machine, 'contract')).toBe(false);
  });
});

describe('what a machine is', () => {
  const GPU = { gpu: { name: 'RTX 4090', count: 1, memory: '24000M' } };

  test.each([
    ['gpuName', 'RTX 3090', 'RTX 4090'],
    ['gpuCount', 0, 1],
    ['gpuMemoryMB', 8_000, 24_000],
    ['machineId', '7', '1100'],
    ['hostId', '7', '2100'],
  ] as const)('keeps %s on record until two lists agree on another (B13)', (field, shown, known) => {
    expect(believed({ [field]: shown }, { [field]: 0 }, GPU)[field]).toBe(known);
    expect(believed({ [field]: shown }, { [field]: POLL_MS }, GPU)[field]).toBe(shown);
  });

  test.each(['gpuName', 'gpuCount', 'gpuMemoryMB', 'machineId', 'hostId'] as const)(
    'takes %s of a list when none is on record',
    (field) => {
      const status = { gpu: undefined, machineId: undefined, hostId: undefined } as object;
      expect(believed({}, { [field]: 0 }, status)[field]).toBe(row()[field]);
    },
  );

  test.each(['gpuName', 'gpuCount', 'gpuMemoryMB'] as const)(
    'leaves %s out when a list leaves it out',
    (field) => {
      expect(believed({ [field]: undefined }, { [field]: 0 }, GPU)[field]).toBeUndefined();
    },
  );

  test.each([undefined, '8G', '8000Mi', '>8000M'])(
    'takes the memory of a list when the record says %s',
    (memory) => {
      const status = { gpu: { ...GPU.gpu, memory } } as object;
      expect(believed({}, { gpuMemoryMB: 0 }, status).gpuMemoryMB).toBe(24_000);
    },
  );

  const ADDRESS = {
    publicAddress: '203.0.113.5',
    ssh: { host: '203.0.113.5', port: 20_022 },
    ports: [{ containerPort: 8080, protocol: 'TCP' as const, publicPort: 20_001 }],
  };

  test('keeps the address of a running machine until two lists agree on another', () => {
    const change = { publicAddress: '198.51.100.9', ports: { '8080/tcp': 9 } };
    expect(believed(change, { address: 0 }, ADDRESS)).toMatchObject({
      publicAddress: '203.0.113.5',
      ports: { '8080/tcp': 20_001 },
    });
    expect(believed(change, { address: POLL_MS }, ADDRESS)).toMatchObject(change);
  });

  const TWO_PORTS = {
    ...ADDRESS,
    ports: [...ADDRESS.ports, { containerPort: 9090, protocol: 'UDP' as const, publicPort: 20_002 }],
  };
  const MAPPED = { '8080/tcp': 20_001, '9090/udp': 20_002 };

  test.each([
    ['a public address', { publicAddress: '198.51.100.9' }],
    ['an SSH host', { sshHost: '198.51.100.9' }],
    ['an SSH port', { sshPort: 9 }],
    ['one of two ports', { ports: { ...MAPPED, '9090/udp': 9 } }],
    ['a port less', { ports: { '8080/tcp': 20_001 } }],
  ] as const)('keeps all of the address when one list shows another in %s', (_, change) => {
    const shown = { ports: MAPPED, ...change };
    expect(believed(shown, { address: 0 }, TWO_PORTS)).toMatchObject({
      publicAddress: '203.0.113.5',
      sshHost: '203.0.113.5',
      sshPort: 20_022,
      ports: MAPPED,
    });
    expect(believed(shown, { address: POLL_MS }, TWO_PORTS)).toMatchObject(shown);
  });

  const MOVED = { publicAddress: '198.51.100.9', sshHost: '198.51.100.9' };
  test.each([
    [
      'a public address',
      { ...ADDRESS, ssh: undefined },
      { publicAddress: '203.0.113.5', sshHost: undefined },
    ],
    ['an SSH address', { ...ADDRESS, publicAddress: undefined }, { sshHost: '203.0.113.5', sshPort: 20_022 }],
  ])('keeps the address of which %s is on record', (_, status, kept) => {
    expect(believed(MOVED, { address: 0 }, status as object)).toMatchObject(kept);
  });

  test('keeps an address without SSH when one list adds SSH on the same host', () => {
    const status = { ...ADDRESS, ssh: undefined } as object;
    expect(believed({}, { address: 0 }, status)).toMatchObject({ sshHost: undefined, sshPort: undefined });
    expect(believed({}, { address: POLL_MS }, status)).toMatchObject({ sshHost: '203.0.113.5' });
  });

  test.each([
    ['the machine does not run', { ...MOVED, state: 'loading' }, ADDRESS],
    ['the machine did not run', MOVED, { ...ADDRESS, actualStatus: 'loading' }],
    ['no address is on record', MOVED, { publicAddress: undefined, ssh: undefined, ports: ADDRESS.ports }],
  ] as const)('takes the address of one list when %s', (_, change, status) => {
    expect(believed(change, { address: 0 }, status as object)).toMatchObject(MOVED);
  });

  test('takes further ports of the same address at once', () => {
    const ports = { '8080/tcp': 20_001, '9090/tcp': 20_002 };
    expect(believed({ ports }, { address: 0 }, ADDRESS).ports).toEqual(ports);
  });
});

describe('an end', () => {
  test('by state needs two lists a poll apart', () => {
    expect(listsAgree(believed({ state: 'exited' }, { state: 0 }), 'status')).toBe(false);
    expect(listsAgree(believed({ state: 'exited' }, { state: POLL_MS }), 'status')).toBe(true);
  });

  test('by label needs lists that agree on label and start (A3)', () => {
    const held = (field: WatchedField) => unrecorded(row(), agreeing({ [field]: 0 }));
    expect(listsAgree(held('label'), 'label')).toBe(false);
    expect(listsAgree(held('startedAt'), 'label')).toBe(false);
    expect(listsAgree(held('hostId'), 'label')).toBe(true);
  });

  test.each([
    ['status', { state: 'running' }, false],
    ['status', { state: 'offline' }, false],
    ['status', { state: 'broken' }, true],
    ['contract', {}, true],
    ['contract', { endsAt: 1 }, false],
    ['contract', { state: 'running' }, false],
    ['label', { label: 'other' }, false],
    ['label', { startedAt: 1 }, false],
    ['label', {}, true],
    ['price', { pricePerHour: 1 }, false],
    ['price', {}, true],
    ['presence', { state: 'running' }, true],
  ] as const)('by %s agrees with a read that differs in %j: %s', (ground, change, agrees) => {
    const machine = row({ state: 'exited' });
    expect(readAgrees(machine, { ...machine, ...change }, ground)).toBe(agrees);
  });
});
