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

  test('a number that a given row has is not handed out again', async () => {
    const service = market();
    await service.call('PUT /api/v0/asks/1/', { image: 'mine' });
    const { body } = await service.call('GET /sim/world');
    const [mine] = body.contracts;
    const offers = body.offers.map((offer: object) => ({ ...offer, rentedBy: null }));
    await service.call('PUT /sim/world', {
      contracts: [{ ...mine, id: mine.id + 1 }],
      offers,
      counters: { contract: 5 },
    });
    const rented = await service.call('PUT /api/v0/asks/2/', { image: 'other' });
    expect(rented.body.new_contract).toBe(mine.id + 2);
    expect(Object.values(service.simulator.world().tables.contracts)).toMatchObject([
      { id: mine.id + 1, image: 'mine' },
      { id: mine.id + 2, image: 'other' },
    ]);
  });

  test('instances show the offer and the machine as they were put', async () => {
    const service = market();
    await service.call('PUT /api/v0/asks/1/', { image: 'x' });
    await service.call('GET /api/v0/instances/');
    const { offers, hosts } = (await service.call('GET /sim/world')).body;
    const [{ machines, ...host }] = hosts;
    await service.call('PUT /sim/world', {
      offers: offers.map((offer: { columns: object }) => ({
        ...offer,
        columns: { ...offer.columns, gpu_name: 'H100 SXM' },
      })),
    });
    await service.call('PUT /sim/world', {
      hosts: [
        { ...host, machines: machines.map((one: object) => ({ ...one, publicAddress: '203.0.113.200' })) },
      ],
    });
    expect((await service.call('GET /api/v0/instances/')).body.instances).toMatchObject([
      { gpu_name: 'H100 SXM', public_ipaddr: '203.0.113.200' },
    ]);
  });

  test('an offer without columns of its own is shown with those that are computed', async () => {
    const service = market();
    const [offer] = (await service.call('GET /sim/world')).body.offers;
    await service.call('PUT /sim/world', { offers: [{ ...offer, columns: {} }] });
    const search = { rentable: { eq: 'any' } };
    expect((await service.call('POST /api/v0/bundles/', search)).body.offers).toMatchObject([{ id: 1 }]);
  });

  test('a setting that is null at first can be set and taken back', async () => {
    const service = market();
    const put = (sshProxyHost: string | null) =>
      service.call('PUT /sim/world', { settings: { addresses: { sshProxyHost } } });
    expect((await put('ssh.example')).status).toBe(200);
    expect((await put(null)).status).toBe(200);
    expect(service.simulator.world().settings.addresses.sshProxyHost).toBeNull();
  });

  describe('refuses a row', () => {
    test.each([
      [
        'with a field that there is not',
        { users: { dragon: 1 } },
        'users 401: dragon: there is no such field; leave it out.',
      ],
      ['of another type', { users: { email: 5 } }, 'users 401: email must be a text, not 5.'],
      [
        'with a word that is none',
        { users: { tfaStatus: 'on' } },
        'users 401: tfaStatus must be one of "enabled", "disabled", "legacy", not on.',
      ],
      [
        'with a figure below its bound',
        { offers: { gpuPricePerHour: -1 } },
        'offers 1: gpuPricePerHour must be at least 0, not -1.',
      ],
      [
        'with a wrong part',
        { contracts: { spans: [{ from: 'x' }] } },
        'contracts 20000001: spans.0.from must be a number, not x.',
      ],
      [
        'of a user who is not there',
        { apiKeys: { userId: 77 } },
        'apiKeys 1: userId is 77, but users has no row of that id; give that row too, or change apiKeys.',
      ],
      [
        'on a machine that is not there',
        { offers: { machineId: 77 } },
        'offers 1: machineId is 77, but hosts has no row of that id; give that row too, or change offers.',
      ],
      [
        'rented by nobody',
        { offers: { rentedBy: 77 } },
        'offers 1: rentedBy is 77, but contracts has no row of that id; give that row too, or change offers.',
      ],
    ] as const)('%s, and takes nothing over', async (_what, change, msg) => {
      const service = market();
      await service.call('PUT /api/v0/asks/1/', { image: 'x' });
      const { body } = await service.call('GET /sim/world');
      const before = service.simulator.world();
      const changed = Object.entries(change).map(([table, fields]) => {
        const [first, ...rest] = body[table];
        return [table, [{ ...first, ...fields }, ...rest]] as const;
      });
      const reply = await service.call('PUT /sim/world', {
        settings: { lists: { lagSeconds: 9 } },
        sshKeys: [],
        ...Object.fromEntries(changed),
      });
      expect(reply).toMatchObject({ status: 400, body: { error: 'bad_request', msg } });
      expect(service.simulator.world()).toEqual(before);
    });

    test('that is there twice', async () => {
      const [user] = (await market().call('GET /sim/world')).body.users;
      const reply = await market().call('PUT /sim/world', { users: [user, user] });
      expect(reply.body.msg).toBe('users 401: two rows have this id; give one of them.');
    });

    test('whose contract was left out of the document', async () => {
      const service = market();
      await service.call('PUT /api/v0/asks/1/', { image: 'x' });
      const reply = await service.call('PUT /sim/world', { contracts: [] });
      expect(reply.body.msg).toContain('offers 1: rentedBy is 20000001, but contracts has no row of that id');
    });
  });

  test.each([
    [{ dragons: [] }, /dragons: there is no such table/],
    [{ users: {} }, /users must be a list/],
    [{ users: [{ name: 'x' }] }, /numeric id/],
    [{ offers: [{ id: 1 }] }, /offers 1: machineId is missing/],
    [{ hosts: [{ id: 1 }] }, /list of machines/],
    [{ hosts: [{ machines: [] }] }, /numeric id/],
    [
      { hosts: [{ id: 1, machines: [{ id: 5, hostId: 2 }] }] },
      /hosts 1: hostId of its machine 5 must be 1, not 2/,
    ],
    [{ machines: [] }, /machines: there is no such table; there are users, apiKeys, hosts/],
    [{ nextEventAt: 5 }, /nextEventAt: there is no such table/],
    [{ seed: 'x' }, /seed must be a number, not x/],
    [{ counters: [] }, /counters must be an object/],
    [{ counters: { contract: 'x' } }, /counters\.contract must be a whole number, 0 or more, not x/],
    [{ counters: { contract: -1 } }, /counters\.contract must be a whole number/],
    [{ counters: { dragons: 1 } }, /counters\.dragons: there is no such counter; there are user, /],
    [{ faults: [{ id: 1, name: 'dragon' }] }, /faults 1: name must be one of "refused", /],
    [{ settings: 5 }, /settings must be an object of groups/],
    [{ settings: { dragons: {} } }, /settings\.dragons: there is no such setting/],
    [{ settings: { boot: 5 } }, /settings\.boot must be an object, not 5/],
    [{ settings: { boot: { scale: -1 } } }, /settings\.boot\.scale must be at least 0, not -1/],
    [
      { settings: { pauses: { body: 'xml' } } },
      /settings\.pauses\.body must be one of "text", "json", not xml/,
    ],
    [
      { settings: { boot: { pullSeconds: [9, 1] } } },
      /settings\.boot\.pullSeconds must be a list of 2 numbers, the lower one first/,
    ],
    [
      { settings: { addresses: { portBase: 60_000 } } },
      /settings\.addresses must be such that portBase and portCount/,
    ],
    [
      { settings: { addresses: { sshProxyHost: 5 } } },
      /settings\.addresses\.sshProxyHost must be a text, not 5/,
    ],
    [{ contracts: [{ id: 5 }] }, /contracts 5: userId is missing; it must be a number/],
    [{ settings: { boot: { speed: 1 } } }, /settings\.boot\.speed/],
    [{ settings: { boot: { scale: 'fast' } } }, /settings\.boot\.scale must be a number/],
    [
      { settings: { boot: { pullSeconds: [60] } } },
      /settings\.boot\.pullSeconds must be at least 2 entries long, not \[60\]/,
    ],
    [{ settings: { tfa: { blockedNumbers: {} } } }, /settings\.tfa\.blockedNumbers must be a list/],
    [
      { settings: { tfa: { blockedNumbers: [5] } } },
      /settings\.tfa\.blockedNumbers\.0 must be a text, not 5/,
    ],
  ])('%j is refused with its place', async (document, reason) => {
    const reply = await market().call('PUT /sim/world', document);
    expect(reply).toMatchObject({
      status: 400,
      body: { error: 'bad_request', msg: expect.stringMatching(reason) },
    });
  });
});
