import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type LookupFunction } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type SelfSigned, selfSigned } from '../../../../test/builders/self-signed.ts';
import { until } from '../../../../test/builders/until.ts';
import { systemClock } from '../../../lib/clock.ts';
import { silentLogger } from '../../../lib/logger.ts';
import { seededRandom } from '../../../lib/random.ts';
import { Secret } from '../../../lib/secret.ts';
import type { Transport } from '../../../lib/transport.ts';
import { createPacer } from '../../../market/pacing.ts';
import { createMarketplaceClient } from '../client.ts';
import {
  bareHost,
  createAddressRules,
  createMarketplaceTransport,
  guardedConnector,
  type MarketplaceTransportOptions,
} from './transport.ts';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function serve(listener: RequestListener): Promise<{ url: string; server: Server }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

function transportWith(options: MarketplaceTransportOptions = {}): Transport {
  const transport = createMarketplaceTransport(options);
  open.push(() => transport.close());
  return transport;
}

interface Bounds extends MarketplaceTransportOptions {
  readonly maxReplyBytes?: number;
  readonly deadlineMs?: number;
}

function clientAt(
  baseUrl: string,
  { maxReplyBytes = 100_000, deadlineMs = 15_000, ...options }: Bounds = {},
) {
  const pacer = createPacer({ clock: systemClock, scale: 0 });
  return createMarketplaceClient({
    baseUrl,
    apiKey: new Secret('key'),
    transport: transportWith(options),
    clock: systemClock,
    random: seededRandom(1),
    log: silentLogger,
    pacer,
    limits: { maxReplyBytes, attemptDeadlineMs: deadlineMs, readAttempts: 1 },
  });
}

const rent = (client: ReturnType<typeof clientAt>) =>
  client.instances.rent('7', { image: 'i' }, { deadlineMs: 15_000 });

/** Counts the bytes that arrive, including the body. */
function counting(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const arrived: string[] = [];
  const listener: RequestListener = (request, response) => {
    arrived.push(`${request.method} ${request.url}`);
    request.resume().on('end', () => answer(request, response));
  };
  return { arrived, listener };
}

describe('a rent over a real socket', () => {
  test('scenario 3: that is reset after its effect is of unknown outcome and arrived exactly once', async () => {
    const { arrived, listener } = counting((request) => request.socket.destroy());
    const { url } = await serve(listener);
    await expect(rent(clientAt(url))).rejects.toMatchObject({ kind: 'unavailable', outcome: 'unknown' });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(arrived).toEqual(['PUT /api/v0/asks/7/']);
  });

  test('that is reset in the middle of the reply is of unknown outcome and arrived exactly once', async () => {
    const { arrived, listener } = counting((_, response) => {
      response.writeHead(200, { 'content-length': '500' });
      response.write('{"success": true, "new_', () => response.destroy());
    });
    const { url } = await serve(listener);
    await expect(rent(clientAt(url))).rejects.toMatchObject({ outcome: 'unknown' });
    expect(arrived).toHaveLength(1);
  });

  test('to a port without a listener is certainly without effect', async () => {
    const { url, server } = await serve(() => {});
    await new Promise((resolve) => server.close(resolve));
    await expect(rent(clientAt(url))).rejects.toMatchObject({ kind: 'unavailable', outcome: 'refused' });
  });

  test('that is answered 503 arrived exactly once', async () => {
    const { arrived, listener } = counting((_, response) => response.writeHead(503).end('busy'));
    const { url } = await serve(listener);
    await expect(rent(clientAt(url))).rejects.toMatchObject({ kind: 'unavailable', outcome: 'unknown' });
    expect(arrived).toHaveLength(1);
  });

  test('scenario 39: does not follow a redirect, whatever its form', async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      const { arrived, listener } = counting((_, response) =>
        response.writeHead(status, { location: '/elsewhere' }).end(),
      );
      const { url } = await serve(listener);
      await expect(rent(clientAt(url))).rejects.toMatchObject({ kind: 'redirected', status });
      expect(arrived).toHaveLength(1);
    }
  });
});

