import { describe, expect, test } from 'vitest';
import { simulatedService } from '../../../test/builders/simulated-service.ts';

const market = () =>
  simulatedService({
    catalog: [
      { id: 1, hostId: 7 },
      { id: 2, hostId: 7 },
    ],
  });

describe('/sim/world', () => {
  test('is one document of time, settings, hosts and tables, without a change when put back', async () => {
    const service = market();
    await service.call('PUT /api/v0/asks/1/', { image: 'x' });
    const { body } = await service.call('GET /sim/world');
    expect(body).toMatchObject({
      now: expect.any(Number),
      seed: 1,
      users: [{ id: 401 }],
      contracts: [{ offerId: 1 }],
    });
    expect(body.hosts).toMatchObject([{ id: 7, machines: [{ hostId: 7 }, { hostId: 7 }] }]);
    const before = service.simulator.world();
    expect((await service.call('PUT /sim/world', body)).status).toBe(200);
    expect(service.simulator.world()).toEqual(before);
  });

  test('changes what it holds and leaves the rest', async () => {
    const service = market();
    const { body } = await service.call('GET /sim/world');
    const [user] = body.users;
    const [offer] = body.offers;
    await service.call('PUT /sim/world', {
      users: [{ ...user, depositedMicros: 5_000_000 }],
      offers: [{ ...offer, id: 99, gpuPricePerHour: 9_000_000 }],
      settings: { lists: { searchDefault: 1 } },
    });
    expect((await service.call('GET /api/v0/users/current')).body.credit).toBe(5);
    expect((await service.call('POST /api/v0/bundles/', {})).body.offers).toMatchObject([
      { id: 99, dph_base: 9 },
    ]);
    expect(service.simulator.world().settings.lists.maxPage).toBe(25);
  });

  test('a body above the limit of other calls is taken', async () => {
    const service = simulatedService({ catalog: 800 });
    const { body } = await service.call('GET /sim/world');
    expect(JSON.stringify(body).length).toBeGreaterThan(1_048_576);
    expect((await service.call('PUT /sim/world', body)).status).toBe(200);
  });

  test.each([
    [{ dragons: [] }, /dragons: there is no such table/],
    [{ users: {} }, /users must be a list/],
    [{ users: [{ name: 'x' }] }, /numeric id/],
    [{ offers: [{ id: 1 }] }, /offers 1: machineId is missing/],
    [{ hosts: [{ id: 1 }] }, /list of machines/],
    [{ contracts: [{ id: 5 }] }, /cannot go on/],
    [{ settings: { boot: { speed: 1 } } }, /settings\.boot\.speed/],
    [{ settings: { boot: { scale: 'fast' } } }, /settings\.boot\.scale must be a number/],
    [
      { settings: { boot: { pullSeconds: [60] } } },
      /settings\.boot\.pullSeconds must be a list of 2 numbers/,
    ],
    [{ settings: { tfa: { blockedNumbers: {} } } }, /settings\.tfa\.blockedNumbers must be a list/],
    [{ settings: { tfa: { blockedNumbers: [5] } } }, /settings\.tfa\.blockedNumbers must be a list of texts/],
  ])('%j is refused with its place', async (document, reason) => {
    const reply = await market().call('PUT /sim/world', document);
    expect(reply).toMatchObject({
      status: 400,
      body: { error: 'bad_request', msg: expect.stringMatching(reason) },
    });
  });
});
