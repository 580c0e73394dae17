import { describe, expect, test } from 'vitest';
import type { Route } from '../../src/simulator/calls/route.ts';
import { routes } from '../../src/simulator/routes/registry.ts';
import type { SimulatorOptions } from '../../src/simulator/simulator.ts';
import { type Answered, type SimulatedService, simulatedService } from '../builders/simulated-service.ts';
import { addMethod, PHONE } from '../builders/tfa-account.ts';

/*
 * The specification profile answers what is written and refuses what is written. Where it has to do more, a row
 * of test/evidence/conformance.md ("Intended differences") names the test here that shows it. Ids such as D7 are those of
 * the audit that found the difference.
 */

const specified = (options: SimulatorOptions = {}): SimulatedService =>
  simulatedService({ profile: 'specification', catalog: [{ id: 1 }, { id: 2 }], ...options });

const SPECIFIED = routes.filter(({ profiles }) => profiles.includes('specification'));
const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

/** Returns a call of a route for the first offer, or for a machine rented from it. */
async function callOf(service: SimulatedService, { method, path }: Route): Promise<string> {
  if (!path.includes('/instances/')) return `${method} ${path.replace(':id', '1')}/`;
  const { body } = await service.call('PUT /api/v0/asks/2/', { image: 'x' });
  return `${method} ${path.replace(':id', body.new_contract)}/`;
}

describe('the key (specification 5.1)', () => {
  test.for(SPECIFIED.map((route) => [nameOf(route), route] as const))(
    'is refused outside the Authorization header: %s (D1)',
    async ([, route]) => {
      const service = specified();
      const call = await callOf(service, route);
      const key = service.simulator.apiKey;
      const elsewhere = [
        service.call(`${call}?api_key=${key}`, {}, { key: null }),
        service.call(call, { api_key: key }, { key: null }),
        service.call(call, {}, { key: null, headers: { 'x-session-key': key } }),
        service.call(call, {}, { key: null, headers: { cookie: `session=${key}` } }),
      ];
      for (const answered of elsewhere) expect([401, 403]).toContain((await answered).status);
    },
  );

  test('is still found in query and body by the public profile, where public clients put it (D1)', async () => {
    const service = simulatedService();
    const { apiKey } = service.simulator;
    const path = 'GET /api/v0/users/current/';
    expect((await service.call(`${path}?api_key=${apiKey}`, undefined, { key: null })).status).toBe(200);
    expect((await service.call(path, { api_key: apiKey }, { key: null })).status).toBe(200);
    const asSession = { key: null, headers: { 'x-session-key': apiKey } };
    expect((await service.call(path, undefined, asSession)).status).toBe(401);
  });

  test('of a session works as cookie and as header for a caller that logged in without a key (5.6)', async () => {
    const service = specified();
    const session = service.addKey({ session: true });
    const ways = [{ cookie: `session=${session}` }, { 'x-session-key': session }];
    for (const headers of ways) {
      expect(
        (await service.call('GET /api/v0/users/current/', undefined, { key: null, headers })).status,
      ).toBe(200);
    }
  });
});

/** Values that are none of the type. */
const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  text: [5, true, {}, ['x']],
  integer: ['5', 1.5, true, {}],
  number: ['5', true, {}, [5]],
  flag: ['true', 1, {}],
};

describe('a request', () => {
  const fields = SPECIFIED.flatMap((route) =>
    Object.entries(route.written ?? {}).map(([name, type]) => ({ call: nameOf(route), route, name, type })),
  );

  test.for(fields)('$call refuses $name that is not of type $type', async ({ route, name, type }) => {
    const service = specified();
    const call = await callOf(service, route);
    for (const value of WRONG[type] ?? []) {
      const { status, body } = await service.call(call, { image: 'x', ...sample(route), [name]: value });
      expect({ status, body }).toEqual({
        status: 400,
        body: { error: 'bad_request', msg: expect.any(String) },
      });
      expect(body.msg).toContain(name);
    }
  });

  test('may hold fields that are not written down; they mean nothing, whatever they hold', async () => {
    const service = specified();
    const unwritten = {
      label: 'x'.repeat(2000),
      env: 7,
      args: 'a b',
      price: -1,
      template_id: 'none',
      target_state: 'asleep',
      volume_info: 'x',
      vm: 'yes',
    };
    const { status, body } = await service.call('PUT /api/v0/asks/1/', { image: 'x', ...unwritten });
    expect(status).toBe(200);
    expect(service.simulator.world().tables.contracts[body.new_contract]).toMatchObject({
      label: null,
      env: {},
      args: [],
      isBid: false,
    });
    const path = `/api/v0/instances/${body.new_contract}/`;
    expect((await service.call(`PUT ${path}`, { state: 'stopped', label: 5 })).status).toBe(200);
  });

  test('counts null as absent', async () => {
    const { status } = await specified().call('PUT /api/v0/asks/1/', {
      image: 'x',
      disk: null,
      onstart: null,
    });
    expect(status).toBe(200);
  });

  test('needs an image: a machine without one could run nothing', async () => {
    expect((await specified().call('PUT /api/v0/asks/1/', { disk: 10 })).status).toBe(400);
  });
});

