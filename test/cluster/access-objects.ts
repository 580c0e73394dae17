import { z } from 'zod';
import type { AdminClient } from './admin-client.ts';

/** Label whose value is the ID of the run that created the object, so that other objects of a shared cluster stay. */
export const MADE_BY_TESTS = 'gpurental.dev/made-by-tests';

const tokenReply = z.object({ status: z.object({ token: z.string() }) });
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const TOKEN_LIFETIME_S = 24 * 3600;

export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

/** Returns a signed token of an existing ServiceAccount, as its pods would use it. */
export async function requestToken(admin: AdminClient, account: ServiceAccountName): Promise<string> {
  const reply = await admin.request({
    method: 'POST',
    path: `/api/v1/namespaces/${account.namespace}/serviceaccounts/${account.name}/token`,
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: TOKEN_LIFETIME_S },
    },
  });
  return tokenReply.parse(reply.body).status.token;
}

async function ensure(admin: AdminClient, path: string, body: unknown): Promise<void> {
  await admin.request({ method: 'POST', path, body, accept: [409] });
}

/** Returns the namespace of the ServiceAccounts that represent people; the cluster's ID separates two runs. */
export function accessName(id: string): string {
  return `gpu-rental-test-${id}`;
}

interface StandIn {
  readonly id: string;
  readonly name: string;
  readonly clusterRole: string;
}

async function mintToken(admin: AdminClient, { id, name, clusterRole }: StandIn): Promise<string> {
  const namespace = accessName(id);
  const labels = { [MADE_BY_TESTS]: id };
  await ensure(admin, '/api/v1/namespaces', { metadata: { name: namespace, labels } });
  await ensure(admin, `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
  await ensure(admin, `${RBAC}/clusterrolebindings`, {
    metadata: { name: `${namespace}-${name}`, labels },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: clusterRole },
    subjects: [{ kind: 'ServiceAccount', namespace, name }],
  });
  return requestToken(admin, { namespace, name });
}

/** Creates a token for a cluster whose administrator has a certificate: everything else here uses tokens. */
export function mintAdminToken(admin: AdminClient, id: string): Promise<string> {
  return mintToken(admin, { id, name: 'administrator', clusterRole: 'cluster-admin' });
}

/**
 * Creates a token that may only impersonate. A client that ignores `as` in its kubeconfig is refused everything; with
 * an administrator's token it could do everything.
 */
export async function mintImpersonatorToken(admin: AdminClient, id: string): Promise<string> {
  const role = `${accessName(id)}-impersonator`;
  await ensure(admin, `${RBAC}/clusterroles`, {
    metadata: { name: role, labels: { [MADE_BY_TESTS]: id } },
    rules: [{ apiGroups: [''], resources: ['users', 'groups', 'serviceaccounts'], verbs: ['impersonate'] }],
  });
  return mintToken(admin, { id, name: 'impersonator', clusterRole: role });
}

/** Takes back what the two above made. */
export async function removeAccess(admin: AdminClient, id: string): Promise<void> {
  const name = accessName(id);
  const paths = [
    `${RBAC}/clusterrolebindings/${name}-administrator`,
    `${RBAC}/clusterrolebindings/${name}-impersonator`,
    `${RBAC}/clusterroles/${name}-impersonator`,
    `/api/v1/namespaces/${name}`,
  ];
  for (const path of paths) await admin.request({ method: 'DELETE', path, accept: [404] });
}
