import type { Command } from '../command.ts';
import { changeOneByOne } from '../output/one-by-one.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Takes secret variables of the account away. */
export const deleteSecret: Command = {
  name: 'delete secret',
  summary: 'Take secret variables of the account away.',
  examples: ['gpu-rent delete secret HF_TOKEN'],
  args: [{ name: '<name...>', description: 'The variables.' }],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const output = createOutput(input, context);
    await withMarketplace(input, context, async ({ client }) => {
      await changeOneByOne(output, input.args, async (name) => {
        await client.secrets.delete(name);
        return { kind: 'secret', name, did: 'deleted' };
      });
    });
    return 0;
  },
};
