import { connectionKeys, connectionSecretName, gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import {
  type Controller,
  type ControllerOptions,
  createController,
  requeueAfter,
} from '../../runtime/controller.ts';
import { endpointSliceResource, secretResource, serviceResource } from '../../runtime/kube/core-resources.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import { type KubeObject, type Resource, refOf } from '../../runtime/kube/kube-object.ts';
import { type FormerObject, isLeftBy, leftChildren, MARKED_CHILDREN } from './left-children.ts';

export interface ChildSweepOptions extends Omit<ControllerOptions, 'name' | 'reconcile' | 'workers'> {
  readonly cluster: Pick<KubeClient, 'list' | 'get' | 'delete'>;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  readonly isLeader: () => boolean;
  /** Ids of machines that accounts keep on purpose, without their objects. */
  readonly retained: () => readonly string[];
}

/** Interval between lists of children; the first comes at the start. */
const EVERY_MS = 600_000;
const EVERYWHERE = 'all-namespaces';

interface SecretObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>> | null;
}

/**
 * Deletes the children of a GpuInstance whose finalizers were removed by hand during `kubectl delete
 * --cascade=orphan`. No reconcile of the object follows, and the garbage collector has no owner reference to follow.
 * Its slices would route to a machine that another customer may rent now, and its Secret and Service would block
 * their names. Secrets are never listed; the Service and the slices name the Secret.
 */
export function createChildSweep(options: ChildSweepOptions): Controller {
  const { namespaces, log } = options;
  const reconcile = async (scope: string) => {
    try {
      await sweep(scope === EVERYWHERE ? undefined : scope, options);
    } catch (error) {
      if (!isKubeError(error, 'forbidden')) throw error;
      log.warn('cannot find or remove children of deleted objects', { error });
    }
    return requeueAfter(EVERY_MS);
  };
  const controller = createController({ ...options, name: 'childsweep', reconcile });
  for (const scope of namespaces.length > 0 ? namespaces : [EVERYWHERE]) controller.queue.add(scope);
  return controller;
}

async function sweep(namespace: string | undefined, options: ChildSweepOptions): Promise<void> {
  const { cluster, isLeader } = options;
  const listed = [serviceResource, endpointSliceResource].map(async (resource) => {
    const marked = { namespace, labelSelector: MARKED_CHILDREN, keep: metadataOf };
    return (await cluster.list(resource, marked)).items;
  });
  for (const [former, children] of leftChildren((await Promise.all(listed)).flat())) {
    // After the children, and by no cache: an object is there before they are.
    const present = await cluster.get(gpuInstanceResource, former);
    if (present?.metadata.uid === former.uid) continue;
    if (!isLeader()) return;
    await removeChildren(former, children, options);
  }
}

/** Deletes the Secret first: while another child exists, the next sweep finds the Secret again. */
async function removeChildren(
  former: FormerObject,
  children: readonly KubeObject[],
  { cluster, retained, log }: ChildSweepOptions,
): Promise<void> {
  const { namespace, name } = former;
  const ref = { namespace, name: connectionSecretName(name) };
  const secret = await cluster.get<SecretObject>(secretResource, ref);
  const isOwn = secret !== undefined && isLeftBy(secret, former);
  const machine = Buffer.from(secret?.data?.[connectionKeys.instanceId] ?? '', 'base64').toString();
  const isKept = isOwn && retained().includes(machine);
  const goes = isKept ? children.filter(({ kind }) => kind === endpointSliceResource.kind) : children;
  if (isOwn && !isKept) await removeOne(secretResource, secret, cluster);
  for (const child of goes)
    await removeOne(
      child.kind === serviceResource.kind ? serviceResource : endpointSliceResource,
      child,
      cluster,
    );
  if (goes.length > 0) log.info('removed children of a deleted object', { ...former });
}

/** Deletes one child under the uid and version that the sweep read: a later writer may have adopted it. */
async function removeOne(resource: Resource, child: KubeObject, cluster: Pick<KubeClient, 'delete'>) {
  const { uid, resourceVersion } = child.metadata;
  try {
    await cluster.delete(resource, refOf(child), { uid, resourceVersion });
  } catch (error) {
    if (!isKubeError(error, 'conflict')) throw error;
  }
}

function metadataOf({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  return { apiVersion, kind, metadata };
}
