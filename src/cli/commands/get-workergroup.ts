import type { Command } from '../command.ts';
import { notFound } from '../failures/command-error.ts';
import { parseId } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { workerGroupView } from '../views/groups.ts';

/** Shows one worker group; the service can only list them. */
export const getWorkergroup: Command = {
  name: 'get workergroup',
  summary: 'Show one worker group.',
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
