import { chmod, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Command } from '../command.ts';
import { completionScript, installHint, installPath, parseShell } from '../completion/scripts.ts';
import { failed } from '../failures/command-error.ts';
import { makeFolder } from '../make-folder.ts';
import { textOption } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';

/** Prints the script that makes a shell complete our commands. */
export const completionCommand: Command = {
  examples: ['gpu-rent completion bash', 'source <(gpu-rent completion zsh)', 'gpu-rent completion kubectl'],
  args: [{ name: '[shell]', description: 'bash, zsh, fish, powershell or kubectl.' }],
  async run(input, context) {
    context.stdout.write(await completionScript(parseShell(input.args[0], context.env)));
    return 0;
  },
};

/** Writes the script to where the shell finds it. */
export const completionInstall: Command = {
  examples: [
    'gpu-rent completion install',
    'gpu-rent completion install kubectl',
    'gpu-rent completion install zsh --to ~/.zfunc/_gpu-rent',
  ],
  args: [{ name: '[shell]', description: 'bash, zsh, fish, powershell or kubectl.' }],
  options: [{ flags: '--to <file>', description: 'Another place.' }],
  optionSets: ['output'],
  async run(input, context) {
    const shell = parseShell(input.args[0], context.env);
    const path = textOption(input.options, '--to') ?? installPath(shell, context.env);
    try {
      await makeFolder(dirname(path));
      await writeFile(path, await completionScript(shell));
      if (shell === 'kubectl') await chmod(path, 0o755);
    } catch (error) {
      throw failed(
        `Cannot write ${path} (${(error as NodeJS.ErrnoException).code}).`,
        'Name another place: --to.',
        error,
      );
    }
    await createOutput(input, context).value(
      { shell, path },
      `${path} is written. ${installHint(shell, path)}`,
    );
    return 0;
  },
};
