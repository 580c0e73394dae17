import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { endpointGroupResource, gpuInstanceResource, labels } from '../../api/v1alpha1/names.ts';
import { monthStart } from '../../instance/cost.ts';
import { chargesSince } from '../../ledger/cost-sums.ts';
import { costRows, costSum, costView } from '../../views/cost.ts';
import { costByRows, costByTotal, costByViewOf, criterionText } from '../../views/cost-by.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { usageError } from '../command-error.ts';
import { getObject, listInstances } from '../objects/cluster-objects.ts';
import { ledgerOf } from '../objects/ledger.ts';
import { parseObject } from '../objects/object-name.ts';
import { textOption } from '../option-values.ts';
import { parseCriterion, parseSince } from '../options/cost-options.ts';
import { createOutput } from '../output/output.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';

/** Shows the present and the total cost of machines. */
export const costCommand: Command = {
  description: [
    'The most expensive come first; the last line of the table is the sum. So far counts all machines of an object together.',
    'With --since or --by it adds up finished machines, also those of deleted objects, and running ones until now. It reads the ledger in the namespace of the operator. Open is the part that may still change.',
  ].join('\n\n'),
  examples: [
    'gpu-rent cost',
    'gpu-rent cost -A -o json',
    'gpu-rent cost epg/chat gpui/trainer',
    'gpu-rent cost -A --since 7d --by namespace',
    'gpu-rent cost -A --by label=team',
  ],
  args: [{ name: '[object...]', description: 'Only these objects: gpui/name, epg/name with its workers.' }],
  options: [
    {
      flags: '--since <begin>',
      description:
        'Begin of the sums: a duration such as 7d or 12h, or a day such as 2026-11-01. Default: this month.',
    },
    {
      flags: '--by <what>',
      description: 'Sums by namespace, account, group, gpu or label=KEY. Default with --since: namespace.',
    },
  ],
  optionSets: ['output', 'cluster'],
  async run(input, context) {
    const now = Date.now();
    const [since, by] = [textOption(input.options, '--since'), textOption(input.options, '--by')];
    if (since !== undefined || by !== undefined) return showSums(input, context, { now, since, by });
    const named = input.args.map((text) => parseObject(text, gpuInstanceResource, endpointGroupResource));
    const instances = await withCluster(input, context, (cluster) => namedInstances(cluster, named));
    const rows = costRows(instances, now);
    const output = createOutput(input, context);
    const isTable = output.format === 'table' || output.format === 'wide';
    const shown = isTable && rows.length > 1 ? [...rows, costSum(rows)] : rows;
    await output.rows(costView, shown);
    return 0;
  },
};

interface Question {
  readonly now: number;
  readonly since: string | undefined;
  readonly by: string | undefined;
}

async function showSums(
  input: CommandInput,
  context: CommandContext,
  { now, since, by }: Question,
): Promise<number> {
  const criterion = parseCriterion(by ?? 'namespace');
  const from = since === undefined ? monthStart(now) : parseSince(since, now);
  if (input.args.length > 0)
    throw usageError(
      `--${by === undefined ? 'since' : 'by'}: sums are of all objects, and ${input.args[0]} is one.`,
      `Leave it out, or write gpu-rent cost ${input.args.join(' ')} alone.`,
    );
  const names = typeof criterion === 'string' ? [] : [criterion.label];
  const charges = await withCluster(input, context, async (cluster) => {
    const [ledger, instances] = await Promise.all([
      ledgerOf(cluster, now),
      listInstances(cluster, cluster.scope),
    ]);
    return chargesSince({ ledger, instances, labels: names, now, namespace: cluster.scope }, from);
  });
  const rows = costByRows(charges, criterion);
  const output = createOutput(input, context);
  const isTable = output.format === 'table' || output.format === 'wide';
  if (rows.length === 0 && isTable) {
    context.stderr.write(
      `No cost since ${new Date(from).toISOString().slice(0, 10)} by ${criterionText(criterion)}.\n`,
    );
    return 0;
  }
  await output.rows(
    costByViewOf(criterion),
    isTable && rows.length > 1 ? [...rows, costByTotal(charges, criterion)] : rows,
  );
  return 0;
}

type ObjectName = ReturnType<typeof parseObject>;

/** Returns the named objects, all if none is named. Rejects with exit code 3 if one does not exist. */
async function namedInstances(
  cluster: ClusterSession,
  named: readonly ObjectName[],
): Promise<readonly GpuInstance[]> {
  if (named.length === 0) return listInstances(cluster, cluster.scope);
  for (const { resource, name } of named) await getObject(cluster, resource, name);
  const instances = await listInstances(cluster, cluster.namespace);
  return instances.filter((instance) => named.some((one) => isMeant(one, instance)));
}

function isMeant({ resource, name }: ObjectName, { metadata }: GpuInstance): boolean {
  if (resource === gpuInstanceResource) return metadata.name === name;
  return metadata.labels?.[labels.endpointGroup] === name;
}
