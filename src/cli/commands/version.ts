import packageJson from '../../../package.json' with { type: 'json' };
import type { Command } from '../command.ts';
import { createOutput } from '../output/output.ts';

/** Shows the version. */
export const versionCommand: Command = {
  examples: ['gpu-rent version', 'gpu-rent version -o json'],
  optionSets: ['report'],
  async run(input, context) {
    const { name, version } = packageJson;
    const { node } = process.versions;
    await createOutput(input, context).value({ name, version, node }, `${name} ${version} (Node ${node})`);
    return 0;
  },
};
