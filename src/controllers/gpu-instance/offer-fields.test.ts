import { describe, expect, test } from 'vitest';
import { spec } from '../../../test/builders/observed.ts';
import { toyFacts } from '../../../test/builders/toy-market.ts';
import { vastFacts } from '../../markets/vast/facts.ts';
import { wrongOfferFields } from './rental.ts';

interface Named {
  readonly filters?: readonly string[];
  readonly order?: readonly string[];
}

function told(...offers: readonly Named[]): string | undefined {
  return wrongOfferFields(
    spec({
      offers: offers.map(({ filters = [], order = [] }) => ({
        maxPricePerHour: '1',
        filters: filters.map((field) => ({ field, operator: 'Gt' as const, value: '1' })),
        order: order.map((field) => ({ field })),
      })),
    }),
    vastFacts.offerFields,
  );
}

const UNLIKE_ANY = 'colour_of_the_case';
const UNLIKE_ANY_TOLD = `"${UNLIKE_ANY}" is no field of an offer: docs/reference/offer-fields.md lists them`;

describe('nothing is wrong', () => {
  test.each<[string, readonly Named[]]>([
    ['without filters and order', [{}]],
    ['with fields by their names', [{ filters: ['inet_down', 'gpu_ram'], order: ['dph_total'] }]],
    ['with fields by their aliases', [{ filters: ['cuda_vers'], order: ['dph', 'flops_usd'] }]],
    ['with fields of every market in the order', [{ order: ['pricePerHour', 'gpuMemoryMB'] }]],
    ['with fields in several alternatives', [{ filters: ['inet_up'] }, { order: ['reliability2'] }]],
  ])('%s', (_, offers) => {
    expect(told(...offers)).toBeUndefined();
  });

  test('without alternatives, with none, or with one that names no filters', () => {
    const [offer] = spec().offers ?? [];
    if (!offer) throw new Error('no alternative');
    expect(wrongOfferFields({}, vastFacts.offerFields)).toBeUndefined();
    expect(wrongOfferFields({ offers: [] }, vastFacts.offerFields)).toBeUndefined();
    expect(
      wrongOfferFields({ offers: [{ ...offer, filters: undefined }] }, vastFacts.offerFields),
    ).toBeUndefined();
  });
});

describe('a field that no offer has is reported with its place and the remedy', () => {
  test.each<[string, readonly Named[], string]>([
    [
      'a slip in a filter is asked about, as a question',
      [{ filters: ['inet_down', 'inet_dwon'] }],
      'spec.offers[0].filters[1].field: "inet_dwon" is no field of an offer: did you mean "inet_down"?',
    ],
    [
      'a slip in the order is asked about, as a question',
      [{}, { order: ['dph_totl'] }],
      'spec.offers[1].order[0].field: "dph_totl" is no field of an offer: did you mean "dph_total"?',
    ],
    [
      'a name unlike any other is told as a sentence',
      [{ filters: [UNLIKE_ANY] }],
      `spec.offers[0].filters[0].field: ${UNLIKE_ANY_TOLD}.`,
    ],
    [
      'several are told in the order of the object, with one stop at the end',
      [
        { filters: ['inet_dwon', 'gpu_ram'], order: ['dph_total', UNLIKE_ANY] },
        { filters: [UNLIKE_ANY], order: ['dph'] },
      ],
      'spec.offers[0].filters[0].field: "inet_dwon" is no field of an offer: did you mean "inet_down"?; ' +
        `spec.offers[0].order[1].field: ${UNLIKE_ANY_TOLD}; ` +
        `spec.offers[1].filters[0].field: ${UNLIKE_ANY_TOLD}.`,
    ],
    [
      'a question at the end ends the line, whatever stands before',
      [{ filters: [UNLIKE_ANY], order: ['dph_totl'] }],
      `spec.offers[0].filters[0].field: ${UNLIKE_ANY_TOLD}; ` +
        'spec.offers[0].order[0].field: "dph_totl" is no field of an offer: did you mean "dph_total"?',
    ],
  ])('%s', (_, offers, message) => {
    expect(told(...offers)).toBe(message);
  });
});

describe('a field that offers of this market do not have is refused', () => {
  const MISSING = 'offers of this market have no such field: remove it, or use an account of another market.';
  const problemAt = (offer: object) =>
    wrongOfferFields(spec({ offers: [{ maxPricePerHour: '1', ...offer }] }), toyFacts.offerFields);

  test.each([
    [{ minGpuMemory: '24G' }, 'minGpuMemory'],
    [{ minDirectPorts: 2 }, 'minDirectPorts'],
    [{ minReliability: '95%' }, 'minReliability'],
    [{ order: [{ field: 'directPorts' }] }, 'order[0].field'],
    [{ order: [{ field: 'num_gpus' }, { field: 'gpu_ram' }] }, 'order[1].field'],
  ])('if an alternative sets %j', (offer, path) => {
    expect(problemAt(offer)).toBe(`spec.offers[0].${path}: ${MISSING}`);
  });

  test.each([{}, { gpuNames: ['RTX 4090'], gpuCount: 2, regions: ['NO'] }, { minDirectPorts: undefined }])(
    'and not if it sets only fields that they have: %j',
    (offer) => {
      expect(problemAt(offer)).toBeUndefined();
    },
  );

  test('if it sorts by a fact that no offer has', () => {
    expect(told({ order: ['pricing'] })).toBe(`spec.offers[0].order[0].field: ${MISSING}`);
  });
});
