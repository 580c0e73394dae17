import { describe, expect, test } from 'vitest';
import { simulatedService } from '../builders/simulated-service.ts';

const specified = () => simulatedService({ profile: 'specification', catalog: [{ id: 1 }, { id: 2 }] });

describe('the specification profile', () => {
  test('rows carry the id and the three named fields, and no label, price or start date', async () => {
    const service = specified();
    const { body } = await service.call('PUT /api/v0/asks/1/', { image: 'x', label: 'mine' });
    expect(body).toEqual({
      success: true,
      new_contract: expect.any(Number),
      instance_api_key: expect.any(String),
    });
    const row = {
      id: body.new_contract,
      actual_status: null,
      ssh_host: expect.any(String),
      ssh_port: expect.any(Number),
    };
    expect((await service.call('GET /api/v0/instances/')).body).toEqual({
      instances_found: 1,
      instances: [row],
    });
    expect((await service.call(`GET /api/v0/instances/${body.new_contract}/`)).body).toEqual({
      instances: row,
    });
  });

  test('a boot goes from null to loading, without the word created', async () => {
    const service = specified();
    const { body } = await service.call('PUT /api/v0/asks/1/', { image: 'x' });
    const seen = new Set<string | null>();
    for (let second = 0; second < 300; second += 1) {
      seen.add(
        (await service.call(`GET /api/v0/instances/${body.new_contract}/`)).body.instances.actual_status,
      );
      service.advance(1);
    }
    expect([...seen]).toEqual([null, 'loading', 'running']);
  });

  test('rents by PUT and by POST', async () => {
    const service = specified();
    expect((await service.call('POST /api/v0/asks/1/', { image: 'x' })).status).toBe(200);
    expect((await service.call('PUT /api/v0/asks/2/', { image: 'x' })).status).toBe(200);
    const open = simulatedService({ catalog: [{ id: 1 }] });
    expect((await open.call('POST /api/v0/asks/1/', { image: 'x' })).status, 'public').toBe(200);
  });

  test('stops and destroys, with no start, label or words of its own', async () => {
    const service = specified();
    const { body } = await service.call('PUT /api/v0/asks/1/', { image: 'x' });
    const path = `/api/v0/instances/${body.new_contract}/`;
    expect((await service.call(`PUT ${path}`, { state: 'stopped' })).body).toEqual({ success: true });
    expect(await service.call(`PUT ${path}`, { state: 'running' })).toMatchObject({
      status: 400,
      body: { error: 'bad_request' },
    });
    expect((await service.call(`PUT ${path}`, { label: 'x' })).status).toBe(400);
    expect((await service.call(`DELETE ${path}`)).body).toEqual({ success: true });
  });

  test('the user has the fields that are named', async () => {
    expect((await specified().call('GET /api/v0/users/current/')).body).toEqual({
      id: expect.any(Number),
      email: expect.any(String),
      credit: expect.any(Number),
      ssh_key: expect.any(String),
      full_name: expect.any(String),
      tfa_status: 'disabled',
    });
  });

  test.each([
    'GET /api/v1/instances/',
    'PUT /api/v0/instances/reboot/1/',
    'PUT /api/v0/search/asks/',
    'GET /api/v0/template/',
    'PUT /api/v0/commands/reset_apikey/',
    'POST /api/v0/autojobs/',
  ])('%s is not written down and not there', async (spec) => {
    expect([404, 405]).toContain((await specified().call(spec, {})).status);
  });
});

describe('the public profile', () => {
  test('the user carries both spellings of the full name and numbers as numbers', async () => {
    const { body } = await simulatedService().call('GET /api/v0/users/current');
    expect(body.full_name).toBe(body.fullname);
    expect(body).toMatchObject({
      credit: expect.any(Number),
      balance: expect.any(Number),
      has_billing: true,
      can_pay: true,
    });
  });

  test('a changed name is kept', async () => {
    const service = simulatedService();
    expect((await service.call('PUT /api/v0/users/', { fullname: 'Ada', nonsense: 1 })).body).toMatchObject({
      fullname: 'Ada',
    });
    expect((await service.call('GET /api/v0/users/current')).body.full_name).toBe('Ada');
  });
});
