import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { answeringTransport, reply, response } from '../../../../test/builders/answering-transport.ts';
import { createVirtualClock } from '../../../../test/builders/virtual-clock.ts';
import { silentLogger } from '../../../lib/logger.ts';
import { seededRandom } from '../../../lib/random.ts';
import { Secret } from '../../../lib/secret.ts';
import { MarketplaceError } from '../../../market/errors.ts';
import { createPacer } from '../../../market/pacing.ts';
import { createMarketplaceClient } from '../client.ts';
import { ListBody } from './reply-body.ts';

/** Returns the list of instances of a reply with this body, or its error. */
async function listed(body: unknown, status = 200) {
  const clock = createVirtualClock();
  const client = createMarketplaceClient({
    baseUrl: 'https://market.example/',
    apiKey: new Secret('k'),
    transport: answeringTransport(reply(body, status)).transport,
    clock,
    random: seededRandom(1),
    log: silentLogger,
    pacer: createPacer({ clock, scale: 0 }),
    limits: { readAttempts: 1, maxReplyBytes: 400 },
  });
  try {
    const { instances } = await client.instances.list();
    return instances.map(({ id }) => id);
  } catch (error) {
    if (!(error instanceof MarketplaceError)) throw error;
    return { kind: error.kind, message: error.message };
  }
}

const row = (id: number) => ({ id, actual_status: 'running', label: 'a "instances":[{ } ]' });

describe('a list that is read row by row', () => {
  test('gives its rows in order, wherever the count is', async () => {
    expect(await listed({ instances_found: 2, instances: [row(2), row(1)] })).toEqual(['2', '1']);
    expect(await listed({ instances: [row(2), row(1)], instances_found: 2 })).toEqual(['2', '1']);
    expect(await listed({ instances: [], instances_found: 0 })).toEqual([]);
  });

  test.for<[string, unknown, string]>([
    ['a row without an id', { instances_found: 1, instances: [{ label: 'x' }] }, '"instances.0.id"'],
    ['a later row that is wrong', { instances_found: 2, instances: [row(1), {}] }, '"instances.1.id"'],
    [
      'a number instead of a row',
      { instances_found: 2, instances: [row(1), 7] },
      'a value that is not an object',
    ],
    ['no list', { instances_found: 0 }, '"instances"'],
    ['an object instead of a list', { instances_found: 1, instances: row(1) }, '"instances"'],
    ['a list under an escaped name', '{"instances_found":1,"inst\\u0061nces":[{"id":1}]}', '"instances.0"'],
    ['a row that is no JSON', '{"instances_found":1,"instances":[{"id":tru}]}', 'it is not JSON'],
    ['a reply that breaks off', '{"instances_found":1,"instances":[{"id":1}', 'it breaks off'],
    ['a page of HTML', '<html></html>', 'it is not JSON'],
    ['nothing', '', 'it breaks off'],
    ['the list twice', '{"instances_found":2,"instances":[{"id":1}],"instances":[{"id":2}]}', 'twice'],
    [
      'a count that does not fit',
      { instances_found: 3, instances: [row(1)] },
      'names 3 instances but contains 1',
    ],
    [
      'more bytes than are taken',
      { instances_found: 1, instances: [{ ...row(1), filler: 'x'.repeat(900) }] },
      '',
    ],
  ])('%s is believed in no part', async ([, body, why]) => {
    const outcome = await listed(body);
    expect(outcome).toMatchObject({ kind: 'malformedReply' });
    expect(outcome).toMatchObject({ message: expect.stringContaining(why) });
  });

  const filled = (id: number, bytes: number) => ({ id, extra_env: 'x'.repeat(bytes) });

  test('counts only what is kept of rows that carry long environments (H4)', async () => {
    const body = (count: number) => ({
      instances_found: count,
      instances: Array.from({ length: count }, (_, at) => filled(at + 1, 300)),
    });
    const list = new ListBody({ key: 'instances', row: z.object({ id: z.number() }) });
    const bound = { maxBytes: 400, clock: createVirtualClock() };
    const read = (list: ListBody<{ id: number }>, count: number) =>
      list.read({ ...response(''), body: chunks([Buffer.from(JSON.stringify(body(count)))]) }, bound);
    await read(list, 10);
    expect(list.rows.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const endless = new ListBody({ key: 'instances', row: z.object({ id: z.number() }) });
    await expect(read(endless, 1000)).rejects.toThrow('longer than');
  });

  test('a row that is not UTF-8 is believed in no part', async () => {
    const head = Buffer.from('{"instances_found":1,"instances":[{"id":1,"label":"');
    const body = Buffer.concat([head, Buffer.from([0xff, 0xfe]), Buffer.from('"}]}')]);
    expect(await listed(body)).toMatchObject({ kind: 'malformedReply' });
  });

  test('reports a refusal as such, also with success false under 200', async () => {
    expect(await listed({ error: 'auth_error', msg: 'Invalid user key' }, 401)).toMatchObject({
      kind: 'unauthorized',
    });
    expect(await listed({ success: false, instances: [], error: 'auth_error' })).toMatchObject({
      kind: expect.not.stringMatching('malformedReply'),
    });
  });

  test('lets the rest of the process have its turn while it is long', async () => {
    const clock = createVirtualClock();
    const parts = ['{"instances":[', ' '.repeat(512 * 1024), '{"id":7}]}'].map((part) => Buffer.from(part));
    const list = new ListBody({ key: 'instances', row: z.object({ id: z.number() }) });
    const reading = list.read({ ...response(''), body: chunks(parts) }, { maxBytes: 1024 * 1024, clock });
    await clock.settle();
    expect({ rows: list.rows, turnIn: clock.nextTimerMs() }).toEqual({ rows: [], turnIn: 0 });
    await clock.advance(0);
    expect(await reading).toEqual({ body: expect.stringMatching(/^\{"instances":\[ *\]\}$/) });
    expect(list.rows).toEqual([{ id: 7 }]);
  });
});

async function* chunks(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}
