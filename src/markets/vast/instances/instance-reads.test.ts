import { describe, expect, test } from 'vitest';
import { answeringTransport, reply } from '../../../../test/builders/answering-transport.ts';
import { createVirtualClock } from '../../../../test/builders/virtual-clock.ts';
import { silentLogger } from '../../../lib/logger.ts';
import { seededRandom } from '../../../lib/random.ts';
import { Secret } from '../../../lib/secret.ts';
import { createPacer } from '../../../market/pacing.ts';
import { createMarketplaceClient } from '../client.ts';

/** Returns the result of the read of machine 5 for this reply of the service. */
function read(status: number, body: unknown) {
  return clientOf(status, body).get('5');
}

function clientOf(status: number, body: unknown, headers: Record<string, string> = {}) {
  const clock = createVirtualClock();
  const { transport } = answeringTransport(reply(body, status, headers));
  const { instances } = createMarketplaceClient({
    baseUrl: 'https://market.example/',
    apiKey: new Secret('key'),
    transport,
    clock,
    random: seededRandom(1),
    log: silentLogger,
    pacer: createPacer({ clock, scale: 0 }),
    limits: { readAttempts: 1 },
  });
  return instances;
}

describe('the read of one machine', () => {
  test('is the machine where the service names it', async () => {
    expect(await read(200, { instances: { id: 5, actual_status: 'running' } })).toMatchObject({ id: '5' });
  });

  test.each([
    ['names none', 200, { instances: null }],
    ['says that there is none', 404, { success: false, error: 'no_such_instance', msg: 'no such instance' }],
  ])('is nothing where the service %s', async (_, status, body) => {
    expect(await read(status, body)).toBeNull();
  });

  test.each([
    ['refuses the key', 401, 'unauthorized'],
    ['does not let the key read', 403, 'forbidden'],
    ['fails', 500, 'unavailable'],
  ])('says nothing about the machine where the service %s', async (_, status, kind) => {
    await expect(read(status, { success: false, error: 'x', msg: 'm' })).rejects.toMatchObject({ kind });
  });
});

test.each(['list', 'page', 'get'] as const)(
  'a %s from a cache is refused: it shows what was before (H2)',
  async (call) => {
    const none =
      call === 'get' ? { instances: null } : { instances: [], instances_found: 0, next_token: null };
    const ask = (age: string) => clientOf(200, none, { age })[call](5 as never);
    await expect(ask('1')).rejects.toMatchObject({ kind: 'malformedReply' });
    await expect(ask('0')).resolves.not.toThrow();
  },
);
