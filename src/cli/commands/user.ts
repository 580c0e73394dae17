import type { User } from '../../markets/vast/users.ts';
import { dollarText, inDollars } from '../../views/amounts.ts';
import type { View } from '../../views/table.ts';
import type { Command } from '../command.ts';
import { createOutput, shortKey } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Verifies the key and shows its user. */
export const showUser: Command = {
  examples: ['gpu-rent show user', 'gpu-rent show user -o json'],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const user = await withMarketplace(input, context, ({ client }) => client.users.current());
    await createOutput(input, context).row(userView, userRow(user));
    return 0;
  },
};

/** Returns the user in its JSON form. */
function userRow(user: User) {
  return { ...user, credit: inDollars(user.credit) };
}

const userView: View<ReturnType<typeof userRow>> = {
  kind: 'user',
  name: ({ id }) => id,
  columns: [
    { header: 'Id', text: ({ id }) => id },
    { header: 'Name', text: ({ fullName, username }) => fullName ?? username },
    { header: 'Email', text: ({ email }) => email },
    { header: 'Credit', text: ({ credit }) => dollarText(credit) },
    { header: '2FA', text: ({ twoFactor }) => twoFactor },
    { header: 'SSH key', text: ({ sshKey }) => (sshKey ? shortKey(sshKey) : 'none') },
  ],
};
