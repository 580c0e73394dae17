import { describe, expect, test } from 'vitest';
import type { SettingsOverride } from '../../src/simulator/settings.ts';
import type { RowOf } from '../../src/simulator/world/world.ts';
import { type SimulatedService, simulatedService } from '../builders/simulated-service.ts';
import { INSTANCE_COLUMNS, misfits } from './wire-columns.ts';

interface Rented {
  readonly service: SimulatedService;
  readonly id: number;
  readonly path: string;
  readonly key: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- rows are read by name
  row(): Promise<any>;
}

async function rented(body: object = {}, settings: SettingsOverride = {}): Promise<Rented> {
  const catalog = [{ id: 1, hostId: 5 }, { id: 2 }, { id: 3 }];
  const service = simulatedService({ catalog, seed: 4, settings });
  const reply = await service.call('PUT /api/v0/asks/1/', { image: 'pytorch/pytorch', ...body });
  const id = reply.body.new_contract;
  const path = `/api/v0/instances/${id}/`;
  return {
    service,
    id,
    path,
    key: reply.body.instance_api_key,
    row: async () => (await service.call(`GET ${path}`)).body.instances,
  };
}

async function booted(body: object = {}, settings: SettingsOverride = {}): Promise<Rented> {
  const machine = await rented(body, settings);
  machine.service.advance(600);
  return machine;
}

describe('an instance boots', () => {
  test('null, created, loading with progress, running', async () => {
    const { service, row } = await rented();
    const seen: string[] = [];
    const messages: string[] = [];
    for (let second = 0; second < 300; second += 1) {
      const { actual_status, status_msg } = await row();
      if (seen.at(-1) !== String(actual_status)) seen.push(String(actual_status));
      if (actual_status === 'loading') messages.push(status_msg);
      service.advance(1);
    }
    expect(seen).toEqual(['null', 'created', 'loading', 'running']);
    expect(new Set(messages).size).toBeGreaterThan(5);
    for (const message of messages) expect(message).not.toMatch(/error|fail|denied|invalid/i);
  });

  test('within one to five minutes', async () => {
    for (const offer of [1, 2, 3]) {
      const service = simulatedService({ catalog: [{ id: offer, machineId: 100 + offer }] });
      const { body } = await service.call(`PUT /api/v0/asks/${offer}/`, { image: 'x' });
      const status = async () =>
        (await service.call(`GET /api/v0/instances/${body.new_contract}/`)).body.instances.actual_status;
      service.advance(59);
      expect(await status()).not.toBe('running');
      service.advance(241);
      expect(await status()).toBe('running');
    }
  });

  test('a row has its numbers, lists and texts even before it boots', async () => {
    const early = await (await rented()).row();
    expect(early).toMatchObject({
      actual_status: null,
      start_date: expect.any(Number),
      image_runtype: expect.any(String),
    });
    expect(early.extra_env).toEqual([]);
    expect(early).not.toHaveProperty('ports');
  });

  test('a running row has every column in its type', async () => {
    expect(misfits(await (await booted()).row(), INSTANCE_COLUMNS)).toEqual([]);
  });

  test('ports name the address that ssh uses, with one less for jupyter', async () => {
    const direct = await (await booted()).row();
    expect(direct.public_ipaddr).toMatch(/^203\.0\.113\./);
    expect(direct.ports['22/tcp']).toEqual([{ HostIp: '0.0.0.0', HostPort: String(direct.ssh_port) }]);
    const jupyter = await (await booted({ runtype: 'jupyter_direc ssh_direc ssh_proxy' })).row();
    expect(jupyter.ports['22/tcp'][0].HostPort).toBe(String(jupyter.ssh_port + 1));
    expect(Object.keys(jupyter.ports)).toContain('8080/tcp');
  });

  test('figures move from second to second', async () => {
    const { service, row } = await booted();
    const before = await row();
    service.advance(1);
    const after = await row();
    expect(after.gpu_util).not.toBe(before.gpu_util);
    expect(after.start_date).toBe(before.start_date);
  });
});

