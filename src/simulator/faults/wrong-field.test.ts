import { describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../../test/builders/simulated-service.ts';
import { makeKey, makeUser } from '../new-world.ts';

const LIST = 'GET /api/v0/instances/';

function market(): SimulatedService {
  return simulatedService({
    catalog: [1, 2, 3, 4].map((id) => ({ id, machineId: id, hostId: 10 + id, pricePerHour: id / 10 })),
  });
}

async function rent(service: SimulatedService, offer: number, key?: string): Promise<number> {
  const body = { image: 'x', label: `of ${offer}` };
  const options = key === undefined ? {} : { key };
  return (await service.call(`PUT /api/v0/asks/${offer}/`, body, options)).body.new_contract;
}

async function wrong(service: SimulatedService, body: object): Promise<void> {
  const reply = await service.call('POST /sim/faults', { name: 'wrong-field', ...body });
  expect(reply.status, JSON.stringify(reply.body)).toBe(200);
}

const listed = async (service: SimulatedService) => (await service.call(LIST)).body.instances;

/** Returns another login of the market, with its key. */
function addLogin(service: SimulatedService): string {
  const { store } = service.simulator;
  const { now, settings } = store.current();
  const user = makeUser({ id: store.nextId('user'), now, settings });
  service.put('users', user);
  service.put('apiKeys', makeKey({ id: store.nextId('apiKey'), user, secret: 'other', now }));
  return 'other';
}

describe('a wrong field', () => {
  test('of all rows of one list, and of no other reply (A1)', async () => {
    const service = market();
    const ids = [await rent(service, 1), await rent(service, 2)];
    await wrong(service, { endpoint: 'list', field: 'dph_total', change: 'times', value: 1e6, count: 1 });
    const read = (await service.call(`GET /api/v0/instances/${ids[0]}/`)).body.instances;
    const [first, second] = await listed(service);
    expect(first.dph_total).toBeCloseTo(read.dph_total * 1e6, 3);
    expect(second.dph_total).toBeGreaterThan(100_000);
    expect((await listed(service))[0]).toMatchObject({ dph_total: read.dph_total });
  });

  test.for([
    ['set', 'gone', 'gone'],
    ['set', null, null],
    ['retype', undefined, 7],
    ['other-row', undefined, 'of 2'],
    ['remove', undefined, undefined],
  ] as const)('of one machine is changed by %s %s to %s', async ([change, value, label]) => {
    const service = market();
    const ids = [await rent(service, 1), await rent(service, 2)];
    await wrong(service, { instance: ids[0], field: 'label', change, ...(value !== undefined && { value }) });
    const rows = await listed(service);
    expect(rows.map((row: { label?: unknown }) => row.label)).toEqual([label, 'of 2']);
  });

  test('waits for a reply that has the machine and the field', async () => {
    const service = market();
    const ids = [await rent(service, 1), await rent(service, 2)];
    await wrong(service, { endpoint: 'get', instance: ids[1], field: 'label', change: 'set', value: '' });
    const labelOf = async (id: number | undefined) =>
      (await service.call(`GET /api/v0/instances/${id}/`)).body.instances.label;
    expect(await labelOf(ids[0])).toBe('of 1');
    expect(await labelOf(ids[1])).toBe('');
    expect(await labelOf(ids[1])).toBe('of 2');
  });

  test('takes the place of all fields but the id', async () => {
    const service = market();
    const ids = [await rent(service, 1), await rent(service, 2)];
    await wrong(service, { endpoint: 'list', instance: ids[0], field: '*', change: 'other-row' });
    const [first, second] = await listed(service);
    expect(first).toEqual({ ...second, id: ids[0] });
  });

  test('of a rent reply names the machine of an earlier rental (A8)', async () => {
    const service = market();
    const before = await rent(service, 1);
    await wrong(service, { endpoint: 'rent', field: 'new_contract', change: 'other-row' });
    expect(await rent(service, 2)).toBe(before);
    expect(Object.keys(service.simulator.world().tables.contracts)).toHaveLength(2);
  });

  test('comes from another login', async () => {
    const service = market();
    const key = addLogin(service);
    const id = await rent(service, 1);
    const theirs = await rent(service, 2, key);
    const user = 'GET /api/v0/users/current/';
    const own = (await service.call(user)).body.id;
    await wrong(service, { endpoint: user, field: 'id', change: 'other-login' });
    expect((await service.call(user)).body.id).not.toBe(own);
    expect((await service.call(user)).body.id).toBe(own);
    await wrong(service, { endpoint: 'list', field: 'id', change: 'other-login' });
    expect((await listed(service)).map((row: { id: number }) => row.id)).toEqual([theirs]);
    expect((await listed(service)).map((row: { id: number }) => row.id)).toEqual([id]);
  });

  test('is as it was when the fault was set', async () => {
    const service = market();
    const id = await rent(service, 1);
    await wrong(service, { field: 'label', change: 'stale', endpoint: 'list', count: 2 });
    await service.call(`PUT /api/v0/instances/${id}/`, { label: 'new' });
    const seen = [await listed(service), await listed(service), await listed(service)];
    expect(seen.map(([row]) => row.label)).toEqual(['of 1', 'of 1', 'new']);
  });

  test('of an offer', async () => {
    const service = market();
    await wrong(service, { endpoint: 'search', field: 'dph_total', change: 'set', value: 0.001 });
    const prices = async () =>
      (await service.call('POST /api/v0/bundles/', {})).body.offers.map(
        (offer: { dph_total: number }) => offer.dph_total,
      );
    expect(new Set(await prices())).toEqual(new Set([0.001]));
    expect(new Set(await prices())).not.toContain(0.001);
  });

  test('is drawn by the seed where the fault names none: the same each time', async () => {
    const changed = async (seed: number) => {
      const service = simulatedService({ seed, catalog: [{ id: 1 }] });
      await rent(service, 1);
      const before = (await listed(service))[0];
      await wrong(service, { endpoint: 'list', count: 2 });
      const [first, second] = [(await listed(service))[0], (await listed(service))[0]];
      expect(second).toEqual(first);
      return Object.keys(before).filter(
        (field) => JSON.stringify(first[field]) !== JSON.stringify(before[field]),
      );
    };
    const fields = await Promise.all([1, 2, 3, 4, 5, 6].map(changed));
    expect(await changed(1)).toEqual(fields[0]);
    expect(new Set(fields.flat()).size).toBeGreaterThan(2);
  });

  test.for([
    [{ change: 'double' }, 'change'],
    [{ change: 'set' }, 'value'],
    [{ change: 'times', value: 'many' }, 'value'],
    [{ field: '*', change: 'remove' }, 'field'],
    [{ change: 'set', value: [1] }, 'value'],
  ] as const)('%j is refused, and the reason names %s', async ([body, field]) => {
    const reply = await market().call('POST /sim/faults', { name: 'wrong-field', ...body });
    expect(reply.status).toBe(400);
    expect(reply.body.msg).toContain(field);
  });
});
