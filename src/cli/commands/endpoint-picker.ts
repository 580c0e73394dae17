import { PICKER_OPTIONS } from '../../config/picker-options.ts';
import { ConfigError, parsePickerConfig, type RawPickerOptions } from '../../config.ts';
import type { Command } from '../command.ts';
import { settingOptions } from '../options/setting-options.ts';

/** Runs the picker in the foreground until SIGTERM or Ctrl-C. */
export const endpointPickerCommand: Command = {
  description:
    'Holds the requests of EndpointGroups with spec.gateway, wakes workers and picks the worker of each request. Envoy carries the requests: http://GATEWAY/NAMESPACE/NAME/... Every flag can also be given as an environment variable: --bind-address is GPU_RENTAL_BIND_ADDRESS.',
  examples: [
    'gpu-rent endpoint-picker --envoy /usr/local/bin/envoy --listen-address 127.0.0.1:8000',
    'gpu-rent endpoint-picker --print-envoy-config > envoy.json',
  ],
  options: settingOptions(PICKER_OPTIONS),
  async run({ options }, context) {
    try {
      // commander returns texts, lists of texts and booleans, the form of raw options.
      const config = parsePickerConfig(options as RawPickerOptions, context.env);
      const { envoyConfigOf, runPicker } = await import('../../main/endpoint-picker.ts');
      if (config.printEnvoyConfig) {
        context.stdout.write(envoyConfigOf(config));
        return 0;
      }
      return await runPicker(config, { environment: context.env, signal: context.signal });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      context.stderr.write(`${error.message}\n`);
      return 2;
    }
  },
};
