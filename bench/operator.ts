/**
 * The operator as a process beside a real API server and a simulated marketplace: memory and event loop with
 * many instances, requests per poll, writes at rest, and the time from creation to the first marketplace call.
 * What is measured is the bundle that ships (`npm run build` first).
 * INSTANCES (default 1000), LATENCY_RUNS (default 30) and PACING (off, or documented: both sides keep the documented rate
 * limits) come from the environment. Prints one JSON line.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startGpuRent } from '../scripts/demo/processes.ts';
import type { GpuInstance } from '../src/api/v1alpha1/gpu-instance.ts';
import { API_VERSION, gpuInstanceResource, marketplaceAccountResource } from '../src/api/v1alpha1/names.ts';
import { statusCodec } from '../src/api/v1alpha1/status-codec.ts';
import { systemClock } from '../src/lib/clock.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { systemRandom } from '../src/lib/random.ts';
import { Secret } from '../src/lib/secret.ts';
import { tokenCredentials } from '../src/runtime/kube/credentials.ts';
import { createKubeClient, type KubeClient } from '../src/runtime/kube/kube-client.ts';
import type { KubeObject } from '../src/runtime/kube/kube-object.ts';
import { createTransport } from '../src/runtime/kube/undici-transport.ts';
import { startCluster } from '../test/cluster/cluster.ts';
import { findFreePort } from '../test/cluster/free-port.ts';
import { settingsOrExit } from '../test/settings/or-exit.ts';
import { readStrictly } from '../test/settings/reader.ts';
import { startCountingProxy } from './operator/counting-proxy.ts';
import { imageEnvironment } from './operator/image-environment.ts';

const { INSTANCES, LATENCY_RUNS, PACING } = settingsOrExit(() =>
  readStrictly(process.env, (reader) => ({
    INSTANCES: reader.whole('INSTANCES', 1, 100_000) ?? 1000,
    LATENCY_RUNS: reader.whole('LATENCY_RUNS', 1, 10_000) ?? 30,
    PACING: reader.oneOf('PACING', ['off', 'documented'] as const) ?? 'off',
  })),
);
const REST_SECONDS = 30;
const NAMESPACE = 'default';
const CREATIONS_AT_ONCE = 16;

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function manifest(name: string): KubeObject & { spec: unknown } {
  return {
    apiVersion: API_VERSION,
    kind: 'GpuInstance',
    metadata: { name, namespace: NAMESPACE },
    spec: { offers: [{ maxPricePerHour: '90' }], image: 'example/work:1', service: { enabled: false } },
  };
}

async function createMany(client: KubeClient, names: readonly string[]): Promise<void> {
  const queue = [...names];
  const worker = async (): Promise<void> => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      await client.create(gpuInstanceResource, manifest(name));
    }
  };
  await Promise.all(Array.from({ length: CREATIONS_AT_ONCE }, worker));
}

async function untilRunning(client: KubeClient, count: number): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const { items } = await client.list<GpuInstance>(gpuInstanceResource, { namespace: NAMESPACE });
    const running = items.filter((item) => item.status?.phase === 'Running').length;
    const other = items.find((item) => item.status?.phase !== 'Running');
    const why = other?.status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
    process.stderr.write(
      `${running} of ${count} running${other ? `; ${other.metadata.name}: ${why}` : ''}\n`,
    );
    if (running >= count) return (performance.now() - startedAt) / 1000;
    await wait(2000);
  }
}

/** Requests by method to the API server, from the operator's own metrics. */
async function kubeWrites(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).text();
  let sum = 0;
  for (const line of text.split('\n')) {
    const match = /^rest_client_requests_total\{(.*)\} (\d+)/.exec(line);
    if (match && /method="(PUT|PATCH|POST|DELETE)"/.test(match[1] ?? '')) sum += Number(match[2]);
  }
  return sum;
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return Math.round((sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0) * 10) / 10;
}

