import type { KubeClient } from '../kube/kube-client.ts';
import { isKubeError, type KubeError } from '../kube/kube-error.ts';
import { type KubeObject, type Resource, refOf } from '../kube/kube-object.ts';
import { wholeMetadata } from '../kube/whole-object.ts';

/**
 * What a finalizer means for an object, as a truth table:
 *
 * | being deleted | finalizer | state | so |
 * |---|---|---|---|
 * | no | no | `unguarded` | set it before anything outside the cluster is made |
 * | no | yes | `guarded` | work |
 * | yes | yes | `finalizing` | clean up, then remove it |
 * | yes | no | `released` | nothing: the object is on its way out without us, and no finalizer may be added |
 */
export type FinalizerState = 'unguarded' | 'guarded' | 'finalizing' | 'released';

export function finalizerState(object: KubeObject, finalizer: string): FinalizerState {
  const deleting = object.metadata.deletionTimestamp !== undefined;
  if (hasFinalizer(object, finalizer)) return deleting ? 'finalizing' : 'guarded';
  return deleting ? 'released' : 'unguarded';
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
