import type { Command } from '../command.ts';
import { createOutput, type View } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

interface SecretRow {
  readonly name: string;
}

const view: View<SecretRow> = {
  kind: 'secret',
  name: ({ name }) => name,
  columns: [{ header: 'Name', text: ({ name }) => name }],
};

/** Shows the names of the account's secret variables; values never come back. */
export const listSecrets: Command = {
  name: 'list secrets',
  summary: "Show the names of the account's secret variables.",
  examples: ['gpu-rent list secrets'],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const names = await withMarketplace(input, context, ({ client }) => client.secrets.list());
    await createOutput(input, context).rows(
      view,
      names.map((name) => ({ name })),
    );
    return 0;
  },
};
