import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import type { Config } from '../config/options.ts';
import { dialPolicyOf } from '../config/values.ts';
import { ConfigError } from '../config.ts';
import type { DialOptions } from '../controllers/gpu-instance/dial-name.ts';
import { createSshRunner, type SshRunner } from '../controllers/gpu-instance/lease-renewal.ts';
import { createProber, type Prober } from '../controllers/gpu-instance/probe.ts';
import type { ProxySettings } from '../lib/egress-proxy.ts';
import { NETWORKS } from '../lib/networks.ts';
import { createMarketplaceTransport } from '../markets/vast/http/transport.ts';
import type { KubeConnection } from '../runtime/kube/kube-config.ts';
import { type ClosableTransport, createTransport } from '../runtime/kube/undici-transport.ts';
import { authoritiesIn } from './extra-authorities.ts';
import { type Environment, processProxy } from './process-proxy.ts';
import { runSshCommand } from './ssh-command.ts';
import { createWorkerTransport } from './worker-transport.ts';

/** All connections of the operator's process, and a function that closes them. */
export interface Transports {
  readonly kube: ClosableTransport;
  /**
   * A second transport to the API server for the lease alone: hanging writes, such as behind a webhook, take no
   * connection from it.
   */
  readonly lease: ClosableTransport;
  readonly marketplace: ClosableTransport;
  /** Verifies a worker with a TLS identity, and accepts any other certificate. */
  readonly workers: ClosableTransport;
  readonly prometheus: ClosableTransport;
}

/** Number of connections for the lease; the watch of a waiting replica occupies one. */
const LEASE_CONNECTIONS = 2;

/** Connections to one service for all its logins: a login that waits must not block the others. */
const MARKETPLACE_CONNECTIONS = 64;

/**
 * Creates the transports without connecting. Machines and their workers are reached directly, everything else through
 * the proxy of the environment. Rejects with a ConfigError if a named file contains no certificate, or a proxy setting
 * is invalid.
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
 * Returns the maximum number of sockets to the API server: the configured one, or more if watches would leave too few
 * for the lease and writes. The watch of each kind in each watched namespace occupies one permanently.
 */
export function kubeConnectionLimit({
  kubeConnections,
  watchNamespace,
}: Pick<Config, 'kubeConnections' | 'watchNamespace'>): number {
  return Math.max(kubeConnections, watchNamespace.length * WATCHED_KINDS + CONNECTIONS_BESIDE_WATCHES);
}

/**
 * Returns the transport to the Prometheus whose figures decide spending. Its certificate is verified against the
 * authorities of `--prometheus-ca`, else against those of Node (with `NODE_EXTRA_CA_CERTS`). The file is read once.
 * Rejects with {@link ConfigError} if it contains no certificate.
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

/** Rules and names by which this process connects to machines. */
function machineDial(settings: Pick<Config, 'addressMap' | 'allowPrivateAddresses'>): DialOptions {
  return {
    ...dialPolicyOf(settings),
    resolve: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
  };
}

/** Probes machines at the addresses that their marketplace names, as far as the settings allow. */
export function createMachineProber(settings: Pick<Config, 'addressMap' | 'allowPrivateAddresses'>): Prober {
  return createProber(machineDial(settings));
}

/** Runs commands on machines by SSH at the addresses that their marketplace names, as far as the settings allow. */
export function createMachineSsh(settings: Pick<Config, 'addressMap' | 'allowPrivateAddresses'>): SshRunner {
  return createSshRunner({ ...machineDial(settings), run: runSshCommand });
}
