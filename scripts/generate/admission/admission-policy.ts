import type { NamedExpression, PolicySpec } from '../../../src/accounts/installation/in-use.ts';

/** Values of a policy that depend on the installation. */
export interface Installation {
  /** Begin of the names of cluster-wide objects. */
  readonly name: string;
  /** Namespace of the operator. */
  readonly namespace: string;
  /** The user name of the operator's ServiceAccount. */
  readonly operatorUser: string;
  /** User name of the ServiceAccount of a gateway's pickers, also if there is none. */
  readonly gatewayUser: string;
  readonly breakGlassGroup: string;
  readonly labels: unknown;
}

const API_VERSION = 'admissionregistration.k8s.io/v1';

/** Returns an expression that is true for every user but the operator. */
export function notTheOperator(user: string): NamedExpression {
  return { name: 'not-the-operator', expression: `request.userInfo.username != '${user}'` };
}

/** Returns an expression that is true for the operator alone, and for any holder of its token. */
export function theOperator(user: string): NamedExpression {
  return { name: 'the-operator', expression: `request.userInfo.username == '${user}'` };
}

/** Returns the policy as an object of the API. It fails closed: a rule that cannot be evaluated refuses. */
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
