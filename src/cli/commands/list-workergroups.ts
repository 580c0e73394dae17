import type { Command } from '../command.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { workerGroupView } from '../views/groups.ts';

/** Shows the worker groups of the marketplace's endpoint groups. */
export const listWorkergroups: Command = {
  name: 'list workergroups',
  summary: 'Show the worker groups of endpoint groups.',
  examples: ['gpu-rent list workergroups'],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const groups = await withMarketplace(input, context, ({ client }) => client.workerGroups.list());
    await createOutput(input, context).rows(workerGroupView, groups);
    return 0;
  },
};
