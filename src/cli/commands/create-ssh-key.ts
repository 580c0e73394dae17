import type { Command } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { createOutput } from '../output/output.ts';
import { readTextFile } from '../secrets/secret-input.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

const PUBLIC_KEY = /^(ssh-|ecdsa-|sk-)[a-z0-9@.-]+ [A-Za-z0-9+/=]+( .*)?$/;

/** Registers a public key on the account. */
export const createSshKey: Command = {
  name: 'create ssh-key',
  summary: 'Register a public SSH key on the account, before renting.',
  examples: ['gpu-rent create ssh-key ~/.ssh/id_ed25519.pub', 'ssh-add -L | gpu-rent create ssh-key -'],
  args: [{ name: '<file>', description: 'A file with the public key; - is stdin.' }],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const path = input.args[0] ?? '-';
    const key = (await readTextFile(path, 'ssh-key', context)).trim();
    if (key.includes('PRIVATE KEY')) throw usageError(`${path} is the private key.`, `Give ${path}.pub.`);
    if (!PUBLIC_KEY.test(key)) throw usageError(`${path} holds no public SSH key (or more than one).`);
    const id = await withMarketplace(input, context, ({ client }) => client.sshKeys.create(key));
    await createOutput(input, context).changed([{ kind: 'ssh-key', name: id, did: 'created' }]);
    return 0;
  },
};
