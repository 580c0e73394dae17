import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, type RequestListener, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { afterEach, beforeAll, expect, test } from 'vitest';
import type { EndpointGroup } from '../../src/api/v1alpha1/endpoint-group.ts';
import { API_VERSION, endpointGroupResource } from '../../src/api/v1alpha1/names.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { type GpuRentProcess, gpuRent, killStarted, logged } from '../builders/gpu-rent-process.ts';
import { OperatorBench } from '../builders/running-operator.ts';
import { selfSigned } from '../builders/self-signed.ts';
import { until } from '../builders/until.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { findFreePort } from '../cluster/free-port.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';
import { envoyBinary } from '../tools/envoy.ts';
import { endpointBalancer } from './endpoint-balancer.ts';
import { healthOf } from './grpc-health.ts';

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

/** Starts a marketplace whose running machines answer HTTP, with a key, and a group at zero. */
async function scene(
  answer?: RequestListener,
): Promise<{ bench: OperatorBench; simulator: Simulator; url: string }> {
  const simulator = createSimulator({
    apiKey: API_KEY,
    catalog: 60,
    machineServer: answer ? () => answer : true,
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

interface PickerProcess extends GpuRentProcess {
  /** Port on which Envoy accepts requests. */
  readonly port: number;
  readonly url: string;
  readonly readyUrl: string;
}

async function startPicker({ namespace }: OperatorBench, reportsPort: number): Promise<PickerProcess> {
  const port = await findFreePort();
  const run = gpuRent(
    ...['endpoint-picker', '--kubeconfig', cluster.kubeconfigPath, '--watch-namespace', namespace],
    ...['--envoy', envoy, '--listen-address', `127.0.0.1:${port}`, '--bind-address', '127.0.0.1:0'],
    ...['--metrics-bind-address', '127.0.0.1:0', '--address-map', LOOPBACK, '--shutdown-grace', '20s'],
    ...['--drain-delay', '1s'],
    ...['--operator-url', `http://127.0.0.1:${reportsPort}`],
  );
  const pages = await until('the picker started', () => logged(run, 'picker started'));
  const readyUrl = `${pages['metricsBindAddress']}/readyz`;
  await until('it is ready', async () => (await fetch(readyUrl)).ok);
  return { ...run, port, readyUrl, url: `http://127.0.0.1:${port}/${namespace}/llm` };
}

test('a request to a group at zero waits, rents a worker and is served by it, also when the operator starts later', async () => {
  const { bench, url } = await scene();
  const reportsPort = await findFreePort();
  const first = await startPicker(bench, reportsPort);
  const second = await startPicker(bench, reportsPort);
  const asked = [first, second].flatMap((picker) =>
    Array.from({ length: 50 }, async (_, at) => {
      const reply = await fetch(`${picker.url}/v1/models?n=${at}`);
      return { status: reply.status, text: await reply.text() };
    }),
  );
  const [ofFirst, ofSecond] = [asked.slice(0, 50), asked.slice(50)];
  const lost = Promise.allSettled(ofFirst);
  const ref = { namespace: bench.namespace, name: 'llm' };
  const annotated = await until('the group is woken', async () => {
    const group = await bench.kube.get<EndpointGroup & KubeObject>(endpointGroupResource, ref);
    return group?.metadata.annotations?.['gpurental.dev/wake-at'];
  });
  expect(Date.parse(annotated)).toBeLessThanOrEqual(Date.now());

  first.child.kill('SIGKILL');
  const served = (await lost).filter((one) => one.status === 'fulfilled' && one.value.status === 200);
  expect(served).toEqual([]);
  startOperator(bench, url, reportsPort);

  const replies = await Promise.all(ofSecond);
  expect(replies.filter(({ status }) => status !== 200)).toEqual([]);
  expect(replies.map(({ text }) => JSON.parse(text).path).toSorted()).toEqual(
    Array.from({ length: 50 }, (_, at) => `/v1/models?n=${at}`).toSorted(),
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

/** Answers in parts, so that requests are under way whatever happens. */
const slowAnswer: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/plain' });
  let parts = 0;
  const timer = setInterval(() => {
    response.write('part ');
    if (++parts < 4) return;
    clearInterval(timer);
    response.end('end');
  }, 40);
  response.on('close', () => clearInterval(timer));
};

/** Calls one after the other on a connection that it keeps for as long as it may; resolves to the body. */
function callOnce(agent: Agent, port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request({ agent, host: '127.0.0.1', port, path, method: 'POST' }, (response) => {
      let body = `${response.statusCode}: `;
      response.on('data', (chunk) => {
        body += String(chunk);
      });
      response.on('end', () => resolve(body));
      response.on('error', reject);
    });
    call.on('error', reject);
    call.end('{}');
  });
}

test('pairs of picker and Envoy are replaced one after the other under load, and no request fails', async () => {
  const { bench, url } = await scene(slowAnswer);
  const reportsPort = await findFreePort();
  startOperator(bench, url, reportsPort);
  const balancer = await endpointBalancer();
  closing.push(async () => balancer.close());
  const before = [await startPicker(bench, reportsPort), await startPicker(bench, reportsPort)];
  for (const picker of before) balancer.add(picker);
  await until('both are ready', () => balancer.ready().length === 2);
  const path = `/${bench.namespace}/llm/v1/chat/completions`;
  const load = { isOn: true, served: 0, failures: [] as string[] };
  const clients = Array.from({ length: 12 }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (load.isOn) {
      const said = await callOnce(agent, balancer.port, path).catch((error) => String(error));
      if (said === '200: part part part part end') load.served++;
      else load.failures.push(said);
    }
    agent.destroy();
  });
  await until('requests are served', () => load.served > 0);

  for (const picker of before) {
    const next = await startPicker(bench, reportsPort);
    balancer.add(next);
    await until('the next one gets connections', () => balancer.ready().includes(next.port));
    picker.child.kill('SIGTERM');
    expect(await picker.exitCode).toBe(0);
    expect(picker.output()).not.toContain('the grace is over');
  }
  const servedBefore = load.served;
  await until('the new ones serve', () => load.served > servedBefore + clients.length);
  load.isOn = false;
  await Promise.all(clients);
  expect(load.failures).toEqual([]);
}, 180_000);

test('a picker without an Envoy beside it is ready, and one on another machine finds it by its name', async () => {
  const bench = await OperatorBench.open(cluster);
  closing.push(() => bench.close());
  const [grpcPort, port] = [await findFreePort(), await findFreePort()];
  const run = gpuRent(
    ...['endpoint-picker', '--kubeconfig', cluster.kubeconfigPath, '--watch-namespace', bench.namespace],
    ...['--bind-address', `127.0.0.1:${grpcPort}`, '--metrics-bind-address', '127.0.0.1:0'],
    ...['--drain-delay', '0s'],
  );
  const pages = await until('the picker started', () => logged(run, 'picker started'));
  expect((await fetch(`${pages['metricsBindAddress']}/readyz`)).status).toBe(200);

  const printed = gpuRent(
    ...['endpoint-picker', '--print-envoy-config', '--picker-address', `localhost:${grpcPort}`],
    ...['--listen-address', `127.0.0.1:${port}`],
  );
  expect(await printed.exitCode).toBe(0);
  const folder = await mkdtemp(join(tmpdir(), 'other-envoy-'));
  closing.push(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'envoy.json'), printed.output());
  const other = spawn(envoy, ['-c', join(folder, 'envoy.json'), '--use-dynamic-base-id'], {
    stdio: 'ignore',
  });
  closing.push(async () => void other.kill('SIGKILL'));
  const answer = await until('the other Envoy asks the picker', async () => {
    const reply = await fetch(`http://127.0.0.1:${port}/${bench.namespace}/none/`).catch(() => undefined);
    return reply?.status === 404 ? reply.text() : undefined;
  });
  expect(answer).toContain('group_not_found');
  run.child.kill('SIGTERM');
  expect(await run.exitCode).toBe(0);
});

test('a binary that is no Envoy is named with its flag', async () => {
  const run = gpuRent(
    ...['endpoint-picker', '--kubeconfig', cluster.kubeconfigPath, '--envoy', '/nowhere/envoy'],
    ...['--bind-address', '127.0.0.1:0', '--metrics-bind-address', '0'],
  );
  expect(await run.exitCode).toBe(2);
  expect(run.output()).toContain('--envoy: /nowhere/envoy cannot be run (ENOENT): name an Envoy binary');
});

test('a picker of a pool serves its group alone, with TLS, and is ready when that is there', async () => {
  const bench = await OperatorBench.open(cluster);
  closing.push(() => bench.close());
  const folder = await mkdtemp(join(tmpdir(), 'picker-tls-'));
  closing.push(() => rm(folder, { recursive: true }));
  const day = 86_400_000;
  const at = Date.now();
  const { cert, key } = selfSigned({
    notBefore: new Date(at - day),
    notAfter: new Date(at + day),
    hostName: 'localhost',
  });
  await writeFile(join(folder, 'tls.crt'), cert);
  await writeFile(join(folder, 'tls.key'), key);
  const run = gpuRent(
    ...['endpoint-picker', '--kubeconfig', cluster.kubeconfigPath, '--group', `${bench.namespace}/llm`],
    ...['--bind-address', '127.0.0.1:0', '--metrics-bind-address', '127.0.0.1:0', '--tls-directory', folder],
    ...['--drain-delay', '0s'],
  );
  const pages = await until('the picker started', () => logged(run, 'picker started'));
  const port = String(pages['grpc']).split(':').at(-1) ?? '';
  const health = (service: string) => healthOf(port, service, credentials.createSsl(Buffer.from(cert)));
  const ready = await fetch(`${pages['metricsBindAddress']}/readyz`);
  expect([ready.status, await ready.text()]).toEqual([
    503,
    expect.stringContaining('the group is not served'),
  ]);
  expect([await health('liveness'), await health('readiness')]).toEqual(['SERVING', 'NOT_SERVING']);
  await bench.kube.create(endpointGroupResource, groupIn(bench.namespace));
  await until('it is ready', async () => (await fetch(`${pages['metricsBindAddress']}/readyz`)).ok);
  expect(await health('readiness')).toBe('SERVING');
  run.child.kill('SIGTERM');
  expect(await run.exitCode).toBe(0);
});

test('names a folder without certificates by its flag', async () => {
  const run = gpuRent(
    ...['endpoint-picker', '--kubeconfig', cluster.kubeconfigPath, '--group', 'default/llm'],
    ...['--bind-address', '127.0.0.1:0', '--metrics-bind-address', '0', '--tls-directory', '/nowhere'],
  );
  expect(await run.exitCode).toBe(2);
  expect(run.output()).toContain('--tls-directory: ENOENT');
});
