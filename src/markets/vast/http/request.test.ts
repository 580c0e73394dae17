import { describe, expect, test } from 'vitest';
import {
  answeringTransport,
  reply,
  response,
  type Script,
  silence,
} from '../../../../test/builders/answering-transport.ts';
import { createVirtualClock, type VirtualClock } from '../../../../test/builders/virtual-clock.ts';
import { type LogFields, type Logger, silentLogger } from '../../../lib/logger.ts';
import { seededRandom } from '../../../lib/random.ts';
import { Secret } from '../../../lib/secret.ts';
import { TransportError } from '../../../lib/transport.ts';
import type { MarketplaceError } from '../../../market/errors.ts';
import { createPacer } from '../../../market/pacing.ts';
import { type ClientLimits, createMarketplaceClient } from '../client.ts';
import type { GoodReply } from './call.ts';

const KEY = 'canary-key-7f3a';

function setUp(
  scripts: Script[],
  {
    limits,
    log,
    ...more
  }: { limits?: ClientLimits; log?: Logger; onGoodReply?: (reply: GoodReply) => void } = {},
) {
  const clock = createVirtualClock();
  const network = answeringTransport(...scripts);
  const pacer = createPacer({ clock, scale: 0 });
  const client = createMarketplaceClient({
    baseUrl: 'https://market.example/',
    apiKey: new Secret(KEY),
    transport: network.transport,
    clock,
    random: seededRandom(1),
    log: log ?? silentLogger,
    pacer,
    ...(limits ? { limits } : {}),
    ...more,
  });
  return { client, clock, pacer, ...network };
}

async function failureOf(
  promise: Promise<unknown>,
  clock: VirtualClock,
  ms = 300_000,
): Promise<MarketplaceError> {
  const caught = promise.then(
    () => undefined,
    (error: unknown) => error as MarketplaceError,
  );
  await clock.advance(ms);
  const error = await caught;
  if (!error) throw new Error('the call did not fail');
  return error;
}

const rent = (client: ReturnType<typeof setUp>['client']) =>
  client.instances.rent('7', { image: 'busybox' }, { deadlineMs: 30_000 });

const lost =
  (sent: boolean): Script =>
  () => {
    throw new TransportError('reset', { sent });
  };

test('reports good replies only, with their area and effect (H2)', async () => {
  const heard: GoodReply[] = [];
  const date = 'Fri, 20 Nov 2026 12:00:00 GMT';
  const scripts = [
    reply({ error: 'boom', msg: 'x' }, 502, { date }),
    reply('upstream away', 200, { date }),
    reply({ success: false, error: 'x', msg: 'm' }, 200, { date }),
    reply({ instances: [], instances_found: 0 }, 200, { date }),
  ];
  const { client } = setUp(scripts, {
    limits: { readAttempts: 1 },
    onGoodReply: (good) => heard.push(good),
  });
  for (const _ of scripts) await client.instances.list().catch(() => {});
  expect(heard).toMatchObject([{ area: 'instances', effect: 'read', headers: { date } }]);
});

