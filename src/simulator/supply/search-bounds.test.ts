import { describe, expect, test } from 'vitest';
import { simulatedService } from '../../../test/builders/simulated-service.ts';

const many = simulatedService({ catalog: 400 });

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `column_${index}`);
const filters = (count: number): object => Object.fromEntries(names(count).map((name) => [name, 1]));
const listQuery = (name: string, value: unknown): string =>
  `${name}=${encodeURIComponent(JSON.stringify(value))}`;

/** Calls that name `count` items, by their field. */
const CALLS: readonly (readonly [string, string, (count: number) => readonly [string, unknown?]])[] = [
  ['a search', 'filters', (count) => ['POST /api/v0/bundles/', filters(count)]],
  ['a search', 'order', (count) => ['POST /api/v0/bundles/', { order: names(count) }]],
  ['a search for volumes', 'filters', (count) => ['POST /api/v0/volumes/search/', filters(count)]],
  ['a search for volumes', 'order', (count) => ['POST /api/v0/volumes/search/', { order: names(count) }]],
  [
    'PUT /search/asks/',
    'select_cols',
    (count) => ['PUT /api/v0/search/asks/', { select_cols: names(count) }],
  ],
  ['PUT /search/asks/', 'filters', (count) => ['PUT /api/v0/search/asks/', { q: filters(count) }]],
  [
    'a list of instances',
    'select_filters',
    (count) => [`GET /api/v1/instances/?${listQuery('select_filters', filters(count))}`],
  ],
  [
    'a list of instances',
    'select_cols',
    (count) => [`GET /api/v1/instances/?${listQuery('select_cols', names(count))}`],
  ],
  [
    'a list of instances',
    'order_by',
    (count) => [
      `GET /api/v1/instances/?${listQuery(
        'order_by',
        names(count).map((col) => ({ col })),
      )}`,
    ],
  ],
];

describe('one call cannot hold up all others', () => {
  test.each(CALLS)('%s with 257 %s is refused, with 256 it is answered', async (_call, field, make) => {
    const [spec, body] = make(257);
    const refused = await many.call(spec, body);
    expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    expect(refused.body.msg).toBe(`${field}: 257 are given; send at most 256.`);
    const [allowedSpec, allowedBody] = make(256);
    expect((await many.call(allowedSpec, allowedBody)).status).toBe(200);
  });

  test('a worker group whose search has too many filters is refused when it is made', async () => {
    const endpoint = await many.call('POST /api/v0/endptjobs/', { endpoint_name: 'chat' });
    const body = { endpoint_id: endpoint.body.result, search_params: filters(257) };
    expect((await many.call('POST /api/v0/workergroups/', body)).body.msg).toContain('filters: 257');
  });

  test('a host that names a machine many times lists its disk once', async () => {
    const [offer] = (await many.call('POST /api/v0/bundles/', { limit: 1 })).body.offers;
    const machine = Array.from({ length: 1000 }, () => offer.machine_id);
    expect((await many.call('POST /api/v0/volumes/', { machine })).body.ids).toHaveLength(1);
  });
});

test('of several entries of one column in an order the first decides', async () => {
  const idsBy = async (...order: (readonly [string, string])[]): Promise<unknown> =>
    (await many.call('POST /api/v0/bundles/', { order, limit: 50 })).body.offers.map(
      ({ id }: { id: number }) => id,
    );
  const expected = await idsBy(['num_gpus', 'asc'], ['dph_total', 'desc']);
  expect(await idsBy(['num_gpus', 'asc'], ['dph_total', 'desc'], ['num_gpus', 'desc'])).toEqual(expected);
  expect(await idsBy(['num_gpus', 'asc'], ['dph', 'desc'], ['dph_total', 'asc'])).toEqual(expected);
});
