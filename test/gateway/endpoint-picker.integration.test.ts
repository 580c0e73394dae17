import { afterEach, beforeAll, expect, test } from 'vitest';
import type { EndpointGroup } from '../../src/api/v1alpha1/endpoint-group.ts';
import { API_VERSION, endpointGroupResource } from '../../src/api/v1alpha1/names.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { type GpuRentProcess, gpuRent, killStarted, logged } from '../builders/gpu-rent-process.ts';
import { OperatorBench } from '../builders/running-operator.ts';
import { until } from '../builders/until.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { findFreePort } from '../cluster/free-port.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';
import { envoyBinary } from '../tools/envoy.ts';

const API_KEY = 'key-of-the-marketplace';
const LOOPBACK = '203.0.113.0/24=127.0.0.1';

let cluster: ClusterAccess;
let envoy: string;
beforeAll(async () => {
  cluster = sharedCluster();
  envoy = await envoyBinary();
});

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  killStarted();
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A marketplace whose running machines answer HTTP, a key for it, and a group at zero. */
async function scene(): Promise<{ bench: OperatorBench; simulator: Simulator; url: string }> {
  const simulator = createSimulator({
    apiKey: API_KEY,
    catalog: 60,
    machineServer: true,
    settings: { boot: { scale: 0.005 }, pauses: { scale: 0 } },
  });
  const listening = await simulator.listen(0);
  closing.push(() => listening.close());
  const bench = await OperatorBench.open(cluster);
  closing.push(() => bench.close());
  await bench.putKey(API_KEY);
  await bench.createAccount();
  await bench.kube.create(endpointGroupResource, groupIn(bench.namespace));
  return { bench, simulator, url: listening.url };
}

function groupIn(namespace: string): KubeObject {
  const ports = [{ name: 'http', containerPort: 8000 }];
  const template = { spec: { image: 'example/worker:1', offers: [{ maxPricePerHour: '100' }], ports } };
  const spec = { gateway: { link: 'TLS' }, coldWorkers: 0, expectedPerf: '100', template };
  return {
    apiVersion: API_VERSION,
    kind: 'EndpointGroup',
    metadata: { namespace, name: 'llm' },
    spec,
  } as KubeObject;
}

/** `reportsPort`: where it takes the reports of pickers. */
function startOperator(
  { namespace }: OperatorBench,
  marketplace: string,
  reportsPort: number,
): GpuRentProcess {
  return gpuRent(
    ...['operator', '--kubeconfig', cluster.kubeconfigPath],
    ...['--namespace', namespace, '--watch-namespace', namespace],
    ...['--marketplace-url', marketplace, '--pacing', 'off', '--address-map', LOOPBACK],
    ...['--late-call', '2s', '--list-lag', '1s', '--gone-spacing', '200ms', '--min-poll-interval', '300ms'],
    ...['--metrics-bind-address', `127.0.0.1:${reportsPort}`, '--gateway-reports', 'unauthenticated'],
    ...['--health-probe-bind-address', '0', '--leader-elect', 'false'],
  );
}

async function startPicker(
  { namespace }: OperatorBench,
  reportsPort: number,
): Promise<GpuRentProcess & { readonly url: string }> {
  const port = await findFreePort();
  const run = gpuRent(
    ...['endpoint-picker', '--kubeconfig', cluster.kubeconfigPath, '--watch-namespace', namespace],
    ...['--envoy', envoy, '--listen-address', `127.0.0.1:${port}`, '--bind-address', '127.0.0.1:0'],
    ...['--metrics-bind-address', '127.0.0.1:0', '--address-map', LOOPBACK, '--shutdown-grace', '20s'],
    ...['--operator-url', `http://127.0.0.1:${reportsPort}`],
  );
  const pages = await until('the picker started', () => logged(run, 'picker started'));
  await until('it is ready', async () => (await fetch(`${pages['metricsBindAddress']}/readyz`)).ok);
  return { ...run, url: `http://127.0.0.1:${port}/${namespace}/llm` };
}

test('a request to a group at zero waits, rents a worker and is served by it, also when the operator starts later', async () => {
  const { bench, url } = await scene();
  const reportsPort = await findFreePort();
  const first = await startPicker(bench, reportsPort);
  const second = await startPicker(bench, reportsPort);
  const asked = [first, second].flatMap((picker) =>
    Array.from({ length: 10 }, async (_, at) => {
      const reply = await fetch(`${picker.url}/v1/models?n=${at}`);
      return { status: reply.status, body: (await reply.json()) as { readonly path: string } };
    }),
  );
  const [ofFirst, ofSecond] = [asked.slice(0, 10), asked.slice(10)];
  const lost = Promise.allSettled(ofFirst);
  const ref = { namespace: bench.namespace, name: 'llm' };
  const annotated = await until('the group is woken', async () => {
    const group = await bench.kube.get<EndpointGroup & KubeObject>(endpointGroupResource, ref);
    return group?.metadata.annotations?.['gpurental.dev/wake-at'];
  });
  expect(Date.parse(annotated)).toBeLessThanOrEqual(Date.now());

  first.child.kill('SIGKILL');
  expect((await lost).every(({ status }) => status === 'rejected')).toBe(true);
  startOperator(bench, url, reportsPort);

  const replies = await Promise.all(ofSecond);
  expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
  expect(replies.map(({ body }) => body.path).toSorted()).toEqual(
    Array.from({ length: 10 }, (_, at) => `/v1/models?n=${at}`).toSorted(),
  );
  const connected = await until('the operator shows what the picker reports', async () => {
    const { status } = (await bench.kube.get<EndpointGroup & KubeObject>(endpointGroupResource, ref)) ?? {};
    const isConnected = status?.conditions?.some(
      (condition) => condition.type === 'GatewayConnected' && condition.status === 'True',
    );
    return isConnected ? status?.gateway : undefined;
  });
  expect(connected.pickers).toBe(1);
  second.child.kill('SIGTERM');
  expect(await second.exitCode).toBe(0);
  expect(second.output()).not.toContain('/v1/models');
}, 120_000);

test('a binary that is no Envoy is named with its flag', async () => {
  const run = gpuRent(
    ...['endpoint-picker', '--kubeconfig', cluster.kubeconfigPath, '--envoy', '/nowhere/envoy'],
    ...['--bind-address', '127.0.0.1:0', '--metrics-bind-address', '0'],
  );
  expect(await run.exitCode).toBe(2);
  expect(run.output()).toContain('--envoy: /nowhere/envoy cannot be run (ENOENT): name an Envoy binary');
});