describe('a read', () => {
  const user = reply({ id: 5, credit: '12.5' });

  test('carries the key, follows the base address, and turns wire names into ours', async () => {
    const { client, requests } = setUp([user]);
    expect(await client.users.current()).toMatchObject({ id: '5', credit: 12_500_000 });
    expect(requests[0]).toMatchObject({
      method: 'GET',
      origin: 'https://market.example',
      path: '/api/v0/users/current/',
      headers: { authorization: `Bearer ${KEY}` },
    });
  });

  const mended: readonly [string, Script][] = [
    ['a lost connection', lost(true)],
    ['a refused connection', lost(false)],
    ['a 500', reply({ error: 'boom', msg: 'x' }, 500)],
    ['a 503 with text', reply('upstream away', 503)],
    ['a 429 in plain text', reply('API requests too frequent', 429)],
    ['a 429 with detail and Retry-After', reply({ detail: 'slow down' }, 429, { 'retry-after': '2' })],
    ['a reply that is cut', reply('{"id": 5')],
    ['a reply that is not UTF-8', () => ({ ...response(''), body: bytes(Uint8Array.of(0xff, 0xfe)) })],
    ['silence', silence],
  ];
  test.each(mended)('is repeated after %s', async (_, script) => {
    const { client, clock, requests } = setUp([script, user]);
    const current = client.users.current();
    await clock.advance(60_000);
    expect((await current).id).toBe('5');
    expect(requests).toHaveLength(2);
  });

  const final: readonly [string, Script, Partial<MarketplaceError>][] = [
    ['a 401', reply({ msg: 'Invalid user key' }, 401), { kind: 'unauthorized' }],
    ['a 404 that is a bad key', reply({ msg: 'Invalid user key' }, 404), { kind: 'unauthorized' }],
    [
      'an ended session',
      reply({ msg: 'Session expired. Please log in again.' }, 404),
      { kind: 'sessionExpired' },
    ],
    [
      'the wish for a second factor',
      reply({ msg: 'Two Factor Authentication needed' }, 401),
      { kind: 'twoFactorRequired' },
    ],
    ['a 403', reply({ error: 'nope', msg: 'no' }, 403), { kind: 'forbidden', code: 'nope' }],
    ['a redirect', reply('', 302, { location: 'http://169.254.169.254/' }), { kind: 'redirected' }],
    [
      'a 400',
      reply({ error: 'bad_request', msg: 'x' }, 400),
      { kind: 'invalidRequest', code: 'bad_request' },
    ],
    ['success: false', reply({ success: false, msg: 'no' }), { kind: 'refused', status: 200 }],
  ];
  test.each(final)('is not repeated after %s', async (_, script, expected) => {
    const { client, clock, requests } = setUp([script]);
    expect(await failureOf(client.users.current(), clock)).toMatchObject({ ...expected, outcome: 'refused' });
    expect(requests).toHaveLength(1);
  });

  test('is given up after three attempts', async () => {
    const { client, clock, requests } = setUp([reply('', 502)]);
    expect(await failureOf(client.users.current(), clock)).toMatchObject({
      kind: 'unavailable',
      status: 502,
    });
    expect(requests).toHaveLength(3);
  });

  test('rests no longer than five seconds between two attempts, however many there are', async () => {
    const { client, clock, requests } = setUp([reply('', 502)], { limits: { readAttempts: 12 } });
    const error = await failureOf(client.users.current(), clock, 11 * 5_000);
    expect(error).toMatchObject({ kind: 'unavailable' });
    expect(requests).toHaveLength(12);
  });

  test('ends at its whole deadline, whatever is tried in between', async () => {
    const { client, clock, requests } = setUp([silence]);
    const error = await failureOf(client.users.current({ deadlineMs: 1_000 }), clock, 1_000);
    expect(error).toMatchObject({ kind: 'timeout' });
    expect(requests).toHaveLength(1);
  });

  test('is cut at the byte cap', async () => {
    const { client, clock } = setUp([reply({ id: 5, filler: 'x'.repeat(2_000) })], {
      limits: { maxReplyBytes: 1_000, readAttempts: 1 },
    });
    expect(await failureOf(client.users.current(), clock)).toMatchObject({ kind: 'malformedReply' });
  });

  test('is cut at 32 MiB by default', async () => {
    const filler = Buffer.alloc(1024 * 1024, 32);
    const parts = [Buffer.from('{"id": 5'), ...Array.from({ length: 32 }, () => filler), Buffer.from('}')];
    const { client, clock } = setUp([() => ({ ...response(''), body: bytes(...parts) })], {
      limits: { readAttempts: 1 },
    });
    expect(await failureOf(client.users.current(), clock)).toMatchObject({ kind: 'malformedReply' });
  });

  test('ends at once when its caller gives up', async () => {
    const { client, clock } = setUp([silence]);
    const giveUp = new AbortController();
    const current = client.users.current({ signal: giveUp.signal });
    await clock.settle();
    giveUp.abort();
    expect(await failureOf(current, clock, 0)).toMatchObject({ kind: 'aborted', outcome: 'refused' });
  });

  test('ends at once when its caller gives up between two attempts, and nothing more is sent', async () => {
    const { client, clock, requests } = setUp([reply('', 502)]);
    const giveUp = new AbortController();
    const current = client.users.current({ signal: giveUp.signal });
    await clock.settle();
    giveUp.abort();
    expect(await failureOf(current, clock, 0)).toMatchObject({ kind: 'aborted', outcome: 'refused' });
    expect(requests).toHaveLength(1);
  });

  test('whose reply cannot be used changed nothing', async () => {
    const { client, clock } = setUp([reply('{"id"')], { limits: { readAttempts: 1 } });
    expect(await failureOf(client.users.current(), clock)).toMatchObject({
      kind: 'malformedReply',
      outcome: 'refused',
    });
  });

  test('names a content type where it has a body, and only there', async () => {
    const { client, requests } = setUp([user, reply({ offers: [] })]);
    await client.users.current();
    await client.offers.search({ filters: [], pricing: 'on-demand', storageGB: 5 });
    expect(requests.map(({ headers }) => headers['content-type'])).toEqual([undefined, 'application/json']);
  });

  test.each([
    ['a 429 in plain text', reply('API requests too frequent: {list', 429), { kind: 'throttled' }],
    ['a 503 with a page', reply('<html>away</html>', 503), { kind: 'unavailable' }],
    ['a 401', reply({ msg: 'Invalid user key' }, 401), { kind: 'unauthorized' }],
    ['a 410', reply({ msg: 'use v1' }, 410), { kind: 'gone' }],
  ] as const)('of a list has the meaning of %s, as any other', async (_, script, expected) => {
    const { client, clock } = setUp([script], { limits: { readAttempts: 1 } });
    expect(await failureOf(client.instances.list(), clock)).toMatchObject(expected);
  });

  test('leaves no timer behind', async () => {
    const { client, clock } = setUp([user]);
    await client.users.current();
    expect(clock.nextTimerMs()).toBeUndefined();
  });
});

