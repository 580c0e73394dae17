import { hostname } from 'node:os';
import type { Config } from './config.ts';
import { systemClock } from './lib/clock.ts';
import type { Env } from './lib/env.ts';
import { systemRandom } from './lib/random.ts';
import { exposeOperator } from './main/exposition.ts';
import { preferLittleMemory } from './main/little-memory.ts';
import { createMachineProber } from './main/machine-prober.ts';
import { createOperator, type Operator } from './main/operator.ts';
import { servePageSet } from './main/page-set.ts';
import { createMarketplaceTransport } from './marketplace/transport.ts';
import { loadKubeConnection } from './runtime/kube-config.ts';
import { createTransport } from './runtime/undici-transport.ts';
import { countedTransport } from './server/marketplace-request-metrics.ts';
import { createMetricRegistry } from './server/metric-registry.ts';
import { createLogger } from './server/pino-logger.ts';
import { createRentalMetrics } from './server/rental-metrics.ts';
import { createRuntimeMetrics } from './server/runtime-metrics.ts';

/** What the process gives the operator. */
export interface OperatorProcess {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborted by SIGTERM and Ctrl-C: acts that were begun finish, the lease is released. */
  readonly signal: AbortSignal;
  /** Where log lines go; stdout where absent. */
  readonly logDestination?: { write(line: string): void };
}

/** Networks that only `--allow-private-addresses` opens; loopback is always open, link-local never. */
const PRIVATE_NETWORKS = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7'];

/**
 * Runs the operator until the signal is aborted or the lease is lost. Resolves to the exit code: 0 after a
 * clean end, 1 where the lease was lost, so that whatever runs the process starts it again.
 */
export async function runOperator(config: Config, process: OperatorProcess): Promise<number> {
  preferLittleMemory();
  const destination = process.logDestination;
  const log = createLogger({ level: config.logLevel, ...(destination && { destination }) });
  const clock = systemClock;
  const { kubeconfig, context } = config;
  const connection = await loadKubeConnection({
    kubeconfig,
    context,
    environment: process.environment,
    clock,
  });
  const registry = createMetricRegistry();
  const metrics = createRuntimeMetrics(registry);
  const rentalMetrics = createRentalMetrics(registry);
  const kube = createTransport({ ...connection.tls, connections: config.kubeConnections });
  const allowedNetworks = config.allowPrivateAddresses ? PRIVATE_NETWORKS : [];
  const marketplace = createMarketplaceTransport({ allowedNetworks });
  const prober = createMachineProber(config.addressMap);
  const workerTransport = createTransport({ insecure: true, connections: 4, connectTimeoutMs: 3000 });
  const counted = countedTransport(marketplace, clock, registry);
  const env: Env = { clock, random: systemRandom, kube, marketplace: counted, log };
  const processName = `${hostname()}_${systemRandom.uuid()}`;
  const { origin: kubeOrigin, credentials } = connection;
  const operator = createOperator({
    config,
    env,
    kubeOrigin,
    credentials,
    processName,
    metrics,
    rentalMetrics,
    prober,
    workerTransport,
  });
  exposeOperator(registry, operator, clock);
  const pages = await servePageSet({ config, operator, registry, clock });
  log.info('operator started', {
    kubernetes: connection.origin,
    marketplaces: config.marketplaceUrl,
    ...pages.urls,
  });
  try {
    return await live(operator, process.signal);
  } finally {
    await pages.close();
    await marketplace.close();
    await kube.close();
    await workerTransport.close();
    log.info('operator ended');
  }
}

async function live(operator: Operator, signal: AbortSignal): Promise<number> {
  const stop = () => void operator.manager.stop();
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  const end = await operator.manager.run();
  return end === 'stopped' ? 0 : 1;
}
