import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { simulatedService } from '../../../test/builders/simulated-service.ts';
import type { Contract } from '../tables/contracts.ts';
import { contractMicros, rebill, stopBilling } from './ledger.ts';

const bare = (spans: Contract['spans']): Contract => ({ spans }) as Contract;
const HOUR = 3_600_000;

describe('what a contract costs', () => {
  test('is rate times whole seconds of its span', () => {
    const contract = bare([{ from: 0, until: null, gpuPerHour: 3_600_000, diskPerHour: 360_000 }]);
    expect(contractMicros(contract, 999)).toBe(0);
    expect(contractMicros(contract, 1000)).toBe(1100);
    expect(contractMicros(contract, HOUR)).toBe(3_960_000);
  });

  test('stays constant once billing has stopped', () => {
    const running = bare([{ from: 0, until: null, gpuPerHour: 1_000_000, diskPerHour: 0 }]);
    const stopped = stopBilling(running, HOUR);
    expect(contractMicros(stopped, 10 * HOUR)).toBe(1_000_000);
  });

  test('an unchanged price opens no new span', () => {
    const running = bare([{ from: 0, until: null, gpuPerHour: 5, diskPerHour: 1 }]);
    expect(rebill(running, HOUR, { gpuPerHour: 5, diskPerHour: 1 })).toBe(running);
  });

  test('no second is billed twice or left out, whatever the prices do', () => {
    const changes = fc.array(
      fc.record({ after: fc.integer({ min: 0, max: 50_000 }), gpu: fc.integer({ min: 0, max: 9_000_000 }) }),
      { minLength: 1, maxLength: 20 },
    );
    fc.assert(
      fc.property(changes, (list) => {
        let now = 1_000_000_123;
        const begin = now;
        let contract = bare([{ from: now, until: null, gpuPerHour: 1, diskPerHour: 7 }]);
        for (const { after, gpu } of list) {
          now += after;
          contract = rebill(contract, now, { gpuPerHour: gpu, diskPerHour: 7 });
        }
        const seconds = contract.spans.reduce(
          (sum, span) => sum + Math.floor((span.until ?? now) / 1000) - Math.floor(span.from / 1000),
          0,
        );
        expect(seconds).toBe(Math.floor(now / 1000) - Math.floor(begin / 1000));
        expect(contract.spans.filter((span) => span.until === null)).toHaveLength(1);
      }),
    );
  });
});

describe('GET /sim/ledger', () => {
  test('shows start, end and dollars of live and ended contracts, and how many bill', async () => {
    const service = simulatedService({ catalog: [{ id: 5, pricePerHour: 3.6, diskPricePerGBMonth: 0 }] });
    const rented = await service.call('PUT /api/v0/asks/5/', { image: 'x', label: 'mine' });
    service.advance(1000);
    const during = await service.call('GET /sim/ledger');
    expect(during.body.billing).toBe(1);
    expect(during.body.contracts).toEqual([
      { id: rented.body.new_contract, label: 'mine', start: expect.any(Number), end: null, dollars: 1 },
    ]);
    await service.call(`DELETE /api/v0/instances/${rented.body.new_contract}/`, {});
    service.advance(1000);
    const after = await service.call('GET /sim/ledger');
    expect(after.body).toMatchObject({ billing: 0, dollars: 1 });
    expect(after.body.contracts[0].end - after.body.contracts[0].start).toBe(1000);
  });

  test('a stopped machine costs its disk alone', async () => {
    const service = simulatedService({ catalog: [{ id: 5, pricePerHour: 1, diskPricePerGBMonth: 7.3 }] });
    const { body } = await service.call('PUT /api/v0/asks/5/', { image: 'x', disk: 100 });
    service.advance(3600);
    await service.call(`PUT /api/v0/instances/${body.new_contract}/`, { state: 'stopped' });
    service.advance(3600);
    const { dollars } = (await service.call('GET /sim/ledger')).body;
    expect(dollars).toBeCloseTo(1 + 1 + 1, 6);
  });

  test('start_date and the Date header of the destroy bound what is billed', async () => {
    const service = simulatedService({ catalog: [{ id: 5, pricePerHour: 3600, diskPricePerGBMonth: 0 }] });
    const { body } = await service.call('PUT /api/v0/asks/5/', { image: 'x' });
    const row = (await service.call(`GET /api/v0/instances/${body.new_contract}/`)).body.instances;
    service.advance(321.7);
    const gone = await service.call(`DELETE /api/v0/instances/${body.new_contract}/`, {});
    const seconds = Date.parse(gone.headers.date ?? '') / 1000 - row.start_date;
    expect((await service.call('GET /sim/ledger')).body.dollars).toBeCloseTo(seconds, 6);
  });
});

describe('credit', () => {
  test('runs down with the ledger and stops all machines at zero, disks go on', async () => {
    const service = simulatedService({
      catalog: [{ id: 5, pricePerHour: 2, diskPricePerGBMonth: 0.73 }],
      settings: { billing: { initialCredit: 1 } },
    });
    const { body } = await service.call('PUT /api/v0/asks/5/', { image: 'x' });
    const path = `/api/v0/instances/${body.new_contract}/`;
    service.advance(900);
    expect((await service.call('GET /api/v0/users/current')).body.credit).toBeCloseTo(0.4975, 3);
    service.advance(3600);
    const row = (await service.call(`GET ${path}`)).body.instances;
    expect(row).toMatchObject({ actual_status: 'stopped', intended_status: 'running', cur_state: 'stopped' });
    const credit = (await service.call('GET /api/v0/users/current')).body.credit;
    expect(credit).toBeLessThanOrEqual(0);
    expect(credit).toBeGreaterThan(-0.02);
    expect(await service.call(`PUT ${path}`, { state: 'running' })).toMatchObject({
      status: 400,
      body: { error: 'missing_billing' },
    });
  });

  test('a renter without credit is refused', async () => {
    const service = simulatedService({ catalog: [{ id: 5 }], settings: { billing: { initialCredit: 0 } } });
    expect(await service.call('PUT /api/v0/asks/5/', { image: 'x' })).toMatchObject({
      status: 400,
      body: { success: false, error: 'insufficient_credit', msg: expect.any(String) },
    });
  });
});

describe('a lost machine', () => {
  const cost = async (computeWhileLost: boolean): Promise<number> => {
    const service = simulatedService({
      catalog: [{ id: 5, hostId: 9, pricePerHour: 1, diskPricePerGBMonth: 0 }],
      settings: { billing: { computeWhileLost } },
    });
    await service.call('PUT /api/v0/asks/5/', { image: 'x' });
    service.advance(3600);
    await service.call('POST /sim/faults', { name: 'offline', host: 9, seconds: 3600 });
    service.advance(7200);
    return (await service.call('GET /sim/ledger')).body.dollars;
  };

  test('costs its full price by default', async () => expect(await cost(true)).toBeCloseTo(3, 6));
  test('bills only the disk of a lost machine when billing.computeWhileLost is off', async () =>
    expect(await cost(false)).toBeCloseTo(2, 6));
});