/** Returns a valid method for calls that check the method first. */
function sample({ path, written }: Route): Readonly<Record<string, string>> {
  return written && 'tfa_method' in written && !path.endsWith('/update') ? { tfa_method: 'sms' } : {};
}

describe('a reply', () => {
  test('to a rental, a list, a read, a stop and a destroy has the written fields alone', async () => {
    const service = specified();
    const keys = async (call: string, body?: unknown) =>
      Object.keys((await service.call(call, body)).body).toSorted();
    const { body } = await service.call('PUT /api/v0/asks/1/', { image: 'x' });
    expect(Object.keys(body).toSorted()).toEqual(['instance_api_key', 'new_contract', 'success']);
    const one = `/api/v0/instances/${body.new_contract}/`;
    expect(await keys('GET /api/v0/instances/')).toEqual(['instances', 'instances_found']);
    expect(await keys(`GET ${one}`)).toEqual(['instances']);
    expect(await keys(`PUT ${one}`, { state: 'stopped' })).toEqual(['success']);
    expect(await keys(`DELETE ${one}`)).toEqual(['success']);
    expect(await keys('POST /api/v0/volumes/unlist', { id: 101 })).toEqual(['error', 'msg']);
  });

  test('of the SMS calls has no success, that of the email call has (D6)', async () => {
    const service = specified();
    const { body: sms } = await service.call('POST /api/v0/tfa/sms/', { phone_number: PHONE });
    const { body: again } = await service.call('POST /api/v0/tfa/sms/resend/', { secret: sms.secret });
    for (const body of [sms, again]) expect(Object.keys(body).toSorted()).toEqual(['msg', 'secret']);
    const { body: email } = await service.call('POST /api/v0/tfa/email/', {});
    expect(Object.keys(email).toSorted()).toEqual(['msg', 'secret', 'success']);
  });

  test.for([
    ['an offer that is gone', 'PUT /api/v0/asks/999/', { image: 'x' }, undefined],
    ['an absent instance', 'DELETE /api/v0/instances/5/', {}, undefined],
    ['a bad key', 'GET /api/v0/users/current/', undefined, { key: 'nobody' }],
    ['an unknown path', 'GET /api/v0/nothing/', undefined, undefined],
    ['a wrong method', 'DELETE /api/v0/bundles/', {}, undefined],
    ['malformed JSON', 'POST /api/v0/bundles/', undefined, { rawBody: '{"limit":' }],
    ['a listing that does not exist', 'POST /api/v0/volumes/unlist', { id: 5 }, undefined],
    [
      'a code without challenge',
      'PUT /api/v0/tfa/authorize-new-method/',
      { code: '123456', secret: 'x' },
      undefined,
    ],
  ] as const)('to %s has error and msg alone (specification 7; D6)', async ([, call, body, options]) => {
    const answered = await specified().call(call, body, options);
    expect(answered.status).toBeGreaterThanOrEqual(400);
    expect(answered.body).toEqual({ error: expect.any(String), msg: expect.stringMatching(/\S/) });
    expect(answered.headers['content-type']).toBe('application/json');
  });

  test('to a failed verification has fail_count and locked_until as well', async () => {
    const service = specified();
    await addMethod(service, 'totp');
    const { body } = await service.call('POST /api/v0/tfa/', { tfa_method: 'totp', code: '000000' });
    expect(Object.keys(body).toSorted()).toEqual(['error', 'fail_count', 'locked_until', 'msg']);
  });

  test('to a call that comes too early, where pauses are switched on, has error and msg alone', async () => {
    const service = specified({ settings: { pauses: { scale: 1 } } });
    await service.call('GET /api/v0/instances/');
    const { status, body } = await service.call('GET /api/v0/instances/');
    expect({ status, keys: Object.keys(body).toSorted() }).toEqual({ status: 429, keys: ['error', 'msg'] });
  });
});

