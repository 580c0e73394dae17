import type { ClusterConnection } from './connection.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The cluster that the integration project's global set-up started. */
    cluster: ClusterConnection;
    /** Cluster with a node for the node project; null if there cannot be one. */
    nodeCluster: ClusterConnection | null;
    /** Name of the operator's image in the docker project's engine; null if no engine answers. */
    operatorImage: string | null;
    /** True if containers reach this machine at the gateway of their network. */
    isEngineHere: boolean;
  }
}
