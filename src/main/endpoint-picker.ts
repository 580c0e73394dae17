import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import nodeProcess from 'node:process';
import { endpointGroupResource, INSTALL_DEFINITIONS, OPERATOR_NAME } from '../api/v1alpha1/names.ts';
import { statusCodec } from '../api/v1alpha1/status-codec.ts';
import type { PickerConfig } from '../config/picker-options.ts';
import { dialPolicyOf } from '../config/values.ts';
import { ConfigError } from '../config.ts';
import { type EnvoyAdmin, envoyAdmin } from '../gateway/envoy-admin.ts';
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
import { type GrpcListening, type ServerIdentity, serveGrpc } from '../gateway/grpc-server.ts';
import { BY_GROUP, Picker } from '../gateway/picker.ts';
import { ReportClient } from '../gateway/report-client.ts';
import { inBackground } from '../lib/background.ts';
import { type Clock, sleep, systemClock } from '../lib/clock.ts';
import type { ProxySettings } from '../lib/egress-proxy.ts';
import type { Logger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import { firstAbort, untilAborted } from '../runtime/first-abort.ts';
import { endpointSliceResource } from '../runtime/kube/core-resources.ts';
import { createKubeClient, type KubeClient } from '../runtime/kube/kube-client.ts';
import { type KubeConnection, loadKubeConnection } from '../runtime/kube/kube-config.ts';
import type { KubeObject, Resource } from '../runtime/kube/kube-object.ts';
import { createTransport } from '../runtime/kube/undici-transport.ts';
import { createInformer, type Informer } from '../runtime/list-watch/informer.ts';
import { createGatewayMetrics, showGatewayGroups, showOperatorOutage } from '../server/gateway-metrics.ts';
import { type HealthCheck, healthPage, type RunningServer, servePages } from '../server/http-server.ts';
import { createMetricRegistry, type MetricRegistry } from '../server/metric-registry.ts';
import { createLogger } from '../server/pino-logger.ts';
import { createProcessMetrics } from '../server/runtime-metrics.ts';
import { combineInformers } from './caches.ts';
import { listenOn, METRICS_PATH, openMetricsPage, watchProblem } from './page-set.ts';
import { drain } from './picker-drain.ts';
import { applyProcessPolicy, type ProcessEvents } from './process-policy.ts';
import { processProxy } from './process-proxy.ts';

/** Environment of the picker's process. */
export interface PickerProcess {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborted by SIGTERM and Ctrl-C: the process becomes unready, and running requests continue. */
  readonly signal: AbortSignal;
  /** Source of uncaught errors; those of this process by default. */
  readonly events?: ProcessEvents;
  /** Destination of log lines; stdout by default. */
  readonly logDestination?: { write(line: string): void };
}

/** Time for the steps after the requests: Envoy, servers. */
const LAST_GRACE_MS = 10_000;
/** Interval between calls to an Envoy that may not run yet. */
const ASK_AGAIN_MS = 1_000;

/** Returns the configuration of an Envoy for these settings. */
export function envoyConfigOf(
  config: PickerConfig,
  { port, adminSocket }: { readonly port: number; readonly adminSocket: string | undefined } = {
    port: config.bindAddress.port,
    adminSocket: config.envoyAdminSocket,
  },
): string {
  const { listenAddress, bindAddress, pickerAddress } = config;
  return envoyBootstrap({
    listen: listenAddress,
    picker: pickerAddress ?? { host: dialledHost(bindAddress), port },
    ...(adminSocket !== undefined && { adminSocket }),
    maxHeapBytes: config.envoyMaxHeap,
    trustedHops: config.trustedHops,
    idleTimeoutMs: config.clientIdleTimeout,
  });
}

/** Returns the host to dial for a listener: loopback for one on all addresses. */
function dialledHost({ host }: SocketPlace): string {
  return host === '' || host === '0.0.0.0' ? '127.0.0.1' : host;
}

/**
 * Serves Envoy until the signal is aborted, and then for `drainDelay` and until no request is left, within
 * `shutdownGrace`. Requests that are still held then get 503. Resolves to the exit code: 0 after an orderly end, 1
 * after an uncaught exception. Rejects with a ConfigError if an address or Envoy's binary cannot be used, and without
 * an API server.
 */
export async function runPicker(config: PickerConfig, process: PickerProcess): Promise<number> {
  const destination = process.logDestination;
  const log = createLogger({ level: config.logLevel, ...(destination && { destination }) });
  const { kubeconfig, context } = config;
  const { environment } = process;
  const clock = systemClock;
  const connection = await loadKubeConnection({ kubeconfig, context, environment, clock });
  const registry = createMetricRegistry();
  const policy = applyProcessPolicy({
    events: process.events ?? nodeProcess,
    metrics: createProcessMetrics(registry, 'endpoint-picker'),
    clock,
    log,
    exit: (code) => nodeProcess.exit(code),
    graceMs: config.shutdownGrace + LAST_GRACE_MS,
  });
  const proxy = processProxy(environment);
  const parts = assemble({ config, connection, proxy, registry, log });
  const ending = firstAbort([process.signal, policy.ended]);
  try {
    const opened = await open(config, parts, { log, ending: ending.signal });
    await untilAborted(ending.signal);
    log.info('picker ends: requests that were begun go on', { requests: begunRequests(parts.picker) });
    const isInUse = parts.picker.isConnected() || begunRequests(parts.picker) > 0;
    if (!policy.ended.aborted && isInUse) {
      const { picker } = parts;
      const given = { clock, log, admin: opened.admin(), begunRequests: () => begunRequests(picker) };
      const { drainDelay: delayMs, shutdownGrace: graceMs } = config;
      await drain({ ...given, delayMs, graceMs, refuseHeld: () => picker.refuseAll() });
    }
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
  /** Client of the operator's reports; undefined if no operator accepts them. */
  readonly reports: ReportClient | undefined;
  readonly closeConnections: () => Promise<void>;
}

interface Given {
  readonly config: PickerConfig;
  readonly connection: KubeConnection;
  readonly proxy: ProxySettings | undefined;
  readonly registry: MetricRegistry;
  readonly log: Logger;
}

/** Connections in addition to watches: the watch of each kind and namespace occupies one permanently. */
const CONNECTIONS_BESIDE_WATCHES = 4;

function assemble({ config, connection, proxy, registry, log }: Given): Parts {
  const shared = { clock: systemClock, random: systemRandom, log };
  const [ofGroup] = config.group?.split('/') ?? [];
  const namespaces = ofGroup === undefined ? config.watchNamespace : [ofGroup];
  const connections = Math.max(1, namespaces.length) * 2 + CONNECTIONS_BESIDE_WATCHES;
  const transport = createTransport({ ...connection.tls, proxy: connection.proxy, connections });
  const { origin, credentials } = connection;
  const userAgent = `${OPERATOR_NAME}-picker`;
  const client = createKubeClient({
    ...{ ...shared, transport, origin, credentials, userAgent },
    codec: statusCodec,
  });
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
    addresses: dialPolicyOf(config),
    trustedHops: config.trustedHops,
    maxHeldBytes: config.maxHeldMemory,
    bodyTimeoutMs: config.bodyTimeout,
    pool: config.group,
    onWake: () => reports?.reportNow(),
  });
  const toOperator = createTransport({ connections: 1, proxy });
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
  if (reports) showOperatorOutage(registry, () => reports.unreachableSeconds);
  const closeConnections = async (): Promise<void> => {
    await Promise.all([transport.close(), toOperator.close()]);
  };
  return { picker, groups, slices, registry, reports, closeConnections };
}