describe('an offer search', () => {
  const search = (body: unknown, service = specified()): Promise<Answered> =>
    service.call('POST /api/v0/bundles/', body);

  test('shows the id and the names that it filters and sorts by, and no price (D6)', async () => {
    const { body } = await search({});
    expect(Object.keys(body)).toEqual(['offers']);
    expect(body.offers[0]).toEqual({
      id: 1,
      verified: expect.any(Boolean),
      rentable: true,
      gpu_name: expect.any(String),
      num_gpus: expect.any(Number),
      gpu_ram: expect.any(Number),
      direct_port_count: expect.any(Number),
      dlperf_per_dphtotal: expect.any(Number),
    });
  });

  test.for([
    { num_gpus: { eq: 'abc' } },
    { num_gpus: { eq: '1' } },
    { num_gpus: { gte: 1.5 } },
    { num_gpus: 1 },
    { num_gpus: { eq: null } },
    { direct_port_count: { gte: true } },
    { gpu_name: { eq: 5 } },
    { verified: { eq: 'true' } },
    { verified: true },
    { rentable: { eq: 1 } },
    { gpu_ram: { gte: '24000' } },
    { order: 'gpu_ram' },
    { order: ['gpu_ram'] },
    { order: [['gpu_ram', 'upward']] },
    { order: [['gpu_ram', 'DESC']] },
    { limit: '5' },
    { limit: 1.5 },
    { type: 'reserved' },
    { type: 'ondemand' },
    { type: 5 },
    { num_gpus: { about: 1 } },
  ])('refuses %j (D17)', async (body) => {
    const answered = await search(body);
    expect(answered.status).toBe(400);
    expect(answered.body).toEqual({ error: expect.any(String), msg: expect.any(String) });
  });

  test.for([
    { verified: { eq: true }, rentable: { eq: true }, num_gpus: { gte: 1 }, direct_port_count: { gte: 0 } },
    {
      order: [
        ['dlperf_per_dphtotal', 'desc'],
        ['gpu_ram', 'asc'],
      ],
      type: 'on-demand',
      limit: 1,
    },
    {},
  ])('takes %j', async (body) => {
    expect((await search(body)).status).toBe(200);
  });

  test('returns at most limit offers, none for 0', async () => {
    expect((await search({ limit: 1 })).body.offers).toHaveLength(1);
    expect((await search({ limit: 0 })).body.offers).toHaveLength(0);
  });

  test('takes further operators and filters, which the text says there are (D6)', async () => {
    const service = specified({
      catalog: [
        { id: 1, gpuName: 'RTX 4090' },
        { id: 2, gpuName: 'H100 SXM' },
      ],
    });
    const found = async (body: unknown) =>
      (await search(body, service)).body.offers.map(({ id }: { id: number }) => id);
    expect(await found({ gpu_name: { neq: 'RTX 4090' } })).toEqual([2]);
    expect(await found({ gpu_name: { in: ['RTX 4090'] }, disk_space: { gte: 1 } })).toEqual([1]);
    expect(await found({ disk_space: { gte: 1e12 } })).toEqual([]);
    expect((await search({ type: 'bid' }, service)).status).toBe(200);
  });

  test('of the public profile still reads text as numbers, and finds nothing for a word (D17)', async () => {
    const service = simulatedService({ catalog: [{ id: 1 }] });
    expect((await search({ num_gpus: { eq: '1' } }, service)).body.offers).toHaveLength(1);
    expect((await search({ num_gpus: { eq: 'abc' } }, service)).body).toEqual({ offers: [] });
  });
});

describe('a rental', () => {
  const rent = (service: SimulatedService, body: object) =>
    service.call('PUT /api/v0/asks/1/', { image: 'x', ...body });

  test.for([
    ['a disk below 8 GB', { disk: 1 }],
    ['a disk beyond that of the offer, which no reply shows', { disk: 100_000 }],
    ['part of a GB', { disk: 0.5 }],
    ['args beside a long onstart', { onstart: 'x'.repeat(4048), args: ['y'.repeat(100)] }],
    ['4,048 characters that are two code units each', { onstart: '😀'.repeat(4048) }],
  ] as const)('takes %s (D7)', async ([, body]) => {
    expect((await rent(specified(), body)).status).toBe(200);
  });

  test('takes no script above 4,048 characters', async () => {
    expect((await rent(specified(), { onstart: 'x'.repeat(4049) })).status).toBe(400);
  });

  test.for([-1, 2_000_000])('refuses a disk of %i GB, which no bill could name', async (disk) => {
    expect((await rent(specified(), { disk })).status).toBe(400);
  });

  test('needs no credit, and machines do not stop for lack of it (D7)', async () => {
    const service = specified();
    service.setUser({ depositedMicros: 0 });
    const { status, body } = await rent(service, {});
    expect(status).toBe(200);
    service.advance(7200);
    const read = await service.call(`GET /api/v0/instances/${body.new_contract}/`);
    expect(read.body.instances.actual_status).toBe('running');
  });

  test('is not bound to a pace unless a setting says so (D7)', async () => {
    const service = simulatedService({ profile: 'specification', settings: {} });
    expect(specifiedSettings().pauses.scale).toBe(0);
    for (let index = 0; index < 20; index += 1) {
      expect((await service.call('GET /api/v0/instances/')).status).toBe(200);
      expect((await service.call('POST /api/v0/bundles/', {})).status).toBe(200);
    }
  });
});

