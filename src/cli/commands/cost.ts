import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { endpointGroupResource, gpuInstanceResource, labels } from '../../api/v1alpha1/names.ts';
import { costRows, costSum, costView } from '../../views/cost.ts';
import type { Command } from '../command.ts';
import { getObject, listInstances } from '../objects/cluster-objects.ts';
import { parseObject } from '../objects/object-name.ts';
import { createOutput } from '../output/output.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';

/** Shows the present and the total cost of machines. */
export const costCommand: Command = {
  description:
    'The most expensive come first; the last line of the table is the sum. So far counts all machines of an object together.',
  examples: ['gpu-rent cost', 'gpu-rent cost -A -o json', 'gpu-rent cost epg/chat gpui/trainer'],
  args: [{ name: '[object...]', description: 'Only these objects: gpui/name, epg/name with its workers.' }],
  optionSets: ['output', 'cluster'],
  async run(input, context) {
    const now = Date.now();
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
