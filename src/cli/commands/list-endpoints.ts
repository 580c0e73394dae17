import type { Command } from '../command.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { endpointRow, endpointView } from '../views/groups.ts';

/** Shows the endpoint groups that the marketplace scales. */
export const listEndpoints: Command = {
  name: 'list endpoints',
  summary: 'Show the endpoint groups that the marketplace scales.',
  examples: ['gpu-rent list endpoints -o wide'],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const groups = await withMarketplace(input, context, ({ client }) => client.endpointGroups.list());
    await createOutput(input, context).rows(endpointView, groups.map(endpointRow));
    return 0;
  },
};
