import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { simulatedService } from '../../../test/builders/simulated-service.ts';
import type { JsonObject } from '../json.ts';
import { seededCatalog } from './catalog.ts';
import { GPU_MODELS } from './machine-traits.ts';

const many = simulatedService({ catalog: 400 });

async function find(filters: object): Promise<readonly JsonObject[]> {
  const { status, body } = await many.call('POST /api/v0/bundles/', { limit: 1000, ...filters });
  expect(status, JSON.stringify(body).slice(0, 200)).toBe(200);
  return body.offers;
}

describe('the catalog', () => {
  test('of a seed holds at least what was asked for, unique and the same each time', () => {
    const first = seededCatalog({ seed: 3, count: 2000, now: 0 });
    const second = seededCatalog({ seed: 3, count: 2000, now: 0 });
    expect(first.offers.length).toBeGreaterThanOrEqual(2000);
    expect(new Set(first.offers.map((offer) => offer.id)).size).toBe(first.offers.length);
    expect(second).toEqual(first);
    expect(seededCatalog({ seed: 4, count: 20, now: 0 }).offers).not.toEqual(first.offers.slice(0, 20));
  });

  test('has figures that fit together', () => {
    for (const { columns, gpuPricePerHour, minBidPerHour } of seededCatalog({ seed: 1, count: 500, now: 0 })
      .offers) {
      const model = GPU_MODELS.find(({ name }) => name === columns.gpu_name);
      expect(columns.gpu_ram).toBe(model?.memoryMB);
      expect(columns.gpu_total_ram).toBe(Number(columns.gpu_ram) * Number(columns.num_gpus));
      expect(columns.public_ipaddr).toMatch(/^203\.0\.113\.\d+$/);
      expect(minBidPerHour).toBeLessThan(gpuPricePerHour);
    }
  });
});

describe('operators', () => {
  const rows: readonly (readonly [string, object, (offer: JsonObject) => boolean])[] = [
    ['eq', { num_gpus: { eq: 2 } }, (offer) => offer.num_gpus === 2],
    ['eq with a number as text', { num_gpus: { eq: '2' } }, (offer) => offer.num_gpus === 2],
    ['a bare value', { num_gpus: 2 }, (offer) => offer.num_gpus === 2],
    ['neq', { gpu_name: { neq: 'RTX 4090' } }, (offer) => offer.gpu_name !== 'RTX 4090'],
    ['gt', { num_gpus: { gt: '2' } }, (offer) => Number(offer.num_gpus) > 2],
    ['gte', { num_gpus: { gte: 4 } }, (offer) => Number(offer.num_gpus) >= 4],
    ['lt', { num_gpus: { lt: 2 } }, (offer) => Number(offer.num_gpus) < 2],
    ['megabytes', { gpu_ram: { gte: 48000 } }, (offer) => Number(offer.gpu_ram) >= 48_000],
    [
      'dollars',
      { dph_total: { gt: '0.5', lt: 1 } },
      ({ dph_total: price }) => price !== null && Number(price) > 0.5 && Number(price) < 1,
    ],
    ['lte', { num_gpus: { lte: 1 } }, (offer) => Number(offer.num_gpus) <= 1],
    [
      'in',
      { gpu_name: { in: ['H100 SXM', 'H200'] } },
      (offer) => ['H100 SXM', 'H200'].includes(String(offer.gpu_name)),
    ],
    [
      'in with numbers as text',
      { num_gpus: { in: ['1', '8'] } },
      (offer) => [1, 8].includes(Number(offer.num_gpus)),
    ],
    ['notin', { num_gpus: { notin: [1, '2'] } }, (offer) => ![1, 2].includes(Number(offer.num_gpus))],
    [
      'several on one field',
      { num_gpus: { gte: 2, lt: '8' } },
      (offer) => [2, 4].includes(Number(offer.num_gpus)),
    ],
    ['null', { cluster_id: { eq: null } }, () => true],
    ['nothing is above null', { cluster_id: { gt: 0 } }, () => false],
  ];
  test.each(rows)('%s', async (_name, filters, expected) => {
    const all = await find({});
    const ids = (await find(filters)).map((offer) => offer.id);
    expect(new Set(ids)).toEqual(new Set(all.filter(expected).map((offer) => offer.id)));
  });

  test('any filters find what a plain reading of the rows finds', async () => {
    const all = await find({});
    const filter = fc.record({
      column: fc.constantFrom(
        'num_gpus',
        'gpu_ram',
        'dph_total',
        'reliability',
        'inet_down',
        'disk_space',
        'cpu_ghz',
      ),
      operator: fc.constantFrom('gt', 'gte', 'lt', 'lte', 'eq', 'neq'),
      pick: fc.nat(399),
    });
    const compare: Readonly<Record<string, (value: number, bound: number) => boolean>> = {
      gt: (value, bound) => value > bound,
      gte: (value, bound) => value >= bound,
      lt: (value, bound) => value < bound,
      lte: (value, bound) => value <= bound,
      eq: (value, bound) => value === bound,
      neq: (value, bound) => value !== bound,
    };
    await fc.assert(
      fc.asyncProperty(fc.array(filter, { maxLength: 4 }), async (filters) => {
        const query: Record<string, Record<string, unknown>> = {};
        const tests = filters.map(({ column, operator, pick }) => {
          const bound = Number(all[pick]?.[column]);
          query[column] = { ...query[column], [operator]: bound };
          return { column, operator };
        });
        const ids = (await find(query)).map((offer) => offer.id);
        const plain = all.filter((offer) =>
          tests.every(({ column, operator }) =>
            compare[operator]?.(Number(offer[column]), Number(query[column]?.[operator])),
          ),
        );
        expect(new Set(ids)).toEqual(new Set(plain.map((offer) => offer.id)));
      }),
      { numRuns: 50 },
    );
  });

  test('unknown columns and control keys are passed over, unknown operators are refused', async () => {
    expect(await find({ no_such_column: { eq: 1 }, disable_bundling: true, sort_option: {} })).toHaveLength(
      (await find({})).length,
    );
    const { status, body } = await many.call('POST /api/v0/bundles/', { num_gpus: { above: 1 } });
    expect({ status, body }).toMatchObject({ status: 400, body: { error: 'invalid_request', msg: /above/ } });
  });
});

