import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import {
  annotations,
  endpointGroupResource,
  fieldManagers,
  GROUP_FINALIZER,
  gpuInstanceResource,
} from '../../api/v1alpha1/names.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import { controllerReference, refOf } from '../../runtime/kube/kube-object.ts';
import { wholeMetadata, wholeObject } from '../../runtime/kube/whole-object.ts';
import { type Receipt, removeFinalizer } from '../../runtime/writes.ts';
import { actionKey, actionText, needsAllWorkers, orderPatch } from './actions.ts';
import type { Deps } from './deps.ts';
import { wholeGroup } from './observe.ts';
import type { Publisher } from './publish/publisher.ts';
import type { Action, Refusal } from './types.ts';
import { templateHash, updatePatch, workerManifest, workerName } from './workers/template.ts';

/** Effects of actions. */
export interface GroupEffects {
  readonly cluster: KubeClient;
  /** Workers that the group has now. */
  readonly siblings: readonly GpuInstance[];
  /** Receives each worker as the API server returned it after a write. */
  readonly onWritten: (worker: GpuInstance) => void;
  readonly publisher: Publisher;
  readonly reportHostFailure: Deps['reportHostFailure'];
}

type EffectOf<T extends Action['type']> = (
  action: Extract<Action, { type: T }>,
  group: EndpointGroup,
  effects: GroupEffects,
) => Promise<void>;

/** Effect of each type of action; `actions.ts` contains the other properties. */
const EFFECTS: { readonly [T in Action['type']]: EffectOf<T> } = {
  create,
  order,
  update,
  delete: remove,
  reportHostFailure,
  adopt,
  release,
};

/** Carries out one action. The receipt proves that the decision was recorded first. Repeating an action is harmless. */
export async function act<T extends Action['type']>(
  action: Extract<Action, { type: T }>,
  { object: group }: Receipt<EndpointGroup>,
  effects: GroupEffects,
): Promise<void> {
  const effect = EFFECTS[action.type] as EffectOf<T>;
  return effect(action, group, effects);
}

async function reportHostFailure(
  { worker, reason, isForAll }: Extract<Action, { type: 'reportHostFailure' }>,
  _group: EndpointGroup,
  effects: GroupEffects,
): Promise<void> {
  effects.reportHostFailure(worker.object, reason, isForAll);
}

async function create(
  { desiredRole, ordinal, maxPricePerHour }: Extract<Action, { type: 'create' }>,
  group: EndpointGroup,
  { cluster, siblings, onWritten }: GroupEffects,
): Promise<void> {
  const name = workerName(group, ordinal);
  const hash = templateHash(group);
  try {
    const whole = await wholeGroup(group, cluster);
    const manifest = workerManifest(whole, { name, desiredRole, hash, siblings, maxPricePerHour });
    const written = await cluster.create(gpuInstanceResource, manifest, {
      fieldManager: fieldManagers.children,
    });
    onWritten(written);
  } catch (error) {
    // This process or an earlier one already carried out the same decision.
    if (!isKubeError(error, 'alreadyExists')) throw error;
  }
}

/** Writes under the current resource version. The worker keeps its machine; its next rental uses the new template. */
async function update(
  { worker: { object } }: Extract<Action, { type: 'update' }>,
  group: EndpointGroup,
  { cluster, siblings, onWritten }: GroupEffects,
): Promise<void> {
  try {
    const before = await wholeObject(cluster, gpuInstanceResource, object);
    const body = updatePatch(await wholeGroup(group, cluster), before, siblings);
    const written = await cluster.patch<GpuInstance>(gpuInstanceResource, refOf(object), {
      type: 'merge',
      body,
      fieldManager: fieldManagers.children,
    });
    onWritten(written);
  } catch (error) {
    // Another client changed the worker meanwhile; the next reconcile compares it again.
    if (!isKubeError(error, 'notFound', 'conflict')) throw error;
  }
}

