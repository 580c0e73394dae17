import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../api/v1alpha1/names.ts';
import { Secret } from '../lib/secret.ts';
import { writeIntent } from '../ownership/intent.ts';
import type { KeyRing } from '../ownership/key-ring.ts';
import { monthName, monthStart, spentThisMonth } from './cost.ts';
import { hasAgingIntent, summarize, summaryAt } from './summary.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');

function instance(status: object, metadata: object = {}, spec: object = {}): GpuInstance {
  return {
    apiVersion: 'gpurental.dev/v1alpha1',
    kind: 'GpuInstance',
    metadata: {
      namespace: 'team',
      name: 'a',
      uid: 'u',
      creationTimestamp: '2026-11-20T08:00:00Z',
      ...metadata,
    },
    spec: { accountRef: { name: 'default' }, ...spec },
    status,
  } as GpuInstance;
}

const KEYS: KeyRing = [new Secret('1'.repeat(64))];

function withIntent(attempt: number, status: object = {}): GpuInstance {
  const issuedAt = NOW - 5;
  const facts = { uid: 'u', offer: '1', generation: 1, spec: 'h', login: 'l', deadline: issuedAt };
  const text = writeIntent(KEYS, { ...facts, attempt, issuedAt });
  return instance(status, { annotations: { [annotations.rentalIntent]: text } });
}

/** Returns a fresh copy, as from the API server: no cached parse of another object applies. */
const seen = (object: GpuInstance, now: number) => summarize(structuredClone(object), now, KEYS);

test('the newest rental is that of its intent or of its machine, by the clock of the service', () => {
  expect(seen(withIntent(1), NOW)).toMatchObject({
    hasOpenIntent: true,
    hasProvenIntent: true,
    newestRentalAt: NOW - 5,
  });
  expect(seen(withIntent(1, { attempt: 1 }), NOW)).toMatchObject({
    hasOpenIntent: false,
    hasProvenIntent: true,
  });
  const rentals = ['2026-11-20T11:00:00Z', '2026-11-20T11:30:00Z'];
  expect(seen(instance({ rentals }), NOW).newestRentalAt).toBeUndefined();
  expect(seen(instance({ rentals, rentedAt: rentals[0] }), NOW).newestRentalAt).toBe(
    Date.parse(rentals[0] ?? ''),
  );
  expect(seen(instance({}), NOW).newestRentalAt).toBeUndefined();
});

