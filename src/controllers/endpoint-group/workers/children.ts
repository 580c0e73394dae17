import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { endpointGroupResource, gpuInstanceResource, labels } from '../../../api/v1alpha1/names.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { objectKey, uidOf } from '../../../runtime/kube/kube-object.ts';
import { CurrentObjects, type CurrentObjectsOptions } from '../../../runtime/list-watch/current-objects.ts';
import type { Informer } from '../../../runtime/list-watch/informer.ts';
import { controllerOf, isChildOf } from './worker.ts';

/** Name of the index by which {@link Children} finds the workers of a group: namespace and name of the group. */
export const BY_GROUP = 'endpointGroup';
/** Name of the index by which it finds who is named like a worker: namespace, and name up to its last hyphen. */
export const BY_STEM = 'stem';

/** The groups that a GpuInstance may belong to: the one that controls it, and the one that its label names. */
export function groupKeysOf({ metadata }: GpuInstance): readonly string[] {
  const owner = controllerOf(metadata.ownerReferences);
  const named = metadata.labels?.[labels.endpointGroup];
  const names = [owner?.kind === endpointGroupResource.kind ? owner.name : undefined, named];
  const keys = names.flatMap((name) =>
    name === undefined ? [] : [objectKey({ namespace: metadata.namespace, name })],
  );
  return [...new Set(keys)];
}

/** The group whose worker might have this name, whoever has it: a worker's is its group's with one word behind it. */
export function stemOf({ metadata: { namespace, name } }: GpuInstance): readonly string[] {
  const end = name.lastIndexOf('-');
  return end < 0 ? [] : [objectKey({ namespace, name: name.slice(0, end) })];
}

/** Whether it carries the group's label and nobody controls it: its group was deleted, and it was left. */
function isOrphanOf({ metadata }: GpuInstance, group: EndpointGroup): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    metadata.labels?.[labels.endpointGroup] === group.metadata.name &&
    controllerOf(metadata.ownerReferences) === undefined
  );
}

/** The workers of a group as one pass sees them. */
export type ChildrenRead =
  | {
      readonly type: 'known';
      /** Those that this very group controls; those of an earlier one of its name are not its own. */
      readonly children: readonly GpuInstance[];
      /** Those that carry its label and that nobody controls: their group was deleted and they were left. */
      readonly orphans: readonly GpuInstance[];
      /** Names of GpuInstances beside the group that its workers might have, be they of another owner or of none. */
      readonly takenNames: ReadonlySet<string>;
    }
  /** The copy has not seen this process's own writes yet: look again then. */
  | { readonly type: 'behind'; readonly afterMs: number };

export interface ChildrenOptions {
  readonly instances: Informer<GpuInstance>;
  readonly client: KubeClient;
  readonly clock: CurrentObjectsOptions<GpuInstance>['clock'];
}

/**
 * The workers of each group, never older than what this process has written or found. A copy that is behind would
 * make the same worker twice.
 */
export class Children {
  readonly #options: ChildrenOptions;
  readonly #objects: CurrentObjects<GpuInstance>;
  /** Keys whose copy may be older than what this process knows, by the uid of their group. */
  readonly #doubtful = new Map<string, Set<string>>();

  /** The informer has the indexes {@link BY_GROUP} of {@link groupKeysOf} and {@link BY_STEM} of {@link stemOf}. */
  constructor(options: ChildrenOptions) {
    const { instances, client, clock } = options;
    this.#options = options;
    this.#objects = new CurrentObjects({ informer: instances, client, clock, resource: gpuInstanceResource });
  }

  /** A worker of the group as this process has just written it. */
  wrote(group: EndpointGroup, worker: GpuInstance): void {
    this.#options.instances.wrote(worker);
    this.#doubt(group, objectKey(worker.metadata));
  }

  /** The group is gone. */
  forget(groupUid: string): void {
    this.#doubtful.delete(groupUid);
  }

  /** Rejects with a KubeError where the API server had to be asked and did not answer. */
  async read(group: EndpointGroup): Promise<ChildrenRead> {
    const { instances } = this.#options;
    const groupKey = objectKey(group.metadata);
    const named = instances.byIndex(BY_GROUP, groupKey);
    const known = named.filter((instance) => isChildOf(instance, group));
    const byKey = new Map(known.map((child) => [objectKey(child.metadata), child] as const));
    const doubtful = this.#doubtful.get(uidOf(group)) ?? new Set();
    for (const key of [...doubtful]) {
      const current = await this.#objects.read(key);
      if (current.type === 'behind') return current;
      const object = current.type === 'found' ? current.object : undefined;
      if (object && isChildOf(object, group)) byKey.set(key, object);
      else byKey.delete(key);
      const copy = instances.get(key);
      if (copy?.metadata.resourceVersion === object?.metadata.resourceVersion) doubtful.delete(key);
    }
    return {
      type: 'known',
      children: [...byKey.values()],
      orphans: named.filter((instance) => isOrphanOf(instance, group)),
      takenNames: new Set(instances.byIndex(BY_STEM, groupKey).map(({ metadata }) => metadata.name)),
    };
  }

  /**
   * Whether the API server, asked now, knows no worker of the group beyond those seen. Money hangs on it: the copy may
   * have missed an event, and then more would be rented than there may be, or the group would go before its machines.
   */
  async isComplete(group: EndpointGroup, seen: readonly GpuInstance[]): Promise<boolean> {
    const { namespace, name } = group.metadata;
    const { items } = await this.#options.client.list<GpuInstance>(gpuInstanceResource, {
      namespace,
      labelSelector: `${labels.endpointGroup}=${name}`,
      keep: (worker) => this.#options.instances.keep(worker),
    });
    const uids = new Set(seen.map(({ metadata }) => metadata.uid));
    const missed = items.filter((item) => isChildOf(item, group) && !uids.has(item.metadata.uid));
    for (const { metadata } of missed) {
      const key = objectKey(metadata);
      this.#objects.lostRace(key);
      this.#doubt(group, key);
    }
    return missed.length === 0;
  }

  #doubt(group: EndpointGroup, key: string): void {
    const uid = uidOf(group);
    this.#doubtful.set(uid, (this.#doubtful.get(uid) ?? new Set()).add(key));
  }
}
