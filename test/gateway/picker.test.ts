import { expect, test } from 'vitest';
import { ProcessingMode_HeaderSendMode } from '../../proto/gen/envoy/ext_proc_filter_pb.js';
import type { ProcessingResponse } from '../../proto/gen/envoy/ext_proc_pb.js';
import { API_VERSION } from '../../src/api/v1alpha1/names.ts';
import {
  type GatewayGroup,
  groupOfSlice,
  keptGroup,
  keptSlice,
  type WorkerSlice,
} from '../../src/gateway/group-view.ts';
import { Picker, type PickerOptions } from '../../src/gateway/picker.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { objectKey } from '../../src/runtime/kube/kube-object.ts';
import type { Informer } from '../../src/runtime/list-watch/informer.ts';
import { createGatewayMetrics } from '../../src/server/gateway-metrics.ts';
import { createMetricRegistry } from '../../src/server/metric-registry.ts';
import { createVirtualClock } from '../builders/virtual-clock.ts';
import { sliceOf } from '../builders/worker-slice.ts';
import { EnvoyStandIn } from './envoy-stand-in.ts';

interface Given extends Partial<PickerOptions> {
  readonly groups?: never;
  readonly slices?: never;
  /** spec.gateway by name of the group. */
  readonly gateways?: Readonly<Record<string, object>>;
  /** Names of groups, each with one worker. */
  readonly working?: readonly string[];
}

/** Returns a cache that does not change. */
function copyOf<T extends GatewayGroup | WorkerSlice>(
  objects: readonly T[],
  groupOf: (object: T) => string,
): Informer<T> {
  const copy: Partial<Informer<T>> = {
    onChange: () => () => {},
    list: () => objects,
    get: (key) => objects.find(({ metadata }) => objectKey(metadata) === key),
    byIndex: (_, group) => objects.filter((object) => groupOf(object) === group),
  };
  return copy as Informer<T>;
}

/** Opens a picker of these groups, connected to a stand-in for Envoy. */
async function opened({ gateways = { llm: {} }, working = [], ...options }: Given = {}) {
  const clock = createVirtualClock();
  const ports = [{ name: 'http', containerPort: 8000, protocol: 'TCP' }];
  const registry = createMetricRegistry();
  const groups = Object.entries(gateways).map(([name, gateway]) =>
    keptGroup({
      ...{ apiVersion: API_VERSION, kind: 'EndpointGroup', metadata: { namespace: 'default', name } },
      spec: { gateway, maxQueueTime: '30s', template: { spec: { ports } } },
    } as never),
  );
  const slices = working.map((group, at) =>
    keptSlice(
      sliceOf({ namespace: 'default', group, worker: `${group}-a`, slice: group, port: 4000 + at }, 'uid'),
    ),
  );
  const patched: unknown[] = [];
  const picker = new Picker({
    groups: copyOf(groups, ({ metadata }) => objectKey(metadata)),
    slices: copyOf(slices, groupOfSlice),
    client: {
      get: async () => undefined,
      patch: async (_: unknown, ref: unknown) => void patched.push(ref),
    } as never,
    ...{ clock, random: seededRandom(1), log: silentLogger, metrics: createGatewayMetrics(registry) },
    addresses: { allowPrivate: false, mapAddress: (address) => address },
    ...options,
  });
  picker.start();
  const envoy = new EnvoyStandIn(picker);
  const disconnect = envoy.connect();
  await clock.settle();
  const figures = (group = 'llm') => picker.figures().find(({ name }) => name === group);
  return { picker, envoy, clock, registry, figures, disconnect, wakes: patched };
}

const POST = { ':method': 'POST', ':path': '/default/llm/v1/chat/completions' };
const JSON_POST = { ...POST, 'content-type': 'application/json' };

/** Headers that the picker sets on the request, by name. */
function setOn(answers: readonly ProcessingResponse[]): Readonly<Record<string, string>> {
  const last = answers.at(-1)?.response;
  const set = last?.case === 'requestHeaders' ? last.value.response?.headerMutation?.setHeaders : [];
  return Object.fromEntries(
    (set ?? []).map(({ header }) => [header?.key, Buffer.from(header?.rawValue ?? []).toString()]),
  );
}

const statusOf = (answers: readonly ProcessingResponse[]) => {
  const last = answers.at(-1)?.response;
  return last?.case === 'immediateResponse' ? last.value.status?.code : last?.case;
};