describe('what it spent this month', () => {
  const cost = (changes: object) => ({
    accrued: '10.00',
    pricePerHour: '1.00',
    since: '2026-11-20T10:00:00Z',
    ...changes,
  });
  const old = { creationTimestamp: '2026-10-01T00:00:00Z' };

  test.each([
    ['of an object of this month everything, up to now', instance({ cost: cost({}) }), 12_000_000],
    [
      'of an older one what accrued since the month began',
      instance({ cost: cost({ accrued: '9000.00', accruedBeforeMonth: '8990.00' }) }, old),
      12_000_000,
    ],
    [
      'of an older one nothing that accrued until an earlier month',
      instance({ cost: cost({ accrued: '9000.00', since: '2026-10-31T23:59:59Z' }) }, old),
      468_000_000,
    ],
    [
      'of an older one nothing where more than all is said to be of earlier months',
      instance({ cost: cost({ pricePerHour: '0.00', accruedBeforeMonth: '10.01' }) }, old),
      0,
    ],
    [
      'of an older one everything where nothing proves it to be of earlier months',
      instance({ cost: cost({ accrued: '9000.00' }) }, old),
      9_002_000_000,
    ],
    [
      'of an older one that holds a machine, everything but what remembered machines prove',
      instance(
        {
          instanceId: '7',
          cost: cost({ accrued: '9000.00' }),
          history: [
            { endedAt: '2026-10-30T00:00:00Z', cost: '7.00' },
            { endedAt: '2026-11-03T00:00:00Z', cost: '4.00' },
          ],
        },
        old,
      ),
      8_995_000_000,
    ],
    [
      'of an older one without a machine everything, where all that it remembers ended this month',
      instance(
        {
          cost: { accrued: '300.00' },
          history: [15, 16, 17, 18, 19].map((day) => ({
            endedAt: `2026-11-${day}T00:00:00Z`,
            cost: '10.00',
          })),
        },
        old,
      ),
      300_000_000,
    ],
    [
      'of an older one without a machine nothing, where the last that it had ended before the month',
      instance(
        { cost: { accrued: '300.00' }, history: [{ endedAt: '2026-10-31T23:59:59Z', cost: '10.00' }] },
        old,
      ),
      0,
    ],
    [
      'of an older one without a machine, what its machines of this month cost',
      instance(
        {
          cost: { accrued: '9000.00' },
          history: [
            { endedAt: '2026-10-29T00:00:00Z', cost: '6.00' },
            { endedAt: '2026-10-30T00:00:00Z', cost: '7.00' },
            { endedAt: '2026-11-03T00:00:00Z', cost: '4.00' },
          ],
        },
        old,
      ),
      4_000_000,
    ],
    [
      'of one of this month everything, whatever its price says now',
      instance({ cost: cost({ accrued: '9000.00' }) }),
      9_002_000_000,
    ],
    [
      'of one that is as old as the month everything',
      instance({ cost: cost({ accrued: '9000.00' }) }, { creationTimestamp: '2026-11-01T00:00:00Z' }),
      9_002_000_000,
    ],
    [
      'of an older one also what ended as the month began',
      instance(
        { cost: { accrued: '4.00' }, history: [{ endedAt: '2026-11-01T00:00:00Z', cost: '4.00' }] },
        old,
      ),
      4_000_000,
    ],
    [
      'of an older one everything, where a machine cost nobody knows what',
      instance({ cost: { accrued: '9000.00' }, history: [{ endedAt: '2026-11-03T00:00:00Z' }] }, old),
      9_000_000_000,
    ],
    ['nothing, of an older one that never rented', instance({}, old), 0],
    ['nothing, before it rented', instance({}), 0],
  ])('%s', (_, object, spent) => {
    expect(seen(object, NOW).spentThisMonth).toBe(spent);
  });

  test('ends with the moment at which its machine stopped billing, and the month is that of now', () => {
    const HOUR = 3_600_000;
    expect(spentThisMonth(instance({ cost: cost({}) }), NOW, NOW - HOUR)).toBe(11_000_000);
    const october = instance({ cost: cost({ since: '2026-10-31T12:00:00Z' }) }, old);
    expect(spentThisMonth(october, NOW, Date.parse('2026-10-31T20:00:00Z'))).toBe(0);
    expect(spentThisMonth(october, NOW, Date.parse('2026-11-01T03:00:00Z'))).toBe(3_000_000);
  });
});

test('a time that cannot be read counts from the beginning of the month', () => {
  const cost = { pricePerHour: '1.00', accrued: '0.00', since: 'never' };
  const object = instance({ cost }, { creationTimestamp: '2026-11-01T00:00:00Z' });
  expect(spentThisMonth(object, monthStart(NOW) + 7_200_000)).toBe(2_000_000);
});

test('counts a price only while the object has a machine', () => {
  const cost = { accrued: '0.00', pricePerHour: '2.00' };
  expect(seen(instance({ cost, instanceId: '5' }), NOW).pricePerHour).toBe(2_000_000);
  expect(seen(instance({ cost }), NOW).pricePerHour).toBe(0);
});

test('a machine whose price no list has shown counts at that of its offer', () => {
  const held = { instanceId: '5', offerPricePerHour: '3.00' };
  expect(seen(instance({ ...held, cost: { accrued: '0.00' } }), NOW).pricePerHour).toBe(3_000_000);
  expect(seen(instance(held), NOW).pricePerHour).toBe(3_000_000);
  expect(seen(instance({ ...held, cost: { pricePerHour: '0.00' } }), NOW).pricePerHour).toBe(0);
  expect(seen(instance({ offerPricePerHour: '3.00' }), NOW).pricePerHour).toBe(0);
});

test('counts a machine without a price at the highest price that it may cost (S4, L3)', () => {
  const offers = [{ allowUnknownPrice: true, maxPricePerHour: '2.00' }];
  const held = { instanceId: '5', cost: { accrued: '0.00', since: '2026-11-20T11:00:00Z' } };
  const view = seen(instance(held, {}, { offers }), NOW);
  expect(view).toMatchObject({ pricePerHour: 2_000_000, spentThisMonth: 2_000_000, hasUnknownPrice: true });
  const unlimited = seen(instance(held, {}, { offers: [{ allowUnknownPrice: true }] }), NOW);
  expect(unlimited).toMatchObject({ pricePerHour: 0, hasUnknownPrice: true });
  const told = { ...held, cost: { ...held.cost, pricePerHour: '0.50' } };
  expect(seen(instance(told, {}, { offers }), NOW)).toMatchObject({
    pricePerHour: 500_000,
    hasUnknownPrice: false,
  });
  expect(seen(instance({}, {}, { offers }), NOW)).toMatchObject({ pricePerHour: 0, hasUnknownPrice: false });
});

