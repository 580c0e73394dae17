import type { Command } from '../command.ts';
import { parseId } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { apiKeyView } from '../views/account.ts';

/** Shows one API key, without its secret. */
export const showApiKey: Command = {
  name: 'show api-key',
  summary: 'Show one API key, without its secret.',
  examples: ['gpu-rent show api-key 7 -o yaml'],
  args: [{ name: '<id>', description: 'The key.' }],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const id = parseId(input.args[0], 'api-key');
    const key = await withMarketplace(input, context, ({ client }) => client.apiKeys.get(id));
    await createOutput(input, context).row(apiKeyView, key);
    return 0;
  },
};
