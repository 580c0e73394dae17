import { expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../test/builders/simulated-service.ts';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';

const ONE_DAY = 86_400;

/** Returns a group that searches in vain at every tick: 8,640 searches per day. */
async function searchingInVain(msPerLook: number): Promise<SimulatedService> {
  const clock = createVirtualClock({ startMs: Date.UTC(2026, 0, 15, 12) });
  let looks = 0;
  const service = simulatedService({
    clock: {
      ...clock,
      monotonic: () => {
        looks += 1;
        return looks * msPerLook;
      },
    },
    catalog: [{ id: 1 }],
  });
  await service.call('PUT /api/v0/asks/1/', { image: 'x' });
  await service.call('POST /api/v0/endptjobs/', { endpoint_name: 'chat' });
  await service.call('POST /api/v0/workergroups/', { endpoint_name: 'chat', search_params: 'num_gpus>=9' });
  return service;
}

test('continues advancing the clock with the next call when one call is too short', async () => {
  const service = await searchingInVain(3000);
  const { body: before } = await service.call('GET /sim/clock');
  const pushed = await service.call('POST /sim/clock', { advanceSeconds: ONE_DAY });
  expect(pushed).toMatchObject({ status: 503, body: { error: 'catching_up', msg: /ask again/ } });
  expect((await service.call('GET /sim/clock')).status).toBe(200);
  expect((await service.call('GET /sim/clock')).body.now).toBe(before.now + ONE_DAY);
});

test('in how many calls the market catches up changes nothing', async () => {
  const [hasty, patient] = [await searchingInVain(3000), await searchingInVain(0)];
  for (const service of [hasty, patient]) {
    await service.call('POST /sim/clock', { advanceSeconds: ONE_DAY });
    while ((await service.call('GET /sim/ledger')).status !== 200);
  }
  expect((await hasty.call('GET /sim/ledger')).body).toEqual((await patient.call('GET /sim/ledger')).body);
});
