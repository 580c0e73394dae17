import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../../test/builders/simulated-service.ts';
import { readStrictly } from '../../../test/settings/reader.ts';
import type { Json, JsonObject } from '../json.ts';

/** Documents to try; a longer run sets more. */
const RUNS = readStrictly(process.env, (reader) => reader.whole('FUZZ_RUNS', 1, 10_000_000)) ?? 60;

/** Returns a market in which every table has a row that calls can create. */
async function livelyMarket(): Promise<SimulatedService> {
  const service = simulatedService({ catalog: 12 });
  const call = async (spec: string, body?: unknown): Promise<Json> => {
    const reply = await service.call(spec, body);
    expect(reply.status, spec).toBe(200);
    return reply.body as Json;
  };
  const ids = Object.keys(service.simulator.world().tables.offers);
  await call(`PUT /api/v0/asks/${ids[0]}/`, { image: 'x', label: 'a', env: { A: 'b' }, args: ['x'] });
  await call(`PUT /api/v0/asks/${ids[1]}/`, { image: 'x', price: 9 });
  const gone = (await call(`PUT /api/v0/asks/${ids[2]}/`, { image: 'x' })) as JsonObject;
  await call(`DELETE /api/v0/instances/${gone.new_contract}/`);
  await call('POST /api/v0/template/', { name: 't', image: 'x' });
  await call('POST /api/v0/secrets/', { key: 'A', value: 'b' });
  await call('POST /api/v0/endptjobs/', { endpoint_name: 'chat', cold_workers: 2 });
  await call('POST /api/v0/workergroups/', { endpoint_name: 'chat', search_params: 'num_gpus>=1' });
  await call('POST /api/v0/tfa/email/', {});
  await call('POST /sim/faults', { name: 'price-increase' });
  await call('POST /sim/faults', { name: 'stale-list' });
  await call('DELETE /sim/faults/2');
  await call('POST /sim/faults', { name: 'outbid', instance: Number(gone.new_contract) - 1 });
  service.advance(700);
  return service;
}

const leaf = fc.constantFrom<Json>(
  null,
  -1,
  0,
  1.5,
  7,
  1e15,
  1e308,
  '',
  'x',
  'up',
  true,
  [],
  {},
  [1],
  ['x'],
  [[]],
  { a: 1 },
  20_000_001,
);

const places = (value: Json, path: readonly string[] = []): readonly (readonly string[])[] => [
  path,
  ...(typeof value === 'object' && value !== null
    ? Object.entries(value as JsonObject).flatMap(([name, inner]) => places(inner, [...path, name]))
    : []),
];

function changed(value: Json, path: readonly string[], to: Json): Json {
  const [name, ...rest] = path;
  if (name === undefined) return to;
  if (Array.isArray(value))
    return value.map((one, at) => (String(at) === name ? changed(one as Json, rest, to) : (one as Json)));
  return { ...(value as JsonObject), [name]: changed((value as JsonObject)[name] ?? null, rest, to) };
}

/** A key that was bound to an instance or revoked is refused like any other. */
const AS_KEYS_MAY = [200, 401, 403];

const SHOWS = [
  'GET /sim/ledger',
  'GET /sim/faults',
  'GET /sim/world',
  'GET /api/v0/instances/',
  'GET /api/v1/instances/',
  'POST /api/v0/bundles/',
];

test('refuses a document with a changed value by its place, or keeps working', async () => {
  const origin = await livelyMarket();
  const document = (await origin.call('GET /sim/world')).body as Json;
  const before = origin.simulator.world();
  expect((await origin.call('PUT /sim/world', document)).body).toEqual({ success: true });
  expect(origin.simulator.world()).toEqual(before);
  const everywhere = places(document).filter((path) => path.length > 0);
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: everywhere.length - 1 }), leaf, async (at, value) => {
      const service = simulatedService({ world: before });
      const path = everywhere[at] ?? [];
      const reply = await service.call('PUT /sim/world', changed(document, path, value));
      if (reply.status === 400) {
        expect(reply.body.msg).toMatch(
          path[0] === 'hosts' ? /hosts|machines/ : new RegExp(`\\b${path[0]}\\b`),
        );
        expect(service.simulator.world().tables).toEqual(before.tables);
        return;
      }
      expect(reply.status).toBe(200);
      service.advance(3600);
      for (const show of SHOWS) {
        expect((await service.call(show)).status, `${show} after ${path}`).toBeOneOf(AS_KEYS_MAY);
      }
    }),
    { numRuns: RUNS },
  );
});
