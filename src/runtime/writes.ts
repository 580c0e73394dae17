import { sameJson } from '../lib/json.ts';
import type { KubeClient } from './kube/kube-client.ts';
import { isKubeError, type KubeError } from './kube/kube-error.ts';
import { type KubeObject, type Resource, refOf } from './kube/kube-object.ts';
import { wholeMetadata } from './kube/whole-object.ts';

/** An object with a status of its kind. */
export interface WithStatus<S> extends KubeObject {
  readonly status?: S | undefined;
}

/** `gone`: there is no object of that name. On `conflict` and `gone` nothing was written. */
export type StatusWrite<T> =
  | { readonly type: 'unchanged'; readonly object: T }
  | { readonly type: 'written'; readonly object: T }
  | { readonly type: 'conflict'; readonly error: KubeError }
  | { readonly type: 'gone' };

export interface RecordStatusOptions<S, T extends WithStatus<S>> {
  readonly client: Pick<KubeClient, 'replace'>;
  readonly resource: Resource;
  /** As read: its `status` is compared, its resource version is the lock. */
  readonly object: T;
  readonly status: S;
}

/**
 * Writes `status` under the object's resource version, and only where it differs from the object's own: a write
 * that changes nothing costs the API server as much as a real one. Only identity and status are sent. Any failure
 * but a lost race or a vanished object is thrown.
 */
export async function recordStatus<S, T extends WithStatus<S>>({
  client,
  resource,
  object,
  status,
}: RecordStatusOptions<S, T>): Promise<StatusWrite<T>> {
  if (sameJson(object.status, status)) return { type: 'unchanged', object };
  const { name, namespace, uid, resourceVersion } = object.metadata;
  const body = {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { name, namespace, uid, resourceVersion },
    status,
  };
  try {
    const written = await client.replace<KubeObject>(resource, body, { subresource: 'status' });
    return { type: 'written', object: written as T };
  } catch (error) {
    if (isKubeError(error, 'notFound')) return { type: 'gone' };
    if (isKubeError(error, 'conflict')) return { type: 'conflict', error };
    throw error;
  }
}

export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/** `gone`: the object no longer exists, which is what removing a finalizer is for. On `conflict` nothing was written. */
export type FinalizerWrite<T> =
  | { readonly type: 'unchanged'; readonly object: T }
  | { readonly type: 'written'; readonly object: T }
  | { readonly type: 'conflict'; readonly error: KubeError }
  | { readonly type: 'gone' };

interface FinalizerOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource;
  /** As read: its resource version is the lock. */
  readonly object: T;
  readonly finalizer: string;
}

/** Sets the finalizer, under the object's resource version. Refused by the API server once deletion has begun. */
export async function addFinalizer<T extends KubeObject>(
  options: FinalizerOptions<T>,
): Promise<FinalizerWrite<T>> {
  const { object, finalizer } = options;
  if (hasFinalizer(object, finalizer)) return { type: 'unchanged', object };
  return writeFinalizers(options, (present) => [...present, finalizer]);
}

/**
 * Removes the finalizer, under the object's resource version. Call it only when what it guards is certainly
 * gone: afterwards nothing in the cluster remembers it.
 */
export async function removeFinalizer<T extends KubeObject>(
  options: FinalizerOptions<T>,
): Promise<FinalizerWrite<T>> {
  const { object, finalizer } = options;
  if (!hasFinalizer(object, finalizer)) return { type: 'unchanged', object };
  return writeFinalizers(options, (present) => present.filter((other) => other !== finalizer));
}

async function writeFinalizers<T extends KubeObject>(
  { client, resource, object }: FinalizerOptions<T>,
  change: (present: readonly string[]) => readonly string[],
): Promise<FinalizerWrite<T>> {
  try {
    const { resourceVersion, finalizers: present = [] } = await wholeMetadata(client, resource, object);
    // No version is ever given twice, so it also tells this incarnation from another of the name.
    const body = { metadata: { resourceVersion, finalizers: change(present) } };
    const written = await client.patch<T>(resource, refOf(object), { type: 'merge', body });
    return { type: 'written', object: written };
  } catch (error) {
    if (isKubeError(error, 'notFound')) return { type: 'gone' };
    if (isKubeError(error, 'conflict')) return { type: 'conflict', error };
    throw error;
  }
}
