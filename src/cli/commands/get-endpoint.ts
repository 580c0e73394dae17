import type { Command } from '../command.ts';
import { parseId, textOption } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { reserveSecretFile } from '../secrets/secret-file.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { endpointRow, endpointView } from '../views/groups.ts';

/** Shows one endpoint group. */
export const getEndpoint: Command = {
  name: 'get endpoint',
  summary: 'Show one endpoint group.',
  examples: ['gpu-rent get endpoint 12', 'gpu-rent get endpoint 12 --save-key endpoint.key'],
  args: [{ name: '<id>', description: 'The endpoint group.' }],
  options: [
    {
      flags: '--save-key <file>',
      description: "Write the endpoint's own key, which routing needs, to a file of mode 0600.",
    },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const id = parseId(input.args[0], 'endpoint');
    const path = textOption(input.options, '--save-key');
    await using file = path === undefined ? undefined : await reserveSecretFile(path, '--save-key');
    const group = await withMarketplace(input, context, ({ client }) => client.endpointGroups.get(id));
    if (group.apiKey) await file?.write(group.apiKey);
    await createOutput(input, context).row(endpointView, endpointRow(group));
    return 0;
  },
};
