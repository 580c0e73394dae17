import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../test/builders/simulated-service.ts';
import { readStrictly } from '../../test/settings/reader.ts';
import type { Route } from './calls/route.ts';
import { routes } from './routes/registry.ts';

/** Calls to each endpoint; a longer run sets more. */
const RUNS = readStrictly(process.env, (reader) => reader.whole('FUZZ_RUNS', 1, 10_000_000)) ?? 60;

/** Values that break careless readers of a body. */
const nasty = fc.oneof(
  { depthSize: 'small' },
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(
    null,
    '',
    ' ',
    'x'.repeat(5000),
    -1,
    0,
    1e308,
    Number.MAX_SAFE_INTEGER + 2,
    '1e400',
    'NaN',
    '💥\u0000\ud800',
    [],
    {},
    [[]],
    [null],
    { eq: {} },
    { in: 'x' },
    { gte: [1] },
    true,
    'true',
    '-p 80:80',
    'constructor',
    { constructor: 1, toString: 2, hasOwnProperty: 3 },
    [['constructor', 'asc']],
    [{ col: 'toString', dir: 'desc' }],
    { constructor: { gte: 1 }, valueOf: { in: ['x'] } },
    { api: { constructor: { toString: {} } } },
    ['constructor', 'hasOwnProperty'],
    'constructor=1 toString>=2 gpu_name=constructor',
  ),
);

/** Names of fields in bodies, so that the fuzz gets past the first check. */
const NAMES = [
  'id',
  'ids',
  'image',
  'disk',
  'env',
  'label',
  'onstart',
  'args',
  'args_str',
  'runtype',
  'price',
  'state',
  'template_id',
  'template_hash_id',
  'volume_info',
  'cancel_unavail',
  'vm',
  'target_state',
  'instance_ids',
  'amount',
  'command',
  'tail',
  'filter',
  'order',
  'type',
  'limit',
  'allocated_storage',
  'q',
  'select_cols',
  'gpu_name',
  'verified',
  'num_gpus',
  'geolocation',
  'driver_version',
  'dph_total',
  'name',
  'permissions',
  'ssh_key',
  'key',
  'value',
  'code',
  'secret',
  'tfa_method',
  'tfa_method_id',
  'backup_code',
  'phone_number',
  'target_id',
  'is_primary',
  'size',
  'machine',
  'endpoint_name',
  'min_load',
  'max_workers',
  'cold_workers',
  'search_params',
  'endpoint_id',
  'template_hash',
  'api_key',
  'endpoint',
  'cost',
  'request_idx',
  'pending_price_increase_id',
  'hash_id',
  'fullname',
  'user',
  'image_login',
  'container_registry',
  'src_id',
  'dst_id',
  'price_disk',
  'end_date',
  'target_util',
  'cold_mult',
  'max_queue_time',
  'target_queue_time',
  'inactivity_timeout',
  'endpoint_state',
  'gpu_ram',
  'launch_args',
  'file_hash',
  'file_size',
  'ttl',
  'key_params',
  'workergroup_id',
  'cancel_update',
  'mtoken',
  'cur_load',
  'max_perf',
  'requests',
  'worker_id',
  'advanceSeconds',
  'count',
  'probability',
  'seconds',
  'instance',
  'host',
  'username',
  'settings',
  'contracts',
  'hosts',
  'counters',
  'constructor',
  'toString',
] as const;

/** Names that queries use. */
const QUERY_NAMES = [
  'select_filters',
  'order_by',
  'limit',
  'select_cols',
  'after_token',
  'q',
  'id',
  'type',
  'owner',
  'latest_first',
  'tail',
  'filter',
  'command',
  'sdate',
  'edate',
  'api_key',
] as const;

const body = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .dictionary(fc.constantFrom(...NAMES), nasty, { maxKeys: 8 })
      .map((value) => JSON.stringify(value)),
  },
  { weight: 1, arbitrary: nasty.map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: fc.string({ maxLength: 60 }) },
);

