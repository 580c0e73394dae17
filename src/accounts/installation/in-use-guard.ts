import { GROUP, IN_USE_RECORD, inUseKey, labels } from '../../api/v1alpha1/names.ts';
import { IDENTITY_SECRET } from '../../ownership/identity.ts';

interface ResourceRule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly operations: readonly string[];
  readonly resources: readonly string[];
}

export interface NamedExpression {
  readonly name: string;
  readonly expression: string;
}

interface Validation {
  readonly expression: string;
  readonly message: string;
  readonly messageExpression?: string;
  readonly reason: 'Forbidden' | 'Invalid';
}

/** What a ValidatingAdmissionPolicy of ours says. */
export interface PolicySpec {
  readonly paramKind?: { readonly apiVersion: string; readonly kind: string };
  readonly resourceRules: readonly ResourceRule[];
  readonly matchConditions?: readonly NamedExpression[];
  readonly variables?: readonly NamedExpression[];
  readonly validations: readonly Validation[];
}

/** True for everybody who may not break the glass. */
export function notBreakGlass(group: string): NamedExpression {
  return {
    name: 'not-break-glass',
    expression: `!('${group}' in request.?userInfo.?groups.orValue([]))`,
  };
}

/** One per cluster: definitions belong to nobody's release alone. */
export const GUARD_NAME = 'gpu-rental-in-use';

const deletions = (apiGroup: string, resources: readonly string[]) => ({
  apiGroups: [apiGroup],
  apiVersions: ['*'],
  operations: ['DELETE'],
  resources,
});

/** What each kind has to be for the guard to protect it, by its plural. */
const GUARDED: Readonly<Record<string, string>> = {
  customresourcedefinitions: `oldObject.spec.group == '${GROUP}'`,
  namespaces: 'oldObject.metadata.name == params.metadata.namespace',
  secrets: `oldObject.metadata.name == '${IDENTITY_SECRET}'`,
  configmaps: `oldObject.metadata.name == '${IN_USE_RECORD}'`,
};
const OTHERS = `oldObject.metadata.?labels[?'${labels.operatorNamespace}'].orValue('') == params.metadata.namespace`;

const guarded = Object.entries(GUARDED).reduceRight(
  (rest, [plural, condition]) => `request.resource.resource == '${plural}' ? ${condition} : (${rest})`,
  OTHERS,
);

/**
 * While the operator's ConfigMap says that machines are rented, nothing may be deleted without which they would
 * bill on unseen: definitions, identity, the operator, its rights and its namespace.
 */
export function guardPolicy(breakGlassGroup: string): PolicySpec {
  return {
    paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
    resourceRules: [
      deletions('apiextensions.k8s.io', ['customresourcedefinitions']),
      deletions('', ['namespaces', 'secrets', 'configmaps', 'serviceaccounts']),
      deletions('apps', ['deployments']),
      deletions('rbac.authorization.k8s.io', [
        'roles',
        'rolebindings',
        'clusterroles',
        'clusterrolebindings',
      ]),
    ],
    matchConditions: [notBreakGlass(breakGlassGroup)],
    variables: [
      { name: 'inUse', expression: `params.?data[?'${inUseKey}'].orValue('') == 'true'` },
      { name: 'held', expression: guarded },
    ],
    validations: [
      {
        expression: '!variables.inUse || !variables.held',
        message: 'Machines are rented.',
        messageExpression: `'Machines are rented by the operator in namespace ' + params.metadata.namespace + ' and would bill on unseen. Delete the objects first and wait until they are gone: kubectl delete epg,gpui --all --all-namespaces. In an emergency act as a member of ${breakGlassGroup}.'`,
        reason: 'Forbidden',
      },
    ],
  };
}

/** Ties the guard to the record of one operator. */
export function guardBindingSpec(operatorNamespace: string): Readonly<Record<string, unknown>> {
  return {
    paramRef: { name: IN_USE_RECORD, namespace: operatorNamespace, parameterNotFoundAction: 'Allow' },
    matchResources: {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': operatorNamespace } },
    },
  };
}
