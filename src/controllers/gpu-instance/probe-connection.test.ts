import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { selfSigned } from '../../../test/builders/self-signed.ts';
import { groupAuthority, mutualTlsServer } from '../../../test/builders/worker-identities.ts';
import type { DialOptions } from './dial-name.ts';
import { createProber } from './probe.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const NO_CONTENT = 'HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n';

/** Returns a server on loopback that counts its connections, with its port. */
async function door(answer = (socket: Socket): unknown => socket.end(NO_CONTENT)) {
  const came: string[] = [];
  const server: Server = createServer((socket) => {
    came.push(socket.remoteAddress ?? '');
    socket.on('error', () => {});
    answer(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { came, port: address.port };
}

function prober(options: Partial<DialOptions> = {}) {
  const resolved: string[] = [];
  const { resolve = () => Promise.reject(new Error('ENOTFOUND')), ...others } = options;
  const ask = createProber({
    allowPrivate: false,
    mapAddress: (address) => address,
    ...others,
    resolve: (name) => {
      resolved.push(name);
      return resolve(name);
    },
  });
  return { ask, resolved };
}

/** For what is answered: no test waits so long. */
const PATIENCE_MS = 60_000;
const http = { scheme: 'HTTP', path: '/latest/meta-data/', headers: [{ name: 'x', value: 'y' }] } as const;
const simulated = (address: string) => (address === '203.0.113.5' ? '127.0.0.1' : address);

describe('a probe', () => {
  test.each([
    ...['127.0.0.1', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::7f00:1', '0.0.0.0'],
    ...['169.254.169.254', '::ffff:169.254.169.254', 'fec0::1', '2001::1', '64:ff9b::7f00:1', '10.0.0.1'],
  ])('never connects to %s, by TCP or by HTTP, as an address or behind a name', async (address) => {
    const { came, port } = await door();
    const { ask } = prober({ resolve: async () => [address] });
    for (const host of [address, 'machine.market.example']) {
      for (const how of [undefined, http]) {
        const problem = await ask({ host, port, timeoutMs: PATIENCE_MS, http: how });
        expect(problem).toMatch(/^The machine is not probed: its address is .+\.$/);
      }
    }
    expect(came).toEqual([]);
  });

  test('connects to where the address map leads, by TCP and by HTTP', async () => {
    const { came, port } = await door();
    const { ask, resolved } = prober({ mapAddress: simulated });
    for (const how of [undefined, http])
      expect(await ask({ host: '203.0.113.5', port, timeoutMs: PATIENCE_MS, http: how })).toBeUndefined();
    expect(came).toHaveLength(2);
    expect(resolved).toEqual([]);
  });

  test('asks for a name once, and dials the address that was judged', async () => {
    const { came, port } = await door();
    let asked = 0;
    const { ask, resolved } = prober({
      mapAddress: simulated,
      // The second answer would be another address; it is never requested.
      resolve: async () => (asked++ === 0 ? ['203.0.113.5'] : ['169.254.169.254']),
    });
    const target = { host: 'machine.market.example', port, timeoutMs: PATIENCE_MS, http };
    expect(await ask(target)).toBeUndefined();
    expect(resolved).toEqual(['machine.market.example']);
    expect(came).toHaveLength(1);
  });

  test('passes over those addresses of a name that are refused', async () => {
    const { came, port } = await door();
    const resolve = async () => ['127.0.0.1', 'fd00::1', '203.0.113.5'];
    const { ask } = prober({ mapAddress: simulated, resolve });
    expect(
      await ask({ host: 'machine.example', port, timeoutMs: PATIENCE_MS, http: undefined }),
    ).toBeUndefined();
    expect(came).toHaveLength(1);
  });

  test.each<[string, DialOptions['resolve']]>([
    ['that nobody knows', () => Promise.reject(new Error('ENOTFOUND'))],
    ['without addresses', async () => []],
    ['that is not answered in the time of the probe', () => new Promise(() => {})],
  ])('of a name %s fails in our own words', async (_, resolve) => {
    const { ask } = prober({ resolve });
    const problem = await ask({ host: 'gone.example', port: 1, timeoutMs: 20, http: undefined });
    expect(problem).toBe('The machine is not probed: its name leads to no address.');
  });

  test.each([
    [200, undefined],
    [399, undefined],
    [400, 'The probe answered 400.'],
    [503, 'The probe answered 503.'],
  ])('takes an answer of %i as the kubelet does', async (status, problem) => {
    const { port } = await door((socket) => socket.end(`HTTP/1.1 ${status} x\r\ncontent-length: 0\r\n\r\n`));
    const { ask } = prober({ mapAddress: simulated });
    expect(await ask({ host: '203.0.113.5', port, timeoutMs: PATIENCE_MS, http })).toBe(problem);
  });

  test('fails when no process listens, by TCP and by HTTP', async () => {
    const { port } = await door();
    for (const close of closing.splice(0)) await close();
    const { ask } = prober({ mapAddress: simulated });
    const target = { host: '203.0.113.5', port, timeoutMs: PATIENCE_MS };
    expect(await ask({ ...target, http: undefined })).toBe('The connection was refused.');
    expect(await ask({ ...target, http })).toBe('The probe did not answer.');
  });

  test.each([
    ['TCP', undefined],
    ['HTTP', http],
  ])('leaves no connection behind that the machine would hold, by %s', async (_, how) => {
    const closed = Promise.withResolvers<void>();
    const { port } = await door((socket) => {
      socket.on('close', () => closed.resolve());
      // An answer without end.
      if (how) socket.write('HTTP/1.1 200 OK\r\n\r\nmore');
      socket.resume();
    });
    const { ask } = prober({ mapAddress: simulated });
    expect(await ask({ host: '203.0.113.5', port, timeoutMs: PATIENCE_MS, http: how })).toBeUndefined();
    await closed.promise;
  });

  test('by HTTPS accepts any certificate: that of a rented machine cannot be verified', async () => {
    const day = 86_400_000;
    const [notBefore, notAfter] = [new Date(Date.now() - day), new Date(Date.now() + day)];
    const server = createHttpsServer(selfSigned({ notBefore, notAfter }), (_, response) => response.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const { ask } = prober({ mapAddress: simulated });
    const https = { ...http, scheme: 'HTTPS' } as const;
    expect(await ask({ host: '203.0.113.5', port, timeoutMs: PATIENCE_MS, http: https })).toBeUndefined();
  });

  test('gives up a machine that answers a byte now and then when its time is over', async () => {
    const { port } = await door((socket) => {
      const dribble = setInterval(() => socket.write('H'), 10);
      socket.on('close', () => clearInterval(dribble));
    });
    const { ask } = prober({ mapAddress: simulated });
    const slow = await door((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const dribble = setInterval(() => socket.write('x: y\r\n'), 10);
      socket.on('close', () => clearInterval(dribble));
    });
    for (const at of [port, slow.port])
      expect(await ask({ host: '203.0.113.5', port: at, timeoutMs: 100, http })).toBe(
        'The probe did not answer.',
      );
  });

  test('reaches a private address where --allow-private-addresses opens it, and loopback nowhere', async () => {
    // Any result will do: the test is about the attempt.
    const { ask } = prober({ allowPrivate: true });
    const target = { port: 9, timeoutMs: 50, http: undefined };
    expect(String(await ask({ ...target, host: '10.255.255.1' }))).not.toContain('not probed');
    expect(await ask({ ...target, host: '127.0.0.1' })).toMatch(/^The machine is not probed/);
  });
});

describe('a probe of a worker that has to prove itself', () => {
  const group = groupAuthority();
  const other = groupAuthority('other');
  const UNPROVEN = 'The machine does not prove that it is this worker of the group.';

  async function answered(own: ReturnType<typeof group.worker>, authorities = group.certificate) {
    const { port, server } = await mutualTlsServer(own, authorities);
    closing.push(() => server.close());
    const { ask } = prober({ mapAddress: simulated });
    const target = { host: '203.0.113.5', port, timeoutMs: PATIENCE_MS, tls: group.callerOf('u1') };
    return ask({ ...target, http });
  }

  test('brings the certificate of the gateway by TLS, although its scheme is HTTP', async () => {
    expect(await answered(group.worker('u1'))).toBeUndefined();
  });

  test.each([
    ['another worker of the group', group.worker('u2')],
    ['a worker of another group', group.worker('u1', 'embed')],
    ['one of another authority', other.worker('u1')],
    ['one that shows the certificate of a gateway', group.gateway],
  ])('fails at %s', async (_, own) => {
    expect(await answered(own)).toBe(UNPROVEN);
  });

  test('fails at a machine that does not speak TLS, and sends it no request', async () => {
    const heard: Buffer[] = [];
    const { port } = await door((socket) => {
      socket.on('data', (data) => {
        heard.push(Buffer.from(data));
        socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
      });
    });
    const { ask } = prober({ mapAddress: simulated });
    const target = { host: '203.0.113.5', port, timeoutMs: PATIENCE_MS, tls: group.callerOf('u1') };
    expect(await ask({ ...target, http })).toBe('The machine does not speak TLS.');
    expect(Buffer.concat(heard).includes('meta-data')).toBe(false);
  });

  test('fails at a worker that takes the certificates of another authority', async () => {
    expect(await answered(group.worker('u1'), other.certificate)).toBe('The probe did not answer.');
  });

  test('by TCP opens a connection and no more', async () => {
    const { port } = await door((socket) => socket.destroy());
    const { ask } = prober({ mapAddress: simulated });
    const target = { host: '203.0.113.5', port, timeoutMs: PATIENCE_MS, tls: group.callerOf('u1') };
    expect(await ask({ ...target, http: undefined })).toBeUndefined();
  });
});

describe('a probe as a tenant may write it', () => {
  const at = { host: '203.0.113.5', timeoutMs: PATIENCE_MS };
  const written = (more: { path?: string; headers?: { name: string; value: string }[] }) => ({
    scheme: 'HTTP' as const,
    path: '/',
    headers: [],
    ...more,
  });

  test.each<[string, ReturnType<typeof written>]>([
    ['a header holds a newline', written({ headers: [{ name: 'Authorization', value: 'Bearer x\n' }] })],
    ['a header is not Latin-1', written({ headers: [{ name: 'x', value: '日本' }] })],
    ['a header has no name', written({ headers: [{ name: '', value: 'x' }] })],
    ['a header name holds a blank', written({ headers: [{ name: 'x y', value: 'x' }] })],
    ['the path is not ASCII', written({ path: '/日本' })],
    ['the path holds a newline', written({ path: '/a\r\nx: y' })],
    ...['Trailer', 'Transfer-Encoding', 'content-length', 'Connection', 'Upgrade', 'Expect'].map(
      (name): [string, ReturnType<typeof written>] => [
        `a header is ${name}`,
        written({ headers: [{ name, value: 'chunked' }] }),
      ],
    ),
  ])('is refused before it is sent, and leaves no connection, when %s (C1)', async (_, request) => {
    const { came, port } = await door();
    const { ask } = prober({ mapAddress: simulated });
    await expect(ask({ ...at, port, http: request })).rejects.toThrow();
    await new Promise((resolve) => setImmediate(resolve));
    expect(came).toEqual([]);
  });

  test('names another host in its Host header, as in a Pod', async () => {
    const heard: string[] = [];
    const { port } = await door((socket) => {
      socket.on('data', (chunk) => {
        heard.push(String(chunk));
        socket.end(NO_CONTENT);
      });
    });
    const { ask } = prober({ mapAddress: simulated });
    const http = written({ headers: [{ name: 'Host', value: 'shop.example' }] });
    expect(await ask({ ...at, port, http })).toBeUndefined();
    expect(heard[0]).toMatch(/^host: shop\.example\r$/im);
  });

  test.each([
    ['101', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', 'The probe answered 101.'],
    [
      '101 with headers',
      'HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
      'The probe answered 101.',
    ],
    ['no HTTP', '\u0000\u0001\r\n\r\n', 'The probe did not answer.'],
    ['half a head', 'HTTP/1.1 200 OK\r\nx', 'The probe did not answer.'],
  ])('scenario 90: ends when the machine answers %s (M8)', async (_, reply, problem) => {
    const { port } = await door((socket) => socket.end(reply));
    const { ask } = prober({ mapAddress: simulated });
    expect(await ask({ ...at, port, http: written({}) })).toBe(problem);
  });
});
