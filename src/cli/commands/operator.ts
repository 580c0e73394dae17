import { OPTIONS } from '../../config/options.ts';
import { ConfigError, parseConfig, type RawOptions } from '../../config.ts';
import type { Command } from '../command.ts';
import { settingOptions } from '../options/setting-options.ts';

/** Runs the operator in the foreground until SIGTERM or Ctrl-C. */
export const operatorCommand: Command = {
  description:
    'Uses the service account inside a cluster, a kubeconfig outside. Every flag can also be given as an environment variable: --late-call is GPU_RENTAL_LATE_CALL.',
  examples: [
    'gpu-rent operator --kubeconfig ~/.kube/config --namespace gpu-rental-system',
    'gpu-rent operator --marketplace-url http://127.0.0.1:8088 --late-call 5s --list-lag 2s',
  ],
  options: settingOptions(OPTIONS),
  async run({ options }, context) {
    try {
      // commander returns texts, lists of texts and booleans, the form of raw options.
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