describe('stop, start, label, reboot, recycle', () => {
  test('stopped, then running again', async () => {
    const { service, path, row } = await booted();
    expect((await service.call(`PUT ${path}`, { state: 'stopped' })).body).toEqual({ success: true });
    expect(await row()).toMatchObject({
      actual_status: 'stopped',
      intended_status: 'stopped',
      cur_state: 'stopped',
    });
    expect(await row()).not.toHaveProperty('ports');
    await service.call(`PUT ${path}`, { state: 'running' });
    expect(await row()).toMatchObject({ actual_status: 'loading', intended_status: 'running' });
    service.advance(60);
    expect(await row()).toMatchObject({
      actual_status: 'running',
      intended_status: 'running',
      cur_state: 'running',
    });
  });

  test('many at once, with ids as text', async () => {
    const { service, id } = await booted();
    const other = (await service.call('PUT /api/v0/asks/2/', { image: 'x' })).body.new_contract;
    await service.call('PUT /api/v0/instances/', { ids: [String(id), other], state: 'stopped' });
    const { instances } = (await service.call('GET /api/v0/instances/')).body;
    expect(instances.map((row: { intended_status: string }) => row.intended_status)).toEqual([
      'stopped',
      'stopped',
    ]);
  });

  test('the label is distinguished by its key', async () => {
    const { service, path, row } = await booted();
    await service.call(`PUT ${path}`, { label: 'mine' });
    expect((await row()).label).toBe('mine');
    await service.call(`PUT ${path}`, { label: '' });
    expect((await row()).label).toBeNull();
    expect(await service.call(`PUT ${path}`, { label: 'x'.repeat(1025) })).toMatchObject({
      status: 400,
      body: { error: 'label_too_long' },
    });
  });

  test('a reboot while the image is pulled does not shorten the pull', async () => {
    const service = simulatedService();
    const [offer] = (await service.call('POST /api/v0/bundles/', { rentable: { eq: true } })).body.offers;
    const { body } = await service.call(`PUT /api/v0/asks/${offer.id}/`, { image: 'x' });
    service.advance(20);
    const path = `/api/v0/instances/${body.new_contract}/`;
    const reboot = `PUT /api/v0/instances/reboot/${body.new_contract}/`;
    expect((await service.call(reboot, {})).body.success).toBe(true);
    service.advance(30);
    expect((await service.call(`GET ${path}`)).body.instances.actual_status).toBe('loading');
    service.advance(300);
    expect((await service.call(`GET ${path}`)).body.instances.actual_status).toBe('running');
  });

  test('reboot and recycle come back under the same id', async () => {
    const { service, id, row } = await booted();
    await service.call(`PUT /api/v0/instances/reboot/${id}/`, {});
    expect((await row()).actual_status).toBe('rebooting');
    service.advance(60);
    expect((await row()).actual_status).toBe('running');
    await service.call(`PUT /api/v0/instances/recycle/${id}/`, {});
    expect((await row()).actual_status).toBe('loading');
    service.advance(600);
    expect((await row()).actual_status).toBe('running');
  });

  test.each([[{}], [{ state: 'flying' }], [{ state: 7 }]])('%j is a bad request', async (body) => {
    const { service, path } = await booted();
    expect(await service.call(`PUT ${path}`, body)).toMatchObject({
      status: 400,
      body: { error: 'bad_request' },
    });
  });

  test('of an absent instance: 404 no_such_instance', async () => {
    const service = simulatedService();
    for (const spec of [
      'PUT /api/v0/instances/9/',
      'DELETE /api/v0/instances/9/',
      'PUT /api/v0/instances/reboot/9/',
      'DELETE /api/v0/instances/x/',
    ]) {
      expect(await service.call(spec, { state: 'stopped' })).toMatchObject({
        status: 404,
        body: { error: 'no_such_instance', msg: expect.any(String) },
      });
    }
  });
});

