import type { SshKey } from '../../marketplace/ssh-keys.ts';
import type { Command } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { idChangeCommand } from '../id-change.ts';
import { parseId } from '../options/option-values.ts';
import { timeText } from '../output/amounts.ts';
import { createOutput, shortKey, type View } from '../output/output.ts';
import { readTextFile } from '../secrets/secret-input.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Shows the SSH keys of the account. */
export const listSshKeys: Command = {
  examples: ['gpu-rent list ssh-keys'],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const keys = await withMarketplace(input, context, ({ client }) => client.sshKeys.list());
    await createOutput(input, context).rows(sshKeyView, keys.map(sshKeyRow));
    return 0;
  },
};

const PUBLIC_KEY = /^(ssh-|ecdsa-|sk-)[a-z0-9@.-]+ [A-Za-z0-9+/=]+( .*)?$/;

/** Registers a public key on the account. */
export const createSshKey: Command = {
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

export const deleteSshKey = idChangeCommand({
  verb: 'delete',
  kind: 'ssh-key',
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

/** An SSH key as JSON shows it. */
function sshKeyRow(key: SshKey) {
  return { ...key, createdAt: timeText(key.createdAt) };
}

const sshKeyView: View<ReturnType<typeof sshKeyRow>> = {
  kind: 'ssh-key',
  name: ({ id }) => id,
  columns: [
    { header: 'Id', text: ({ id }) => id },
    { header: 'Key', text: ({ publicKey }) => shortKey(publicKey) },
    { header: 'Created', text: ({ createdAt }) => createdAt },
  ],
};
