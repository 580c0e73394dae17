import type { KubeClient } from './kube-client.ts';
import type { KubeError } from './kube-error.ts';
import type { KubeObject, Resource } from './kube-object.ts';

/** An object with a status of its kind. */
export interface WithStatus<S> extends KubeObject {
  readonly status?: S | undefined;
}

/** `gone`: the object, or this incarnation of it, no longer exists. On `conflict` and `gone` nothing was written. */
export type StatusWrite<T> =
  | { readonly type: 'unchanged'; readonly object: T }
  | { readonly type: 'written'; readonly object: T }
  | { readonly type: 'conflict'; readonly error: KubeError }
  | { readonly type: 'gone' };

export interface RecordStatusOptions<S, T extends WithStatus<S>> {
  readonly client: KubeClient;
  readonly resource: Resource;
  /** As read: its `status` is compared, its resource version is the lock. */
  readonly object: T;
  readonly status: S;
}
