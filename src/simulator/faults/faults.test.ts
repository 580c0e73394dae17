import { describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../../test/builders/simulated-service.ts';
import { TransportError } from '../../lib/transport.ts';
import { FAULTS } from '../fault-catalogue.ts';
import { runningPorts } from '../instances/machine-servers.ts';

const LIST = 'GET /api/v0/instances/';
const RENT = 'PUT /api/v0/asks/1/';

function market(): SimulatedService {
  return simulatedService({
    catalog: [
      { id: 1, machineId: 1, hostId: 10, minBid: 0.1 },
      { id: 2, machineId: 2, hostId: 10 },
      { id: 3, machineId: 3, hostId: 20 },
    ],
  });
}

async function rent(service: SimulatedService, offer = 1, body: object = {}): Promise<number> {
  return (await service.call(`PUT /api/v0/asks/${offer}/`, { image: 'x', ...body })).body.new_contract;
}

const fault = (service: SimulatedService, body: object): Promise<unknown> =>
  service
    .call('POST /sim/faults', body)
    .then((reply) => expect(reply.status, JSON.stringify(reply.body)).toBe(200));

const live = (service: SimulatedService): number =>
  Object.keys(service.simulator.world().tables.contracts).length;

/** Returns a running machine, its path and a reader of its row. */
async function running(service: SimulatedService, offer = 1, body: object = {}) {
  const id = await rent(service, offer, body);
  service.advance(600);
  const path = `/api/v0/instances/${id}/`;
  return { id, path, row: async () => (await service.call(`GET ${path}`)).body.instances };
}

describe('faults of a call', () => {
  /** Name, status (undefined: no reply arrives), and whether the rental happened. */
  const rows: readonly (readonly [string, number | undefined, boolean])[] = [
    ['refused', undefined, false],
    ['reset-before', undefined, false],
    ['reset-after', undefined, true],
    ['429-text', 429, false],
    ['429-json', 429, false],
    ['429-retry-after', 429, false],
    ['5xx', 503, false],
    ['5xx-with-effect', 500, true],
    ['error-with-effect', 400, true],
    ['success-false', 200, false],
    ['success-false-with-effect', 200, true],
    ['auth-as-404', 404, false],
    ['revoked-key', 401, false],
    ['forbidden', 403, false],
    ['redirect', 302, false],
  ];
  test.each(rows)('%s answers %s, and whether the rental happened is %s', async (name, status, happened) => {
    const service = market();
    await fault(service, { name, endpoint: 'rent' });
    const reply = await service.call(RENT, { image: 'x' }).catch((error: unknown) => error);
    if (status === undefined) {
      expect(reply).toBeInstanceOf(TransportError);
      expect((reply as TransportError).sent).toBe(name !== 'refused');
    } else expect(reply).toMatchObject({ status });
    expect(live(service)).toBe(happened ? 1 : 0);
    expect((await service.call(LIST)).status, 'it targets once').toBe(200);
  });

  test('429-retry-after says how long', async () => {
    const service = market();
    await fault(service, { name: '429-retry-after', seconds: 7 });
    expect((await service.call(LIST)).headers['retry-after']).toBe('7');
  });

  test('error-with-effect names the contract in its error', async () => {
    const service = market();
    await fault(service, { name: 'error-with-effect' });
    expect((await service.call(RENT, { image: 'x' })).body).toMatchObject({
      success: false,
      new_contract: expect.any(Number),
      msg: expect.any(String),
    });
  });

  test('duplicated carries the request out twice and gives the first reply', async () => {
    const service = market();
    await fault(service, { name: 'duplicated', endpoint: 'destroy' });
    const id = await rent(service);
    expect((await service.call(`DELETE /api/v0/instances/${id}/`, {})).status).toBe(200);
    expect(live(service)).toBe(0);
  });

  test('delayed carries the request out after its caller has given up', async () => {
    const timers: (() => void)[] = [];
    const clock = {
      now: () => Date.UTC(2026, 0, 1),
      monotonic: () => 0,
      setTimer: (_ms: number, run: () => void) => {
        timers.push(run);
        return { cancel: () => undefined };
      },
    };
    const service = simulatedService({ clock, catalog: [{ id: 1 }] });
    await fault(service, { name: 'delayed', endpoint: 'PUT /api/v0/asks/{id}/', seconds: 90 });
    const { simulator } = service;
    const call = simulator.handle({
      method: 'PUT',
      origin: 'http://x',
      path: '/api/v0/asks/1/',
      headers: { authorization: `Bearer ${simulator.apiKey}` },
      body: '{"image":"x"}',
      signal: AbortSignal.timeout(20),
    });
    await expect(call).rejects.toBeInstanceOf(TransportError);
    expect(live(service)).toBe(0);
    for (const run of timers) run();
    await new Promise((resolve) => setImmediate(resolve));
    expect(live(service)).toBe(1);
  });
});

describe('which calls a fault strikes', () => {
  test.each([
    ['a class', 'list'],
    ['method and template', 'GET /api/v0/instances'],
    ['method and template with a final slash', 'GET /api/v0/instances/'],
    ['a path alone', '/api/v0/instances/'],
    ['a path without its prefix', '/instances'],
    ['a method', 'GET'],
  ])('named by %s', async (_how, endpoint) => {
    const service = market();
    await fault(service, { name: '5xx', endpoint });
    expect((await service.call('POST /api/v0/bundles/', {})).status).toBe(200);
    expect((await service.call(LIST)).status).toBe(503);
  });

  test('count times, then never again', async () => {
    const service = market();
    await fault(service, { name: '5xx', endpoint: 'list', count: 2 });
    const statuses = [];
    for (let call = 0; call < 4; call += 1) statuses.push((await service.call(LIST)).status);
    expect(statuses).toEqual([503, 503, 200, 200]);
  });

  test('by probability until it is deleted', async () => {
    const service = market();
    const { body } = await service.call('POST /sim/faults', {
      name: '5xx',
      endpoint: 'list',
      probability: 0.5,
    });
    let failed = 0;
    for (let call = 0; call < 200; call += 1) if ((await service.call(LIST)).status === 503) failed += 1;
    expect(failed).toBeGreaterThan(60);
    expect(failed).toBeLessThan(140);
    await service.call(`DELETE /sim/faults/${body.id}`);
    expect((await service.call('GET /sim/faults')).body.faults).toEqual([]);
    expect((await service.call(LIST)).status).toBe(200);
  });

  test('for seconds of simulated time', async () => {
    const service = market();
    await fault(service, { name: '5xx', endpoint: 'list', seconds: 30 });
    expect((await service.call(LIST)).status).toBe(503);
    service.advance(31);
    expect((await service.call(LIST)).status).toBe(200);
  });

  test('of one instance or one host', async () => {
    const service = market();
    const first = await rent(service, 1);
    const second = await rent(service, 3);
    await fault(service, { name: '5xx', instance: first, count: 9 });
    await fault(service, { name: '429-json', host: 20, count: 9 });
    expect((await service.call(`GET /api/v0/instances/${first}/`)).status).toBe(503);
    expect((await service.call(`GET /api/v0/instances/${second}/`)).status).toBe(429);
    expect((await service.call(LIST)).status).toBe(200);
  });
});

describe('faults of a reply', () => {
  test('empty-list shows nothing, with counts of nothing', async () => {
    const service = market();
    await rent(service);
    await fault(service, { name: 'empty-list', endpoint: 'list' });
    expect((await service.call(LIST)).body).toMatchObject({ instances: [], instances_found: 0 });
    await fault(service, { name: 'empty-list' });
    const paged = await service.call('GET /api/v1/instances/');
    expect(paged.body).toMatchObject({ instances: [], instances_found: 0, next_token: null });
  });

  test('truncated-list lacks rows that its count names', async () => {
    const service = market();
    for (const offer of [1, 2, 3]) await rent(service, offer);
    await fault(service, { name: 'truncated-list', endpoint: 'list' });
    const { body } = await service.call(LIST);
    expect(body.instances_found).toBe(3);
    expect(body.instances).toHaveLength(1);
  });

  test('next-token-loop leads back to the same page', async () => {
    const service = market();
    await rent(service);
    await fault(service, { name: 'next-token-loop', endpoint: 'list', count: 2 });
    const first = await service.call('GET /api/v1/instances/');
    const second = await service.call(`GET /api/v1/instances/?after_token=${first.body.next_token}`);
    expect(second.body).toMatchObject({ next_token: first.body.next_token, instances: first.body.instances });
  });

  test('price-missing takes all prices out of rows', async () => {
    const service = market();
    await fault(service, { name: 'price-missing' });
    const offer = (await service.call('POST /api/v0/bundles/', {})).body.offers[0];
    const { row } = await running(service);
    for (const shown of [offer, await row()]) {
      expect(shown).not.toHaveProperty('dph_total');
      expect(shown).not.toHaveProperty('dph_base');
    }
  });

  test('odd-row spoils the first row alone', async () => {
    const service = market();
    await fault(service, { name: 'odd-row', endpoint: 'search' });
    const { offers } = (await service.call('POST /api/v0/bundles/', {})).body;
    expect(offers[0]).toMatchObject({ id: null, num_gpus: 1.5, dph_total: 'free' });
    expect(offers[1].id).toEqual(expect.any(Number));
  });

  test('rubbish-reply is no JSON, although the rental happened', async () => {
    const service = market();
    await fault(service, { name: 'rubbish-reply', endpoint: 'rent' });
    await expect(service.call(RENT, { image: 'x' })).rejects.toThrow(SyntaxError);
    expect(live(service)).toBe(1);
  });

  test('huge-reply and gzip-bomb are large only when read', async () => {
    const service = market();
    await fault(service, { name: 'huge-reply', endpoint: 'list' });
    const request = {
      method: 'GET',
      origin: 'http://x',
      path: '/api/v0/instances/',
      headers: { authorization: `Bearer ${service.simulator.apiKey}` },
    };
    const huge = await service.simulator.handle(request);
    let bytes = 0;
    for await (const chunk of huge.body) {
      bytes += chunk.length;
      if (bytes > 5e6) huge.destroy();
    }
    expect(bytes).toBeGreaterThan(5e6);
    await fault(service, { name: 'gzip-bomb', endpoint: 'list' });
    const bomb = await service.simulator.handle(request);
    expect(bomb.headers['content-encoding']).toBe('gzip');
    let packed = 0;
    for await (const chunk of bomb.body) packed += chunk.length;
    expect(packed).toBeLessThan(200_000);
  });
});

describe('faults inside an endpoint', () => {
  test('offer-gone refuses the rental as if another renter was faster', async () => {
    const service = market();
    await fault(service, { name: 'offer-gone', count: 2 });
    expect((await service.call(RENT, { image: 'x' })).body.msg).toContain('no_such_ask');
    expect((await service.call(RENT, { image: 'x', cancel_unavail: true })).status).toBe(410);
    expect(live(service)).toBe(0);
  });

  test('sold-twice sells an offer once more, and the later machine runs without open ports (S9)', async () => {
    const service = market();
    await fault(service, { name: 'sold-twice' });
    const ids = [await rent(service), await rent(service)];
    expect((await service.call(RENT, { image: 'x' })).status, 'it is sold twice, not three times').toBe(404);
    service.advance(600);
    const rows = (await service.call(LIST)).body.instances;
    expect(rows.map((row: { id: number; actual_status: string }) => [row.id, row.actual_status])).toEqual(
      ids.map((id) => [id, 'running']),
    );
    const open = runningPorts(service.simulator.world()).map(({ contract }) => contract.id);
    expect(open).toContain(ids[0]);
    expect(open).not.toContain(ids[1]);
    await service.call(`DELETE /api/v0/instances/${ids[1]}/`);
    expect((await service.call(RENT, { image: 'x' })).status, 'the first buyer has it still').toBe(404);
    await service.call(`DELETE /api/v0/instances/${ids[0]}/`);
    expect((await service.call(RENT, { image: 'x' })).status).toBe(200);
  });

  test('create-stopped makes a machine that never boots', async () => {
    const service = market();
    await fault(service, { name: 'create-stopped' });
    const { row } = await running(service);
    expect(await row()).toMatchObject({ actual_status: 'stopped', intended_status: 'running' });
  });

  test.each([
    ['label-dropped', null],
    ['label-cut', 'gpurental1:AAAAAAAA:'],
    ['label-lower-cased', 'gpurental1aaaaaaaabbbbbbbbcc'],
  ])('%s echoes %s', async (name, label) => {
    const service = market();
    await fault(service, { name });
    const { row } = await running(service, 1, { label: 'gpurental1:AAAAAAAA:bbbbbbbb:cc' });
    expect((await row()).label).toBe(label);
  });

  test('stuck-loading never runs', async () => {
    const service = market();
    await fault(service, { name: 'stuck-loading' });
    const { row } = await running(service);
    service.advance(100_000);
    expect((await row()).actual_status).toBe('loading');
  });

  test('slow-pull adds its seconds', async () => {
    const service = market();
    await fault(service, { name: 'slow-pull', seconds: 1000 });
    const { row } = await running(service);
    expect((await row()).actual_status).toBe('loading');
    service.advance(1000);
    expect((await row()).actual_status).toBe('running');
  });

  test('crash-image exits as soon as it runs', async () => {
    const service = market();
    await fault(service, { name: 'crash-image' });
    const { row } = await running(service);
    expect(await row()).toMatchObject({ actual_status: 'exited', intended_status: 'running' });
  });

  test('lagging-list hides what is younger, a GET shows it', async () => {
    const service = market();
    await fault(service, { name: 'lagging-list', seconds: 45 });
    const id = await rent(service);
    expect((await service.call(LIST)).body.instances).toEqual([]);
    expect((await service.call(`GET /api/v0/instances/${id}/`)).body.instances.id).toBe(id);
    service.advance(46);
    expect((await service.call(LIST)).body.instances).toHaveLength(1);
  });

  test('stale-list shows what there was when it was set', async () => {
    const service = market();
    const first = await rent(service, 1);
    await fault(service, { name: 'stale-list' });
    await rent(service, 2);
    await service.call(`DELETE /api/v0/instances/${first}/`, {});
    expect((await service.call(LIST)).body.instances.map(({ id }: { id: number }) => id)).toEqual([first]);
    await service.call('DELETE /sim/faults');
    expect((await service.call(LIST)).body.instances.map(({ id }: { id: number }) => id)).not.toContain(
      first,
    );
  });

  test('ghost-rows go on showing what was destroyed', async () => {
    const service = market();
    const { id, path } = await running(service);
    await service.call(`DELETE ${path}`, {});
    await fault(service, { name: 'ghost-rows' });
    expect((await service.call(LIST)).body.instances[0]).toMatchObject({ id, actual_status: 'running' });
    expect((await service.call(`GET ${path}`)).body).toEqual({ instances: null });
  });

  test('unknown-status shows an unknown status, for one instance alone when asked', async () => {
    const service = market();
    const { id } = await running(service, 1);
    await running(service, 2);
    await fault(service, { name: 'unknown-status', instance: id });
    const words = (await service.call(LIST)).body.instances.map(
      (row: { actual_status: string }) => row.actual_status,
    );
    expect(words).toEqual(['quantum-entangled', 'running']);
  });

  test('flap shows unknown in every second look', async () => {
    const service = market();
    const { row } = await running(service);
    await fault(service, { name: 'flap' });
    const words = [];
    for (let look = 0; look < 4; look += 1) words.push((await row()).actual_status);
    expect(words).toEqual(['running', 'unknown', 'running', 'unknown']);
  });

  test('delete-ignored answers success while the machine keeps billing', async () => {
    const service = market();
    const { path } = await running(service);
    await fault(service, { name: 'delete-ignored' });
    expect((await service.call(`DELETE ${path}`, {})).body.success).toBe(true);
    expect(live(service)).toBe(1);
    await service.call(`DELETE ${path}`, {});
    expect(live(service)).toBe(0);
  });

  test('cannot-start answers success, and the machine stays stopped', async () => {
    const service = market();
    const { path, row } = await running(service);
    await service.call(`PUT ${path}`, { state: 'stopped' });
    await fault(service, { name: 'cannot-start' });
    expect((await service.call(`PUT ${path}`, { state: 'running' })).body.success).toBe(true);
    service.advance(600);
    expect(await row()).toMatchObject({ actual_status: 'stopped', intended_status: 'running' });
  });
});

describe('faults of the world', () => {
  test.each(['offline', 'unknown'])('%s of a host for a while', async (name) => {
    const service = market();
    const first = await running(service, 1);
    const other = await running(service, 3);
    await fault(service, { name, host: 10, seconds: 60 });
    expect((await first.row()).actual_status).toBe(name);
    expect((await other.row()).actual_status).toBe('running');
    service.advance(61);
    expect((await first.row()).actual_status).toBe('running');
  });

  test('deleting an outage ends it', async () => {
    const service = market();
    const { id, row } = await running(service);
    const { body } = await service.call('POST /sim/faults', { name: 'offline', instance: id });
    expect((await row()).actual_status).toBe('offline');
    await service.call(`DELETE /sim/faults/${body.id}`);
    expect((await row()).actual_status).toBe('running');
  });

  test.each([
    { name: 'nope', reason: /no fault "nope"/ },
    { name: '5xx', endpoint: 'lists', reason: /endpoint: no call is named "lists"/ },
    { name: '5xx', endpoint: 'PATCH /instances/', reason: /endpoint/ },
    { name: '5xx', count: 0, reason: /count must be a whole number of at least 1/ },
    { name: '5xx', count: 1.5, reason: /count must be a whole number/ },
    { name: '5xx', probability: 2, reason: /probability/ },
    { name: '5xx', seconds: -1, reason: /seconds/ },
  ])('%o is refused with the field that is wrong', async ({ reason, ...wanted }) => {
    const service = market();
    const { status, body } = await service.call('POST /sim/faults', wanted);
    expect({ status, msg: body.msg }).toEqual({ status: 400, msg: expect.stringMatching(reason) });
    expect((await service.call('GET /sim/faults')).body.faults).toEqual([]);
  });

  test.each([
    'list',
    'GET',
    '/instances/',
    'PUT /api/v0/asks/{id}/',
    'DELETE /instances/:id',
    '/instances/77/',
    'POST /route/',
  ])('an endpoint may be named %s', async (endpoint) => {
    expect((await market().call('POST /sim/faults', { name: '5xx', endpoint })).status).toBe(200);
  });

  test('time cannot be pushed beyond the year 9999', async () => {
    const service = market();
    const { status, body } = await service.call('POST /sim/clock', { advanceSeconds: 1e15 });
    expect({ status, msg: body.msg }).toEqual({ status: 400, msg: expect.stringMatching(/advanceSeconds/) });
  });

  test('deleting all faults ends outages too', async () => {
    const service = market();
    const { id, row } = await running(service);
    await fault(service, { name: 'offline', instance: id });
    await service.call('DELETE /sim/faults');
    expect((await row()).actual_status).toBe('running');
    expect((await service.call('GET /sim/faults')).body.faults).toEqual([]);
  });

  test('exited of one instance', async () => {
    const service = market();
    const { id, row } = await running(service);
    await fault(service, { name: 'exited', instance: id });
    service.advance(1000);
    expect((await row()).actual_status).toBe('exited');
  });

  test('host-death: offline for ever, and its offers cannot be rented', async () => {
    const service = market();
    const { row } = await running(service, 1);
    await fault(service, { name: 'host-death', host: 10 });
    service.advance(1e6);
    expect((await row()).actual_status).toBe('offline');
    expect((await service.call('PUT /api/v0/asks/2/', { image: 'x' })).status).toBe(404);
    const offers = (await service.call('POST /api/v0/bundles/', { rentable: { eq: true } })).body.offers;
    expect(offers.map(({ id }: { id: number }) => id)).toEqual([3]);
  });

  test('mass-outage takes all machines down together', async () => {
    const service = market();
    const machines = [await running(service, 1), await running(service, 3)];
    await fault(service, { name: 'mass-outage', seconds: 120 });
    for (const { row } of machines) expect((await row()).actual_status).toBe('offline');
    service.advance(121);
    for (const { row } of machines) expect((await row()).actual_status).toBe('running');
  });

  test('outbid stops an interruptible machine until the bid is raised', async () => {
    const service = market();
    const { id, path, row } = await running(service, 1, { price: 0.2 });
    await fault(service, { name: 'outbid', instance: id });
    expect(await row()).toMatchObject({ actual_status: 'stopped', intended_status: 'running' });
    await service.call(`PUT /api/v0/instances/bid_price/${id}/`, { client_id: 'me', price: 0.9 });
    service.advance(60);
    expect((await service.call(`GET ${path}`)).body.instances.actual_status).toBe('running');
  });

  describe('that name neither instance nor host', () => {
    const dark = async (service: SimulatedService): Promise<number> => {
      const { instances } = (await service.call('GET /api/v0/instances/')).body;
      return instances.filter((row: { actual_status: string }) => row.actual_status === 'offline').length;
    };
    const threeRunning = async () => {
      const service = market();
      for (const offer of [1, 2, 3]) await rent(service, offer);
      service.advance(600);
      return service;
    };

    test.for([
      ['one', {}, 1],
      ['as many as count says', { count: 2 }, 2],
      ['no more than there are', { count: 9 }, 3],
      ['each, with probability 1', { probability: 1 }, 3],
      ['none, with probability 0', { probability: 0 }, 0],
    ] as const)('strike %s', async ([_name, extent, expected]) => {
      const service = await threeRunning();
      await fault(service, { name: 'host-death', ...extent });
      expect(await dark(service)).toBe(expected);
    });

    test('list their targets, and an outage ends for exactly these', async () => {
      const service = await threeRunning();
      await fault(service, { name: 'offline', count: 2 });
      const [row] = (await service.call('GET /sim/faults')).body.faults;
      expect(row.targets).toEqual({
        contracts: [expect.any(Number), expect.any(Number)],
        machines: [expect.any(Number), expect.any(Number)],
      });
      expect(await dark(service)).toBe(2);
      await service.call(`DELETE /api/v0/instances/${row.targets.contracts[0]}/`);
      expect((await service.call(`DELETE /sim/faults/${row.id}`)).status).toBe(200);
      expect(await dark(service)).toBe(0);
    });
  });

  test('destroyed-elsewhere ends the contract and its billing', async () => {
    const service = market();
    const { id, path } = await running(service);
    await fault(service, { name: 'destroyed-elsewhere', instance: id });
    expect((await service.call(`GET ${path}`)).body).toEqual({ instances: null });
    expect((await service.call('GET /sim/ledger')).body.billing).toBe(0);
    expect(typeof (await rent(service, 1))).toBe('number');
  });

  test('credit-out stops all machines', async () => {
    const service = market();
    const { row } = await running(service);
    await fault(service, { name: 'credit-out' });
    service.advance(2);
    expect((await row()).actual_status).toBe('stopped');
  });

  test('idle shows GPUs that nothing uses, for its time or until it is deleted', async () => {
    const service = market();
    const [first, second] = [await running(service), await running(service, 3)];
    const use = async () => [(await first.row()).gpu_util, (await second.row()).gpu_util];
    await fault(service, { name: 'idle', instance: first.id, seconds: 60 });
    expect(await use()).toEqual([0, expect.toSatisfy((percent: number) => percent >= 60)]);
    service.advance(60);
    expect((await use())[0]).toBeGreaterThanOrEqual(60);
    const { body } = await service.call('POST /sim/faults', { name: 'idle', host: 20 });
    service.advance(1e6);
    expect((await use())[1]).toBe(0);
    await service.call(`DELETE /sim/faults/${body.id}`);
    expect((await use())[1]).toBeGreaterThanOrEqual(60);
  });

  test('price-increase is announced, and takes effect unless it is rejected', async () => {
    const service = market();
    const { id, row } = await running(service);
    const before = (await row()).dph_base;
    await fault(service, { name: 'price-increase', instance: id, seconds: 100 });
    const pending = await service.call('GET /api/v0/instances/pending-price-increases/');
    expect(pending.body.pending_price_increases[0]).toMatchObject({ instance_id: id, old_dph_base: before });
    service.advance(101);
    expect((await row()).dph_base).toBeCloseTo(before * 1.25, 5);
  });
});

describe('the catalogue', () => {
  test('each fault describes what it does, and GET /sim/faults lists all', async () => {
    const { body } = await market().call('GET /sim/faults');
    expect(body.catalogue.map(({ name }: { name: string }) => name)).toEqual(Object.keys(FAULTS));
    for (const entry of Object.values(FAULTS)) expect(entry.what).toMatch(/\.$/);
  });

  test.each([
    [{ name: 'gremlins' }, /no fault "gremlins"/],
    [{}, /name is required/],
    [{ name: '5xx', probability: 2 }, /probability/],
    [{ name: '5xx', count: -1 }, /count/],
    [{ name: 'offline' }, /no live instance to strike/],
    [{ name: 'exited', instance: 1 }, /no live instance 1/],
    [{ name: 'host-death', host: 1 }, /no host 1/],
    [{ name: 'mass-outage', probability: 2 }, /probability/],
    [{ name: 'outbid', host: 20 }, /rented with a bid/],
  ])('%j is refused with a reason', async (body, reason) => {
    const reply = await market().call('POST /sim/faults', body);
    expect(reply).toMatchObject({
      status: 400,
      body: { error: 'bad_request', msg: expect.stringMatching(reason) },
    });
  });

  test('control endpoints are not there without --control', async () => {
    const service = simulatedService({ control: false });
    for (const spec of [
      'GET /sim/faults',
      'GET /sim/world',
      'POST /sim/clock',
      'GET /sim/ledger',
      'GET /sim/outbox',
    ]) {
      expect((await service.call(spec)).status).toBe(404);
    }
  });
});