describe('destroy', () => {
  test('the machine reads as null, is no longer listed, and its key is worth nothing', async () => {
    const { service, path, key } = await booted();
    expect((await service.call(`DELETE ${path}`, {})).body).toMatchObject({ success: true });
    expect(await service.call(`GET ${path}`)).toMatchObject({ status: 200, body: { instances: null } });
    expect((await service.call('GET /api/v0/instances/')).body).toMatchObject({
      instances_found: 0,
      instances: [],
    });
    expect((await service.call(`DELETE ${path}`, {}, { key })).status).toBe(401);
    expect((await service.call(`DELETE ${path}`, {})).status).toBe(404);
  });

  test('many at once, all or none', async () => {
    const { service, id } = await booted();
    const other = (await service.call('PUT /api/v0/asks/2/', { image: 'x' })).body.new_contract;
    expect((await service.call('DELETE /api/v0/instances/', { instance_ids: [id, 99] })).status).toBe(404);
    expect(Object.keys(service.simulator.world().tables.contracts)).toHaveLength(2);
    await service.call('DELETE /api/v0/instances/', { instance_ids: [id, String(other), id] });
    expect(service.simulator.world().tables.contracts).toEqual({});
  });

  test('another user reads null and can change nothing', async () => {
    const { service, path } = await booted();
    const { id, ...user } = service.user();
    service.put('users', { ...user, id: id + 1 });
    const key = service.addKey({ userId: id + 1 });
    expect((await service.call(`GET ${path}`, undefined, { key })).body).toEqual({ instances: null });
    expect((await service.call('GET /api/v0/instances/', undefined, { key })).body.instances).toEqual([]);
    expect((await service.call(`DELETE ${path}`, {}, { key })).status).toBe(404);
  });

  test('the restricted key starts, stops or destroys its own machine and nothing else', async () => {
    const { service, path, key } = await booted();
    expect((await service.call(`PUT ${path}`, { state: 'stopped' }, { key })).status).toBe(200);
    expect((await service.call(`PUT ${path}`, { label: 'x' }, { key })).status).toBe(403);
    expect((await service.call('GET /api/v0/instances/', undefined, { key })).status).toBe(403);
    expect((await service.call('PUT /api/v0/asks/2/', { image: 'x' }, { key })).status).toBe(403);
    expect((await service.call(`DELETE ${path}`, {}, { key })).status).toBe(200);
  });
});

describe('the key of an instance', () => {
  const settled = async (settings: SettingsOverride) => {
    const machine = await booted({}, settings);
    const { service, path, key } = machine;
    const other = (await service.call('PUT /api/v0/asks/2/', { image: 'x' })).body.new_contract;
    const as = (spec: string, body?: object) => service.call(spec, body, { key });
    return { ...machine, as, path, others: `/api/v0/instances/${other}/` };
  };

  test.each([
    [true, 200],
    [false, 403],
  ])('reads its own row when keys.ownKeyReads is %s: %i', async (ownKeyReads, status) => {
    const { as, path, others, id } = await settled({ keys: { ownKeyReads } });
    const reply = await as(`GET ${path}`);
    expect(reply.status).toBe(status);
    if (ownKeyReads) expect(reply.body.instances).toMatchObject({ id, actual_status: 'running' });
    expect((await as(`GET ${others}`)).status).toBe(403);
    expect((await as('GET /api/v1/instances/')).status).toBe(403);
  });

  test('changes nothing when it starts its running machine', async () => {
    const { as, path, service, row } = await settled({});
    const before = { ...service.simulator.world().tables.contracts };
    expect(await as(`PUT ${path}`, { state: 'running' })).toMatchObject({
      status: 200,
      body: { success: true },
    });
    expect(service.simulator.world().tables.contracts).toEqual(before);
    expect((await row()).actual_status).toBe('running');
  });

  test('can do nothing to another machine, and nothing else to its own', async () => {
    const { as, others, id, service } = await settled({ keys: { ownKeyReads: true } });
    const before = { ...service.simulator.world().tables.contracts };
    const refused = [
      await as(`PUT ${others}`, { state: 'stopped' }),
      await as(`DELETE ${others}`, {}),
      await as('DELETE /api/v0/instances/', { instance_ids: [id] }),
      await as(`PUT /api/v0/instances/command/${id}/`, { command: 'rm -rf workspace' }),
      await as(`PUT /api/v0/instances/request_logs/${id}/`, {}),
      await as(`PUT /api/v0/instances/reboot/${id}/`, {}),
    ];
    expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403, 403]);
    expect(service.simulator.world().tables.contracts).toEqual(before);
  });

  test.each([
    [true, 200],
    [false, 401],
  ])(
    'after the end of the key that rented it, with keys.instanceKeyOutlivesAccountKey %s: %i',
    async (instanceKeyOutlivesAccountKey, status) => {
      const service = simulatedService({
        catalog: [{ id: 1 }],
        settings: { keys: { instanceKeyOutlivesAccountKey } },
      });
      const rentingKey = service.addKey({});
      const { body } = await service.call('PUT /api/v0/asks/1/', { image: 'x' }, { key: rentingKey });
      const end = () =>
        service.call(`DELETE /api/v0/instances/${body.new_contract}/`, {}, { key: body.instance_api_key });
      const rows = Object.values(service.simulator.world().tables.apiKeys);
      const row = rows.find(({ secret }) => secret === rentingKey);
      await service.call(`DELETE /api/v0/auth/apikeys/${row?.id}/`);
      expect((await end()).status).toBe(status);
    },
  );
});

