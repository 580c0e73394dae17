import { createHash } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../builders/until.ts';
import { type GatewayBench, gatewayBench, NAMESPACE, putKeys } from './gateway-bench.ts';

let bench: GatewayBench;
beforeAll(async () => {
  bench = await gatewayBench();
});
afterAll(() => bench?.close());

const greets =
  (name: string): RequestListener =>
  (request, response) => {
    request.resume();
    response.end(`${name} ${request.url}`);
  };

const figuresOf = (group: string) => bench.picker.figures().find(({ name }) => name === group);

async function created(group: string, gateway?: Record<string, unknown>): Promise<string> {
  await bench.createGroup(group, gateway);
  await until('the group is served', () => figuresOf(group));
  return `${bench.url}/${NAMESPACE}/${group}`;
}

test('holds requests at zero, wakes the group once, and serves them all when a worker comes', async () => {
  const url = await created('zero');
  const replies = Array.from({ length: 50 }, (_, at) => fetch(`${url}/v1/models?n=${at}`));
  await until('all of them wait', () => figuresOf('zero')?.heldRequests === 50);
  await until('the group is woken', async () => (await bench.wakes('zero')).length === 1);
  await bench.publish('zero', 'zero-a', greets('zero-a'));
  const texts = await Promise.all(replies.map(async (reply) => (await reply).text()));
  expect(texts.toSorted()).toEqual(
    Array.from({ length: 50 }, (_, at) => `zero-a /v1/models?n=${at}`).toSorted(),
  );
  await until('none is left', () => figuresOf('zero')?.inFlightRequests === 0);
  expect(figuresOf('zero')).toMatchObject({ heldRequests: 0, readyWorkers: 1 });
  expect(await bench.wakes('zero')).toHaveLength(1);
});

test('serves thousands of requests one after the other', async () => {
  const url = await created('many');
  await bench.publish('many', 'many-a', greets('many-a'));
  const statuses = new Map<number, number>();
  const client = async (): Promise<void> => {
    for (let sent = 0; sent < 300; sent += 1) {
      const reply = await fetch(url);
      await reply.text();
      statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 10 }, client));
  expect(Object.fromEntries(statuses)).toEqual({ 200: 3_000 });
}, 60_000);

test('forgets a request whose client leaves while it is held', async () => {
  const url = await created('left');
  const leaving = new AbortController();
  const reply = fetch(url, { signal: leaving.signal }).catch(() => 'left');
  await until('it waits', () => figuresOf('left')?.heldRequests === 1);
  leaving.abort();
  expect(await reply).toBe('left');
  await until('it is out of the queue', () => figuresOf('left')?.heldRequests === 0, 2_000);
});