/** Returns the settings of a new market of that profile. */
function specifiedSettings() {
  const service = simulatedService({ profile: 'specification' });
  return service.simulator.world().settings;
}

/** The words of specification 3.1. */
const WORDS = [null, 'loading', 'running', 'exited', 'unknown', 'offline'];

describe('actual_status (specification 3.1)', () => {
  async function rented(options: SimulatorOptions = {}) {
    const service = specified(options);
    const { body } = await service.call('PUT /api/v0/asks/1/', { image: 'x' });
    const path = `/api/v0/instances/${body.new_contract}/`;
    const word = async () => (await service.call(`GET ${path}`)).body.instances.actual_status;
    return { service, path, word, id: body.new_contract as number };
  }

  test('after a stop request is one of the six written words (D8)', async () => {
    for (const seconds of [0, 30, 600]) {
      const { service, path, word } = await rented();
      service.advance(seconds);
      await service.call(`PUT ${path}`, { state: 'stopped' });
      for (let minute = 0; minute < 10; minute += 1) {
        expect(WORDS).toContain(await word());
        service.advance(60);
      }
      expect(await word()).toBe('exited');
    }
  });

  test('is one of the six written words when the service stops a machine (D8)', async () => {
    const { service, word } = await rented({ settings: { billing: { stopAtZeroCredit: true } } });
    service.advance(600);
    await service.call('POST /sim/faults', { name: 'credit-out' });
    service.advance(60);
    expect(await word()).toBe('exited');
  });

  test.for([
    ['exited', { name: 'exited', seconds: 30 }],
    ['offline', { name: 'offline', seconds: 30 }],
    ['unknown', { name: 'unknown', seconds: 30 }],
    ['offline', { name: 'mass-outage', seconds: 30 }],
  ] as const)('never goes from %s to running, although %j ends (D9)', async ([lost, fault]) => {
    for (const seconds of [20, 600]) {
      const { service, word, id } = await rented();
      service.advance(seconds);
      const target = fault.name === 'mass-outage' ? {} : { instance: id };
      expect((await service.call('POST /sim/faults', { ...fault, ...target })).status).toBe(200);
      expect(await word()).toBe(lost);
      for (let minute = 0; minute < 20; minute += 1) {
        service.advance(60);
        expect(await word()).toBe(lost);
      }
    }
  });

  test('stays lost when the fault is taken away (D9)', async () => {
    const { service, word, id } = await rented();
    service.advance(600);
    await service.call('POST /sim/faults', { name: 'offline', instance: id });
    await service.call('DELETE /sim/faults', {});
    service.advance(60);
    expect(await word()).toBe('offline');
    expect((await service.call('PUT /api/v0/asks/2/', { image: 'x' })).status, 'the host is back').toBe(200);
  });

  test('of the public profile runs again after an outage, and when an exited machine is started (D9)', async () => {
    const service = simulatedService({ catalog: [{ id: 1 }] });
    const { body } = await service.call('PUT /api/v0/asks/1/', { image: 'x' });
    const path = `/api/v0/instances/${body.new_contract}/`;
    const word = async () => (await service.call(`GET ${path}`)).body.instances.actual_status;
    service.advance(600);
    await service.call('POST /sim/faults', { name: 'offline', instance: body.new_contract, seconds: 30 });
    expect(await word()).toBe('offline');
    service.advance(60);
    expect(await word()).toBe('running');
    await service.call('POST /sim/faults', { name: 'exited', instance: body.new_contract });
    expect(await word()).toBe('exited');
    await service.call(`PUT ${path}`, { state: 'running' });
    service.advance(60);
    expect(await word()).toBe('running');
  });
});

