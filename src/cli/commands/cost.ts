import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { endpointGroupResource, gpuInstanceResource, labels } from '../../api/v1alpha1/names.ts';
import { accountKey, accountRefOf } from '../../instance/account-ref.ts';
import { totalCost } from '../../instance/cost.ts';
import { parseDollars } from '../../lib/money.ts';
import type { Command } from '../command.ts';
import { getObject, listInstances } from '../objects/cluster-objects.ts';
import { parseObject } from '../objects/object-name.ts';
import { dollarText, inDollars } from '../output/amounts.ts';
import { createOutput, type View } from '../output/output.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';

interface CostRow {
  readonly namespace: string;
  readonly name: string;
  readonly account: string;
  readonly phase: string | undefined;
  /** Dollars. */
  readonly perHour: number;
  readonly perDay: number;
  readonly soFar: number;
  readonly limit: number | undefined;
}

const view: View<CostRow> = {
  kind: 'gpui',
  name: ({ name }) => name,
  columns: [
    { header: 'Namespace', text: ({ namespace }) => namespace },
    { header: 'Name', text: ({ name }) => name },
    { header: 'Account', text: ({ account }) => account },
    { header: 'Phase', text: ({ phase }) => phase },
    { header: '$/h', text: ({ perHour }) => dollarText(perHour) },
    { header: '$/day', text: ({ perDay }) => dollarText(perDay) },
    { header: 'So far', text: ({ soFar }) => dollarText(soFar) },
    { header: 'At most', text: ({ limit }) => dollarText(limit), wide: true },
  ],
};

/** Shows what machines cost now and have cost. */
export const costCommand: Command = {
  description:
    'The most expensive come first; the last line of the table is the sum. So far counts all machines of an object together.',
  examples: ['gpu-rent cost', 'gpu-rent cost -A -o json', 'gpu-rent cost epg/chat gpui/trainer'],
  args: [{ name: '[object...]', description: 'Only these: gpui/name, epg/name with its workers.' }],
  optionSets: ['output', 'cluster'],
  async run(input, context) {
    const now = Date.now();
    const named = input.args.map((text) => parseObject(text, gpuInstanceResource, endpointGroupResource));
    const instances = await withCluster(input, context, (cluster) => namedInstances(cluster, named));
    const rows = instances.map((instance) => costRow(instance, now)).sort(mostExpensiveFirst);
    const output = createOutput(input, context);
    const isTable = output.format === 'table' || output.format === 'wide';
    const shown = isTable && rows.length > 1 ? [...rows, sumOf(rows)] : rows;
    await output.rows(view, shown);
    return 0;
  },
};

type ObjectName = ReturnType<typeof parseObject>;

/** The named ones, all if none is named. Rejects with exit code 3 if one does not exist. */
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

function costRow(instance: GpuInstance, now: number): CostRow {
  const { metadata, spec, status } = instance;
  const { namespace = '', name } = metadata;
  const { phase, cost } = status ?? {};
  const perHour = inDollars(parseDollars(cost?.pricePerHour)) ?? 0;
  const account = accountKey(accountRefOf(instance));
  return {
    ...{ namespace, name, account },
    phase,
    perHour,
    perDay: inMicroDollars(perHour * 24),
    soFar: inDollars(totalCost(cost, now)) ?? 0,
    limit: spec.maxTotalCost === undefined ? undefined : Number(spec.maxTotalCost),
  };
}

function sumOf(rows: readonly CostRow[]): CostRow {
  const sum = (pick: (row: CostRow) => number) =>
    inMicroDollars(rows.reduce((total, row) => total + pick(row), 0));
  return {
    ...{ namespace: '', name: 'total', account: '', phase: undefined, limit: undefined },
    perHour: sum(({ perHour }) => perHour),
    perDay: sum(({ perDay }) => perDay),
    soFar: sum(({ soFar }) => soFar),
  };
}

/** Dollars without what binary fractions add to them. */
function inMicroDollars(dollars: number): number {
  return Math.round(dollars * 1e6) / 1e6;
}

function mostExpensiveFirst(left: CostRow, right: CostRow): number {
  return right.perHour - left.perHour || right.soFar - left.soFar || left.name.localeCompare(right.name);
}
