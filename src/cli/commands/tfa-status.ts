import type { Command } from '../command.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { methodRow, methodView, statusLine, statusRow } from '../views/tfa.ts';

/** Shows what is set up for the second factor. */
export const tfaStatus: Command = {
  name: 'tfa status',
  summary: 'Show what is set up for the second factor.',
  examples: ['gpu-rent tfa status', 'gpu-rent tfa status -o json'],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const output = createOutput(input, context);
    const status = await withMarketplace(input, context, ({ client }) => client.tfa.status());
    if (output.format === 'json' || output.format === 'yaml') await output.value(statusRow(status), '');
    else {
      context.stdout.write(`${statusLine(status)}\n`);
      if (status.methods.length > 0) await output.rows(methodView, status.methods.map(methodRow));
    }
    return 0;
  },
};
