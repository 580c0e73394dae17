import { clusterGrants, type Grant, ownGrants, watchedGrants } from '../../api/access.ts';
import { GROUP, OPERATOR_NAME, VERSION } from '../../api/v1alpha1/names.ts';
import { readBody } from '../../marketplace/read-body.ts';
import { isKubeError } from '../../runtime/kube-error.ts';
import type { KubeObject, Resource } from '../../runtime/kube-object.ts';
import { ageText } from '../amounts.ts';
import type { ClusterSession } from '../cluster-session.ts';
import { readIdentity } from '../identity-secret.ts';
import { type Check, type Finding, ok, skipped, warning, wrong } from './check.ts';
import { clockFinding } from './clock.ts';

const MOST_BYTES = 1_000_000;
const INSTALL = 'Install the definitions: helm upgrade --install, or kubectl apply -f crds/.';

/** The cluster, the definitions, rights, and the operator in it. */
export function clusterChecks(cluster: ClusterSession): readonly Check[] {
  return [
    { area: 'cluster', name: 'API server', look: () => apiServer(cluster) },
    { area: 'cluster', name: 'clock', look: () => apiServerClock(cluster) },
    { area: 'cluster', name: 'definitions', look: () => definitionsServed(cluster) },
    { area: 'rights', name: 'yours', look: () => ownRights(cluster) },
    { area: 'rights', name: "the operator's", look: () => operatorRights(cluster) },
    { area: 'operator', name: 'lease', look: () => lease(cluster) },
    { area: 'operator', name: 'identity', look: () => identity(cluster) },
  ];
}

async function getJson(cluster: ClusterSession, path: string): Promise<{ status: number; value: unknown }> {
  const response = await cluster.get(path);
  const text = await readBody(response, MOST_BYTES);
  return { status: response.status, value: response.status === 200 ? JSON.parse(text) : undefined };
}

async function apiServer(cluster: ClusterSession): Promise<Finding> {
  const { status, value } = await getJson(cluster, '/version');
  if (status === 401)
    return wrong(`${cluster.origin} does not know you (401).`, 'Log in again, or choose another --context.');
  const version =
    typeof value === 'object' && value !== null && 'gitVersion' in value ? value.gitVersion : undefined;
  if (typeof version !== 'string')
    return wrong(`${cluster.origin} answers ${status}.`, 'Check the server address of the kubeconfig.');
  const minor = Number(/^v1\.(\d+)/.exec(version)?.[1] ?? 0);
  if (minor < 30)
    return warning(
      `Kubernetes ${version}`,
      'Use Kubernetes 1.30 or newer: the rules of the definitions need it.',
    );
  return ok(`Kubernetes ${version} at ${cluster.origin}`);
}

async function apiServerClock(cluster: ClusterSession): Promise<Finding> {
  const response = await cluster.get('/version');
  response.destroy();
  return clockFinding(response.headers.date, 'the API server');
}

async function definitionsServed(cluster: ClusterSession): Promise<Finding> {
  const { status, value } = await getJson(cluster, `/apis/${GROUP}/${VERSION}`);
  if (status === 404) return wrong(`${GROUP}/${VERSION} is not served.`, INSTALL);
  const names = servedNames(value);
  const missing = ['gpuinstances', 'endpointgroups', 'marketplaceaccounts'].filter(
    (name) => !names.includes(name),
  );
  if (missing.length > 0) return wrong(`Not served: ${missing.join(', ')}.`, INSTALL);
  return ok(`${GROUP}/${VERSION} with all three kinds`);
}

function servedNames(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null || !('resources' in value)) return [];
  return Array.isArray(value.resources) ? value.resources.map(({ name }: { name: string }) => name) : [];
}

const SELF_REVIEW = reviewResource('selfsubjectaccessreviews', 'SelfSubjectAccessReview');
const REVIEW = reviewResource('subjectaccessreviews', 'SubjectAccessReview');

function reviewResource(plural: string, kind: string): Resource {
  return { group: 'authorization.k8s.io', version: 'v1', plural, kind, namespaced: false };
}

interface AccessReview extends KubeObject {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: { readonly allowed: boolean };
}

interface Asked {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** Whether somebody may do something; undefined where that may not be asked. */
async function isAllowed(
  { kube }: ClusterSession,
  { resource: path, ...asked }: Asked,
  user?: string,
): Promise<boolean | undefined> {
  const [resource, subresource] = path.split('/');
  const attributes = { ...asked, resource, ...(subresource === undefined ? {} : { subresource }) };
  const review: AccessReview = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: user === undefined ? SELF_REVIEW.kind : REVIEW.kind,
    metadata: { name: '' },
    spec: { resourceAttributes: attributes, ...(user === undefined ? {} : { user, groups: groupsOf(user) }) },
  };
  try {
    return (await kube.create(user === undefined ? SELF_REVIEW : REVIEW, review)).status?.allowed;
  } catch (error) {
    if (isKubeError(error, 'forbidden')) return undefined;
    throw error;
  }
}

