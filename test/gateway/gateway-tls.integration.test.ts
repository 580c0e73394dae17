import { createServer } from 'node:https';
import { type AddressInfo, connect, createServer as createRelay, type Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessLogService } from '../../src/gateway/access-log.ts';
import { Discovery } from '../../src/gateway/discovery.ts';
import { envoyBootstrap } from '../../src/gateway/envoy-config.ts';
import { type EnvoyProcess, startEnvoy } from '../../src/gateway/envoy-process.ts';
import { extProcService } from '../../src/gateway/ext-proc.ts';
import { type GrpcListening, serveGrpc } from '../../src/gateway/grpc-server.ts';
import { issueAuthority, issueLeaf, type KeyPair } from '../../src/lib/certificates.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { until } from '../builders/until.ts';
import { findFreePort } from '../cluster/free-port.ts';
import { envoyBinary } from '../tools/envoy.ts';

const KEY = 'default/llm';
const DAY = 86_400_000;
const period = { now: Date.now(), validMs: DAY };
const nameOf = (uid: string, group = 'llm') => `${uid}.${group}.default.gpurental.internal`;
const authority = (name = 'one') => issueAuthority({ name, ...period });
const workerOf = (ca: KeyPair, uid: string, group?: string) =>
  issueLeaf({ names: [nameOf(uid, group)], use: 'server', ...period }, ca);
const gatewayOf = (ca: KeyPair) => issueLeaf({ names: ['gateway'], use: 'client', ...period }, ca);

let discovery: Discovery;
let grpc: GrpcListening;
let envoy: EnvoyProcess;
let url: string;
/** Where the next request goes. */
let destination = '';

beforeAll(async () => {
  discovery = new Discovery({ log: silentLogger, onAccepted: () => {}, onFresh: () => {} });
  const extProc = extProcService(
    async () => ({
      type: 'route',
      headers: { 'x-gateway-cluster': KEY, 'x-gateway-destination-endpoint': destination },
    }),
    silentLogger,
  );
  grpc = await serveGrpc([extProc, accessLogService(() => {}), discovery.service], {
    host: '127.0.0.1',
    port: 0,
  });
  const port = await findFreePort();
  const config = envoyBootstrap({
    listen: { host: '127.0.0.1', port },
    picker: { host: '127.0.0.1', port: grpc.port },
  });
  envoy = await startEnvoy({ path: await envoyBinary(), config, clock: systemClock, log: silentLogger });
  url = `http://127.0.0.1:${port}/v1`;
  await until('Envoy is connected', () => discovery.isConnected());
});
afterAll(async () => {
  await envoy?.stop();
  grpc?.close();
  for (const server of servers) server.close();
});

const servers: { close(): unknown }[] = [];

async function listening(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const serving = (own: KeyPair, authorities: string): Promise<number> =>
  listening(
    createServer(
      {
        ...{ cert: own.certificate, key: own.key.reveal(), ca: authorities },
        ...{ requestCert: true, rejectUnauthorized: true },
      },
      (request, response) => {
        request.resume();
        request.on('end', () => response.end('served'));
      },
    ),
  );

async function asked(
  port: number,
  { uid, client, authorities }: { uid: string; client: KeyPair; authorities: string },
  body = 'prompt',
): Promise<string> {
  const endpoint = { address: `127.0.0.1:${port}`, dnsName: nameOf(uid) };
  const identity = { certificate: client.certificate, key: client.key, authorities };
  discovery.set([{ key: KEY, endpoints: [endpoint], identity }]);
  await until('Envoy knows it', () => discovery.knows(KEY, endpoint));
  destination = endpoint.address;
  const reply = await fetch(url, { method: 'POST', body });
  return `${reply.status} ${reply.status === 200 ? await reply.text() : ''}`.trim();
}

test('Envoy and a worker of its group take each other, and no one on the way reads the prompt', async () => {
  const ca = authority();
  const port = await serving(workerOf(ca, 'u1'), ca.certificate);
  const seen: Buffer[] = [];
  const relay = createRelay((socket) => {
    const onward = connect(port, '127.0.0.1');
    socket.on('data', (data) => seen.push(Buffer.from(data)));
    onward.on('data', (data) => seen.push(Buffer.from(data)));
    for (const end of [socket, onward]) end.on('error', () => {});
    socket.pipe(onward).pipe(socket);
  });
  const at = await listening(relay);
  const canary = 'canary-in-the-prompt';
  expect(await asked(at, { uid: 'u1', client: gatewayOf(ca), authorities: ca.certificate }, canary)).toBe(
    '200 served',
  );
  const wire = Buffer.concat(seen);
  expect(wire.byteLength).toBeGreaterThan(500);
  expect(wire.includes(canary)).toBe(false);
});

test('Envoy refuses a worker of another group, of another authority, and another worker of the group', async () => {
  const ca = authority();
  const other = authority();
  const client = gatewayOf(ca);
  const refused = [workerOf(other, 'u1'), workerOf(ca, 'u1', 'embed'), workerOf(ca, 'u2')];
  for (const own of refused) {
    const port = await serving(own, ca.certificate);
    expect(await asked(port, { uid: 'u1', client, authorities: ca.certificate })).toBe('503');
  }
});

test('a worker refuses a gateway of another authority', async () => {
  const ca = authority();
  const port = await serving(workerOf(ca, 'u1'), ca.certificate);
  const client = gatewayOf(authority('other'));
  expect(await asked(port, { uid: 'u1', client, authorities: ca.certificate })).toBe('503');
});

test('no request is lost while authorities and the certificate of the gateway change', async () => {
  const [old, next] = [authority('old'), authority('next')];
  const both = old.certificate + next.certificate;
  const port = await serving(workerOf(old, 'u1'), both);
  const uid = 'u1';
  expect(await asked(port, { uid, client: gatewayOf(old), authorities: old.certificate })).toBe('200 served');
  const statuses: number[] = [];
  let goesOn = true;
  const flow = (async () => {
    while (goesOn) statuses.push((await fetch(url, { method: 'POST', body: 'x' })).status);
  })();
  for (const client of [gatewayOf(old), gatewayOf(next), gatewayOf(next)]) {
    expect(await asked(port, { uid, client, authorities: both })).toBe('200 served');
    const before = statuses.length;
    await until('requests flow', () => statuses.length > before + 20);
  }
  goesOn = false;
  await flow;
  expect(new Set(statuses)).toEqual(new Set([200]));
}, 30_000);
