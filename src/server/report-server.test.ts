import { createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { RunningServer } from './http-server.ts';
import { type ReportLimits, serveReports, type TakeReport } from './report-server.ts';

const MOST_BYTES = 65_536;
const servers: RunningServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const taken: TakeReport = () => ({ status: 200, message: '' });

async function serve(take: TakeReport, limits?: ReportLimits): Promise<string> {
  const server = await serveReports(take, { host: '127.0.0.1', port: 0 }, limits);
  servers.push(server);
  return server.url;
}

async function post(url: string, body: string): Promise<readonly [number, unknown]> {
  const reply = await fetch(url, { method: 'POST', body });
  return [reply.status, await reply.json()];
}

/** Returns a JSON string of that many bytes. */
const ofBytes = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2));

/** Returns everything that arrives over a connection until its server closes it. */
function untilClosed(url: string, sent: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let heard = '';
    const socket = connect(Number(port), hostname, () => socket.write(sent));
    socket.setEncoding('utf8').on('data', (text) => (heard += text));
    socket.on('error', reject).on('close', () => resolve(heard));
  });
}

test('a report is taken by its path without the query, and its body as JSON', async () => {
  const calls: unknown[] = [];
  const url = await serve((path, body) => {
    calls.push([path, body]);
    return { status: 200, message: '' };
  });
  expect(await post(`${url}/some/path?x=1`, '{"a":1}')).toEqual([200, { success: true }]);
  expect(calls).toEqual([['/some/path', { a: 1 }]]);
});

test('a reply has the text that renews a lease', async () => {
  const renewing = await serve(() => ({ status: 200, message: 'ok', renew: 'proof-1:60' }));
  const reply = await fetch(renewing, { method: 'POST', body: '{}' });
  expect(await reply.text()).toBe('{"success":true,"renew":"proof-1:60"}');
});

test('a refusal says what the taker says', async () => {
  const url = await serve(() => ({ status: 401, message: 'the token is not that of a worker' }));
  expect(await post(url, '{}')).toEqual([
    401,
    { success: false, error: 'the token is not that of a worker' },
  ]);
});

test('a worker that never ends its report does not keep the server from closing', async () => {
  const limits = { connections: 4, connectionsOfPeer: 4, requestMs: 3_600_000 };
  const { url, close } = await serveReports(taken, { host: '127.0.0.1', port: 0 }, limits);
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname, () =>
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\n'),
  );
  socket.on('error', () => {});
  await once(socket, 'data');
  const gone = once(socket, 'close');
  await close();
  await gone;
});

test('a worker that begins is given a public key, the same each time', async () => {
  const url = await serve(() => {
    throw new Error('never asked');
  });
  const keys = [1, 2].map(async () => (await fetch(`${url}/pubkey/`)).text());
  const [first = '', second] = await Promise.all(keys);
  expect(createPublicKey(first)).toMatchObject({ type: 'public', asymmetricKeyType: 'rsa' });
  expect(second).toBe(first);
});

test('only POST is taken', async () => {
  const reply = await fetch(await serve(taken));
  expect([reply.status, await reply.json()]).toEqual([405, { success: false, error: 'only POST' }]);
});

test('a body that is not JSON is refused and not passed on', async () => {
  const url = await serve(() => {
    throw new Error('never asked');
  });
  expect(await post(url, '{')).toEqual([400, { success: false, error: 'the body is not JSON' }]);
});

test('an error of the handler is answered with a message of the server', async () => {
  const url = await serve(() => {
    throw new Error('with a secret in it');
  });
  expect(await post(url, '{}')).toEqual([
    500,
    { success: false, error: 'the report could not be processed' },
  ]);
});

test('a body of the most bytes is taken', async () => {
  expect(await post(await serve(taken), ofBytes(MOST_BYTES))).toEqual([200, { success: true }]);
});

test('one byte more is refused, and the rest of it is not read', async () => {
  const url = await serve(taken);
  const body = ofBytes(MOST_BYTES + 1);
  const head = `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${2 * body.length}\r\n\r\n`;
  const heard = await untilClosed(url, head + body);
  expect(heard).toMatch(/^HTTP\/1\.1 413 /);
  expect(heard.toLowerCase()).toContain('connection: close');
});

test('a replica that does not lead lets go of who asks, so that the next connection may meet the leader', async () => {
  const url = await serve(() => ({ status: 503, message: 'another replica is the leader; retry' }));
  const heard = await untilClosed(url, 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}');
  expect(heard).toMatch(/^HTTP\/1\.1 503 /);
  expect(heard.toLowerCase()).toContain('connection: close');
});

test('who does not end its request in time is answered that, and hung up on', async () => {
  const url = await serve(taken, { connections: 10, connectionsOfPeer: 10, requestMs: 100 });
  const heard = await untilClosed(url, 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{');
  expect(heard).toMatch(/^HTTP\/1\.1 408 /);
});

test('who does not end its headers in time, too', async () => {
  const url = await serve(taken, { connections: 10, connectionsOfPeer: 10, requestMs: 100 });
  expect(await untilClosed(url, 'POST / HTTP/1.1\r\nhost: x\r\n')).toMatch(/^HTTP\/1\.1 408 /);
});

test('refuses connections beyond the maximum', async () => {
  const url = await serve(taken, { connections: 1, connectionsOfPeer: 1, requestMs: 10_000 });
  const { hostname, port } = new URL(url);
  const first = connect(Number(port), hostname);
  await new Promise<void>((resolve) => first.once('connect', resolve));
  // An accepted client that sends nothing gets an answer after ten seconds.
  expect(await untilClosed(url, '')).toBe('');
  first.destroy();
});

/** Returns a connection from one of the local addresses that sends half a head, and a test for its end. */
function halfHead(url: string, localAddress: string): Promise<{ readonly closed: Promise<void> }> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ port: Number(port), host: hostname, localAddress });
    const closed = new Promise<void>((ended) => socket.on('close', () => ended()));
    socket
      .on('error', () => {})
      .on('connect', () => {
        socket.write('POST / HTTP/1.1\r\nhost');
        resolve({ closed });
      });
  });
}

test('scenario 99: one address has a bounded number of connections, and others report beside it (L6)', async () => {
  const url = await serve(taken, { connections: 8, connectionsOfPeer: 2, requestMs: 3_600_000 });
  for (let count = 0; count < 2; count += 1) await halfHead(url, '127.0.0.2');
  const third = await halfHead(url, '127.0.0.2');
  await third.closed;
  expect(await post(url, '{}')).toEqual([200, { success: true }]);
});

test('the oldest connection goes for a new one when most are taken (L6)', async () => {
  const url = await serve(taken, { connections: 8, connectionsOfPeer: 8, requestMs: 3_600_000 });
  const first = await halfHead(url, '127.0.0.2');
  for (let count = 0; count < 7; count += 1) await halfHead(url, `127.0.0.${3 + count}`);
  await first.closed;
  expect(await post(url, '{}')).toEqual([200, { success: true }]);
});