describe('the command door', () => {
  const door = async (settings: SettingsOverride = {}) => {
    const machine = await booted({ onstart: 'date' }, settings);
    const { service, id } = machine;
    const send = (command: string) => service.call(`PUT /api/v0/instances/command/${id}/`, { command });
    const read = async (command: string) => {
      const { pathname, search } = new URL((await send(command)).body.result_url);
      return service.call(`GET ${pathname}${search}`, undefined, { key: null });
    };
    return { ...machine, send, read };
  };

  test('shows the files that a test sets, and runs each command once', async () => {
    const { service, id, read, send } = await door();
    const { contracts } = service.simulator.world().tables;
    const files = { 'var/tmp/.gpurental/exit.3.nonce': 0, 'var/tmp/.gpurental/ok': 0 };
    service.put('contracts', { ...contracts[id], files } as RowOf<'contracts'>);
    expect((await read('ls var/tmp/.gpurental')).body).toBe('exit.3.nonce\nok\n');
    const removal = await send('rm var/tmp/.gpurental/ok');
    const { pathname, search } = new URL(removal.body.result_url);
    for (let times = 0; times < 2; times += 1)
      expect(await service.call(`GET ${pathname}${search}`)).toMatchObject({ status: 200, body: '' });
    expect((await read('ls var/tmp/.gpurental')).body).toBe('exit.3.nonce\n');
  });

  test('works while the machine is stopped and after its container exited', async () => {
    const { service, id, path, read } = await door();
    await service.call('POST /sim/faults', { name: 'exited', instance: id });
    expect((await read('ls root')).body).toBe('onstart.sh\n');
    await service.call(`PUT ${path}`, { state: 'stopped' });
    expect((await read('ls root')).body).toBe('onstart.sh\n');
  });

  test('of a machine whose host is away gives no result', async () => {
    const { service, read } = await door();
    await service.call('POST /sim/faults', { name: 'offline', host: 5, seconds: 60 });
    expect((await read('rm -rf root')).status).toBe(404);
    service.advance(120);
    expect((await read('ls root')).body).toBe('onstart.sh\n');
  });

  test('is new with its container', async () => {
    const { service, id, read } = await door();
    await read('rm -rf root');
    await service.call(`PUT /api/v0/instances/recycle/${id}/`, {});
    expect((await read('ls root')).body).toBe('onstart.sh\n');
  });

  test('keeps a pause of 1.5 s between two commands', async () => {
    const { service, send } = await door({ pauses: { scale: 1 } });
    expect((await send('ls')).status).toBe(200);
    service.advance(1.4);
    expect((await send('ls')).status).toBe(429);
    service.advance(1.5);
    expect((await send('ls')).status).toBe(200);
  });
});

