import { describe, expect, test } from 'vitest';
import { type SimulatedService, scoped, simulatedService } from '../../../test/builders/simulated-service.ts';

/** Returns two volumes, 1 and 2 of the caller, and two templates. */
async function stocked() {
  const service = simulatedService({ catalog: [{ id: 1, machineId: 7 }] });
  const listing = await service.call('POST /api/v0/volumes/', { machine: 7, size: 500 });
  const volumes: number[] = [];
  const templates: { id: number; hash_id: string }[] = [];
  for (const name of ['own', 'other']) {
    volumes.push((await service.call('PUT /api/v0/volumes/', { id: listing.body.id, size: 5 })).body.id);
    templates.push((await service.call('POST /api/v0/template/', { name, image: 'x' })).body.template);
  }
  await service.call('POST /api/v0/endptjobs/', { endpoint_name: 'chat' });
  await service.call('POST /api/v0/workergroups/', { endpoint_name: 'chat' });
  return { service, listing: listing.body.id, volumes, templates };
}

describe('ids of one call that contradict each other are refused', () => {
  const refused = async (service: SimulatedService, spec: string, body: object): Promise<void> => {
    const answered = await service.call(spec, body);
    expect({ spec, status: answered.status, msg: answered.body.msg }).toEqual({
      spec,
      status: 400,
      msg: expect.stringMatching(/different/),
    });
  };

  test('of a volume, in the query and in the body', async () => {
    const { service, volumes } = await stocked();
    await refused(service, `DELETE /api/v0/volumes/?id=${volumes[0]}`, { id: volumes[1] });
    expect((await service.call(`DELETE /api/v0/volumes/?id=${volumes[0]}`, { id: volumes[0] })).status).toBe(
      200,
    );
  });

  test('of a copy, by their older names', async () => {
    const { service, listing, volumes } = await stocked();
    await refused(service, 'POST /api/v0/volumes/copy/', {
      src_id: volumes[0],
      source: volumes[1],
      dst_id: listing,
    });
    await refused(service, 'POST /api/v0/volumes/copy/', { src_id: volumes[0], dst_id: listing, dest: 8 });
  });

  test('of a template, by id and by hash', async () => {
    const { service, templates } = await stocked();
    const [own, other] = templates;
    await refused(service, 'PUT /api/v0/template/', { id: own?.id, template_id: other?.id, name: 'n' });
    await refused(service, 'PUT /api/v0/template/', { id: own?.id, hash_id: other?.hash_id, name: 'n' });
    await refused(service, 'PUT /api/v0/asks/1/', { template_id: own?.id, template_hash_id: other?.hash_id });
    const group = { endpoint_name: 'chat', template_id: own?.id, template_hash: other?.hash_id };
    await refused(service, 'POST /api/v0/workergroups/', group);
    const same = { id: own?.id, template_id: own?.id, hash_id: own?.hash_id, name: 'n' };
    expect((await service.call('PUT /api/v0/template/', same)).body.template.name).toBe('n');
  });

  test('of a group, in the path and in the body', async () => {
    const { service } = await stocked();
    await refused(service, 'PUT /api/v0/endptjobs/1/', { endptjob_id: 2 });
    await refused(service, 'DELETE /api/v0/autojobs/1/', { autojob_id: 2 });
    expect((await service.call('PUT /api/v0/endptjobs/1/', { endptjob_id: '1' })).status).toBe(200);
  });
});

describe('applies a constraint of a key in query and body', () => {
  test.each([
    ['in the query alone', '?id=2', {}, 403],
    ['in the query beside an allowed one', '?id=2', { id: 1 }, 403],
    ['in the body beside an allowed one', '?id=1', { id: 2 }, 403],
    ['twice in the query', '?id=1&id=2', {}, 403],
    ['nowhere', '', {}, 403],
    ['as allowed', '?id=1', {}, 404],
    ['as allowed, twice', '?id=1', { id: 1 }, 404],
  ])('%s', async (_, query, body, status) => {
    const service = simulatedService();
    const destroy = { 'api.volume.destroy': { constraints: { id: { eq: 1 } } } };
    const key = service.addKey({ permissions: scoped({ instance_write: destroy }) });
    expect((await service.call(`DELETE /api/v0/volumes/${query}`, body, { key })).status).toBe(status);
  });
});