describe('API keys and endpoint groups in the specification profile', () => {
  test('keys are created, listed, used and deleted at the paths of the public service', async () => {
    const service = specified();
    const { body } = await service.call('POST /api/v0/auth/apikeys/', { name: 'ci' });
    expect((await service.call('GET /api/v0/users/current/', undefined, { key: body.key })).status).toBe(200);
    const listed = await service.call('GET /api/v0/auth/apikeys/');
    expect(listed.body.apikeys.map(({ name }: { name: string }) => name)).toContain('ci');
    expect((await service.call(`GET /api/v0/auth/apikeys/${body.id}/`)).body.name).toBe('ci');
    await service.call(`DELETE /api/v0/auth/apikeys/${body.id}/`, {});
    expect((await service.call('GET /api/v0/users/current/', undefined, { key: body.key })).status).toBe(401);
  });

  test('endpoint groups are created, listed, changed and deleted at the paths of the public service', async () => {
    const service = specified();
    const { body } = await service.call('POST /api/v0/endptjobs/', { endpoint_name: 'chat' });
    const one = `/api/v0/endptjobs/${body.result}/`;
    expect((await service.call('GET /api/v0/endptjobs/')).body.results).toHaveLength(1);
    expect((await service.call(`PUT ${one}`, { max_workers: 3 })).status).toBe(200);
    expect((await service.call(`GET ${one}`)).body.result.max_workers).toBe(3);
    expect((await service.call(`DELETE ${one}`, {})).status).toBe(200);
  });

  test('the figures of an endpoint group may be text', async () => {
    const service = specified();
    const { body } = await service.call('POST /api/v0/endptjobs/', { max_workers: '3' });
    const { body: read } = await service.call(`GET /api/v0/endptjobs/${body.result}/`);
    expect(read.result.max_workers).toBe(3);
    expect((await service.call('POST /api/v0/endptjobs/', { max_workers: '1.5' })).status).toBe(400);
  });

  test.for(['public', 'specification'] as const)(
    'integers of 4.9 are whole, and a refused group uses up no id, %s profile (D4, D16)',
    async (profile) => {
      const service = simulatedService({ profile });
      const create = (body: object) => service.call('POST /api/v0/endptjobs/', body);
      for (const name of ['inactivity_timeout', 'cold_workers', 'max_workers']) {
        expect((await create({ [name]: 1.5 })).status, name).toBe(400);
        expect((await create({ [name]: 2 })).status, name).toBe(200);
      }
      const { body } = await create({});
      expect(body.result, 'three were created before').toBe(4);
    },
  );

  test.for(['public', 'specification'] as const)(
    'a category that nothing names is refused, %s profile (D16)',
    async (profile) => {
      const service = simulatedService({ profile });
      const create = (category: string) =>
        service.call('POST /api/v0/auth/apikeys/', { permissions: { api: { [category]: {} } } });
      expect(await create('instance_wirte')).toMatchObject({
        status: 400,
        body: { error: 'invalid_permissions', msg: expect.stringContaining('instance_wirte') },
      });
      for (const name of ['misc', 'user_read', 'instance_read', 'instance_write']) {
        expect((await create(name)).status, name).toBe(200);
      }
    },
  );
});

describe('a refused call', () => {
  const GARBAGE = [
    {},
    { id: 'x', image: 5, name: 7, endpoint_state: 'x', max_workers: -1, ssh_key: 5, key: 1, permissions: 5 },
    { image: 'x', disk: -1, endpoint_name: 'x', search_params: 'not a filter', file_hash: 'h', gpu_ram: 'x' },
    { name: 'x', image: 'x', file_hash: 'h', file_size: 'x', search_params: 'gpu_ram>>5', ttl: 'x' },
  ];

  test.for(routes.map((route) => [nameOf(route), route] as const))(
    'changes no row and uses up no id: %s (D16)',
    async ([, route]) => {
      const profile = route.profiles.includes('specification') ? 'specification' : 'public';
      const service = simulatedService({ profile, catalog: [{ id: 1 }, { id: 2 }] });
      const call = await callOf(service, route);
      for (const body of GARBAGE) {
        const before = snapshot(service);
        const { status } = await service.call(call, body);
        if (status >= 400) expect(snapshot(service)).toBe(before);
      }
    },
  );
});

/** Rows and counters; what a 2FA call keeps on purpose (failed attempts, asked-for codes) is left out. */
function snapshot({ simulator }: SimulatedService): string {
  const { counters, tables } = simulator.world();
  const { tfaAccounts: _attempts, ...rest } = tables;
  return JSON.stringify({ counters, tables: rest });
}
