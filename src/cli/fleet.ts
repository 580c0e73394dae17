import type { EndpointGroup } from '../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { endpointGroupResource, gpuInstanceResource, labels } from '../api/v1alpha1/names.ts';
import type { CommandContext, CommandInput, CommandOption } from './command.ts';
import { usageError } from './command-error.ts';
import type { ChangedObject } from './object-change.ts';
import { listGroups, listInstances } from './objects/cluster-objects.ts';
import { shownName } from './objects/object-name.ts';
import { switchOption } from './option-values.ts';
import { type ChangeReport, createOutput, type Output } from './output/output.ts';
import type { ClusterSession } from './sessions/cluster-session.ts';

/** Option for every object of the namespace, or of all namespaces with `-A`, instead of names. */
export const ALL: CommandOption = {
  flags: '--all',
  description: 'Every object of the namespace, or of all namespaces with -A.',
};

/** Returns true if a command applies to every object. Throws a usage error if it also names objects, or neither. */
export function meansAll({ args, options }: CommandInput, verb: string): boolean {
  const isAll = switchOption(options, '--all') || switchOption(options, '--all-namespaces');
  if (isAll && args.length > 0)
    throw usageError(
      `${verb}: give names, or --all, not both.`,
      `gpu-rent ${verb} --all -A means every object of all namespaces.`,
    );
  if (!isAll && args.length === 0)
    throw usageError(
      `${verb}: no object is named.`,
      `Name them, such as gpui/trainer; gpu-rent ${verb} --all means every object of the namespace.`,
    );
  return isAll;
}

/** The objects of a namespace, or of all, that are not being deleted. */
export interface Fleet {
  /** Instances without workers of groups. */
  readonly instances: readonly ChangedObject<GpuInstance>[];
  readonly groups: readonly ChangedObject<EndpointGroup>[];
  readonly workers: readonly ChangedObject<GpuInstance>[];
  readonly deleting: readonly ChangedObject<GpuInstance>[];
}

/** Lists them. Rejects with a KubeError. */
export async function listFleet(cluster: ClusterSession): Promise<Fleet> {
  const [all, groups] = await Promise.all([
    listInstances(cluster, cluster.scope),
    listGroups(cluster, cluster.scope),
  ]);
  const isLeaving = ({ metadata }: GpuInstance | EndpointGroup) => metadata.deletionTimestamp !== undefined;
  const isWorker = ({ metadata }: GpuInstance) => metadata.labels?.[labels.endpointGroup] !== undefined;
  const staying = all.filter((object) => !isLeaving(object));
  return {
    instances: staying.filter((object) => !isWorker(object)).map(instanceTarget),
    workers: staying.filter(isWorker).map(instanceTarget),
    groups: groups
      .filter((group) => !isLeaving(group))
      .map((object) => targetOf(endpointGroupResource, object)),
    deleting: all.filter(isLeaving).map(instanceTarget),
  };
}

const instanceTarget = (object: GpuInstance) => targetOf(gpuInstanceResource, object);

function targetOf<T extends GpuInstance | EndpointGroup>(
  resource: ChangedObject<T>['resource'],
  object: T,
): ChangedObject<T> {
  return { resource, object, shown: shownName(resource, object.metadata.name) };
}

/** Result of changing every object. */
export interface FleetOutcome {
  readonly done: readonly ChangeReport[];
  readonly refused: readonly { readonly object: string; readonly namespace: string; readonly why: string }[];
}

/**
 * Changes one object after another. A failure is reported on stderr, and the others are still changed. Text output
 * appears at once; JSON and YAML follow at the end.
 */
export class FleetChanges {
  readonly output: Output;
  readonly #context: CommandContext;
  readonly #isWide: boolean;
  readonly #done: ChangeReport[] = [];
  readonly #refused: FleetOutcome['refused'][number][] = [];

  constructor(input: CommandInput, context: CommandContext) {
    this.output = createOutput(input, context);
    this.#context = context;
    this.#isWide = switchOption(input.options, '--all-namespaces');
  }

  /** Resolves to true on success. `change` resolves to the action as a participle. */
  async each<T extends GpuInstance | EndpointGroup>(
    targets: readonly ChangedObject<T>[],
    change: (target: ChangedObject<T>) => Promise<string>,
  ): Promise<void> {
    for (const target of targets) {
      this.#context.signal.throwIfAborted();
      await this.#one(target, change);
    }
  }

  async #one<T extends GpuInstance | EndpointGroup>(
    target: ChangedObject<T>,
    change: (target: ChangedObject<T>) => Promise<string>,
  ): Promise<void> {
    const { namespace = '' } = target.object.metadata;
    try {
      const did = await change(target);
      const [kind = '', name = ''] = target.shown.split('/');
      const report = {
        kind,
        name,
        did: this.#isWide ? `${did} (namespace ${namespace})` : did,
        more: { namespace },
      };
      this.#done.push(report);
      if (!this.isOneDocument) await this.output.changed([report]);
    } catch (error) {
      const { failureParts } = await import('./failures/describe-failure.ts');
      const why = failureParts(error).what.join(' ');
      this.#refused.push({ object: target.shown, namespace, why });
      this.#context.stderr.write(`${target.shown} in namespace ${namespace} was not changed: ${why}\n`);
    }
  }

  get isOneDocument(): boolean {
    return this.output.format === 'json' || this.output.format === 'yaml';
  }

  get outcome(): FleetOutcome {
    return { done: this.#done, refused: this.#refused };
  }

  /** 1 if the change of any object failed. */
  get exitCode(): number {
    return this.#refused.length > 0 ? 1 : 0;
  }
}
