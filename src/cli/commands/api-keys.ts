import type { ApiKey, KeyPermissions } from '../../markets/vast/api-keys.ts';
import type { Command, CommandContext, OptionValues } from '../command.ts';
import { failed, usageError } from '../command-error.ts';
import { commandsOf } from '../noun.ts';
import { listOption, textOption } from '../option-values.ts';
import { createOutput } from '../output/output.ts';
import { reserveSecretFile } from '../secrets/secret-file.ts';
import { readTextFile } from '../secrets/secret-input.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

const apiKey = commandsOf({
  noun: 'api-key',
  called: 'key',
  row: (key: ApiKey) => key,
  columns: [
    { header: 'Id', text: ({ id }) => id },
    { header: 'Name', text: ({ name }) => name },
    { header: 'Access', text: ({ permissions }) => access(permissions) },
    { header: 'Team', text: ({ teamName }) => teamName },
    { header: 'User', text: ({ userId }) => userId, wide: true },
  ],
});

/** Shows the API keys of the account, without their secrets. */
export const listApiKeys = apiKey.list({
  examples: ['gpu-rent list api-keys'],
  find: (client) => client.apiKeys.list(),
});

/** Shows one API key, without its secret. */
export const showApiKey = apiKey.get({
  examples: ['gpu-rent show api-key 7 -o yaml'],
  find: (client, id) => client.apiKeys.get(id),
});

/** Permissions of the operator: search and rent, watch and change machines, read the user. */
const FOR_OPERATOR = ['misc', 'user_read', 'instance_read', 'instance_write'];

/** Creates an API key; its secret is only shown in this reply. */
export const createApiKey: Command = {
  description: `Without a permission the key may do everything. --for-operator gives ${FOR_OPERATOR.join(', ')}.`,
  examples: [
    'gpu-rent create api-key --name cluster --for-operator --save operator.key',
    'gpu-rent create api-key --name reader --permission instance_read --permission user_read',
    'gpu-rent create api-key --name narrow --permissions-file permissions.json',
  ],
  options: [
    { flags: '--name <name>', description: 'Name of the key. Default: gpu-rent.' },
    { flags: '--permission <category>', description: 'Permission of the key; repeatable.', repeatable: true },
    { flags: '--permissions-file <file>', description: 'The whole permissions object as JSON; - is stdin.' },
    { flags: '--for-operator', description: 'Only the permissions that the operator needs.' },
    { flags: '--key-params <json>', description: 'Values for the wildcards of the permissions.' },
    { flags: '--save <file>', description: 'Write the secret to a file of mode 0600 instead of showing it.' },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const { options } = input;
    const name = textOption(options, '--name') ?? 'gpu-rent';
    const keyParams = textOption(options, '--key-params');
    const request = {
      name,
      permissions: await permissionsOf(options, context),
      ...(keyParams === undefined ? {} : { keyParams }),
    };
    const path = textOption(options, '--save');
    await using file = path === undefined ? undefined : await reserveSecretFile(path, '--save');
    const made = await withMarketplace(input, context, ({ client }) => client.apiKeys.create(request));
    await file?.write(made.key).catch((error: unknown) => Promise.reject(unsaved(error, made.id ?? name)));
    const report = { kind: 'api-key', id: made.id, name, permissions: made.permissions };
    const secret = path === undefined ? { key: made.key.reveal() } : { savedTo: path };
    const shown = path === undefined ? `${made.key.reveal()}\n` : `Saved to ${path}.\n`;
    const title = `api-key/${made.id ?? name} created. Its secret is not shown again.\n`;
    await createOutput(input, context).value({ ...report, ...secret }, `${title}${shown}`);
    return 0;
  },
};

function unsaved(error: unknown, key: number | string): Error {
  const why = error instanceof Error ? error.message : String(error);
  return failed(
    `--save: api-key/${key} was created, and its secret could not be written: ${why}.`,
    `The secret is lost: run gpu-rent delete api-key ${key}, then create another key.`,
    error,
  );
}

const EVERY_CATEGORY = [
  ...FOR_OPERATOR,
  'user_write',
  'machine_read',
  'machine_write',
  'billing_read',
  'billing_write',
  'team_read',
  'team_write',
  'agents_read',
  'agents_write',
];

async function permissionsOf(options: OptionValues, context: CommandContext): Promise<KeyPermissions> {
  const file = textOption(options, '--permissions-file');
  if (file !== undefined) return parsePermissions(await readTextFile(file, '--permissions-file', context));
  const chosen = [
    ...(options.forOperator === true ? FOR_OPERATOR : []),
    ...listOption(options, '--permission'),
  ];
  const unknown = chosen.find((category) => !/^[a-z_]{1,64}$/.test(category));
  if (unknown !== undefined)
    throw usageError(`--permission: "${unknown}" is not a category such as instance_read.`);
  const categories = chosen.length > 0 ? chosen : EVERY_CATEGORY;
  return { api: Object.fromEntries(categories.map((category) => [category, {}])) };
}

function parsePermissions(text: string): KeyPermissions {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && 'api' in value) {
      const { api } = value;
      if (typeof api === 'object' && api !== null) return { api: { ...api } };
    }
  } catch {
    // Reported below.
  }
  throw usageError('--permissions-file: it is not a JSON object such as {"api":{"instance_read":{}}}.');
}

export const deleteApiKey = apiKey.change('delete', {
  did: 'deleted',
  question: (ids) => `Delete api-key ${ids}? Calls with it are refused from then on.`,
  change: (client, id) => client.apiKeys.delete(id),
});

function access(permissions: ApiKey['permissions']): string {
  return permissions === undefined ? 'full' : Object.keys(permissions.api).sort().join(',');
}
