import { describe, expect, test } from 'vitest';
import { offer } from '../../../test/builders/observed.ts';
import type { Offer, OfferFilter, OfferQuery } from '../../market/offer.ts';
import { coverageOf, coverOf, emptinessOf, MAX_ROWS, mayFind } from './search-cover.ts';

const filter = (field: string, operator: OfferFilter['operator'], value: OfferFilter['value']) => ({
  ...{ field, operator, value },
});
const query = (...filters: OfferFilter[]): OfferQuery => ({
  filters: [filter('rentable', 'eq', true), ...filters],
  pricing: 'on-demand',
  storageGB: 20,
  limit: 200,
});
const gpu = (...names: string[]) =>
  names.length === 1 ? filter('gpuName', 'eq', names[0] ?? '') : filter('gpuName', 'in', names);

describe('one search for several queries', () => {
  test('is the query itself if all are equal', () => {
    expect(coverOf([query(gpu('A')), query(gpu('A'))])).toEqual(query(gpu('A')));
  });

  test('takes every name, the lowest minimum and the highest maximum', () => {
    const one = query(gpu('B'), filter('gpuMemoryMB', 'gte', 24_000), filter('pricePerHour', 'lte', 0.5));
    const other = query(
      gpu('A', 'C'),
      filter('gpuMemoryMB', 'gte', 48_000),
      filter('pricePerHour', 'lte', 2),
    );
    expect(coverOf([one, other])).toEqual({
      filters: [
        filter('rentable', 'eq', true),
        gpu('A', 'B', 'C'),
        filter('gpuMemoryMB', 'gte', 24_000),
        filter('pricePerHour', 'lte', 2),
      ],
      order: [{ field: 'pricePerHour', direction: 'asc' }],
      pricing: 'on-demand',
      storageGB: 20,
      limit: MAX_ROWS,
    });
  });

  test.each([
    ['that one of them does not filter by', query(filter('verified', 'eq', true)), query()],
    ['that only the service knows', query(filter('duration', 'gte', 1)), query(filter('duration', 'gte', 2))],
    ['by which they exclude', query(filter('gpuName', 'neq', 'A')), query(gpu('B'))],
    ['of which one excludes several', query(filter('gpuName', 'notin', ['A', 'B'])), query(gpu('B'))],
    ['by which one filters twice', query(gpu('A', 'B'), gpu('B', 'C')), query(gpu('B'))],
    ['with no maximum in one', query(filter('pricePerHour', 'lte', 1)), query()],
    [
      'whose bound is no number',
      query(filter('gpuMemoryMB', 'gte', '24000')),
      query(filter('gpuMemoryMB', 'gte', 1)),
    ],
    [
      'without a bound on the same side',
      query(filter('gpuMemoryMB', 'lte', 1)),
      query(filter('gpuMemoryMB', 'gte', 2)),
    ],
  ])('does not filter by a field %s', (_, one, other) => {
    expect(coverOf([one, other]).filters).toEqual([filter('rentable', 'eq', true)]);
  });

  test('takes the narrower bound of one query that sets two', () => {
    const twice = query(
      ...[filter('gpuMemoryMB', 'gte', 10), filter('gpuMemoryMB', 'gte', 30)],
      ...[filter('pricePerHour', 'lte', 3), filter('pricePerHour', 'lte', 1)],
    );
    const once = query(filter('gpuMemoryMB', 'gte', 40), filter('pricePerHour', 'lte', 0.5));
    expect(coverOf([twice, once]).filters.slice(1)).toEqual([
      filter('gpuMemoryMB', 'gte', 30),
      filter('pricePerHour', 'lte', 1),
    ]);
  });

  test('names no price and no disk if the queries name none', () => {
    const bare = (name: string): OfferQuery => ({ filters: [gpu(name)] });
    const cover = coverOf([bare('A'), bare('B')]);
    expect(Object.keys(cover)).toEqual(['filters', 'order', 'limit']);
    expect(coverageOf(cover)(bare('A'))).toBe(true);
    expect(coverageOf(cover)(query(gpu('A')))).toBe(false);
  });

  test('needs a query', () => {
    expect(() => coverOf([])).toThrow('no query to cover');
  });
});