describe('a search', () => {
  test('is not repeated when the daily quota is used up, and says when it renews', async () => {
    const { client, clock, requests } = setUp([
      reply({ error: 'search_quota_exceeded', msg: 'x' }, 429, {
        date: 'Tue, 14 Nov 2023 22:13:20 GMT',
        'x-ratelimit-reset': '1700000600',
      }),
    ]);
    const error = await failureOf(client.offers.search({ filters: [] }), clock);
    expect(error).toMatchObject({ kind: 'quotaExceeded', retryAfterMs: 600_000 });
    expect(requests).toHaveLength(1);
  });

  test('scenario 12: joins filters of one field, sends no default, and leaves a broken row out', async () => {
    const { client, requests } = setUp([
      reply({
        offers: [
          { id: '9', dph_total: '0.5', odd: { a: 1 } },
          { id: null },
          'junk',
          { id: 3, num_gpus: 1.5 },
        ],
      }),
    ]);
    const offers = await client.offers.search({
      filters: [
        { field: 'num_gpus', operator: 'gte', value: 1 },
        { field: 'num_gpus', operator: 'lt', value: 4 },
      ],
      order: [{ field: 'dph_total', direction: 'asc' }],
      pricing: 'bid',
      limit: 64,
      storageGB: 20,
    });
    expect(JSON.parse(requests[0]?.body ?? '')).toEqual({
      num_gpus: { gte: 1, lt: 4 },
      order: [['dph_total', 'asc']],
      type: 'bid',
      limit: 64,
      allocated_storage: 20,
    });
    expect(offers).toMatchObject([
      { id: '9', pricePerHour: 500_000 },
      { id: '3', gpuCount: undefined },
    ]);
  });
});

