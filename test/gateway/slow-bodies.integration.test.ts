import { createServer, type RequestListener, type Server } from 'node:http';
import { connect as http2Connect } from 'node:http2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../builders/until.ts';
import { type GatewayBench, gatewayBench, NAMESPACE } from './gateway-bench.ts';
import { type RawClient, rawClient } from './raw-client.ts';

const BODY_TIMEOUT_MS = 2_000;
const PROGRESS_MS = 100;
/** After the deadline. */
const LATE_MS = 3_500;
/** More than Envoy gives the picker of a body. */
const LONG = 300 * 1024;

let bench: GatewayBench;
const clients: RawClient[] = [];
const timers: NodeJS.Timeout[] = [];
beforeAll(async () => {
  bench = await gatewayBench({
    bootstrap: { progressMs: PROGRESS_MS },
    bodyTimeoutMs: BODY_TIMEOUT_MS,
  });
});
afterAll(async () => {
  for (const timer of timers.splice(0)) clearInterval(timer);
  for (const { socket } of clients.splice(0)) socket.destroy();
  await bench?.close();
});

const figuresOf = (group: string) => bench.picker.figures().find(({ name }) => name === group);
const inFlight = (group: string) => figuresOf(group)?.inFlightRequests;

async function created(group: string, gateway: Record<string, unknown> = {}): Promise<string> {
  await bench.createGroup(group, gateway);
  await until('the group is served', () => figuresOf(group));
  return `${bench.url}/${NAMESPACE}/${group}/v1/chat/completions`;
}

async function working(group: string, gateway: Record<string, unknown>, answer: RequestListener | Server) {
  const url = await created(group, gateway);
  await bench.publish(group, `${group}-a`, answer);
  await until('its worker is known', () => figuresOf(group)?.readyWorkers === 1);
  return url;
}

/** Sends the head of a POST and the beginning of its body. */
async function post(group: string, length: number, begin: string, more: string[] = []): Promise<RawClient> {
  const head = `POST /${NAMESPACE}/${group}/v1/chat/completions HTTP/1.1`;
  const sent = ['content-type: application/json', `content-length: ${length}`, ...more];
  const headers = ['host: x', ...sent, '', ''];
  const client = await rawClient(bench.url, [head, ...headers].join('\r\n') + begin);
  clients.push(client);
  return client;
}

/** Sends a byte at intervals, so that the connection is never idle. */
function trickle({ socket }: RawClient): void {
  timers.push(setInterval(() => socket.write('x'), PROGRESS_MS / 2));
}

const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Reads the body, and answers when all of it is there. */
const ok: RequestListener = (request, response) => {
  request.resume();
  request.on('end', () => response.end('ok'));
  request.on('error', () => {});
};
/** Answers long after the request has ended. */
const slow: RequestListener = (request, response) => {
  request.resume();
  request.on('end', () => setTimeout(() => response.end('ok'), LATE_MS));
};

const UNITS = ['Requests', 'OpenAITokens'];

// Each of them waits for a deadline.
describe.concurrent('the body of a request', () => {
  test.each([
    ['Requests', 1],
    ['Requests', LONG],
    ['OpenAITokens', LONG],
  ])('A6: with work %s, refuses a body that trickles in after %i bytes and a pick', async (work, begin) => {
    const group = `slow-${work}-${begin}`.toLowerCase();
    await working(group, { work }, ok);
    const client = await post(group, 2 * LONG, 'x'.repeat(begin));
    await until('a worker is picked', () => inFlight(group) === 1);
    trickle(client);
    await until('it is refused', () => client.read().includes('body_timeout'));
    expect(client.read()).toMatch(/^HTTP\/1\.1 408 [\s\S]*x-should-retry: true[\s\S]*--body-timeout/);
    await until('the slot is free', () => inFlight(group) === 0);
    expect(bench.picker.report().find(({ name }) => name === group)?.workers).toEqual([]);
  });

  test.each([
    ['expect', ['expect: 100-continue']],
    ['upgrade', ['connection: upgrade', 'upgrade: websocket']],
  ])('A6: refuses a body that trickles in after the header %s', async (header, headers) => {
    const group = `with-${header}`;
    await working(group, {}, (request) => request.resume());
    const client = await post(group, LONG, 'x', headers);
    await until('a worker is picked', () => inFlight(group) === 1);
    trickle(client);
    await until('it is refused', () => client.read().includes('body_timeout'));
  });

  test.each(UNITS)('with work %s waits for a worker that takes its time with a whole body', async (work) => {
    const url = await working(`whole-${work.toLowerCase()}`, { work }, slow);
    const body = 'x'.repeat(LONG);
    const replies = await Promise.all(
      [body, '{}'].map((each) =>
        fetch(url, { method: 'POST', body: each, headers: { 'content-type': 'application/json' } }),
      ),
    );
    expect(await Promise.all(replies.map((reply) => reply.text()))).toEqual(['ok', 'ok']);
  });

  test.each(UNITS)('with work %s counts the deadline from the pick, not from the arrival', async (work) => {
    const group = `held-${work.toLowerCase()}`;
    await created(group, { work });
    const client = await post(group, LONG + 5, 'x'.repeat(LONG));
    await until('it waits', () => figuresOf(group)?.heldRequests === 1);
    await later(LATE_MS);
    await bench.publish(group, `${group}-a`, ok);
    await until('a worker is picked', () => inFlight(group) === 1);
    // Envoy tells the picker of it, which leaves it alone.
    await later(4 * PROGRESS_MS);
    client.socket.write('xxxxx');
    await until('it is served', () => client.read().includes('200 OK'));
  });

  test('leaves a body alone once its worker answers', async () => {
    await working('both', {}, (request, response) => {
      response.write('begun ');
      request.resume();
      request.on('end', () => response.end('ok'));
    });
    const client = await post('both', 4, 'x');
    await until('it answers', () => client.read().includes('begun'));
    await later(LATE_MS);
    client.socket.write('xxx');
    await until('it is served', () => client.read().includes('ok'));
  });

  test('leaves a websocket alone whose worker takes its time to upgrade it', async () => {
    await working(
      'socket',
      {},
      createServer().on('upgrade', () => {}),
    );
    const client = await rawClient(
      bench.url,
      `GET /${NAMESPACE}/socket HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`,
    );
    clients.push(client);
    await until('a worker is picked', () => inFlight('socket') === 1);
    await later(LATE_MS);
    expect(client.read()).not.toContain('408');
  });

  test('serves a request with trailers', async () => {
    await working('trailers', {}, ok);
    const session = http2Connect(bench.url);
    session.on('error', () => {});
    const path = `/${NAMESPACE}/trailers/v1`;
    const stream = session.request({ ':method': 'POST', ':path': path }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '1' }));
    const status = new Promise((resolve) => stream.on('response', (headers) => resolve(headers[':status'])));
    stream.resume();
    stream.write('x');
    await until('a worker is picked', () => inFlight('trailers') === 1);
    stream.end();
    expect(await status).toBe(200);
    session.destroy();
  });
});
