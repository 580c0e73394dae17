import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { offer, spec } from '../../../test/builders/observed.ts';
import { type ChoiceInput, chooseOffer, helpFor, offerQuery, wouldMatchWithout } from './offers.ts';

type Requirements = ChoiceInput['requirements'];

function requirements(change: Record<string, unknown> = {}): Requirements {
  const [first] = spec({ offers: [{ maxPricePerHour: '1.00', ...change }] }).offers ?? [];
  if (!first) throw new Error('no alternative');
  return first;
}

const NOTHING: ChoiceInput['excluded'] = { offers: new Set(), machines: new Set(), hosts: new Set() };

function input(
  change: Record<string, unknown>,
  offers: ChoiceInput['offers'],
  more: Partial<ChoiceInput> = {},
): ChoiceInput {
  return {
    requirements: requirements(change),
    limits: {},
    diskGB: 10,
    requiredPorts: {},
    offers,
    excluded: NOTHING,
    ...more,
  };
}

const chosenId = (given: ChoiceInput) => {
  const choice = chooseOffer(given);
  return choice.type === 'none' ? choice.lacks : choice.type === 'chosen' ? choice.offer.id : choice.type;
};

describe('an offer is refused', () => {
  test.each([
    ['of another GPU', { gpuNames: ['H100'] }, offer(), 'match'],
    ['with another number of GPUs', { gpuCount: 2 }, offer(), 'match'],
    ['with too little GPU memory', { minGpuMemory: '25G' }, offer(), 'match'],
    ['with exactly enough GPU memory in decimal GB', { minGpuMemory: '24G' }, offer({ id: '4' }), '4'],
    ['with too few ports', { minDirectPorts: 11 }, offer(), 'match'],
    ['with too little reliability', { minReliability: '99.5%' }, offer(), 'match'],
    ['in another country', { regions: ['SE'] }, offer(), 'match'],
    ['in none of several countries', { regions: ['SE', 'NO'] }, offer(), 'match'],
    [
      'B22: in the UK, as people write GB',
      { regions: ['UK'] },
      offer({ id: '4', region: 'London, GB' }),
      '4',
    ],
    ['in one of several countries', { regions: ['SE', 'US'] }, offer({ id: '4' }), '4'],
    [
      'that denies that it can be rented, which every search asks for',
      {},
      offer({ rentable: false }),
      'match',
    ],
    ['that does not say whether it can be rented', {}, offer({ id: '4', rentable: undefined }), '4'],
    ['whose host is not verified', {}, offer({ verified: false }), 'match'],
    [
      'whose host is not verified, unless that is allowed',
      { verified: false },
      offer({ id: '4', verified: false }),
      '4',
    ],
    ['with too little disk', {}, offer({ diskGB: 9 }), 'match'],
    ['scenario 13: that costs more than the maximum', {}, offer({ pricePerHour: 1_000_001 }), 'affordable'],
    ['that costs exactly the maximum', {}, offer({ id: '4', pricePerHour: 1_000_000 }), '4'],
    ['scenario 13: without a price', {}, { ...offer(), pricePerHour: undefined }, 'priced'],
    [
      'without a price, unless that is allowed',
      { allowUnknownPrice: true },
      { ...offer({ id: '4' }), pricePerHour: undefined },
      '4',
    ],
    [
      'by a filter on another field',
      { filters: [{ field: 'cpu_cores', operator: 'Gte', value: '32' }] },
      offer({ fields: { cpu_cores: 16 } }),
      'match',
    ],
    [
      'by a filter on a word',
      { filters: [{ field: 'gpu_arch', operator: 'Eq', value: 'amd' }] },
      offer({ fields: { gpu_arch: 'nvidia' } }),
      'match',
    ],
    [
      'by a filter on a flag',
      { filters: [{ field: 'static_ip', operator: 'Eq', value: 'true' }] },
      offer({ id: '4', fields: { static_ip: true } }),
      '4',
    ],
    [
      'by a list of words',
      { filters: [{ field: 'gpu_arch', operator: 'NotIn', values: ['nvidia'] }] },
      offer({ fields: { gpu_arch: 'nvidia' } }),
      'match',
    ],
    [
      'whose lowest bid is above ours',
      { pricing: 'Interruptible', bid: '0.05' },
      offer({ minBid: 60_000 }),
      'match',
    ],
    [
      'when bid and disk together cost too much',
      { pricing: 'Interruptible', bid: '0.99' },
      offer({ storagePricePerHour: 20_000 }),
      'affordable',
    ],
  ] as const)('%s', (_, change, candidate, expected) => {
    expect(chosenId(input(change, [candidate]))).toBe(expected);
  });

  test('above the limit of the account, even where the object allows more', () => {
    expect(
      chosenId(
        input({ maxPricePerHour: '9' }, [offer({ pricePerHour: 600_000 })], {
          limits: { maxPricePerHour: 500_000 },
        }),
      ),
    ).toBe('affordable');
  });

  test('without a price where the account sets a maximum, unless the account permits it too (L3)', () => {
    const unpriced = { ...offer({ id: '4' }), pricePerHour: undefined };
    const chosen = (limits: ChoiceInput['limits']) =>
      chosenId(input({ allowUnknownPrice: true }, [unpriced], { limits }));
    expect(chosen({ maxPricePerHour: 500_000 })).toBe('priced');
    expect(chosen({ maxPricePerHour: 500_000, allowUnknownPrice: true })).toBe('4');
    expect(chosen({ maxSpendPerHour: 500_000 })).toBe('4');
  });

  test.each([
    ['offers', '5'],
    ['machines', '1005'],
    ['hosts', '2005'],
  ] as const)('while its id is among the avoided %s', (kind, id) => {
    const excluded = {
      offers: new Set<string>(),
      machines: new Set<string>(),
      hosts: new Set<string>(),
      [kind]: new Set([id]),
    };
    expect(chosenId(input({}, [offer({ id: '5' })], { excluded }))).toBe('match');
    expect(chosenId(input({}, [offer({ id: '5' }), offer({ id: '6' })], { excluded }))).toBe('6');
  });
});

