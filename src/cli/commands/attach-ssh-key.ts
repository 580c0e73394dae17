import type { Command } from '../command.ts';
import { parseId } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { readTextFile } from '../secrets/secret-input.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Adds a public key to a container that runs. */
export const attachSshKey: Command = {
  name: 'attach ssh-key',
  summary: 'Add a public SSH key to a container that runs.',
  examples: ['gpu-rent attach ssh-key 4711 ~/.ssh/id_ed25519.pub'],
  args: [
    { name: '<id>', description: 'The instance.' },
    { name: '<file>', description: 'A file with the public key; - is stdin.' },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const id = parseId(input.args[0], 'instance');
    const key = (await readTextFile(input.args[1] ?? '-', 'ssh-key', context)).trim();
    await withMarketplace(input, context, ({ client }) => client.sshKeys.attach(id, key));
    await createOutput(input, context).changed([{ kind: 'instance', name: id, did: 'took the key' }]);
    return 0;
  },
};
