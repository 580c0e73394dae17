import { sameJson } from '../lib/json.ts';
import type { ObjectMeta } from '../lib/object-meta.ts';
import { storedForm, withStoredForm } from '../lib/stored-form.ts';
import type { KubeClient } from './kube/kube-client.ts';
import { isKubeError, type KubeError } from './kube/kube-error.ts';
import { type KubeObject, type Resource, refOf } from './kube/kube-object.ts';
import { wholeMetadata } from './kube/whole-object.ts';

/**
 * Proof that a decision is recorded on its object. Actions require it, so no action runs without its record. Only
 * {@link receiptOf} creates one, and only `record` functions call it.
 */
export class Receipt<T extends KubeObject> {
  /** The object as the API server answered the last write, or as read if it already contains the record. */
  readonly object: T;
  readonly #recorded = true;

  /**
   * Creates a receipt. `proof`: the key of this module, or a receipt of the same object, for a receipt that proves
   * more. Throws a TypeError without it.
   */
  constructor(object: T, proof: typeof RECORDED | Receipt<T>) {
    if (proof !== RECORDED && !(proof instanceof Receipt && proof.object === object))
      throw new TypeError('a receipt comes from record() alone');
    this.object = object;
  }

  /** Always true: it prevents another class of the same shape from passing as a receipt. */
  get isRecorded(): boolean {
    return this.#recorded;
  }
}

const RECORDED: unique symbol = Symbol('recorded');

export function receiptOf<T extends KubeObject>(object: T): Receipt<T> {
  return new Receipt(object, RECORDED);
}

export interface RecordOptions<S, T extends WithStatus<S>> {
  readonly client: KubeClient;
  readonly resource: Resource;
  /** The object as read: its resource version is the lock. */
  readonly object: T;
  /** Finalizer to add if it is missing; absent if the decision needs none. */
  readonly finalizer?: string | undefined;
  /** Annotations, written even if the object has them, in one write with the finalizer. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** New status; absent if it stays unchanged. */
  readonly status?: S | undefined;
  /** Called with the object of each write, for the cache. */
  readonly onWritten: (object: T) => void;
}

/**
 * Writes the record before any action: finalizer and annotations, then the status, each under the resource version and
 * only if it differs. Undefined if another writer was faster or the object was deleted: then no action may run. Rejects
 * with a KubeError if a write failed otherwise.
 */
export async function record<S, T extends WithStatus<S>>(
  options: RecordOptions<S, T>,
): Promise<Receipt<T> | undefined> {
  const { client, resource, finalizer, annotations, status, onWritten } = options;
  let { object } = options;
  if (finalizer !== undefined || annotations !== undefined) {
    const write = await addMarks({ client, resource, object, finalizer, annotations });
    if (write.type === 'conflict' || write.type === 'gone') return undefined;
    if (write.type === 'written') onWritten(write.object);
    object = write.object;
  }
  if (status !== undefined) {
    const write = await recordStatus<S, T>({ client, resource, object, status });
    if (write.type === 'conflict' || write.type === 'gone') return undefined;
    if (write.type === 'written') onWritten(write.object);
    object = write.object;
  }
  return receiptOf(object);
}

/** An object with a status of its kind. */
export interface WithStatus<S> extends KubeObject {
  readonly status?: S | undefined;
}

/** `gone`: no object of that name exists. On `conflict` and `gone` nothing was written. */
export type StatusWrite<T> =
  | { readonly type: 'unchanged'; readonly object: T }
  | { readonly type: 'written'; readonly object: T }
  | { readonly type: 'conflict'; readonly error: KubeError }
  | { readonly type: 'gone' };

export interface RecordStatusOptions<S, T extends WithStatus<S>> {
  readonly client: Pick<KubeClient, 'replace'>;
  readonly resource: Resource;
  /** The object as read: its `status` is compared, its resource version is the lock. */
  readonly object: T;
  readonly status: S;
}

/**
 * Writes `status` under the object's resource version, and only if it differs from the object's own: a write without
 * changes costs the API server as much as a real one. Only identity and status are sent. The stored form is carried
 * over, so that keys of a newer version stay. Rejects with any failure but a conflict or a deleted object.
 */
export async function recordStatus<S, T extends WithStatus<S>>({
  client,
  resource,
  object,
  status,
}: RecordStatusOptions<S, T>): Promise<StatusWrite<T>> {
  const stored = storedForm(object.status);
  if (sameJson(object.status, status) && !stored?.isOutdated) return { type: 'unchanged', object };
  const { name, namespace, uid, resourceVersion } = object.metadata;
  const body = {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { name, namespace, uid, resourceVersion },
    status: withStoredForm(status, stored),
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

/**
 * `gone`: the object no longer exists, which is the purpose of removing a finalizer. On `conflict` nothing was written.
 */
export type FinalizerWrite<T> =
  | { readonly type: 'unchanged'; readonly object: T }
  | { readonly type: 'written'; readonly object: T }
  | { readonly type: 'conflict'; readonly error: KubeError }
  | { readonly type: 'gone' };

interface MetadataOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource;
  /** The object as read: its resource version is the lock. */
  readonly object: T;
}

interface FinalizerOptions<T extends KubeObject> extends MetadataOptions<T> {
  readonly finalizer: string;
}

type MarkOptions<T extends KubeObject> = MetadataOptions<T> &
  Pick<RecordOptions<unknown, T>, 'finalizer' | 'annotations'>;

/**
 * Sets the finalizer if it is missing, and the annotations, under the object's resource version. Rejects with a
 * KubeError other than `conflict` and `notFound`: `invalid` if the finalizer is new and deletion has begun.
 */
export async function addMarks<T extends KubeObject>({
  finalizer,
  annotations,
  ...options
}: MarkOptions<T>): Promise<FinalizerWrite<T>> {
  const { object } = options;
  const isMissing = finalizer !== undefined && !hasFinalizer(object, finalizer);
  if (!isMissing && annotations === undefined) return { type: 'unchanged', object };
  return writeMetadata(options, (present) => ({
    finalizers: isMissing ? [...present, finalizer] : present,
    annotations,
  }));
}

/**
 * Removes the finalizer, under the object's resource version. Call it only when the guarded resource is certainly
 * deleted: afterwards the cluster has no record of it. Rejects like {@link addMarks}.
 */
export async function removeFinalizer<T extends KubeObject>(
  options: FinalizerOptions<T>,
): Promise<FinalizerWrite<T>> {
  const { object, finalizer } = options;
  if (!hasFinalizer(object, finalizer)) return { type: 'unchanged', object };
  return writeMetadata(options, (present) => ({
    finalizers: present.filter((other) => other !== finalizer),
  }));
}

/** Sends one merge patch, which succeeds only on the version that was read. */
async function writeMetadata<T extends KubeObject>(
  { client, resource, object }: MetadataOptions<T>,
  change: (finalizers: readonly string[]) => Pick<ObjectMeta, 'finalizers' | 'annotations'>,
): Promise<FinalizerWrite<T>> {
  try {
    const { uid, resourceVersion, finalizers = [] } = await wholeMetadata(client, resource, object);
    // With the uid it also fails on another object of the name.
    const body = { metadata: { uid, resourceVersion, ...change(finalizers) } };
    const written = await client.patch<T>(resource, refOf(object), { type: 'merge', body });
    return { type: 'written', object: written };
  } catch (error) {
    if (isKubeError(error, 'notFound')) return { type: 'gone' };
    if (isKubeError(error, 'conflict')) return { type: 'conflict', error };
    throw error;
  }
}