/** Returns a name for this process alone: the counters of the next process begin at 0. */
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

/** Returns one informer for all namespaces, or one for each named namespace. */
function cacheOf<T>({ namespaces, ...options }: CacheOptions<T>): Informer<T> {
  const remedyIfUnserved = `The CRDs are not installed. ${INSTALL_DEFINITIONS}`;
  const create = (namespace: string | undefined): Informer<T> =>
    createInformer<T>({ ...options, remedyIfUnserved, namespace });
  if (namespaces.length === 0) return create(undefined);
  return combineInformers(new Map(namespaces.map((namespace) => [namespace, create(namespace)])));
}

async function identityOf(folder: string | undefined): Promise<ServerIdentity | undefined> {
  if (folder === undefined) return undefined;
  try {
    const [certificate, key] = await Promise.all(
      ['tls.crt', 'tls.key'].map((name) => readFile(join(folder, name))),
    );
    return certificate && key && { certificate, key };
  } catch (error) {
    throw new ConfigError([`--tls-directory: ${error instanceof Error ? error.message : String(error)}`]);
  }
}

interface Opened {
  /** Returns the admin interface of the Envoy that calls this picker; undefined if it cannot be reached. */
  admin(): EnvoyAdmin | undefined;
  close(): Promise<void>;
}

/** An Envoy started by this process, and its admin interface. */
interface Beside {
  /** True if an Envoy must be started, after everything else. */
  readonly isExpected: boolean;
  process: EnvoyProcess | undefined;
  admin: EnvoyAdmin | undefined;
}

