import { createHash } from 'node:crypto';
import { request as httpRequest, type RequestListener } from 'node:http';
import { connect as http2Connect } from 'node:http2';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { labels, OPERATOR_NAME } from '../../src/api/v1alpha1/names.ts';
import { endpointSliceResource } from '../../src/runtime/kube/core-resources.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import { until } from '../builders/until.ts';
import { type GatewayBench, gatewayBench, NAMESPACE, putKeys } from './gateway-bench.ts';
import { type RawClient, rawClient } from './raw-client.ts';

let bench: GatewayBench;
const clients: RawClient[] = [];
beforeAll(async () => {
  bench = await gatewayBench({ bootstrap: { idleTimeoutMs: 1_500 } });
});
afterEach(() => {
  for (const { socket } of clients.splice(0)) socket.destroy();
});
afterAll(() => bench?.close());

const figuresOf = (group: string) => bench.picker.figures().find(({ name }) => name === group);

async function created(group: string, gateway?: Record<string, unknown>): Promise<string> {
  await bench.createGroup(group, gateway);
  await until('the group is served', () => figuresOf(group));
  return `${bench.url}/${NAMESPACE}/${group}`;
}

async function working(group: string, gateway: Record<string, unknown>, answer: RequestListener) {
  const url = await created(group, gateway);
  await bench.publish(group, `${group}-a`, answer);
  await until('its worker is known', () => figuresOf(group)?.readyWorkers === 1);
  return url;
}

async function raw(text: string | Uint8Array): Promise<RawClient> {
  const client = await rawClient(bench.url, text);
  clients.push(client);
  return client;
}

const ok: RequestListener = (request, response) => {
  request.resume();
  response.end('ok');
};

const head = (group: string, headers: readonly string[]) =>
  [`POST /${NAMESPACE}/${group}/v1/chat/completions HTTP/1.1`, 'host: x', ...headers, '', ''].join('\r\n');
const JSON_TYPE = 'content-type: application/json';

test('A6: counts requests whose bodies never end, and wakes nothing for them', async () => {
  await created('endless', { work: 'OpenAITokens', maxHeld: 10 });
  for (let count = 0; count < 30; count += 1)
    await raw(`${head('endless', [JSON_TYPE, 'transfer-encoding: chunked'])}5\r\n{"mes\r\n`);
  await until('10 of them are held', () => figuresOf('endless')?.heldRequests === 10);
  await until(
    '20 are refused',
    () => clients.filter((one) => one.read().includes('queue_full')).length === 20,
  );
  expect(clients.every((one) => !one.read().includes('200 OK'))).toBe(true);
  expect(await bench.wakes('endless')).toEqual([]);
});

test('A6: counts requests whose bodies never begin', async () => {
  await created('headers', { work: 'OpenAITokens', maxHeld: 10 });
  for (let count = 0; count < 30; count += 1) await raw(head('headers', [JSON_TYPE, 'content-length: 100']));
  await until(
    '20 are refused',
    () => clients.filter((one) => one.read().includes('queue_full')).length === 20,
  );
  expect(figuresOf('headers')?.heldRequests).toBe(10);
  expect(await bench.wakes('headers')).toEqual([]);
});

test('A6: counts streams of one HTTP/2 connection, which has at most 100', async () => {
  await created('streams', { work: 'OpenAITokens', maxHeld: 10 });
  const session = http2Connect(bench.url);
  session.on('error', () => {});
  await new Promise<void>((resolve) => {
    session.once('remoteSettings', () => resolve());
  });
  expect(session.remoteSettings.maxConcurrentStreams).toBe(100);
  const path = `/${NAMESPACE}/streams/v1/chat/completions`;
  const statuses: number[] = [];
  for (let count = 0; count < 30; count += 1) {
    const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/json' });
    stream.on('response', (headers) => statuses.push(Number(headers[':status'])));
    stream.on('error', () => {});
    stream.resume();
  }
  await until('20 are refused', () => statuses.filter((status) => status === 503).length === 20);
  expect(figuresOf('streams')?.heldRequests).toBe(10);
  session.destroy();
});

