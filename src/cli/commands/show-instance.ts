import type { Command } from '../command.ts';
import { notFound } from '../failures/command-error.ts';
import { parseId } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { instanceRow, instanceView } from '../views/instances.ts';

/** Shows one rented machine. */
export const showInstance: Command = {
  name: 'show instance',
  summary: 'Show one rented machine.',
  examples: ['gpu-rent show instance 4711', 'gpu-rent show instance 4711 -o yaml'],
  args: [{ name: '<id>', description: 'The instance.' }],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const id = parseId(input.args[0], 'instance');
    const instance = await withMarketplace(input, context, ({ client }) => client.instances.get(id));
    if (!instance)
      throw notFound(`There is no instance ${id}.`, 'gpu-rent list instances shows those there are.');
    await createOutput(input, context).row(instanceView(Date.now()), instanceRow(instance));
    return 0;
  },
};
