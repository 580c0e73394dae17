import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { selfSigned } from '../../../test/builders/self-signed.ts';
import { until } from '../../../test/builders/until.ts';
import { TransportError } from '../../lib/transport.ts';
import { readText } from './json-stream.ts';
import { type ClosableTransport, createTransport, type TransportOptions } from './undici-transport.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function open(options: TransportOptions = {}): ClosableTransport {
  const transport = createTransport({ connectTimeoutMs: 15_000, ...options });
  closing.push(() => transport.close());
  return transport;
}

async function serve(listener: RequestListener): Promise<{ origin: string; server: Server }> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { origin: `http://127.0.0.1:${address.port}`, server };
}

const get = (origin: string, path = '/') => ({ method: 'GET', origin, path, headers: {} });

test('gives status, headers and body of any reply, and sends what it was given', async () => {
  const { origin } = await serve((request, response) => {
    response.writeHead(418, { 'x-twice': ['a', 'b'], 'x-method': request.method });
    request.pipe(response);
  });
  const reply = await open()({
    method: 'POST',
    origin,
    path: '/p?q=1',
    headers: { 'content-type': 'text/plain' },
    body: 'hi',
  });
  expect(reply.status).toBe(418);
  expect(reply.headers).toMatchObject({ 'x-twice': 'a, b', 'x-method': 'POST' });
  expect(await readText(reply.body, 100)).toBe('hi');
});

test('sockets are used again, and redirects are not followed', async () => {
  let connections = 0;
  const { origin, server } = await serve((_request, response) =>
    response.writeHead(302, { location: '/other' }).end(),
  );
  server.on('connection', () => connections++);
  const transport = open();
  for (let at = 0; at < 5; at++) {
    const reply = await transport(get(origin));
    expect(reply.status).toBe(302);
    await readText(reply.body, 100);
  }
  expect(connections).toBeLessThanOrEqual(2);
});

test('no byte is sent if no server listens', async () => {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  const failed = open()(get(`http://127.0.0.1:${address.port}`));
  await expect(failed).rejects.toMatchObject({ name: 'TransportError', sent: false });
});

test('a server that closes without a reply may have acted', async () => {
  const { origin } = await serve((request) => request.socket.destroy());
  await expect(open()(get(origin))).rejects.toMatchObject({ sent: true });
});

test('an abort while a reply is awaited ends it at once, and says that it was sent', async () => {
  const asked = Promise.withResolvers<void>();
  const { origin } = await serve(() => asked.resolve());
  const abort = new AbortController();
  const failed = open()({ ...get(origin), signal: abort.signal });
  await asked.promise;
  abort.abort(new Error('deadline'));
  await expect(failed).rejects.toMatchObject({ sent: true, message: expect.stringContaining('deadline') });
});

test('an abort before anything happened sends nothing', async () => {
  let asked = 0;
  const { origin } = await serve(() => asked++);
  const failed = open()({ ...get(origin), signal: AbortSignal.abort(new Error('too late')) });
  await expect(failed).rejects.toMatchObject({ sent: false });
  expect(asked).toBe(0);
});

test('an abort while connecting does not wait for the socket', async () => {
  const abort = new AbortController();
  // A socket that is accepted and never speaks TLS.
  const server = createTcpServer(() => abort.abort(new Error('deadline'))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const failed = open()({ ...get(`https://127.0.0.1:${address.port}`), signal: abort.signal });
  // A socket that closes by itself counts as a timeout.
  await expect(failed).rejects.toMatchObject({ sent: false, message: expect.stringContaining('deadline') });
});

test('a body that breaks off is an error, not an end', async () => {
  const { origin } = await serve((_request, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('half', () => response.destroy());
  });
  const reply = await open()(get(origin));
  await expect(readText(reply.body, 1000)).rejects.toBeInstanceOf(TransportError);
});

test('a body that is given up frees its socket', async () => {
  let closed = false;
  const { origin, server } = await serve((_request, response) => {
    response.writeHead(200);
    response.write('endless');
  });
  server.on('connection', (socket) => socket.on('close', () => (closed = true)));
  const reply = await open()(get(origin));
  reply.destroy();
  await until('the connection is closed', () => closed);
});

test('a server is only believed by its certificate, unless a kubeconfig says that it need not be', async () => {
  const day = 86_400_000;
  const made = selfSigned({ notBefore: new Date(Date.now() - day), notAfter: new Date(Date.now() + day) });
  let asked = 0;
  const server = createTlsServer(made, (_, response) => {
    asked += 1;
    response.end('it is me');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(open()(get(origin))).rejects.toMatchObject({ sent: false });
  expect(asked).toBe(0);
  for (const options of [{ ca: made.cert }, { insecure: true }]) {
    const reply = await open(options)(get(origin));
    expect(await readText(reply.body, 100)).toBe('it is me');
  }
});

test('a server that never finishes its greeting is given up, and nothing was sent', async () => {
  const server = createTcpServer((peer) => closing.push(() => peer.destroy())).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const asking = open({ connectTimeoutMs: 20 })(get(`https://127.0.0.1:${port}`));
  await expect(asking).rejects.toMatchObject({ sent: false });
});
