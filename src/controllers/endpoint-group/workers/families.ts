import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { endpointGroupResource, labels } from '../../../api/v1alpha1/names.ts';
import { objectKey } from '../../../runtime/kube/kube-object.ts';
import type { Informer } from '../../../runtime/list-watch/informer.ts';

/** Name of the index by which {@link Families} finds the workers of a group: namespace and name of the group. */
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

/** Whether this very group controls it; one of an earlier group of its name does not. */
export function isChildOf({ metadata }: GpuInstance, group: EndpointGroup): boolean {
  return controllerOf(metadata.ownerReferences)?.uid === group.metadata.uid;
}

function controllerOf(owners: GpuInstance['metadata']['ownerReferences']) {
  return owners?.find((owner) => owner.controller === true);
}

/** Which GpuInstances belong to which group. */
export class Families {
  readonly #instances: Informer<GpuInstance>;

  /** The informer has the indexes {@link BY_GROUP} of {@link groupKeysOf} and {@link BY_STEM} of {@link stemOf}. */
  constructor(instances: Informer<GpuInstance>) {
    this.#instances = instances;
  }

  /** Those that this very group controls; those of an earlier one of its name are not its own. */
  childrenOf(group: EndpointGroup): readonly GpuInstance[] {
    return this.#named(group).filter((instance) => isChildOf(instance, group));
  }

  /** Those that carry its label and that nobody controls: their group was deleted and they were left. */
  orphansOf(group: EndpointGroup): readonly GpuInstance[] {
    return this.#named(group).filter(
      ({ metadata }) =>
        metadata.deletionTimestamp === undefined &&
        metadata.labels?.[labels.endpointGroup] === group.metadata.name &&
        controllerOf(metadata.ownerReferences) === undefined,
    );
  }

  /** Names of GpuInstances beside the group that its workers might have, be they of another owner or of none. */
  namesLike({ metadata }: EndpointGroup): ReadonlySet<string> {
    const like = this.#instances.byIndex(BY_STEM, objectKey(metadata));
    return new Set(like.map((instance) => instance.metadata.name));
  }

  #named({ metadata }: EndpointGroup): readonly GpuInstance[] {
    return this.#instances.byIndex(BY_GROUP, objectKey(metadata));
  }
}
