import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { until } from '../../test/builders/until.ts';
import { cacheRoot } from '../../test/cluster/build-cache.ts';
import { type Cluster, startCluster } from '../../test/cluster/cluster.ts';
import { findFreePort } from '../../test/cluster/free-port.ts';
import { downloadModule, type GoTool, goTool } from '../../test/tools/go-tool.ts';
import type { Backend, Backends } from './backends.ts';
import { startChild } from './child.ts';
import { aloneConfig, inferencePoolConfig, startEnvoy } from './envoys.ts';
import { openGatewayKube } from './gateway-kube.ts';
import type { LoadGenerator } from './generator.ts';
import { type Arrival, failedOf, type LoadResult, type Target } from './load.ts';
import { startOwnGateway } from './own-gateway.ts';
import { withCpu } from './process-cost.ts';
import type { Contender, Round, Running } from './rounds.ts';

/** Running contender: request target and processes. */
export interface Served {
  readonly target: Target;
  /** Process ID of the process that decides. */
  readonly decides: number;
  /** Process ID of the Envoy that forwards the bytes; undefined if the deciding process does. */
  readonly carries: number | undefined;
  /** Throws if a process of it has ended. */
  check(): void;
  stop(): Promise<void>;
}

export interface Match {
  readonly backends: Backends;
  readonly load: LoadGenerator;
  readonly folder: string;
  readonly trace: readonly Arrival[];
  readonly seconds: number;
  readonly report: (line: string) => void;
}

/** The connections of the part of a round that asks for as much as there can be. */
const BUSY_CONNECTIONS = 32;

/** Returns a contender that is measured with the trace, with one connection, and at maximum load. */
export function contender(name: string, match: Match, serve: () => Promise<Served>): Contender {
  return {
    name,
    async start(): Promise<Running> {
      const served = await serve();
      return { measure: () => measured(match, served), stop: () => served.stop() };
    },
  };
}

async function measured({ load, trace, seconds }: Match, served: Served): Promise<Round> {
  const { target, decides, carries } = served;
  served.check();
  const kind = { stream: false, tokens: 1 };
  const processes = { decides, ...(carries !== undefined && { carries }) };
  const replayed = await withCpu(processes, () => load.run({ type: 'open', target, arrivals: trace }));
  const one = await load.run({ type: 'closed', target, connections: 1, seconds, kind });
  const many = await withCpu(processes, () =>
    load.run({ type: 'closed', target, connections: BUSY_CONNECTIONS, seconds, kind }),
  );
  served.check();
  const all = [replayed.value, one, many.value];
  if (all.every(({ ok }) => ok === 0)) throw new Error(`nothing was served: ${JSON.stringify(one.failures)}`);
  const sum = (read: (result: LoadResult) => number): number =>
    all.reduce((total, one) => total + read(one), 0);
  const perRequest = ({ value, cpu }: typeof many, name: string): number => (cpu[name] ?? 0) / value.sent;
  return {
    sent: sum(({ sent }) => sent),
    failed: sum(failedOf),
    figures: {
      'trace, p50, ms': replayed.value.latencyMs.p50,
      'trace, p99, ms': replayed.value.latencyMs.p99,
      'trace, who decides, ms of processor per request': perRequest(replayed, 'decides'),
      'trace, Envoy, ms of processor per request': perRequest(replayed, 'carries'),
      'one connection, p50, ms': one.latencyMs.p50,
      'one connection, p99, ms': one.latencyMs.p99,
      '32 connections, requests per second': many.value.ok / many.value.seconds,
      '32 connections, who decides, ms of processor per request': perRequest(many, 'decides'),
      '32 connections, Envoy, ms of processor per request': perRequest(many, 'carries'),
    },
  };
}

