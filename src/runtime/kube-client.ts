import type { TransportResponse } from '../lib/transport.ts';
import type { KubeObject, ObjectRef, Resource } from './kube-object.ts';

export interface ListOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A complete list: every page of one consistent snapshot. */
export interface KubeList<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

export interface WriteOptions {
  readonly subresource?: 'status' | 'scale' | undefined;
  readonly fieldManager?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface PatchOptions extends WriteOptions {
  readonly type: 'merge' | 'json' | 'apply';
  /** Server-side apply only: takes fields over from other managers. */
  readonly force?: boolean | undefined;
}

export interface DeleteOptions {
  /** Deletes this incarnation only; another one under the name is a `conflict`. */
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan' | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface StreamRequest {
  readonly namespace?: string | undefined;
  readonly query: Readonly<Record<string, string>>;
  readonly accept?: string | undefined;
  readonly signal: AbortSignal;
}

/** The part of the client that list-watch needs: a GET of a collection whose body is read as it arrives. */
export interface KubeStream {
  /** Resolves with a successful reply, whose body the caller must read to its end or destroy. Never retried. */
  stream(resource: Resource, request: StreamRequest): Promise<TransportResponse>;
}

/**
 * Typed requests to one API server. Every failure is a {@link KubeError}. Reads are retried a few times where
 * the reply is 429, 5xx or missing; writes never, so that a caller always knows how often it asked. The type
 * argument is the caller's promise that objects of `resource` have that shape (their CRD is checked on entry).
 */
export interface KubeClient extends KubeStream {
  /** Undefined where there is none. */
  get<T extends KubeObject>(resource: Resource, ref: ObjectRef): Promise<T | undefined>;
  /** Consistent: it contains every write that was answered before it began. */
  list<T extends KubeObject>(resource: Resource, options?: ListOptions): Promise<KubeList<T>>;
  create<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>;
  /** PUT under `metadata.resourceVersion`; a newer object in its place is a `conflict`. */
  replace<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    body: unknown,
    options: PatchOptions,
  ): Promise<T>;
  /** False where there was nothing to delete. True says that deletion began; finalizers may still hold it. */
  delete(resource: Resource, ref: ObjectRef, options?: DeleteOptions): Promise<boolean>;
}
