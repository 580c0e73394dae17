import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';

/** The ways to a real Kubernetes API, in the order in which they are tried; `own-node` runs Pods, too. */
export type ClusterSource = 'existing-cluster' | 'kubebuilder-assets' | 'own-node' | 'k3s' | 'go-toolchain';

/** What reaches a node beyond its API. Plain values, too. */
export interface NodeConnection {
  /** Of this machine, as Pods see it. */
  readonly hostAddress: string;
  /** Program and arguments; the path of an image's archive comes last. */
  readonly importCommand: readonly string[];
  /** Where containerd reads how it reaches registries; absent where that is not ours to say. */
  readonly registriesFolder?: string;
  /** Whether the processes of containers are processes of this machine, which may be killed. */
  readonly sharesProcesses: boolean;
}

/** Everything that reaches a cluster as its administrator. Plain values: they cross process borders. */
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
  /** An absolute path, or the plain name where none was found and the shell has to know one. */
  readonly kubectlPath: string;
  /** Whether everything in the cluster may be thrown away; false for a cluster that somebody else owns. */
  readonly disposable: boolean;
  /** Whether owner references are collected and namespaces finish deleting. */
  readonly collectsGarbage: boolean;
  /** One JSON event per line, written before the reply leaves; where auditing was asked for and is possible. */
  readonly auditLogPath: string | undefined;
  /** Where etcd is ours alone: it may be compacted, and its size be read. */
  readonly etcdUrl: string | undefined;
  /** Where the cluster runs Pods, and was asked for that. */
  readonly node: NodeConnection | undefined;
}

/** How a request says who sent it. */
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
