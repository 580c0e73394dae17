import type { Command } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { parseId } from '../options/option-values.ts';
import { WORKER_GROUP_OPTIONS, workerGroupOptions } from '../options/worker-group-flags.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Changes a worker group; what is not given stays. */
export const updateWorkergroup: Command = {
  name: 'update workergroup',
  summary: 'Change a worker group; what is not given stays.',
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
