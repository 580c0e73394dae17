import type { NamedExpression, PolicySpec } from '../../../src/accounts/installation/in-use.ts';
import {
  annotations,
  CONNECTION_SECRET_TYPE,
  endpointGroupResource,
  GROUP,
  gpuInstanceResource,
  IN_USE_RECORD,
  LEDGER_MONTHS,
  LEDGER_PAST,
  LOG_SECRET_TYPE,
  labels,
  OPERATOR_NAME,
} from '../../../src/api/v1alpha1/names.ts';
import {
  AUTHORITY_SECRET_TYPE,
  authoritySecretName,
  CLIENT_SECRET_TYPE,
  clientSecretName,
} from '../../../src/api/v1alpha1/worker-link.ts';
import { IDENTITY_SECRET } from '../../../src/ownership/identity.ts';
import { type Installation, theOperator } from './admission-policy.ts';
import type { ObjectPolicy } from './object-policies.ts';

const ANY_WRITE = ['CREATE', 'UPDATE', 'DELETE'];
const all = (apiGroup: string, resource: string) => [
  { apiGroups: [apiGroup], apiVersions: ['*'], operations: ANY_WRITE, resources: [resource] },
];
const STOLEN = 'Any other use of its ServiceAccount is not by the operator: replace its token.';

/**
 * Returns an expression that is true if an object has an owner of that kind of the operator; of any if none is named.
 */
const isOwned = (object: string, kind?: string) =>
  `${object}.metadata.?ownerReferences.orValue([]).exists(owner, owner.apiVersion.startsWith('${GROUP}/')${kind ? ` && owner.kind == '${kind}'` : ''})`;
/**
 * Returns an expression that is true if a Secret has this type, and the name that its owning EndpointGroup gives it.
 */
const isOfGroup = (secret: string, type: string, nameOf: (group: string) => string) =>
  `(${secret}.?type.orValue('') == '${type}' && ${secret}.metadata.?ownerReferences.orValue([]).exists(owner, owner.apiVersion.startsWith('${GROUP}/') && owner.kind == '${endpointGroupResource.kind}' && ${secret}.metadata.name == owner.name + '${nameOf('')}'))`;
const labelOf = (object: string, name: string) => `${object}.metadata.?labels[?'${name}'].orValue('')`;
/** The object after the request. */
const WRITTEN: NamedExpression = { name: 'isWritten', expression: "request.operation != 'DELETE'" };

/** True if the changed or deleted object was the operator's before; a person may have removed its label. */
const WAS_OURS: NamedExpression = {
  name: 'wasOurs',
  expression: `request.operation == 'CREATE' || ${labelOf('oldObject', labels.managedBy)} == '${OPERATOR_NAME}' || ${isOwned('oldObject')}`,
};

/**
 * Secrets of any other type or name would be a way to more rights: one of the type
 * kubernetes.io/service-account-token is filled with the token of any ServiceAccount.
 */
function secrets({ namespace, operatorUser }: Installation): PolicySpec {
  return {
    resourceRules: all('', 'secrets'),
    matchConditions: [theOperator(operatorUser)],
    variables: [
      { name: 'secret', expression: "request.operation == 'DELETE' ? oldObject : object" },
      {
        name: 'isOfInstance',
        expression: `variables.secret.?type.orValue('') in ['${CONNECTION_SECRET_TYPE}', '${LOG_SECRET_TYPE}'] && (request.operation == 'DELETE' || ${isOwned('variables.secret', gpuInstanceResource.kind)})`,
      },
      {
        name: 'isOwn',
        expression: `request.namespace == '${namespace}' && variables.secret.?type.orValue('') == 'Opaque' && (variables.secret.metadata.name == '${IDENTITY_SECRET}' || variables.secret.metadata.name.startsWith('gpuacct-'))`,
      },
      {
        // The garbage collector deletes them: without its authority no worker of a group can be called.
        name: 'isOfGateway',
        expression: `request.operation != 'DELETE' && (${isOfGroup('variables.secret', AUTHORITY_SECRET_TYPE, authoritySecretName)} || ${isOfGroup('variables.secret', CLIENT_SECRET_TYPE, clientSecretName)})`,
      },
    ],
    validations: [
      {
        expression: 'variables.isOfInstance || variables.isOwn || variables.isOfGateway',
        message: `The operator writes connection Secrets and logs of GpuInstances, those of gateways of EndpointGroups, its identity and kept keys, and no other Secret. ${STOLEN}`,
        reason: 'Forbidden',
      },
    ],
  };
}

/**
 * Returns the policy for Services: one that selects Pods, or accepts outside addresses, would divert foreign traffic.
 */
