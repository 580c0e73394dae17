import type { Command } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { WORKER_GROUP_OPTIONS, workerGroupOptions } from '../options/worker-group-flags.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Creates a worker group in an endpoint group of the marketplace. */
export const createWorkergroup: Command = {
  name: 'create workergroup',
  summary: 'Create a worker group in an endpoint group of the marketplace.',
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
