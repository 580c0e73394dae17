import type { ObjectMeta } from '../../lib/object-meta.ts';
import type { KubeClient } from './kube-client.ts';
import { KubeError } from './kube-error.ts';
import type { KubeObject, Resource } from './kube-object.ts';

/**
 * The whole object of which `copy` keeps a part, as the API server has it now. Rejects with a KubeError: `conflict` if
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
 * The metadata of a copy that keeps only a part of the finalizers and owner references. Both are written as whole lists, so
 * a write asks {@link wholeMetadata} for them.
 */
export function markShortened<M extends ObjectMeta>(metadata: M): M {
  return { ...metadata, [SHORTENED]: true };
}

/** The object's metadata; of a shortened copy as the API server has it. Rejects with a `conflict` if that is newer. */
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