describe('virtual columns', () => {
  const rows: readonly (readonly [string, object, (offer: JsonObject) => boolean])[] = [
    ['verified', { verified: { eq: true } }, (offer) => offer.verification === 'verified'],
    ['verified as text', { verified: { eq: 'false' } }, (offer) => offer.verification === 'unverified'],
    ['datacenter', { datacenter: { eq: true } }, (offer) => offer.hosting_type === 1],
    ['geolocation', { geolocation: { eq: 'se' } }, (offer) => String(offer.geolocation).endsWith(', SE')],
    [
      'geolocation in',
      { geolocation: { in: ['US', 'CA'] } },
      (offer) => /, (US|CA)$/.test(String(offer.geolocation)),
    ],
    ['geolocation that nobody has', { geolocation: { eq: 'XX' } }, () => false],
    ['gpu_ram_GB', { gpu_ram_GB: { gte: 48 } }, (offer) => Number(offer.gpu_ram) >= 48_000],
    ['gpu_totalram', { gpu_totalram: { gte: 100_000 } }, (offer) => Number(offer.gpu_total_ram) >= 100_000],
    ['reliability2', { reliability2: { gte: '0.99' } }, (offer) => Number(offer.reliability) >= 0.99],
    [
      'target_reliability',
      { target_reliability: 0.99 },
      (offer) => Number(offer.expected_reliability) >= 0.99,
    ],
    [
      'driver_version as text',
      { driver_version: { gte: '560.35.03' } },
      (offer) => Number(offer.driver_vers) >= 560_035_003,
    ],
    [
      'driver_version as number',
      { driver_version: { lt: 560035003 } },
      (offer) => Number(offer.driver_vers) < 560_035_003,
    ],
    ['duration', { duration: { gte: 86400 * 100 } }, (offer) => Number(offer.duration) >= 86_400 * 100],
    ['allocated_storage', { allocated_storage: 1000 }, (offer) => Number(offer.disk_space) >= 1000],
    [
      'target_reliability to be met exactly',
      { target_reliability: { eq: 0.99 } },
      (offer) => Number(offer.expected_reliability) >= 0.99,
    ],
    ['a number of 0 or 1 as a boolean', { has_avx: { eq: true } }, (offer) => offer.has_avx === 1],
    ['a number of 0 or 1 as false', { hosting_type: { in: [false] } }, (offer) => offer.hosting_type === 0],
    ['rentable', { rentable: { eq: true } }, (offer) => offer.rentable === true],
  ];
  test.each(rows)('%s', async (_name, filters, expected) => {
    const all = await find({});
    const found = await find(filters);
    expect(new Set(found.map(({ id }) => id))).toEqual(new Set(all.filter(expected).map(({ id }) => id)));
  });
});

