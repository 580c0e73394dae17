import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import type { Config } from '../config/options.ts';
import { mapAddress } from '../config/values.ts';
import { ConfigError } from '../config.ts';
import { createProber, type Prober } from '../controllers/gpu-instance/probe.ts';
import type { ProxySettings } from '../lib/egress-proxy.ts';
import { NETWORKS } from '../lib/networks.ts';
import { createMarketplaceTransport } from '../markets/vast/http/transport.ts';
import type { KubeConnection } from '../runtime/kube/kube-config.ts';
import { type ClosableTransport, createTransport } from '../runtime/kube/undici-transport.ts';
import { authoritiesIn } from './extra-authorities.ts';
import { type Environment, processProxy } from './process-proxy.ts';
import { createWorkerTransport } from './worker-transport.ts';

/** Every connection that the operator's process opens, and the way to close them all. */
export interface Transports {
  readonly kube: ClosableTransport;
  /** To the API server as well, for the lease alone: writes that hang, as behind a webhook, take no connection from it. */
  readonly lease: ClosableTransport;
  readonly marketplace: ClosableTransport;
  /** Verifies a worker that proves itself, and believes any other certificate. */
  readonly workers: ClosableTransport;
  readonly prometheus: ClosableTransport;
}

/** One is held by the watch of who waits for the lease. */
const LEASE_CONNECTIONS = 2;

/** To one service, for all its logins: what one of them waits for must not hold up the others. */
const MARKETPLACE_CONNECTIONS = 64;

/**
 * Nothing is connected to yet. Machines and their workers are reached directly, everything else through the proxy of
 * the environment. Rejects with a ConfigError if a file that is named holds no certificate, or a proxy is set wrongly.
 */
export async function openTransports(
  config: Config,
  { tls, proxy }: Pick<KubeConnection, 'tls' | 'proxy'>,
  environment: Environment = {},
): Promise<Transports> {
  const egressProxy = processProxy(environment);
  const prometheus = await openPrometheusTransport(config, egressProxy);
  const allowedNetworks = config.allowPrivateAddresses ? NETWORKS.private : [];
  return {
    prometheus,
    marketplace: createMarketplaceTransport({
      ...{ allowedNetworks, proxy: egressProxy, connections: MARKETPLACE_CONNECTIONS },
    }),
    kube: createTransport({ ...tls, proxy, connections: kubeConnectionLimit(config) }),
    lease: createTransport({ ...tls, proxy, connections: LEASE_CONNECTIONS }),
    workers: createWorkerTransport(),
  };
}

const WATCHED_KINDS = 3;
const CONNECTIONS_BESIDE_WATCHES = 16;

/**
 * How many sockets to the API server there may be: as configured, and never so few that watches leave none for the
 * lease and for writes. Each watched namespace has a watch per kind, which holds one for good.
 */
export function kubeConnectionLimit({
  kubeConnections,
  watchNamespace,
}: Pick<Config, 'kubeConnections' | 'watchNamespace'>): number {
  return Math.max(kubeConnections, watchNamespace.length * WATCHED_KINDS + CONNECTIONS_BESIDE_WATCHES);
}

/**
 * The way to the Prometheus whose figures decide what is spent: its certificate is verified, against the
 * authorities of `--prometheus-ca` where that is given, else against those that Node knows (with
 * `NODE_EXTRA_CA_CERTS`). The file is read once. Rejects with {@link ConfigError} where it holds no certificate.
 */
export async function openPrometheusTransport(
  { prometheusCa }: Pick<Config, 'prometheusCa'>,
  proxy?: ProxySettings,
): Promise<ClosableTransport> {
  const ca = prometheusCa === undefined ? undefined : await readAuthorities(prometheusCa);
  return createTransport({ ca, proxy, connections: 4, connectTimeoutMs: 3000 });
}

async function readAuthorities(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
    throw refused(path, `cannot be read (${code}): name a file that the operator may read`);
  });
  const found = authoritiesIn(text);
  if ('problem' in found) throw refused(path, found.problem);
  return text;
}

function refused(path: string, problem: string): ConfigError {
  return new ConfigError([`--prometheus-ca: ${path} ${problem}`]);
}

/** Probes machines at the addresses that their marketplace names, as far as the settings let them be reached. */
export function createMachineProber({
  addressMap,
  allowPrivateAddresses,
}: Pick<Config, 'addressMap' | 'allowPrivateAddresses'>): Prober {
  return createProber({
    allowPrivate: allowPrivateAddresses,
    mapAddress: (address) => mapAddress(addressMap, address),
    resolve: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
  });
}
