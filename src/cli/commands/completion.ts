import { chmod, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Command, CommandContext } from '../command.ts';
import { failed, usageError } from '../command-error.ts';
import { makeFolder } from '../make-folder.ts';
import { textOption } from '../option-values.ts';
import { createOutput } from '../output/output.ts';

/** Prints the script that completes this program's commands in a shell. */
export const completionCommand: Command = {
  examples: ['gpu-rent completion bash', 'source <(gpu-rent completion zsh)', 'gpu-rent completion kubectl'],
  args: [{ name: '[shell]', description: 'bash, zsh, fish, powershell or kubectl.' }],
  async run(input, context) {
    context.stdout.write(await completionScript(parseShell(input.args[0], context.env)));
    return 0;
  },
};

/** Writes the script to the place where the shell finds it. */
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

/** Shells, and kubectl, which runs a program of this name to complete its plugin. */
const SHELLS = ['bash', 'zsh', 'fish', 'powershell', 'kubectl'] as const;
type Shell = (typeof SHELLS)[number];

const PROGRAM = 'gpu-rent';
/** kubectl and krew replace the dash in a plugin's name by an underscore. */
const KUBECTL_SCRIPT = 'kubectl_complete-gpu_rent';

/** Returns the shell of that name. Throws a usage error for any other text. */
function parseShell(text: string | undefined, env: CommandContext['env']): Shell {
  const named = text ?? env.SHELL?.split('/').at(-1);
  const shell = SHELLS.find((known) => known === named);
  if (shell) return shell;
  throw usageError(
    `"${named ?? ''}" is none of ${SHELLS.join(', ')}.`,
    `Name one: gpu-rent completion bash.`,
  );
}

/** Returns the script with which a shell calls this program. */
async function completionScript(shell: Shell): Promise<string> {
  if (shell === 'kubectl') return `#!/usr/bin/env sh\nexec kubectl gpu-rent complete -- "$@"\n`;
  const { script } = await import('@bomb.sh/tab');
  return printed(() => script(shell, PROGRAM, PROGRAM));
}

/** Captures a script that the library prints. */
function printed(print: () => void): string {
  const lines: string[] = [];
  const { log } = console;
  console.log = (...words: readonly unknown[]) => {
    lines.push(words.join(' '));
  };
  try {
    print();
  } finally {
    console.log = log;
  }
  return `${lines.join('\n')}\n`;
}

/** Returns the path in the user's own folders that the shell reads. */
function installPath(shell: Shell, env: CommandContext['env']): string {
  const home = env.HOME ?? homedir();
  const data = env.XDG_DATA_HOME || join(home, '.local', 'share');
  const config = env.XDG_CONFIG_HOME || join(home, '.config');
  switch (shell) {
    case 'bash':
      return join(data, 'bash-completion', 'completions', PROGRAM);
    case 'zsh':
      return join(data, 'zsh', 'site-functions', `_${PROGRAM}`);
    case 'fish':
      return join(config, 'fish', 'completions', `${PROGRAM}.fish`);
    case 'powershell':
      return join(config, 'powershell', `${PROGRAM}.ps1`);
    case 'kubectl':
      return join(home, '.local', 'bin', KUBECTL_SCRIPT);
  }
}

/** Returns the steps that remain before the shell reads the file. */
function installHint(shell: Shell, path: string): string {
  const folder = path.slice(0, path.lastIndexOf('/'));
  switch (shell) {
    case 'bash':
      return 'It needs the package bash-completion; open a new shell.';
    case 'zsh':
      return `Put this before compinit in ~/.zshrc: fpath=(${folder} $fpath)`;
    case 'fish':
      return 'Open a new shell.';
    case 'powershell':
      return `Put this into $PROFILE: . ${path}`;
    case 'kubectl':
      return `${folder} must be on PATH. Then kubectl gpu-rent <TAB> works.`;
  }
}