describe('an open start', () => {
  const disk = { pricePerHour: '0.01', storagePricePerHour: '0.01', accrued: '0.00' };
  const asleep = { instanceId: '5', startRequestedAt: '2026-11-20T11:00:00Z', cost: disk };
  const isOpen = (change: object) => seen(instance({ ...asleep, ...change }), NOW).hasOpenStart;

  test('is one whose machine is on record at the price of its disk', () => {
    expect(isOpen({})).toBe(true);
  });

  test.each([
    ['was not requested', { startRequestedAt: undefined }],
    ['has no machine', { instanceId: undefined }],
    ['is on record at the running price', { cost: { ...disk, pricePerHour: '1.00' } }],
    ['has no price on record', { cost: { storagePricePerHour: '0.01', accrued: '0.00' } }],
  ])('is none that %s', (_, change) => {
    expect(isOpen(change)).toBe(false);
  });
});

test.each([
  [
    'what the dearest alternative may cost',
    [{ maxPricePerHour: '1.00' }, { maxPricePerHour: '2.50' }],
    2_500_000,
  ],
  ['no limit where an alternative has none', [{ maxPricePerHour: '1.00' }, {}], undefined],
  ['no limit without alternatives', [], undefined],
  ['no limit where it takes over a machine', undefined, undefined],
])('an object names %s', (_, offers, most) => {
  expect(seen(instance({}, {}, { offers }), NOW).maxPrice).toBe(most);
});

test('a machine that is being replaced or destroyed is leaving', () => {
  const conditions = (reason: string) => [
    { type: 'Rented', status: 'False', reason, message: '', lastTransitionTime: '' },
  ];
  for (const reason of ['Replacing', 'OldMachineNotGone', 'DestroyFailing']) {
    expect(seen(instance({ conditions: conditions(reason) }), NOW).leaving).toBe(true);
  }
  const both = [...conditions('HostOffline'), ...conditions('Replacing')];
  expect(seen(instance({ conditions: both }), NOW).leaving).toBe(true);
  expect(seen(instance({ conditions: conditions('HostOffline') }), NOW).leaving).toBe(false);
  expect(seen(instance({}), NOW).leaving).toBe(false);
});

test('an object is known by its uid and name, by whether it is being deleted, and how it came by its machine', () => {
  expect(seen(instance({}), NOW)).toMatchObject({
    uid: 'u',
    key: 'team/a',
    deleting: false,
    adopted: undefined,
  });
  const going = instance({}, { deletionTimestamp: '2026-11-20T11:00:00Z' });
  expect(seen(going, NOW).deleting).toBe(true);
  const watching = (policy: string) => instance({}, {}, { adopt: { instanceId: '5', policy } });
  expect(seen(watching('Observe'), NOW).adopted).toBe('Observe');
  expect(seen(watching('Manage'), NOW).adopted).toBe('Manage');
});

test.each([
  ['running', true],
  ['offline', true],
  [undefined, false],
])('knows by its record whether a list has shown its machine: %s', (actualStatus, wasListed) => {
  expect(seen(instance(actualStatus === undefined ? {} : { actualStatus }), NOW).wasListed).toBe(wasListed);
});

test.each([
  ['runs', {}, {}, true],
  ['is to be stopped', { powerState: 'Stopped' }, {}, false],
  ['is paused', { paused: true }, {}, false],
  ['is never replaced', { replacement: { policy: 'Never' } }, {}, false],
  ['is only observed', { adopt: { instanceId: '5', policy: 'Observe' } }, {}, false],
  ['is held', {}, { 'gpurental.dev/hold': '' }, false],
])('is replaceable only if nothing blocks its end: one that %s', (_, spec, annotations, isReplaceable) => {
  const wanted = { powerState: 'Running', paused: false, replacement: { policy: 'Always' } };
  const object = instance({}, { annotations }, { ...wanted, ...spec });
  expect(seen(object, NOW).isReplaceable).toBe(isReplaceable);
});