describe('the order', () => {
  test('is by price, then by id', () => {
    const offers = [
      offer({ id: '3', pricePerHour: 300_000 }),
      offer({ id: '2', pricePerHour: 300_000 }),
      offer({ id: '1' }),
    ];
    expect(chosenId(input({}, offers))).toBe('2');
  });

  test('follows the fields that are named, and what is not known comes last either way', () => {
    const offers = [
      offer({ id: '1', fields: { dlperf: 5 } }),
      offer({ id: '2' }),
      offer({ id: '3', fields: { dlperf: 9 } }),
    ];
    expect(chosenId(input({ order: [{ field: 'dlperf', direction: 'Desc' }] }, offers))).toBe('3');
    expect(chosenId(input({ order: [{ field: 'dlperf', direction: 'Asc' }] }, offers))).toBe('1');
  });

  test('follows a column that specs named before offers had names of their own', () => {
    const offers = [offer({ id: '1', gpuMemoryMB: 24_000 }), offer({ id: '2', gpuMemoryMB: 48_000 })];
    const order = [{ field: 'gpu_ram', direction: 'Desc' as const }];
    expect(chosenId(input({ order }, offers))).toBe('2');
  });

  test('is the same whatever order the offers came in', () => {
    const offers = Array.from({ length: 12 }, (_, id) =>
      offer({ id: String(id), pricePerHour: 100_000 * (id % 4) + 1 }),
    );
    const expected = chosenId(input({}, offers));
    fc.assert(
      fc.property(fc.shuffledSubarray(offers, { minLength: 12 }), (shuffled) => {
        expect(chosenId(input({}, shuffled))).toBe(expected);
      }),
    );
  });
});