/** Applies under the UID: fields of other managers stay, and a later worker of the same name is not changed. */
async function order(
  { worker, order: desired }: Extract<Action, { type: 'order' }>,
  _group: EndpointGroup,
  { cluster, onWritten }: GroupEffects,
): Promise<void> {
  try {
    const written = await cluster.patch<GpuInstance>(gpuInstanceResource, refOf(worker.object), {
      type: 'apply',
      body: orderPatch(worker, desired, annotations),
      fieldManager: fieldManagers.children,
      force: true,
    });
    onWritten(written);
  } catch (error) {
    // The worker was deleted meanwhile; the next reconcile counts without it.
    if (!isKubeError(error, 'notFound', 'conflict')) throw error;
  }
}

async function remove(
  { worker: { object, uid } }: Extract<Action, { type: 'delete' }>,
  _group: EndpointGroup,
  { cluster }: GroupEffects,
): Promise<void> {
  try {
    await cluster.delete(gpuInstanceResource, refOf(object), { uid, propagation: 'Background' });
  } catch (error) {
    if (!isKubeError(error, 'conflict')) throw error;
  }
}

/** Writes under the resource version: if two controllers adopt at the same time, one of the writes fails. */
async function adopt(
  { object }: Extract<Action, { type: 'adopt' }>,
  group: EndpointGroup,
  { cluster, onWritten }: GroupEffects,
): Promise<void> {
  try {
    const whole = await wholeMetadata(cluster, gpuInstanceResource, object);
    const { resourceVersion, ownerReferences = [] } = whole;
    const body = {
      metadata: { resourceVersion, ownerReferences: [...ownerReferences, controllerReference(group)] },
    };
    const written = await cluster.patch<GpuInstance>(gpuInstanceResource, refOf(object), {
      type: 'merge',
      body,
    });
    onWritten(written);
  } catch (error) {
    if (!isKubeError(error, 'notFound', 'conflict')) throw error;
  }
}

async function release(
  _action: Extract<Action, { type: 'release' }>,
  group: EndpointGroup,
  { cluster, publisher }: GroupEffects,
): Promise<void> {
  await publisher.withdraw(group);
  const write = await removeFinalizer({
    client: cluster,
    resource: endpointGroupResource,
    object: group,
    finalizer: GROUP_FINALIZER,
  });
  if (write.type === 'conflict') throw write.error;
}

/** Functions that `execute` calls. */
export interface ExecutePorts {
  readonly act: (action: Action) => Promise<void>;
  /** Returns true while this process leads and the spec is unchanged since the decision. */
  readonly mayGoOn: () => boolean;
  /** Resolves with true if the API server knows no other worker; read before a create and before the group is released. */
  readonly isComplete: () => Promise<boolean>;
}

/** Outcome of the actions of one reconcile. */
export interface Outcome {
  readonly done: readonly Action[];
  readonly refused: readonly Refusal[];
  /** Other errors, in order. */
  readonly failures: readonly unknown[];
  /** True if the remaining actions wait for the next reconcile. */
  readonly isCut: boolean;
}

/**
 * Tries every action, even after one failed: a write that the API server always rejects must not delay an action that
 * ends billing. Never rejects.
 */
export async function execute(actions: readonly Action[], ports: ExecutePorts): Promise<Outcome> {
  const done: Action[] = [];
  const refused: Refusal[] = [];
  const failures: unknown[] = [];
  let isComplete: boolean | undefined;
  for (const action of actions) {
    try {
      if (needsAllWorkers(action)) isComplete ??= await ports.isComplete();
      if (isComplete === false || !ports.mayGoOn()) return { done, refused, failures, isCut: true };
      await ports.act(action);
      done.push(action);
    } catch (error) {
      if (isKubeError(error, 'forbidden', 'invalid', 'terminating')) refused.push(refusalOf(action, error));
      else failures.push(error);
    }
  }
  return { done, refused, failures, isCut: false };
}

function refusalOf(action: Action, { message }: Error): Refusal {
  return {
    action: actionKey(action),
    detail: `Cannot ${actionText(action)}: ${message}`.slice(0, 1024),
  };
}
