import { describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../../test/builders/simulated-service.ts';

const CODE = {
  name: 'app',
  image: 'example/app:1',
  file_hash: 'aaa',
  file_size: 10,
  search_params: 'num_gpus=1',
};
const deploy = async (service: SimulatedService, change: object = {}) =>
  (await service.call('PUT /api/v0/deployments/', { ...CODE, cold_workers: 1, ...change })).body;
const show = async (service: SimulatedService, id: number) =>
  (await service.call(`GET /api/v0/deployment/${id}/`)).body.deployment;

async function upload(service: SimulatedService, url: string, text: string): Promise<void> {
  await service.call(`POST ${new URL(url).pathname}`, undefined, { key: null, rawBody: text });
}

describe('deployments', () => {
  test('the first deploy creates an endpoint group, a worker group and an upload address', async () => {
    const service = simulatedService({ settings: { boot: { scale: 0.01 } } });
    const done = await deploy(service);
    expect(done).toMatchObject({
      success: true,
      action: 'created',
      upload_url: expect.stringMatching(/^http/),
    });
    service.advance(10);
    expect(await show(service, done.deployment_id)).toMatchObject({
      name: 'app',
      tag: 'default',
      image: 'example/app:1',
      endpoint_id: done.endpoint_id,
      endpoint_state: 'active',
      worker_count: 1,
      file_hash: 'aaa',
      last_healthy_version_id: null,
    });
    expect((await service.call('GET /api/v0/workergroups/')).body.results).toMatchObject([
      { id: done.workergroup_id },
    ]);
  });

  test.for([
    [{}, 'exists'],
    [{ file_hash: 'bbb' }, 'soft_update'],
    [{ cold_workers: 3 }, 'autoscale_update'],
    [{ image: 'example/app:2' }, 'autoscale_update'],
    [{ tag: 'canary' }, 'created'],
  ] as const)('deploying %o again is %s', async ([change, action]) => {
    const service = simulatedService();
    await deploy(service);
    const again = await deploy(service, change);
    expect(again.action).toBe(action);
    expect(again.upload_url !== undefined).toBe(action === 'soft_update' || action === 'created');
  });

  test('what was uploaded is healthy and can be downloaded, with the key of a container too', async () => {
    const service = simulatedService();
    const done = await deploy(service);
    const path = `GET /api/v0/deployment/${done.deployment_id}/download_url/`;
    expect((await service.call(path)).status).toBe(404);
    await upload(service, done.upload_url, '--x\r\ncode\r\n--x--');
    const key = service.addKey({ instanceId: 5 });
    const { body } = await service.call(path, undefined, { key });
    const file = await service.call(`GET ${new URL(body.download_url).pathname}`, undefined, { key: null });
    expect(file.body).toContain('code');
    expect(await show(service, done.deployment_id)).toMatchObject({ last_healthy_version_id: 1 });
  });

  test('the file of an upload comes back byte for byte', async () => {
    const service = simulatedService();
    const done = await deploy(service);
    const bytes = Uint8Array.from({ length: 2048 }, (_, index) => (index * 7) % 256);
    const listening = await service.simulator.listen();
    try {
      const form = new FormData();
      for (const [name, value] of Object.entries<string>(done.upload_fields)) form.set(name, value);
      form.set('file', new Blob([bytes]), 'code.tgz');
      const path = new URL(done.upload_url).pathname;
      const sent = await fetch(`${listening.url}${path}`, { method: 'POST', body: form });
      expect(sent.ok).toBe(true);
      const got = await fetch(`${listening.url}${path}`);
      expect(got.headers.get('content-type')).toBe('application/octet-stream');
      expect(new Uint8Array(await got.arrayBuffer())).toEqual(bytes);
    } finally {
      await listening.close();
    }
  });

  test('only the last five versions are kept', async () => {
    const service = simulatedService();
    const { deployment_id: id } = await deploy(service);
    for (const hash of ['b', 'c', 'd', 'e']) await deploy(service, { file_hash: hash });
    expect((await deploy(service, { file_hash: 'f' })).evicted_versions).toEqual([1]);
    expect((await service.call(`GET /api/v0/deployment/${id}/versions/`)).body.versions).toHaveLength(5);
  });

  test('stops when its client sends no heartbeat for its ttl, and starts again on request', async () => {
    const service = simulatedService();
    const { deployment_id: id } = await deploy(service, { ttl: 60 });
    service.advance(50);
    await service.call(`POST /api/v0/deployment/${id}/heartbeat/`, {});
    service.advance(50);
    expect((await show(service, id)).endpoint_state).toBe('active');
    service.advance(30);
    expect(await show(service, id)).toMatchObject({ endpoint_state: 'stopped', worker_count: 0 });
    const started = await service.call(`POST /api/v0/deployment/${id}/start/`, {});
    expect(started.body).toEqual({ success: true, endpoint_state: 'active' });
    expect((await service.call(`POST /api/v0/deployment/${id}/stop/`, {})).body.endpoint_state).toBe(
      'stopped',
    );
  });

  test('deleting one, or all of a name, deletes endpoints and machines', async () => {
    const service = simulatedService();
    const { deployment_id: id } = await deploy(service);
    await deploy(service, { tag: 'a' });
    await deploy(service, { tag: 'b' });
    service.advance(20);
    expect((await service.call(`DELETE /api/v0/deployment/${id}/`, {})).body.success).toBe(true);
    const rest = await service.call('DELETE /api/v0/deployments/', { name: 'app' });
    expect(rest.body).toEqual({ success: true, count: 2 });
    expect((await service.call('GET /api/v0/deployments')).body.deployments).toEqual([]);
    expect((await service.call('GET /api/v0/endptjobs/')).body.results).toEqual([]);
    expect((await service.call('GET /api/v0/instances/')).body.instances_found).toBe(0);
  });
});
