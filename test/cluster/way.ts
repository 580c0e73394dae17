import type { ClusterConnection, ClusterSource } from './connection.ts';
import type { NodeTimes } from './node/ready.ts';
import type { AuditOptions } from './site.ts';

export interface StartOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Asks for an audit log; only a control plane of our own can give one. */
  readonly audit: AuditOptions | undefined;
  /** One line for people about what is going on. */
  readonly report: (line: string) => void;
}

/** The API server of a control plane of our own can be taken away and brought back; etcd keeps the data. */
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
  /** By name, of what runs on this machine for this cluster alone. */
  processIds(): Readonly<Record<string, number>>;
  stop(): Promise<void>;
}

/** A way that was asked for has to work; one that was merely found gives way to the next where it does not. */
export type Usability =
  | { readonly type: 'asked' }
  | { readonly type: 'found' }
  | { readonly type: 'unusable'; readonly why: string };

/** One of the ways to a real Kubernetes API. */
export interface Way {
  readonly source: ClusterSource;
  /** What somebody has to have or to do to go this way. */
  readonly needs: string;
  check(env: NodeJS.ProcessEnv): Promise<Usability>;
  /**
   * Gets what only others have, such as an image. Rejects with what to do if it cannot be had: nothing is wrong here
   * then, and this way is not usable.
   */
  obtain?(options: StartOptions): Promise<void>;
  /** What takes long and is done once. */
  prepare(options: StartOptions): Promise<void>;
  start(options: StartOptions): Promise<StartedCluster>;
  /** Whether `prepare` has nothing to do. Left out: it never takes long. */
  isPrepared?(env: NodeJS.ProcessEnv): boolean;
}