test('A5: limits the memory of requests that wait, and the client that takes most gives way', async () => {
  const hash = (key: string) => createHash('sha256').update(key).digest('hex');
  await putKeys(bench.kube, 'tenants', { greedy: hash('greedy'), modest: hash('modest') });
  await created('memory', { maxHeldBytes: '3Mi', keys: { secretName: 'tenants' } });
  const by = (key: string, length: number) =>
    head('memory', [`authorization: Bearer ${key}`, `content-length: ${length}`]);
  const probe = `${bench.url}/${NAMESPACE}/memory/health`;
  const asModest = { headers: { authorization: 'Bearer modest' } };
  await until('the keys are read', async () => {
    const reply = await (await fetch(probe, asModest)).text();
    return reply.includes('no_worker_ready');
  });
  const modest = await raw(`${by('modest', 10)}0123456789`);
  for (let count = 0; count < 30; count += 1) await raw(by('greedy', 1_048_576));
  const refused = () => clients.filter((one) => one.read().includes('maxHeldBytes')).length;
  await until('some are refused', () => refused() > 10);
  // 192 KiB each, beside the 64 KiB of the other one.
  expect(figuresOf('memory')?.heldRequests).toBe(1 + 15);
  expect(modest.read()).toBe('');
});

test('A5: limits the requests of one client', async () => {
  await created('client', { maxHeldPerClient: 3 });
  for (let count = 0; count < 5; count += 1) await raw(head('client', ['content-length: 0']));
  const refused = () => clients.filter((one) => one.read().includes('maxHeldPerClient')).length;
  await until('two are refused', () => refused() === 2);
  expect(figuresOf('client')?.heldRequests).toBe(3);
});

test('A14: closes connections of clients that stay idle', async () => {
  const client = await raw('');
  await client.closed;
  const kept = await raw(`GET / HTTP/1.1\r\nhost: x\r\n\r\n`);
  await kept.closed;
  expect(kept.read()).toContain('404');
});

test('M4: accepts HTTP/1.0, with and without a Host', async () => {
  await working('old', {}, ok);
  for (const host of ['host: x\r\n', '']) {
    const client = await raw(`GET /${NAMESPACE}/old/v1 HTTP/1.0\r\n${host}\r\n`);
    await client.closed;
    expect(client.read()).toMatch(/^HTTP\/1\.[01] 200 OK[\s\S]*ok$/);
  }
});

test('M7: keeps addresses of callers and internal headers from the worker', async () => {
  const seen: Record<string, unknown>[] = [];
  const url = await working('private', {}, (request, response) => {
    seen.push(request.headers);
    ok(request, response);
  });
  const headers = {
    'x-forwarded-for': '198.51.100.9',
    'x-real-ip': '198.51.100.9',
    forwarded: 'for=198.51.100.9',
    via: '1.1 proxy.internal',
    'x-envoy-retry-on': '5xx',
    'x-envoy-max-retries': '9',
    'x-envoy-anything': 'x',
    'x-gpurental-work': '3',
    'x-gpurental-session': 's',
    'x-gateway-destination-endpoint': '203.0.113.99:1',
    'x-gateway-cluster': 'default/other',
    'x-gateway-retry': 'Full',
    'x-own': 'kept',
  };
  expect((await fetch(url, { headers })).status).toBe(200);
  expect((await fetch(url, { method: 'POST', headers, body: 'x' })).status).toBe(200);
  for (const one of seen) {
    expect(one['x-own']).toBe('kept');
    expect(JSON.stringify(one)).not.toMatch(
      /198\.51\.100\.9|127\.0\.0\.1:[^"]*,|proxy\.internal|203\.0\.113/,
    );
    expect(
      Object.keys(one).filter((name) => /^x-(envoy|gpurental|gateway|forwarded-for)/.test(name)),
    ).toEqual([]);
  }
  expect(seen).toHaveLength(2);
});

test.each([
  ['Idempotent', 'POST', 1],
  ['Idempotent', 'GET', 3],
  ['Idempotent', 'PUT', 3],
  ['All', 'POST', 3],
  ['None', 'GET', 1],
])('A15: with retries %s a %s that workers answer 503 runs %i times', async (retries, method, runs) => {
  const group = `again-${retries}-${method}`.toLowerCase();
  let count = 0;
  const refuses: RequestListener = (request, response) => {
    count += 1;
    request.resume();
    response.writeHead(503).end('busy');
  };
  const url = await created(group, { retries });
  for (const name of ['a', 'b', 'c']) await bench.publish(group, `${group}-${name}`, refuses);
  await until('all are known', () => figuresOf(group)?.readyWorkers === 3);
  const reply = await fetch(url, { method, ...(method !== 'GET' && { body: 'x' }) });
  expect([reply.status, await reply.text(), count]).toEqual([503, 'busy', runs]);
});

test('A15: a POST goes to another worker when the first one cannot be reached', async () => {
  const url = await working('unreached', {}, ok);
  const dead = { namespace: NAMESPACE, name: 'unreached-a-endpoint' };
  await bench.publish('unreached', 'unreached-b', ok);
  await until('both are known', () => figuresOf('unreached')?.readyWorkers === 2);
  const ports = [{ name: 'http', port: 1, protocol: 'TCP' }];
  await bench.kube.patch(endpointSliceResource, dead, { type: 'merge', body: { ports } });
  for (let count = 0; count < 3; count += 1)
    expect((await fetch(url, { method: 'POST', body: 'x' })).status).toBe(200);
});

test('A10: sends nothing to a slice that no GpuInstance owns', async () => {
  const url = await created('forged', { hold: '1s' });
  await bench.kube.create(endpointSliceResource, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      ...{ namespace: NAMESPACE, name: 'forged-endpoint' },
      labels: { [labels.managedBy]: OPERATOR_NAME, [labels.endpointGroup]: 'forged' },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['203.0.113.1'], conditions: { ready: true } }],
    ports: [{ name: 'http', port: Number(new URL(bench.url).port), protocol: 'TCP' }],
  } as KubeObject);
  expect(await (await fetch(url)).json()).toMatchObject({ error: { code: 'hold_expired' } });
});

