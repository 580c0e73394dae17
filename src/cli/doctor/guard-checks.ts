import {
  type ConfigMap,
  GUARD_NAME,
  guardPolicy,
  isGuarded,
  type PolicySpec,
} from '../../accounts/installation/in-use.ts';
import { IN_USE_RECORD, inUseKey } from '../../api/v1alpha1/names.ts';
import { sameJson } from '../../lib/json.ts';
import { agreeing, counted } from '../../lib/plural.ts';
import { configMapResource } from '../../runtime/kube/core-resources.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject, Resource } from '../../runtime/kube/kube-object.ts';
import { listInstances } from '../objects/cluster-objects.ts';
import { readIdentity } from '../objects/identity-secret.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import { type Check, type Finding, ok, skipped, warning, wrong } from './check.ts';

/** Returns the checks of the uninstall guard: the operator's record, and the policy that reads it. */
export function guardChecks(cluster: ClusterSession): readonly Check[] {
  return [
    { area: 'operator', name: 'in-use record', run: () => orForbidden('ConfigMaps', record(cluster)) },
    { area: 'operator', name: 'in-use guard', run: () => orForbidden('admission policies', guard(cluster)) },
  ];
}

async function orForbidden(what: string, reading: Promise<Finding>): Promise<Finding> {
  try {
    return await reading;
  } catch (error) {
    if (!isKubeError(error, 'forbidden')) throw error;
    return skipped(`You may not read ${what}.`, 'Request permission to get and list them.');
  }
}

async function record(cluster: ClusterSession): Promise<Finding> {
  const { kube, operatorNamespace: namespace } = cluster;
  const place = `ConfigMap ${namespace}/${IN_USE_RECORD}`;
  const logs = `The operator writes it. Check its log: kubectl logs -n ${namespace} deploy/gpu-rental-operator.`;
  const found = await kube.get<ConfigMap>(configMapResource, { namespace, name: IN_USE_RECORD });
  const value = found?.data?.[inUseKey];
  if (value === undefined) {
    return warning(
      `${place} does not say whether machines are rented.`,
      `An operator that leads writes it. ${logs}`,
    );
  }
  const rented = await rentedObjects(cluster);
  if (value === 'true' || rented === 0) {
    const words = value === 'true' ? 'machines are rented' : 'no machine is rented';
    return ok(rented === undefined ? words : `${words}: ${counted(rented, 'object')} with a machine`);
  }
  if (rented === undefined) return ok('no machine is rented, as far as the operator says');
  return wrong(
    `${place} says that no machine is rented, and ${counted(rented, 'object')} ${agreeing(rented, 'has', 'have')} one: an uninstall would not be refused.`,
    logs,
  );
}

/** Returns the objects in the operator's scope that have a machine; undefined if the caller may not list them. */
async function rentedObjects(cluster: ClusterSession): Promise<number | undefined> {
  const reading = await readIdentity(cluster);
  if (reading.type !== 'identity') return undefined;
  const { scope } = reading.identity;
  const namespaces = scope === '*' ? [undefined] : scope.split(',');
  try {
    const lists = await Promise.all(namespaces.map((namespace) => listInstances(cluster, namespace)));
    return lists.flat().filter(isGuarded).length;
  } catch (error) {
    if (isKubeError(error, 'forbidden', 'notFound')) return undefined;
    throw error;
  }
}

function admissionResource(plural: string, kind: string): Resource {
  return { group: 'admissionregistration.k8s.io', version: 'v1', plural, kind, namespaced: false };
}

const POLICIES = admissionResource('validatingadmissionpolicies', 'ValidatingAdmissionPolicy');
const BINDINGS = admissionResource('validatingadmissionpolicybindings', 'ValidatingAdmissionPolicyBinding');

interface Policy extends KubeObject {
  readonly spec?: Omit<PolicySpec, 'resourceRules'> & {
    readonly matchConstraints?: Pick<PolicySpec, 'resourceRules'>;
  };
}

interface Binding extends KubeObject {
  readonly spec?: {
    readonly policyName?: string;
    readonly validationActions?: readonly string[];
    readonly paramRef?: { readonly name?: string; readonly namespace?: string };
  };
}

const APPLY_AGAIN =
  'Upgrade the chart that has it (value inUseGuard.enabled of either chart), or apply deploy/overlays again: docs/how-to/install.md, Uninstall.';

async function guard({ kube, operatorNamespace: namespace }: ClusterSession): Promise<Finding> {
  const policy = await kube.get<Policy>(POLICIES, { name: GUARD_NAME });
  if (!policy) {
    return warning(
      `There is no ValidatingAdmissionPolicy ${GUARD_NAME}: nothing refuses an uninstall while machines are rented.`,
      APPLY_AGAIN,
    );
  }
  const { items } = await kube.list<Binding>(BINDINGS);
  if (!items.some((binding) => puts(binding, namespace))) {
    return warning(
      `No binding puts ${GUARD_NAME} into force for ${namespace}: nothing refuses an uninstall while machines are rented.`,
      `${APPLY_AGAIN} The CRD chart needs the namespace in inUseGuard.operatorNamespaces.`,
    );
  }
  if (!isOfThisVersion(policy)) {
    return warning(`${GUARD_NAME} is that of another version than this gpu-rent.`, APPLY_AGAIN);
  }
  return ok(`an uninstall of ${namespace} is refused while machines are rented`);
}

function puts({ spec }: Binding, namespace: string): boolean {
  const { policyName, validationActions = [], paramRef } = spec ?? {};
  if (policyName !== GUARD_NAME || !validationActions.includes('Deny')) return false;
  return paramRef?.name === IN_USE_RECORD && paramRef.namespace === namespace;
}

/**
 * Returns true if the policy is of this version. The break-glass group is a value of the chart; the rest is the same
 * text per version.
 */
function isOfThisVersion({ spec }: Policy): boolean {
  const { matchConstraints, paramKind, matchConditions, variables, validations } = spec ?? {};
  const group = /^!\('([^']*)' in /.exec(matchConditions?.[0]?.expression ?? '')?.[1] ?? '';
  const { resourceRules: rules, ...desired } = guardPolicy(group);
  // The API server adds a scope to each rule.
  const present = matchConstraints?.resourceRules.map(
    ({ apiGroups, apiVersions, operations, resources }) => ({
      apiGroups,
      apiVersions,
      operations,
      resources,
    }),
  );
  return (
    sameJson({ paramKind, matchConditions, variables, validations }, desired) && sameJson(present, rules)
  );
}