test('knows when the machine before the present one ended', () => {
  const history = [{ endedAt: '2026-11-20T10:00:00Z' }, { endedAt: '2026-11-20T11:00:00Z' }];
  expect(seen(instance({ history } as never), NOW).lastEndedAt).toBe(Date.parse('2026-11-20T11:00:00Z'));
  expect(seen(instance({}), NOW).lastEndedAt).toBeUndefined();
});

test('dates the end of a vanished machine by its proof, which comes after any hold of the breaker (C2)', () => {
  const history = [{ endedAt: '2026-11-20T10:00:00Z', provenGoneAt: '2026-11-20T11:30:00Z' }];
  expect(seen(instance({ history } as never), NOW).lastEndedAt).toBe(Date.parse('2026-11-20T11:30:00Z'));
});

test('an object that has no status yet has nothing', () => {
  const { status: _none, ...fresh } = instance({}, { creationTimestamp: '2026-10-01T00:00:00Z' });
  expect(seen(fresh as GpuInstance, NOW)).toMatchObject({
    instanceId: undefined,
    claim: undefined,
    leaving: false,
    wasListed: false,
    hasOpenIntent: false,
    pricePerHour: 0,
    rentals: [],
    spentThisMonth: 0,
    newestRentalAt: undefined,
  });
});

test('rentals are those that can be read as times', () => {
  const rentals = ['2026-11-20T11:00:00Z', 'yesterday'];
  expect(seen(instance({ rentals }), NOW).rentals).toEqual([NOW - 3_600_000]);
  expect(seen(instance({}), NOW).rentals).toEqual([]);
});

test('a recorded claim needs an id and a code', () => {
  expect(seen(instance({ instanceId: '5', claim: 'c', attempt: 2 }), NOW).claim).toEqual({
    uid: 'u',
    attempt: 2,
    instanceId: '5',
    claim: 'c',
  });
  expect(seen(instance({ instanceId: '5' }), NOW).claim).toBeUndefined();
  expect(seen(instance({ claim: 'c' }), NOW).claim).toBeUndefined();
  expect(seen(instance({ instanceId: '5', claim: 'c' }, { uid: undefined }), NOW).claim).toBeUndefined();
  expect(seen(instance({ instanceId: '5', claim: 'c' }), NOW).claim).toMatchObject({ attempt: 0 });
});

test('months are those of UTC', () => {
  const lastMoment = Date.parse('2026-11-30T23:59:59.999Z');
  expect([monthName(lastMoment), monthName(lastMoment + 1)]).toEqual(['2026-11', '2026-12']);
  expect(monthStart(lastMoment)).toBe(Date.parse('2026-11-01T00:00:00Z'));
});

test('a summary moved to another time is the summary made at that time, whatever the object', () => {
  const moment = fc.integer({ min: -40 * 86_400, max: 40 * 86_400 }).map((seconds) => NOW + seconds * 1000);
  const text = moment.map((at) => new Date(at).toISOString());
  const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
  const reported = fc.record({ pricePerHour: fc.constantFrom('0.50', '4.00'), since: text });
  const cost = fc.record(
    {
      ...{ accrued: fc.constantFrom('0', '9.00'), pricePerHour: fc.constantFrom('1.00', '2.5') },
      ...{ since: text, accruedBeforeMonth: fc.constantFrom('3.00'), reported },
    },
    { requiredKeys: ['accrued'] },
  );
  const status = fc.record({
    ...{ attempt: maybe(fc.nat(2)), claim: maybe(fc.constant('c')), instanceId: maybe(fc.constant('7')) },
    ...{ cost: maybe(cost), rentals: fc.array(text, { maxLength: 2 }), rentedAt: maybe(text) },
  });
  const ring = fc.constantFrom(KEYS, undefined);
  fc.assert(
    fc.property(status, fc.constantFrom(0, 1, 2), ring, fc.array(moment), (drawn, intent, keys, moments) => {
      const object = intent === 0 ? instance(drawn) : withIntent(intent, drawn);
      let moved = summarize(object, NOW, keys);
      for (const now of moments) {
        moved = summaryAt(moved, object, { now, keys, hasAgingIntent: hasAgingIntent(object, keys) });
        expect(moved).toEqual(summarize(object, now, keys));
      }
    }),
  );
});
