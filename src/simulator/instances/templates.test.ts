import { describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../../test/builders/simulated-service.ts';

/** Returns the environment and ports in the row of a machine. */
async function shown(service: SimulatedService, id: number) {
  const { instances } = (await service.call(`GET /api/v0/instances/${id}/`)).body;
  return { env: Object.fromEntries(instances.extra_env), ports: Object.keys(instances.ports ?? {}) };
}

const fast = () =>
  simulatedService({ catalog: [{ id: 1, directPorts: 10 }], settings: { boot: { scale: 0.001 } } });

async function templateOf(service: SimulatedService, env: unknown): Promise<string> {
  const { body } = await service.call('POST /api/v0/template/', { name: 't', image: 'img', env });
  return body.template.hash_id;
}

describe('the environment of a template', () => {
  test.each([
    ['flags', '-e MODEL=llama -p 8000:8000', {}, { MODEL: 'llama', '-p 8000:8000': '1' }],
    ['flags', '-e MODEL=llama -e TZ=UTC', { TZ: 'CET' }, { MODEL: 'llama', TZ: 'CET' }],
    ['flags', '-e MODEL=llama', null, { MODEL: 'llama' }],
    ['an object', { MODEL: 'llama', TZ: 'UTC' }, '-e TZ=CET', { MODEL: 'llama', TZ: 'CET' }],
    ['nothing', null, { TZ: 'CET' }, { TZ: 'CET' }],
  ])('that is %s is merged by name with that of the rent: %o and %o', async (_, base, env, expected) => {
    const service = fast();
    const hash = await templateOf(service, base);
    const rented = await service.call('PUT /api/v0/asks/1/', { template_hash_id: hash, image: null, env });
    service.advance(60);
    expect((await shown(service, rented.body.new_contract)).env).toEqual(expected);
  });

  test('merges env by name when a machine gets the template later', async () => {
    const service = fast();
    const hash = await templateOf(service, '-e MODEL=llama -e TZ=UTC');
    const id = (await service.call('PUT /api/v0/asks/1/', { image: 'x' })).body.new_contract;
    const change = { id, template_hash_id: hash, env: { TZ: 'CET' } };
    await service.call(`PUT /api/v0/instances/update_template/${id}/`, change);
    expect((await shown(service, id)).env).toEqual({ MODEL: 'llama', TZ: 'CET' });
  });

  test('reaches the workers of a group with its ports, beside what the worker library reads', async () => {
    const service = fast();
    const template_hash = await templateOf(service, '-e MODEL=llama -p 8000:8000');
    await service.call('POST /api/v0/endptjobs/', { endpoint_name: 'chat', cold_workers: 1, min_load: 1 });
    await service.call('POST /api/v0/workergroups/', { endpoint_name: 'chat', template_hash });
    service.advance(60);
    const [contract] = Object.values(service.simulator.world().tables.contracts);
    const { env, ports } = await shown(service, contract?.id ?? 0);
    expect(ports.toSorted()).toEqual(['22/tcp', '3000/tcp', '8000/tcp']);
    expect(env).toEqual({
      MODEL: 'llama',
      '-p 8000:8000': '1',
      '-p 3000:3000': '1',
      CONTAINER_ID: String(contract?.id),
      MASTER_TOKEN: expect.stringMatching(/^[0-9a-f]{32}$/),
      REPORT_ADDR: 'http://127.0.0.1:9',
      PUBLIC_IPADDR: expect.stringMatching(/^203\.0\.113\.\d+$/),
      WORKER_PORT: '3000',
      VAST_TCP_PORT_3000: String(contract?.ports['3000/tcp']),
      USE_SSL: 'false',
      UNSECURED: 'false',
    });
  });
});