describe('a rent', () => {
  test('names the machine, hides its key, and says when the service answered', async () => {
    const { client, requests } = setUp([
      reply({ success: true, new_contract: 70, instance_api_key: 'restricted-1' }, 200, {
        date: 'Tue, 14 Nov 2023 22:13:20 GMT',
      }),
    ]);
    const answer = await client.instances.rent(
      '7',
      {
        image: 'busybox',
        diskGB: 16,
        label: 'mine',
        env: { TZ: 'UTC' },
        ports: [
          { port: 8080, protocol: 'tcp' },
          { port: 53, protocol: 'udp' },
        ],
        bidPerHour: 250_000,
        cancelUnavailable: true,
      },
      { deadlineMs: 30_000 },
    );
    expect(answer).toMatchObject({ instanceId: '70', answeredAt: 1_700_000_000_000 });
    expect(JSON.stringify(answer)).not.toContain('restricted-1');
    expect(answer.instanceApiKey?.reveal()).toBe('restricted-1');
    expect(requests[0]).toMatchObject({ method: 'PUT', path: '/api/v0/asks/7/' });
    expect(JSON.parse(requests[0]?.body ?? '')).toEqual({
      image: 'busybox',
      disk: 16,
      label: 'mine',
      env: { TZ: 'UTC', '-p 8080:8080': '1', '-p 53:53/udp': '1' },
      price: 0.25,
      cancel_unavail: true,
    });
  });

  const outcomes: readonly [string, Script, Partial<MarketplaceError>][] = [
    ['nothing was sent', lost(false), { kind: 'unavailable', outcome: 'refused' }],
    ['scenarios 3 and 5: the connection was lost', lost(true), { kind: 'unavailable', outcome: 'unknown' }],
    ['scenario 4: no answer came in time', silence, { kind: 'timeout', outcome: 'unknown' }],
    [
      'scenario 7: the offer was taken, 410',
      reply({ success: false, error: 'no_such_ask', msg: 'x' }, 410),
      { kind: 'offerGone', outcome: 'refused' },
    ],
    [
      'scenario 7: the offer was taken, 404',
      reply(
        { error: 'invalid_args', ask_id: 7, msg: 'error 404/3603: no_such_ask Instance type by id 7' },
        404,
      ),
      { kind: 'offerGone', outcome: 'refused' },
    ],
    [
      'the offer was taken, said with 200',
      reply({ success: false, error: 'no_such_ask', msg: 'x' }),
      { kind: 'offerGone', outcome: 'refused' },
    ],
    [
      'scenario 8: success is false',
      reply({ success: false, msg: 'x' }),
      { kind: 'refused', outcome: 'unknown' },
    ],
    [
      'scenario 6: a 400 may hide a machine',
      reply({ error: 'invalid_args', msg: 'x' }, 400),
      { kind: 'invalidRequest', outcome: 'unknown' },
    ],
    [
      'scenario 6: a failure names a machine',
      reply({ error: 'oops', msg: 'x', new_contract: 71 }, 500),
      { kind: 'unavailable', outcome: 'unknown', instanceId: '71' },
    ],
    ['a 500', reply('boom', 500), { kind: 'unavailable', outcome: 'unknown' }],
    ['a 404 without the words of a gone offer', reply('', 404), { kind: 'notFound', outcome: 'unknown' }],
    ['a 410 without them', reply('', 410), { kind: 'gone', outcome: 'unknown' }],
    ['success without a machine', reply({ success: true }), { kind: 'malformedReply', outcome: 'unknown' }],
    ['a cut reply', reply('{"success": true, "new_con'), { kind: 'malformedReply', outcome: 'unknown' }],
    ['the key is refused', reply({ msg: 'no' }, 401), { kind: 'unauthorized', outcome: 'refused' }],
    ['too many requests', reply('API requests too frequent', 429), { kind: 'throttled', outcome: 'refused' }],
  ];
  test.each(outcomes)(
    '%s: what is certain is said, and nothing is sent twice',
    async (_, script, expected) => {
      const { client, clock, requests } = setUp([script]);
      expect(await failureOf(rent(client), clock)).toMatchObject(expected);
      expect(requests).toHaveLength(1);
    },
  );

  test('scenario 58: is not sent after its time by the wall clock, although the monotonic one stood still', async () => {
    const { client, clock, pacer, requests } = setUp([reply({ success: true, new_contract: 70 })]);
    pacer.slowDown('rent', 5_000);
    const late = rent(client);
    clock.jumpWallClock(60_000);
    expect(await failureOf(late, clock)).toMatchObject({ kind: 'timeout', outcome: 'refused' });
    expect(requests).toHaveLength(0);
  });

  test('is not sent at all when its place does not come within its deadline', async () => {
    const { client, clock, pacer, requests } = setUp([reply({ success: true, new_contract: 70 })]);
    pacer.slowDown('rent', 60_000);
    expect(await failureOf(rent(client), clock)).toMatchObject({ kind: 'throttled', outcome: 'refused' });
    expect(requests).toHaveLength(0);
  });
});

