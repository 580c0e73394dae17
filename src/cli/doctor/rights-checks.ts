import { clusterGrants, type Grant, ownGrants, watchedGrants } from '../../api/access.ts';
import { GROUP, OPERATOR_NAME } from '../../api/v1alpha1/names.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject, Resource } from '../../runtime/kube/kube-object.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import { type Check, type Finding, ok, skipped, warning, wrong } from './check.ts';

/** Returns the checks of the permissions of the caller and of the operator. */
export function rightsChecks(cluster: ClusterSession): readonly Check[] {
  return [
    { area: 'rights', name: 'yours', run: () => ownRights(cluster) },
    { area: 'rights', name: "the operator's", run: () => operatorRights(cluster) },
  ];
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

/** Returns true if a user may perform an action; undefined if the caller may not review it. */
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

const NEEDED: readonly Omit<Asked, 'namespace'>[] = [
  { verb: 'create', group: GROUP, resource: 'gpuinstances' },
  { verb: 'list', group: GROUP, resource: 'gpuinstances' },
  { verb: 'list', group: GROUP, resource: 'marketplaceaccounts' },
  { verb: 'get', group: '', resource: 'secrets' },
];

async function ownRights(cluster: ClusterSession): Promise<Finding> {
  const missing: string[] = [];
  for (const asked of NEEDED) {
    const allowed = await isAllowed(cluster, { ...asked, namespace: cluster.namespace });
    if (allowed === false) missing.push(`${asked.verb} ${asked.resource}`);
  }
  if (missing.length === 0) return ok(`You may use every kind in ${cluster.namespace}.`);
  return warning(
    `In ${cluster.namespace} you may not ${missing.join(', ')}.`,
    'Ask for the ClusterRole edit (our kinds are aggregated into it), or use --as.',
  );
}

/** Returns the finding on each permission of the operator, reviewed for its service account. */
async function operatorRights(cluster: ClusterSession): Promise<Finding> {
  if ((await hasServiceAccount(cluster)) === false) {
    return warning(
      `There is no service account ${OPERATOR_NAME} in ${cluster.operatorNamespace}.`,
      'Install the operator, or name its namespace (--operator-namespace). One that runs outside the cluster has the rights of its kubeconfig.',
    );
  }
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

const SERVICE_ACCOUNTS: Resource = {
  group: '',
  version: 'v1',
  plural: 'serviceaccounts',
  kind: 'ServiceAccount',
  namespaced: true,
};

/** Returns true if the service account exists; undefined if the caller may not read it. */
async function hasServiceAccount({
  kube,
  operatorNamespace: namespace,
}: ClusterSession): Promise<boolean | undefined> {
  try {
    return (await kube.get(SERVICE_ACCOUNTS, { namespace, name: OPERATOR_NAME })) !== undefined;
  } catch (error) {
    if (isKubeError(error, 'forbidden')) return undefined;
    throw error;
  }
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
