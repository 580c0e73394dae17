import type { Config } from '../config/options.ts';

const WATCHED_KINDS = 3;
const CONNECTIONS_BESIDE_WATCHES = 16;

/**
 * How many sockets to the API server there may be: as configured, and never so few that watches leave none for the
 * lease and for writes. Each watched namespace has a watch per kind, which holds one for good.
 */
export function kubeConnectionsFor({
  kubeConnections,
  watchNamespace,
}: Pick<Config, 'kubeConnections' | 'watchNamespace'>): number {
  return Math.max(kubeConnections, watchNamespace.length * WATCHED_KINDS + CONNECTIONS_BESIDE_WATCHES);
}