describe('a reply serves', () => {
  const wide = coverOf([
    query(gpu('A'), filter('pricePerHour', 'lte', 1)),
    query(gpu('B'), filter('pricePerHour', 'lte', 2)),
  ]);

  test.each([
    ['a query that it was made for', query(gpu('A'), filter('pricePerHour', 'lte', 1)), true],
    [
      'a narrower one',
      query(gpu('B'), filter('pricePerHour', 'lte', 0.1), filter('gpuMemoryMB', 'gte', 1)),
      true,
    ],
    ['none of another GPU', query(gpu('C'), filter('pricePerHour', 'lte', 1)), false],
    ['none that allows another GPU as well', query(gpu('A', 'C'), filter('pricePerHour', 'lte', 1)), false],
    [
      'none that says its GPU otherwise',
      query(filter('gpuName', 'neq', 'A'), filter('pricePerHour', 'lte', 1)),
      false,
    ],
    ['one of the highest price', query(gpu('A'), filter('pricePerHour', 'lte', 2)), true],
    ['none of a higher price', query(gpu('A'), filter('pricePerHour', 'lte', 3)), false],
    ['none without the filter', query(gpu('A')), false],
    ['none of another disk', { ...query(gpu('A'), filter('pricePerHour', 'lte', 1)), storageGB: 21 }, false],
    ['none by bid', { ...query(gpu('A'), filter('pricePerHour', 'lte', 1)), pricing: 'bid' as const }, false],
  ])('%s', (_, asked, expected) => {
    expect(coverageOf(wide)(asked)).toBe(expected);
  });

  test.each([
    ['a query with the same minimum', query(filter('gpuMemoryMB', 'gte', 24)), true],
    ['a query with a higher minimum', query(filter('gpuMemoryMB', 'gte', 25)), true],
    ['none with a lower minimum', query(filter('gpuMemoryMB', 'gte', 23)), false],
    ['none without a minimum', query(), false],
  ])('with a minimum: %s', (_, asked, expected) => {
    const wide = coverOf([query(filter('gpuMemoryMB', 'gte', 24)), query(filter('gpuMemoryMB', 'gte', 30))]);
    expect(coverageOf(wide)(asked)).toBe(expected);
  });

  test.each([
    ['another operator', filter('gpuMemoryMB', 'lte', 24)],
    ['a bound that is no number', filter('gpuMemoryMB', 'gte', '24')],
  ])('no other query if it filters by %s', (_, own) => {
    expect(coverageOf(query(own))(query(filter('gpuMemoryMB', 'gte', 24), own))).toBe(false);
  });

  test('only its own query if that filters by what only the service knows', () => {
    const own = query(filter('duration', 'gte', 1));
    expect(coverageOf(own)(query(filter('duration', 'gte', 2)))).toBe(false);
  });
});

describe('a reply that holds a range or a list of values', () => {
  const holds = (own: OfferFilter, ...asked: OfferFilter[]) => coverageOf(query(own))(query(...asked));

  test.each<readonly [string, OfferFilter, readonly OfferFilter[], boolean]>([
    ['a higher minimum', filter('gpuMemoryMB', 'gte', 24), [filter('gpuMemoryMB', 'gte', 48)], true],
    ['the same minimum', filter('gpuMemoryMB', 'gte', 24), [filter('gpuMemoryMB', 'gte', 24)], true],
    ['no lower minimum', filter('gpuMemoryMB', 'gte', 24), [filter('gpuMemoryMB', 'gte', 23)], false],
    [
      'no maximum in place of a minimum',
      filter('gpuMemoryMB', 'gte', 24),
      [filter('gpuMemoryMB', 'lte', 48)],
      false,
    ],
    [
      'two minimums of which one is high enough',
      filter('gpuMemoryMB', 'gte', 24),
      [filter('gpuMemoryMB', 'gte', 10), filter('gpuMemoryMB', 'gte', 30)],
      true,
    ],
    [
      'two maximums of which one is low enough',
      filter('pricePerHour', 'lte', 1),
      [filter('pricePerHour', 'lte', 5), filter('pricePerHour', 'lte', 0.5)],
      true,
    ],
    [
      'nothing if it is bounded on the other side',
      filter('gpuMemoryMB', 'lte', 24),
      [filter('gpuMemoryMB', 'lte', 24)],
      false,
    ],
    [
      'nothing if its bound is a text',
      filter('gpuMemoryMB', 'gte', '24'),
      [filter('gpuMemoryMB', 'gte', 30)],
      false,
    ],
    ['no list of which it lacks one', gpu('A', 'B'), [gpu('A', 'C')], false],
    ['no query that excludes a value', gpu('A', 'B'), [filter('gpuName', 'neq', 'A')], false],
    ['no query that names values twice', gpu('A', 'B'), [gpu('A'), gpu('B')], false],
    ['no query that does not name values', gpu('A', 'B'), [], false],
  ])('serves %s', (_, own, asked, expected) => {
    expect(holds(own, ...asked)).toBe(expected);
  });
});

