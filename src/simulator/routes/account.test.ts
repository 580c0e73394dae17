import { describe, expect, test } from 'vitest';
import { type SimulatedService, scoped, simulatedService } from '../../../test/builders/simulated-service.ts';

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHRlc3Qga2V5IG9mIGEgdGVzdCBmb3IgdGVzdHM me@example.com';

describe('API keys (specification 2.5, 5)', () => {
  test('a key without permissions has full access, and its secret is shown once only', async () => {
    const service = simulatedService();
    const { body } = await service.call('POST /api/v0/auth/apikeys/', { name: 'ci' });
    expect(body).toMatchObject({ success: true, id: expect.any(Number), permissions: null });
    expect((await service.call('GET /api/v0/instances/', undefined, { key: body.key })).status).toBe(200);
    const list = await service.call('GET /api/v0/auth/apikeys/');
    expect(list.body.apikeys.map((row: { name: string }) => row.name)).toEqual(['default', 'ci']);
    expect(JSON.stringify(list.body)).not.toContain(body.key);
    expect(JSON.stringify((await service.call(`GET /api/v0/auth/apikeys/${body.id}/`)).body)).not.toContain(
      body.key,
    );
  });

  test('a key needs no name (specification 5.1)', async () => {
    const service = simulatedService();
    const { body } = await service.call('POST /api/v0/auth/apikeys/', {});
    expect(body).toMatchObject({ success: true, key: expect.any(String), name: '' });
  });

  test('a deleted key answers a bare string and stops working', async () => {
    const service = simulatedService();
    const { body } = await service.call('POST /api/v0/auth/apikeys/', { name: 'ci', permissions: null });
    const deleted = await service.call(`DELETE /api/v0/auth/apikeys/${body.id}/`, {});
    expect(deleted.body).toBe('Successfully Deleted API Key');
    const refused = await service.call('GET /api/v0/instances/', undefined, { key: body.key });
    expect({ status: refused.status, msg: refused.body.msg }).toEqual({
      status: 401,
      msg: 'Invalid user key',
    });
    expect((await service.call(`DELETE /api/v0/auth/apikeys/${body.id}/`, {})).status).toBe(404);
  });

  test.for([
    [{ permissions: { misc: {} } }, 'missing_permissions'],
    [{ permissions: { api: {} } }, 'invalid_permissions'],
    [{ permissions: { api: { misc: true } } }, 'invalid_permissions'],
    [{ permissions: 'all' }, 'invalid_permissions'],
    [{ name: 5 }, 'bad_request'],
  ] as const)('%o is refused with %s', async ([change, error]) => {
    const { status, body } = await simulatedService().call('POST /api/v0/auth/apikeys/', {
      name: 'x',
      ...change,
    });
    expect({ status, error: body.error }).toEqual({ status: 400, error });
  });

  test('a scoped key hands out no more than it has', async () => {
    const service = simulatedService();
    const key = service.addKey({ permissions: scoped({ user_write: {}, misc: {} }) });
    const ask = (permissions: unknown) =>
      service.call('POST /api/v0/auth/apikeys/', { name: 'x', permissions }, { key });
    expect((await ask({ api: { misc: {} } })).status).toBe(200);
    expect((await ask({ api: { billing_read: {} } })).status).toBe(403);
    expect((await ask(null)).status).toBe(403);
  });

  test('reset replaces the key that asks', async () => {
    const service = simulatedService();
    const { body } = await service.call('PUT /api/v0/commands/reset_apikey/', { client_id: 'me' });
    expect((await service.call('GET /api/v0/users/current')).status).toBe(401);
    const me = await service.call('GET /api/v0/users/current', undefined, { key: body.new_api_key });
    expect(me.body.id).toBe(service.user().id);
  });

  test('keys do not expire by default', async () => {
    const service = simulatedService();
    service.advance(5 * 365 * 86_400);
    expect((await service.call('GET /api/v0/users/current/')).status).toBe(200);
  });
});

