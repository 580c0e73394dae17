import type { CatalogGroup } from './catalog-entry.ts';
import type { CommandContext } from './command.ts';
import { EXIT, usageError } from './command-error.ts';
import { groupHelp, nearestCommand, rootHelp } from './help.ts';
import { locate } from './locate.ts';

export interface ProgramOptions {
  readonly groups: readonly CatalogGroup[];
  readonly version: string;
  /** How people call it: `gpu-rent`, or `kubectl gpu-rent`. */
  readonly calledAs: string;
}

/**
 * Runs the one command that the arguments (without node and script) name, and loads nothing else. Resolves to
 * the exit code; rejects where the command failed or the command line is wrong.
 */
export async function runProgram(
  program: ProgramOptions,
  args: readonly string[],
  context: CommandContext,
): Promise<number> {
  const { groups, calledAs, version } = program;
  const entries = groups.flatMap((group) => group.entries);
  const located = locate(entries, args);
  if (located.type === 'command') {
    const { runCommand } = await import('./run-command.ts');
    return runCommand(await located.entry.load(), located.rest, { calledAs, context });
  }
  if (args.includes('--version') || args.includes('-V')) {
    context.stdout.write(`${version}\n`);
    return EXIT.ok;
  }
  const wantsHelp = located.rest.some((arg) => arg === '--help' || arg === '-h');
  const bare = located.type === 'none' && located.words.filter((word) => word !== 'help').length === 0;
  if (wantsHelp || bare || located.type === 'group') {
    const isAnswer = wantsHelp || args.length === 0 || args[0] === 'help';
    const text =
      located.type === 'group' ? groupHelp(entries, located.verb, calledAs) : rootHelp(groups, calledAs);
    (isAnswer ? context.stdout : context.stderr).write(text);
    return isAnswer ? EXIT.ok : EXIT.usage;
  }
  throw unknownCommand(program, located.type === 'none' ? located.words : []);
}

function unknownCommand({ groups, calledAs }: ProgramOptions, words: readonly string[]): Error {
  const near = nearestCommand(
    groups.flatMap(({ entries }) => entries),
    words,
  );
  const remedy =
    near === undefined ? `${calledAs} --help lists the commands.` : `Did you mean: ${calledAs} ${near}?`;
  return usageError(`"${words.slice(0, 2).join(' ')}" is no command.`, remedy);
}
