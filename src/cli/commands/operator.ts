import { OPTIONS } from '../../config/options.ts';
import { ConfigError, flagName, parseConfig, type RawOptions } from '../../config.ts';
import type { Command, CommandOption } from '../command.ts';

interface OptionShape {
  readonly placeholder: string;
  readonly description: string;
  readonly defaultValue?: string | readonly string[];
  readonly list?: boolean;
}

/** Values stay texts here: the operator's settings validate them together with the environment. */
function optionOf([name, option]: readonly [string, OptionShape]): CommandOption {
  const isSwitch = option.placeholder === 'true|false';
  const value = isSwitch ? `[${option.placeholder}]` : `<${option.placeholder}>`;
  const standard = option.defaultValue === undefined ? '' : String(option.defaultValue);
  return {
    flags: `${flagName(name)} ${value}`,
    description: standard === '' ? option.description : `${option.description} (default: ${standard})`,
    ...(option.list && { repeatable: true }),
  };
}

/** Runs the operator in the foreground until SIGTERM or Ctrl-C. */
export const operatorCommand: Command = {
  description:
    'Uses the service account inside a cluster, a kubeconfig outside. Every flag can also be given as an environment variable: --late-call is GPU_RENTAL_LATE_CALL.',
  examples: [
    'gpu-rent operator --kubeconfig ~/.kube/config --namespace gpu-rental-system',
    'gpu-rent operator --marketplace-url http://127.0.0.1:8088 --late-call 5s --list-lag 2s',
  ],
  options: Object.entries<OptionShape>(OPTIONS).map(optionOf),
  async run({ options }, context) {
    try {
      // commander gives texts, lists of texts and booleans, which is what raw options are.
      const config = parseConfig(options as RawOptions, context.env);
      const { runOperator } = await import('../../main.ts');
      return await runOperator(config, { environment: context.env, signal: context.signal });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      context.stderr.write(`${error.message}\n`);
      return 2;
    }
  },
};
