import { describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../../test/builders/simulated-service.ts';

const NULLS = {
  client_id: 'me',
  endpoint_name: 'chat',
  min_load: 0,
  min_cold_load: 0,
  target_util: 0.9,
  cold_mult: 2.5,
  cold_workers: 5,
  max_workers: 20,
  max_queue_time: null,
  target_queue_time: null,
  inactivity_timeout: null,
  autoscaler_instance: 'prod',
};

async function group(service: SimulatedService, change: object = {}): Promise<number> {
  const { body } = await service.call('POST /api/v0/endptjobs/', { ...NULLS, ...change });
  return body.result;
}

const show = async (service: SimulatedService, id: number) =>
  (await service.call(`GET /api/v0/endptjobs/${id}/`)).body.result;

describe('endpoint groups', () => {
  test('null queue times get the defaults 30.0 and 10.0 of the server', async () => {
    const service = simulatedService();
    expect(await show(service, await group(service))).toMatchObject({
      max_queue_time: 30,
      target_queue_time: 10,
      inactivity_timeout: null,
    });
  });

  test('a name alone gets every default of specification 4.9', async () => {
    const service = simulatedService();
    const { body } = await service.call('POST /api/v0/endptjobs/', { endpoint_name: 'chat' });
    expect(await show(service, body.result)).toMatchObject({
      endpoint_name: 'chat',
      min_load: 0,
      min_cold_load: 0,
      target_util: 0.9,
      cold_mult: 2.5,
      cold_workers: 5,
      max_workers: 20,
      max_queue_time: 30,
      target_queue_time: 10,
      inactivity_timeout: null,
    });
  });

  test.for([{}, { endpoint_name: null }, { endpoint_name: '' }])(
    '%j is enough: a group without a name is named after its id',
    async (body) => {
      const service = simulatedService();
      const { status, body: answered } = await service.call('POST /api/v0/endptjobs/', body);
      expect(status).toBe(200);
      const { endpoint_name, target_util } = await show(service, answered.result);
      expect({ endpoint_name, target_util }).toEqual({
        endpoint_name: `endpoint-${answered.result}`,
        target_util: 0.9,
      });
    },
  );

  test('null in an update keeps what there is', async () => {
    const service = simulatedService();
    const id = await group(service, { cold_workers: 7, max_queue_time: 12 });
    await service.call(`PUT /api/v0/endptjobs/${id}/`, {
      endptjob_id: id,
      cold_workers: null,
      max_queue_time: null,
      max_workers: 9,
      endpoint_name: null,
      endpoint_state: null,
    });
    expect(await show(service, id)).toMatchObject({
      cold_workers: 7,
      max_queue_time: 12,
      max_workers: 9,
      endpoint_name: 'chat',
      endpoint_state: 'active',
    });
  });

  test.for([
    [{ target_util: 1.1 }, 'target_util'],
    [{ cold_workers: 1.5 }, 'cold_workers'],
    [{ max_workers: -1 }, 'max_workers'],
    [{ endpoint_state: 'asleep' }, 'endpoint_state'],
  ] as const)('%o is refused with the name of the field', async ([change, field]) => {
    const { status, body } = await simulatedService().call('POST /api/v0/endptjobs/', {
      ...NULLS,
      ...change,
    });
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_args' });
    expect(body.msg).toContain(field);
  });

  test('the list reads a JSON body on GET and gives each endpoint its own key', async () => {
    const service = simulatedService();
    await group(service);
    await group(service, { endpoint_name: 'image' });
    const { body } = await service.call('GET /api/v0/endptjobs/', {
      client_id: 'me',
      api_key: service.simulator.apiKey,
    });
    expect(body.results.map((row: { endpoint_name: string }) => row.endpoint_name)).toEqual([
      'chat',
      'image',
    ]);
    expect(new Set(body.results.map((row: { api_key: string }) => row.api_key)).size).toBe(2);
  });

  test('refuses an endpoint group that does not exist', async () => {
    const { status, body } = await simulatedService().call('PUT /api/v0/endptjobs/99/', {});
    expect({ status, error: body.error, msg: body.msg }).toEqual({
      status: 400,
      error: 'invalid_args',
      msg: 'Endpointgroup not found for user',
    });
  });
});

describe('worker groups', () => {
  test('are one resource under the two paths', async () => {
    const service = simulatedService();
    const endpointId = await group(service);
    const created = await service.call('POST /api/v0/autojobs/', {
      endpoint_name: 'chat',
      search_params: 'gpu_ram>=23 num_gpus=1',
      template_hash: null,
    });
    const { body } = await service.call('GET /api/v0/workergroups/');
    expect(body.results).toMatchObject([{ id: created.body.id, endpoint_id: endpointId, gpu_ram: 24 }]);
    await service.call(`PUT /api/v0/workergroups/${created.body.id}/`, { gpu_ram: 40, search_params: null });
    const { body: after } = await service.call('GET /api/v0/autojobs/');
    expect(after.results).toMatchObject([{ gpu_ram: 40, search_params: 'gpu_ram>=23 num_gpus=1' }]);
    await service.call(`DELETE /api/v0/autojobs/${created.body.id}/`);
    expect((await service.call('GET /api/v0/autojobs/')).body.results).toEqual([]);
  });

  test('a template that is not known here is kept by name, and workers are rented all the same', async () => {
    const service = simulatedService();
    const endpointId = await group(service);
    const hash = '64fa2ed6c3c5b1ea';
    const asked = { endpoint_id: endpointId, template_hash: hash, search_params: 'num_gpus=1' };
    const { body } = await service.call('POST /api/v0/workergroups/', asked);
    const [row] = (await service.call('GET /api/v0/workergroups/')).body.results;
    expect(row).toMatchObject({ id: body.id, template_hash: hash, template_id: null });
    service.advance(60);
    expect((await service.call('GET /api/v0/instances/')).body.instances_found).toBeGreaterThan(0);
  });

  test('need an endpoint that exists', async () => {
    const { status, body } = await simulatedService().call('POST /api/v0/workergroups/', {
      endpoint_name: 'no',
    });
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_args' });
  });

  test('an unknown one is 404 no_such_workergroup', async () => {
    const { status, body } = await simulatedService().call('DELETE /api/v0/workergroups/5/', {});
    expect({ status, error: body.error }).toEqual({ status: 404, error: 'no_such_workergroup' });
  });

  test('search_params that cannot be read are refused at once', async () => {
    const service = simulatedService();
    await group(service);
    const { status, body } = await service.call('POST /api/v0/workergroups/', {
      endpoint_name: 'chat',
      search_params: 'gpu_ram>>',
    });
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_args' });
  });
});