describe('order and limit', () => {
  test('orders by score, best first, then by id when no order is given', async () => {
    const scores = (await find({})).map((offer) => Number(offer.score));
    expect(scores).toEqual([...scores].sort((left, right) => right - left));
    const ids = (await find({ order: [['external', 'asc']] })).map((offer) => Number(offer.id));
    expect(ids).toEqual([...ids].sort((left, right) => left - right));
  });

  test('by several fields', async () => {
    const found = await find({
      order: [
        ['gpu_name', 'asc'],
        ['dph_total', 'desc'],
      ],
    });
    const expected = [...found].sort(
      (left, right) =>
        String(left.gpu_name).localeCompare(String(right.gpu_name), 'en') ||
        Number(right.dph_total) - Number(left.dph_total) ||
        Number(left.id) - Number(right.id),
    );
    const key = (offer: JsonObject): unknown => offer.dph_total;
    expect(found.map(key).slice(0, 20)).toEqual(expected.map(key).slice(0, 20));
  });

  test('a limit keeps the first of the order', async () => {
    const all = await find({ order: [['dph_total', 'asc']] });
    const some = await find({ order: [['dph_total', 'asc']], limit: '7' });
    expect(some.map(({ id }) => id)).toEqual(all.slice(0, 7).map(({ id }) => id));
  });

  test('without a limit the default of the settings holds', async () => {
    expect((await many.call('POST /api/v0/bundles/', {})).body.offers).toHaveLength(64);
  });

  test.each([
    ['order', { order: 'dph_total' }],
    ['order', { order: [['dph_total', 'sideways']] }],
    ['order', { order: [['dph_total', 'constructor']] }],
    ['type', { type: 'constructor' }],
    ['type', { type: 'auction' }],
    ['limit', { limit: 'many' }],
  ])('a wrong %s is a bad request that names it', async (name, filters) => {
    const { status, body } = await many.call('POST /api/v0/bundles/', filters);
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: 'bad_request', msg: expect.stringContaining(name) });
  });
});

test('a name that every object inherits is no column, to filter or to sort by', async () => {
  const order = [['dph_total', 'asc']];
  const plain = await find({ order });
  const filters: object = { constructor: { eq: 1 }, toString: { gte: 'x' } };
  expect(await find({ ...filters, order })).toEqual(plain);
  expect(await find({ order: [['hasOwnProperty', 'desc'], ...order] })).toEqual(plain);
});

describe('prices', () => {
  const one = simulatedService({
    catalog: [{ id: 5, pricePerHour: 1, diskPricePerGBMonth: 7.3, minBid: 0.4 }],
  });
  const price = async (query: object): Promise<JsonObject> =>
    (await one.call('POST /api/v0/bundles/', query)).body.offers[0];

  test('hold the storage asked for', async () => {
    expect(await price({ allocated_storage: 100 })).toMatchObject({
      dph_base: 1,
      storage_total_cost: 1,
      dph_total: 2,
    });
  });
  test('of a bid search are the lowest bid', async () => {
    expect(await price({ type: 'bid', allocated_storage: 0 })).toMatchObject({
      dph_base: 0.4,
      is_bid: true,
      min_bid: 0.4,
    });
  });
  test('of a reserved search are discounted', async () => {
    const { dph_total, discounted_dph_total } = await price({ type: 'reserved', allocated_storage: 0 });
    expect(dph_total).toBe(0.9);
    expect(discounted_dph_total).toBe(0.9);
  });
});

describe('PUT /search/asks/', () => {
  test('takes the filters under q and shows the columns asked for', async () => {
    const { body } = await many.call('PUT /api/v0/search/asks/', {
      select_cols: ['id', 'gpu_name', 'nothing'],
      q: { gpu_name: { eq: 'RTX 4090' }, limit: 2 },
    });
    expect(body.offers).toHaveLength(2);
    expect(body.offers[0]).toEqual({ id: expect.any(Number), gpu_name: 'RTX 4090', nothing: null });
  });
  test('shows whole rows for a star', async () => {
    const { body } = await many.call('PUT /api/v0/search/asks/', { select_cols: ['*'], q: { limit: 1 } });
    expect(body.offers[0]).toEqual((await find({ limit: 1 }))[0]);
  });
});
