import { Agent, get, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../builders/until.ts';
import { type GatewayBench, gatewayBench, NAMESPACE } from './gateway-bench.ts';
import { type RawClient, rawClient } from './raw-client.ts';

let bench: GatewayBench;
beforeEach(async () => {
  bench = await gatewayBench();
});
afterEach(() => bench?.close());

const figuresOf = (group: string) => bench.picker.figures().find(({ name }) => name === group);

async function created(group: string, gateway: Record<string, unknown> = {}): Promise<string> {
  await bench.createGroup(group, gateway);
  await until('the group is served', () => figuresOf(group));
  return `${bench.url}/${NAMESPACE}/${group}`;
}

const closes: RequestListener = (request, response) => {
  request.resume();
  response.setHeader('connection', 'close');
  response.end('served');
};

/** Statuses and texts of so many requests, ten at a time, each of them counted. */
async function repliesOf(count: number, ask: () => Promise<string>): Promise<Record<string, number>> {
  const replies: Record<string, number> = {};
  let left = count;
  const client = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const reply = await ask().catch(String);
      replies[reply] = (replies[reply] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: 10 }, client));
  return replies;
}

test('a worker that closes its connection after each response loses no request', async () => {
  const url = await created('closing');
  await bench.publish('closing', 'closing-a', closes);
  const ask = async (): Promise<string> => {
    const reply = await fetch(url);
    return `${reply.status} ${await reply.text()}`;
  };
  expect(await repliesOf(500, ask)).toEqual({ '200 served': 500 });
  await until('none is counted', () => figuresOf('closing')?.inFlightRequests === 0);
  const failing = bench.picker.report().flatMap(({ workers }) => workers.filter((worker) => worker.failing));
  expect(failing).toEqual([]);
});

/** Asks with `connection: close`, on a connection of its own. */
function askOnce(url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, { agent: new Agent({ keepAlive: false }) }, resolve).on('error', reject);
  });
}

async function textOf(reply: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of reply) text += String(part);
  return text;
}

test('a client that closes its connection after each response is served each time', async () => {
  const url = await created('once');
  await bench.publish('once', 'once-a', (request, response) => {
    request.resume();
    response.end('served');
  });
  const ask = async (): Promise<string> => {
    const reply = await askOnce(url);
    return `${reply.statusCode} ${reply.headers.connection} ${await textOf(reply)}`;
  };
  expect(await repliesOf(300, ask)).toEqual({ '200 close served': 300 });
  await until('none is counted', () => figuresOf('once')?.inFlightRequests === 0);
});

test('a picker that ends cuts no stream, and answers those that wait and those that come', async () => {
  const [streamed, waiting] = [await created('streamed'), await created('waiting')];
  const responses: ServerResponse[] = [];
  await bench.publish('streamed', 'streamed-a', (request, response) => {
    request.resume();
    response.write('first ');
    responses.push(response);
  });
  const streams = await Promise.all(Array.from({ length: 5 }, () => askOnce(streamed)));
  const texts = streams.map(textOf);
  const held = fetch(waiting);
  await until('one waits', () => figuresOf('waiting')?.heldRequests === 1);

  bench.picker.close();
  const refused = await held;
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await refused.json()).toMatchObject({ error: { code: 'gateway_ending' } });
  expect((await fetch(streamed)).status).toBe(503);
  for (const response of responses) response.end('last');
  expect(await Promise.all(texts)).toEqual(Array.from({ length: 5 }, () => 'first last'));
});

/** More than Envoy gives the picker of a body. */
const LONG = 300 * 1024;

/** Sends the head of a POST and the beginning of its body. */
function post(group: string, length: number, begin: string): Promise<RawClient> {
  const head = `POST /${NAMESPACE}/${group}/v1/chat/completions HTTP/1.1`;
  const headers = ['host: x', 'content-type: application/json', `content-length: ${length}`, '', ''];
  return rawClient(bench.url, [head, ...headers].join('\r\n') + begin);
}

test.each(['Requests', 'OpenAITokens'])(
  'with work %s a picker that crashes cuts no request that has a worker',
  async (work) => {
    const responses: ServerResponse[] = [];
    await created('picked', { work });
    await bench.publish('picked', 'picked-a', (request, response) => {
      request.resume();
      request.on('end', () => responses.push(response));
    });
    const partial = await post('picked', LONG + 4, 'x'.repeat(LONG));
    const whole = await post('picked', 4, 'xxxx');
    await until('both are picked for', () => figuresOf('picked')?.inFlightRequests === 2);
    await until('one is with the worker', () => responses.length === 1);
    bench.crash();
    // Nothing answers Envoy any more.
    expect((await fetch(bench.url)).status).toBe(503);
    partial.socket.write('xxxx');
    await until('both are with the worker', () => responses.length === 2);
    for (const response of responses) response.end('served');
    await until('both are served', () => [partial, whole].every((one) => one.read().includes('served')));
    for (const { read, socket } of [partial, whole]) {
      expect(read()).toMatch(/^HTTP\/1\.1 200 OK/);
      socket.destroy();
    }
  },
);

test('a picker that crashes loses what it holds, and nothing reaches a worker without a pick', async () => {
  let reached = 0;
  await created('waits');
  await created('read', { work: 'OpenAITokens' });
  await bench.publish('read', 'read-a', (_, response) => {
    reached += 1;
    response.end();
  });
  await until('its worker is known', () => figuresOf('read')?.readyWorkers === 1);
  const held = [
    // Its body is read: Envoy knows where it goes, and no worker was picked.
    await post('read', 100, '{'),
    await post('waits', 2, '{}'),
  ];
  await until('both are held', () => figuresOf('read')?.heldRequests && figuresOf('waits')?.heldRequests);
  bench.crash();
  await until('both are answered', () => held.every((one) => one.read().includes('picker_lost')));
  for (const { read, socket } of held) {
    expect(read()).toMatch(/^HTTP\/1\.1 503 [\s\S]*retry-after: 1\r/);
    socket.destroy();
  }
  expect([(await fetch(`${bench.url}/${NAMESPACE}/read/v1`)).status, reached]).toEqual([503, 0]);
});
