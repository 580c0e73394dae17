import { join } from 'node:path';
import { z } from 'zod';
import { until } from '../builders/until.ts';
import {
  MADE_BY_TESTS,
  mintImpersonatorToken,
  requestToken,
  type ServiceAccountName,
} from './access-objects.ts';
import { type AdminClient, openAdminClient } from './admin-client.ts';
import { type ClusterConnection, type Impersonation, writeKubeconfig } from './connection.ts';
import { runKubectl } from './kubectl.ts';
import { accessNode, type NodeAccess } from './node/access.ts';
import { resetCluster } from './reset.ts';

/** Identity of a kubeconfig: an impersonated person, or an existing ServiceAccount with a token of its own. */
export type Identity =
  | { readonly user: string; readonly groups?: readonly string[] }
  | { readonly serviceAccount: ServiceAccountName };

/** Credentials of an identity. */
export interface IdentityAccess {
  readonly kubeconfigPath: string;
  readonly token: string;
  /** To be sent with the token; without it the token of a person may do nothing. */
  readonly as: Impersonation | undefined;
}

export interface KubectlOptions {
  readonly stdin?: string;
  /** Default: the administrator's. */
  readonly kubeconfigPath?: string;
}

/** Access to a running cluster; only the process that started the cluster can stop it. */
export interface ClusterAccess extends Omit<ClusterConnection, 'node'> {
  readonly admin: AdminClient;
  /** Node access, if the cluster was started with a node. */
  readonly node: NodeAccess | undefined;
  /** Runs kubectl and gives back its stdout; rejects with its stderr. */
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<string>;
  /** Returns credentials whose RBAC is the cluster's own: this grants nothing. */
  kubeconfigFor(identity: Identity): Promise<IdentityAccess>;
  /** Creates a namespace with that prefix and a random suffix, labelled so that {@link reset} finds it. */
  createNamespace(prefix: string, labels?: Readonly<Record<string, string>>): Promise<string>;
  /** Removes the operator's objects and the tests' namespaces, also those of other suites. */
  reset(): Promise<void>;
  /** Closes the connections of this access; the cluster goes on. */
  disconnect(): Promise<void>;
}

const created = z.object({ metadata: z.object({ name: z.string() }) });

function fileNameOf(identity: Identity): string {
  const parts =
    'user' in identity
      ? [identity.user, ...(identity.groups ?? [])]
      : [identity.serviceAccount.namespace, identity.serviceAccount.name];
  return `${parts.map(encodeURIComponent).join('+')}.kubeconfig`;
}

async function giveAccess(
  admin: AdminClient,
  connection: ClusterConnection,
  identity: Identity,
): Promise<IdentityAccess> {
  const kubeconfigPath = join(connection.folder, fileNameOf(identity));
  if ('user' in identity) {
    const token = await mintImpersonatorToken(admin, connection.id);
    const as = { user: identity.user, groups: identity.groups ?? [] };
    writeKubeconfig(kubeconfigPath, { ...connection, name: identity.user, token, as });
    return { kubeconfigPath, token, as };
  }
  const token = await requestToken(admin, identity.serviceAccount);
  writeKubeconfig(kubeconfigPath, { ...connection, name: identity.serviceAccount.name, token });
  return { kubeconfigPath, token, as: undefined };
}

/** Waits until the namespace has its default ServiceAccount: before that, Pods are refused. */
async function untilPodsAreTaken(admin: AdminClient, namespace: string): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
  await until(`${namespace} has a ServiceAccount`, async () => {
    const { status } = await admin.request({ method: 'GET', path, accept: [404] });
    return status === 200;
  });
}

/** Access to a running cluster from its connection, in whichever process. */
export function connectTo(connection: ClusterConnection): ClusterAccess {
  const credential = { type: 'token', token: connection.adminToken } as const;
  const admin = openAdminClient({ ...connection, credential });
  return {
    ...connection,
    admin,
    node: connection.node && accessNode(admin, connection.node),
    kubectl: (args, { stdin, kubeconfigPath = connection.kubeconfigPath } = {}) =>
      runKubectl({
        kubectlPath: connection.kubectlPath,
        cacheFolder: join(connection.folder, 'kubectl-cache'),
        kubeconfigPath,
        args,
        stdin,
      }),
    kubeconfigFor: (identity) => giveAccess(admin, connection, identity),
    async createNamespace(prefix, labels = {}) {
      const metadata = { generateName: `${prefix}-`, labels: { ...labels, [MADE_BY_TESTS]: connection.id } };
      const reply = await admin.request({ method: 'POST', path: '/api/v1/namespaces', body: { metadata } });
      const { name } = created.parse(reply.body).metadata;
      if (connection.node !== undefined) await untilPodsAreTaken(admin, name);
      return name;
    },
    reset: () => resetCluster(admin, connection),
    disconnect: () => admin.close(),
  };
}
