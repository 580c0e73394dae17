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
  throw new KubeError(`${resource.kind} ${name} has changed`, {
    kind: 'conflict',
    status: 409,
    reason: 'Conflict',
    outcome: 'refused',
  });
}