/** Starts the pages first, so that a slow API server is visible, and Envoy last, when every group is known. */
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
  const { envoyAdminSocket: socket } = config;
  const envoy: Beside = {
    isExpected: config.envoy !== undefined || socket !== undefined,
    process: undefined,
    admin: socket === undefined ? undefined : envoyAdmin(socket),
  };
  const opened: Opened = { admin: () => envoy.admin, close };
  try {
    const pages = await servePagesOf(config, parts, { ending, envoy });
    if (pages) closing.push(() => pages.close());
    groups.start();
    slices.start();
    await Promise.race([Promise.all([groups.synced, slices.synced]), untilAborted(ending)]);
    if (ending.aborted) return opened;
    picker.start();
    const identity = await identityOf(config.tlsDirectory);
    const grpc = await listenOn('bindAddress', config.bindAddress, (at) =>
      serveGrpc(picker.services, at, identity),
    );
    closing.push(() => grpc.close());
    if (config.envoy === undefined) keepConnections(envoy.admin, ending, log);
    else closing.push(await startBeside(config, grpc, { envoy, log }));
    reports?.start();
    if (reports) closing.push(() => reports.end());
    log.info('picker started', {
      grpc: `${dialledHost(config.bindAddress)}:${grpc.port}`,
      metricsBindAddress: pages?.url,
      ...(config.envoy !== undefined && {
        listenAddress: `${config.listenAddress.host}:${config.listenAddress.port}`,
      }),
    });
    return opened;
  } catch (error) {
    await close();
    throw error;
  }
}

/** Lets Envoy keep connections open again, if it survived the drain of the previous picker. */
function keepConnections(admin: EnvoyAdmin | undefined, ending: AbortSignal, log: Logger): void {
  if (!admin) return;
  const untilAnswered = async (): Promise<void> => {
    while (!ending.aborted) {
      const answered = await admin.keepConnections().then(
        () => true,
        () => false,
      );
      if (answered) return;
      await sleep(systemClock, ASK_AGAIN_MS, ending).catch(() => {});
    }
  };
  inBackground({ task: 'envoy-admin' }, untilAnswered, (error) =>
    log.error('Envoy is not asked any more', { error }),
  );
}

/** Starts the servers and resolves to a function that stops them. */
async function startBeside(
  config: PickerConfig,
  { port }: GrpcListening,
  { envoy, log }: { readonly envoy: Beside; readonly log: Logger },
): Promise<() => Promise<void>> {
  try {
    const started = await startEnvoy({
      path: config.envoy ?? '',
      config: (folder) => {
        const adminSocket = join(folder, 'admin.sock');
        envoy.admin = envoyAdmin(adminSocket);
        return envoyConfigOf(config, { port, adminSocket });
      },
      clock: systemClock,
      log,
    });
    envoy.process = started;
    return () => started.stop();
  } catch (error) {
    if (error instanceof EnvoyStartError) throw new ConfigError([`--envoy: ${error.message}`]);
    throw error;
  }
}

interface Observed {
  readonly ending: AbortSignal;
  readonly envoy: Beside;
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
    '/readyz': async () => healthPage(readiness(parts, observed, await observed.envoy.admin?.isReady())),
    [METRICS_PATH]: openMetricsPage(registry),
  };
  return listenOn('metricsBindAddress', address, (at) => servePages(pages, at));
}

/** Returns the checks of faults that only a restart repairs. */
function liveness({ groups, slices }: Parts): readonly HealthCheck[] {
  return Object.entries({ groups, slices }).map(([name, cache]) => ({
    name: `watch-${name}`,
    problem: () => watchProblem(cache.health(), systemClock.now()),
  }));
}

/** Returns the readiness checks. `isServing`: Envoy's own report; undefined if it is not read. */
function readiness(
  { groups, slices, picker }: Parts,
  { ending, envoy }: Observed,
  isServing: boolean | undefined,
): readonly HealthCheck[] {
  return [
    { name: 'ending', problem: () => (ending.aborted ? 'this process ends' : undefined) },
    {
      name: 'caches',
      problem: () =>
        groups.hasSynced() && slices.hasSynced() ? undefined : 'the first lists are not complete yet',
    },
    ...(picker.isOfPool()
      ? [{ name: 'group', problem: () => (picker.isReady() ? undefined : 'the group is not served') }]
      : []),
    // An Envoy on another machine finds this picker only when it is ready.
    ...(envoy.isExpected
      ? [
          {
            name: 'envoy',
            problem: () => envoy.process?.problem() ?? envoyProblem(picker.isConnected(), isServing),
          },
        ]
      : []),
  ];
}

function envoyProblem(isConnected: boolean, isServing: boolean | undefined): string | undefined {
  if (!isConnected) return 'no Envoy has asked for its clusters';
  return isServing === false ? 'Envoy does not accept requests yet' : undefined;
}

function begunRequests(picker: Picker): number {
  return picker
    .figures()
    .reduce((sum, { heldRequests, inFlightRequests }) => sum + heldRequests + inFlightRequests, 0);
}
