import type { KubeClient } from './kube/kube-client.ts';
import {
  controllerOf,
  isControlledBy,
  type KubeObject,
  objectKey,
  type Resource,
  uidOf,
} from './kube/kube-object.ts';
import { CurrentObjects, type CurrentObjectsOptions } from './list-watch/current-objects.ts';
import type { Informer } from './list-watch/informer.ts';

/** A kind that creates objects of another kind, and the label by which its objects are listed. */
export interface OwnerKind {
  /** Kind in owner references. */
  readonly kind: string;
  /** Key of the label with the name of the owner. */
  readonly label: string;
}

/**
 * Returns the name of the index by which {@link OwnedObjects} finds the objects of an owner: namespace and name of the
 * owner.
 */
export const indexOfOwners = ({ kind }: OwnerKind): string => `owner:${kind}`;
/** Name of the index of objects named like an owned one: namespace, and name up to the last hyphen. */
export const BY_STEM = 'stem';

/** Returns the indexes that an informer needs for {@link OwnedObjects} of that kind of owner. */
export function ownedIndexes(
  by: OwnerKind,
): Readonly<Record<string, (object: KubeObject) => readonly string[]>> {
  return { [indexOfOwners(by)]: (object) => ownerKeysOf(object, by), [BY_STEM]: stemOf };
}

/** Returns the keys of the possible owners of an object: its controller, and the owner that its label names. */
export function ownerKeysOf({ metadata }: KubeObject, { kind, label }: OwnerKind): readonly string[] {
  const controller = controllerOf(metadata);
  const named = metadata.labels?.[label];
  const names = [controller?.kind === kind ? controller.name : undefined, named];
  const keys = names.flatMap((name) =>
    name === undefined ? [] : [objectKey({ namespace: metadata.namespace, name })],
  );
  return [...new Set(keys)];
}

/** Returns the key of the owner that may have generated this name: the owner's name, a hyphen and one word. */
export function stemOf({ metadata: { namespace, name } }: KubeObject): readonly string[] {
  const end = name.lastIndexOf('-');
  return end < 0 ? [] : [objectKey({ namespace, name: name.slice(0, end) })];
}

/** The objects of an owner in one reconcile. */
export type OwnedRead<T> =
  | {
      readonly type: 'known';
      /** Objects that this very owner controls, without those of an earlier owner of the same name. */
      readonly children: readonly T[];
      /** Objects with its label and without a controller: their owner was deleted and left them. */
      readonly orphans: readonly T[];
      /** Names in use that the owner's generated names might collide with, whatever owns them. */
      readonly takenNames: ReadonlySet<string>;
    }
  /** The copy has not seen this process's own writes yet: read again after that time. */
  | { readonly type: 'behind'; readonly afterMs: number };

export interface OwnedObjectsOptions<T extends KubeObject> {
  /** Informer with the indexes of {@link ownedIndexes}. */
  readonly informer: Informer<T>;
  readonly client: KubeClient;
  readonly clock: CurrentObjectsOptions<T>['clock'];
  /** Kind of the owned objects. */
  readonly resource: Resource;
  readonly by: OwnerKind;
}

/**
 * The objects that each owner of a kind controls, never older than the writes and reads of this process. A copy that is
 * behind would create the same object twice.
 */
export class OwnedObjects<O extends KubeObject, T extends KubeObject> {
  readonly #options: OwnedObjectsOptions<T>;
  readonly #objects: CurrentObjects<T>;
  /** Keys whose copy may be older than this process's knowledge, by the uid of their owner. */
  readonly #doubtful = new Map<string, Set<string>>();

  constructor(options: OwnedObjectsOptions<T>) {
    this.#options = options;
    this.#objects = new CurrentObjects(options);
  }

  /** Records an object of the owner that this process has just written. */
  wrote(owner: O, object: T): void {
    this.#options.informer.wrote(object);
    this.#doubt(owner, objectKey(object.metadata));
  }

  /** Removes the data of a deleted owner. */
  forget(ownerUid: string): void {
    this.#doubtful.delete(ownerUid);
  }

  /**
   * Returns the objects of the owner. Rejects with a KubeError if the API server had to be called and did not answer.
   */
  async read(owner: O): Promise<OwnedRead<T>> {
    const { informer, by } = this.#options;
    const ownerKey = objectKey(owner.metadata);
    const named = informer.byIndex(indexOfOwners(by), ownerKey);
    const known = named.filter((object) => isControlledBy(object, owner));
    const byKey = new Map(known.map((child) => [objectKey(child.metadata), child] as const));
    const doubtful = this.#doubtful.get(uidOf(owner)) ?? new Set();
    for (const key of [...doubtful]) {
      const current = await this.#objects.read(key);
      if (current.type === 'behind') return current;
      const object = current.type === 'found' ? current.object : undefined;
      if (object && isControlledBy(object, owner)) byKey.set(key, object);
      else byKey.delete(key);
      const copy = informer.get(key);
      if (copy?.metadata.resourceVersion === object?.metadata.resourceVersion) doubtful.delete(key);
    }
    return {
      type: 'known',
      children: [...byKey.values()],
      orphans: named.filter((object) => isOrphanOf(object, owner, by)),
      takenNames: new Set(informer.byIndex(BY_STEM, ownerKey).map(({ metadata }) => metadata.name)),
    };
  }

  /**
   * Lists the owner's objects at the API server and returns true if `seen` has all of them. The copy may have missed an
   * event: the owner would then create too many objects, which cost money, or end before them. Rejects with a KubeError
   * if the list fails.
   */
  async isComplete(owner: O, seen: readonly T[]): Promise<boolean> {
    const { client, resource, informer, by } = this.#options;
    const { namespace, name } = owner.metadata;
    const { items } = await client.list<T>(resource, {
      namespace,
      labelSelector: `${by.label}=${name}`,
      keep: (object) => informer.keep(object),
    });
    const uids = new Set(seen.map(({ metadata }) => metadata.uid));
    const missed = items.filter((item) => isControlledBy(item, owner) && !uids.has(item.metadata.uid));
    for (const { metadata } of missed) {
      const key = objectKey(metadata);
      this.#objects.lostRace(key);
      this.#doubt(owner, key);
    }
    return missed.length === 0;
  }

  #doubt(owner: O, key: string): void {
    const uid = uidOf(owner);
    this.#doubtful.set(uid, (this.#doubtful.get(uid) ?? new Set()).add(key));
  }
}

function isOrphanOf({ metadata }: KubeObject, owner: KubeObject, { label }: OwnerKind): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    metadata.labels?.[label] === owner.metadata.name &&
    controllerOf(metadata) === undefined
  );
}
