import { describe, expect, test } from 'vitest';
import { simulatedService } from '../builders/simulated-service.ts';
import { misfits, OFFER_COLUMNS } from './wire-columns.ts';

/** Search as a public client sends it: numbers as text next to real ones, preceded by the client's defaults. */
const RECORDED_SEARCH = {
  verified: { eq: true },
  external: { eq: false },
  rentable: { eq: true },
  gpu_name: { eq: 'RTX 4090' },
  num_gpus: { gte: '1' },
  gpu_ram: { gte: 20_000.0 },
  dph_total: { lt: '6' },
  order: [['dph_total', 'asc']],
  type: 'on-demand',
  limit: 5,
  allocated_storage: 5.0,
};

/** The 17 keys that some clients always send, null or false when unset. */
const RECORDED_RENT = {
  client_id: 'me',
  image: 'pytorch/pytorch',
  env: { TZ: 'UTC', '-p 8080:8080': '1', '-p 53:53/udp': '1', '-h': 'bob' },
  price: null,
  disk: 10,
  label: null,
  extra: null,
  onstart: null,
  image_login: null,
  python_utf8: false,
  lang_utf8: false,
  use_jupyter_lab: false,
  jupyter_dir: null,
  force: false,
  cancel_unavail: false,
  template_hash_id: null,
  user: null,
  runtype: 'ssh_direc ssh_proxy',
};

describe('offer search', () => {
  test('of a recorded body finds offers whose every column has its type', async () => {
    const service = simulatedService({ catalog: 300 });
    for (const spec of ['POST /api/v0/bundles/', 'POST /api/v0/bundles']) {
      const { status, body } = await service.call(spec, RECORDED_SEARCH);
      expect(status).toBe(200);
      expect(body.offers).toHaveLength(5);
      for (const offer of body.offers) expect(misfits(offer, OFFER_COLUMNS)).toEqual([]);
    }
  });

  test('answers nothing with an empty list', async () => {
    const { body } = await simulatedService().call('POST /api/v0/bundles/', { gpu_name: { eq: 'Voodoo 2' } });
    expect(body).toEqual({ offers: [] });
  });

  test('B20: shows offers that can be rented, unless a search says otherwise', async () => {
    const service = simulatedService({ catalog: [{ id: 1 }, { id: 2, verified: false }] });
    await service.call('PUT /api/v0/asks/1/', { image: 'x' });
    const search = async (filters: object) =>
      (await service.call('POST /api/v0/bundles/', { order: [['id', 'asc']], ...filters })).body.offers;
    expect(await search({})).toMatchObject([{ id: 2 }]);
    expect(await search({ rentable: { eq: false } })).toMatchObject([{ id: 1 }]);
    const any = { rentable: { eq: 'any' }, verified: { eq: 'any' }, rented: { eq: 'any' } };
    expect(await search(any)).toMatchObject([
      { id: 1, rentable: false, rented: true },
      { id: 2, rentable: true, rented: false, verification: 'unverified' },
    ]);
  });

  test('GPU names are listed without a key', async () => {
    const service = simulatedService({
      catalog: [{ gpuName: 'H200' }, { gpuName: 'A40' }, { gpuName: 'A40' }],
    });
    for (const path of ['/api/v0/gpu_names/unique/', '/api/v0/gpu_types/']) {
      expect((await service.call(`GET ${path}`, undefined, { key: null })).body).toEqual({
        gpu_names: ['A40', 'H200'],
      });
    }
  });
});

