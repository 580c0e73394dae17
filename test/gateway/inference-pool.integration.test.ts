import { request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../builders/until.ts';
import { type GatewayBench, gatewayBench, NAMESPACE } from './gateway-bench.ts';
import { healthOf } from './grpc-health.ts';

const EXTENSIONS = 'type.googleapis.com/envoy.extensions';
const DESTINATION = 'x-gateway-destination-endpoint';

interface Modes {
  readonly request: string;
  readonly response: string;
}

/**
 * An Envoy as the proxies of the Gateway API Inference Extension configure it: bodies in full duplex, and a cluster that
 * goes where the header says. A client's `x-subset` is the hint of the data plane, a worker's `x-served` its report.
 */
const proxyConfig =
  ({ request, response }: Modes) =>
  (listen: number, picker: number): string => {
    const address = (port: number) => ({ socket_address: { address: '127.0.0.1', port_value: port } });
    const toMetadata = (rules: object) => ({
      name: 'envoy.filters.http.header_to_metadata',
      typed_config: { '@type': `${EXTENSIONS}.filters.http.header_to_metadata.v3.Config`, ...rules },
    });
    const rule = (header: string, namespace: string, key: string) => ({
      header,
      on_header_present: { metadata_namespace: namespace, key, type: 'STRING' },
    });
    const processor = {
      name: 'envoy.filters.http.ext_proc',
      typed_config: {
        '@type': `${EXTENSIONS}.filters.http.ext_proc.v3.ExternalProcessor`,
        grpc_service: { envoy_grpc: { cluster_name: 'picker' }, timeout: '300s' },
        message_timeout: '300s',
        processing_mode: {
          request_header_mode: 'SEND',
          response_header_mode: 'SEND',
          request_body_mode: request,
          response_body_mode: response,
          request_trailer_mode: request === 'FULL_DUPLEX_STREAMED' ? 'SEND' : 'SKIP',
          response_trailer_mode: response === 'FULL_DUPLEX_STREAMED' ? 'SEND' : 'SKIP',
        },
        metadata_options: {
          forwarding_namespaces: { untyped: ['envoy.lb', 'envoy.lb.subset_hint'] },
          receiving_namespaces: { untyped: ['envoy.lb'] },
        },
      },
    };
    const manager = {
      '@type': `${EXTENSIONS}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
      stat_prefix: 'pool',
      // What the picker sets as metadata comes back to the client, to be seen here.
      route_config: {
        virtual_hosts: [
          {
            name: 'pool',
            domains: ['*'],
            routes: [{ match: { prefix: '/' }, route: { cluster: 'pool', timeout: '0s' } }],
            response_headers_to_add: [
              { header: { key: 'x-picked', value: `%DYNAMIC_METADATA(envoy.lb:${DESTINATION})%` } },
            ],
          },
        ],
      },
      http_protocol_options: { enable_trailers: true },
      http_filters: [
        toMetadata({
          request_rules: [rule('x-subset', 'envoy.lb.subset_hint', 'x-gateway-destination-endpoint-subset')],
        }),
        processor,
        toMetadata({
          response_rules: [rule('x-served', 'envoy.lb', 'x-gateway-destination-endpoint-served')],
        }),
        {
          name: 'envoy.filters.http.router',
          typed_config: { '@type': `${EXTENSIONS}.filters.http.router.v3.Router` },
        },
      ],
    };
    const filter = { name: 'envoy.filters.network.http_connection_manager', typed_config: manager };
    return JSON.stringify({
      static_resources: {
        listeners: [
          {
            name: 'pool',
            address: address(listen),
            filter_chains: [{ filters: [filter] }],
          },
        ],
        clusters: [
          {
            name: 'pool',
            type: 'ORIGINAL_DST',
            lb_policy: 'CLUSTER_PROVIDED',
            original_dst_lb_config: { use_http_header: true, http_header_name: DESTINATION },
            typed_extension_protocol_options: {
              'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
                '@type': `${EXTENSIONS}.upstreams.http.v3.HttpProtocolOptions`,
                explicit_http_config: { http_protocol_options: { enable_trailers: true } },
              },
            },
          },
          {
            name: 'picker',
            type: 'STATIC',
            load_assignment: {
              cluster_name: 'picker',
              endpoints: [{ lb_endpoints: [{ endpoint: { address: address(picker) } }] }],
            },
            typed_extension_protocol_options: {
              'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
                '@type': `${EXTENSIONS}.upstreams.http.v3.HttpProtocolOptions`,
                explicit_http_config: { http2_protocol_options: {} },
              },
            },
          },
        ],
      },
    });
  };

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const workOf = (bench: GatewayBench): number => {
  const [report] = bench.picker.report();
  return report ? report.arrivedWork - report.overestimatedWork : 0;
};
const figuresOf = (bench: GatewayBench) => bench.picker.figures()[0];
const isIdle = (bench: GatewayBench): boolean => figuresOf(bench)?.inFlightRequests === 0;

/** Answers with its name, the received text, and the requested usage. */
const says =
  (name: string): RequestListener =>
  (request, response) => {
    bodyOf(request).then(
      (body) => {
        const { length } = body;
        const usage = { total_tokens: Number(request.headers['x-tokens'] ?? 0) };
        const trailer = request.trailers['x-trailer'];
        response.setHeader('content-type', 'application/json');
        const { 'x-claims': claims } = request.headers;
        if (claims) response.setHeader('x-served', claims);
        response.end(JSON.stringify({ name, path: request.url, length, trailer, usage }));
      },
      () => response.destroy(),
    );
  };

describeModes('FULL_DUPLEX_STREAMED', 'FULL_DUPLEX_STREAMED');
describeModes('BUFFERED', 'NONE');
describeModes('NONE', 'NONE');

/** Declares the tests that hold in each mode of a proxy. */
function describeModes(request: string, response: string): void {
  test(`holds, picks and counts for a proxy that sends bodies ${request}`, async () => {
    const bench = await poolBench({ request, response });
    const body = JSON.stringify({ messages: [], max_tokens: 50, user: 'x'.repeat(200_000) });
    const replies = [1, 2, 3].map((at) =>
      fetch(`${bench.url}/v1/chat/completions?n=${at}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-tokens': String(at * 1000) },
        body,
      }),
    );
    await until('they wait', () => figuresOf(bench)?.heldRequests === 3);
    await until('the group is woken', async () => (await bench.wakes('llm')).length === 1);
    await bench.publish('llm', 'llm-a', says('llm-a'));
    for (const [at, reply] of (await Promise.all(replies)).entries()) {
      expect(reply.status).toBe(200);
      expect(reply.headers.get('x-picked')).toBe(await bench.addressOf('llm-a'));
      const path = `/v1/chat/completions?n=${at + 1}`;
      expect(await reply.json()).toMatchObject({ name: 'llm-a', path, length: body.length });
    }
    await until('all have ended', () => isIdle(bench));
    const estimate = Math.ceil(body.length / 4) + (request === 'NONE' ? 0 : 50);
    expect(workOf(bench)).toBe(response === 'NONE' ? 3 * estimate : 6000);
    expect(await (await fetch(`${bench.url}/health`)).json()).toMatchObject({ path: '/health' });
    await bench.close();
  });
}

