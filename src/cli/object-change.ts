import type { EndpointGroup } from '../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import type { KindNames } from '../api/v1alpha1/names.ts';
import { isKubeError } from '../runtime/kube/kube-error.ts';
import type { KubeObject } from '../runtime/kube/kube-object.ts';
import type { Command, CommandContext, CommandInput, CommandOption, OptionSet } from './command.ts';
import { failed, usageError } from './command-error.ts';
import { getObject } from './objects/cluster-objects.ts';
import { type ObjectName, parseObject, shownName } from './objects/object-name.ts';
import { changeOneByOne } from './output/one-by-one.ts';
import { createOutput } from './output/output.ts';
import { confirmed, YES } from './secrets/prompt.ts';
import { type ClusterSession, withCluster } from './sessions/cluster-session.ts';

/** An object to change, as read before the change. */
export interface ChangedObject<T> {
  readonly resource: KindNames;
  readonly object: T;
  /** e.g. `gpui/trainer`. */
  readonly shown: string;
}

/** Inputs of a change. */
export interface ChangeMeans {
  readonly cluster: ClusterSession;
  readonly input: CommandInput;
  readonly context: CommandContext;
}

/** A change of named objects. */
export interface ObjectChange<T> {
  /** Verb as typed. */
  readonly verb: string;
  readonly kinds: readonly KindNames[];
  /** True if the command names the kind already, so that a bare name is of the first of `kinds`. */
  readonly isKindNamed?: boolean;
  readonly description: string;
  readonly examples: readonly string[];
  readonly options?: readonly CommandOption[];
  /** Option sets in addition to `output` and `cluster`. */
  readonly optionSets?: readonly OptionSet[];
  /** The command that does the same to a machine by its id, if there is one: `stop instance`. */
  readonly byId?: string;
  /** Throws the obstacle to the change. All objects are checked before the first is changed. */
  readonly check?: (target: ChangedObject<T>) => void;
  /** True if an object that is being deleted is changed as well. */
  readonly alsoDeleting?: boolean;
  /** Question before an irreversible change. */
  readonly question?: (targets: readonly ChangedObject<T>[]) => string;
  /** Resolves to the action as a participle. */
  readonly change: (target: ChangedObject<T>, means: ChangeMeans) => Promise<string>;
}

/** Returns the command of such a change: it changes one object after another and stops at the first failure. */
export function objectChangeCommand<T extends GpuInstance | EndpointGroup | MarketplaceAccount>(
  definition: ObjectChange<T>,
): Command {
  const { kinds, description, examples, options = [], optionSets = [], question, byId } = definition;
  const names = kinds.map(({ shortNames }) => `${shortNames[0]}/name`).join(' or ');
  const kindOf = definition.isKindNamed === true ? `${kinds[0]?.singular}/` : '';
  const whole = (text: string) => (text.includes('/') ? text : `${kindOf}${text}`);
  return {
    ...{ description, examples },
    args: [{ name: '<object...>', description: kindOf === '' ? `${names}.` : `Name, or ${names}.` }],
    options: [...(question ? [YES] : []), ...options],
    optionSets: ['output', 'cluster', ...optionSets],
    async run(input, context) {
      const named = [...new Set(input.args)].map((text) => {
        if (byId !== undefined && /^\d+$/.test(text))
          throw usageError(
            `"${text}" is an id of the marketplace, and no object.`,
            `Write ${names}; for the machine with that id: gpu-rent ${byId} ${text}`,
          );
        return parseObject(whole(text), ...kinds);
      });
      const output = createOutput(input, context);
      await withCluster(input, context, async (cluster) => {
        const targets = new Map<string, ChangedObject<T>>();
        const read = async ({ resource, name }: Pick<ObjectName, 'resource' | 'name'>) => {
          const shown = shownName(resource, name);
          const target = { resource, shown, object: await getObject<T>(cluster, resource, name) };
          if (!definition.alsoDeleting) refuseDeleting(target);
          definition.check?.(target);
          return target;
        };
        for (const each of named) {
          const target = await read(each);
          targets.set(target.shown, target);
        }
        if (question) await confirmed(question([...targets.values()]), input, context);
        await changeOneByOne(output, [...targets.keys()], async (shown) => {
          const target = targets.get(shown) as ChangedObject<T>;
          const means = { cluster, input, context };
          const again = () => read({ resource: target.resource, name: target.object.metadata.name });
          const did = await retried(target, again, (latest) => definition.change(latest, means));
          const [kind = '', name = ''] = shown.split('/');
          return { kind, name, did };
        });
      });
      return 0;
    },
  };
}

const MAX_TRIES = 5;

/**
 * Changes the object in its present state. After a conflict it reads and checks the object again. Rejects if another
 * object took its name.
 */
async function retried<T extends KubeObject>(
  target: ChangedObject<T>,
  read: () => Promise<ChangedObject<T>>,
  change: (latest: ChangedObject<T>) => Promise<string>,
): Promise<string> {
  let latest = target;
  for (let tries = 1; ; tries += 1) {
    try {
      return await change(latest);
    } catch (error) {
      if (!isKubeError(error, 'conflict') || tries === MAX_TRIES) throw error;
      latest = await read();
      if (latest.object.metadata.uid !== target.object.metadata.uid) throw error;
    }
  }
}

function refuseDeleting({ object, shown }: ChangedObject<KubeObject>): void {
  const { deletionTimestamp, namespace } = object.metadata;
  if (deletionTimestamp === undefined) return;
  throw failed(
    `${shown} is being deleted; nothing was changed.`,
    `Wait for its end: gpu-rent wait ${shown} --for delete -n ${namespace}`,
  );
}

/** Changed parts of an object. */
export interface ObjectPatch {
  /** Refused with a conflict if the object was written since it was read. */
  readonly onlyAsRead?: boolean;
  readonly annotations?: Readonly<Record<string, string | null>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** Patches the object that was read: by its uid, a new object of the same name is refused. */
export async function patchObject(
  { cluster: { kube, namespace } }: ChangeMeans,
  { resource, object }: ChangedObject<GpuInstance | EndpointGroup | MarketplaceAccount>,
  { annotations, spec, onlyAsRead = false }: ObjectPatch,
): Promise<void> {
  const { uid, name, namespace: own = namespace, resourceVersion } = object.metadata;
  await kube.patch(
    resource,
    { namespace: own, name },
    {
      type: 'merge',
      body: {
        metadata: {
          ...(uid === undefined ? {} : { uid }),
          ...(onlyAsRead && { resourceVersion }),
          ...(annotations && { annotations }),
        },
        ...(spec && { spec }),
      },
      fieldManager: 'gpu-rent',
    },
  );
}
