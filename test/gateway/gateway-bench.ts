import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { API_VERSION, annotations, endpointGroupResource } from '../../src/api/v1alpha1/names.ts';
import { type BootstrapOptions, envoyBootstrap } from '../../src/gateway/envoy-config.ts';
import { type EnvoyProcess, startEnvoy } from '../../src/gateway/envoy-process.ts';
import {
  type GatewayGroup,
  groupOfSlice,
  keptGroup,
  keptSlice,
  WORKER_SLICES,
  type WorkerSlice,
} from '../../src/gateway/group-view.ts';
import { type GrpcListening, serveGrpc } from '../../src/gateway/grpc-server.ts';
import { BY_GROUP, Picker } from '../../src/gateway/picker.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { seededRandom, systemRandom } from '../../src/lib/random.ts';
import { endpointSliceResource, secretResource } from '../../src/runtime/kube/core-resources.ts';
import { createKubeClient, type KubeClient } from '../../src/runtime/kube/kube-client.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import { createInformer, type Informer } from '../../src/runtime/list-watch/informer.ts';
import { createGatewayMetrics } from '../../src/server/gateway-metrics.ts';
import { createMetricRegistry, type MetricRegistry } from '../../src/server/metric-registry.ts';
import { definitions } from '../builders/memory-cluster.ts';
import { noCredentials } from '../builders/no-credentials.ts';
import { until } from '../builders/until.ts';
import { publishSlice, WORKER_ADDRESS } from '../builders/worker-slice.ts';
import { findFreePort } from '../cluster/free-port.ts';
import { createMemoryKube } from '../simulation/memory-kube/memory-kube.ts';
import { envoyBinary } from '../tools/envoy.ts';

/** A picker with a real Envoy, on a Kubernetes API in memory. */
export interface GatewayBench {
  readonly kube: KubeClient;
  readonly picker: Picker;
  readonly registry: MetricRegistry;
  /** URL for clients. */
  readonly url: string;
  /** Port of the picker. */
  readonly grpcPort: number;
  createGroup(name: string, gateway?: Record<string, unknown>): Promise<void>;
  /** Publishes a worker that answers so, as the operator does. */
  publish(group: string, worker: string, answer: RequestListener | Server): Promise<void>;
  /** `ip:port` of a worker that is published. */
  addressOf(worker: string): Promise<string>;
  /** Says that the worker gets no more requests and finishes those that it has. */
  drain(worker: string): Promise<void>;
  /** Sets or removes the condition by which the operator reports that no worker can start. */
  block(
    group: string,
    blocked: { readonly reason: string; readonly message: string } | undefined,
  ): Promise<void>;
  /** Returns the values of the group's wake annotation so far. */
  wakes(group: string): Promise<readonly string[]>;
  /** Breaks the connection to Envoy and takes no other one, as a picker that is killed. */
  crash(): void;
  close(): Promise<void>;
}

export const NAMESPACE = 'default';

interface OtherEnvoy {
  readonly pool: string;
  readonly envoyConfig: (listen: number, picker: number) => string;
}

export interface BenchOptions {
  /** Options of this project's Envoy. */
  readonly bootstrap?: Partial<BootstrapOptions> | undefined;
  /** Foreign Envoy, and the only group that its picker serves. */
  readonly other?: OtherEnvoy | undefined;
  readonly maxHeldBytes?: number;
  readonly bodyTimeoutMs?: number;
}

