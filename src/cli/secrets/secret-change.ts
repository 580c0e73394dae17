import type { Secret } from '../../lib/secret.ts';
import type { MarketplaceClient } from '../../marketplace/client.ts';
import type { Command } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { secretOf } from './secret-input.ts';

/** Creating and updating an environment secret differ in the call alone. */
export interface SecretChange {
  readonly verb: 'create' | 'update';
  readonly did: string;
  readonly summary: string;
  readonly change: (client: MarketplaceClient, name: string, value: Secret) => Promise<unknown>;
}

/** The command of such a change. The value comes from a file, the environment, stdin or a prompt. */
export function secretChangeCommand({ verb, did, summary, change }: SecretChange): Command {
  return {
    name: `${verb} secret`,
    summary,
    examples: [
      `gpu-rent ${verb} secret HF_TOKEN`,
      `gpu-rent ${verb} secret HF_TOKEN --value-file token.txt`,
      `printf %s "$TOKEN" | gpu-rent ${verb} secret HF_TOKEN --value-file -`,
    ],
    args: [{ name: '<name>', description: 'The variable.' }],
    options: [
      { flags: '--value-file <file>', description: 'A file with the value; - is stdin.' },
      { flags: '--value-from-env', description: 'Take it from the variable of the same name here.' },
    ],
    optionSets: ['output', 'marketplace'],
    async run(input, context) {
      const name = input.args[0] ?? '';
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw usageError(`"${name}" is no name of a variable.`);
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