describe('other writes', () => {
  test.each([
    ['a 400', reply({ error: 'x', msg: 'x' }, 400), 'refused'],
    ['a 404', reply({ error: 'no_such_instance', msg: 'x' }, 404), 'refused'],
    ['a 502', reply('', 502), 'unknown'],
    ['success: false', reply({ success: false, msg: 'x' }), 'unknown'],
    ['a lost connection', lost(true), 'unknown'],
    ['no connection', lost(false), 'refused'],
  ] as const)('are sent once and are %s → %s', async (_, script, outcome) => {
    const { client, clock, requests } = setUp([script]);
    expect(await failureOf(client.instances.destroy('4'), clock)).toMatchObject({ outcome });
    expect(requests).toHaveLength(1);
  });

  test('a destroy carries a body and answers the time of the service', async () => {
    const { client, requests } = setUp([
      reply({ success: true }, 200, { date: 'Tue, 14 Nov 2023 22:13:20 GMT' }),
    ]);
    expect((await client.instances.destroy('4')).answeredAt).toBe(1_700_000_000_000);
    expect(requests[0]).toMatchObject({ method: 'DELETE', path: '/api/v0/instances/4/', body: '{}' });
  });

  test('an id that is none never reaches an address', async () => {
    const { client, requests } = setUp([reply({})]);
    for (const id of ['1.5', '-1', '', '01', 'a1', '../1', '9007199254740993']) {
      const refused = { kind: 'invalidRequest', outcome: 'refused' };
      await expect(client.instances.destroy(id)).rejects.toMatchObject(refused);
    }
    expect(requests).toHaveLength(0);
  });
});

describe('no secret leaves by another way', () => {
  test('neither errors nor logs contain the key or upstream text', async () => {
    const lines: string[] = [];
    const write = (message: string, fields?: LogFields) => lines.push(message + JSON.stringify(fields));
    const log: Logger = { debug: write, info: write, warn: write, error: write, child: () => log };
    const { client, clock } = setUp([reply({ error: 'evil code', msg: `<script>${KEY}` }, 403)], { log });
    const error = await failureOf(client.users.current(), clock);
    expect(lines.length).toBeGreaterThan(0);
    expect(`${lines.join('')}${error.message}${error.code ?? ''}`).not.toMatch(/canary|script|evil/);
  });

  test('a base address with credentials, a query or another scheme is refused', () => {
    for (const baseUrl of [
      'https://u:p@market.example',
      'ftp://market.example',
      'https://market.example?x=1',
      'x',
    ]) {
      expect(() =>
        createMarketplaceClient({
          baseUrl,
          apiKey: new Secret(KEY),
          transport: answeringTransport().transport,
          clock: createVirtualClock(),
          random: seededRandom(1),
          log: silentLogger,
          pacer: createPacer({ clock: createVirtualClock() }),
        }),
      ).toThrow(/base URL must/);
    }
  });
});

