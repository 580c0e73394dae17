import { allInstances } from '../all-instances.ts';
import type { Command } from '../command.ts';
import { textOption } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { instanceRow, instanceView } from '../views/instances.ts';

/** Shows every rented machine of the login. */
export const listInstances: Command = {
  name: 'list instances',
  summary: 'Show the machines that the login rents.',
  examples: ['gpu-rent list instances', 'gpu-rent list instances --status running -o wide'],
  options: [
    { flags: '--label <label>', description: 'Only those with this label; an empty one: those without.' },
    { flags: '--status <word>', description: 'Only those in this state, e.g. running.' },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const instances = await withMarketplace(input, context, ({ client }) => allInstances(client));
    const label = textOption(input.options, '--label');
    const status = textOption(input.options, '--status');
    const wanted = instances.filter(
      (instance) =>
        (label === undefined || (instance.label ?? '') === label) &&
        (status === undefined || (instance.actualStatusWord ?? 'provisioning') === status),
    );
    await createOutput(input, context).rows(instanceView(Date.now()), wanted.map(instanceRow));
    return 0;
  },
};
