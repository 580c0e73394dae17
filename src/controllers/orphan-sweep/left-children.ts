import { labels, OPERATOR_NAME } from '../../api/v1alpha1/names.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';

/** A deleted GpuInstance, as far as its children show it. */
export interface FormerObject {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
}

/** Selects every Service and slice that the operator created for one GpuInstance. */
export const MARKED_CHILDREN = `${labels.managedBy}=${OPERATOR_NAME},${labels.instanceUid}`;

/** Suffixes that the operator adds to the name of a GpuInstance for its slices, and of a group for a worker's. */
const SLICE_NAME = /^(.+)-(?:direct|ssh|endpoint)$/;
const MAX_LABEL = 63;

/**
 * Returns the former owner of a Service or slice without an owner, whose owner reference the garbage collector removed.
 * Undefined for any other child, such as a copy under another name.
 */
export function formerOwnerOf(child: KubeObject): FormerObject | undefined {
  const { metadata, kind } = child;
  const { [labels.instanceUid]: uid = '', [labels.instance]: instance } = metadata.labels ?? {};
  const name = kind === 'Service' ? metadata.name : SLICE_NAME.exec(metadata.name)?.[1];
  if (name === undefined || !isLeftBy(child, { uid })) return undefined;
  const isOfSlices = metadata.labels?.[labels.sliceManagedBy] === OPERATOR_NAME;
  if (kind === 'EndpointSlice' && !isOfSlices) return undefined;
  // The slice of a worker names its group instead.
  const isOfName = instance === undefined || instance === name.slice(0, MAX_LABEL);
  return isOfName ? { namespace: metadata.namespace, name, uid } : undefined;
}

/** Returns true if the operator created this child for the object of that uid, and it has no owner. */
export function isLeftBy({ metadata }: KubeObject, { uid }: Pick<FormerObject, 'uid'>): boolean {
  const { labels: given = {}, ownerReferences = [] } = metadata;
  const isOwn = given[labels.managedBy] === OPERATOR_NAME && given[labels.instanceUid] === uid;
  return isOwn && uid !== '' && ownerReferences.length === 0;
}

/** Returns the children that each deleted object may have left behind. */
export function leftChildren(
  children: readonly KubeObject[],
): readonly (readonly [FormerObject, readonly KubeObject[]])[] {
  const byUid = new Map<string, [FormerObject, KubeObject[]]>();
  for (const child of children) {
    const former = formerOwnerOf(child);
    if (!former) continue;
    const [, known] = byUid.get(former.uid) ?? [former, []];
    byUid.set(former.uid, [former, [...known, child]]);
  }
  return [...byUid.values()];
}
