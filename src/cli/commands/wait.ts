import type { KindNames } from '../../api/v1alpha1/names.ts';
import { gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import { ageText } from '../../views/amounts.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { EXIT, notFound, usageError } from '../command-error.ts';
import { kindNamed } from '../objects/kind-spelling.ts';
import { type ObjectName, parseObject } from '../objects/object-name.ts';
import { goalOf, type Reached, type WaitedFor, waitForAll } from '../objects/waiting.ts';
import { listOption, parseTime, textOption } from '../option-values.ts';
import { type ChangeReport, createOutput } from '../output/output.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';

/** Waits until objects reach a state; exit code 4 if they do not in time. */
export const waitCommand: Command = {
  description:
    'ready follows the rules of Helm and Flux: the present generation, nothing reconciling, Ready. A stalled object ends the wait at once with exit code 1; exit code 4 means that the time is up. Several objects share the time. -l selects by label (of GpuInstances, or of the kind that is named), -f waits for what manifests name.',
  examples: [
    'gpu-rent wait gpui/trainer --timeout 20m',
    'gpu-rent wait gpui/trainer gpui/tester epg/chat',
    'gpu-rent wait gpui -l job=sweep --for delete',
    'gpu-rent wait -f trainer.yaml',
    'gpu-rent wait epg/chat --for condition=MetricsAvailable',
    'gpu-rent wait gpui/trainer --for phase=Stopped',
  ],
  args: [
    {
      name: '[object...]',
      description: 'gpui/name, epg/name, gpuacct/name or gpubudget/name; with -l a kind.',
    },
  ],
  options: [
    {
      flags: '--for <what>',
      description: 'ready, delete, condition=Type[=Value] or phase=Phase. Default: ready.',
    },
    { flags: '--timeout <time>', description: 'Time limit for all objects. Default: 10m.' },
    { flags: '-l, --selector <labels>', description: 'Objects with these labels, e.g. job=sweep.' },
    {
      flags: '-f, --filename <file>',
      description: 'Objects in a manifest; - is stdin; repeatable.',
      repeatable: true,
    },
  ],
  optionSets: ['output', 'cluster'],
  async run(input, context) {
    const timeoutMs = parseTime(textOption(input.options, '--timeout') ?? '10m', '--timeout');
    const goalText = textOption(input.options, '--for') ?? 'ready';
    const named = await namesOf(input, context);
    // An unknown word for a kind is reported before any request to the cluster.
    for (const { resource } of named.objects) goalOf(goalText, resource);
    const output = createOutput(input, context);
    const isOneDocument = output.format === 'json' || output.format === 'yaml';
    const done: ChangeReport[] = [];
    const report = async ({ resource, name, goal, took }: Reached) => {
      const [kind = ''] = resource.shortNames;
      const reached = { kind, name, did: `is ${goal.state} after ${ageText(took)}` };
      if (isOneDocument) done.push(reached);
      else await output.changed([reached]);
    };
    try {
      await withCluster(input, context, async (cluster) => {
        const objects = [...named.objects, ...(await selected(cluster, named))];
        const waited = objects.map((each): WaitedFor => ({ ...each, goal: goalOf(goalText, each.resource) }));
        if (waited.length === 0 && goalText.toLowerCase() !== 'delete') throw nothingSelected(named, cluster);
        await waitForAll(waited, { cluster, timeoutMs, onReached: report }, context);
      });
    } finally {
      if (isOneDocument && (done.length > 0 || named.isList))
        await output.changed(done, { asList: named.isList });
    }
    return EXIT.ok;
  },
};

/** Names of a command line: objects, and perhaps a kind with a label selector. */
interface Names {
  readonly objects: readonly ObjectName[];
  readonly selector: { readonly labels: string; readonly resource: KindNames } | undefined;
  /** True if several objects were requested. */
  readonly isList: boolean;
}

async function namesOf(input: CommandInput, context: CommandContext): Promise<Names> {
  const { args, options } = input;
  const labels = textOption(options, '--selector');
  const files = listOption(options, '--filename');
  if (labels !== undefined && files.length > 0) throw usageError('-l and -f exclude each other.');
  if (labels !== undefined) {
    const [kind = gpuInstanceResource.singular, ...more] = args;
    const resource = kindNamed(kind);
    if (!resource || more.length > 0)
      throw usageError('-l selects among objects of one kind.', 'Write gpui -l job=sweep, without names.');
    return { objects: [], selector: { labels, resource }, isList: true };
  }
  const own = args.map((text): ObjectName => parseObject(text));
  const filed = await namesInFiles(files, context);
  const byName = new Map(
    [...own, ...filed].map((each) => [`${each.namespace ?? ''} ${each.resource.plural}/${each.name}`, each]),
  );
  if (byName.size === 0)
    throw usageError('No object was named.', 'Give gpui/name, -l labels, or -f file.yaml.');
  return { objects: [...byName.values()], selector: undefined, isList: files.length > 0 || byName.size > 1 };
}

async function namesInFiles(
  files: readonly string[],
  context: CommandContext,
): Promise<readonly ObjectName[]> {
  if (files.length === 0) return [];
  const [{ objectsNamedIn }, { readTextFile }] = await Promise.all([
    import('../plan/manifests.ts'),
    import('../secrets/secret-input.ts'),
  ]);
  const read = async (file: string) => objectsNamedIn(await readTextFile(file, '-f', context), file);
  return (await Promise.all(files.map(read))).flat();
}

async function selected(
  { kube, scope }: ClusterSession,
  { selector }: Names,
): Promise<readonly ObjectName[]> {
  if (!selector) return [];
  const { resource, labels: labelSelector } = selector;
  const { items } = await kube.list<KubeObject>(resource, { namespace: scope, labelSelector });
  return items.map(({ metadata: { name, namespace } }) => ({ resource, name, namespace }));
}

function nothingSelected({ selector }: Names, { scope }: ClusterSession): Error {
  const { resource, labels } = selector ?? { resource: gpuInstanceResource, labels: '' };
  const where = scope === undefined ? 'any namespace' : `namespace ${scope}`;
  return notFound(
    `No ${resource.kind} in ${where} has the labels ${labels}.`,
    `kubectl get ${resource.plural} --show-labels shows them.`,
  );
}