test('A6: cuts a body that has not arrived when its time since the pick is over', async () => {
  const { envoy, clock } = await opened({ working: ['llm'], bodyTimeoutMs: 60_000 });
  await clock.advance(600_000);
  const slow = envoy.request(POST, false);
  await clock.settle();
  await clock.advance(59_999);
  envoy.lasts(slow.id());
  expect(statusOf(slow.answers)).toBe('requestHeaders');
  await clock.advance(1);
  envoy.lasts(slow.id());
  expect(statusOf(slow.answers)).toBe(408);
});

test('A6: leaves a request alone whose body has arrived, that has no body or whose response began', async () => {
  const { envoy, clock } = await opened({ working: ['llm'], bodyTimeoutMs: 60_000 });
  const arrived = envoy.request(POST, false);
  const answered = envoy.request(POST, false);
  await clock.settle();
  answered.close();
  await clock.advance(600_000);
  envoy.lasts(arrived.id(), false);
  envoy.lasts(answered.id());
  envoy.lasts('unknown');
  expect([arrived, answered].map(({ answers }) => statusOf(answers))).toEqual([
    'requestHeaders',
    'requestHeaders',
  ]);
});

test.each([
  ['a body', POST, false, ProcessingMode_HeaderSendMode.SEND],
  ['no body', POST, true, undefined],
  ['a websocket', { ...POST, ':method': 'GET', upgrade: 'WebSocket' }, false, undefined],
  [
    'a body that says that it is a websocket',
    { ...POST, upgrade: 'websocket' },
    false,
    ProcessingMode_HeaderSendMode.SEND,
  ],
])('A6: keeps the stream of a request with %s open for a cut: mode %s', async (_, headers, isWhole, mode) => {
  const { envoy, clock } = await opened({ working: ['llm'], bodyTimeoutMs: 60_000 });
  const request = envoy.request(headers, isWhole);
  await clock.settle();
  expect(request.id()).not.toBe('');
  expect(request.answers[0]?.modeOverride?.requestTrailerMode).toBe(mode);
});

test('A6: counts a request before its body is read', async () => {
  const { envoy, clock, figures, wakes } = await opened({
    gateways: { llm: { work: 'OpenAITokens', maxHeld: 2 } },
  });
  const requests = [1, 2, 3].map(() => envoy.request(JSON_POST, false));
  await clock.settle();
  expect(figures()?.heldRequests).toBe(2);
  expect(requests.map(({ answers }) => statusOf(answers))).toEqual(['requestHeaders', 'requestHeaders', 503]);
  expect(wakes).toEqual([]);
  await clock.advance(30_000);
  expect(requests.map(({ answers }) => statusOf(answers))).toEqual([408, 408, 503]);
});

const KIB = 1024;
const upload = (group: string, length: number, address = '198.51.100.1') => ({
  ...POST,
  ':path': `/default/${group}/v1`,
  'content-length': String(length),
  'x-forwarded-for': address,
});

test('A5: counts a request that waits with the part of its body that Envoy buffers', async () => {
  const { envoy, clock, figures } = await opened({ gateways: { llm: { maxHeldBytes: '1Mi' } } });
  const lengths = [10, ...Array.from({ length: 5 }, () => 1024 * KIB)];
  const requests = lengths.map((length) => envoy.request(upload('llm', length), false));
  await clock.settle();
  // 64 KiB each, and up to 128 KiB of the body.
  expect(requests.map(({ answers }) => statusOf(answers) ?? 'held')).toEqual([
    ...['held', 'held', 'held', 'held', 'held'],
    503,
  ]);
  expect(figures()?.heldRequests).toBe(5);
});

test('A5: frees the memory of a request that leaves, for its client and for all', async () => {
  const { envoy, clock, figures } = await opened({ gateways: { llm: { maxHeldBytes: '1Mi' } } });
  for (let count = 0; count < 20; count += 1) {
    const request = envoy.request(upload('llm', 1024 * KIB), false);
    await clock.settle();
    expect(figures()?.heldRequests).toBe(1);
    request.close();
    expect(figures()?.heldRequests).toBe(0);
  }
});

