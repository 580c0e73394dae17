import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { connectionKeys, connectionSecretName, labels } from '../../api/v1alpha1/names.ts';
import { hasService } from '../../instance/run.ts';
import { type ChildChange, type ChildOptions, ensureChild } from '../../runtime/ensure-child.ts';
import {
  type EndpointSliceObject,
  endpointSliceResource,
  secretResource,
  serviceResource,
} from '../../runtime/kube/core-resources.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject, ObjectRef, Resource } from '../../runtime/kube/kube-object.ts';
import {
  type ConnectionSecret,
  instanceService,
  isConnectionSecret,
  isOrphanOf,
  isOwnedBy,
  SLICE_SUFFIXES,
  sliceName,
} from './children.ts';
import type { ObjectMemory } from './memory.ts';
import type { Publication, Published } from './types.ts';

interface ChildPorts {
  readonly cluster: KubeClient;
  readonly owner: GpuInstance;
  /** True if the status shows that it was written before; then it is read before it is created. */
  readonly mayExist: boolean;
}

/** Reason why a child cannot be written. */
export type ChildProblem = Exclude<Published, { type: 'done' }>;

/**
 * Creates a child, or patches it if it differs. Returns undefined on success, else the obstacle, such as an object of
 * that name with another owner. Rejects with a KubeError other than `invalid`, `forbidden` and `terminating`.
 */
export function writeChild(
  resource: Resource,
  child: KubeObject,
  { cluster, ...ports }: ChildPorts,
): Promise<ChildProblem | undefined> {
  const change = (present: Present) => changeOf(present, child);
  return ensured({ resource, child, client: cluster, change, ...ports });
}

/**
 * Checks by a dry run whether a child could be created; nothing is stored. Name, rights, quota and admission give the
 * same answer as for the later write. An existing child of `owner` is valid, whatever its content. Otherwise like
 * {@link writeChild}.
 */
export function tryChild(
  resource: Resource,
  child: KubeObject,
  { cluster, ...ports }: ChildPorts,
): Promise<ChildProblem | undefined> {
  const create: KubeClient['create'] = (kind, object) => cluster.create(kind, object, { dryRun: true });
  const change = (): ChildChange => ({ type: 'none' });
  return ensured({ resource, child, client: { ...cluster, create }, change, ...ports });
}

type Ensured = Pick<
  ChildOptions<KubeObject, Present>,
  'client' | 'resource' | 'child' | 'mayExist' | 'change'
>;

async function ensured({
  owner,
  ...child
}: Ensured & Pick<ChildPorts, 'owner'>): Promise<ChildProblem | undefined> {
  try {
    const outcome = await ensureChild({ ...child, isOwned: (present) => isOwnedBy(present, owner) });
    return outcome.type === 'done'
      ? undefined
      : nameTaken(child.child, 'exists and does not belong to this object');
  } catch (error) {
    if (isKubeError(error, 'invalid'))
      return nameTaken(child.child, 'cannot be made under the name of this object');
    if (!isKubeError(error, 'forbidden', 'terminating')) throw error;
    return { type: 'failed', detail: refusalDetail(child.child, error) };
  }
}

const MAX_DETAIL = 1024;

/** Returns the permission, the quota or the admission policy that the API server names. */
function refusalDetail({ kind, metadata }: KubeObject, { message }: Error): string {
  return `Cannot write ${kind} ${metadata.name}: ${message}`.slice(0, MAX_DETAIL);
}

/** Returns a merge patch of the differing parts that the operator writes; undefined without a difference. */
function changeOf(present: Present, child: KubeObject & Partial<Pick<Present, 'addressType'>>): ChildChange {
  // The address type of a slice cannot be changed: such a slice is recreated.
  if (present.addressType !== child.addressType) return { type: 'recreate' };
  const before: Readonly<Record<string, unknown>> = { ...present };
  const parts = Object.entries(child).filter(([part]) => !GIVEN_ONCE.has(part));
  const differing = parts.filter(([part, desired]) => !contains(before[part], desired));
  const data = isConnectionSecret(child) ? dataChanges(present.data ?? {}, child.data) : {};
  // The operator's label, if an earlier version created the child without an owner reference.
  const mark = child.metadata.labels?.[labels.instanceUid];
  const isMarked = present.metadata.labels?.[labels.instanceUid] === mark;
  const metadata = isMarked ? {} : { metadata: { labels: { [labels.instanceUid]: mark } } };
  const body = { ...Object.fromEntries(differing), ...data, ...metadata };
  return Object.keys(body).length === 0 ? { type: 'none' } : { type: 'patch', body };
}

function nameTaken(child: KubeObject, problem: string): ChildProblem {
  return { type: 'nameTaken', detail: `${child.kind} ${child.metadata.name} ${problem}.` };
}

interface Present extends KubeObject, Partial<Pick<EndpointSliceObject, 'addressType'>> {
  readonly data?: Readonly<Record<string, string>>;
}

/** Parts of a child that are set at creation and never change, and its data, which may keep undesired entries. */
const GIVEN_ONCE: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'type', 'data']);

/**
 * Removes missing keys. The machine's own API key stays as long as the machine, since the marketplace returns it only
 * once.
 */
function dataChanges(
  present: Readonly<Record<string, string>>,
  desired: ConnectionSecret['data'],
): { readonly data?: Readonly<Record<string, string | null>> } {
  const sameMachine = present[connectionKeys.instanceId] === desired[connectionKeys.instanceId];
  const stays = (key: string) => key in desired || (key === connectionKeys.instanceApiKey && sameMachine);
  const changed = Object.entries(desired).filter(([key, value]) => present[key] !== value);
  const gone = Object.keys(present).filter((key) => !stays(key));
  if (changed.length + gone.length === 0) return {};
  return { data: { ...Object.fromEntries(changed), ...Object.fromEntries(gone.map((key) => [key, null])) } };
}