function services({ operatorUser }: Installation): PolicySpec {
  const unchanged = ['type', 'selector', 'externalName', 'externalIPs', 'loadBalancerIP'].map(
    (field) => `object.spec.?${field} == oldObject.spec.?${field}`,
  );
  return {
    resourceRules: all('', 'services'),
    matchConditions: [theOperator(operatorUser)],
    variables: [WRITTEN, WAS_OURS],
    validations: [
      {
        expression: `variables.wasOurs && (!variables.isWritten || ${isOwned('object')})`,
        message: `The operator writes Services of GpuInstances and EndpointGroups only. ${STOLEN}`,
        reason: 'Forbidden',
      },
      {
        expression:
          "request.operation != 'CREATE' || (object.spec.?type.orValue('ClusterIP') == 'ClusterIP' && !has(object.spec.selector) && !has(object.spec.externalIPs))",
        message: `The operator creates Services of type ClusterIP only, without selector and externalIPs. ${STOLEN}`,
        reason: 'Forbidden',
      },
      {
        expression: `request.operation != 'UPDATE' || (${unchanged.join(' && ')})`,
        message: `The operator changes the ports and owners of a Service only. ${STOLEN}`,
        reason: 'Forbidden',
      },
    ],
  };
}

/** Slices of others lead their Services: the operator leaves them alone. */
function slices({ operatorUser }: Installation): PolicySpec {
  const written = [
    isOwned('object', gpuInstanceResource.kind),
    `${labelOf('object', labels.sliceManagedBy)} == '${OPERATOR_NAME}'`,
  ];
  return {
    resourceRules: all('discovery.k8s.io', 'endpointslices'),
    matchConditions: [theOperator(operatorUser)],
    variables: [WRITTEN, WAS_OURS],
    validations: [
      {
        // A dry run keeps nothing: by one the operator learns whether it may write slices, before it rents.
        expression: `request.?dryRun.orValue(false) || (variables.wasOurs && (!variables.isWritten || (${written.join(' && ')})))`,
        message: `The operator writes EndpointSlices of GpuInstances only. ${STOLEN}`,
        reason: 'Forbidden',
      },
    ],
  };
}

/** ConfigMaps of the operator's namespace that it writes for itself: rented machines, and what they cost. */
const RECORDS: readonly string[] = [IN_USE_RECORD, ...LEDGER_MONTHS, LEDGER_PAST];

/**
 * Returns the policy for ConfigMaps: others may contain anything, from a program's settings to the authorities that it
 * trusts.
 */
function configMaps({ namespace, operatorUser }: Installation): PolicySpec {
  return {
    resourceRules: all('', 'configmaps'),
    matchConditions: [theOperator(operatorUser)],
    variables: [
      WRITTEN,
      WAS_OURS,
      {
        name: 'isRecord',
        expression: `request.namespace == '${namespace}' && request.name in [${RECORDS.map((name) => `'${name}'`).join(', ')}]`,
      },
    ],
    validations: [
      {
        expression: `variables.isRecord || (variables.wasOurs && (!variables.isWritten || ${isOwned('object', endpointGroupResource.kind)}))`,
        message: `The operator writes ConfigMaps of EndpointGroups and its own records only. ${STOLEN}`,
        reason: 'Forbidden',
      },
    ],
  };
}

/**
 * Returns the policy for wakes: permission to `patch` a group would allow any rental for it; the picker sets one
 * annotation.
 */
function wakes({ gatewayUser }: Installation): PolicySpec {
  const unchanged = ['labels', 'finalizers', 'ownerReferences'].map(
    (field) => `object.metadata.?${field} == oldObject.metadata.?${field}`,
  );
  const kept = (one: string, other: string) =>
    `variables.${one}.all(key, key == '${annotations.wakeAt}' || (key in variables.${other} && variables.${one}[key] == variables.${other}[key]))`;
  return {
    resourceRules: [
      {
        apiGroups: [GROUP],
        apiVersions: ['*'],
        operations: ['UPDATE'],
        resources: [endpointGroupResource.plural],
      },
    ],
    matchConditions: [{ name: 'the-gateway', expression: `request.userInfo.username == '${gatewayUser}'` }],
    variables: [
      { name: 'before', expression: 'oldObject.metadata.?annotations.orValue({})' },
      { name: 'after', expression: 'object.metadata.?annotations.orValue({})' },
    ],
    validations: [
      {
        expression: `object.spec == oldObject.spec && ${unchanged.join(' && ')} && ${kept('before', 'after')} && ${kept('after', 'before')}`,
        message: `A picker of the gateway only wakes groups, by the annotation ${annotations.wakeAt}. Any other use of its ServiceAccount is not by the gateway: replace its token.`,
        reason: 'Forbidden',
      },
    ],
  };
}

const chartValue = 'limitOperator';

/**
 * Allowed writes of a holder of the operator's, or of a gateway's, token: those that these components make themselves.
 * The operator's own kinds are separate. RBAC cannot distinguish Secrets by type; admission can.
 */
export const operatorPolicies: readonly ObjectPolicy[] = [
  { suffix: 'secrets', chartValue, spec: secrets, isEverywhere: true },
  { suffix: 'services', chartValue, spec: services, isEverywhere: true },
  { suffix: 'configmaps', chartValue, spec: configMaps, isEverywhere: true },
  { suffix: 'slices', chartValue, spec: slices, isEverywhere: true },
  { suffix: 'wakes', chartValue, spec: wakes, isEverywhere: true },
];
