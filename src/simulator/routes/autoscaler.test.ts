import { createVerify } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../../test/builders/simulated-service.ts';

/** Returns a fast market: machines run in about two seconds. */
const fast = () => simulatedService({ catalog: 60, settings: { boot: { scale: 0.01 } } });

interface Endpoint {
  readonly id: number;
  readonly groupId: number;
  readonly key: string;
}

/** Returns an endpoint `chat` with one worker group. */
async function endpointOf(service: SimulatedService, options: object): Promise<Endpoint> {
  const created = await service.call('POST /api/v0/endptjobs/', { endpoint_name: 'chat', ...options });
  const group = await service.call('POST /api/v0/workergroups/', {
    endpoint_name: 'chat',
    search_params: 'num_gpus=1',
  });
  const { body } = await service.call(`GET /api/v0/endptjobs/${created.body.result}/`);
  return { id: created.body.result, groupId: group.body.id, key: body.result.api_key };
}

const workersOf = async (service: SimulatedService, id: number) =>
  (await service.call('POST /get_endpoint_workers/', { id })).body;

const statuses = async (service: SimulatedService, id: number): Promise<string[]> =>
  (await workersOf(service, id)).map((worker: { status: string }) => worker.status).toSorted();

const ask = (service: SimulatedService, endpoint: Endpoint, change: object = {}) =>
  service.call(
    `POST /route/?api_key=${endpoint.key}`,
    { endpoint: 'chat', api_key: endpoint.key, cost: 100, request_idx: 0, replay_timeout: 60, ...change },
    { key: endpoint.key },
  );

describe('scaling of simulated workers', () => {
  test('without load it rents cold_workers, loads them once, and stops them', async () => {
    const service = fast();
    const { id } = await endpointOf(service, { cold_workers: 3 });
    service.advance(10);
    expect(await workersOf(service, id)).toHaveLength(3);
    service.advance(300);
    expect(await statuses(service, id)).toEqual(['stopped', 'stopped', 'stopped']);
  });

  test('takes machines with open ports alone, since a worker is called at its own', async () => {
    const catalog = [
      { id: 1, directPorts: 0, pricePerHour: 0.1 },
      { id: 2, directPorts: 8, pricePerHour: 0.9 },
    ];
    const service = simulatedService({ catalog, settings: { boot: { scale: 0.01 } } });
    const endpoint = await endpointOf(service, { min_load: 1, cold_workers: 2 });
    service.advance(300);
    const [instance] = (await service.call('GET /api/v0/instances/')).body.instances;
    expect(await statuses(service, endpoint.id)).toEqual(['idle']);
    expect((await ask(service, endpoint)).body.url).toBe(
      `http://${instance.public_ipaddr}:${instance.ports['3000/tcp'][0].HostPort}`,
    );
  });

  test('min_load keeps enough workers hot', async () => {
    const service = fast();
    const { id } = await endpointOf(service, { min_load: 1, cold_workers: 2 });
    service.advance(300);
    expect(await statuses(service, id)).toEqual(['idle', 'stopped']);
  });

  test('load from /route/ wakes workers, and they stop again when it ends', async () => {
    const service = fast();
    const endpoint = await endpointOf(service, { cold_workers: 2, max_workers: 4 });
    service.advance(300);
    const first = await ask(service, endpoint);
    expect(first.body.url).toBeUndefined();
    expect(first.body).toMatchObject({ request_idx: 1, status: expect.any(String) });
    service.advance(30);
    const again = await ask(service, endpoint, { request_idx: first.body.request_idx });
    expect(again.body.url).toMatch(/^http:\/\/203\.0\.113\.\d+:\d+$/);
    service.advance(600);
    expect(await statuses(service, endpoint.id)).toEqual(['stopped', 'stopped']);
  });

  test('never has more than max_workers', async () => {
    const service = fast();
    const endpoint = await endpointOf(service, { cold_workers: 0, max_workers: 3 });
    for (let second = 0; second < 60; second += 5) {
      await ask(service, endpoint, { cost: 1e6 });
      service.advance(5);
      expect((await workersOf(service, endpoint.id)).length).toBeLessThanOrEqual(3);
    }
    expect(await workersOf(service, endpoint.id)).toHaveLength(3);
  });

  test('a broken worker is destroyed and another one is rented', async () => {
    const service = fast();
    const { id } = await endpointOf(service, { min_load: 1, cold_workers: 1 });
    service.advance(60);
    const [worker] = await workersOf(service, id);
    const contract = service.simulator.world().tables.contracts[worker.id];
    if (contract) service.put('contracts', { ...contract, actualStatus: 'exited', timeline: [] });
    service.advance(60);
    const after = await workersOf(service, id);
    expect(after).toHaveLength(1);
    expect(after[0].id).not.toBe(worker.id);
  });

  test('the machines of workers are billed contracts of the user', async () => {
    const service = fast();
    await endpointOf(service, { min_load: 1, cold_workers: 1 });
    service.advance(3600);
    const { body } = await service.call('GET /sim/ledger');
    expect(body.contracts).toHaveLength(1);
    expect(body.dollars).toBeGreaterThan(0);
    expect((await service.call('GET /api/v0/instances/')).body.instances_found).toBe(1);
  });

  test('suspended stops every worker, stopped destroys them', async () => {
    const service = fast();
    const { id } = await endpointOf(service, { min_load: 1, cold_workers: 1 });
    service.advance(60);
    await service.call(`PUT /api/v0/endptjobs/${id}/`, { endpoint_state: 'suspended' });
    service.advance(10);
    expect(await statuses(service, id)).toEqual(['stopped']);
    await service.call(`PUT /api/v0/endptjobs/${id}/`, { endpoint_state: 'stopped' });
    service.advance(10);
    expect(await workersOf(service, id)).toEqual([]);
  });

  test('deleting the endpoint destroys its workers and says how many', async () => {
    const service = fast();
    const { id } = await endpointOf(service, { cold_workers: 2 });
    service.advance(20);
    const { body } = await service.call(`DELETE /api/v0/endptjobs/${id}/`, {
      client_id: 'me',
      endptjob_id: id,
    });
    expect(body).toMatchObject({ success: true, deleted_workers: 2 });
    expect((await service.call('GET /api/v0/instances/')).body.instances_found).toBe(0);
  });

  test('deleting a worker group alone leaves its machines behind', async () => {
    const service = fast();
    const { groupId } = await endpointOf(service, { cold_workers: 2 });
    service.advance(20);
    await service.call(`DELETE /api/v0/workergroups/${groupId}/`);
    expect((await service.call('GET /api/v0/instances/')).body.instances_found).toBe(2);
  });

  test('one long step ends in the same world as many short ones', async () => {
    const run = async (step: number) => {
      const service = fast();
      const { id } = await endpointOf(service, { min_load: 50, cold_workers: 2 });
      for (let passed = 0; passed < 600; passed += step) service.advance(step);
      return workersOf(service, id);
    };
    expect(await run(600)).toEqual(await run(10));
  });
});

