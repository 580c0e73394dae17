import type { Command } from '../command.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { apiKeyView } from '../views/account.ts';

/** Shows the API keys of the account, without their secrets. */
export const listApiKeys: Command = {
  name: 'list api-keys',
  summary: 'Show the API keys of the account, without their secrets.',
  examples: ['gpu-rent list api-keys'],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const keys = await withMarketplace(input, context, ({ client }) => client.apiKeys.list());
    await createOutput(input, context).rows(apiKeyView, keys);
    return 0;
  },
};
