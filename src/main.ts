import { hostname } from 'node:os';
import nodeProcess from 'node:process';
import type { Config } from './config/options.ts';
import { inBackground } from './lib/background.ts';
import { systemClock } from './lib/clock.ts';
import type { Env } from './lib/env.ts';
import type { Logger } from './lib/logger.ts';
import { systemRandom } from './lib/random.ts';
import { exposeOperator } from './main/exposition.ts';
import { followExtraAuthorities } from './main/extra-authorities.ts';
import { balanceOwnHeap } from './main/heap-policy.ts';
import { createOperator, type Operator } from './main/operator.ts';
import { servePageSet } from './main/page-set.ts';
import { applyProcessPolicy, type ProcessEvents } from './main/process-policy.ts';
import { createMachineProber, createMachineSsh, openTransports, type Transports } from './main/transports.ts';
import { firstAbort } from './runtime/first-abort.ts';
import { type KubeConnection, loadKubeConnection } from './runtime/kube/kube-config.ts';
import { countedTransport } from './server/marketplace-request-metrics.ts';
import { createMetricRegistry, type MetricRegistry } from './server/metric-registry.ts';
import { createLogger } from './server/pino-logger.ts';
import { createRentalMetrics, endFailingDestroys } from './server/rental-metrics.ts';
import { createProcessMetrics, createRuntimeMetrics } from './server/runtime-metrics.ts';

/** Environment of the operator's process. */
export interface OperatorProcess {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborted by SIGTERM and Ctrl-C: running actions finish, then the lease is released. */
  readonly signal: AbortSignal;
  /** Source of uncaught errors; those of this process by default. */
  readonly events?: ProcessEvents;
  /** Destination of log lines; stdout by default. */
  readonly logDestination?: { write(line: string): void };
}

/**
 * Runs the operator until the signal is aborted, the lease is lost or an exception is uncaught. Resolves to the exit
 * code: 0 after a clean end, 1 otherwise, so that the kubelet restarts it. Rejects if it cannot start: no API server is
 * configured, or an address cannot be used.
 */
export async function runOperator(config: Config, process: OperatorProcess): Promise<number> {
  const leaveHeap = balanceOwnHeap(systemClock);
  const destination = process.logDestination;
  const log = createLogger({ level: config.logLevel, ...(destination && { destination }) });
  const { kubeconfig, context } = config;
  const { environment } = process;
  const connection = await loadKubeConnection({ kubeconfig, context, environment, clock: systemClock });
  const transports = await openTransports(config, connection, environment);
  const registry = createMetricRegistry();
  const policy = applyProcessPolicy({
    events: process.events ?? nodeProcess,
    metrics: createProcessMetrics(registry, 'operator'),
    clock: systemClock,
    log,
    exit: (code) => nodeProcess.exit(code),
    graceMs: config.shutdownGrace + LAST_GRACE_MS,
  });
  const podUid = environment['POD_UID'];
  const operator = buildOperator({ config, connection, transports, registry, log, podUid });
  const pages = await servePageSet({ config, operator, registry, clock: systemClock, log });
  const path = environment['NODE_EXTRA_CA_CERTS'];
  const leaveAuthorities = followExtraAuthorities({ path, clock: systemClock, log });
  log.info('operator started', {
    kubernetes: connection.origin,
    marketplaces: config.marketplaceUrl,
    ...pages.urls,
  });
  try {
    return await live(operator, { asked: process.signal, faulted: policy.ended, log });
  } finally {
    leaveHeap();
    leaveAuthorities();
    policy.remove();
    await pages.close();
    for (const transport of Object.values(transports)) await transport.close();
    log.info('operator ended');
  }
}

/** Time for the steps after the tasks: events, the lease, servers. */
const LAST_GRACE_MS = 10_000;

interface Parts {
  readonly config: Config;
  readonly connection: KubeConnection;
  readonly transports: Transports;
  readonly registry: MetricRegistry;
  readonly log: Logger;
  /** Name from the downward API: host names cut the names of Pods, and are then not unique. */
  readonly podUid: string | undefined;
}

function buildOperator({ config, connection, transports, registry, log, podUid }: Parts): Operator {
  const clock = systemClock;
  const pod = podUid ? `${hostname()}_${podUid}` : undefined;
  const marketplace = countedTransport(transports.marketplace, clock, registry);
  const env: Env = { clock, random: systemRandom, kube: transports.kube, marketplace, log };
  const rentalMetrics = createRentalMetrics(registry);
  const operator = createOperator({
    config,
    env,
    kubeOrigin: connection.origin,
    credentials: connection.credentials,
    processName: `${pod ?? hostname()}_${systemRandom.uuid().slice(0, 8)}`,
    pod,
    metrics: createRuntimeMetrics(registry),
    rentalMetrics,
    leaseTransport: transports.lease,
    prober: createMachineProber(config),
    runSsh: createMachineSsh(config),
    workerTransport: transports.workers,
    prometheusTransport: transports.prometheus,
    checksDefinitions: true,
  });
  exposeOperator(registry, operator, clock);
  endFailingDestroys(rentalMetrics, operator.caches.instances);
  return operator;
}

interface Endings {
  readonly asked: AbortSignal;
  readonly faulted: AbortSignal;
  readonly log: Logger;
}

async function live(operator: Operator, { asked, faulted, log }: Endings): Promise<number> {
  const ending = firstAbort([asked, faulted]);
  const stop = () =>
    inBackground(
      { task: 'shutdown' },
      () => operator.manager.stop(),
      (error) => log.error('The operator could not be stopped', { error }),
    );
  if (ending.signal.aborted) stop();
  ending.signal.addEventListener('abort', stop, { once: true });
  const end = await operator.manager.run();
  ending.release();
  return end === 'stopped' && !faulted.aborted ? 0 : 1;
}
