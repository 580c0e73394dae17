import type { ObjectMeta, OwnerReference } from '../../lib/object-meta.ts';

/** A kind and its path at the API server. `group` is empty for core/v1. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** Name of an object of a kind; without a namespace for cluster-scoped kinds. */
export interface ObjectRef {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Any object of the API, by its structure. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

export type ConditionStatus = 'True' | 'False' | 'Unknown';

/** A metav1.Condition. */
export interface Condition {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number | undefined;
}

/** Returns `namespace/name`, or `name` without a namespace: the key of caches and queues, as in client-go. */
export function objectKey(ref: ObjectRef): string {
  return ref.namespace ? `${ref.namespace}/${ref.name}` : ref.name;
}

/** Returns the reference of a key: the inverse of {@link objectKey}. */
export function refOfKey(key: string): ObjectRef {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Returns the uid of an object from the API server, which assigns one to each. */
export function uidOf({ metadata }: { readonly metadata: Pick<ObjectMeta, 'uid'> }): string {
  return metadata.uid ?? '';
}

/** Returns the reference of an object. */
export function refOf(object: KubeObject): ObjectRef {
  return { namespace: object.metadata.namespace, name: object.metadata.name };
}

/** Returns `group/version`, or `version` for the core group: the `apiVersion` of an object. */
export function apiVersionOf(resource: Resource): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/**
 * Returns the controlling owner reference to `owner`, which the garbage collector follows. Throws if `owner` has no uid
 * yet.
 */
export function controllerReference(owner: KubeObject): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  if (metadata.uid === undefined)
    throw new TypeError(`${kind} ${objectKey(metadata)} has no uid yet, so it cannot own`);
  return {
    apiVersion,
    kind,
    name: metadata.name,
    uid: metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** Returns the owner that the garbage collector follows. */
export function controllerOf({
  ownerReferences,
}: Pick<ObjectMeta, 'ownerReferences'>): OwnerReference | undefined {
  return ownerReferences?.find((owner) => owner.controller === true);
}

/** Returns true if this very owner controls the object, and not an earlier one of the same name. */
export function isControlledBy(
  { metadata }: Pick<KubeObject, 'metadata'>,
  owner: Pick<KubeObject, 'metadata'>,
): boolean {
  return controllerOf(metadata)?.uid === owner.metadata.uid;
}

/**
 * Compares two resource versions of one kind: negative, 0 or positive. They are decimal numbers that may exceed a
 * double, so the longer one is larger and equal lengths compare as text (KEP-5504).
 */
export function compareResourceVersions(left: string, right: string): number {
  if (left.length !== right.length) return left.length - right.length;
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
