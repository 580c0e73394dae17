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

/** A copy that does not change. */
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

/** A picker of these groups, connected to a stand-in of Envoy. */
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
  envoy.connect();
  await clock.settle();
  const figures = (group = 'llm') => picker.figures().find(({ name }) => name === group);
  return { picker, envoy, clock, registry, figures, wakes: patched };
}

const POST = { ':method': 'POST', ':path': '/default/llm/v1/chat/completions' };
const JSON_POST = { ...POST, 'content-type': 'application/json' };

const statusOf = (answers: readonly ProcessingResponse[]) => {
  const last = answers.at(-1)?.response;
  return last?.case === 'immediateResponse' ? last.value.status?.code : last?.case;
};

test('A6: cuts a body that has not arrived when its time since the pick is over', async () => {
  const { envoy, clock } = await opened({ working: ['llm'], bodyTimeoutMs: 60_000 });
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
