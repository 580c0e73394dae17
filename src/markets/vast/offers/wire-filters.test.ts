import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FILTER_OPERATORS, type OfferFilter, type OfferScalar } from '../../../market/offer.ts';
import { toOfferSearch } from './offers.ts';
import { toWireFilters, type WireFilter } from './wire-filters.ts';

const on = (
  field: string,
  operator: OfferFilter['operator'],
  value: OfferScalar | readonly OfferScalar[],
): OfferFilter => ({ field, operator, value });

/** Returns true if the value satisfies the condition, as the service compares them. */
function satisfies(value: OfferScalar, operator: OfferFilter['operator'], operand: unknown): boolean {
  const members = [operand].flat();
  switch (operator) {
    case 'eq':
    case 'in':
      return members.includes(value);
    case 'neq':
    case 'notin':
      return !members.includes(value);
    case 'gt':
      return Number(value) > Number(operand);
    case 'gte':
      return Number(value) >= Number(operand);
    case 'lt':
      return Number(value) < Number(operand);
    case 'lte':
      return Number(value) <= Number(operand);
  }
}

const passes = (value: OfferScalar, wire: WireFilter = {}) =>
  FILTER_OPERATORS.every((operator) => !(operator in wire) || satisfies(value, operator, wire[operator]));

describe('filters of one column', () => {
  test.each<readonly [string, readonly OfferFilter[], Record<string, WireFilter>]>([
    [
      'send the higher of two minimums, in either order',
      [on('gpuMemoryMB', 'gte', 80_000), on('gpu_ram', 'gte', 24_000)],
      { gpu_ram: { gte: 80_000 } },
    ],
    [
      'send the lower of two maximums',
      [on('pricePerHour', 'lte', 500_000), on('dph_total', 'lte', 2)],
      { dph_total: { lte: 0.5 } },
    ],
    [
      'send the names that both lists contain',
      [on('gpuName', 'in', ['A', 'B']), on('gpuName', 'in', ['B', 'C'])],
      { gpu_name: { in: ['B'] } },
    ],
    [
      'send the names that one of the lists excludes',
      [on('gpuName', 'notin', ['A', 'B']), on('gpuName', 'notin', ['B', 'C'])],
      { gpu_name: { notin: ['A', 'B', 'C'] } },
    ],
    [
      'send both excluded values',
      [on('gpuName', 'neq', 'A'), on('gpuName', 'neq', 'B')],
      { gpu_name: { neq: 'A', notin: ['B'] } },
    ],
    [
      'match no offer if two values are required',
      [on('num_gpus', 'eq', 1), on('num_gpus', 'eq', 2)],
      { num_gpus: { eq: 1, neq: 1 } },
    ],
    [
      'match no offer if the lists have no common name',
      [on('gpuName', 'in', ['A']), on('gpuName', 'in', ['B'])],
      { gpu_name: { in: ['A'], notin: ['A'] } },
    ],
    [
      'keep the required value beside a removed default',
      [on('verified', 'eq', true), on('verified', 'eq', 'any')],
      { verified: { eq: true } },
    ],
    [
      'keep different operators apart',
      [on('num_gpus', 'gte', 1), on('num_gpus', 'lte', 8), on('num_gpus', 'gt', 0)],
      { num_gpus: { gte: 1, lte: 8, gt: 0 } },
    ],
  ])('%s', (_, filters, expected) => {
    expect(toWireFilters(filters)).toEqual(expected);
  });

  test('keep a minimum of the disk beside the storage that prices include', () => {
    const filters = [on('allocated_storage', 'gte', 50)];
    expect(toOfferSearch({ filters, storageGB: 20 })).toEqual({
      disk_space: { gte: 50 },
      allocated_storage: 20,
    });
    expect(toOfferSearch({ filters })).toEqual({ allocated_storage: { gte: 50 } });
  });

  test('accept exactly the offers that every filter accepts', () => {
    const value = fc.integer({ min: 0, max: 4 });
    const list = fc.array(value, { minLength: 1, maxLength: 4 });
    const filter = fc.oneof(
      fc.record({ operator: fc.constantFrom('eq', 'neq', 'gt', 'gte', 'lt', 'lte'), value } as const),
      fc.record({ operator: fc.constantFrom('in', 'notin'), value: list } as const),
    );
    fc.assert(
      fc.property(fc.array(filter, { maxLength: 5 }), (filters) => {
        const wire = toWireFilters(filters.map((each) => ({ field: 'num_gpus', ...each })));
        for (let count = 0; count <= 5; count += 1) {
          const expected = filters.every(({ operator, value: operand }) =>
            satisfies(count, operator, operand),
          );
          expect(passes(count, wire['num_gpus'])).toBe(expected);
        }
      }),
    );
  });
});
