import type { NamedExpression, PolicySpec } from '../../../src/accounts/installation/in-use.ts';

/** What stands in a policy for things that only an installation knows. */
export interface Installation {
  /** Begin of the names of cluster-wide objects. */
  readonly name: string;
  /** Where the operator runs. */
  readonly namespace: string;
  /** The user name of the operator's ServiceAccount. */
  readonly operatorUser: string;
  /** The user name of the ServiceAccount of a gateway's pickers, also where there is none. */
  readonly gatewayUser: string;
  readonly breakGlassGroup: string;
  readonly labels: unknown;
}

const API_VERSION = 'admissionregistration.k8s.io/v1';

/** True for everybody but the operator. */
export function notTheOperator(user: string): NamedExpression {
  return { name: 'not-the-operator', expression: `request.userInfo.username != '${user}'` };
}

/** True for the operator alone, and for whoever has its token. */
export function theOperator(user: string): NamedExpression {
  return { name: 'the-operator', expression: `request.userInfo.username == '${user}'` };
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
