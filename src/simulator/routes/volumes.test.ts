import { describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../../test/builders/simulated-service.ts';

const unlist = (service: SimulatedService, body: unknown) =>
  service.call('POST /api/v0/volumes/unlist', body);

// In a new world, listing 8 is free and 9 is rented by another account.
describe('unlisting a volume (specification 4.1)', () => {
  test('unlists a listing that is not rented, with the message of the specification', async () => {
    const { status, body } = await unlist(simulatedService(), { id: 8 });
    expect({ status, body }).toEqual({ status: 200, body: { success: true, msg: 'Unlisted Volume 8.' } });
  });

  test('the id may come as text', async () => {
    expect((await unlist(simulatedService(), { id: '8' })).body.msg).toBe('Unlisted Volume 8.');
  });

  test.for([
    { when: 'the id is missing', body: {}, msg: 'id must be passed in the request body' },
    { when: 'the id is null', body: { id: null }, msg: 'id must be passed in the request body' },
    { when: 'the listing does not exist', body: { id: 77 }, msg: 'Volume listing does not exist' },
    { when: 'the listing is active', body: { id: 9 }, msg: 'Unable to delete active volume listing' },
    { when: 'it belongs to another host', body: { id: 6_000_001 }, msg: 'Volume listing does not exist' },
  ])('400 with error and msg when $when', async ({ body, msg }) => {
    const answered = await unlist(simulatedService(), body);
    expect(answered.status).toBe(400);
    expect(answered.body).toMatchObject({ error: expect.stringMatching(/\S/), msg });
  });

  test('400 when the deletion fails', async () => {
    const service = simulatedService();
    const listing = service.simulator.world().tables.volumeListings[8];
    if (listing) service.put('volumeListings', { ...listing, undeletable: true });
    const { status, body } = await unlist(service, { id: 8 });
    expect({ status, msg: body.msg }).toEqual({ status: 400, msg: 'Unable to delete volume listing.' });
  });

  test('an unlisted one is gone for good', async () => {
    const service = simulatedService();
    await unlist(service, { id: 8 });
    expect((await unlist(service, { id: 8 })).body.msg).toBe('Volume listing does not exist');
    expect((await service.call('PUT /api/v0/volumes/', { id: 8, size: 10 })).status).toBe(404);
  });

  test('an active listing can be unlisted once its last volume is deleted', async () => {
    const service = simulatedService();
    const rented = await service.call('PUT /api/v0/volumes/', { id: 8, size: 20 });
    expect((await unlist(service, { id: 8 })).body.msg).toBe('Unable to delete active volume listing');
    await service.call(`DELETE /api/v0/volumes/?id=${rented.body.id}`, {});
    expect((await unlist(service, { id: 8 })).status).toBe(200);
  });

  test('the specification profile serves it too', async () => {
    expect((await unlist(simulatedService({ profile: 'specification' }), { id: 8 })).status).toBe(200);
  });

  test('a network volume listing is unlisted under its own path', async () => {
    const service = simulatedService();
    const { body } = await service.call('POST /api/v0/network_volumes/', { size: 500, price_disk: 0.1 });
    expect((await unlist(service, { id: body.id })).status).toBe(400);
    expect((await service.call('POST /api/v0/network_volumes/unlist/', { id: body.id })).status).toBe(200);
  });
});

describe('renting volumes', () => {
  const offers = async (service: SimulatedService, filters: object = {}) =>
    (
      await service.call('POST /api/v0/volumes/search/', {
        order: [['storage_cost', 'asc']],
        limit: 50,
        allocated_storage: 1.0,
        ...filters,
      })
    ).body.offers;

  /** Rents any offer of that machine, with the volume in `info`. */
  const rentOn = async (service: SimulatedService, machineId: number, info: object) => {
    const wanted = { machine_id: { eq: machineId }, rentable: { eq: true }, limit: 1 };
    const { body } = await service.call('POST /api/v0/bundles/', wanted);
    const order = { image: 'x', disk: 10, volume_info: info };
    return service.call(`PUT /api/v0/asks/${body.offers[0].id}/`, order);
  };

  test('search filters and orders by the columns of the machine and of the disk', async () => {
    const service = simulatedService({ catalog: 400 });
    const found = await offers(service, {
      disk_space: { gte: '200' },
      verified: { eq: true },
      external: { eq: false },
    });
    expect(found.length).toBeGreaterThan(3);
    for (const row of found) {
      expect(row.disk_space).toBeGreaterThanOrEqual(200);
      expect(row).toMatchObject({
        verification: 'verified',
        machine_id: expect.any(Number),
        duration: expect.any(Number),
      });
    }
    const costs = found.map((row: { storage_cost: number }) => row.storage_cost);
    expect(costs).toEqual(costs.toSorted((left: number, right: number) => left - right));
  });

  test('a rented volume is listed by kind, named after its id, with a numeric start_date', async () => {
    const service = simulatedService();
    const [offer] = await offers(service);
    const { body } = await service.call('PUT /api/v0/volumes/', { id: offer.id, size: 20 });
    expect(body).toEqual({ success: true, id: expect.any(Number), volume_name: `V.${body.id}` });
    const own = await service.call('GET /api/v0/volumes?owner=me&type=local_volume');
    expect(own.body.volumes).toMatchObject([
      { id: body.id, disk_space: 20, label: body.volume_name, start_date: expect.any(Number), instances: [] },
    ]);
    expect((await service.call('GET /api/v0/volumes?owner=me&type=network_volume')).body.volumes).toEqual([]);
  });

  test('no more can be rented than is free', async () => {
    const service = simulatedService();
    const [offer] = await offers(service);
    const { status, body } = await service.call('PUT /api/v0/volumes/', {
      id: offer.id,
      size: offer.disk_space + 1,
    });
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_args' });
  });

  test('a clone is at least as large as its source', async () => {
    const service = simulatedService();
    const [first, second] = await offers(service);
    const source = await service.call('PUT /api/v0/volumes/', { id: first.id, size: 20 });
    const clone = { src_id: source.body.id, dst_id: second.id };
    expect((await service.call('POST /api/v0/volumes/copy/', { ...clone, size: 10 })).status).toBe(400);
    expect((await service.call('POST /api/v0/volumes/copy/', clone)).status).toBe(200);
  });

  test('a volume that an instance uses cannot be deleted', async () => {
    const service = simulatedService();
    const [offer] = await offers(service);
    const volume = await service.call('PUT /api/v0/volumes/', { id: offer.id, size: 20 });
    await rentOn(service, offer.machine_id, {
      mount_path: '/data',
      create_new: false,
      volume_id: volume.body.id,
    });
    const refused = await service.call(`DELETE /api/v0/volumes/?id=${volume.body.id}`, {});
    expect({ status: refused.status, error: refused.body.error }).toEqual({
      status: 400,
      error: 'volume_in_use',
    });
  });

  test('a volume costs its price for every second until it is deleted, and the credit pays for it', async () => {
    const service = simulatedService();
    const [offer] = await offers(service);
    const before = await service.call('GET /api/v0/users/current');
    const { body } = await service.call('PUT /api/v0/volumes/', { id: offer.id, size: 200, name: 'data' });
    service.advance(3600 * 730);
    await service.call(`DELETE /api/v0/volumes/?id=${body.id}`, {});
    service.advance(3600);
    const month = offer.storage_cost * 200;
    const { contracts, dollars, billing } = (await service.call('GET /sim/ledger')).body;
    expect(contracts).toMatchObject([{ id: body.id, label: 'data', end: contracts[0].start + 3600 * 730 }]);
    expect(contracts[0].dollars).toBeCloseTo(month, 2);
    expect({ dollars, billing }).toEqual({ dollars: contracts[0].dollars, billing: 0 });
    const after = await service.call('GET /api/v0/users/current');
    expect(before.body.credit - after.body.credit).toBeCloseTo(month, 2);
  });

  test('a volume that is rented counts as a contract that bills', async () => {
    const service = simulatedService();
    const [offer] = await offers(service);
    await service.call('PUT /api/v0/volumes/', { id: offer.id, size: 20 });
    expect((await service.call('GET /sim/ledger')).body).toMatchObject({
      billing: 1,
      contracts: [{ end: null }],
    });
  });

  test('its cost too brings the moment nearer at which machines stop for want of credit', async () => {
    const service = simulatedService({ settings: { billing: { initialCredit: 1 } } });
    const [offer] = await offers(service);
    const { body } = await service.call('PUT /api/v0/volumes/', { id: offer.id, size: 50 });
    const rented = await rentOn(service, offer.machine_id, { volume_id: body.id, mount_path: '/data' });
    service.advance(30 * 86_400);
    const { instances } = (await service.call(`GET /api/v0/instances/${rented.body.new_contract}/`)).body;
    expect(instances).toMatchObject({ actual_status: 'stopped', intended_status: 'running' });
    const refused = await service.call('PUT /api/v0/volumes/', { id: offer.id, size: 5 });
    expect(refused).toMatchObject({ status: 400, body: { error: 'insufficient_credit' } });
  });

  test('an instance rents a volume of its own with create_new, which outlives it', async () => {
    const service = simulatedService();
    const [offer] = await offers(service);
    const wish = { create_new: true, volume_id: offer.id, mount_path: '/data', name: 'mine' };
    const rented = await rentOn(service, offer.machine_id, wish);
    const id = rented.body.new_contract;
    const [volume] = (await service.call('GET /api/v0/volumes')).body.volumes;
    expect(volume).toMatchObject({ label: 'mine', disk_space: 15, status: 'attached', instances: [id] });
    expect((await service.call(`GET /api/v0/instances/${id}/`)).body.instances.volume_info).toMatchObject([
      { id: volume.id, mount_path: '/data', total_space: 15 },
    ]);
    await service.call(`DELETE /api/v0/instances/${id}/`, {});
    expect((await service.call('GET /api/v0/volumes')).body.volumes).toMatchObject([
      { id: volume.id, status: 'created', instances: [] },
    ]);
  });

  test.for([
    { when: 'it is on another machine', info: { volume_id: 8 }, status: 400, error: 'invalid_args' },
    { when: 'it does not exist', info: { volume_id: 77 }, status: 404, error: 'no_such_volume' },
    { when: 'no id is given', info: { mount_path: '/x' }, status: 400, error: 'bad_request' },
    {
      when: 'the offer of a new one does not exist',
      info: { volume_id: 77, create_new: true },
      status: 404,
      error: 'no_such_volume',
    },
  ])(
    'a rental whose volume cannot be mounted because $when is refused, and nothing is rented',
    async (row) => {
      const service = simulatedService();
      const [first, second] = await offers(service);
      const volume = await service.call('PUT /api/v0/volumes/', { id: first.id, size: 20 });
      const id = row.info.volume_id === 8 ? volume.body.id : row.info.volume_id;
      const refused = await rentOn(service, second.machine_id, { ...row.info, volume_id: id });
      expect({ status: refused.status, error: refused.body.error }).toEqual({
        status: row.status,
        error: row.error,
      });
      expect((await service.call('GET /api/v0/instances/')).body.instances_found).toBe(0);
    },
  );

  test('an offer names the volume that can be rented beside it, with size and price', async () => {
    const service = simulatedService();
    const [volume] = await offers(service);
    const wanted = { machine_id: { eq: volume.machine_id }, limit: 1 };
    const beside = async () => (await service.call('POST /api/v0/bundles/', wanted)).body.offers[0];
    expect(await beside()).toMatchObject({
      avail_vol_ask_id: volume.id,
      avail_vol_size: volume.disk_space,
      avail_vol_dph: expect.closeTo((volume.storage_cost * volume.disk_space) / 730, 4),
    });
    await service.call('PUT /api/v0/volumes/', { id: volume.id, size: volume.disk_space });
    expect((await beside()).avail_vol_ask_id).toBeNull();
    const without = { avail_vol_ask_id: { eq: null }, limit: 100 };
    const { body } = await service.call('POST /api/v0/bundles/', without);
    expect(body.offers.some((row: { machine_id: number }) => row.machine_id === volume.machine_id)).toBe(
      true,
    );
  });

  test('the ids of a clone are also known as source and dest', async () => {
    const service = simulatedService();
    const [first, second] = await offers(service);
    const source = await service.call('PUT /api/v0/volumes/', { id: first.id, size: 20 });
    const { status } = await service.call('POST /api/v0/volumes/copy/', {
      source: source.body.id,
      dest: second.id,
      size: 20.0,
    });
    expect(status).toBe(200);
  });

  test.for(['constructor', 'disk', ''])('the type %j of a list is refused', async (type) => {
    const { status, body } = await simulatedService().call(`GET /api/v0/volumes?type=${type}`);
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'bad_request' });
  });

  test('a host lists disk on several machines at once', async () => {
    const service = simulatedService();
    const [first, second] = Object.keys(service.simulator.world().tables.machines).map(Number);
    const { body } = await service.call('POST /api/v0/volumes/', {
      size: 100,
      machine: [first, second],
      price_disk: 0.2,
    });
    expect(body.ids).toHaveLength(2);
    expect((await unlist(service, { id: body.ids[1] })).status).toBe(200);
  });
});
