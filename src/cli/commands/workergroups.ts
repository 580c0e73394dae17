import type { Command } from '../command.ts';
import { notFound, usageError } from '../failures/command-error.ts';
import { idChangeCommand } from '../id-change.ts';
import { parseId } from '../options/option-values.ts';
import { WORKER_GROUP_OPTIONS, workerGroupOptions } from '../options/worker-group-flags.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { workerGroupView } from '../views/groups.ts';

/** Shows the worker groups of the marketplace's endpoint groups. */
export const listWorkergroups: Command = {
  examples: ['gpu-rent list workergroups'],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const groups = await withMarketplace(input, context, ({ client }) => client.workerGroups.list());
    await createOutput(input, context).rows(workerGroupView, groups);
    return 0;
  },
};

/** Shows one worker group; the service can only list them. */
export const getWorkergroup: Command = {
  examples: ['gpu-rent get workergroup 31'],
  args: [{ name: '<id>', description: 'The worker group.' }],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const id = parseId(input.args[0], 'workergroup');
    const groups = await withMarketplace(input, context, ({ client }) => client.workerGroups.list());
    const group = groups.find((row) => row.id === id);
    if (!group)
      throw notFound(`There is no worker group ${id}.`, 'gpu-rent list workergroups shows those there are.');
    await createOutput(input, context).row(workerGroupView, group);
    return 0;
  },
};

/** Creates a worker group in an endpoint group of the marketplace. */
export const createWorkergroup: Command = {
  examples: ['gpu-rent create workergroup --endpoint_name chat --template_hash 6b0c --gpu_ram 24'],
  options: WORKER_GROUP_OPTIONS,
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const group = workerGroupOptions(input.options);
    if (group.endpointName === undefined && group.endpointId === undefined) {
      throw usageError('In which endpoint group?', 'Give --endpoint_name or --endpoint_id.');
    }
    const id = await withMarketplace(input, context, ({ client }) => client.workerGroups.create(group));
    await createOutput(input, context).changed([{ kind: 'workergroup', name: id, did: 'created' }]);
    return 0;
  },
};

/** Changes a worker group; what is not given stays. */
export const updateWorkergroup: Command = {
  examples: ['gpu-rent update workergroup 31 --gpu_ram 48'],
  args: [{ name: '<id>', description: 'The worker group.' }],
  options: WORKER_GROUP_OPTIONS,
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const id = parseId(input.args[0], 'workergroup');
    const changes = workerGroupOptions(input.options);
    if (Object.keys(changes).length === 0) {
      throw usageError('Nothing to change was given.', 'Give at least one option, e.g. --gpu_ram 48.');
    }
    await withMarketplace(input, context, ({ client }) => client.workerGroups.update(id, changes));
    await createOutput(input, context).changed([{ kind: 'workergroup', name: id, did: 'updated' }]);
    return 0;
  },
};

export const deleteWorkergroup = idChangeCommand({
  verb: 'delete',
  kind: 'workergroup',
  did: 'deleted',
  description: 'The machines of a worker group need not go with it: look at list instances afterwards.',
  change: (client, id) => client.workerGroups.delete(id),
});