describe('a query may find an offer in a reply', () => {
  const offers = (...changes: Partial<Offer>[]): Offer[] =>
    changes.map((change) => ({ ...offer(), ...change }));
  const rtx = { gpuName: 'A', gpuMemoryMB: 24, pricePerHour: 0.5 };

  test.each<readonly [string, readonly OfferFilter[], readonly Offer[], boolean]>([
    ['if one of several offers passes', [gpu('A')], offers({ gpuName: 'B' }, rtx), true],
    ['if it names one of several values', [gpu('A', 'B')], offers(rtx), true],
    ['not if it names another value', [gpu('B')], offers(rtx), false],
    ['if the offer does not say the value', [gpu('B')], offers({ gpuName: undefined }), true],
    ['if a place is in the country that it names', [filter('region', 'eq', 'US')], offers({}), true],
    ['not if a place is in another country', [filter('region', 'eq', 'SE')], offers({}), false],
    ['at its minimum', [filter('gpuMemoryMB', 'gte', 24)], offers(rtx), true],
    ['not below its minimum', [filter('gpuMemoryMB', 'gte', 25)], offers(rtx), false],
    ['at its maximum', [filter('pricePerHour', 'lte', 0.5)], offers(rtx), true],
    ['not above its maximum', [filter('pricePerHour', 'lte', 0.4)], offers(rtx), false],
    [
      'if the offer says no number',
      [filter('gpuMemoryMB', 'gte', 25)],
      offers({ gpuMemoryMB: undefined }),
      true,
    ],
    ['if its bound is a text', [filter('gpuMemoryMB', 'gte', '25')], offers(rtx), true],
    [
      'if a field is bounded on the side that is not shared',
      [filter('gpuMemoryMB', 'lte', 8)],
      offers(rtx),
      true,
    ],
    ['if it filters by a field that is not shared', [filter('cpu_cores', 'gte', 1_000)], offers(rtx), true],
    [
      'not if only one of its filters passes',
      [gpu('A'), filter('gpuMemoryMB', 'gte', 48)],
      offers(rtx),
      false,
    ],
    ['not if there is no offer', [], offers(), false],
  ])('%s', (_, filters, found, expected) => {
    expect(mayFind(query(...filters), found)).toBe(expected);
  });
});

describe('a complete reply without offers says that nothing is found by', () => {
  const ofDisk = (storageGB: number | undefined, ...filters: OfferFilter[]): OfferQuery => {
    const { storageGB: _, ...rest } = query(...filters);
    return storageGB === undefined ? rest : { ...rest, storageGB };
  };
  const lacking = emptinessOf(ofDisk(40, gpu('A'), filter('diskGB', 'gte', 40)));
  const wants = (disk: number) => [gpu('A'), filter('diskGB', 'gte', disk)];

  test.each([
    ['the same query', ofDisk(40, ...wants(40)), true],
    ['one with a larger disk', ofDisk(41, ...wants(41)), true],
    ['none with a smaller disk', ofDisk(39, ...wants(39)), false],
    ['none of another GPU with a larger disk', ofDisk(41, gpu('B'), filter('diskGB', 'gte', 41)), false],
    ['none of another kind of price', { ...ofDisk(41, ...wants(41)), pricing: 'bid' as const }, false],
    ['none that names no disk', ofDisk(undefined, ...wants(41)), false],
  ])('%s', (_, asked, expected) => {
    expect(lacking(asked)).toBe(expected);
  });

  test('none with a disk where its own search named none', () => {
    expect(emptinessOf(ofDisk(undefined, gpu('A')))(ofDisk(10, gpu('A')))).toBe(false);
  });
});

test('covers queries that say no price and no disk without either', () => {
  const bare = (name: string): OfferQuery => ({ filters: [gpu(name)] });
  const wide = coverOf([bare('A'), bare('B')]);
  expect(wide).not.toHaveProperty('pricing');
  expect(wide).not.toHaveProperty('storageGB');
  expect(() => coverOf([])).toThrow('no query to cover');
});

test('lets a query without a filter through by leaving the field out', () => {
  const named = query(gpu('A'), filter('gpuMemoryMB', 'gte', 24));
  expect(coverOf([named, query(gpu('A'))]).filters).toEqual([filter('rentable', 'eq', true), gpu('A')]);
});
