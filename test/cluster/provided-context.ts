import type { ClusterConnection } from './connection.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The cluster that the integration project's global set-up started. */
    cluster: ClusterConnection;
    /** The one with a node of the node project's; null where there can be none. */
    nodeCluster: ClusterConnection | null;
    /** The name of the image of these sources in the docker project's engine; null where none answers. */
    operatorImage: string | null;
    /** Whether containers reach this machine at the gateway of their network. */
    isEngineHere: boolean;
  }
}
