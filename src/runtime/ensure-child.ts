import type { KubeClient } from './kube/kube-client.ts';
import { isKubeError } from './kube/kube-error.ts';
import { type KubeObject, type Resource, refOf } from './kube/kube-object.ts';

/** What makes an existing object the desired one. */
export type ChildChange =
  | { readonly type: 'none' }
  /** Merge patch. */
  | { readonly type: 'patch'; readonly body: object }
  /** It differs in a field that cannot be changed. */
  | { readonly type: 'recreate' }
  /** It is owned, and may not be changed now. */
  | { readonly type: 'refuse' };

/** `P`: the child as the API server may show it, which fills fields in and leaves fields out. */
export interface ChildOptions<T extends KubeObject, P extends KubeObject> {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'patch' | 'delete'>;
  readonly resource: Resource;
  /** As desired. */
  readonly child: T;
  /** Whether to read before creating; if false, a read follows only if the name exists. */
  readonly mayExist: boolean;
  /** Whether an object of that name may be changed or deleted; any other one stays as it is. */
  readonly isOwned: (present: P) => boolean;
  /** Asked only of an owned object. */
  readonly change: (present: P) => ChildChange | Promise<ChildChange>;
}

/** `notOwned` and `refused`: nothing was written. */
export type ChildOutcome =
  | { readonly type: 'done'; readonly object: KubeObject }
  | { readonly type: 'notOwned' }
  | { readonly type: 'refused' };

/**
 * Creates a child, or changes the one that exists until it is the desired one. Doing it again writes nothing. An object
 * of that name that appears in between is read once more. Rejects with a KubeError if a request fails.
 */
export async function ensureChild<T extends KubeObject, P extends KubeObject>(
  options: ChildOptions<T, P>,
): Promise<ChildOutcome> {
  try {
    return await (options.mayExist ? update(options) : create(options));
  } catch (error) {
    if (!isKubeError(error, 'alreadyExists')) throw error;
    return update(options);
  }
}

async function create<T extends KubeObject, P extends KubeObject>({
  client,
  resource,
  child,
}: ChildOptions<T, P>): Promise<ChildOutcome> {
  return { type: 'done', object: await client.create(resource, child) };
}

async function update<T extends KubeObject, P extends KubeObject>(
  options: ChildOptions<T, P>,
): Promise<ChildOutcome> {
  const { client, resource, child, isOwned, change } = options;
  const ref = refOf(child);
  const present = await client.get<P>(resource, ref);
  if (!present) return create(options);
  if (!isOwned(present)) return { type: 'notOwned' };
  const needed = await change(present);
  switch (needed.type) {
    case 'none':
      return { type: 'done', object: present };
    case 'patch': {
      const { body } = needed;
      return { type: 'done', object: await client.patch(resource, ref, { type: 'merge', body }) };
    }
    case 'recreate':
      await client.delete(resource, ref, { uid: present.metadata.uid });
      return create(options);
    case 'refuse':
      return { type: 'refused' };
  }
}
