import { describe, expect, test } from 'vitest';
import { offer, spec } from '../../../test/builders/observed.ts';
import type { OfferRequirements } from '../../api/v1alpha1/offer-requirements.ts';
import type { Offer, OfferScalar } from '../../market/offer.ts';
import { toOfferSearch } from '../../markets/vast/offers/offers.ts';
import { offerChecks, offerQuery, totalPrice } from './offers.ts';

function requirements(change: Record<string, unknown>): OfferRequirements {
  const [first] = spec({ offers: [change] }).offers ?? [];
  if (!first) throw new Error('no alternative');
  return first;
}

const context = { limits: {}, diskGB: 32, requiredPorts: {} };

const missed = (change: Record<string, unknown>, candidate: Offer) =>
  offerChecks(requirements(change), context)
    .filter((check) => !check.passes(candidate))
    .map(({ label }) => label);

const EVERYTHING = {
  gpuNames: ['H100', 'A100'],
  gpuCount: 2,
  minGpuMemory: '80G',
  minDirectPorts: 20,
  minReliability: '99.5%',
  regions: ['SE', 'NO'],
  verified: true,
  maxPricePerHour: '0.40',
  filters: [
    { field: 'cpu_cores', operator: 'Gte', value: '32' },
    { field: 'gpu_arch', operator: 'In', values: ['amd', 'intel'] },
  ],
};

/** Offer of which the service reports nothing but its id. */
const NOTHING_TOLD: Offer = {
  ...offer(),
  gpuName: undefined,
  gpuCount: undefined,
  gpuMemoryMB: undefined,
  diskGB: undefined,
  directPorts: undefined,
  reliability: undefined,
  verified: undefined,
  region: undefined,
  pricePerHour: undefined,
  minBid: undefined,
};

describe('what an offer misses', () => {
  test('is said as a person wrote it, all of it', () => {
    const poor = offer({ diskGB: 31, verified: false, fields: { cpu_cores: 16, gpu_arch: 'nvidia' } });
    expect(missed(EVERYTHING, poor)).toEqual([
      'gpuNames H100, A100',
      'gpuCount 2',
      'minGpuMemory 80G',
      'minDirectPorts 20',
      'disk 32G',
      'minReliability 99.5%',
      'regions SE, NO',
      'verified true',
      'maxPricePerHour 0.40',
      'filter cpu_cores Gte 32',
      'filter gpu_arch In amd, intel',
    ]);
  });

  test('is nothing that the service does not state, but for the price', () => {
    expect(missed(EVERYTHING, NOTHING_TOLD)).toEqual(['allowUnknownPrice false']);
    expect(missed({ ...EVERYTHING, allowUnknownPrice: true }, NOTHING_TOLD)).toEqual([]);
  });

  test.each([
    ['US', []],
    ['California, US', []],
    ['Paris, Texas , US ', []],
    ['US, Nowhere', ['regions US']],
    ['', ['regions US']],
  ])('of a region is judged by the country of "%s"', (region, expected) => {
    expect(missed({ regions: ['US'] }, offer({ region }))).toEqual(expected);
  });

  test.each([
    ['0.09', ['bid 0.09']],
    ['0.10', []],
  ])('is a bid that is not enough: %s', (bid, expected) => {
    expect(missed({ pricing: 'Interruptible', bid }, offer({ minBid: 100_000 }))).toEqual(expected);
    expect(missed({ pricing: 'Interruptible', bid }, NOTHING_TOLD)).toEqual([]);
  });
});

describe('a filter', () => {
  const passes = (filter: Record<string, unknown>, told: OfferScalar) =>
    missed({ filters: [{ field: 'told', ...filter }] }, offer({ fields: { told } })).length === 0;

  test.each([
    ['Eq', [false, true, false]],
    ['Neq', [true, false, true]],
    ['Gt', [false, false, true]],
    ['Gte', [false, true, true]],
    ['Lt', [true, false, false]],
    ['Lte', [true, true, false]],
  ])('by %s takes what is less, equal and more: %j', (operator, expected) => {
    expect([11, 12, 13].map((told) => passes({ operator, value: '12' }, told))).toEqual(expected);
  });

  test.each(['Gt', 'Gte', 'Lt', 'Lte'])('by %s takes nothing that is null', (operator) => {
    expect(passes({ operator, value: '-1' }, null)).toBe(false);
    expect(passes({ operator, value: '0' }, null)).toBe(false);
    expect(passes({ operator, value: '1' }, null)).toBe(false);
  });

  test.each([
    ['In', 'nvidia', true],
    ['In', 'intel', false],
    ['NotIn', 'nvidia', false],
    ['NotIn', 'intel', true],
  ])('by %s of nvidia and amd for %s is %s', (operator, told, expected) => {
    expect(passes({ operator, values: ['nvidia', 'amd'] }, told)).toBe(expected);
  });
});

