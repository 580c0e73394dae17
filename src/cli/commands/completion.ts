import type { Command } from '../command.ts';
import { completionScript, parseShell } from '../completion/scripts.ts';

/** Prints the script that makes a shell complete our commands. */
export const completionCommand: Command = {
  name: 'completion',
  summary: 'Print the script that completes commands, options and names in a shell.',
  examples: ['gpu-rent completion bash', 'source <(gpu-rent completion zsh)', 'gpu-rent completion kubectl'],
  args: [{ name: '[shell]', description: 'bash, zsh, fish, powershell or kubectl.' }],
  async run(input, context) {
    context.stdout.write(await completionScript(parseShell(input.args[0], context.env)));
    return 0;
  },
};