/** The part of an endpoint that a fuzzed call needs. */
type Endpoint = Pick<Route, 'method' | 'path'>;

const CONTROL: readonly Endpoint[] = [
  { method: 'POST', path: '/sim/clock' },
  { method: 'POST', path: '/sim/faults' },
  { method: 'DELETE', path: '/sim/faults/:id' },
  { method: 'PUT', path: '/sim/world' },
  { method: 'POST', path: '/sim/login' },
];

const path = (route: Endpoint, id: string): string =>
  route.path.replace(/:[a-z_]+/gi, encodeURIComponent(id));

async function hit(
  service: SimulatedService,
  route: Endpoint,
  given: { id: string; body: string; query: string },
): Promise<void> {
  const spec = `${route.method} ${path(route, given.id)}/${given.query}`;
  const reply = await service.call(spec, undefined, { rawBody: given.body });
  const shown = `${spec} ${given.body.slice(0, 300)} → ${reply.status} ${JSON.stringify(reply.body).slice(0, 300)}`;
  expect(reply.status, shown).toBeLessThan(500);
  if (reply.status >= 400)
    expect(typeof (typeof reply.body === 'string' ? reply.body : reply.body.msg), shown).toBe('string');
}

const word = fc.oneof(
  nasty.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))),
  fc.string({ maxLength: 20 }),
);
const query = fc
  .dictionary(fc.constantFrom(...QUERY_NAMES), word, { maxKeys: 3 })
  .map((given) => `?${new URLSearchParams(given)}`);

/** Returns true for calls after which the key would be invalid for every other call. */
const endsKeys = ({ method, path: template }: Endpoint): boolean =>
  template.endsWith('/reset_apikey') || (method === 'DELETE' && template.includes('/apikeys/'));

describe('fuzzed calls', () => {
  test.each([...routes, ...CONTROL].map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s never answers 5xx, never throws, and says what is wrong',
    async (_name, route) => {
      const service = simulatedService({ catalog: [{ id: 1 }, { id: 2 }] });
      const rented = await service.call('PUT /api/v0/asks/1/', { image: 'x' });
      const ids = fc.constantFrom(
        String(rented.body.new_contract),
        '1',
        '2',
        '0',
        '-1',
        '1e9',
        'x',
        '%',
        'constructor',
        '١',
      );
      await fc.assert(
        fc.asyncProperty(ids, body, query, async (id, text, search) =>
          hit(service, route, { id, body: text, query: search }),
        ),
        { numRuns: RUNS },
      );
      service.advance(3600);
      await service.call('DELETE /sim/faults');
      const after = await service.call('GET /sim/ledger');
      expect(after.status, 'the market goes on').toBe(200);
    },
  );

  test.for(['public', 'specification'] as const)(
    'in any order leave a market that goes on, %s profile',
    async (profile) => {
      const served = routes.filter((route) => route.profiles.includes(profile) && !endsKeys(route));
      const ids = fc.constantFrom('1', '2', '20000001', '20000002', '101', 'x');
      const calls = fc.array(fc.tuple(fc.constantFrom(...served), ids, body, query), {
        minLength: 40,
        maxLength: 120,
        size: 'max',
      });
      await fc.assert(
        fc.asyncProperty(calls, async (made) => {
          const service = simulatedService({ profile, catalog: 10 });
          await service.call('PUT /api/v0/asks/1/', { image: 'x' });
          for (const [route, id, text, search] of made) {
            await hit(service, route, { id, body: text, query: search });
            service.advance(7);
          }
          expect((await service.call('GET /sim/ledger')).status).toBe(200);
          expect((await service.call('GET /api/v0/instances/')).status).toBe(200);
          const { body: world } = await service.call('GET /sim/world');
          expect((await service.call('PUT /sim/world', world)).body).toEqual({ success: true });
        }),
        { numRuns: RUNS / 5 },
      );
    },
  );
});