const asked = (change: Record<string, unknown>, breadth: 'exact' | 'broad' = 'exact') =>
  offerQuery(requirements({ verified: false, ...change }), context, breadth);

/** Fields that every search here filters by. */
const COMMON = ['rentable', 'gpuCount', 'diskGB'];
const filtersOf = (change: Record<string, unknown>) =>
  asked(change).filters.filter(({ field }) => !COMMON.includes(field));

describe('the service is asked', () => {
  test.each([
    ['true', true],
    ['false', false],
    ['12', 12],
    ['-1', -1],
    ['12.75', 12.75],
    ['535.129.03', '535.129.03'],
    ['v12', 'v12'],
    ['12G', '12G'],
    ['truest', 'truest'],
  ])('for the value "%s" as what it is', (value, expected) => {
    const filters = [{ field: 'driver_version', operator: 'Neq', value }];
    expect(filtersOf({ filters })).toEqual([{ field: 'driver_version', operator: 'neq', value: expected }]);
  });

  test.each([
    ['In', 'in'],
    ['NotIn', 'notin'],
  ])('for a list by %s', (operator, wire) => {
    const filters = [{ field: 'cuda_max_good', operator, values: ['12.4', 'any'] }];
    expect(filtersOf({ filters })).toEqual([
      { field: 'cuda_max_good', operator: wire, value: [12.4, 'any'] },
    ]);
  });

  test('for one of several names by a list, for a single one by its name', () => {
    expect(filtersOf({ gpuNames: ['A', 'B'], regions: ['SE'] })).toEqual([
      { field: 'gpuName', operator: 'in', value: ['A', 'B'] },
      { field: 'region', operator: 'eq', value: 'SE' },
    ]);
  });

  test('for what can be bid on, whatever it costs on demand', () => {
    const bid = { pricing: 'Interruptible', bid: '0.25', maxPricePerHour: '0.40' };
    expect(asked(bid).pricing).toBe('bid');
    expect(filtersOf(bid)).toEqual([{ field: 'minBid', operator: 'lte', value: 250_000 }]);
  });

  test('for offers of any price where an unknown one will do', () => {
    expect(filtersOf({ maxPricePerHour: '0.40' })).toEqual([
      { field: 'pricePerHour', operator: 'lte', value: 400_000 },
    ]);
    expect(filtersOf({ maxPricePerHour: '0.40', allowUnknownPrice: true })).toEqual([]);
  });

  test('for ports by what an object calls them', () => {
    expect(filtersOf({ minDirectPorts: 4 })).toEqual([{ field: 'directPorts', operator: 'gte', value: 4 }]);
  });

  test('in the order wanted, either way', () => {
    const order = [
      { field: 'dlperf', direction: 'Desc' },
      { field: 'pricePerHour', direction: 'Asc' },
    ];
    expect(asked({ order }).order).toEqual([
      { field: 'dlperf', direction: 'desc' },
      { field: 'pricePerHour', direction: 'asc' },
    ]);
  });

  test('for everything that is for rent, to say why nothing matched', () => {
    const { filters, limit } = asked(EVERYTHING, 'broad');
    expect(filters).toEqual([{ field: 'rentable', operator: 'eq', value: true }]);
    expect(limit).toBe(2000);
  });
});

describe('the price of an interruptible machine', () => {
  const priceOf = (storagePricePerHour: number | undefined) =>
    totalPrice(offer({ storagePricePerHour }), requirements({ pricing: 'Interruptible', bid: '0.25' }));

  test.each([
    ['its disk', 20_000, 270_000],
    ['no disk that the service does not tell', undefined, 250_000],
    ['no disk below nothing', -1, 250_000],
  ])('is the bid and %s', (_, storagePricePerHour, expected) => {
    expect(priceOf(storagePricePerHour)).toBe(expected);
  });

  test('is not known without a bid, whatever the offer costs on demand', () => {
    const unbid = { ...requirements({ pricing: 'Interruptible' }), bid: undefined };
    expect(totalPrice(offer({ storagePricePerHour: 20_000 }), unbid)).toBeUndefined();
  });
});

