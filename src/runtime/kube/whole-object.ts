import type { ObjectMeta } from '../../lib/object-meta.ts';
import type { KubeClient } from './kube-client.ts';
import { KubeError } from './kube-error.ts';
import type { KubeObject, Resource } from './kube-object.ts';

/**
 * Returns the whole object of which `copy` keeps a part, from the API server. Rejects with a KubeError: `conflict` if
 * it is another object by now, or has another spec.
 */
export async function wholeObject<T extends KubeObject>(
  client: Pick<KubeClient, 'get'>,
  resource: Resource,
  copy: T,
): Promise<T> {
  const { namespace, name, uid, generation } = copy.metadata;
  const whole = await client.get<T>(resource, { namespace, name });
  if (whole && whole.metadata.uid === uid && whole.metadata.generation === generation) return whole;
  throw hasChanged(resource, copy);
}

const SHORTENED = Symbol('shortened');

/**
 * Marks the metadata of a copy that keeps only a part of the finalizers and owner references. Both are written as whole
 * lists, so a write must call {@link wholeMetadata}.
 */
export function markShortened<M extends ObjectMeta>(metadata: M): M {
  return { ...metadata, [SHORTENED]: true };
}

/**
 * Returns the metadata of an object; for a shortened copy from the API server. Rejects with a `conflict` if the stored
 * object is newer.
 */
export async function wholeMetadata(
  client: Pick<KubeClient, 'get'>,
  resource: Resource,
  copy: KubeObject,
): Promise<ObjectMeta> {
  if (!(SHORTENED in copy.metadata)) return copy.metadata;
  const { namespace, name, resourceVersion } = copy.metadata;
  const whole = await client.get(resource, { namespace, name });
  if (whole && whole.metadata.resourceVersion === resourceVersion) return whole.metadata;
  throw hasChanged(resource, copy);
}

function hasChanged({ kind }: Resource, { metadata }: KubeObject): KubeError {
  return new KubeError(`${kind} ${metadata.name} has changed`, {
    kind: 'conflict',
    status: 409,
    reason: 'Conflict',
    outcome: 'refused',
  });
}
