import { notBreakGlass, type PolicySpec } from '../../../src/accounts/installation/in-use.ts';
import {
  ACCOUNT_FINALIZER,
  API_VERSION,
  annotations,
  endpointGroupResource,
  GROUP,
  gpuInstanceResource,
  MACHINE_FINALIZER,
  marketplaceAccountResource,
  spendBudgetResource,
} from '../../../src/api/v1alpha1/names.ts';
import { ONCE_RENTABLE } from '../../../src/instance/replacement-text.ts';
import { type Installation, notTheOperator } from './admission-policy.ts';

/** Annotation of an object that users may not delete. Only admission reads it. */
export const PROTECT_ANNOTATION = `${GROUP}/protect`;

/** A policy, the value of the chart that enables it, and its purpose. */
export interface ObjectPolicy {
  readonly suffix: string;
  readonly chartValue: string;
  readonly spec: (installation: Installation) => PolicySpec;
  /** Also in namespaces that the operator does not watch. */
  readonly isEverywhere?: boolean;
  /** Says it and refuses nothing. */
  readonly isWarning?: boolean;
  /** Fields of the binding beside name and actions. */
  readonly binding?: Readonly<Record<string, unknown>>;
}

const instances = gpuInstanceResource.plural;
const kinds = [
  instances,
  marketplaceAccountResource.plural,
  endpointGroupResource.plural,
  spendBudgetResource.plural,
];
const ours = (operations: readonly string[], resources: readonly string[]) => [
  { apiGroups: [GROUP], apiVersions: ['*'], operations, resources },
];
const people = ({ operatorUser, breakGlassGroup }: Installation) => [
  notTheOperator(operatorUser),
  notBreakGlass(breakGlassGroup),
];
const annotationOf = (object: string, name: string) =>
  `${object}.metadata.?annotations[?'${name}'].orValue('')`;
const GUARDS = `['${MACHINE_FINALIZER}', '${ACCOUNT_FINALIZER}']`;
const OR_ELSE = (group: string) => `In an emergency act as a member of ${group}.`;

function records(installation: Installation): PolicySpec {
  const orElse = OR_ELSE(installation.breakGlassGroup);
  return {
    resourceRules: ours(
      ['CREATE', 'UPDATE'],
      kinds.flatMap((kind) => [kind, `${kind}/status`]),
    ),
    matchConditions: people(installation),
    variables: [
      { name: 'intent', expression: annotationOf('object', annotations.rentalIntent) },
      {
        name: 'intentBefore',
        expression: `request.operation == 'CREATE' ? '' : ${annotationOf('oldObject', annotations.rentalIntent)}`,
      },
      { name: 'finalizers', expression: 'object.metadata.?finalizers.orValue([])' },
      {
        name: 'finalizersBefore',
        expression:
          "request.operation == 'CREATE' ? variables.finalizers : oldObject.metadata.?finalizers.orValue([])",
      },
    ],
    validations: [
      {
        expression: "request.?subResource.orValue('') != 'status'",
        message: `Only the operator writes status: it holds the claim on a machine that bills. ${orElse}`,
        reason: 'Forbidden',
      },
      {
        expression: 'variables.intent == variables.intentBefore',
        message: `Only the operator writes the annotation ${annotations.rentalIntent}; leave it out of your manifest. ${orElse}`,
        reason: 'Forbidden',
      },
      {
        expression: `${GUARDS}.all(name, (name in variables.finalizers) == (name in variables.finalizersBefore))`,
        message: `Only the operator changes its finalizers: without them a machine would keep billing. To release a machine, set deletionPolicy: Retain. ${orElse}`,
        reason: 'Forbidden',
      },
    ],
  };
}

function protection(installation: Installation): PolicySpec {
  return {
    resourceRules: ours(['DELETE'], kinds),
    matchConditions: people(installation),
    validations: [
      {
        expression: `${annotationOf('oldObject', PROTECT_ANNOTATION)} != 'true'`,
        message: `The annotation ${PROTECT_ANNOTATION} protects this object; remove it first.`,
        reason: 'Forbidden',
      },
    ],
  };
}

