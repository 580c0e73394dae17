import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../builders/until.ts';
import { type GatewayBench, gatewayBench, NAMESPACE } from './gateway-bench.ts';
import { type RawClient, rawClient } from './raw-client.ts';

const MIB = 2 ** 20;
/** Heap of an Envoy that sheds, for the last test. */
const SMALL_HEAP = 96 * MIB;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-memory-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const opened: {
  readonly bench: GatewayBench;
  readonly clients: RawClient[];
  readonly adminSocket: string;
}[] = [];
afterAll(async () => {
  for (const { bench, clients } of opened) {
    for (const { socket } of clients) socket.destroy();
    await bench.close();
  }
});

async function open(name: string, bootstrap: object = {}, maxHeldBytes = 256 * MIB) {
  const adminSocket = join(folder, `${name}.sock`);
  const bench = await gatewayBench({ bootstrap: { adminSocket, ...bootstrap }, maxHeldBytes });
  const clients: RawClient[] = [];
  const one = { bench, clients, adminSocket };
  opened.push(one);
  const heldOf = (group: string) =>
    bench.picker.figures().find((figures) => figures.name === group)?.heldRequests;
  const create = async (group: string, gateway: object) => {
    await bench.createGroup(group, { ...gateway });
    await until('the group is served', () => heldOf(group) === 0);
  };
  return { ...one, heldOf, create };
}

/** Returns the current heap size of Envoy, in bytes. */
function heapOf(adminSocket: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ socketPath: adminSocket, path: '/memory' }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += String(chunk);
      });
      response.on('end', () => resolve(Number(JSON.parse(text).heap_size)));
    })
      .on('error', reject)
      .end();
  });
}

const BODY = Buffer.alloc(MIB, 'x');
const upload = (group: string, headers: string): string =>
  `POST /${NAMESPACE}/${group}/v1/chat/completions HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n`;

async function send(one: { bench: GatewayBench; clients: RawClient[] }, count: number, head: string) {
  for (let sent = 0; sent < count; sent += 1) {
    const client = await rawClient(one.bench.url, head);
    client.socket.write(BODY);
    one.clients.push(client);
  }
}

test('A5: 1,000 held uploads of 1 MiB keep Envoy within the heap of the chart', async () => {
  const gateway = await open('uploads');
  await gateway.create('uploads', {});
  await send(gateway, 1000, upload('uploads', `content-length: ${MIB}`));
  await until('all are held', () => gateway.heldOf('uploads') === 1000, 30_000);
  await until('their beginnings are buffered', async () => (await heapOf(gateway.adminSocket)) > 128 * MIB);
  expect((await heapOf(gateway.adminSocket)) / MIB).toBeLessThan(384 * 0.9);
}, 60_000);

test('A5: 600 bodies that never end keep Envoy within the heap of the chart', async () => {
  const gateway = await open('endless');
  await gateway.create('endless', { work: 'OpenAITokens' });
  const head = upload('endless', 'content-type: application/json\r\ntransfer-encoding: chunked');
  await send(gateway, 600, `${head}40000000\r\n`);
  await until('all are read and held', () => gateway.heldOf('endless') === 600, 30_000);
  expect((await heapOf(gateway.adminSocket)) / MIB).toBeLessThan(384 * 0.9);
}, 60_000);

test('A5: a group that takes most memory gives way to the others', async () => {
  const gateway = await open('shares', {}, 8 * MIB);
  await gateway.create('small', {});
  await gateway.create('large', {});
  await send(gateway, 1, upload('small', 'content-length: 10'));
  await until('it waits', () => gateway.heldOf('small') === 1);
  await send(gateway, 60, upload('large', `content-length: ${MIB}`));
  const refused = () => gateway.clients.filter((one) => one.read().includes('--max-held-memory')).length;
  await until('the rest is refused', () => refused() === 60 - 42);
  expect([gateway.heldOf('small'), gateway.heldOf('large')]).toEqual([1, 42]);
});

test('A5: an Envoy at the end of its heap refuses new requests and serves those under way', async () => {
  const gateway = await open('full', { maxHeapBytes: SMALL_HEAP }, Number.POSITIVE_INFINITY);
  await gateway.create('flood', { maxHeld: 100_000, maxHeldBytes: '10Gi' });
  await gateway.create('calm', {});
  const calm = fetch(`${gateway.bench.url}/${NAMESPACE}/calm/v1/models`);
  await until('it waits', () => gateway.heldOf('calm') === 1);
  await send(gateway, 1000, upload('flood', `content-length: ${MIB}`));
  await until('Envoy refuses', () => gateway.clients.some((one) => one.read().includes(' 503 ')), 30_000);
  await gateway.bench.publish('calm', 'calm-a', (_, response) => response.end('served'));
  expect(await (await calm).text()).toBe('served');
  expect((await heapOf(gateway.adminSocket)) / MIB).toBeLessThan(2 * (SMALL_HEAP / MIB));
}, 60_000);
