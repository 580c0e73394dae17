import type { KubeClient } from '../kube/kube-client.ts';
import { isKubeError, type KubeError } from '../kube/kube-error.ts';
import type { KubeObject, Resource } from '../kube/kube-object.ts';
import { sameJson } from './same-json.ts';

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