/** Serves with this project's gateway, with the same workers. */
export async function serveByOwn({ backends, folder }: Match): Promise<Served> {
  const kube = await openGatewayKube(folder);
  const closing: (() => Promise<unknown>)[] = [() => kube.close()];
  const stop = async (): Promise<void> => {
    for (const close of closing.splice(0).toReversed()) await close();
  };
  try {
    await kube.createGroup(POOL);
    await kube.publish(POOL, backends.all);
    const gateway = await startOwnGateway({ kube, folder });
    closing.push(() => gateway.stop());
    const { picker, envoy } = gateway;
    const target = gateway.targetOf(POOL);
    await untilServed(target, () => picker.check());
    return { target, decides: picker.pid, carries: envoy.pid, check: () => picker.check(), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Serves with an Envoy that sends each request to the less loaded of two random workers: the cost of a picker is the
 * difference to this.
 */
export async function serveByEnvoy({ backends, folder }: Match): Promise<Served> {
  const envoy = await startEnvoy('envoy-alone', folder, (port) => aloneConfig(port, backends.all));
  const target = { origin: envoy.origin, prefix: '' };
  return {
    ...{ target, decides: envoy.pid, carries: undefined },
    check: () => envoy.check(),
    stop: () => envoy.stop(),
  };
}

/** The Endpoint Picker of the Kubernetes project. */
export const EPP: GoTool = {
  module: 'sigs.k8s.io/gateway-api-inference-extension',
  version: 'v1.5.0',
  main: 'cmd/epp',
};

const POOL = 'bench';
/** The plugins of its chart, with its queue in front. */
const EPP_CONFIG = `apiVersion: inference.networking.x-k8s.io/v1alpha1
kind: EndpointPickerConfig
featureGates: [flowControl]
plugins:
- type: queue-scorer
- type: kv-cache-utilization-scorer
- type: prefix-cache-scorer
- type: metrics-data-source
  parameters: {scheme: http, path: /metrics, insecureSkipVerify: true}
- type: core-metrics-extractor
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer, weight: 2}
  - {pluginRef: prefix-cache-scorer, weight: 3}
`;

/**
 * Builds the picker from its Go module (minutes, once), and starts an API server with a pool and Pods at the workers'
 * addresses, and an Envoy that calls it. Rejects if Go or the API server is unavailable.
 */
export async function serveByEpp({ backends, folder, report }: Match): Promise<Served> {
  const epp = await goTool(EPP);
  const cluster = await startCluster({ report });
  const closing: (() => Promise<unknown>)[] = [() => cluster.stop()];
  const stop = async (): Promise<void> => {
    for (const close of closing.splice(0).toReversed()) await close();
  };
  try {
    await writePool(cluster, backends.all);
    const [grpc, health, metrics] = [await findFreePort(), await findFreePort(), await findFreePort()];
    const config = join(folder, 'epp.yaml');
    writeFileSync(config, EPP_CONFIG);
    const child = startChild({
      name: 'epp',
      command: epp,
      args: [
        ...['--pool-name', POOL, '--pool-namespace', 'default', '--config-file', config],
        ...['--grpc-port', `${grpc}`, '--grpc-health-port', `${health}`, '--metrics-port', `${metrics}`],
        // As ours on loopback; its own debug output and traces would be costs of the defaults alone.
        ...['--secure-serving=false', '--metrics-endpoint-auth=false', '--tracing=false', '--v=1'],
      ],
      env: { KUBECONFIG: cluster.kubeconfigPath },
      logFolder: folder,
    });
    closing.push(() => child.stop());
    const envoy = await startEnvoy('envoy-of-epp', folder, (port) => inferencePoolConfig(port, grpc));
    closing.push(() => envoy.stop());
    const target = { origin: envoy.origin, prefix: '' };
    await untilServed(target, () => child.check());
    return { target, decides: child.pid, carries: envoy.pid, check: () => child.check(), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function writePool(cluster: Cluster, backends: readonly Backend[]): Promise<void> {
  const module = await downloadModule(EPP, process.env);
  await cluster.kubectl(['apply', '--server-side', '-f', join(module, 'config', 'crd', 'bases')]);
  await cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s']);
  const { admin } = cluster;
  const labels = { app: POOL };
  const base = '/api/v1/namespaces/default';
  const account = { method: 'POST', path: `${base}/serviceaccounts`, accept: [409] } as const;
  await admin.request({ ...account, body: { metadata: { name: 'default' } } });
  await admin.request({
    method: 'POST',
    path: '/apis/inference.networking.k8s.io/v1/namespaces/default/inferencepools',
    body: {
      apiVersion: 'inference.networking.k8s.io/v1',
      kind: 'InferencePool',
      metadata: { name: POOL },
      spec: {
        selector: { matchLabels: labels },
        targetPorts: [{ number: backends[0]?.sharedPort }],
        endpointPickerRef: { name: 'epp', port: { number: 9002 } },
      },
    },
  });
  for (const { name, address } of backends) {
    const spec = { containers: [{ name: 'worker', image: 'example/worker:1' }] };
    await admin.request({ method: 'POST', path: `${base}/pods`, body: { metadata: { name, labels }, spec } });
    const conditions = [{ type: 'Ready', status: 'True' }];
    const status = { phase: 'Running', podIP: address, podIPs: [{ ip: address }], conditions };
    await admin.request({ method: 'PATCH', path: `${base}/pods/${name}/status`, body: { status } });
  }
}

export const ROUTER = { name: 'vllm-router', version: '0.1.17' };

/**
 * Serves with a router from PyPI and a fixed list of workers: Python that starts a Rust program, which forwards the
 * bytes itself.
 */
export async function serveByRouter({ backends, folder }: Match): Promise<Served> {
  const packages = await pythonPackages(ROUTER);
  const [port, metrics] = [await findFreePort(), await findFreePort()];
  const child = startChild({
    name: ROUTER.name,
    command: 'python3',
    args: [
      ...['-m', 'vllm_router.launch_router', '--host', '127.0.0.1', '--port', `${port}`],
      ...['--prometheus-port', `${metrics}`, '--policy', 'power_of_two', '--log-level', 'warning'],
      '--worker-urls',
      ...backends.all.map(({ address, sharedPort }) => `http://${address}:${sharedPort}`),
    ],
    env: { PYTHONPATH: packages },
    logFolder: folder,
  });
  try {
    const target = { origin: `http://127.0.0.1:${port}`, prefix: '' };
    await untilServed(target, () => child.check());
    return {
      target,
      decides: child.pid,
      carries: undefined,
      check: () => child.check(),
      stop: () => child.stop(),
    };
  } catch (error) {
    await child.stop();
    throw error;
  }
}

/** Returns the folder of an installed package in the user's cache. */
async function pythonPackages({ name, version }: typeof ROUTER): Promise<string> {
  const tools = join(dirname(cacheRoot(process.env)), 'tools');
  const folder = join(tools, `${name}-${version}-python`);
  if (existsSync(folder)) return folder;
  mkdirSync(tools, { recursive: true });
  const partial = `${folder}.${process.pid}`;
  const args = ['-m', 'pip', 'install', '--quiet', '--target', partial, `${name}==${version}`];
  await promisify(execFile)('python3', args).catch((error: Error) => {
    throw new Error(`${name} ${version} cannot be installed: ${error.message.slice(0, 300)}`);
  });
  // It appears in one step, so where it is, it is whole.
  renameSync(partial, folder);
  return folder;
}

const SERVED_LIMIT_MS = 120_000;

async function untilServed({ origin, prefix }: Target, check: () => void): Promise<void> {
  const body = JSON.stringify({
    model: 'bench',
    messages: [{ role: 'user', content: 'Are you there?' }],
    max_tokens: 1,
  });
  const headers = { 'content-type': 'application/json' };
  let last = '';
  const isServed = async (): Promise<boolean> => {
    check();
    const signal = AbortSignal.timeout(5_000);
    const url = `${origin}${prefix}/v1/chat/completions`;
    return fetch(url, { method: 'POST', headers, body, signal }).then(
      async (reply) => {
        last = `${reply.status} ${await reply.text()}`;
        return reply.ok;
      },
      (error: Error) => {
        last = error.message;
        return false;
      },
    );
  };
  await until('it serves a request', isServed, SERVED_LIMIT_MS).catch((error: Error) => {
    throw new Error(`${error.message} (${last.slice(0, 200)})`);
  });
}
