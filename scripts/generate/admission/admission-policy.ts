/** What stands in a policy for things that only an installation knows. */
export interface Installation {
  /** Begin of the names of cluster-wide objects. */
  readonly name: string;
  /** The user name of the operator's ServiceAccount. */
  readonly operatorUser: string;
  readonly breakGlassGroup: string;
  readonly labels: unknown;
}

export interface ResourceRule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly operations: readonly string[];
  readonly resources: readonly string[];
}

interface NamedExpression {
  readonly name: string;
  readonly expression: string;
}

interface Validation {
  readonly expression: string;
  readonly message: string;
  readonly messageExpression?: string;
  readonly reason: 'Forbidden' | 'Invalid';
}

/** A ValidatingAdmissionPolicy, without its name. */
export interface PolicySpec {
  readonly paramKind?: { readonly apiVersion: string; readonly kind: string };
  readonly resourceRules: readonly ResourceRule[];
  readonly matchConditions?: readonly NamedExpression[];
  readonly variables?: readonly NamedExpression[];
  readonly validations: readonly Validation[];
}

const API_VERSION = 'admissionregistration.k8s.io/v1';

/** True for everybody who may not break the glass. */
export function notBreakGlass(group: string): NamedExpression {
  return {
    name: 'not-break-glass',
    expression: `!('${group}' in request.?userInfo.?groups.orValue([]))`,
  };
}

/** True for everybody but the operator. */
export function notTheOperator(user: string): NamedExpression {
  return { name: 'not-the-operator', expression: `request.userInfo.username != '${user}'` };
}

/** The policy as an object of the API. Fails closed: a rule that cannot be judged refuses. */
export function policyObject(name: string, labels: unknown, spec: PolicySpec) {
  const { paramKind, resourceRules, matchConditions, variables, validations } = spec;
  return {
    apiVersion: API_VERSION,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name, labels },
    spec: {
      failurePolicy: 'Fail',
      ...(paramKind && { paramKind }),
      matchConstraints: { resourceRules },
      ...(matchConditions && { matchConditions }),
      ...(variables && { variables }),
      validations,
    },
  };
}

/** Puts a policy into force. */
export function bindingObject(name: string, labels: unknown, spec: Readonly<Record<string, unknown>> = {}) {
  return {
    apiVersion: API_VERSION,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name, labels },
    spec: { policyName: name, validationActions: ['Deny'], ...spec },
  };
}
