import type { Command } from '../command.ts';
import { textOption } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { volumeRow, volumeView } from '../views/volumes.ts';

/** Shows the volumes that the login rents. */
export const listVolumes: Command = {
  name: 'list volumes',
  summary: 'Show the volumes that the login rents.',
  examples: ['gpu-rent list volumes', 'gpu-rent list volumes --type network'],
  options: [{ flags: '--type <type>', description: 'Default: all.', choices: ['all', 'local', 'network'] }],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const word = textOption(input.options, '--type');
    const type = word === 'local' || word === 'network' ? word : 'all';
    const volumes = await withMarketplace(input, context, ({ client }) => client.volumes.list(type));
    await createOutput(input, context).rows(volumeView, volumes.map(volumeRow));
    return 0;
  },
};
