import type { Command } from '../command.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { userRow, userView } from '../views/account.ts';

/** Proves the key and shows whose it is. */
export const showUser: Command = {
  examples: ['gpu-rent show user', 'gpu-rent show user -o json'],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const user = await withMarketplace(input, context, ({ client }) => client.users.current());
    await createOutput(input, context).row(userView, userRow(user));
    return 0;
  },
};