const METRICS_PORT = await findFreePort();
const cluster = await startCluster();
const eventLoopFile = join(cluster.folder, 'event-loop.json');
const readFigures = (): Record<string, number> => JSON.parse(readFileSync(eventLoopFile, 'utf8'));
const simulator = startGpuRent({
  name: 'simulator',
  logFolder: cluster.folder,
  args: [
    ...['simulator', '--offers', String(INSTANCES * 6 + 500), '--boot-scale', '0.001'],
    ...(PACING === 'off' ? ['--no-rate-limits'] : []),
  ],
});
const { url, apiKey } = (await simulator.ready) as Record<'url' | 'apiKey', string>;
const proxy = await startCountingProxy(url);
for (const part of ['crds', 'namespace.yaml', 'service-account.yaml', 'rbac.yaml']) {
  const file = join(import.meta.dirname, '..', 'deploy', 'base', part);
  await cluster.kubectl(['apply', '--server-side', '-f', file]);
}
const { kubeconfigPath } = await cluster.kubeconfigFor({
  serviceAccount: { namespace: 'gpu-rental-system', name: 'gpu-rental-operator' },
});
const operator = startGpuRent({
  name: 'operator',
  entry: join(import.meta.dirname, '..', 'dist', 'gpu-rent.mjs'),
  logFolder: cluster.folder,
  env: {
    ...imageEnvironment(),
    NODE_OPTIONS: `--import ${join(import.meta.dirname, 'operator', 'event-loop-probe.mjs')}`,
    EVENT_LOOP_FILE: eventLoopFile,
  },
  args: [
    ...['operator', '--kubeconfig', kubeconfigPath, '--marketplace-url', proxy.url, '--pacing', PACING],
    ...['--metrics-bind-address', `127.0.0.1:${METRICS_PORT}`, '--health-probe-bind-address', '0'],
    ...[
      '--max-rentals-per-hour',
      '100000',
      '--max-live-machines',
      '100000',
      '--max-dollars-per-hour',
      '1000000',
    ],
    ...['--log-level', 'warn', '--min-poll-interval', '1s'],
  ],
});
const transport = createTransport({ ca: cluster.caPem });
const client = createKubeClient({
  transport,
  origin: cluster.url,
  credentials: tokenCredentials(new Secret(cluster.adminToken)),
  codec: statusCodec,
  clock: systemClock,
  random: systemRandom,
  log: silentLogger,
});

async function measureLatency(): Promise<readonly number[]> {
  const latencies: number[] = [];
  for (let run = 0; run < LATENCY_RUNS; run += 1) {
    await wait(500 + Math.random() * 500);
    const name = `latency-${run}`;
    const before = proxy.passed.length;
    const createdAt = performance.now();
    await client.create(gpuInstanceResource, manifest(name));
    for (let found = false; !found; await wait(1)) {
      const call = proxy.passed.slice(before).find(({ path }) => /bundles|asks/.test(path));
      if (call) latencies.push(call.at - createdAt);
      found = call !== undefined || performance.now() - createdAt > 20_000;
    }
    await client.delete(gpuInstanceResource, { namespace: NAMESPACE, name });
    await wait(300);
  }
  return latencies;
}

async function main(): Promise<Record<string, unknown>> {
  const key: KubeObject & { stringData: unknown } = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'marketplace-key', namespace: NAMESPACE },
    stringData: { 'api-key': apiKey },
  };
  const secrets = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };
  await client.create(secrets, key);
  const account: KubeObject & { spec: unknown } = {
    apiVersion: API_VERSION,
    kind: 'MarketplaceAccount',
    metadata: { name: 'default', namespace: NAMESPACE },
    spec: { apiKeySecretRef: { name: 'marketplace-key', key: 'api-key' } },
  };
  await client.create(marketplaceAccountResource, account);
  await cluster.kubectl(['wait', 'gpuacct/default', '--for=condition=Ready', '--timeout=60s']);
  const latencies = await measureLatency();
  await createMany(
    client,
    Array.from({ length: INSTANCES }, (_, index) => `bench-${index}`),
  );
  const seconds = await untilRunning(client, INSTANCES);
  await wait(15_000);
  const writesBefore = await kubeWrites();
  const requestsBefore = proxy.passed.length;
  await wait(REST_SECONDS * 1000);
  const rest = proxy.passed.slice(requestsBefore);
  const figures = readFigures();
  return {
    instances: INSTANCES,
    pacing: PACING,
    secondsToAllRunning: Math.round(seconds),
    residentMB: Math.round((figures['rss'] ?? 0) / 1e6),
    peakResidentMB: Math.round((figures['peak'] ?? 0) / 1e6),
    heapUsedMB: Math.round((figures['heapUsed'] ?? 0) / 1e6),
    eventLoopDelayMs: { p99: figures['p99'], max: figures['max'] },
    atRest: {
      seconds: REST_SECONDS,
      marketplaceLists: rest.filter(({ path }) => /\/instances\/?(\?|$)/.test(path)).length,
      otherMarketplaceRequests: rest.filter(({ path }) => !/\/instances\/?(\?|$)/.test(path)).length,
      kubernetesWritesWithLease: (await kubeWrites()) - writesBefore,
    },
    creationToFirstMarketplaceCallMs: { p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) },
  };
}

try {
  const ended = operator.ended.then((why) => Promise.reject(new Error(why)));
  process.stdout.write(`${JSON.stringify(await Promise.race([main(), ended]))}\n`);
} finally {
  await operator.stop();
  await simulator.stop();
  await proxy.close();
  await transport.close();
  await cluster.stop();
}
