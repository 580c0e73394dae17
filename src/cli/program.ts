import type { CatalogEntry, CatalogGroup, CommandContext } from './command.ts';
import { EXIT, Interrupted, usageError } from './command-error.ts';
import { type Located, locate } from './locate.ts';

interface ProgramOptions {
  readonly groups: readonly CatalogGroup[];
  readonly version: string;
  /** Name of the program for the user: `gpu-rent`, or `kubectl gpu-rent`. */
  readonly calledAs: string;
}

/** Arguments with which shells request completions, as for other programs with cobra. */
const COMPLETE: ReadonlySet<string | undefined> = new Set(['complete', '__complete', '__completeNoDesc']);

/**
 * Runs the one command that the arguments (without node and script) name, and loads nothing else. Resolves to
 * the exit code; rejects if the command failed or the command line is wrong.
 */
export async function runProgram(
  program: ProgramOptions,
  args: readonly string[],
  context: CommandContext,
): Promise<number> {
  const entries = program.groups.flatMap((group) => group.entries);
  if (COMPLETE.has(args[0])) {
    const { complete } = await import('./completion/complete.ts');
    return complete(entries, args.slice(args[1] === '--' ? 2 : 1), context);
  }
  if (args[0] === 'help' && args.length > 1)
    return runProgram(program, [...args.slice(1), '--help'], context);
  const located = locate(entries, args);
  if (located.type !== 'command') return withoutCommand(program, args, { located, context });
  const { runCommand } = await import('./run-command.ts');
  return runCommand(located.entry, located.rest, { calledAs: program.calledAs, context });
}

/**
 * Runs a command line to its end and prints a failure to stderr. Resolves to the exit code, by convention 128 plus the
 * signal's number if a signal ended it (`context.signal`, aborted with an {@link Interrupted}).
 */
export async function runToEnd(
  program: ProgramOptions,
  args: readonly string[],
  context: CommandContext,
): Promise<number> {
  try {
    return await runProgram(program, args, context);
  } catch (error) {
    const { describeFailure, describeInterruption } = await import('./failures/describe-failure.ts');
    const { reason } = context.signal;
    const interrupted = [reason, error].find((thrown) => thrown instanceof Interrupted);
    const { lines, exitCode } = interrupted
      ? describeInterruption(error, interrupted.exitCode)
      : describeFailure(error);
    context.stderr.write(lines.map((line) => `${line}\n`).join(''));
    return exitCode;
  }
}

/** Runs a command line without a command: a request for help or the version, or a mistake. */
async function withoutCommand(
  program: ProgramOptions,
  args: readonly string[],
  { located, context }: { located: Exclude<Located, { type: 'command' }>; context: CommandContext },
): Promise<number> {
  const { groups, calledAs, version } = program;
  const isAsked = (...flags: readonly string[]) => args.some((arg) => flags.includes(arg));
  if (isAsked('--version', '-V')) {
    context.stdout.write(`${version}\n`);
    return EXIT.ok;
  }
  const wantsHelp = isAsked('--help', '-h', 'help') || args.length === 0;
  const entries = groups.flatMap((group) => group.entries);
  if (!wantsHelp && isUnknown(located)) {
    if (located.words.length === 0)
      throw usageError(`No command after ${args.join(' ')}.`, `${calledAs} --help lists the commands.`);
    const { unknownCommand } = await import('./unknown-command.ts');
    throw unknownCommand({ entries, words: located.words, calledAs });
  }
  const text =
    located.type === 'group' ? groupHelp(entries, located.verb, calledAs) : rootHelp(groups, calledAs);
  (wantsHelp ? context.stdout : context.stderr).write(text);
  return wantsHelp ? EXIT.ok : EXIT.usage;
}

/** Returns true if no command has these words. A verb with nouns is unknown with another noun, and lists its nouns without one. */
function isUnknown({ type, words }: Exclude<Located, { type: 'command' }>): boolean {
  return type === 'none' || (words[1] !== undefined && !words[1].startsWith('-'));
}

/** Returns the help of the whole program: every command under its heading. */
function rootHelp(groups: readonly CatalogGroup[], calledAs: string): string {
  const width = Math.max(...groups.flatMap(({ entries }) => entries.map(({ name }) => name.length)));
  const sections = groups.map(({ heading, entries }) => `${heading}:\n${listing(entries, width)}`);
  return [
    'Rent GPU machines on Kubernetes, and talk to their marketplace.\n',
    `Usage: ${calledAs} <command> [arguments] [options]\n`,
    ...sections,
    `${calledAs} <command> --help shows what a command takes. A cluster object is written kind/name (gpui/x,`,
    'epg/x, gpuacct/x); a bare number is an id of the marketplace.\n',
  ].join('\n');
}

/** Returns the help of one verb: its nouns. */
function groupHelp(entries: readonly CatalogEntry[], verb: string, calledAs: string): string {
  const nouns = entries.filter(({ name }) => name.startsWith(`${verb} `));
  const width = Math.max(...nouns.map(({ name }) => name.length));
  return `Usage: ${calledAs} ${verb} <what> [arguments] [options]\n\n${listing(nouns, width)}`;
}

function listing(entries: readonly CatalogEntry[], width: number): string {
  return entries.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}\n`).join('');
}
