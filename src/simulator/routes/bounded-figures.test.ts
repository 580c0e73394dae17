import { expect, test } from 'vitest';
import { simulatedService } from '../../../test/builders/simulated-service.ts';

const service = simulatedService({ catalog: [{ id: 1, machineId: 7 }] });

test.each([
  ['price_disk', 'POST /api/v0/volumes/', { machine: 7, size: 100, price_disk: 1e308 }],
  ['price_disk', 'POST /api/v0/volumes/', { machine: 7, size: 100, price_disk: -0.1 }],
  ['size', 'POST /api/v0/volumes/', { machine: 7, size: 1e308 }],
  ['size', 'POST /api/v0/volumes/', { machine: 7, size: 0.5 }],
  ['end_date', 'POST /api/v0/volumes/', { machine: 7, end_date: 1e308 }],
  ['min_load', 'POST /api/v0/endptjobs/', { endpoint_name: 'chat', min_load: 1e308 }],
  ['cold_mult', 'POST /api/v0/endptjobs/', { endpoint_name: 'chat', cold_mult: 1e308 }],
  ['seconds', 'POST /sim/faults', { name: 'slow-pull', seconds: 1e308 }],
  ['seconds', 'POST /sim/faults', { name: 'slow-pull', seconds: -1 }],
] as const)('a %s that no sum can hold is refused: %s %o', async (field, spec, body) => {
  const answered = await service.call(spec, body);
  expect(answered.status).toBe(400);
  expect(answered.body.msg).toMatch(new RegExp(`^${field} must be a number from \\S+ to \\S+\\.$`));
});

test('the work of a request to a worker has a bound, too', async () => {
  await service.call('POST /api/v0/endptjobs/', { endpoint_name: 'chat' });
  const { status, body } = await service.call('POST /route/', { endpoint: 'chat', cost: 1e308 });
  expect({ status, msg: body.msg }).toEqual({
    status: 400,
    msg: 'cost must be a number from 0 to 1000000000000.',
  });
});

test('keeps credit finite when the most expensive disk is rented', async () => {
  const dear = simulatedService({ catalog: [{ id: 1, machineId: 7 }] });
  const listed = { machine: 7, size: 1e6, price_disk: 1000 };
  const { body } = await dear.call('POST /api/v0/volumes/', listed);
  await dear.call('PUT /api/v0/asks/1/', { image: 'x' });
  expect((await dear.call('PUT /api/v0/volumes/', { id: body.id, size: 1e6 })).status).toBe(200);
  dear.advance(3600);
  expect((await dear.call('GET /api/v0/users/current')).body.credit).toBeLessThan(-1e6);
  expect((await dear.call('GET /api/v0/instances/')).body.instances[0].actual_status).toBe('stopped');
});