describe('permissions (specification 5.3)', () => {
  /** A call of each category, and the calls that it may include. */
  const calls = [
    ['misc', 'POST /api/v0/bundles/'],
    ['misc', 'PUT /api/v0/search/asks/'],
    ['misc', 'POST /api/v0/volumes/search/'],
    ['misc', 'POST /api/v0/network_volumes/search/'],
    ['misc', 'GET /api/v0/endptjobs/'],
    ['misc', 'POST /api/v0/endptjobs/'],
    ['misc', 'GET /api/v0/autojobs/'],
    ['misc', 'DELETE /api/v0/workergroups/1/'],
    ['instance_read', 'GET /api/v0/instances/'],
    ['instance_read', 'GET /api/v1/instances/'],
    ['instance_read', 'GET /api/v0/instances/1/'],
    ['instance_read', 'PUT /api/v0/instances/request_logs/1/'],
    ['instance_read', 'GET /api/v0/volumes'],
    ['instance_write', 'PUT /api/v0/asks/1/'],
    ['instance_write', 'PUT /api/v0/instances/1/'],
    ['instance_write', 'DELETE /api/v0/instances/1/'],
    ['instance_write', 'PUT /api/v0/instances/reboot/1/'],
    ['instance_write', 'PUT /api/v0/volumes/'],
    ['instance_write', 'DELETE /api/v0/volumes/'],
    ['instance_write', 'POST /api/v0/volumes/copy/'],
    ['user_read', 'GET /api/v0/users/current'],
    ['user_read', 'GET /api/v0/auth/apikeys/'],
    ['user_read', 'GET /api/v0/ssh/'],
    ['user_read', 'GET /api/v0/secrets/'],
    ['user_read', 'GET /api/v0/tfa/status/'],
    ['user_write', 'POST /api/v0/auth/apikeys/'],
    ['user_write', 'DELETE /api/v0/auth/apikeys/1/'],
    ['user_write', 'PUT /api/v0/commands/reset_apikey/'],
    ['user_write', 'POST /api/v0/ssh/'],
    ['user_write', 'DELETE /api/v0/ssh/1/'],
    ['user_write', 'POST /api/v0/secrets/'],
    ['user_write', 'POST /api/v0/tfa/'],
    ['user_write', 'POST /api/v0/tfa/email/'],
    ['user_write', 'PUT /api/v0/tfa/update/'],
    ['user_write', 'DELETE /api/v0/tfa/'],
    ['machine_write', 'POST /api/v0/volumes/unlist'],
    ['machine_write', 'POST /api/v0/network_volumes/unlist/'],
  ] as const;
  const categories = [...new Set(calls.map(([category]) => category))];

  test.for(calls)('%s opens %s, and no other category does', async ([category, spec]) => {
    const service = simulatedService();
    for (const held of categories) {
      const key = service.addKey({ permissions: scoped({ [held]: {} }) });
      const body = { permissions: scoped({ [held]: {} }) };
      const { status } = await service.call(spec, spec.startsWith('GET') ? undefined : body, { key });
      expect({ held, isForbidden: status === 403 }).toEqual({ held, isForbidden: held !== category });
    }
  });

  const logsOf = (service: SimulatedService, id: number, key: string) =>
    service.call(`PUT /api/v0/instances/request_logs/${id}/`, {}, { key });

  test('a constraint binds a parameter to a value', async () => {
    const service = simulatedService();
    const logs = { 'api.instance.request_logs': { constraints: { id: { eq: 1227 } } } };
    const key = service.addKey({ permissions: scoped({ instance_read: logs }) });
    expect((await logsOf(service, 1227, key)).status).not.toBe(403);
    expect((await logsOf(service, 1228, key)).status).toBe(403);
    expect((await service.call('GET /api/v0/instances/', undefined, { key })).status).toBe(403);
  });

  test('lte and gte bind a range, at the category too', async () => {
    const service = simulatedService();
    const range = { constraints: { id: { gte: 10, lte: 20 } } };
    const key = service.addKey({ permissions: scoped({ instance_read: range }) });
    const statuses = await Promise.all(
      [9, 10, 20, 21].map(async (id) => (await logsOf(service, id, key)).status === 403),
    );
    expect(statuses).toEqual([true, false, false, true]);
  });

  test('key_params fill in values that begin with $', async () => {
    const service = simulatedService();
    const logs = { 'api.instance.request_logs': { constraints: { id: { eq: '$id' } } } };
    const { body } = await service.call('POST /api/v0/auth/apikeys/', {
      name: 'one',
      permissions: scoped({ instance_read: logs }),
      key_params: '{"id": 7}',
    });
    expect((await logsOf(service, 7, body.key)).status).not.toBe(403);
    expect((await logsOf(service, 8, body.key)).status).toBe(403);
  });

  test('key_params that are nested too deep are refused, and a list of them lets nothing through', async () => {
    const service = simulatedService();
    const logs = { 'api.instance.request_logs': { constraints: { id: { eq: '$id' } } } };
    const keyWith = (key_params: string) =>
      service.call('POST /api/v0/auth/apikeys/', {
        name: 'one',
        permissions: scoped({ instance_read: logs }),
        key_params,
      });
    const deep = `{"id": ${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
    expect(await keyWith(deep)).toMatchObject({
      status: 400,
      body: { error: 'bad_request', msg: 'key_params is nested deeper than 32 levels.' },
    });
    const { body } = await keyWith('{"id": [7]}');
    expect((await logsOf(service, 7, body.key)).status).toBe(403);
  });

  test('an operator that is not known lets nothing through', async () => {
    const service = simulatedService();
    const key = service.addKey({
      permissions: scoped({ instance_read: { constraints: { id: { like: 7 } } } }),
    });
    expect((await logsOf(service, 7, key)).status).toBe(403);
  });
});

describe('the restricted instance_api_key (specification 5.5)', () => {
  async function rented(service: SimulatedService): Promise<{ id: number; key: string }> {
    const { body } = await service.call('POST /api/v0/bundles/', { rentable: { eq: true }, limit: 1 });
    const rental = await service.call(`PUT /api/v0/asks/${body.offers[0].id}/`, { image: 'x', disk: 10 });
    return { id: rental.body.new_contract, key: rental.body.instance_api_key };
  }

  test('starts, stops and destroys its own instance', async () => {
    const service = simulatedService();
    const { id, key } = await rented(service);
    const path = `/api/v0/instances/${id}/`;
    expect((await service.call(`PUT ${path}`, { state: 'stopped' }, { key })).status).toBe(200);
    expect((await service.call(`PUT ${path}`, { state: 'running' }, { key })).status).toBe(200);
    expect((await service.call(`DELETE ${path}`, {}, { key })).status).toBe(200);
  });

  test('does nothing else', async () => {
    const service = simulatedService();
    const { id, key } = await rented(service);
    const other = await rented(service);
    for (const spec of [
      `DELETE /api/v0/instances/${other.id}/`,
      `GET /api/v0/instances/${id}/`,
      'GET /api/v0/instances/',
      'GET /api/v0/users/current/',
      'POST /api/v0/bundles/',
      'GET /api/v0/tfa/status/',
      'POST /api/v0/volumes/unlist',
    ]) {
      const { status } = await service.call(spec, spec.startsWith('GET') ? undefined : {}, { key });
      expect({ spec, status }).toEqual({ spec, status: 403 });
    }
    for (const body of [{ label: 'x' }, { state: 'stopped', label: 'x' }]) {
      expect((await service.call(`PUT /api/v0/instances/${id}/`, body, { key })).status).toBe(403);
    }
  });
});

/** The registered key of a new account. */
const REGISTERED = { id: 1, key: expect.stringContaining('renter@example.com') };

describe('SSH keys', () => {
  test('are created, listed, changed and deleted; the newest one shows in the user', async () => {
    const service = simulatedService();
    const { body } = await service.call('POST /api/v0/ssh/', { ssh_key: KEY });
    expect(body).toMatchObject({ success: true, key: { id: expect.any(Number), key: KEY } });
    expect((await service.call('GET /api/v0/users/current/')).body.ssh_key).toBe(KEY);
    const changed = KEY.replace('me@', 'you@');
    await service.call(`PUT /api/v0/ssh/${body.key.id}/`, { id: body.key.id, ssh_key: changed });
    expect((await service.call('GET /api/v0/ssh/')).body).toMatchObject([
      REGISTERED,
      { key: changed, deleted_at: null },
    ]);
    await service.call(`DELETE /api/v0/ssh/${body.key.id}/`, {});
    expect((await service.call('GET /api/v0/ssh/')).body).toMatchObject([REGISTERED]);
    expect(service.user().sshKey).toBe((await service.call('GET /api/v0/ssh/')).body[0].key);
    expect((await service.call(`DELETE /api/v0/ssh/${body.key.id}/`, {})).status).toBe(404);
  });

  test('one is added to an instance and taken from it', async () => {
    const service = simulatedService({ catalog: [{ id: 1 }] });
    const { body } = await service.call('PUT /api/v0/asks/1/', { image: 'x' });
    const path = `/api/v0/instances/${body.new_contract}/ssh/`;
    const added = await service.call(`POST ${path}`, { ssh_key: KEY });
    expect((await service.call(`GET ${path}`)).body.ssh_keys).toMatchObject([{ key: KEY }]);
    expect((await service.call(`DELETE ${path}${added.body.key.id}/`, {})).body.success).toBe(true);
    expect((await service.call(`GET ${path}`)).body.ssh_keys).toEqual([]);
    expect(await service.call(`DELETE ${path}${added.body.key.id}/`, {})).toMatchObject({
      status: 400,
      body: { error: 'no_ssh_key' },
    });
    expect((await service.call('POST /api/v0/instances/5/ssh/', { ssh_key: KEY })).status).toBe(404);
  });

  test('text that is no public key is refused', async () => {
    const { status, body } = await simulatedService().call('POST /api/v0/ssh/', { ssh_key: 'my key' });
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'no_ssh_key' });
  });
});

describe('environment variables', () => {
  test('are set, listed masked and deleted', async () => {
    const service = simulatedService();
    expect(
      (await service.call('POST /api/v0/secrets/', { key: 'HF_TOKEN', value: 'hf_x' })).body.success,
    ).toBe(true);
    await service.call('PUT /api/v0/secrets/', { key: 'HF_TOKEN', value: 'hf_y' });
    const { body } = await service.call('GET /api/v0/secrets/');
    expect(body).toEqual({ success: true, secrets: { HF_TOKEN: '*****' } });
    expect((await service.call('DELETE /api/v0/secrets/', { key: 'HF_TOKEN' })).body.success).toBe(true);
    expect((await service.call('DELETE /api/v0/secrets/', { key: 'HF_TOKEN' })).status).toBe(404);
  });

  test.for([[{ key: '1X', value: 'v' }], [{ key: 'X' }], [{ value: 'v' }]] as const)(
    '%o is refused',
    async ([body]) => {
      expect((await simulatedService().call('POST /api/v0/secrets/', body)).status).toBe(400);
    },
  );
});
