import type { KubeClient } from './kube/kube-client.ts';
import { isKubeError } from './kube/kube-error.ts';
import { type KubeObject, type Resource, refOf } from './kube/kube-object.ts';

/** Change that makes an existing object the desired one. */
export type ChildChange =
  | { readonly type: 'none' }
  /** Merge patch of the difference. */
  | { readonly type: 'patch'; readonly body: object }
  /** A field differs that cannot be changed. */
  | { readonly type: 'recreate' }
  /** The object is owned, and may not be changed now. */
  | { readonly type: 'refuse' };

/** `P`: the child as the API server may return it, which fills in fields and leaves out others. */
export interface ChildOptions<T extends KubeObject, P extends KubeObject> {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'patch' | 'delete'>;
  readonly resource: Resource;
  /** The desired child. */
  readonly child: T;
  /** True to read before creating; if false, a read follows only if the name exists. */
  readonly mayExist: boolean;
  /** Returns true if an object of that name may be changed or deleted; any other one stays unchanged. */
  readonly isOwned: (present: P) => boolean;
  /** Returns the change; called only for an owned object. */
  readonly change: (present: P) => ChildChange | Promise<ChildChange>;
}

/** `notOwned` and `refused`: nothing was written. */
export type ChildOutcome =
  | { readonly type: 'done'; readonly object: KubeObject }
  | { readonly type: 'notOwned' }
  | { readonly type: 'refused' };

/**
 * Creates a child, or changes the existing one until it is the desired one. A repeated call writes nothing. It reads
 * once more if an object of that name appears in between. Rejects with a KubeError if a request fails.
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