test('when nothing matches, each single requirement is counted by what dropping it would leave', () => {
  const offers = [
    offer({ id: '1', gpuName: 'A', pricePerHour: 2_000_000 }),
    offer({ id: '2', gpuName: 'B' }),
    offer({ id: '3', gpuName: 'B' }),
    offer({ id: '4', gpuName: 'B', region: 'Stockholm, SE' }),
  ];
  expect(wouldMatchWithout(input({ gpuNames: ['A'], regions: ['US'] }, offers))).toEqual([
    { name: 'gpuNames A', count: 2 },
    { name: 'maxPricePerHour 1.00', count: 1 },
  ]);
});

test('the search asks for exactly what is checked, in the order wanted', () => {
  const query = offerQuery(
    requirements({
      gpuNames: ['RTX 4090'],
      minGpuMemory: '24G',
      regions: ['SE', 'NO'],
      minReliability: '99%',
    }),
    { limits: {}, diskGB: 32, requiredPorts: {} },
    'exact',
  );
  expect(query).toEqual({
    filters: [
      { field: 'rentable', operator: 'eq', value: true },
      { field: 'gpuName', operator: 'eq', value: 'RTX 4090' },
      { field: 'gpuCount', operator: 'eq', value: 1 },
      { field: 'gpuMemoryMB', operator: 'gte', value: 24_000 },
      { field: 'diskGB', operator: 'gte', value: 32 },
      { field: 'reliability', operator: 'gte', value: 0.99 },
      { field: 'region', operator: 'in', value: ['SE', 'NO'] },
      { field: 'verified', operator: 'eq', value: true },
      { field: 'pricePerHour', operator: 'lte', value: 1_000_000 },
    ],
    order: [{ field: 'pricePerHour', direction: 'asc' }],
    pricing: 'on-demand',
    limit: 200,
    storageGB: 32,
  });
});

describe('where no offer will do, help is', () => {
  const dear = offer({ id: '1', pricePerHour: 1_951_240 });
  const cheaper = offer({ id: '2', pricePerHour: 1_200_049 });
  const small = offer({ id: '3', pricePerHour: 100_000, gpuCount: 8 });

  test('the price of the cheapest that lacks nothing else, with the digits of the status, and the limit', () => {
    expect(helpFor(input({ maxPricePerHour: '0.05' }, [dear, cheaper, small]))).toEqual([
      'The cheapest costs $1.200049/h; the limit is $0.05.',
    ]);
    expect(helpFor(input({ maxPricePerHour: '0.05' }, [dear]))).toEqual([
      'The cheapest costs $1.95124/h; the limit is $0.05.',
    ]);
  });

  test("measured by the account's limit where that is lower", () => {
    expect(helpFor(input({}, [cheaper], { limits: { maxPricePerHour: 300_000 } }))).toEqual([
      'The cheapest costs $1.200049/h; the limit is $0.30.',
    ]);
  });

  test('the name that was meant, for each that no offer has', () => {
    const offers = ['RTX 4090', 'RTX 3090', 'H100 SXM'].map((gpuName) => offer({ gpuName }));
    expect(helpFor(input({ gpuNames: ['rtx4090', 'H100_SXM', 'RTX 3090', 'Voodoo'] }, offers))).toEqual([
      'No offer has the GPU rtx4090; did you mean RTX 4090?',
      'No offer has the GPU H100_SXM; did you mean H100 SXM?',
      'No offer has the GPU Voodoo.',
    ]);
  });

  test('nothing where no offer is known, or another requirement is in the way', () => {
    expect(helpFor(input({ gpuNames: ['H100'] }, []))).toEqual([]);
    expect(helpFor(input({ gpuCount: 2, maxPricePerHour: '0.05' }, [dear]))).toEqual([]);
  });
});