describe('settings of containers', () => {
  const logOf = async ({ service, id }: Rented) => {
    const reply = await service.call(`PUT /api/v0/instances/request_logs/${id}/`, {});
    if (reply.body.success !== true) return reply.body.error;
    const { pathname, search } = new URL(reply.body.result_url);
    return (await service.call(`GET ${pathname}${search}`, undefined, { key: null })).body;
  };
  const withOutput = ({ service, id }: Rented): void => {
    const contract = service.simulator.world().tables.contracts[id];
    service.put('contracts', { ...contract, output: ['hello'] } as RowOf<'contracts'>);
  };

  test.each([true, false])('onstartInLog %s', async (onstartInLog) => {
    const machine = await booted({ onstart: 'date' }, { containers: { onstartInLog } });
    withOutput(machine);
    const log = await logOf(machine);
    expect([log.includes('running onstart'), log.includes('hello')]).toEqual([onstartInLog, onstartInLog]);
  });

  test('onstartInLog off hides nothing of launch mode args', async () => {
    const machine = await booted({ args: ['a'] }, { containers: { onstartInLog: false } });
    withOutput(machine);
    expect(await logOf(machine)).toContain('hello');
  });

  test.each([true, false])('logsWhenStopped %s', async (logsWhenStopped) => {
    const machine = await booted({}, { containers: { logsWhenStopped } });
    await machine.service.call(`PUT ${machine.path}`, { state: 'stopped' });
    expect(await logOf(machine)).toEqual(logsWhenStopped ? expect.stringContaining('C.2') : 'not_running');
  });

  test.each([
    [true, 'running'],
    [false, 'exited'],
  ])('exitedRestarts %s: a crashed container is %s soon', async (exitedRestarts, status) => {
    const { service, id, row } = await booted({}, { containers: { exitedRestarts } });
    await service.call('POST /sim/faults', { name: 'exited', instance: id });
    expect((await row()).actual_status).toBe('exited');
    service.advance(60);
    expect((await row()).actual_status).toBe(status);
  });

  test.each([
    [true, 2],
    [false, 1],
  ])('exitedBills %s: an hour exited after an hour running costs %i hours', async (exitedBills, hours) => {
    const service = simulatedService({
      catalog: [{ id: 1, pricePerHour: 1, diskPricePerGBMonth: 0 }],
      settings: { billing: { exitedBills } },
    });
    const { body } = await service.call('PUT /api/v0/asks/1/', { image: 'x' });
    service.advance(3600);
    await service.call('POST /sim/faults', { name: 'exited', instance: body.new_contract });
    service.advance(3600);
    expect((await service.call('GET /sim/ledger')).body.dollars).toBeCloseTo(hours, 6);
  });

  test('limits.machines refuses one more with the number and a remedy', async () => {
    const { service, path } = await booted({}, { limits: { machines: 1 } });
    const rent = () => service.call('PUT /api/v0/asks/2/', { image: 'x' });
    expect(await rent()).toMatchObject({
      status: 400,
      body: { error: 'too_many_machines', msg: expect.stringMatching(/at most 1 machines.*Destroy one/) },
    });
    await service.call(`DELETE ${path}`, {});
    expect((await rent()).status).toBe(200);
  });
});