export async function gatewayBench({
  bootstrap,
  other,
  maxHeldBytes,
  bodyTimeoutMs,
}: BenchOptions = {}): Promise<GatewayBench> {
  const memory = createMemoryKube({ clock: systemClock, random: seededRandom(3), definitions });
  const kube = createKubeClient({
    transport: memory.transport,
    origin: 'https://memory',
    credentials: noCredentials,
    ...{ clock: systemClock, random: systemRandom, log: silentLogger },
  });
  const shared = { client: kube, clock: systemClock, random: systemRandom, log: silentLogger };
  const groups = createInformer<GatewayGroup>({
    ...shared,
    resource: endpointGroupResource,
    project: keptGroup,
  });
  const slices = createInformer<WorkerSlice>({
    ...{ ...shared, resource: endpointSliceResource, project: keptSlice },
    labelSelector: WORKER_SLICES,
    indexes: { [BY_GROUP]: (slice) => [groupOfSlice(slice)] },
  });
  const registry = createMetricRegistry();
  const metrics = createGatewayMetrics(registry);
  const picker = new Picker({
    ...shared,
    groups,
    slices,
    metrics,
    addresses: {
      allowPrivate: false,
      mapAddress: (address) => (address === WORKER_ADDRESS ? '127.0.0.1' : address),
    },
    pool: other?.pool,
    ...(maxHeldBytes !== undefined && { maxHeldBytes }),
    ...(bodyTimeoutMs !== undefined && { bodyTimeoutMs }),
    maxConnections: bootstrap?.maxConnections,
  });
  const wakes = new Map<string, string[]>();
  const followed = followWakes(kube, wakes);
  groups.start();
  slices.start();
  await Promise.all([groups.synced, slices.synced, followed.synced]);
  picker.start();
  const grpc = await serveGrpc(picker.services, { host: '127.0.0.1', port: 0 });
  const port = await findFreePort();
  const envoy = await startOn(port, grpc, { bootstrap, other });
  const listens = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}`).then(
      () => true,
      () => false,
    );
  if (!other) await until('Envoy is connected', () => picker.isConnected());
  await until('Envoy listens', listens);
  const servers: Server[] = [];
  return {
    ...{ kube, picker, registry },
    url: `http://127.0.0.1:${port}`,
    grpcPort: grpc.port,
    createGroup: (name, gateway = {}) => createGroup(kube, name, gateway),
    async publish(group, worker, answer) {
      const server = typeof answer === 'function' ? createServer(answer) : answer;
      servers.push(server);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port: workerPort } = server.address() as AddressInfo;
      const slice = `${worker}-endpoint`;
      await publishSlice(kube, { namespace: NAMESPACE, group, worker, slice, port: workerPort });
    },
    async addressOf(worker) {
      const ref = { namespace: NAMESPACE, name: `${worker}-endpoint` };
      const slice = await kube.get<WorkerSlice>(endpointSliceResource, ref);
      return `127.0.0.1:${slice?.ports?.[0]?.port}`;
    },
    async drain(worker) {
      const conditions = { ready: false, serving: true, terminating: true };
      const endpoints = [{ addresses: [WORKER_ADDRESS], conditions }];
      const ref = { namespace: NAMESPACE, name: `${worker}-endpoint` };
      await kube.patch(endpointSliceResource, ref, { type: 'merge', body: { endpoints } });
    },
    block: (group, blocked) => setBlocked(kube, group, blocked),
    wakes: async (group) => wakes.get(group) ?? [],
    crash: () => grpc.close(),
    async close() {
      picker.close();
      await envoy.stop();
      grpc.close();
      for (const cache of [groups, slices, followed]) await cache.stop();
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

async function startOn(
  port: number,
  grpc: GrpcListening,
  { bootstrap, other }: BenchOptions,
): Promise<EnvoyProcess> {
  const config =
    other?.envoyConfig(port, grpc.port) ??
    envoyBootstrap({
      ...bootstrap,
      listen: { host: '127.0.0.1', port },
      picker: { host: '127.0.0.1', port: grpc.port },
    });
  return startEnvoy({ path: await envoyBinary(), config, clock: systemClock, log: silentLogger });
}

/** Records every value of the wake annotation. */
function followWakes(kube: KubeClient, wakes: Map<string, string[]>): Informer<KubeObject> {
  const all = createInformer({
    ...{ client: kube, clock: systemClock, random: systemRandom, log: silentLogger },
    resource: endpointGroupResource,
  });
  all.onChange(({ object }) => {
    const { name } = object.metadata;
    const at = object.metadata.annotations?.[annotations.wakeAt];
    const known = wakes.get(name) ?? [];
    if (at !== undefined && known.at(-1) !== at) wakes.set(name, [...known, at]);
  });
  all.start();
  return all;
}

async function createGroup(kube: KubeClient, name: string, gateway: Record<string, unknown>): Promise<void> {
  const ports = [{ name: 'http', containerPort: 8000 }];
  const template = { spec: { image: 'example/worker:1', offers: [{ maxPricePerHour: '1' }], ports } };
  await kube.create(endpointGroupResource, {
    apiVersion: API_VERSION,
    kind: 'EndpointGroup',
    metadata: { namespace: NAMESPACE, name },
    spec: { gateway, template },
  } as KubeObject);
}

async function setBlocked(
  kube: KubeClient,
  name: string,
  blocked: { readonly reason: string; readonly message: string } | undefined,
): Promise<void> {
  const present = await kube.get<KubeObject>(endpointGroupResource, { namespace: NAMESPACE, name });
  const lastTransitionTime = '2026-11-20T12:00:00Z';
  const conditions = blocked
    ? [{ type: 'WorkersBlocked', status: 'True', ...blocked, lastTransitionTime }]
    : [];
  const body = { ...present, status: { conditions } } as KubeObject & { status: unknown };
  await kube.replace(endpointGroupResource, body, { subresource: 'status' });
}

export async function putKeys(kube: KubeClient, name: string, data: Record<string, string>): Promise<void> {
  const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  await kube.create(secretResource, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: NAMESPACE, name },
    data: Object.fromEntries(encoded),
  } as KubeObject);
}
