import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';

/** The ways to a real Kubernetes API, in the order in which they are tried; `own-node` runs Pods, too. */
export type ClusterSource = 'existing-cluster' | 'kubebuilder-assets' | 'own-node' | 'k3s' | 'go-toolchain';

/** Connection to a node beyond its API, as plain values. */
export interface NodeConnection {
  /** Address of this machine, as Pods see it. */
  readonly hostAddress: string;
  /** Program and arguments; the path of an image's archive comes last. */
  readonly importCommand: readonly string[];
  /** Folder in which containerd reads its registry settings; absent if the cluster belongs to others. */
  readonly registriesFolder?: string;
  /** True if container processes are processes of this machine, which tests may kill. */
  readonly sharesProcesses: boolean;
}

/** Connection to a cluster as its administrator. Plain values: they cross process boundaries. */
export interface ClusterConnection {
  readonly source: ClusterSource;
  /** Names what is created beside the tests' own objects, so that two runs on one cluster do not meet. */
  readonly id: string;
  readonly url: string;
  readonly caPem: string;
  readonly adminToken: string;
  /** The administrator's kubeconfig, with this one cluster and user in it. */
  readonly kubeconfigPath: string;
  /** Never the user's own: kubeconfigs and caches live here until the cluster is stopped. */
  readonly folder: string;
  /** Absolute path, or the plain name if none was found and the shell must resolve it. */
  readonly kubectlPath: string;
  /** True if everything in the cluster may be deleted; false for a cluster of others. */
  readonly disposable: boolean;
  /** True if owner references are collected and namespaces finish deleting. */
  readonly collectsGarbage: boolean;
  /** Audit log, if requested and possible: one JSON event per line, written before the response is sent. */
  readonly auditLogPath: string | undefined;
  /** URL of an etcd that belongs to this cluster alone: tests may compact it and read its size. */
  readonly etcdUrl: string | undefined;
  /** Node connection, if the cluster runs Pods and they were requested. */
  readonly node: NodeConnection | undefined;
}

/** Credential of a request. */
export type Credential =
  | { readonly type: 'token'; readonly token: string }
  | { readonly type: 'certificate'; readonly certificatePem: string; readonly keyPem: string };

export interface Impersonation {
  readonly user: string;
  readonly groups: readonly string[];
}

export interface KubeconfigFacts {
  readonly url: string;
  readonly caPem: string;
  readonly token: string;
  /** Context, cluster and user name: what a prompt shows. */
  readonly name: string;
  readonly as?: Impersonation;
}

/** Writes a kubeconfig that only its owner can read. */
export function writeKubeconfig(path: string, facts: KubeconfigFacts): void {
  const { name } = facts;
  const cluster = {
    server: facts.url,
    'certificate-authority-data': Buffer.from(facts.caPem).toString('base64'),
  };
  const user = {
    token: facts.token,
    ...(facts.as === undefined ? {} : { as: facts.as.user, 'as-groups': facts.as.groups }),
  };
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
  writeFileSync(path, stringify(kubeconfig), { mode: 0o600 });
}
