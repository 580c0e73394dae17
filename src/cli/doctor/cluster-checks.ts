import {
  endpointGroupResource,
  gpuInstanceResource,
  INSTALL_DEFINITIONS,
  marketplaceAccountResource,
  OPERATOR_NAME,
  spendBudgetResource,
} from '../../api/v1alpha1/names.ts';
import { counted } from '../../lib/plural.ts';
import { readBody } from '../../markets/vast/http/reply-body.ts';
import { leaseResource } from '../../runtime/kube/core-resources.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import { ageText } from '../../views/amounts.ts';
import { GROUP_VERSION, servedKinds } from '../objects/cluster-objects.ts';
import { readIdentity } from '../objects/identity-secret.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import { type Check, clockFinding, type Finding, ok, skipped, warning, wrong } from './check.ts';
import { guardChecks } from './guard-checks.ts';
import { rightsChecks } from './rights-checks.ts';

const MAX_BYTES = 1_000_000;
const OUR_KINDS = [
  gpuInstanceResource,
  endpointGroupResource,
  marketplaceAccountResource,
  spendBudgetResource,
];

/** Returns the checks of the cluster, the CRDs, permissions, and the operator in it. */
export function clusterChecks(cluster: ClusterSession): readonly Check[] {
  return [
    { area: 'cluster', name: 'API server', run: () => apiServer(cluster) },
    { area: 'cluster', name: 'clock', run: () => apiServerClock(cluster) },
    { area: 'cluster', name: 'CRDs', run: () => definitionsServed(cluster) },
    ...rightsChecks(cluster),
    ...operatorChecks(cluster),
    ...guardChecks(cluster),
  ];
}

async function getJson(cluster: ClusterSession, path: string): Promise<{ status: number; value: unknown }> {
  const response = await cluster.get(path);
  const text = await readBody(response, MAX_BYTES);
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
    return warning(`Kubernetes ${version}`, 'Use Kubernetes 1.30 or newer: the rules of the CRDs need it.');
  return ok(`Kubernetes ${version} at ${cluster.origin}`);
}

async function apiServerClock(cluster: ClusterSession): Promise<Finding> {
  const response = await cluster.get('/version');
  response.destroy();
  return clockFinding(response.headers.date, 'the API server');
}

async function definitionsServed(cluster: ClusterSession): Promise<Finding> {
  const served = await servedKinds(cluster);
  if (served.length === 0) return wrong(`${GROUP_VERSION} is not served.`, INSTALL_DEFINITIONS);
  const missing = OUR_KINDS.filter(({ plural }) => !served.includes(plural)).map(({ plural }) => plural);
  if (missing.length > 0) return wrong(`Not served: ${missing.join(', ')}.`, INSTALL_DEFINITIONS);
  return ok(`${GROUP_VERSION} with all four kinds`);
}

/** Returns the checks for a leading operator with an identity. */
function operatorChecks(cluster: ClusterSession): readonly Check[] {
  return [
    { area: 'operator', name: 'lease', run: () => lease(cluster) },
    { area: 'operator', name: 'identity', run: () => identity(cluster) },
  ];
}

interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly renewTime?: string;
    readonly leaseDurationSeconds?: number;
  };
}

async function lease({ kube, operatorNamespace: namespace }: ClusterSession): Promise<Finding> {
  const pods = `Check it: kubectl get pods -n ${namespace}; kubectl logs -n ${namespace} deploy/${OPERATOR_NAME}.`;
  try {
    const found = await kube.get<Lease>(leaseResource, { namespace, name: OPERATOR_NAME });
    if (!found)
      return wrong(
        `No operator has ever held the lease in ${namespace}.`,
        `Install it, or name its namespace (--operator-namespace). ${pods}`,
      );
    const { holderIdentity, renewTime = '', leaseDurationSeconds = 15 } = found.spec ?? {};
    const age = Date.now() - Date.parse(renewTime);
    if (!holderIdentity) return wrong('No operator leads: the last one released the lease.', pods);
    if (Number.isNaN(age) || age > leaseDurationSeconds * 2000) {
      return wrong(`${holderIdentity} has not renewed the lease for ${ageText(age)}.`, pods);
    }
    return ok(`${holderIdentity} leads, renewed ${ageText(age)} ago`);
  } catch (error) {
    if (!isKubeError(error, 'forbidden')) throw error;
    return skipped(`You may not read leases in ${namespace}.`, 'Request permission to get it.');
  }
}

async function identity(cluster: ClusterSession): Promise<Finding> {
  const reading = await readIdentity(cluster);
  switch (reading.type) {
    case 'identity':
      return ok(
        `installation ${reading.identity.installId8}, ${counted(reading.identity.keys.length, 'key')}`,
      );
    case 'forbidden':
      return skipped(`You may not read Secret ${reading.place}.`, 'Request permission to get it.');
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