function priceFloor(installation: Installation): PolicySpec {
  return {
    resourceRules: ours(['UPDATE'], [instances]),
    matchConditions: [
      ...people(installation),
      {
        name: 'rented',
        expression:
          'has(oldObject.status) && has(oldObject.status.machine) && has(oldObject.status.machine.id)',
      },
      {
        name: 'would-be-replaced',
        expression:
          "object.spec.?onPriceAbove.orValue('Report') == 'Replace' && object.spec.?offers != oldObject.spec.?offers",
      },
    ],
    variables: [
      {
        name: 'price',
        expression: "oldObject.status.?cost.?pricePerHour.orValue('0')",
      },
      { name: 'offers', expression: 'object.spec.?offers.orValue([])' },
    ],
    validations: [
      {
        expression:
          'size(variables.offers) == 0 || variables.offers.exists(offer, !has(offer.maxPricePerHour) || double(offer.maxPricePerHour) >= double(variables.price))',
        message: 'No maxPricePerHour reaches what the running machine costs.',
        messageExpression:
          "'The running machine costs ' + variables.price + ' dollars an hour and no offer allows that much: onPriceAbove: Replace would replace it at once. Allow it, or set onPriceAbove: Report first.'",
        reason: 'Invalid',
      },
    ],
  };
}

/**
 * Returns expressions, by field, that are true if a rental by the new spec would send another request, as
 * `machineRequest` compares it. `at` is the place of the spec in the object.
 */
function rentedOtherwise(at: string): Readonly<Record<string, string>> {
  const differs = (field: string) => changed(at, field);
  const [disk, diskBefore] = [`object.${at}.disk`, `oldObject.${at}.disk`];
  return {
    image: differs('image'),
    imagePullSecretRef: differs('imagePullSecretRef'),
    disk: `(${differs('disk')} && (!has(${disk}) || !has(${diskBefore}) || quantity(string(${disk})).compareTo(quantity(string(${diskBefore}))) != 0))`,
    command: differs('command'),
    args: differs('args'),
    entrypoint: `object.${at}.?entrypoint.orValue('Keep') != oldObject.${at}.?entrypoint.orValue('Keep')`,
    onStart: differs('onStart'),
    onStartFrom: differs('onStartFrom'),
    env: changedAsSet(at, 'env', ''),
    ports: changedAsSet(
      at,
      'ports',
      ".map(port, string(port.containerPort) + '/' + port.?protocol.orValue('TCP'))",
    ),
    ssh: `object.${at}.?ssh.orValue(false) != oldObject.${at}.?ssh.orValue(false)`,
  };
}

function changed(at: string, field: string): string {
  return `object.${at}.?${field} != oldObject.${at}.?${field}`;
}

function changedAsSet(at: string, field: string, form: string): string {
  const [now, before] = ['object', 'oldObject'].map((side) => `${side}.${at}.?${field}.orValue([])${form}`);
  return `(${changed(at, field)} && (size(${now}) != size(${before}) || !${now}.all(one, one in ${before})))`;
}

/** Returns the expression that lists the fields with another rental request. */
function changedFields(at: string): { readonly name: string; readonly expression: string } {
  const fields = Object.entries(rentedOtherwise(at)).map(
    ([field, expression]) => `(${expression} ? ['${field}'] : [])`,
  );
  return { name: 'changed', expression: fields.join(' + ') };
}

