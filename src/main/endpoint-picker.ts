import { hostname } from 'node:os';
import nodeProcess from 'node:process';
import { endpointGroupResource, INSTALL_DEFINITIONS, OPERATOR_NAME } from '../api/v1alpha1/names.ts';
import type { PickerConfig } from '../config/picker-options.ts';
import { mapAddress } from '../config/values.ts';
import { ConfigError } from '../config.ts';
import { envoyBootstrap, type SocketPlace } from '../gateway/envoy-config.ts';
import { type EnvoyProcess, EnvoyStartError, startEnvoy } from '../gateway/envoy-process.ts';
import {
  type GatewayGroup,
  groupOfSlice,
  keptGroup,
  keptSlice,
  WORKER_SLICES,
  type WorkerSlice,
} from '../gateway/group-view.ts';
import { type GrpcListening, serveGrpc } from '../gateway/grpc-server.ts';
import { BY_GROUP, Picker } from '../gateway/picker.ts';
import { ReportClient } from '../gateway/report-client.ts';
import { type Clock, sleep, systemClock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import { firstAbort, untilAborted } from '../runtime/first-abort.ts';
import { endpointSliceResource } from '../runtime/kube/core-resources.ts';
import { createKubeClient, type KubeClient } from '../runtime/kube/kube-client.ts';
import { type KubeConnection, loadKubeConnection } from '../runtime/kube/kube-config.ts';
import type { KubeObject, Resource } from '../runtime/kube/kube-object.ts';
import { createTransport } from '../runtime/kube/undici-transport.ts';
import { createInformer, type Informer } from '../runtime/list-watch/informer.ts';
import { createGatewayMetrics, showGatewayGroups } from '../server/gateway-metrics.ts';
import { type HealthCheck, healthPage, type RunningServer, servePages } from '../server/http-server.ts';
import { createMetricRegistry, type MetricRegistry } from '../server/metric-registry.ts';
import { createLogger } from '../server/pino-logger.ts';
import { createProcessMetrics } from '../server/runtime-metrics.ts';
import { combineInformers } from './caches.ts';
import { listenOn, METRICS_PATH, openMetricsPage, watchProblem } from './page-set.ts';
import { applyProcessPolicy, optimizeForSize, type ProcessEvents } from './process-policy.ts';

/** What the process gives the picker. */
export interface PickerProcess {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborted by SIGTERM and Ctrl-C: not ready from then on, and requests that were begun go on. */
  readonly signal: AbortSignal;
  /** Where errors that nothing caught are reported; those of this process if absent. */
  readonly events?: ProcessEvents;
  /** Where log lines go; stdout where absent. */
  readonly logDestination?: { write(line: string): void };
}

/** For what follows the requests: Envoy, servers. */
const LAST_GRACE_MS = 10_000;
/** How often it is looked whether requests are left. */
const DRAIN_CHECK_MS = 100;

/** The configuration of an Envoy for these settings. */
export function envoyConfigOf({ listenAddress, bindAddress }: PickerConfig, port = bindAddress.port): string {
  return envoyBootstrap({
    listen: listenAddress,
    picker: { host: dialledHost(bindAddress), port },
  });
}

/** One listens on all addresses, and dials loopback. */
function dialledHost({ host }: SocketPlace): string {
  return host === '' || host === '0.0.0.0' ? '127.0.0.1' : host;
}

/**
 * Serves Envoy until the signal is aborted, and then until no request is left or the grace is over. Resolves to the exit
 * code: 0 after an orderly end, 1 after an exception that nothing caught. Rejects with a ConfigError if an address or the
 * binary of Envoy cannot be used, and without an API server.
 */
export async function runPicker(config: PickerConfig, process: PickerProcess): Promise<number> {
  optimizeForSize();
  const destination = process.logDestination;
  const log = createLogger({ level: config.logLevel, ...(destination && { destination }) });
  const { kubeconfig, context } = config;
  const { environment } = process;
  const clock = systemClock;
  const connection = await loadKubeConnection({ kubeconfig, context, environment, clock });
  const registry = createMetricRegistry();
  const policy = applyProcessPolicy({
    events: process.events ?? nodeProcess,
    metrics: createProcessMetrics(registry),
    clock,
    log,
    exit: (code) => nodeProcess.exit(code),
    graceMs: config.shutdownGrace + LAST_GRACE_MS,
  });
  const parts = assemble({ config, connection, registry, log });
  const ending = firstAbort([process.signal, policy.ended]);
  try {
    const opened = await open(config, parts, { log, ending: ending.signal });
    await untilAborted(ending.signal);
    log.info('picker ends: requests that were begun go on', { requests: begunRequests(parts.picker) });
    if (!policy.ended.aborted) await drained(parts.picker, clock, config.shutdownGrace);
    await opened.close();
  } finally {
    parts.picker.close();
    for (const cache of [parts.groups, parts.slices]) await cache.stop();
    await parts.closeConnections();
    ending.release();
    policy.remove();
    log.info('picker ended');
  }
  return policy.ended.aborted ? 1 : 0;
}

interface Parts {
  readonly picker: Picker;
  readonly groups: Informer<GatewayGroup>;
  readonly slices: Informer<WorkerSlice>;
  readonly registry: MetricRegistry;
  /** Undefined where no operator takes them. */
  readonly reports: ReportClient | undefined;
  readonly closeConnections: () => Promise<void>;
}

interface Given {
  readonly config: PickerConfig;
  readonly connection: KubeConnection;
  readonly registry: MetricRegistry;
  readonly log: Logger;
}

/** A watch of each kind and namespace holds one connection for good. */
const CONNECTIONS_BESIDE_WATCHES = 4;

function assemble({ config, connection, registry, log }: Given): Parts {
  const shared = { clock: systemClock, random: systemRandom, log };
  const namespaces = config.watchNamespace;
  const connections = Math.max(1, namespaces.length) * 2 + CONNECTIONS_BESIDE_WATCHES;
  const transport = createTransport({ ...connection.tls, connections });
  const { origin, credentials } = connection;
  const userAgent = `${OPERATOR_NAME}-picker`;
  const client = createKubeClient({ ...shared, transport, origin, credentials, userAgent });
  const cache = { ...shared, client, namespaces };
  const groups = cacheOf({ ...cache, resource: endpointGroupResource, project: keptGroup, indexes: {} });
  const slices = cacheOf({
    ...{ ...cache, resource: endpointSliceResource, project: keptSlice },
    labelSelector: WORKER_SLICES,
    indexes: { [BY_GROUP]: (slice: WorkerSlice) => [groupOfSlice(slice)] },
  });
  const picker = new Picker({
    ...{ ...shared, groups, slices, client },
    metrics: createGatewayMetrics(registry),
    dialled: (address) => mapAddress(config.addressMap, address),
    onWake: () => reports?.reportNow(),
  });
  const toOperator = createTransport({ connections: 1 });
  const reports =
    config.operatorUrl === undefined
      ? undefined
      : new ReportClient({
          ...{ clock: systemClock, log, transport: toOperator },
          operatorUrl: new URL(config.operatorUrl),
          picker: pickerName(),
          credentials: () => credentials.headers(),
          groups: () => picker.report(),
          onReply: (reply) => picker.shareWorkers(reply),
        });
  showGatewayGroups(registry, () => picker.figures());
  const closeConnections = async (): Promise<void> => {
    await Promise.all([transport.close(), toOperator.close()]);
  };
  return { picker, groups, slices, registry, reports, closeConnections };
}

/** Of this process alone: the counters of the next one begin at 0. */
function pickerName(): string {
  return `${hostname()
    .replaceAll(/[^a-zA-Z0-9.-]/gu, '-')
    .slice(0, MAX_HOST_CHARACTERS)}-${systemRandom.uuid()}`;
}

/** A name of 128 characters ends with a UUID. */
const MAX_HOST_CHARACTERS = 80;

interface CacheOptions<T> {
  readonly client: KubeClient;
  readonly namespaces: readonly string[];
  readonly resource: Resource;
  readonly labelSelector?: string;
  readonly project: (object: KubeObject) => T;
  readonly indexes: Readonly<Record<string, (object: T) => readonly string[]>>;
  readonly clock: Clock;
  readonly random: typeof systemRandom;
  readonly log: Logger;
}

/** One informer for all namespaces, or one each for those that are named. */
function cacheOf<T>({ namespaces, ...options }: CacheOptions<T>): Informer<T> {
  const remedyIfUnserved = `The CRDs are not installed. ${INSTALL_DEFINITIONS}`;
  const create = (namespace: string | undefined): Informer<T> =>
    createInformer<T>({ ...options, remedyIfUnserved, namespace });
  if (namespaces.length === 0) return create(undefined);
  return combineInformers(new Map(namespaces.map((namespace) => [namespace, create(namespace)])));
}

interface Opened {
  close(): Promise<void>;
}

/** Begins with the pages, so that a slow API server is seen; Envoy comes last, when every group is known. */
async function open(
  config: PickerConfig,
  parts: Parts,
  { log, ending }: { readonly log: Logger; readonly ending: AbortSignal },
): Promise<Opened> {
  const { picker, groups, slices, reports } = parts;
  const closing: (() => Promise<void> | void)[] = [];
  const close = async (): Promise<void> => {
    for (const end of closing.splice(0).toReversed()) await end();
  };
  try {
    const running: { envoy: EnvoyProcess | undefined } = { envoy: undefined };
    const pages = await servePagesOf(config, parts, { ending, envoy: () => running.envoy });
    if (pages) closing.push(() => pages.close());
    groups.start();
    slices.start();
    await Promise.race([Promise.all([groups.synced, slices.synced]), untilAborted(ending)]);
    if (ending.aborted) return { close };
    picker.start();
    const grpc = await listenOn('bindAddress', config.bindAddress, (at) => serveGrpc(picker.services, at));
    closing.push(() => grpc.close());
    running.envoy = await envoyOf(config, grpc, log);
    const { envoy } = running;
    if (envoy) closing.push(() => envoy.stop());
    reports?.start();
    if (reports) closing.push(() => reports.end());
    log.info('picker started', {
      grpc: `${dialledHost(config.bindAddress)}:${grpc.port}`,
      metricsBindAddress: pages?.url,
      ...(envoy && { listenAddress: `${config.listenAddress.host}:${config.listenAddress.port}` }),
    });
    return { close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function envoyOf(
  config: PickerConfig,
  { port }: GrpcListening,
  log: Logger,
): Promise<EnvoyProcess | undefined> {
  if (config.envoy === undefined) return undefined;
  try {
    const bootstrap = envoyConfigOf(config, port);
    return await startEnvoy({ path: config.envoy, config: bootstrap, clock: systemClock, log });
  } catch (error) {
    if (error instanceof EnvoyStartError) throw new ConfigError([`--envoy: ${error.message}`]);
    throw error;
  }
}

interface Observed {
  readonly ending: AbortSignal;
  readonly envoy: () => EnvoyProcess | undefined;
}

async function servePagesOf(
  { metricsBindAddress: address }: PickerConfig,
  parts: Parts,
  observed: Observed,
): Promise<RunningServer | undefined> {
  if (address.type === 'off') return undefined;
  const { registry } = parts;
  const pages = {
    '/healthz': () => healthPage(liveness(parts)),
    '/readyz': () => healthPage(readiness(parts, observed)),
    [METRICS_PATH]: openMetricsPage(registry),
  };
  return listenOn('metricsBindAddress', address, (at) => servePages(pages, at));
}

/** What only a restart would mend. */
function liveness({ groups, slices }: Parts): readonly HealthCheck[] {
  return Object.entries({ groups, slices }).map(([name, cache]) => ({
    name: `watch-${name}`,
    problem: () => watchProblem(cache.health(), systemClock.now()),
  }));
}

function readiness({ groups, slices, picker }: Parts, { ending, envoy }: Observed): readonly HealthCheck[] {
  return [
    { name: 'ending', problem: () => (ending.aborted ? 'this process ends' : undefined) },
    {
      name: 'caches',
      problem: () =>
        groups.hasSynced() && slices.hasSynced() ? undefined : 'the first lists are not complete yet',
    },
    {
      name: 'envoy',
      problem: () =>
        envoy()?.problem() ?? (picker.isConnected() ? undefined : 'no Envoy has asked for its clusters'),
    },
  ];
}

function begunRequests(picker: Picker): number {
  return picker
    .figures()
    .reduce((sum, { heldRequests, inFlightRequests }) => sum + heldRequests + inFlightRequests, 0);
}

async function drained(picker: Picker, clock: Clock, graceMs: number): Promise<void> {
  const until = clock.monotonic() + graceMs;
  while (begunRequests(picker) > 0 && clock.monotonic() < until) await sleep(clock, DRAIN_CHECK_MS);
}