describe('the paged list', () => {
  async function fleet(count: number): Promise<SimulatedService> {
    const service = simulatedService({
      catalog: Array.from({ length: count }, (_, index) => ({ id: index + 1, pricePerHour: 0.1 })),
    });
    for (let offer = 1; offer <= count; offer += 1) {
      await service.call(`PUT /api/v0/asks/${offer}/`, {
        image: 'x',
        label: offer % 3 === 0 ? 'third' : null,
      });
    }
    return service;
  }
  const page = (service: SimulatedService, query: Record<string, unknown> = {}) =>
    service.call(
      `GET /api/v1/instances/?${new URLSearchParams(
        Object.entries(query).map(([name, value]) => [
          name,
          typeof value === 'string' ? value : JSON.stringify(value),
        ]),
      )}`,
    );

  test('gives each row once over all pages and ends with a null token', async () => {
    const service = await fleet(60);
    const ids: number[] = [];
    let token: string | null = null;
    let pages = 0;
    do {
      const { body } = await page(service, token === null ? {} : { after_token: token });
      expect(body.instances.length).toBeLessThanOrEqual(25);
      expect(body).toMatchObject({ success: true, total_instances: 60, label_counts: { third: 20, '': 40 } });
      ids.push(...body.instances.map(({ id }: { id: number }) => id));
      token = body.next_token;
      pages += 1;
    } while (token !== null);
    expect(pages).toBe(3);
    expect(new Set(ids).size).toBe(60);
    expect(ids).toEqual([...ids].sort((left, right) => left - right));
  });

  test('filters, orders, selects and limits', async () => {
    const service = await fleet(9);
    const { body } = await page(service, {
      select_filters: { label: { in: ['third', 'nothing'] }, actual_status: { in: [null, 'loading'] } },
      order_by: [{ col: 'id', dir: 'desc' }],
      select_cols: ['id', 'label', 'nonsense'],
      limit: 2,
    });
    expect(body.instances_found).toBe(3);
    expect(body.instances).toEqual([
      { id: 20_000_009, label: 'third', nonsense: null },
      { id: 20_000_006, label: 'third', nonsense: null },
    ]);
    expect((await page(service, { select_filters: { label: { in: [null] } } })).body.instances_found).toBe(6);
  });

  test.each([
    ['no limit', {}, 25],
    ['a limit above the most', { limit: 500 }, 25],
    ['a limit of nothing', { limit: 0 }, 5],
    ['a negative limit', { limit: -3 }, 5],
  ])('%s', async (_what, query, rows) => {
    expect((await page(await fleet(30), query)).body.instances).toHaveLength(rows);
  });

  test('destroying and renting between two pages loses and doubles no other row', async () => {
    const service = await fleet(30);
    const first = (await page(service)).body;
    await service.call(`DELETE /api/v0/instances/${first.instances[3].id}/`, {});
    const second = (await page(service, { after_token: first.next_token })).body;
    expect(second.instances.map(({ id }: { id: number }) => id - 20_000_000)).toEqual([26, 27, 28, 29, 30]);
  });

  test.each([
    ['a computed column', { select_filters: { dph_total: { gt: 1 } } }, 'invalid_request'],
    ['an unknown operator', { select_filters: { label: { like: 'x' } } }, 'invalid_request'],
    ['text that is no JSON', { select_filters: '{' }, 'invalid_request'],
    ['a foreign token', { after_token: 'zzz' }, 'invalid_token'],
  ])('%s is refused', async (_what, query, error) => {
    expect(await page(await fleet(1), query)).toMatchObject({
      status: 400,
      body: { error, msg: expect.any(String) },
    });
  });

  test('lists the values that filters may take', async () => {
    const { body } = await (await fleet(2)).call('GET /api/v0/instances/filters/');
    expect(body.filters).toContainEqual({
      actual_status: null,
      verification: 'verified',
      gpu_name: 'RTX 4090',
    });
  });

  test('answers 410 on the old list where the settings say so', async () => {
    const service = simulatedService({ settings: { lists: { v0Gone: true } } });
    expect((await service.call('GET /api/v0/instances/')).status).toBe(410);
    expect((await service.call('GET /api/v1/instances/')).status).toBe(200);
  });

  test('a new contract lags behind where the settings say so', async () => {
    const service = simulatedService({ catalog: [{ id: 1 }], settings: { lists: { lagSeconds: 20 } } });
    await service.call('PUT /api/v0/asks/1/', { image: 'x' });
    expect((await service.call('GET /api/v0/instances/')).body.instances_found).toBe(0);
    service.advance(21);
    expect((await service.call('GET /api/v0/instances/')).body.instances_found).toBe(1);
  });
});