describe('a reply over a real socket', () => {
  const user = JSON.stringify({ id: 5, email: 'a@example.com' });

  test('is unpacked when it is compressed, also with a failing status', async () => {
    let status = 200;
    const { url } = await serve((_, response) =>
      response
        .writeHead(status, { 'content-encoding': 'gzip' })
        .end(gzipSync(status === 200 ? user : '{"error":"forbidden_thing","msg":"x"}')),
    );
    const client = clientAt(url);
    expect((await client.users.current()).id).toBe('5');
    status = 403;
    await expect(client.users.current()).rejects.toMatchObject({
      kind: 'forbidden',
      code: 'forbidden_thing',
    });
  });

  test('scenario 38: of one byte a second is cut at the deadline', async () => {
    const { url } = await serve((_, response) => {
      const drip = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(drip));
    });
    await expect(clientAt(url, { deadlineMs: 200 }).users.current()).rejects.toMatchObject({
      kind: 'timeout',
    });
  });

  test('scenario 38: that unpacks to far more than the cap is cut while it unpacks', async () => {
    let closed = false;
    // Each member alone unpacks to more than the cap, and takes little time to pack.
    const member = gzipSync(Buffer.alloc(50_000_000, 32), { level: 1 });
    const bomb = Buffer.concat([member, member, member, member]);
    const { url } = await serve((_, response) => {
      response.on('close', () => {
        closed = true;
      });
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
    });
    const before = process.memoryUsage().rss;
    await expect(clientAt(url).users.current()).rejects.toMatchObject({ kind: 'malformedReply' });
    expect(process.memoryUsage().rss - before).toBeLessThan(60_000_000);
    await until('the connection is closed', () => closed);
  });

  test('scenario 38: that never ends is cut at the cap', async () => {
    const { url } = await serve((_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, 32)));
      };
      response.on('drain', more);
      more();
    });
    await expect(clientAt(url).users.current()).rejects.toMatchObject({ kind: 'malformedReply' });
  });

  test('scenario 38: that is not UTF-8 is refused', async () => {
    const { url } = await serve((_, response) => response.end(Buffer.from([0x22, 0xc3, 0x28, 0x22])));
    await expect(clientAt(url).users.current()).rejects.toMatchObject({ kind: 'malformedReply' });
  });

  test.each([
    ['plain text', 'API requests too frequent: endpoint threshold=1.0', {}],
    ['JSON with detail', '{"detail":"slow down"}', {}],
    ['JSON with Retry-After', '{"success":false,"error":"too_many","msg":"x"}', { 'retry-after': '1' }],
    ['an empty body with a date', '', { 'retry-after': 'Fri, 31 Dec 2100 23:59:59 GMT' }],
  ])('scenario 36: of 429 as %s is throttling', async (_, body, headers) => {
    const { url } = await serve((_request, response) => response.writeHead(429, headers).end(body));
    await expect(clientAt(url).users.current()).rejects.toMatchObject({ kind: 'throttled', status: 429 });
  });
});

