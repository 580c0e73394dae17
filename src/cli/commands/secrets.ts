import type { Secret } from '../../lib/secret.ts';
import type { MarketplaceClient } from '../../markets/vast/client.ts';
import type { View } from '../../views/table.ts';
import type { Command } from '../command.ts';
import { usageError } from '../command-error.ts';
import { changeOneByOne } from '../output/one-by-one.ts';
import { createOutput } from '../output/output.ts';
import { confirmed, YES } from '../secrets/prompt.ts';
import { secretOf } from '../secrets/secret-input.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

interface SecretRow {
  readonly name: string;
}

const view: View<SecretRow> = {
  kind: 'secret',
  name: ({ name }) => name,
  columns: [{ header: 'Name', text: ({ name }) => name }],
};

/** Shows the names of the account's secret variables; the service never returns values. */
export const listSecrets: Command = {
  examples: ['gpu-rent list secrets'],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const names = await withMarketplace(input, context, ({ client }) => client.secrets.list());
    await createOutput(input, context).rows(
      view,
      names.map((name) => ({ name })),
    );
    return 0;
  },
};

/** Sets a variable in every container that the account rents afterwards. */
export const createSecret = secretChangeCommand({
  verb: 'create',
  did: 'created',
  change: (client, name, value) => client.secrets.create(name, value),
});

/** Changes the value of a variable of the account. */
export const updateSecret = secretChangeCommand({
  verb: 'update',
  did: 'updated',
  change: (client, name, value) => client.secrets.update(name, value),
});

/** Deletes secret variables of the account. */
export const deleteSecret: Command = {
  examples: ['gpu-rent delete secret HF_TOKEN'],
  args: [{ name: '<name...>', description: 'The variables.' }],
  options: [YES],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const output = createOutput(input, context);
    await confirmed(`Delete secret ${input.args.join(', ')}?`, input, context);
    await withMarketplace(input, context, async ({ client }) => {
      await changeOneByOne(output, input.args, async (name) => {
        await client.secrets.delete(name);
        return { kind: 'secret', name, did: 'deleted' };
      });
    });
    return 0;
  },
};

/** Differences between creating and updating a secret variable. */
interface SecretChange {
  readonly verb: 'create' | 'update';
  readonly did: string;
  readonly change: (client: MarketplaceClient, name: string, value: Secret) => Promise<unknown>;
}

/** Sets a secret variable. The value comes from a file, the environment, stdin or a prompt. */
function secretChangeCommand({ verb, did, change }: SecretChange): Command {
  return {
    examples: [
      `gpu-rent ${verb} secret HF_TOKEN`,
      `gpu-rent ${verb} secret HF_TOKEN --value-file token.txt`,
      `printf %s "$TOKEN" | gpu-rent ${verb} secret HF_TOKEN --value-file -`,
    ],
    args: [{ name: '<name>', description: 'The variable.' }],
    options: [
      { flags: '--value-file <file>', description: 'A file with the value; - is stdin.' },
      { flags: '--value-from-env', description: 'Use the local variable of the same name.' },
    ],
    optionSets: ['output', 'marketplace'],
    async run(input, context) {
      const name = input.args[0] ?? '';
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw usageError(`"${name}" is not a variable name.`);
      const fromEnv = input.options.valueFromEnv === true;
      if (fromEnv && !context.env[name]) throw usageError(`--value-from-env: ${name} is not set here.`);
      const value = await secretOf(input.options, context, {
        flag: '--value',
        question: `Value of ${name} (not shown):`,
        ...(fromEnv ? { env: name } : {}),
      });
      if (!value) throw usageError(`No value for ${name}.`, 'Give --value-file.');
      await withMarketplace(input, context, ({ client }) => change(client, name, value));
      await createOutput(input, context).changed([{ kind: 'secret', name, did }]);
      return 0;
    },
  };
}