async function* bytes(...parts: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

describe('the place of a call', () => {
  const user = reply({ id: 5 });

  test('is given back when it ends, well or not, so that as many calls as may be follow', async () => {
    const clock = createVirtualClock();
    const { transport, requests } = answeringTransport(lost(false), user);
    const client = createMarketplaceClient({
      baseUrl: 'https://market.example/',
      apiKey: new Secret(KEY),
      transport,
      clock,
      random: seededRandom(1),
      log: silentLogger,
      pacer: createPacer({ clock, scale: 0, maxInFlight: 1 }),
      limits: { readAttempts: 1 },
    });
    await failureOf(client.users.current(), clock, 0);
    for (let call = 0; call < 3; call += 1) await client.users.current();
    expect(requests).toHaveLength(4);
  });

  /** Returns a paced client and its limiter. */
  function paced(...scripts: Script[]) {
    const clock = createVirtualClock();
    const { transport, requests } = answeringTransport(...scripts);
    const pacer = createPacer({ clock });
    const client = createMarketplaceClient({
      baseUrl: 'https://market.example/',
      apiKey: new Secret(KEY),
      transport,
      clock,
      random: seededRandom(1),
      log: silentLogger,
      pacer,
    });
    return { clock, requests, pacer, client };
  }
  const rented = reply({ success: true, new_contract: 9 });
  const image = { image: 'busybox' };

  test('that was kept for a rental is used by it, without waiting', async () => {
    const { clock, requests, pacer, client } = paced(rented);
    const slot = pacer.reserve('rent', 5_000);
    const renting = client.instances.rent('7', image, { deadlineMs: 30_000, slot });
    await clock.advance(0);
    expect(requests).toHaveLength(1);
    expect(await renting).toMatchObject({ instanceId: '9' });
  });

  test('is waited for no longer than its caller wants, and nothing was sent', async () => {
    const { clock, requests, client } = paced(rented);
    await client.instances.rent('7', image, { deadlineMs: 30_000 });
    const caller = new AbortController();
    const second = client.instances.rent('8', image, { deadlineMs: 30_000, signal: caller.signal });
    caller.abort(new Error('enough'));
    const error = await failureOf(second, clock, 0);
    expect(error).toMatchObject({ kind: 'aborted', outcome: 'refused' });
    expect(requests).toHaveLength(1);
  });

  test('is not used where its caller took the call back while it waited', async () => {
    const { clock, requests, client } = paced(reply({ success: true }), reply({ success: true }));
    await client.instances.destroy('7');
    let isWanted = true;
    const second = client.instances.destroy('8', { mayLeave: () => isWanted });
    isWanted = false;
    expect(await failureOf(second, clock, 60_000)).toMatchObject({ kind: 'aborted', outcome: 'refused' });
    expect(requests).toHaveLength(1);
    await client.instances.destroy('9', { mayLeave: () => true });
    expect(requests).toHaveLength(2);
  });

  test('is not used where its caller cannot find out whether the call is still wanted', async () => {
    const { clock, requests, client } = paced(reply({ success: true }));
    const unknown = new Error('no answer');
    await expect(client.instances.destroy('7', { mayLeave: () => Promise.reject(unknown) })).rejects.toBe(
      unknown,
    );
    expect(requests).toEqual([]);
    const unwanted = client.instances.destroy('7', { mayLeave: async () => false });
    expect(await failureOf(unwanted, clock, 60_000)).toMatchObject({ kind: 'aborted', outcome: 'refused' });
    expect(requests).toEqual([]);
  });

  test('comes no later for a locked second factor, which says nothing about the pace of calls', async () => {
    const locked = reply({ error: 'tfa_locked', msg: 'x', fail_count: 5, locked_until: 9 }, 429);
    const { clock, pacer, client } = paced(locked, reply('API requests too frequent', 429));
    const login = () => client.tfa.login({ method: 'totp', code: '123456' });
    expect(await failureOf(login(), clock, 0)).toMatchObject({ kind: 'locked', code: 'tfa_locked' });
    expect(pacer.nextSlotMs('account')).toBe(0);
    expect(await failureOf(login(), clock, 0)).toMatchObject({ kind: 'throttled' });
    expect(pacer.nextSlotMs('account')).toBeGreaterThan(0);
  });

  test('comes later once the service asked for fewer calls', async () => {
    const { clock, pacer, client } = paced(reply('API requests too frequent', 429, { 'retry-after': '30' }));
    await failureOf(client.instances.rent('7', image, { deadlineMs: 30_000 }), clock, 0);
    expect(pacer.nextSlotMs('rent')).toBeGreaterThanOrEqual(30_000);
    expect(pacer.nextSlotMs('destroy')).toBe(0);
  });
});

test('a reply that is given up at its deadline gives up its connection', async () => {
  let destroyed = 0;
  const endless: Script = () => ({
    ...response(''),
    body: (async function* () {
      yield new Uint8Array(1);
      await new Promise(() => {});
    })(),
    destroy: () => {
      destroyed += 1;
    },
  });
  const { client, clock } = setUp([endless], { limits: { readAttempts: 1, attemptDeadlineMs: 1_000 } });
  expect(await failureOf(client.users.current(), clock, 1_000)).toMatchObject({ kind: 'timeout' });
  expect(destroyed).toBe(1);
});
