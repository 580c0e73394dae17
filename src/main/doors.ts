import type { Config } from '../config/options.ts';
import { NETWORKS } from '../lib/networks.ts';
import { createMarketplaceTransport } from '../marketplace/http/transport.ts';
import type { KubeConnection } from '../runtime/kube/kube-config.ts';
import { type ClosableTransport, createTransport } from '../runtime/kube/undici-transport.ts';
import { kubeConnectionsFor } from './kube-connections.ts';
import { openPrometheusDoor } from './prometheus-door.ts';

/** Every connection that the operator's process opens, and the way to close them all. */
export interface Doors {
  readonly kube: ClosableTransport;
  /** To the API server as well, for the lease alone: writes that hang, as behind a webhook, take no connection from it. */
  readonly lease: ClosableTransport;
  readonly marketplace: ClosableTransport;
  /** Believes any certificate: nobody could verify one of a rented machine. */
  readonly workers: ClosableTransport;
  readonly prometheus: ClosableTransport;
}

/** One is held by the watch of who waits for the lease. */
const LEASE_CONNECTIONS = 2;

/** Nothing is connected to yet. Rejects with a ConfigError where a file that is named holds no certificate. */
export async function openDoors(config: Config, { tls }: Pick<KubeConnection, 'tls'>): Promise<Doors> {
  const prometheus = await openPrometheusDoor(config);
  const allowedNetworks = config.allowPrivateAddresses ? NETWORKS.private : [];
  return {
    prometheus,
    marketplace: createMarketplaceTransport({ allowedNetworks }),
    kube: createTransport({ ...tls, connections: kubeConnectionsFor(config) }),
    lease: createTransport({ ...tls, connections: LEASE_CONNECTIONS }),
    workers: createTransport({ insecure: true, connections: 4, connectTimeoutMs: 3000 }),
  };
}
