import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource, labels } from '../../../api/v1alpha1/names.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { objectKey, uidOf } from '../../../runtime/kube/kube-object.ts';
import { CurrentObjects, type CurrentObjectsOptions } from '../../../runtime/list-watch/current-objects.ts';
import type { Informer } from '../../../runtime/list-watch/informer.ts';
import { Families, isChildOf } from './families.ts';

/** The workers of a group as one pass sees them. */
export type ChildrenRead =
  | {
      readonly type: 'known';
      readonly children: readonly GpuInstance[];
      readonly orphans: readonly GpuInstance[];
      /** Names that no new worker can have. */
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
  readonly #families: Families;
  readonly #objects: CurrentObjects<GpuInstance>;
  /** Keys whose copy may be older than what this process knows, by the uid of their group. */
  readonly #doubtful = new Map<string, Set<string>>();

  constructor(options: ChildrenOptions) {
    const { instances, client, clock } = options;
    this.#options = options;
    this.#families = new Families(instances);
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
    const known = this.#families
      .childrenOf(group)
      .map((child) => [objectKey(child.metadata), child] as const);
    const byKey = new Map(known);
    const doubtful = this.#doubtful.get(uidOf(group)) ?? new Set();
    for (const key of [...doubtful]) {
      const current = await this.#objects.read(key);
      if (current.type === 'behind') return current;
      const object = current.type === 'found' ? current.object : undefined;
      if (object && isChildOf(object, group)) byKey.set(key, object);
      else byKey.delete(key);
      if (this.#agrees(key, object)) doubtful.delete(key);
    }
    return {
      type: 'known',
      children: [...byKey.values()],
      orphans: this.#families.orphansOf(group),
      takenNames: this.#families.namesLike(group),
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

  #agrees(key: string, object: GpuInstance | undefined): boolean {
    const copy = this.#options.instances.get(key);
    return copy?.metadata.resourceVersion === object?.metadata.resourceVersion;
  }
}