describe('the routes of the autoscaler', () => {
  test('a route is signed over exactly its url', async () => {
    const service = fast();
    const endpoint = await endpointOf(service, { min_load: 1, cold_workers: 1 });
    service.advance(120);
    const { body } = await ask(service, endpoint);
    expect(body).toMatchObject({ endpoint: 'chat', cost: 100, request_idx: 1, reqnum: 1 });
    const pubkey = await service.call('GET /pubkey/', undefined, { key: null });
    expect(pubkey.body).toContain('BEGIN PUBLIC KEY');
    const verify = createVerify('sha256').update(`{\n    "url": "${body.url}"\n}`);
    expect(verify.verify(pubkey.body, body.signature, 'base64')).toBe(true);
  });

  test('a worker takes no request once it would wait longer than max_queue_time', async () => {
    const service = fast();
    const endpoint = await endpointOf(service, {
      min_load: 1,
      cold_workers: 1,
      max_workers: 1,
      max_queue_time: 10,
    });
    service.advance(120);
    expect((await ask(service, endpoint, { cost: 1e6 })).body.url).toBeDefined();
    expect((await ask(service, endpoint)).body.url).toBeUndefined();
  });

  test.each([Number.MAX_SAFE_INTEGER, 7])(
    'an index that was never handed out, %d, counts as new',
    async (index) => {
      const service = fast();
      const endpoint = await endpointOf(service, {});
      expect((await ask(service, endpoint, { request_idx: index })).body.request_idx).toBe(1);
      expect((await ask(service, endpoint)).body.request_idx).toBe(2);
      expect((await ask(service, endpoint, { request_idx: 1 })).body.request_idx).toBe(1);
    },
  );

  test('refuses a route to an unknown key', async () => {
    const service = fast();
    await endpointOf(service, {});
    const { status } = await service.call('POST /route/', { endpoint: 'chat', cost: 1 }, { key: 'nobody' });
    expect(status).toBe(401);
  });

  test('workers are a bare array whose numbers are never null', async () => {
    const service = fast();
    const { id, key } = await endpointOf(service, { cold_workers: 1 });
    service.advance(10);
    const { body } = await service.call('POST /get_endpoint_workers/', { id, api_key: key }, { key: null });
    expect(Array.isArray(body)).toBe(true);
    expect(Object.values(body[0])).not.toContain(null);
    expect(body[0]).toMatchObject({
      id: expect.any(Number),
      status: expect.any(String),
      perf: expect.any(Number),
    });
  });

  test('an endpoint that is not there answers error_msg', async () => {
    const { body } = await fast().call('POST /get_endpoint_workers/', { id: 9 });
    expect(body.error_msg).toMatch(/\S/);
  });

  test('logs have all four levels as text and end after tail lines', async () => {
    const service = fast();
    const { id, groupId } = await endpointOf(service, { cold_workers: 2 });
    service.advance(20);
    const { body } = await service.call('POST /get_endpoint_logs/', { id, tail: 1 });
    expect(body).toEqual({ info0: expect.stringMatching(/rented$/), info1: '', trace: '', debug: '' });
    expect(body.info0.split('\n')).toHaveLength(1);
    const grouped = await service.call('POST /get_autogroup_logs/', { id: groupId });
    expect(grouped.body.info0.split('\n').length).toBeGreaterThan(1);
  });

  test('an update restarts the workers of a group one after the other, and can be called off', async () => {
    const service = fast();
    const { id, groupId } = await endpointOf(service, { min_load: 1, cold_workers: 1 });
    service.advance(60);
    const started = await service.call('POST /update_workers/', { workergroup_id: groupId });
    expect(started.body).toEqual({ success: true, workers_to_update: 1 });
    expect(await statuses(service, id)).toEqual(['update_ready']);
    service.advance(10);
    expect((await service.call('POST /get_endpoint_logs/', { id })).body.info0).toContain(
      'restarts to update',
    );
    await service.call('POST /update_workers/', { workergroup_id: groupId });
    const cancel = { workergroup_id: groupId, cancel_update: true };
    const cancelled = await service.call('POST /update_workers/', cancel);
    expect(cancelled.body).toEqual({ success: true, cancelled: true });
    const again = await service.call('POST /update_workers/', cancel);
    expect(again.body, 'M10: nothing is left to call off').toEqual({ success: true, cancelled: true });
  });

  test('a worker reports its load with the token of its container', async () => {
    const service = fast();
    const { id } = await endpointOf(service, { min_load: 1, cold_workers: 1 });
    service.advance(120);
    const [{ id: workerId }] = await workersOf(service, id);
    const token = service.simulator.world().tables.workers[workerId]?.token;
    const report = {
      id: workerId,
      mtoken: token,
      loadtime: 12,
      cur_load: 55,
      new_load: 700,
      max_perf: 333,
      url: 'http://203.0.113.9:4000',
    };
    const refused = await service.call('POST /worker_status/', { ...report, mtoken: 'x' }, { key: null });
    expect(refused.status).toBe(401);
    expect((await service.call('POST /worker_status/', report, { key: null })).status).toBe(200);
    expect((await workersOf(service, id))[0]).toMatchObject({
      cur_load: 55,
      new_load: 700,
      perf: 333,
      url: report.url,
      status: 'idle',
    });
    service.advance(10);
    expect(service.simulator.world().tables.endpointGroups[id]?.rates.at(-1)?.amount).toBeGreaterThan(0);
  });

  test('finished requests leave the hands of their worker', async () => {
    const service = fast();
    const endpoint = await endpointOf(service, { min_load: 1, cold_workers: 1 });
    service.advance(120);
    const { body } = await ask(service, endpoint, { cost: 1e6 });
    const [{ id: workerId, reqs_working: working }] = await workersOf(service, endpoint.id);
    expect(working).toBe(1);
    const token = service.simulator.world().tables.workers[workerId]?.token;
    const requests = [{ request_idx: body.request_idx, success: true, status: 'Success' }];
    await service.call(
      'POST /delete_requests/',
      { worker_id: workerId, mtoken: token, requests },
      { key: null },
    );
    expect((await workersOf(service, endpoint.id))[0].reqs_working).toBe(0);
  });

  test('a root certificate is served to anyone', async () => {
    const { status, body } = await fast().call('GET /static/jvastai_root.cer', undefined, { key: null });
    expect(status).toBe(200);
    expect(body).toContain('BEGIN CERTIFICATE');
  });
});