async function poolBench({ request, response }: Modes): Promise<GatewayBench> {
  const bench = await gatewayBench({
    other: { pool: `${NAMESPACE}/llm`, envoyConfig: proxyConfig({ request, response }) },
  });
  await bench.createGroup('llm', { work: 'OpenAITokens' });
  await until('the group is served', () => figuresOf(bench));
  return bench;
}

let shared: GatewayBench;
beforeAll(async () => {
  shared = await poolBench({ request: 'FULL_DUPLEX_STREAMED', response: 'FULL_DUPLEX_STREAMED' });
  for (const name of ['llm-a', 'llm-b']) await shared.publish('llm', name, says(name));
  await until('both are known', () => figuresOf(shared)?.readyWorkers === 2);
});
afterAll(() => shared?.close());

test('passes bodies of any length and trailers through the picker, byte for byte', async () => {
  const reply = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      trailer: 'x-trailer',
      'transfer-encoding': 'chunked',
    };
    const sent = httpRequest(`${shared.url}/v1/completions`, { method: 'POST', headers }, resolve);
    sent.on('error', reject);
    for (let at = 0; at < 50; at++) sent.write('x'.repeat(100_000));
    sent.addTrailers({ 'x-trailer': 'last' });
    sent.end();
  });
  expect(JSON.parse((await bodyOf(reply)).toString())).toMatchObject({ length: 5_000_000, trailer: 'last' });
  await until('it has ended', () => isIdle(shared));
});

