import {
  endpointGroupResource,
  gpuInstanceResource,
  marketplaceAccountResource,
} from '../../api/v1alpha1/names.ts';
import { readBody } from '../../marketplace/http/read-body.ts';
import { GROUP_VERSION, INSTALL_DEFINITIONS, servedKinds } from '../objects/served-kinds.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import { type Check, type Finding, ok, warning, wrong } from './check.ts';
import { clockFinding } from './clock.ts';
import { guardChecks } from './guard-checks.ts';
import { operatorChecks } from './operator-checks.ts';
import { rightsChecks } from './rights-checks.ts';

const MOST_BYTES = 1_000_000;
const OUR_KINDS = [gpuInstanceResource, endpointGroupResource, marketplaceAccountResource];

/** The cluster, the definitions, rights, and the operator in it. */
export function clusterChecks(cluster: ClusterSession): readonly Check[] {
  return [
    { area: 'cluster', name: 'API server', look: () => apiServer(cluster) },
    { area: 'cluster', name: 'clock', look: () => apiServerClock(cluster) },
    { area: 'cluster', name: 'definitions', look: () => definitionsServed(cluster) },
    ...rightsChecks(cluster),
    ...operatorChecks(cluster),
    ...guardChecks(cluster),
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
  const served = await servedKinds(cluster);
  if (served.length === 0) return wrong(`${GROUP_VERSION} is not served.`, INSTALL_DEFINITIONS);
  const missing = OUR_KINDS.filter(({ plural }) => !served.includes(plural)).map(({ plural }) => plural);
  if (missing.length > 0) return wrong(`Not served: ${missing.join(', ')}.`, INSTALL_DEFINITIONS);
  return ok(`${GROUP_VERSION} with all three kinds`);
}