describe('certificates', () => {
  const DAY = 86_400_000;
  const valid = () =>
    selfSigned({ notBefore: new Date(Date.now() - DAY), notAfter: new Date(Date.now() + DAY) });
  const expired = () =>
    selfSigned({ notBefore: new Date(Date.now() - 9 * DAY), notAfter: new Date(Date.now() - DAY) });

  async function serveTls({ cert, key }: SelfSigned) {
    const arrived: string[] = [];
    const server = createTlsServer({ cert, key }, (request, response) => {
      arrived.push(request.url ?? '');
      response.end('{"success": true, "new_contract": 70}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, arrived };
  }

  test('that a trusted authority made are accepted', async () => {
    const made = valid();
    const { url } = await serveTls(made);
    expect((await rent(clientAt(url, { ca: made.cert }))).instanceId).toBe('70');
  });

  test.each([
    ['that nobody trusts', valid, false, /DEPTH_ZERO_SELF_SIGNED_CERT/],
    ['that have expired', expired, true, /CERT_HAS_EXPIRED/],
  ] as const)(
    'scenario 40: %s are refused before the request leaves, and the message says so',
    async (_, make, trusted, code) => {
      const made = make();
      const { url, arrived } = await serveTls(made);
      const client = clientAt(url, trusted ? { ca: made.cert } : {});
      await expect(rent(client)).rejects.toMatchObject({
        kind: 'unavailable',
        outcome: 'refused',
        code: expect.stringMatching(code),
        message: expect.stringMatching(/certificate of the service cannot be trusted/),
      });
      expect(arrived).toEqual([]);
    },
  );

  test('come with HTTP/1.1, where the server would rather speak another language', async () => {
    const made = valid();
    const offered: string[] = [];
    const server = createTlsServer(
      {
        ...made,
        ALPNCallback: ({ protocols }) => {
          offered.push(...protocols);
          return protocols.at(-1);
        },
      },
      (_, response) => response.end('{"success": true, "new_contract": 70}'),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push(() => new Promise((resolve) => server.close(resolve)));
    const { port } = server.address() as AddressInfo;
    expect((await rent(clientAt(`https://127.0.0.1:${port}`, { ca: made.cert }))).instanceId).toBe('70');
    expect(offered).toEqual(['http/1.1']);
  });

  test('that never come are not waited for, and nothing was sent', async () => {
    const peers: { destroy(): void }[] = [];
    const server = createTcpServer((peer) => peers.push(peer));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push(async () => {
      for (const peer of peers) peer.destroy();
      await new Promise((resolve) => server.close(resolve));
    });
    const { port } = server.address() as AddressInfo;
    const asking = transportWith({ connectTimeoutMs: 20 })({
      method: 'GET',
      origin: `https://127.0.0.1:${port}`,
      path: '/',
      headers: {},
    });
    await expect(asking).rejects.toMatchObject({ sent: false });
  });

  test('are looked at although the environment of the process says that none has to be', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    try {
      const { url, arrived } = await serveTls(valid());
      await expect(rent(clientAt(url, {}))).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
      expect(arrived).toEqual([]);
    } finally {
      vi.unstubAllEnvs();
    }
  });
});

describe('addresses', () => {
  const request = { method: 'GET', path: '/', headers: {} };
  const resolvingTo =
    (...addresses: string[]): LookupFunction =>
    (_, options, callback) =>
      options.all
        ? callback(
            null,
            addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
          )
        : callback(null, addresses[0] ?? '', 4);

  test.each([
    'http://market.example',
    'http://10.0.0.1',
    'https://10.0.0.1',
    'https://169.254.169.254',
    'https://192.168.1.1',
    'https://[fd00::1]',
    'https://[fe80::1]',
    'https://[::ffff:10.0.0.1]',
    'https://0x0a.1',
    'https://0.0.0.0',
    'https://100.64.0.1',
    'ftp://market.example',
  ])('scenario 39: %s is refused before anything is sent', async (origin) => {
    await expect(transportWith()({ ...request, origin })).rejects.toMatchObject({ sent: false });
  });

  test.each(['127.0.0.1', '10.1.2.3', '169.254.169.254', '::1', 'fd00::2', '::ffff:192.168.0.1'])(
    'scenario 39: a name that resolves to %s is refused at the moment of connecting',
    async (address) => {
      const client = clientAt('https://market.example', { lookup: resolvingTo(address) });
      await expect(rent(client)).rejects.toMatchObject({ kind: 'blockedAddress', outcome: 'refused' });
    },
  );

  test('scenario 39: a key is never sent without encryption: such an origin is not even looked up', async () => {
    const asked: string[] = [];
    const lookup: LookupFunction = (name, options, callback) => {
      asked.push(name);
      resolvingTo('93.184.216.34')(name, options, callback);
    };
    const send = transportWith({ lookup });
    await expect(send({ ...request, origin: 'http://market.example' })).rejects.toMatchObject({
      sent: false,
    });
    expect(asked).toEqual([]);
  });

  test('of a name that may be connected to is found among those that may not', async () => {
    const lookup = resolvingTo('10.0.0.1', '127.0.0.1');
    const client = clientAt('https://market.example:1', { lookup, allowedNetworks: ['127.0.0.0/8'] });
    await expect(rent(client)).rejects.toMatchObject({ kind: 'unavailable', outcome: 'refused' });
  });

  test('is checked again when the connection is open, since a number is never looked up', async () => {
    const { url, server } = await serve(() => {});
    const closed = new Promise((resolve) => server.once('connection', (peer) => peer.once('close', resolve)));
    const connect = guardedConnector({
      timeoutMs: 15_000,
      rules: { refuseOrigin: () => undefined, refuseAddress: (_, address) => `not ${address}` },
    });
    const { hostname, port } = new URL(url);
    const target = { hostname, port, protocol: 'http:' };
    const error = await new Promise((resolve) => connect(target, (...[failure]) => resolve(failure)));
    expect(error).toMatchObject({ message: 'not 127.0.0.1' });
    await closed;
  });

  test('localhost must lead to this machine', async () => {
    const client = clientAt('http://localhost:1', { lookup: resolvingTo('93.184.216.34') });
    await expect(rent(client)).rejects.toMatchObject({ kind: 'blockedAddress', outcome: 'refused' });
  });

  test('a network that is allowed is no longer refused, and a malformed one is named', async () => {
    const client = clientAt('https://127.0.0.1:1');
    await expect(rent(client)).rejects.toMatchObject({ kind: 'unavailable', outcome: 'refused' });
    expect(() => createMarketplaceTransport({ allowedNetworks: ['10.0.0.0'] })).toThrow(
      /"10.0.0.0" is no network/,
    );
  });
});

describe('the connections to one service', () => {
  test('are eight at most, for any number of callers', async () => {
    let connections = 0;
    const held: ServerResponse[] = [];
    const { url, server } = await serve((_, response) => {
      held.push(response);
      if (held.length >= 8) for (const one of held.splice(0)) one.end();
    });
    server.on('connection', () => {
      connections += 1;
    });
    const send = transportWith();
    const ask = async () => {
      const reply = await send({ method: 'GET', origin: url, path: '/', headers: {} });
      for await (const _ of reply.body);
    };
    await Promise.all(Array.from({ length: 16 }, ask));
    expect(connections).toBe(8);
  });

  test.each([
    ['as it is', {}],
    ['compressed', { 'content-encoding': 'gzip' }],
  ])('are closed with a reply that is not read, %s', async (_, headers) => {
    const { url, server } = await serve((_request, response) => {
      response.writeHead(200, headers).write('endless');
    });
    const closed = new Promise((resolve) => server.once('connection', (peer) => peer.once('close', resolve)));
    const reply = await transportWith()({ method: 'GET', origin: url, path: '/', headers: {} });
    reply.destroy();
    await closed;
  });
});

describe('a request that its caller gives up', () => {
  test('while it waits for a reply ends at once', async () => {
    const arrived = Promise.withResolvers<void>();
    const { url } = await serve(() => arrived.resolve());
    const caller = new AbortController();
    const asking = transportWith()({
      method: 'GET',
      origin: url,
      path: '/',
      headers: {},
      signal: caller.signal,
    });
    await arrived.promise;
    caller.abort(new Error('enough'));
    await expect(asking).rejects.toMatchObject({ sent: true });
  });

  test('before it was sent is reported as such, without its address', async () => {
    const enough = new Error('enough');
    const asking = transportWith()({
      method: 'GET',
      origin: 'https://10.0.0.1',
      path: '/',
      headers: {},
      signal: AbortSignal.abort(enough),
    });
    await expect(asking).rejects.toMatchObject({ sent: false, cause: enough });
  });

  test('before it was sent never arrives', async () => {
    let arrived = 0;
    const { url } = await serve((_, response) => {
      arrived += 1;
      response.end();
    });
    const asking = transportWith()({
      method: 'GET',
      origin: url,
      path: '/',
      headers: {},
      signal: AbortSignal.abort(new Error('enough')),
    });
    await expect(asking).rejects.toMatchObject({ sent: false });
    expect(arrived).toBe(0);
  });
});

const rules = createAddressRules();

describe('an address behind a public name', () => {
  // The first and the last address of each range, and the public neighbours on both sides.
  test.each([
    ['this network', ['0.0.0.0', '0.255.255.255'], ['1.0.0.0']],
    ['private', ['10.0.0.0', '10.255.255.255'], ['9.255.255.255', '11.0.0.0']],
    ['shared by carriers', ['100.64.0.0', '100.127.255.255'], ['100.63.255.255', '100.128.0.0']],
    ['loopback', ['127.0.0.0', '127.255.255.255'], ['126.255.255.255', '128.0.0.0']],
    [
      'link-local, with its metadata service',
      ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
      ['169.253.255.255', '169.255.0.0'],
    ],
    ['private, too', ['172.16.0.0', '172.31.255.255'], ['172.15.255.255', '172.32.0.0']],
    ['for protocols', ['192.0.0.0', '192.0.0.255'], ['191.255.255.255', '192.0.1.0']],
    ['for documentation, first', ['192.0.2.0', '192.0.2.255'], ['192.0.1.255', '192.0.3.0']],
    ['private, third', ['192.168.0.0', '192.168.255.255'], ['192.167.255.255', '192.169.0.0']],
    ['for benchmarks', ['198.18.0.0', '198.19.255.255'], ['198.17.255.255', '198.20.0.0']],
    ['for documentation, second', ['198.51.100.0', '198.51.100.255'], ['198.51.99.255', '198.51.101.0']],
    ['for documentation, third', ['203.0.113.0', '203.0.113.255'], ['203.0.112.255', '203.0.114.0']],
    [
      'for many at once, or reserved',
      ['224.0.0.0', '239.255.255.255', '240.0.0.0', '255.255.255.255'],
      ['223.255.255.255'],
    ],
    ['unspecified or loopback of IPv6', ['::', '::1'], []],
    ['a translation of IPv4', ['64:ff9b::a00:1', '64:ff9b:1::1'], ['64:ff9b:2::1']],
    ['IPv4 within IPv6', ['::7f00:1', '::10.0.0.1', '::ffff:ffff'], ['0:0:0:0:1::1']],
    ['Teredo', ['2001::1', '2001:0:ffff::1'], ['2001:1::1']],
    ['of a site', ['fec0::1', 'feff::1'], []],
    ['discarded', ['100::', '100::ffff:ffff:ffff:ffff'], ['100:0:0:1::']],
    ['for documentation in IPv6', ['2001:db8::', '2001:db8:ffff::1'], ['2001:db7:ffff::1', '2001:db9::']],
    ['6to4', ['2002::', '2002:a00:1::'], ['2001:ffff::1', '2003::']],
    ['private in IPv6', ['fc00::', 'fdff::1'], ['fbff::1']],
    ['link-local in IPv6', ['fe80::', 'febf::1'], ['fe7f::1']],
    ['for many at once in IPv6', ['ff00::', 'ffff::1'], []],
    ['IPv4 in the clothes of IPv6', ['::ffff:10.0.0.1', '::ffff:169.254.169.254'], ['::ffff:93.184.216.34']],
  ] as const)('that is %s is refused, its public neighbours are not', (_, inside, outside) => {
    for (const address of inside)
      expect(rules.refuseAddress('market.example', address), address).toBeDefined();
    for (const address of outside)
      expect(rules.refuseAddress('market.example', address), address).toBeUndefined();
  });

  test('is let through where its network is allowed, and that one alone', () => {
    const wider = createAddressRules(['10.1.0.0/16', 'fd00::/8']);
    expect(wider.refuseAddress('market.example', '10.1.2.3')).toBeUndefined();
    expect(wider.refuseAddress('market.example', 'fd12::1')).toBeUndefined();
    expect(wider.refuseAddress('market.example', '10.2.0.1')).toMatch(/not public/);
  });

  test.each(['localhost', '127.0.0.1', '::1'])('of %s may be this machine and no other', (host) => {
    expect(rules.refuseAddress(host, '127.0.0.1')).toBeUndefined();
    expect(rules.refuseAddress(host, '::1')).toBeUndefined();
    expect(rules.refuseAddress(host, '93.184.216.34')).toMatch(/another machine/);
  });
});

describe('an origin', () => {
  const refusal = (text: string) => rules.refuseOrigin(new URL(text));

  test.each([
    'https://market.example',
    'https://93.184.216.34',
    'http://localhost:8080',
    'http://[::1]:80',
    'http://127.0.0.1',
  ])('%s may be asked', (origin) => {
    expect(refusal(origin)).toBeUndefined();
  });

  test.each([
    ['http://market.example', /https is required/],
    ['http://93.184.216.34', /https is required/],
    ['ftp://market.example', /only http and https/],
    ['https://10.0.0.1', /not public/],
    ['https://[fd00::1]', /not public/],
    ['https://[::ffff:a00:1]', /not public/],
  ])('%s may not be asked', (origin, why) => {
    expect(refusal(origin)).toMatch(why);
  });

  test('names an IPv6 address without its brackets', () => {
    expect([bareHost('[::1]'), bareHost('market.example')]).toEqual(['::1', 'market.example']);
  });
});