describe('bids, money and logs', () => {
  test('a bid below the price is outbid, a higher one resumes', async () => {
    const service = simulatedService({ catalog: [{ id: 1, minBid: 0.3 }] });
    const { body } = await service.call('PUT /api/v0/asks/1/', { image: 'x', price: 0.2 });
    const row = async () =>
      (await service.call(`GET /api/v0/instances/${body.new_contract}/`)).body.instances;
    service.advance(600);
    expect(await row()).toMatchObject({ is_bid: true, actual_status: 'stopped', intended_status: 'running' });
    expect(
      (
        await service.call(`PUT /api/v0/instances/bid_price/${body.new_contract}/`, {
          client_id: 'me',
          price: 0.0001,
        })
      ).body.error,
    ).toBe('invalid_args');
    await service.call(`PUT /api/v0/instances/bid_price/${body.new_contract}/`, {
      client_id: 'me',
      price: null,
    });
    service.advance(60);
    expect(await row()).toMatchObject({ actual_status: 'running', dph_base: 0.3 });
  });

  test('prepay says how many months it lasts', async () => {
    const { service, id, row } = await booted();
    const { body } = await service.call(`PUT /api/v0/instances/prepay/${id}/`, { amount: 10 });
    expect(body).toMatchObject({ success: true, discount_rate: expect.any(Number) });
    expect(body.timescale * 730 * (await row()).dph_total).toBeCloseTo(10, 1);
    expect((await service.call(`GET /api/v0/instances/balance/${id}/?owner=me`)).body.balance).toBe(10);
  });

  test('a rejected price increase leaves the price, an accepted one changes it', async () => {
    for (const [answer, factor] of [
      ['reject', 1],
      ['accept', 1.25],
    ] as const) {
      const { service, id, row } = await booted();
      const before = (await row()).dph_base;
      await service.call('POST /sim/faults', { name: 'price-increase', instance: id });
      const [pending] = (await service.call('GET /api/v0/instances/pending-price-increases/')).body
        .pending_price_increases;
      const path = `PUT /api/v0/instances/${answer}-price-increase/`;
      expect((await service.call(path, { pending_price_increase_id: pending.id })).body.success).toBe(true);
      expect((await row()).dph_base).toBeCloseTo(before * factor, 5);
      expect(await service.call(path, { pending_price_increase_id: pending.id })).toMatchObject({
        status: 404,
        body: { error: 'no_pending_price_increase' },
      });
    }
  });

  test('logs and commands are read behind their result_url', async () => {
    const { service, id } = await booted({ onstart: 'echo hello' });
    const read = async (spec: string, body: object) => {
      const reply = await service.call(spec, body);
      expect(reply.body.success).toBe(true);
      const { pathname, search } = new URL(reply.body.result_url);
      return service.call(`GET ${pathname}${search}`, undefined, { key: null });
    };
    const logs = await read(`PUT /api/v0/instances/request_logs/${id}/`, { tail: '2' });
    expect(logs).toMatchObject({ status: 200, body: expect.stringContaining('simulated container is up') });
    expect(logs.body.trim().split('\n')).toHaveLength(2);
    const listing = await read(`PUT /api/v0/instances/command/${id}/`, { command: 'ls -l' });
    expect(listing.body).toContain('workspace');
    for (const command of ['reboot', `ls ${'x'.repeat(510)}`]) {
      const refused = await service.call(`PUT /api/v0/instances/command/${id}/`, { command });
      expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_args' } });
    }
  });

  test('a new template restarts the container', async () => {
    const { service, id, row } = await booted();
    await service.call(`PUT /api/v0/instances/update_template/${id}/`, {
      id,
      image: 'other:2',
      env: { A: 'b' },
      onstart: null,
    });
    expect(await row()).toMatchObject({
      image_uuid: 'other:2',
      actual_status: 'loading',
      extra_env: [['A', 'b']],
    });
  });

  test('bills name each contract with what it cost', async () => {
    const { service, id } = await booted();
    const charge = { instance_id: id, amount: expect.any(Number) };
    expect(
      (await service.call('GET /api/v0/users/me/invoices?owner=me&inc_charges=true')).body,
    ).toMatchObject({
      invoices: [charge],
      current: { charges: expect.any(Number) },
    });
    const page = { count: 1, total: 1, next_token: null };
    expect((await service.call('GET /api/v0/charges/')).body).toMatchObject({ results: [charge], ...page });
    const payment = { amount: 1000, metadata: { invoice_id: expect.any(Number) } };
    expect((await service.call('GET /api/v1/invoices/')).body).toMatchObject({ results: [payment], ...page });
  });

  test.each([
    ['/api/v0/audit_logs/', []],
    ['/api/v0/commands/schedule_job/', []],
    ['/api/v0/users/cloud_integrations/', []],
    ['/api/v0/users/me/ipaddrs?owner=me', { results: [] }],
    ['/api/v0/subaccounts?owner=me', { users: [] }],
    ['/api/v0/machines?owner=me', { success: true, machines: [] }],
    [
      '/api/v0/template/?select_cols=["*"]&select_filters={}',
      { success: true, templates_found: 0, templates: [] },
    ],
  ])('%s answers an empty list', async (path, body) => {
    expect(await simulatedService().call(`GET ${path}`)).toMatchObject({ status: 200, body });
  });
});
