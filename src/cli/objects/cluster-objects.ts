import type { ConfigMap } from '../../accounts/installation/in-use.ts';
import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import {
  endpointGroupResource,
  GROUP,
  gpuInstanceResource,
  IN_USE_RECORD,
  INSTALL_DEFINITIONS,
  type KindNames,
  marketplaceAccountResource,
  spendBudgetResource,
  VERSION,
} from '../../api/v1alpha1/names.ts';
import type { SpendBudget } from '../../api/v1alpha1/spend-budget.ts';
import { accountRefOf } from '../../instance/account-ref.ts';
import { nearest } from '../../lib/text.ts';
import { readBody } from '../../markets/vast/http/reply-body.ts';
import { constantsFromData, defaultConstants, type PurchaseConstants } from '../../ownership/constants.ts';
import { configMapResource, eventResource } from '../../runtime/kube/core-resources.ts';
import { parseJson } from '../../runtime/kube/json-stream.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import { type EventObject, type ShownEvent, shownEvents } from '../../views/events.ts';
import { failed, notFound } from '../command-error.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import { shownName } from './object-name.ts';

/** An object of any of the operator's kinds. */
type OurObject = GpuInstance | EndpointGroup | MarketplaceAccount | SpendBudget;

/** Reads an object. Rejects with a failure of exit code 3 if it does not exist, else with the KubeError. */
export async function getObject<T extends OurObject>(
  cluster: ClusterSession,
  resource: KindNames,
  name: string,
): Promise<T> {
  const { kube, namespace } = cluster;
  const object = await kube.get<KubeObject>(resource, { namespace, name });
  if (object) return object as T;
  throw await absent(cluster, resource, name);
}

/** Returns the reason why an object is not found: it does not exist, or the cluster does not serve its kind. */
export async function absent(cluster: ClusterSession, resource: KindNames, name: string): Promise<Error> {
  const served = await servedKinds(cluster);
  if (!served.includes(resource.plural))
    return failed(`The cluster serves no ${resource.plural} (${GROUP_VERSION}).`, INSTALL_DEFINITIONS);
  const near = nearest(name, await namesOf(cluster, resource));
  return notFound(
    `There is no ${shownName(resource, name)} in namespace ${cluster.namespace}.`,
    near === undefined
      ? `kubectl get ${resource.plural} -A shows all; -n names another namespace.`
      : `Did you mean ${shownName(resource, near)}?`,
  );
}

const nameOnly = ({ apiVersion, kind, metadata }: KubeObject): KubeObject => ({ apiVersion, kind, metadata });

/**
 * Returns the names of the namespace's objects; none if the caller may not list them. Rejects with any other KubeError.
 */
async function namesOf({ kube, namespace }: ClusterSession, resource: KindNames): Promise<readonly string[]> {
  try {
    const { items } = await kube.list<KubeObject>(resource, { namespace, keep: nameOnly });
    return items.map(({ metadata }) => metadata.name);
  } catch (error) {
    if (isKubeError(error, 'forbidden')) return [];
    throw error;
  }
}

/** Returns the account that an instance names. Rejects like {@link getObject}. */
export function accountOf(
  cluster: ClusterSession,
  { spec, metadata: { namespace: own = cluster.namespace } }: GpuInstance,
): Promise<MarketplaceAccount> {
  const { namespace, name } = accountRefOf({ spec, metadata: { namespace: own } });
  return getObject({ ...cluster, namespace }, marketplaceAccountResource, name);
}

/** Instances of a namespace, or of all. Rejects with a KubeError. */
export async function listInstances(
  { kube }: ClusterSession,
  namespace?: string,
): Promise<readonly GpuInstance[]> {
  return (await kube.list<GpuInstance>(gpuInstanceResource, { namespace })).items;
}

/** Groups of a namespace, or of all. Rejects with a KubeError. */
export async function listGroups(
  { kube }: ClusterSession,
  namespace?: string,
): Promise<readonly EndpointGroup[]> {
  return (await kube.list<EndpointGroup>(endpointGroupResource, { namespace })).items;
}

/** Accounts of a namespace, or of all. Rejects with a KubeError. */
export async function listAccounts(
  { kube }: ClusterSession,
  namespace?: string,
): Promise<readonly MarketplaceAccount[]> {
  return (await kube.list<MarketplaceAccount>(marketplaceAccountResource, { namespace })).items;
}

/**
 * Returns the budgets of a namespace; none if an older installation does not serve the kind. Undefined if the caller may
 * not list them. Rejects with any other KubeError.
 */
export async function listBudgets(
  { kube }: Pick<ClusterSession, 'kube'>,
  namespace: string,
): Promise<readonly SpendBudget[] | undefined> {
  try {
    return (await kube.list<SpendBudget>(spendBudgetResource, { namespace })).items;
  } catch (error) {
    if (isKubeError(error, 'forbidden')) return undefined;
    if (isKubeError(error, 'notFound')) return [];
    throw error;
  }
}

/** Returns the events of an object, oldest first. Rejects with a KubeError. */
export async function eventsOf(
  { kube }: ClusterSession,
  { metadata }: Pick<KubeObject, 'metadata'>,
): Promise<readonly ShownEvent[]> {
  const { items } = await kube.list<EventObject>(eventResource, {
    namespace: metadata.namespace,
    fieldSelector: `regarding.uid=${metadata.uid}`,
  });
  return shownEvents(items);
}

/** Constants that a command uses. */
export interface OperatorTimes {
  readonly constants: PurchaseConstants;
  /** Reason why they are defaults; undefined if the operator published them. */
  readonly guessed: string | undefined;
}

/**
 * Returns the constants that the operator publishes; its defaults if the ConfigMap is missing or forbidden. Rejects
 * with any other KubeError.
 */
export async function operatorTimes({ kube, operatorNamespace }: ClusterSession): Promise<OperatorTimes> {
  const place = `ConfigMap ${operatorNamespace}/${IN_USE_RECORD}`;
  const ref = { namespace: operatorNamespace, name: IN_USE_RECORD };
  try {
    const stored = await kube.get<ConfigMap>(configMapResource, ref);
    const constants = constantsFromData(stored?.data ?? {});
    if (constants) return { constants, guessed: undefined };
    return { constants: defaultConstants, guessed: `${place} does not have the operator's times` };
  } catch (error) {
    if (!isKubeError(error, 'forbidden')) throw error;
    return { constants: defaultConstants, guessed: `you may not read ${place}` };
  }
}

const MAX_BYTES = 1_000_000;

export const GROUP_VERSION = `${GROUP}/${VERSION}`;

/**
 * Returns the plural names of the operator's kinds that the cluster serves; none if it does not serve the API group.
 * Rejects if the API server answers with an error.
 */
export async function servedKinds({ get }: ClusterSession): Promise<readonly string[]> {
  const response = await get(`/apis/${GROUP_VERSION}`);
  const text = await readBody(response, MAX_BYTES);
  if (response.status === 404) return [];
  if (response.status !== 200) throw new Error(`/apis/${GROUP_VERSION} answers ${response.status}.`);
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || !('resources' in value)) return [];
  if (!Array.isArray(value.resources)) return [];
  const names = value.resources.map((resource: unknown): unknown => Object(resource).name);
  return names.filter((name) => typeof name === 'string');
}