const ORIGIN = 'https://app.example.com';
const CORS = { allowOrigins: [ORIGIN] };

function preflight(url: string, origin = ORIGIN) {
  const headers = {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type,x-stainless-os',
  };
  return new Promise<{ status: number; headers: Record<string, unknown> }>((resolve, reject) => {
    // fetch does not send these headers.
    httpRequest(url, { method: 'OPTIONS', headers }, (response) => {
      response.resume();
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
    })
      .on('error', reject)
      .end();
  });
}

test('B10: answers a preflight at zero, without a key, and wakes nothing', async () => {
  const url = await created('pages', { cors: CORS, keys: { secretName: 'no-such-secret' } });
  expect(await preflight(`${url}/v1/chat/completions`)).toMatchObject({
    status: 204,
    headers: {
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': 'authorization,content-type,x-stainless-os',
      'access-control-max-age': '600',
    },
  });
  const other = await preflight(url, 'https://evil.example');
  expect(other.status).toBe(204);
  expect(other.headers).not.toHaveProperty('access-control-allow-origin');
  expect(await bench.wakes('pages')).toEqual([]);
  const refused = await fetch(url, { headers: { origin: ORIGIN } });
  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([503, ORIGIN]);
});

test('B10: sets the headers of CORS on responses of workers', async () => {
  const url = await working('paged', { cors: CORS }, (request, response) => {
    response.setHeader('access-control-allow-origin', 'http://worker');
    ok(request, response);
  });
  const reply = await fetch(url, { headers: { origin: ORIGIN } });
  expect(await reply.text()).toBe('ok');
  expect(reply.headers.get('access-control-allow-origin')).toBe(ORIGIN);
  expect(reply.headers.get('access-control-expose-headers')).toContain('retry-after');
});

test.each([
  ['HEAD', '/v1/models'],
  ['OPTIONS', '/v1/models'],
  ['GET', '/health?full=1'],
])('B10: answers %s %s at zero at once, and wakes nothing', async (method, path) => {
  const group = `quiet-${method.toLowerCase()}`;
  const url = await created(group);
  const reply = await fetch(`${url}${path}`, { method });
  expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '10']);
  expect(await bench.wakes(group)).toEqual([]);
  await bench.publish(group, `${group}-a`, ok);
  await until('its worker is known', () => figuresOf(group)?.readyWorkers === 1);
  expect((await fetch(`${url}${path}`, { method })).status).toBe(200);
  const report = bench.picker.report().find(({ name }) => name === group);
  expect(report).toMatchObject({ arrivedWork: 0, refusedWork: 0 });
});