test('keeps what it holds within bounds, and forgets a request whose client leaves', async () => {
  const bench = await poolBench({ request: 'FULL_DUPLEX_STREAMED', response: 'FULL_DUPLEX_STREAMED' });
  const leaving = new AbortController();
  const left = fetch(bench.url, { signal: leaving.signal }).catch(() => 'left');
  const body = JSON.stringify({ prompt: 'x'.repeat(5_000_000) });
  const headers = { 'content-type': 'application/json' };
  const reply = fetch(`${bench.url}/v1/completions`, { method: 'POST', headers, body });
  await until('both wait', () => figuresOf(bench)?.heldRequests === 2);
  leaving.abort();
  expect(await left).toBe('left');
  await until('one waits', () => figuresOf(bench)?.heldRequests === 1);
  await bench.publish('llm', 'llm-a', says('llm-a'));
  expect(await (await reply).json()).toMatchObject({ length: body.length });
  await until('it has ended', () => isIdle(bench));
  await bench.close();
});

test('picks within the subset that the proxy allows, and refuses where none of it is a worker', async () => {
  const [a, b] = [await shared.addressOf('llm-a'), await shared.addressOf('llm-b')];
  const asked = async (subset: string) => {
    const reply = await fetch(`${shared.url}/x`, { headers: { 'x-subset': subset } });
    return reply.status === 200 ? ((await reply.json()) as { readonly name: string }).name : reply;
  };
  for (let round = 0; round < 3; round++) {
    expect(await asked(a)).toBe('llm-a');
    expect(await asked(`192.0.2.1:80, ${b}`)).toBe('llm-b');
  }
  const refused = (await asked('192.0.2.1:80')) as Response;
  expect(refused.status).toBe(503);
  expect(await refused.json()).toMatchObject({ error: { code: 'no_endpoint_in_subset' } });
  await until('all have ended', () => isIdle(shared));
});

test('learns from the proxy which worker served and failed', async () => {
  const other = await shared.addressOf('llm-b');
  const reply = await fetch(`${shared.url}/x`, { headers: { 'x-claims': other } });
  expect(reply.status).toBe(200);
  await reply.text();
  await until('it has ended', () => isIdle(shared));
  await until('its choice is taken for one that failed', () =>
    shared.picker.report()[0]?.workers.some(({ name, failing }) => name === 'llm-a' && failing !== undefined),
  );
});

test('says its health as the protocol asks', async () => {
  for (const service of ['', 'liveness', 'readiness', 'envoy.service.ext_proc.v3.ExternalProcessor'])
    expect(await healthOf(shared.grpcPort, service)).toBe('SERVING');
  expect(await healthOf(shared.grpcPort, 'other')).toBe('5');
});

test('refuses requests of a group whose workers take TLS alone', async () => {
  const bench = await gatewayBench({
    other: {
      pool: `${NAMESPACE}/llm`,
      envoyConfig: proxyConfig({ request: 'FULL_DUPLEX_STREAMED', response: 'NONE' }),
    },
  });
  const absent = await fetch(bench.url);
  expect([absent.status, await absent.json()]).toMatchObject([503, { error: { code: 'group_not_found' } }]);
  await bench.createGroup('llm', { link: 'TLS' });
  await until('the group is served', () => figuresOf(bench));
  const reply = await fetch(bench.url);
  expect([reply.status, await reply.json()]).toMatchObject([503, { error: { code: 'link_unsupported' } }]);
  await bench.close();
});