test('counts no request for ever whose client leaves just when a worker is picked for it', async () => {
  const url = await created('leaving');
  const clients = Array.from({ length: 300 }, () => new AbortController());
  const replies = clients.map(({ signal }) => fetch(url, { signal }).catch(() => 'left'));
  await until('all of them wait', () => figuresOf('leaving')?.heldRequests === 300);
  // It never answers: only a client that leaves ends a request.
  const published = bench.publish('leaving', 'leaving-a', (request) => request.resume());
  for (const client of clients) {
    client.abort();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all([published, ...replies]);
  await until('none is counted', () => figuresOf('leaving')?.inFlightRequests === 0, 5_000);
  expect(figuresOf('leaving')).toMatchObject({ heldRequests: 0, inFlightRequests: 0 });
});

test('tries another worker when the first one refuses, and the client sees its answer alone', async () => {
  const url = await created('retry', { retries: 'All' });
  let refused = 0;
  const refuses: RequestListener = (request, response) => {
    refused++;
    request.resume();
    response.writeHead(503).end('busy');
  };
  await bench.publish('retry', 'retry-a', refuses);
  await bench.publish('retry', 'retry-b', greets('retry-b'));
  await until('both are known', () => figuresOf('retry')?.readyWorkers === 2);
  const reply = await fetch(`${url}/x`, { method: 'POST', body: 'prompt' });
  expect([reply.status, await reply.text()]).toEqual([200, 'retry-b /x']);
  await until('its end is logged', () => figuresOf('retry')?.inFlightRequests === 0);
  // The one that refused comes last from now on.
  expect((await fetch(`${url}/y`)).status).toBe(200);
  expect(refused).toBe(1);
});

test('sends the requests of a session to one worker, by either header', async () => {
  const url = await created('session', { routing: 'Session' });
  const workers = ['session-a', 'session-b', 'session-c'];
  for (const worker of workers) await bench.publish('session', worker, greets(worker));
  await until('all are known', () => figuresOf('session')?.readyWorkers === 3);
  const asked = async (headers: Record<string, string>) => (await fetch(url, { headers })).text();
  const sessions = Array.from({ length: 12 }, (_, at) => `session ${at}`);
  const own = await Promise.all(sessions.map((session) => asked({ 'x-gpurental-session': session })));
  const again = await Promise.all(sessions.map((session) => asked({ 'x-session-id': session })));
  expect(again).toEqual(own);
  expect(new Set(own).size).toBeGreaterThan(1);
});

test('passes a stream on as it comes', async () => {
  const url = await created('stream');
  const gates = Promise.withResolvers<void>();
  await bench.publish('stream', 'stream-a', (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: 1\n\n');
    gates.promise.then(
      () => response.end('data: 2\n\n'),
      () => {},
    );
  });
  const reply = await fetch(url);
  const reader = reply.body?.getReader();
  const first = await reader?.read();
  expect(Buffer.from(first?.value ?? []).toString()).toBe('data: 1\n\n');
  gates.resolve();
  const second = await reader?.read();
  expect(Buffer.from(second?.value ?? []).toString()).toBe('data: 2\n\n');
});

test('lets only callers with a key of the Secret in', async () => {
  const hash = createHash('sha256').update('key-of-alice').digest('hex');
  await putKeys(bench.kube, 'callers', { alice: hash });
  const url = await created('keyed', { keys: { secretName: 'callers' } });
  await bench.publish('keyed', 'keyed-a', greets('keyed-a'));
  await until('its worker is known', () => figuresOf('keyed')?.readyWorkers === 1);
  const asked = async (key: string) => fetch(url, { headers: { authorization: `Bearer ${key}` } });
  const right = await until('the keys are read', async () => {
    const reply = await asked('key-of-alice');
    return reply.status === 200 && reply;
  });
  expect(await right.text()).toBe('keyed-a /');
  const wrong = await asked('key-of-eve');
  expect(wrong.status).toBe(401);
  expect(await wrong.json()).toMatchObject({ error: { code: 'invalid_api_key', param: null } });
  expect(wrong.headers.get('x-should-retry')).toBe('false');
  await until('both are counted', async () =>
    (await bench.registry.expose()).includes('caller="alice",code="200"'),
  );
});

test('answers 503 with the reason at once when no worker can be started', async () => {
  const url = await created('blocked');
  const waiting = fetch(url);
  await until('it waits', () => figuresOf('blocked')?.heldRequests === 1);
  const message = 'No offer fits the template.';
  await bench.block('blocked', { reason: 'NoOffers', message });
  for (const reply of [await waiting, await fetch(url)]) {
    expect(reply.status).toBe(503);
    expect(reply.headers.get('retry-after')).toBe('60');
    expect(await reply.json()).toMatchObject({
      error: { code: 'workers_blocked', message: `NoOffers: ${message}` },
    });
  }
});

test('knows no other group', async () => {
  const reply = await fetch(`${bench.url}/default/nothing/v1`);
  expect(reply.status).toBe(404);
  expect(await reply.json()).toMatchObject({ error: { code: 'group_not_found' } });
});