function groupsOf(user: string): readonly string[] {
  const [, , namespace = ''] = user.split(':');
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
}

const WANTED: readonly Omit<Asked, 'namespace'>[] = [
  { verb: 'create', group: GROUP, resource: 'gpuinstances' },
  { verb: 'list', group: GROUP, resource: 'gpuinstances' },
  { verb: 'list', group: GROUP, resource: 'marketplaceaccounts' },
  { verb: 'get', group: '', resource: 'secrets' },
];

async function ownRights(cluster: ClusterSession): Promise<Finding> {
  const missing: string[] = [];
  for (const asked of WANTED) {
    const allowed = await isAllowed(cluster, { ...asked, namespace: cluster.namespace });
    if (allowed === false) missing.push(`${asked.verb} ${asked.resource}`);
  }
  if (missing.length === 0) return ok(`You may use every kind in ${cluster.namespace}.`);
  return warning(
    `In ${cluster.namespace} you may not ${missing.join(', ')}.`,
    'Ask for the ClusterRole edit (our kinds are aggregated into it), or use --as.',
  );
}

/** Each grant of the operator, asked on behalf of its service account. */
async function operatorRights(cluster: ClusterSession): Promise<Finding> {
  const user = `system:serviceaccount:${cluster.operatorNamespace}:${OPERATOR_NAME}`;
  const asked = [
    ...watchedGrants.flatMap((grant) => questions(grant, cluster.namespace)),
    ...clusterGrants.flatMap((grant) => questions(grant, undefined)),
    ...ownGrants.flatMap((grant) => questions(grant, cluster.operatorNamespace)),
  ];
  const missing: string[] = [];
  for (const question of asked) {
    const allowed = await isAllowed(cluster, question, user);
    if (allowed === undefined) {
      return skipped(
        'You may not ask for the rights of others.',
        'Run this with the right to create subjectaccessreviews.',
      );
    }
    if (!allowed) missing.push(`${question.verb} ${question.resource}`);
  }
  if (missing.length === 0) return ok(`${user} has all ${asked.length} rights that it uses.`);
  const shown =
    missing.slice(0, 6).join(', ') + (missing.length > 6 ? ` and ${missing.length - 6} more` : '');
  return wrong(
    `${user} may not ${shown}.`,
    'Apply the roles of the chart or deploy/ again; see docs/reference/permissions.md.',
  );
}

function questions(
  { group, resources, verbs, names }: Grant,
  namespace: string | undefined,
): readonly Asked[] {
  return resources.flatMap((resource) =>
    verbs.map((verb) => ({
      verb,
      group,
      resource,
      namespace,
      ...(names?.[0] === undefined ? {} : { name: names[0] }),
    })),
  );
}

const LEASES: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};

interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly renewTime?: string;
    readonly leaseDurationSeconds?: number;
  };
}

async function lease({ kube, operatorNamespace: namespace }: ClusterSession): Promise<Finding> {
  const pods = `Look at it: kubectl get pods -n ${namespace}; kubectl logs -n ${namespace} deploy/${OPERATOR_NAME}.`;
  try {
    const found = await kube.get<Lease>(LEASES, { namespace, name: OPERATOR_NAME });
    if (!found)
      return wrong(
        `No operator has ever led in ${namespace}.`,
        `Install it, or name its namespace (--operator-namespace). ${pods}`,
      );
    const { holderIdentity, renewTime = '', leaseDurationSeconds = 15 } = found.spec ?? {};
    const age = Date.now() - Date.parse(renewTime);
    if (!holderIdentity) return wrong('Nobody leads: the last operator gave the lease back.', pods);
    if (Number.isNaN(age) || age > leaseDurationSeconds * 2000) {
      return wrong(`${holderIdentity} has not renewed the lease for ${ageText(age)}.`, pods);
    }
    return ok(`${holderIdentity} leads, renewed ${ageText(age)} ago`);
  } catch (error) {
    if (!isKubeError(error, 'forbidden')) throw error;
    return skipped(`You may not read leases in ${namespace}.`, 'Ask for the right to get it.');
  }
}

async function identity(cluster: ClusterSession): Promise<Finding> {
  const reading = await readIdentity(cluster);
  switch (reading.type) {
    case 'identity':
      return ok(`installation ${reading.identity.installId8}, ${reading.identity.keys.length} keys`);
    case 'forbidden':
      return skipped(`You may not read Secret ${reading.place}.`, 'Ask for the right to get it.');
    case 'missing':
      return warning(
        `Secret ${reading.place} is not there yet.`,
        'The operator makes it at its first start; after a loss restore it from a backup.',
      );
    case 'unreadable':
      return wrong(
        `Secret ${reading.place} holds no identity.`,
        'Restore it from a backup; the last resort is gpu-rent reset identity.',
      );
  }
}
