import { Agent, get, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../builders/until.ts';
import { type GatewayBench, gatewayBench, NAMESPACE } from './gateway-bench.ts';

let bench: GatewayBench;
beforeEach(async () => {
  bench = await gatewayBench();
});
afterEach(() => bench?.close());

const figuresOf = (group: string) => bench.picker.figures().find(({ name }) => name === group);

async function created(group: string): Promise<string> {
  await bench.createGroup(group);
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
