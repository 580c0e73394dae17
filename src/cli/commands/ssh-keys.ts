import type { SshKey } from '../../markets/vast/ssh-keys.ts';
import { timeText } from '../../views/amounts.ts';
import type { Command } from '../command.ts';
import { usageError } from '../command-error.ts';
import { commandsOf } from '../noun.ts';
import { parseId } from '../option-values.ts';
import { createOutput, shortKey } from '../output/output.ts';
import { readTextFile } from '../secrets/secret-input.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

const sshKey = commandsOf({
  noun: 'ssh-key',
  row: (key: SshKey) => ({ ...key, createdAt: timeText(key.createdAt) }),
  columns: [
    { header: 'Id', text: ({ id }) => id },
    { header: 'Key', text: ({ publicKey }) => shortKey(publicKey) },
    { header: 'Created', text: ({ createdAt }) => createdAt },
  ],
});

/** Shows the SSH keys of the account. */
export const listSshKeys = sshKey.list({
  examples: ['gpu-rent list ssh-keys'],
  find: (client) => client.sshKeys.list(),
});

const PUBLIC_KEY = /^(ssh-|ecdsa-|sk-)[a-z0-9@.-]+ [A-Za-z0-9+/=]+( .*)?$/;

/** Registers a public key on the account. */
export const createSshKey = sshKey.create({
  examples: ['gpu-rent create ssh-key ~/.ssh/id_ed25519.pub', 'ssh-add -L | gpu-rent create ssh-key -'],
  args: [{ name: '<file>', description: 'A file with the public key; - is stdin.' }],
  async request({ args: [path = '-'] }, context) {
    const key = (await readTextFile(path, 'ssh-key', context)).trim();
    if (key.includes('PRIVATE KEY')) throw usageError(`${path} is the private key.`, `Give ${path}.pub.`);
    if (!PUBLIC_KEY.test(key)) throw usageError(`${path} holds no public SSH key (or more than one).`);
    return key;
  },
  send: (client, key) => client.sshKeys.create(key),
});

export const deleteSshKey = sshKey.change('delete', {
  did: 'deleted',
  question: (ids) => `Delete ssh-key ${ids}? Machines that are rented from then on do not have it.`,
  change: (client, id) => client.sshKeys.delete(id),
});

/** Adds a public key to a container that runs. */
export const attachSshKey: Command = {
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