test('A5: the group that takes most memory gives way, whichever is served first', async () => {
  const gateways = { few: {}, many: {}, none: {} };
  const { envoy, clock, figures } = await opened({ gateways, maxHeldBytes: 700 * KIB });
  const few = envoy.request(upload('few', 0), false);
  for (let count = 0; count < 5; count += 1) envoy.request(upload('many', 1024 * KIB), false);
  await clock.settle();
  expect(statusOf(few.answers)).toBeUndefined();
  expect([figures('few'), figures('many')].map((group) => group?.heldRequests)).toEqual([1, 3]);
});

test('A14: gives one address half of all connections, and room again when they close', async () => {
  const { envoy, registry } = await opened({ maxConnections: 10 });
  const openedBy = (address: string, from: number) =>
    Array.from({ length: 10 }, (_, at) => envoy.open(address, from + at)).filter((isOpen) => isOpen).length;
  expect([openedBy('198.51.100.1', 1), openedBy('198.51.100.2', 1)]).toEqual([5, 3]);
  expect(await registry.expose()).toMatch(/gpu_rental_gateway_refused_connections_total 12/);
  for (let port = 1; port <= 10; port += 1) envoy.close('198.51.100.1', port);
  expect(openedBy('198.51.100.1', 100)).toBe(4);
});

test('A14: forgets the connections of an Envoy that was started again', async () => {
  const { envoy, disconnect } = await opened({ maxConnections: 2 });
  expect([envoy.open('198.51.100.1', 1), envoy.open('198.51.100.1', 2)]).toEqual([true, false]);
  disconnect();
  envoy.connect();
  expect(envoy.open('198.51.100.1', 3)).toBe(true);
});

test('clients without keys are the addresses that a trusted proxy has written', async () => {
  const { envoy, clock } = await opened({ gateways: { llm: { maxHeldPerClient: 1 } } });
  const said = ['203.0.113.1, 198.51.100.1', '203.0.113.2, 198.51.100.1', '203.0.113.2, 198.51.100.2'];
  const requests = said.map((address) => envoy.request(upload('llm', 0, address)));
  await clock.settle();
  expect(requests.map(({ answers }) => statusOf(answers))).toEqual([undefined, 503, undefined]);
});

test.each([
  ['Idempotent', 'POST', 'Unseen'],
  ['Idempotent', 'PATCH', 'Unseen'],
  ['Idempotent', 'GET', 'Full'],
  ['Idempotent', 'DELETE', 'Full'],
  ['All', 'POST', 'Full'],
  ['None', 'GET', 'None'],
])('A15: with retries %s a %s is repeated as the route %s says', async (retries, method, route) => {
  const { envoy, clock } = await opened({ gateways: { llm: { retries } }, working: ['llm'] });
  const { answers } = envoy.request({ ...POST, ':method': method });
  await clock.settle();
  expect(setOn(answers)).toMatchObject({ 'x-gateway-retry': route, 'x-gateway-cluster': 'default/llm' });
});

const PREFLIGHT = { ...POST, ':method': 'OPTIONS', origin: 'https://app.example.com' };
const CORS = {
  allowOrigins: ['https://app.example.com'],
  ...{ allowMethods: ['POST'], allowHeaders: ['*'], maxAge: '10m' },
};

test.each([
  ['a preflight', { ...PREFLIGHT, 'access-control-request-method': 'POST' }, { cors: CORS }, 204],
  ['a preflight without cors', { ...PREFLIGHT, 'access-control-request-method': 'POST' }, {}, 503],
  ['OPTIONS', PREFLIGHT, { cors: CORS }, 503],
  ['HEAD', { ...POST, ':method': 'HEAD' }, {}, 503],
  ['a quiet path', { ...POST, ':method': 'GET', ':path': '/default/llm/health?full=1' }, {}, 503],
])('B10: answers %s at once, and wakes nothing', async (_, headers, gateway, status) => {
  const { envoy, clock, figures, wakes } = await opened({ gateways: { llm: gateway } });
  const { answers } = envoy.request(headers);
  await clock.settle();
  expect([statusOf(answers), figures()?.heldRequests, wakes]).toEqual([status, 0, []]);
});

test('wakes a group for a request that is work', async () => {
  const { envoy, clock, wakes } = await opened();
  envoy.request(POST);
  await clock.settle();
  expect(wakes).toEqual([{ namespace: 'default', name: 'llm' }]);
});
