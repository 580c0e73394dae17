import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import {
  GROUP,
  IN_USE_RECORD,
  inUseKey,
  labels,
  MACHINE_FINALIZER,
  OPERATOR_NAME,
} from '../../api/v1alpha1/names.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { constantsToData, type PurchaseConstants } from '../../ownership/constants.ts';
import { IDENTITY_SECRET } from '../../ownership/identity.ts';
import { configMapResource } from '../../runtime/kube/core-resources.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { type KubeObject, uidOf } from '../../runtime/kube/kube-object.ts';
import type { Change } from '../../runtime/list-watch/object-store.ts';
import { hasFinalizer } from '../../runtime/writes.ts';

/** The part of an informer that the record follows. */
export interface InstanceSource {
  list(): readonly GpuInstance[];
  onChange(listener: (change: Change<GpuInstance>) => void): () => void;
}

type ConfigMapClient = Pick<KubeClient, 'get' | 'create' | 'patch'>;

export interface InUseRecordOptions {
  readonly client: ConfigMapClient;
  /** The operator's own. */
  readonly namespace: string;
  readonly instances: InstanceSource;
  /** Durations of this operator, published so that `gpu-rent` uses the same ones. */
  readonly constants: PurchaseConstants;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

const RETRY_MS = 5_000;

/**
 * Keeps the ConfigMap by which admission refuses to delete the objects that destroy machines, while some are rented.
 * The ConfigMap is written when the first object gets the machine finalizer and when the last one loses it, never in
 * between. It also contains the durations of this operator. A failed write is retried until it succeeds; rentals do not
 * wait for it.
 */
export class InUseRecord {
  readonly name = 'in-use record';
  readonly #options: InUseRecordOptions;
  readonly #guarded = new Set<string>();
  #leave: (() => void) | undefined;
  #retry: Timer | undefined;
  #written: boolean | undefined;
  #writing: Promise<void> | undefined;

  constructor(options: InUseRecordOptions) {
    this.#options = options;
  }

  start(): void {
    const { instances } = this.#options;
    for (const instance of instances.list()) {
      if (isGuarded(instance)) this.#guarded.add(uidOf(instance));
    }
    this.#leave = instances.onChange(({ type, object }) => {
      if (type !== 'deleted' && isGuarded(object)) this.#guarded.add(uidOf(object));
      else this.#guarded.delete(uidOf(object));
      this.#settle();
    });
    this.#settle();
  }

  async stop(): Promise<void> {
    this.#leave?.();
    this.#leave = undefined;
    await this.#writing;
    this.#retry?.cancel();
  }

  #settle(): void {
    const isSettled = this.#written === this.#guarded.size > 0;
    if (isSettled || this.#writing || !this.#leave) return;
    this.#retry?.cancel();
    this.#writing = this.#write(this.#guarded.size > 0).finally(() => {
      this.#writing = undefined;
    });
  }

  async #write(inUse: boolean): Promise<void> {
    const { client, namespace, constants, clock, log } = this.#options;
    const data = { [inUseKey]: String(inUse), ...constantsToData(constants) };
    try {
      await save(client, { namespace, name: IN_USE_RECORD }, data);
      this.#written = inUse;
    } catch (error) {
      log.warn('in-use record was not written', { error });
    }
    // Changes during this write are evaluated when it has ended.
    const delayMs = this.#written === inUse ? 0 : RETRY_MS;
    this.#retry = clock.setTimer(delayMs, () => this.#settle(), { background: true });
  }
}

/** Returns true if an object has, or may have, a machine that must be destroyed. */
export function isGuarded(instance: GpuInstance): boolean {
  return hasFinalizer(instance, MACHINE_FINALIZER);
}

async function save(
  client: ConfigMapClient,
  ref: { readonly namespace: string; readonly name: string },
  data: Readonly<Record<string, string>>,
): Promise<void> {
  const stored = await client.get<ConfigMap>(configMapResource, ref);
  const isStored = Object.entries(data).every(([key, value]) => stored?.data?.[key] === value);
  if (isStored) return;
  if (stored) {
    await client.patch(configMapResource, ref, { type: 'merge', body: { data } });
    return;
  }
  const created: ConfigMap = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...ref, labels: { [labels.managedBy]: OPERATOR_NAME } },
    data,
  };
  await client.create(configMapResource, created);
}

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

/** Content of a ValidatingAdmissionPolicy of this operator. */
export interface PolicySpec {
  readonly paramKind?: { readonly apiVersion: string; readonly kind: string };
  readonly resourceRules: readonly ResourceRule[];
  readonly matchConditions?: readonly NamedExpression[];
  readonly variables?: readonly NamedExpression[];
  readonly validations: readonly Validation[];
}

/** Returns true for all users except the break-glass group. */
export function notBreakGlass(group: string): NamedExpression {
  return {
    name: 'not-break-glass',
    expression: `!('${group}' in request.?userInfo.?groups.orValue([]))`,
  };
}

/** Name of the guard. There is one per cluster: no single release owns the CRDs. */
export const GUARD_NAME = 'gpu-rental-in-use';

const deletions = (apiGroup: string, resources: readonly string[]) => ({
  apiGroups: [apiGroup],
  apiVersions: ['*'],
  operations: ['DELETE'],
  resources,
});

/** State of each kind that the guard protects, by its plural. */
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
 * Returns the policy that protects teardown. While the operator's ConfigMap names rented machines, admission refuses
 * to delete every object that teardown needs: CRDs, identity, the operator, its permissions and its namespace.
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
        messageExpression: `'The operator in namespace ' + params.metadata.namespace + ' still has rented machines, which would keep billing. Delete the objects first and wait until they are gone: kubectl delete epg,gpui --all --all-namespaces. In an emergency act as a member of ${breakGlassGroup}.'`,
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
