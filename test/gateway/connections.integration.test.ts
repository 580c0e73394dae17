import { request } from 'node:http';
import { connect as http2Connect } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { envoyBootstrap } from '../../src/gateway/envoy-config.ts';
import { until } from '../builders/until.ts';
import { type Burst, burstClient } from './burst-client.ts';
import { type GatewayBench, gatewayBench, NAMESPACE } from './gateway-bench.ts';

const MAX = 20;
/** Each address of loopback is a client of its own. */
const [GREEDY, MODEST] = ['127.0.0.2', '127.0.0.3'];
let bench: GatewayBench;
let large: GatewayBench;
const sockets: Socket[] = [];
beforeAll(async () => {
  bench = await gatewayBench({ bootstrap: { maxConnections: MAX } });
  large = await gatewayBench({ maxHeldBytes: 2 ** 30 });
});
afterEach(() => closeAll());
afterAll(async () => {
  await bench?.close();
  await large?.close();
});

const port = (of = bench) => Number(new URL(of.url).port);

function closeAll(): void {
  for (const socket of sockets.splice(0)) socket.destroy();
}

/** Opens a connection that sends nothing. */
function open(localAddress: string, localPort?: number): Promise<Socket> {
  const from = { localAddress, ...(localPort !== undefined && { localPort }) };
  const socket = connect({ port: port(), host: '127.0.0.1', ...from });
  socket.on('error', () => {});
  // The end of a connection is seen by who reads it.
  socket.resume();
  sockets.push(socket);
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(socket));
    socket.once('close', () => resolve(socket));
  });
}

/** Returns the number of a client's open connections after it opened the given number, one after the other. */
async function opened(client: string, count: number): Promise<number> {
  const all: Socket[] = [];
  for (let sent = 0; sent < count; sent += 1) all.push(await open(client));
  // A round trip on each that is open: Envoy answers what is no request, or has closed it.
  await Promise.all(all.map((socket) => statusOf(socket)));
  return all.filter((socket) => !socket.destroyed).length;
}

/** Resolves when a client has got its share, and no more; connections of the test before are closed by then. */
async function untilShare(client: string): Promise<void> {
  await until('the client has half of all connections', async () => {
    const count = await opened(client, MAX);
    expect(count).toBeLessThanOrEqual(MAX / 2);
    if (count < MAX / 2) closeAll();
    return count === MAX / 2;
  });
}

/** Resolves when Envoy has answered a request on this connection, or has closed it. */
function statusOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('data', () => resolve());
    socket.once('close', () => resolve());
    if (socket.destroyed) resolve();
    else socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  });
}

function get(localAddress: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    request({ host: '127.0.0.1', port: port(), localAddress, agent: false }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    })
      .on('error', () => resolve(undefined))
      .end();
  });
}

test('A14: gives one client half of the connections, and leaves the others to the rest', async () => {
  await untilShare(GREEDY);
  expect(await get(GREEDY)).toBeUndefined();
  expect(await get(MODEST)).toBe(404);
  expect(await bench.registry.expose()).toMatch(/gpu_rental_gateway_refused_connections_total [1-9]/);
});

test('counts connections that send nothing', async () => {
  for (let count = 0; count < MAX; count += 1) await open(GREEDY);
  await until('those beyond its share are closed', () => {
    return sockets.filter((socket) => !socket.destroyed).length <= MAX / 2;
  });
  expect(await get(MODEST)).toBe(404);
});

test('gives a client room again when its connections close', async () => {
  await untilShare(GREEDY);
  closeAll();
  await until('it is served', async () => (await get(GREEDY)) === 404);
});

test('counts a connection whose port an earlier one had a moment before', async () => {
  await untilShare(GREEDY);
  const ports = sockets.filter(({ destroyed }) => !destroyed).map(({ localPort }) => localPort);
  for (const socket of sockets.splice(0)) socket.resetAndDestroy();
  const again = await Promise.all(ports.map((localPort) => open(GREEDY, localPort)));
  // The ends of the earlier ones are logged by then.
  await sleep(1_000);
  expect(again.filter(({ destroyed }) => !destroyed)).toHaveLength(MAX / 2);
  expect(await get(GREEDY)).toBeUndefined();
});

test('counts a connection once, however many requests it carries', async () => {
  const session = http2Connect(bench.url);
  session.on('error', () => {});
  const statuses = Array.from({ length: 3 * MAX }, async () => {
    const stream = session.request({ ':path': '/' });
    stream.resume();
    return new Promise((resolve) => stream.on('response', (headers) => resolve(headers[':status'])));
  });
  expect(new Set(await Promise.all(statuses))).toEqual(new Set([404]));
  session.destroy();
});

test('counts no connections behind a proxy, which opens those of all its clients', () => {
  const place = { host: '127.0.0.1', port: 1 };
  const limit = 'envoy.filters.network.ratelimit';
  expect(envoyBootstrap({ listen: place, picker: place })).toContain(limit);
  expect(envoyBootstrap({ listen: place, picker: place, trustedHops: 1 })).not.toContain(limit);
});

const heldIn = (group: string) => large.picker.figures().find(({ name }) => name === group)?.heldRequests;

async function heldGroup(name: string): Promise<void> {
  await large.createGroup(name, { maxHeld: 10_000, maxHeldBytes: '1Gi' });
  await until('the group is served', () => heldIn(name) === 0);
}

const burst = (group: string, shape: Pick<Burst, 'localAddress' | 'connections' | 'resets'>) =>
  burstClient({ ...shape, port: port(large), path: `/${NAMESPACE}/${group}/v1` });

test('A14: holds a request on each of 4,000 connections that open at once', async () => {
  await heldGroup('burst');
  const client = await burst('burst', { localAddress: GREEDY, connections: 4_000, resets: 0 });
  await until('all are held', () => client.replies.length > 0 || heldIn('burst') === 4_000);
  expect(client.replies).toEqual([]);
  await client.end();
});

test('A14: keeps waiting requests while another client opens and resets 3,000 connections at once', async () => {
  await heldGroup('patient');
  const patient = await burst('patient', { localAddress: MODEST, connections: 50, resets: 0 });
  await until('50 are held', () => heldIn('patient') === 50);
  await burst('patient', { localAddress: GREEDY, connections: 3_000, resets: 2 });
  await until('none of the others is held', () => patient.replies.length > 0 || heldIn('patient') === 50);
  expect(patient.replies).toEqual([]);
  await patient.end();
});

test('forgets connections that close before the picker has answered', async () => {
  for (let round = 0; round < 20; round += 1) {
    const burst = await Promise.all(Array.from({ length: MAX }, () => open(GREEDY)));
    for (const socket of burst) socket.resetAndDestroy();
  }
  closeAll();
  await untilShare(GREEDY);
});