/** Returns the policy that warns before a replacement, which loses the data of the machine. */
function replacement(installation: Installation): PolicySpec {
  const machine =
    "'machine ' + oldObject.status.machine.id + (has(oldObject.status.machine.rentedAt) ? ' (rented since ' + string(oldObject.status.machine.rentedAt) + ')' : '')";
  return {
    resourceRules: ours(['UPDATE'], [instances]),
    matchConditions: [
      notTheOperator(installation.operatorUser),
      {
        name: 'rented',
        expression:
          'has(oldObject.status) && has(oldObject.status.machine) && has(oldObject.status.machine.id)',
      },
      {
        name: 'would-replace',
        expression:
          "object.spec != oldObject.spec && object.spec.?updateStrategy.?type.orValue('Replace') == 'Replace'",
      },
    ],
    variables: [
      changedFields('spec'),
      { name: 'machine', expression: machine },
      { name: 'when', expression: "object.spec.?paused.orValue(false) ? ' after the pause' : ''" },
    ],
    validations: [
      {
        expression: 'size(variables.changed) == 0',
        message: `This replaces the machine ${ONCE_RENTABLE}, and its disk is lost.`,
        messageExpression: `'This replaces ' + variables.machine + variables.when + ' ${ONCE_RENTABLE}, and its disk is lost: ' + variables.changed.join(', ') + ' changed. To keep it, set updateStrategy.type: OnDelete.'`,
        reason: 'Invalid',
      },
      {
        expression: `size(variables.changed) > 0 || !(${changed('spec', 'offers')})`,
        message: 'This replaces the machine if it satisfies no alternative of spec.offers any more.',
        messageExpression: `'If ' + variables.machine + ' satisfies no alternative of spec.offers any more, this replaces it' + variables.when + ' ${ONCE_RENTABLE}, and its disk is lost. To see which: gpu-rent diff -f FILE.'`,
        reason: 'Invalid',
      },
    ],
  };
}

/** Returns the policy for the workers of a group, whose machines may differ from each other. */
function workerReplacement(installation: Installation): PolicySpec {
  const paused = 'object.spec.?pause.?scaleUp.orValue(false) || object.spec.?pause.?scaleDown.orValue(false)';
  return {
    resourceRules: ours(['UPDATE'], [endpointGroupResource.plural]),
    matchConditions: [
      notTheOperator(installation.operatorUser),
      {
        name: 'has-workers',
        expression: 'has(oldObject.status) && has(oldObject.status.total) && oldObject.status.total > 0',
      },
      {
        name: 'would-replace',
        expression:
          "object.spec.template != oldObject.spec.template && object.spec.?updateStrategy.?type.orValue('RollingUpdate') == 'RollingUpdate'",
      },
    ],
    variables: [
      changedFields('spec.template.spec'),
      {
        name: 'workers',
        expression: "string(oldObject.status.total) + (oldObject.status.total == 1 ? ' worker' : ' workers')",
      },
      { name: 'when', expression: `${paused} ? ' after the pause' : ''` },
    ],
    validations: [
      {
        expression: 'size(variables.changed) == 0',
        message: 'This replaces the workers, and their disks are lost.',
        messageExpression:
          "'This replaces ' + variables.workers + variables.when + ', at most updateStrategy.maxUnavailable at a time, and their disks are lost: ' + variables.changed.join(', ') + ' of the template changed. To keep them, set updateStrategy.type: OnDelete.'",
        reason: 'Invalid',
      },
      {
        expression: `size(variables.changed) > 0 || !(${changed('spec.template.spec', 'offers')})`,
        message: 'This replaces workers that satisfy no alternative of the template any more.',
        messageExpression:
          "'Of the ' + variables.workers + ' this replaces' + variables.when + ' those that satisfy no alternative of the template any more, and their disks are lost. To see which: gpu-rent diff -f FILE.'",
        reason: 'Invalid',
      },
    ],
  };
}

/** Each of them bounds what an account may spend; the others bound one machine, or nothing. */
const SPENDING_LIMITS = ['maxSpendPerHour', 'maxSpendPerMonth', 'maxInstances'];

function limits(installation: Installation): PolicySpec {
  const isSet = SPENDING_LIMITS.map((limit) => `has(object.spec.limits.${limit})`).join(' || ');
  return {
    resourceRules: ours(['CREATE', 'UPDATE'], [marketplaceAccountResource.plural]),
    matchConditions: [
      notTheOperator(installation.operatorUser),
      {
        name: 'spec-is-written',
        expression: "request.operation == 'CREATE' || object.spec != oldObject.spec",
      },
    ],
    validations: [
      {
        expression: `has(object.spec.limits) && (${isSet})`,
        message:
          "spec.limits has no maxSpendPerHour, maxSpendPerMonth or maxInstances: only the operator's flags limit this account (by default $250 per hour and 250 machines). Set one.",
        reason: 'Invalid',
      },
    ],
  };
}