/**
 * Returns true if `present` has everything that `desired` has; defaults that the API server filled in do not matter.
 */
function contains(present: unknown, desired: unknown): boolean {
  if (typeof desired !== 'object' || desired === null) return present === desired;
  if (typeof present !== 'object' || present === null) return false;
  if (Array.isArray(desired) && Object.keys(present).length !== desired.length) return false;
  const before: Readonly<Record<string, unknown>> = { ...present };
  return Object.entries(desired).every(([key, value]) => contains(before[key], value));
}

type Child = readonly [resource: Resource, child: KubeObject];
type Place = readonly [resource: Resource, ref: ObjectRef];

/**
 * Deletes an object's Service and slices that are no longer desired. They may remain from a former machine, spec or
 * version of the operator, and would route to a machine that another customer may rent now. A process reads each once
 * and remembers that it is absent; an object that never published has none. Objects of other owners stay. Returns
 * undefined on success, else the obstacle.
 */
export async function removeLeftOver(
  owner: GpuInstance,
  { desired, serving }: { readonly desired: readonly Child[] } & Pick<Publication, 'serving'>,
  { cluster, memory }: { readonly cluster: KubeClient; readonly memory: ObjectMemory },
): Promise<Published | undefined> {
  if (owner.status?.binding === undefined) return undefined;
  const kept = new Set(desired.map(([resource, { metadata }]) => keyOf(resource, metadata)));
  for (const key of kept) memory.absentChildren.delete(key);
  const goes = (child: KubeObject) => isOwnedBy(child, owner) || isOrphanOf(child, owner);
  for (const place of mayBeThere(owner, serving)) {
    const key = keyOf(...place);
    if (kept.has(key) || memory.absentChildren.has(key)) continue;
    const problem = await removeOne(place, goes, cluster);
    if (problem) return problem;
    memory.absentChildren.add(key);
  }
  return undefined;
}

/**
 * Deletes the children that `kubectl delete --cascade=orphan` leaves of an object whose machine has ended. They would
 * route nowhere, and block their names for the next object. Garbage collection deletes children that have an owner. A
 * refused delete does not delay the object's deletion.
 */
export async function removeOrphans(
  owner: GpuInstance,
  { cluster, memory }: { readonly cluster: KubeClient; readonly memory: ObjectMemory },
): Promise<void> {
  if (owner.status?.binding === undefined) return;
  const { resourceVersion } = owner.metadata;
  if (resourceVersion !== undefined && memory.ownedChildrenAt === resourceVersion) return;
  const goes = (child: KubeObject) =>
    isOrphanOf(child, owner) || (isOrphaning(owner) && isOwnedBy(child, owner));
  for (const place of childrenAtEnd(owner, memory)) await removeOne(place, goes, cluster);
}

/** Finalizer of an object until the garbage collector has removed its owner references. */
const ORPHAN_FINALIZER = 'orphan';

const isOrphaning = ({ metadata }: GpuInstance): boolean =>
  metadata.finalizers?.includes(ORPHAN_FINALIZER) ?? false;

/**
 * Returns the possible places of children of the object, without those that this process knows to be absent.
 */
function childrenAtEnd(owner: GpuInstance, { absentChildren }: ObjectMemory): readonly Place[] {
  const { namespace, name } = owner.metadata;
  const secret: Place = [secretResource, { namespace, name: connectionSecretName(name) }];
  const places = [secret, ...(instanceService(owner) ? mayBeThere(owner, true) : [])];
  return places.filter((place) => !absentChildren.has(keyOf(...place)));
}

async function removeOne(
  [resource, ref]: Place,
  goes: (present: KubeObject) => boolean,
  cluster: KubeClient,
): Promise<Published | undefined> {
  try {
    const present = await cluster.get<KubeObject>(resource, ref);
    if (present && goes(present)) await cluster.delete(resource, ref, { uid: present.metadata.uid });
    return undefined;
  } catch (error) {
    if (!isKubeError(error, 'forbidden')) throw error;
    return { type: 'failed', detail: `The operator may not delete ${keyOf(resource, ref)}.` };
  }
}

/**
 * Checks, while the end of the machine is being proven, whether the children of an object are owned by it, so that
 * {@link removeOrphans} need not read them: orphaning changes the object before it removes the owner references.
 * Unreadable children are read at that time.
 */
export async function noteOwnedChildren(
  owner: GpuInstance,
  { cluster, memory }: { readonly cluster: KubeClient; readonly memory: ObjectMemory },
): Promise<void> {
  if (owner.status?.binding === undefined || isOrphaning(owner)) return;
  try {
    for (const place of childrenAtEnd(owner, memory)) {
      const present = await cluster.get<KubeObject>(...place);
      if (present && isOrphanOf(present, owner)) return;
    }
    memory.ownedChildrenAt = owner.metadata.resourceVersion;
  } catch (error) {
    if (!isKubeError(error)) throw error;
  }
}

/** Returns the children that may exist. The Service outlasts a short outage of the machine: only its slices change. */
function mayBeThere(owner: GpuInstance, serving: boolean): readonly Place[] {
  const { namespace, name, generation } = owner.metadata;
  // The spec was never edited, and it disables the Service.
  if (generation === 1 && !hasService(owner)) return [];
  const slices = SLICE_SUFFIXES.map(
    (suffix) => [endpointSliceResource, { namespace, name: sliceName(owner, suffix) }] as const,
  );
  return serving ? [...slices, [serviceResource, { namespace, name }]] : slices;
}

function keyOf({ kind }: Resource, { name }: { readonly name: string }): string {
  return `${kind} ${name}`;
}
