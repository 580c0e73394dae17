import { describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../../test/builders/simulated-service.ts';
import type { Settings } from '../settings.ts';

const limited = (pauses: Partial<Settings['pauses']> = {}): SimulatedService =>
  simulatedService({ catalog: 5, settings: { pauses: { scale: 1, ...pauses } } });

describe('rate limits', () => {
  test.each([
    ['GET /api/v0/instances/', 1],
    ['GET /api/v0/instances/7/', 2],
    ['DELETE /api/v0/instances/7/', 3],
    ['PUT /api/v0/instances/7/', 1],
    ['PUT /api/v0/asks/7/', 4.5],
  ])('%s needs a pause of %d s', async (spec, seconds) => {
    const service = limited();
    const pace = async (): Promise<boolean> => (await service.call(spec, {})).status !== 429;
    expect(await pace()).toBe(true);
    expect(await pace(), 'at once').toBe(false);
    service.advance(seconds - 0.1);
    expect(await pace(), 'a little early').toBe(false);
    service.advance(0.2);
    expect(await pace(), 'a refused call does not start the pause anew').toBe(true);
  });

  test('takes ten searches within a minute, in any order, and an eleventh when the first is a minute old', async () => {
    const service = limited();
    const search = async () => (await service.call('POST /api/v0/bundles/', {})).status !== 429;
    for (let count = 0; count < 5; count += 1) expect(await search(), 'a burst').toBe(true);
    service.advance(30);
    for (let count = 0; count < 5; count += 1) expect(await search(), 'the rest').toBe(true);
    service.advance(29.9);
    expect(await search(), 'the eleventh').toBe(false);
    service.advance(0.2);
    expect(await search(), 'a minute after the first').toBe(true);
  });

  test('of plain text, without Retry-After', async () => {
    const service = limited();
    await service.call('GET /api/v0/instances/');
    const reply = await service.call('GET /api/v0/instances/');
    expect(reply.body).toMatch(/^API requests too frequent/);
    expect(reply.headers['content-type']).toBe('text/plain');
    expect(reply.headers).not.toHaveProperty('retry-after');
  });

  test('of JSON with error and msg in the specification profile', async () => {
    const service = simulatedService({ profile: 'specification', settings: { pauses: { scale: 1 } } });
    await service.call('GET /api/v0/instances/');
    expect(await service.call('GET /api/v0/instances/')).toMatchObject({
      status: 429,
      body: { error: expect.any(String), msg: expect.stringMatching(/^API requests too frequent/) },
    });
  });

  test('of JSON with detail and msg when asked for', async () => {
    const service = limited({ body: 'json' });
    await service.call('GET /api/v0/instances/');
    expect((await service.call('GET /api/v0/instances/')).body).toMatchObject({
      detail: expect.any(String),
      msg: expect.any(String),
    });
  });

  test('count per key and per endpoint', async () => {
    const service = limited();
    const other = service.addKey({});
    await service.call('GET /api/v0/instances/');
    expect((await service.call('GET /api/v0/instances/', undefined, { key: other })).status).toBe(200);
    expect((await service.call('GET /api/v0/users/current')).status).toBe(200);
  });

  test('can be scaled and switched off', async () => {
    const scaled = limited({ scale: 0.1 });
    await scaled.call('GET /api/v0/instances/');
    scaled.advance(0.15);
    expect((await scaled.call('GET /api/v0/instances/')).status).toBe(200);
    const off = limited({ scale: 0 });
    for (let call = 0; call < 5; call += 1)
      expect((await off.call('GET /api/v0/instances/')).status).toBe(200);
  });

  test('a quota of searches renews at midnight UTC', async () => {
    const service = limited({ searchesPerDay: 2, search: 0 });
    await service.call('POST /api/v0/bundles/', {});
    await service.call('POST /api/v0/bundles/', {});
    const reply = await service.call('POST /api/v0/bundles/', {});
    expect(reply).toMatchObject({ status: 429, body: { error: 'search_quota_exceeded' } });
    expect(Number(reply.headers['x-ratelimit-reset']) % 86_400).toBe(0);
    service.advance(86_400);
    expect((await service.call('POST /api/v0/bundles/', {})).status).toBe(200);
  });
});