/**
 * Returns the policy that warns if a budget of the namespace has no room for the object. It is evaluated for each
 * SpendBudget of the namespace, by the figures in its status.
 */
function budget(installation: Installation): PolicySpec {
  const amount = (text: string) => `double(${text}.orValue('0'))`;
  // Until the operator has counted, a budget has a status without figures.
  const seen = (figure: string) => `(has(params.status) && has(params.status.${figure}))`;
  const isGroup = `request.resource.resource == '${endpointGroupResource.plural}'`;
  return {
    paramKind: { apiVersion: API_VERSION, kind: spendBudgetResource.kind },
    resourceRules: ours(['CREATE', 'UPDATE'], [instances, endpointGroupResource.plural]),
    matchConditions: [
      notTheOperator(installation.operatorUser),
      {
        name: 'spec-is-written',
        expression: "request.operation == 'CREATE' || object.spec != oldObject.spec",
      },
      // A rented machine counts in the figures already.
      {
        name: 'not-rented',
        expression: '!has(object.status) || !has(object.status.machine) || !has(object.status.machine.id)',
      },
    ],
    variables: [
      {
        name: 'offers',
        expression: `(${isGroup} ? object.spec.?template.?spec.?offers : object.spec.?offers).orValue([])`,
      },
      {
        name: 'price',
        expression:
          'variables.offers.exists(offer, !has(offer.maxPricePerHour)) ? 0.0 : variables.offers.map(offer, double(offer.maxPricePerHour)).min()',
      },
      { name: 'blocks', expression: "params.spec.?action.orValue('Block') == 'Block'" },
    ],
    validations: [
      {
        expression: `!variables.blocks || !has(params.spec.perMonth) || !${seen('leftThisMonth')} || (${amount('params.?status.?leftThisMonth')} > ${amount('params.?status.?pricePerHour')} + variables.price)`,
        message: 'A SpendBudget of the namespace leaves no room this month.',
        messageExpression:
          "'SpendBudget ' + params.metadata.name + ' has $' + params.?status.?leftThisMonth.orValue('0') + ' left of $' + params.spec.perMonth + ' this month: the machine waits with the reason BudgetReached until the next month (UTC), or a higher perMonth.'",
        reason: 'Invalid',
      },
      {
        expression: `!variables.blocks || !has(params.spec.perHour) || !${seen('leftPerHour')} || (${amount('params.?status.?leftPerHour')} > 0.0 && ${amount('params.?status.?leftPerHour')} >= variables.price)`,
        message: 'A SpendBudget of the namespace leaves no room per hour.',
        messageExpression:
          "'SpendBudget ' + params.metadata.name + ' has $' + params.?status.?leftPerHour.orValue('0') + '/h left of $' + params.spec.perHour + '/h: the machine waits with the reason BudgetReached until other machines end, or perHour is higher.'",
        reason: 'Invalid',
      },
    ],
  };
}

/** Rules that no schema can express, because they depend on the user, on a deletion, or on spec and status together. */
export const objectPolicies: readonly ObjectPolicy[] = [
  { suffix: 'records', chartValue: 'protectRecords', spec: records },
  { suffix: 'protection', chartValue: 'protectAnnotation', spec: protection },
  { suffix: 'price-floor', chartValue: 'priceFloor', spec: priceFloor },
  { suffix: 'limits', chartValue: 'warnWithoutLimits', spec: limits, isWarning: true },
  {
    suffix: 'budget',
    chartValue: 'warnOfBudget',
    spec: budget,
    isWarning: true,
    // Each SpendBudget of the object's own namespace; without one nothing is evaluated.
    binding: { paramRef: { selector: {}, parameterNotFoundAction: 'Allow' } },
  },
  { suffix: 'replacement', chartValue: 'warnOfReplacement', spec: replacement, isWarning: true },
  {
    suffix: 'worker-replacement',
    chartValue: 'warnOfReplacement',
    spec: workerReplacement,
    isWarning: true,
  },
];