describe('direct ports (S6, D-op1)', () => {
  const missing = (
    wanted: Parameters<typeof offerChecks>[1]['requiredPorts'],
    directPorts: number | undefined,
  ) =>
    offerChecks(requirements({}), { ...context, requiredPorts: wanted })
      .filter((check) => !check.passes({ ...offer({ diskGB: 100 }), directPorts }))
      .map(({ label }) => label);
  const ports = [{ containerPort: 8080, protocol: 'TCP' as const }];

  test.each([
    ['a declared port', { ports }, 0, ['1 direct ports for ports and ssh']],
    ['SSH', { ssh: true }, 0, ['1 direct ports for ports and ssh']],
    ['a declared port and SSH', { ports, ssh: true }, 1, ['2 direct ports for ports and ssh']],
    ['a declared port and SSH', { ports, ssh: true }, 2, []],
    ['port 22 and SSH', { ports: [{ containerPort: 22, protocol: 'TCP' as const }], ssh: true }, 1, []],
    ['nothing', {}, 0, []],
    ['a declared port where nobody tells', { ports }, undefined, []],
  ])('are needed by %s: %j on an offer with %s', (_, wanted, direct, expected) => {
    expect(missing(wanted, direct)).toEqual(expected);
  });

  test('scenario 107: are asked of the search, the larger of both numbers', () => {
    const asked = (change: Record<string, unknown>) =>
      offerQuery(requirements(change), { ...context, requiredPorts: { ports, ssh: true } }, 'exact').filters;
    const least = (value: number) => ({ field: 'directPorts', operator: 'gte', value });
    expect(asked({})).toContainEqual(least(2));
    expect(asked({ minDirectPorts: 1 })).toContainEqual(least(2));
    expect(asked({ minDirectPorts: 5 })).toContainEqual(least(5));
  });
});

describe('whether an offer states what a check asks for', () => {
  const tells = (change: Record<string, unknown>, candidate: Offer) =>
    offerChecks(requirements(change), context)
      .filter((check) => check.isKnown(candidate))
      .map(({ label }) => label);
  const asked = { maxPricePerHour: '0.40', bid: '0.20', pricing: 'Interruptible', verified: false };

  test('is true of all that it names', () => {
    const told = tells(asked, offer({ diskGB: 10, minBid: 100_000 }));
    expect(told).toEqual(expect.arrayContaining(['disk 32G', 'bid 0.20', 'maxPricePerHour 0.40']));
  });

  test('is false of what it leaves out, but for that the price is unknown', () => {
    expect(tells(asked, { ...NOTHING_TOLD })).toContain('allowUnknownPrice false');
    expect(tells({ ...asked, bid: undefined, pricing: 'OnDemand' }, { ...NOTHING_TOLD })).toEqual([
      'allowUnknownPrice false',
    ]);
    expect(tells(asked, { ...NOTHING_TOLD })).not.toEqual(expect.arrayContaining(['disk 32G']));
    expect(tells(asked, { ...NOTHING_TOLD })).not.toEqual(expect.arrayContaining(['bid 0.20']));
  });
});

test('a search for everything is ordered by price, whatever order the alternative asks for', () => {
  const wish = requirements({ order: [{ field: 'reliability', direction: 'Desc' }] });
  expect(offerQuery(wish, context, 'broad').order).toEqual([{ field: 'pricePerHour', direction: 'asc' }]);
  expect(offerQuery(wish, context, 'exact').order).toEqual([{ field: 'reliability', direction: 'desc' }]);
});

test('an unknown price is refused in the name of the account if the object allows it and the account does not', () => {
  const checks = offerChecks(requirements({ allowUnknownPrice: true }), {
    ...context,
    limits: { maxPricePerHour: 1 },
  });
  const [known] = checks.filter(({ kind }) => kind === 'knownPrice');
  expect(known).toMatchObject({ label: 'allowUnknownPrice false of the account' });
  const [own] = offerChecks(requirements({}), context).filter(({ kind }) => kind === 'knownPrice');
  expect(own).toMatchObject({ label: 'allowUnknownPrice false' });
});

test.each(['machineId', 'machine_id'])('a filter by %s compares ids as text', (field) => {
  const apart = requirements({ filters: [{ field, operator: 'NotIn', values: ['12', '13'] }] });
  const [check] = offerChecks(apart, context).slice(-1);
  const passes = (machineId: string | undefined) => check?.passes({ ...offer(), machineId });
  expect([passes('12'), passes('14'), passes(undefined)]).toEqual([false, true, true]);
  const [filter] = check?.filters ?? [];
  expect(filter).toEqual({ field: 'machineId', operator: 'notin', value: ['12', '13'] });
  expect(toOfferSearch({ filters: filter ? [filter] : [] })).toEqual({ machine_id: { notin: [12, 13] } });
});