describe('rent', () => {
  test('a recorded body with every key gives the contract and its restricted key', async () => {
    const service = simulatedService({ catalog: [{ id: 7 }] });
    const { status, body } = await service.call('PUT /api/v0/asks/7/', RECORDED_RENT);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      success: true,
      new_contract: expect.any(Number),
      instance_api_key: expect.any(String),
    });
    service.advance(600);
    const row = (await service.call(`GET /api/v0/instances/${body.new_contract}/?owner=me`)).body.instances;
    expect(Object.keys(row.ports)).toEqual(['22/tcp', '8080/tcp', '53/udp']);
    expect(row.extra_env).toContainEqual(['TZ', 'UTC']);
  });

  test('the least that clients send is an image', async () => {
    const service = simulatedService({ catalog: [{ id: 7 }] });
    expect((await service.call('PUT /api/v0/asks/7/', { image: 'x' })).body.success).toBe(true);
  });

  test('an offer can be rented once', async () => {
    const service = simulatedService({ catalog: [{ id: 7 }] });
    await service.call('PUT /api/v0/asks/7/', { image: 'x' });
    const again = await service.call('PUT /api/v0/asks/7/', { image: 'x' });
    expect(again).toMatchObject({ status: 404, body: { error: 'invalid_args', ask_id: 7 } });
    expect(again.body.msg).toContain('no_such_ask Instance type by id 7 is not available.');
    const cancelling = await service.call('PUT /api/v0/asks/7/', { image: 'x', cancel_unavail: true });
    expect(cancelling).toMatchObject({ status: 410, body: { error: 'no_such_ask' } });
  });

  test('and again once it was destroyed', async () => {
    const service = simulatedService({ catalog: [{ id: 7 }] });
    const { body } = await service.call('PUT /api/v0/asks/7/', { image: 'x' });
    await service.call(`DELETE /api/v0/instances/${body.new_contract}/`, {});
    expect((await service.call('PUT /api/v0/asks/7/', { image: 'x' })).status).toBe(200);
  });

  test.each([
    ['no image', {}, 'invalid_args', /image/],
    ['too little disk', { image: 'x', disk: 4 }, 'invalid_args', /at least 8 GB/],
    ['more disk than there is', { image: 'x', disk: 100_000 }, 'invalid_args', /100000 GB/],
    ['a bid of nothing', { image: 'x', price: 0 }, 'invalid_price', /0.001/],
    ['a bid above all', { image: 'x', price: 129 }, 'invalid_price', /128/],
    ['an onstart of 4,049 characters', { image: 'x', onstart: 'x'.repeat(4049) }, 'invalid_args', /4048/],
    [
      'onstart and args of 4,097',
      { image: 'x', onstart: 'x'.repeat(4000), args: ['y'.repeat(97)] },
      'invalid_args',
      /4096/,
    ],
    ['a label of 257', { image: 'x', label: 'x'.repeat(257) }, 'invalid_args', /256/],
    ['an environment of 32 kB', { image: 'x', env: { A: 'x'.repeat(33_000) } }, 'invalid_args', /32768/],
    ['a template that is not there', { template_hash_id: 'nope' }, 'invalid_args', /nope/],
    ['an image that is a number', { image: 5 }, 'bad_request', /image/],
  ])('%s is refused and rents nothing', async (_what, body, error, reason) => {
    const service = simulatedService({ catalog: [{ id: 7 }] });
    const reply = await service.call('PUT /api/v0/asks/7/', body);
    expect(reply).toMatchObject({
      status: 400,
      body: { success: false, error, msg: expect.stringMatching(reason) },
    });
    expect(service.simulator.world().tables.contracts).toEqual({});
  });

  test('an onstart of 4,048 characters is taken', async () => {
    const service = simulatedService({ catalog: [{ id: 7 }] });
    expect(
      (await service.call('PUT /api/v0/asks/7/', { image: 'x', onstart: 'x'.repeat(4048) })).status,
    ).toBe(200);
  });

  test('a VM needs a registered SSH key', async () => {
    const service = simulatedService({ catalog: [{ id: 7 }] });
    service.setUser({ sshKey: '' });
    expect(await service.call('PUT /api/v0/asks/7/', { image: 'x', vm: true })).toMatchObject({
      status: 400,
      body: { error: 'no_ssh_key_for_vm' },
    });
    expect((await service.call('PUT /api/v0/asks/7/', { image: 'x' })).status).toBe(200);
  });

  test('flags as one string open the same ports as the object', async () => {
    const service = simulatedService({ catalog: [{ id: 7 }] });
    const { body } = await service.call('PUT /api/v0/asks/7/', {
      image: 'x',
      env: '-e A="b c" -p 9000:9000 -p 70:70/udp -h bob',
    });
    service.advance(600);
    const row = (await service.call(`GET /api/v0/instances/${body.new_contract}/`)).body.instances;
    expect(Object.keys(row.ports)).toEqual(['22/tcp', '9000/tcp', '70/udp']);
    expect(row.extra_env).toContainEqual(['-h', 'bob']);
  });

  test('a machine without direct ports is reached by ssh_host alone', async () => {
    const service = simulatedService({ catalog: [{ id: 7, directPorts: 0 }] });
    const { body } = await service.call('PUT /api/v0/asks/7/', { image: 'x' });
    service.advance(600);
    const row = (await service.call(`GET /api/v0/instances/${body.new_contract}/`)).body.instances;
    expect(row).not.toHaveProperty('ports');
    expect(row.ssh_port).toBeGreaterThan(0);
  });

  test('many offers with one body: each is rented or refused by itself', async () => {
    const service = simulatedService({ catalog: [{ id: 1 }, { id: 2 }] });
    const { status, body } = await service.call('POST /api/v0/asks/bulk/', { ids: [1, '2', 3], image: 'x' });
    expect(status).toBe(200);
    expect(body.results).toMatchObject([
      { ask_id: 1, success: true },
      { ask_id: 2, success: true },
      { ask_id: 3, success: false, error: 'invalid_args' },
    ]);
    const odd = await service.call('POST /api/v0/asks/bulk/', { ids: ['x'], image: 'x' });
    expect(odd).toMatchObject({ status: 400, body: { msg: 'ids must be a number.' } });
    const tooMany = await service.call('POST /api/v0/asks/bulk/', {
      ids: Array.from({ length: 65 }, (_, id) => id),
      image: 'x',
    });
    expect(tooMany).toMatchObject({ status: 400, body: { msg: expect.stringContaining('64') } });
  });

  test('launch_instance searches and rents in one step', async () => {
    const service = simulatedService({
      catalog: [
        { id: 1, pricePerHour: 2 },
        { id: 2, pricePerHour: 1 },
      ],
    });
    const launch = {
      image: 'x',
      disk: 20,
      q: { rented: { eq: false }, order: [['dph_total', 'asc']], limit: 3, allocated_storage: 20 },
    };
    const first = await service.call('PUT /api/v0/launch_instance/', launch);
    expect(first.body).toMatchObject({ success: true, new_contract: expect.any(Number) });
    expect(service.simulator.world().tables.offers[2]?.rentedBy).toBe(first.body.new_contract);
    expect((await service.call('PUT /api/v0/launch_instance/', launch)).status).toBe(200);
    expect((await service.call('PUT /api/v0/launch_instance/', launch)).status).toBe(404);
  });

  test('a template gives what the request leaves out, env is merged by key', async () => {
    const service = simulatedService({ catalog: [{ id: 7 }] });
    const made = await service.call('POST /api/v0/template/', {
      name: 'base',
      image: 'template:1',
      onstart: 'echo template',
      env: { A: 'template', B: 'template' },
    });
    const { body } = await service.call('PUT /api/v0/asks/7/', {
      image: null,
      template_hash_id: made.body.template.hash_id,
      onstart: 'echo request',
      env: { B: 'request' },
    });
    const row = (await service.call(`GET /api/v0/instances/${body.new_contract}/`)).body.instances;
    expect(row).toMatchObject({ image_uuid: 'template:1', onstart: 'echo request', template_name: 'base' });
    expect(Object.fromEntries(row.extra_env)).toEqual({ A: 'template', B: 'request' });
  });
});
