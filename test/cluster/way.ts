import type { ClusterConnection, ClusterSource } from './connection.ts';
import type { NodeTimes } from './node/ready.ts';
import type { AuditOptions } from './site.ts';

export interface StartOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Asks for an audit log; only a control plane of our own can give one. */
  readonly audit: AuditOptions | undefined;
  /** Reports progress to people, one line at a time. */
  readonly report: (line: string) => void;
}

/** Switch that stops and restarts the API server of a local control plane; etcd keeps the data. */
export interface ApiServerSwitch {
  stop(): Promise<void>;
  /** Resolves when it is ready, at the same address. */
  start(): Promise<void>;
  restart(): Promise<void>;
  /**
   * Makes etcd forget every revision but the newest. The API server still remembers recent ones itself, so call
   * {@link restart} after it: a watch from an older resourceVersion and an older `continue` token are 410 from then on.
   */
  compactEtcd(): Promise<void>;
}

export interface StartedCluster {
  readonly connection: ClusterConnection;
  readonly apiServer: ApiServerSwitch | undefined;
  readonly nodeTimes?: NodeTimes | undefined;
  /** Returns the IDs of processes on this machine that belong to this cluster alone, by name. */
  processIds(): Readonly<Record<string, number>>;
  stop(): Promise<void>;
}

/** Usability of a way. A requested way must work; after a detected way that fails, the next one is tried. */
export type Usability =
  | { readonly type: 'asked' }
  | { readonly type: 'found' }
  | { readonly type: 'unusable'; readonly why: string };

/** Way to a real Kubernetes API. */
export interface Way {
  readonly source: ClusterSource;
  /** Requirements of this way, for the error message. */
  readonly needs: string;
  check(env: NodeJS.ProcessEnv): Promise<Usability>;
  /**
   * Gets what only others have, such as an image. Rejects with what to do if it cannot be had: nothing is wrong here
   * then, and this way is not usable.
   */
  obtain?(options: StartOptions): Promise<void>;
  /** Completes slow one-time work. */
  prepare(options: StartOptions): Promise<void>;
  start(options: StartOptions): Promise<StartedCluster>;
  /** Returns true if `prepare` has nothing to do. Omitted if it never takes long. */
  isPrepared?(env: NodeJS.ProcessEnv): boolean;
}