describe('an offer that ends before the machine may (B14)', () => {
  const HOUR_MS = 3_600_000;
  const short = offer({ id: '1', pricePerHour: 100_000, remainingSeconds: 3 * 3_600 });
  const long = offer({ id: '2', pricePerHour: 900_000, remainingSeconds: 100 * 3_600 });
  const byPrice = { order: [{ field: 'pricePerHour', direction: 'Asc' as const }] };
  const idOf = (offers: ChoiceInput['offers'], neededMs: number | undefined) =>
    chosenId(input(byPrice, offers, { neededMs }));

  test('comes after one that does not, whatever the order says', () => {
    expect(idOf([short, long], 72 * HOUR_MS)).toBe('2');
  });

  test('is chosen if no other matches', () => {
    expect(idOf([short], 72 * HOUR_MS)).toBe('1');
  });

  test('comes by its order if the machine needs no longer, or has no end', () => {
    expect([idOf([short, long], 2 * HOUR_MS), idOf([short, long], undefined)]).toEqual(['1', '1']);
  });

  test('is not one whose end is unknown', () => {
    const unknown = { ...short, remainingSeconds: undefined };
    expect(idOf([unknown, long], 72 * HOUR_MS)).toBe('1');
  });
});

describe('equal objects that read one reply', () => {
  const priced = (count: number) =>
    Array.from({ length: count }, (_, id) =>
      offer({ id: String(id), pricePerHour: ((id * 37) % 101) * 1000 + 1 }),
    );

  test('get the offers one after another by the order, without one that is taken', () => {
    const offers = priced(40);
    const taken = new Set<string>();
    const reserved = { has: (id: string) => taken.has(id) };
    const chosen = offers.map(() => {
      const id = chosenId(input({}, offers, { excluded: { ...NOTHING, reserved } }));
      taken.add(id);
      return id;
    });
    const byPrice = offers.toSorted((left, right) => (left.pricePerHour ?? 0) - (right.pricePerHour ?? 0));
    expect(chosen).toEqual(byPrice.map(({ id }) => id));
    // A rental that failed releases its offer, wherever it stands in the order.
    taken.delete(chosen[3] ?? '');
    expect(chosenId(input({}, offers, { excluded: { ...NOTHING, reserved } }))).toBe(chosen[3]);
  });

  test('examine each offer once, however many they are', () => {
    let reads = 0;
    const offers = priced(200).map((each) => ({
      ...each,
      get gpuName() {
        reads += 1;
        return 'RTX 4090';
      },
    }));
    chooseOffer(input({ gpuNames: ['RTX 4090'] }, offers));
    const first = reads;
    for (let count = 0; count < 100; count += 1) chooseOffer(input({ gpuNames: ['RTX 4090'] }, offers));
    expect(first).toBeGreaterThan(0);
    expect(reads).toBe(first);
  });

  test('choose as each would alone, whatever they want and whatever is excluded', { tags: 'long' }, () => {
    const offers = priced(30).map((each, at) => ({
      ...each,
      ...{
        gpuName: at % 3 === 0 ? undefined : 'RTX 4090',
        machineId: String(at % 7),
        hostId: String(at % 5),
      },
    }));
    const ids = fc.uniqueArray(fc.integer({ min: 0, max: 29 }).map(String));
    const drawn = fc.record({
      want: fc.record({
        maxPricePerHour: fc.constantFrom('0.02', '0.05', '1.00'),
        gpuNames: fc.constantFrom(undefined, ['RTX 4090']),
        order: fc.constantFrom(undefined, [{ field: 'dph_total', direction: 'Desc' }]),
      }),
      excluded: fc.record({ offers: ids, machines: ids, hosts: ids }),
      mustState: fc.boolean(),
      limits: fc.constantFrom({}, { maxPricePerHour: 30_000 }),
    });
    fc.assert(
      fc.property(fc.array(drawn, { minLength: 1, maxLength: 30 }), (objects) => {
        for (const { want, excluded, mustState, limits } of objects) {
          const { offers: ownOffers, machines, hosts } = excluded;
          const sets = { offers: new Set(ownOffers), machines: new Set(machines), hosts: new Set(hosts) };
          const more = { excluded: sets, mustState, limits };
          const change = Object.fromEntries(Object.entries(want).filter(([, value]) => value !== undefined));
          const alone = chooseOffer(input(change, [...offers], more));
          expect(chooseOffer(input(change, offers, more))).toEqual(alone);
        }
      }),
    );
  });
});
