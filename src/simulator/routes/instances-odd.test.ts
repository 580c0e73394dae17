import { describe, expect, test } from 'vitest';
import { simulatedService } from '../../../test/builders/simulated-service.ts';

const DAY = 86_400;

describe('instances in odd circumstances', () => {
  test('labels that every object inherits are counted like others', async () => {
    const labels = ['constructor', '__proto__', 'toString', 'toString'];
    const service = simulatedService({ catalog: labels.map((_, index) => ({ id: index + 1 })) });
    for (const [index, label] of labels.entries()) {
      await service.call(`PUT /api/v0/asks/${index + 1}/`, { image: 'x', label });
    }
    const { label_counts: counts } = (await service.call('GET /api/v1/instances/')).body;
    expect(Object.entries(counts)).toEqual([
      ['constructor', 1],
      ['__proto__', 1],
      ['toString', 2],
    ]);
  });

  test('a prepayment may use what earlier ones left of the credit', async () => {
    const service = simulatedService({
      catalog: [{ id: 1 }, { id: 2 }],
      settings: { billing: { initialCredit: 1000 } },
    });
    const prepay = async (offer: number, amount: number) => {
      const { body } = await service.call(`PUT /api/v0/asks/${offer}/`, { image: 'x' });
      return (await service.call(`PUT /api/v0/instances/prepay/${body.new_contract}/`, { amount })).body;
    };
    expect(await prepay(1, 900)).toMatchObject({ success: true });
    expect(await prepay(2, 101)).toMatchObject({ error: 'insufficient_credit' });
  });

  test.each(['1.0', '1e0', '0x1', '%201', '+1', '01e0', '-1', 'one'])(
    'a path that spells an id as %s names nothing, so that nothing is rented or destroyed by it',
    async (spelling) => {
      const service = simulatedService({ catalog: [{ id: 1 }, { id: 2 }] });
      expect(await service.call(`PUT /api/v0/asks/${spelling}/`, { image: 'x' })).toMatchObject({
        status: 404,
        body: { error: 'invalid_args', msg: expect.stringContaining('no_such_ask') },
      });
      const id = (await service.call('PUT /api/v0/asks/2/', { image: 'x' })).body.new_contract;
      const odd = spelling.replace('1', String(id));
      expect((await service.call(`DELETE /api/v0/instances/${odd}/`)).status).toBe(404);
      expect((await service.call(`GET /api/v0/instances/${odd}/`)).body).toEqual({ instances: null });
      expect(Object.keys(service.simulator.world().tables.contracts)).toEqual([String(id)]);
    },
  );

  test('refuses an unknown target_state instead of starting the machine', async () => {
    const service = simulatedService({ catalog: [{ id: 1 }] });
    const refused = await service.call('PUT /api/v0/asks/1/', { image: 'x', target_state: 'stoped' });
    expect(refused).toMatchObject({
      status: 400,
      body: { error: 'invalid_args', msg: 'target_state must be "running" or "stopped", not "stoped".' },
    });
    expect(service.simulator.world().tables.contracts).toEqual({});
    expect((await service.call('PUT /api/v0/asks/1/', { image: 'x', target_state: '' })).status).toBe(200);
  });

  test.each([
    ['state', { label: 'new', state: 'stoped' }],
    ['label', { label: 'x'.repeat(1025), state: 'stopped' }],
  ])('a change that is refused for its %s changes nothing', async (_what, change) => {
    const service = simulatedService({ catalog: [{ id: 1 }] });
    const { body } = await service.call('PUT /api/v0/asks/1/', { image: 'x', label: 'old' });
    const before = service.simulator.world().tables.contracts;
    expect((await service.call(`PUT /api/v0/instances/${body.new_contract}/`, change)).status).toBe(400);
    expect(service.simulator.world().tables.contracts).toEqual(before);
    expect(before[body.new_contract]).toMatchObject({ label: 'old', intendedStatus: 'running' });
  });

  test('a destroyed machine has no price increase to answer', async () => {
    const service = simulatedService({ catalog: [{ id: 1 }] });
    const id = (await service.call('PUT /api/v0/asks/1/', { image: 'x' })).body.new_contract;
    await service.call('POST /sim/faults', { name: 'price-increase', instance: id });
    const pending = async () =>
      (await service.call('GET /api/v0/instances/pending-price-increases/')).body.pending_price_increases;
    const [{ id: increase }] = await pending();
    await service.call(`DELETE /api/v0/instances/${id}/`, {});
    expect(await pending()).toEqual([]);
    const answer = { pending_price_increase_id: increase };
    expect((await service.call('PUT /api/v0/instances/accept-price-increase/', answer)).status).toBe(404);
  });

  test('an offer that its host took back cannot be rented, as no search for rentable ones finds it', async () => {
    const settings = { market: { relistHours: null } };
    const service = simulatedService({ catalog: [{ id: 1 }], settings });
    service.advance(3000 * DAY);
    expect((await service.call('POST /api/v0/bundles/', { rentable: { eq: true } })).body.offers).toEqual([]);
    expect((await service.call('PUT /api/v0/asks/1/', { image: 'x' })).body.msg).toContain('no_such_ask');
  });

  test('the list of templates is filtered and shows the columns asked for', async () => {
    const service = simulatedService({ catalog: 1 });
    for (const name of ['one', 'two']) await service.call('POST /api/v0/template/', { name, image: 'x' });
    const query = new URLSearchParams({
      select_filters: '{"name":{"eq":"two"}}',
      select_cols: '["name","nothing"]',
    });
    const { body } = await service.call(`GET /api/v0/template/?${query}`);
    expect(body).toEqual({ success: true, templates_found: 1, templates: [{ name: 'two', nothing: null }] });
    const all = new URLSearchParams({ select_filters: '{}', select_cols: '["*"]' });
    expect((await service.call(`GET /api/v0/template/?${all}`)).body.templates_found).toBe(2);
    expect((await service.call('GET /api/v0/template/?select_filters=[]')).status).toBe(400);
  });
});
