import type { Command } from '../command.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { sshKeyRow, sshKeyView } from '../views/account.ts';

/** Shows the SSH keys of the account. */
export const listSshKeys: Command = {
  name: 'list ssh-keys',
  summary: 'Show the SSH keys of the account.',
  examples: ['gpu-rent list ssh-keys'],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const keys = await withMarketplace(input, context, ({ client }) => client.sshKeys.list());
    await createOutput(input, context).rows(sshKeyView, keys.map(sshKeyRow));
    return 0;
  },
};
