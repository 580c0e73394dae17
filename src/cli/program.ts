import { Option, Command as Program } from 'commander';
import type { CatalogEntry } from './catalog.ts';
import type { Command, CommandContext, CommandOption, OptionValues } from './command.ts';

/** What a parsed command line asks for. */
export interface Invocation {
  readonly exitCode: number;
}

export interface ProgramOptions {
  readonly catalog: readonly CatalogEntry[];
  readonly version: string;
  /** How people call it: `gpu-rent`, or `kubectl gpu-rent`. */
  readonly calledAs: string;
}

/**
 * Parses arguments (without node and script), loads the one command that they name, and runs it. Rejects with
 * commander's error where help was shown or the arguments are wrong.
 */
export async function runProgram(
  options: ProgramOptions,
  args: readonly string[],
  context: CommandContext,
): Promise<Invocation> {
  let exitCode = 0;
  const wanted = entryOf(options.catalog, args);
  const command = await wanted?.load();
  const program = rootProgram(options, context);
  for (const entry of options.catalog) {
    const parent = groupOf(program, entry.name);
    const leaf = parent.command(entry.name.split(' ').at(-1) ?? entry.name).summary(entry.summary);
    leaf.description(entry.summary);
    if (entry !== wanted || !command) continue;
    describe(leaf, command, options.calledAs);
    leaf.action(async (...given: unknown[]) => {
      exitCode = await command.run({ args: positionals(given), options: leaf.optsWithGlobals() }, context);
    });
  }
  await program.parseAsync([...args], { from: 'user' });
  return { exitCode };
}

/** The entry whose words the arguments begin with, options left out; the longest name wins. */
export function entryOf(catalog: readonly CatalogEntry[], args: readonly string[]): CatalogEntry | undefined {
  const words = args.filter((arg) => !arg.startsWith('-')).join(' ');
  return catalog
    .filter(({ name }) => words === name || words.startsWith(`${name} `))
    .toSorted((a, b) => b.name.length - a.name.length)[0];
}

function rootProgram({ calledAs, version }: ProgramOptions, context: CommandContext): Program {
  return new Program(calledAs)
    .description('Rent GPU machines on Kubernetes, and talk to their marketplace.')
    .version(version)
    .showHelpAfterError('(--help shows what is possible)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
    });
}

/** The parent of a command: the program itself, or the group that its first word names. */
function groupOf(program: Program, name: string): Program {
  const [verb = '', noun] = name.split(' ');
  if (noun === undefined) return program;
  const known = program.commands.find((command) => command.name() === verb);
  return known ?? program.command(verb).description(`${verb} …`);
}

function describe(leaf: Program, command: Command, calledAs: string): void {
  leaf.summary(command.summary).description(command.description ?? command.summary);
  for (const argument of command.args ?? []) leaf.argument(argument.name, argument.description);
  for (const option of command.options ?? []) leaf.addOption(commanderOption(option));
  const examples = (command.examples ?? []).map((line) => `  ${line.replace(/^gpu-rent/, calledAs)}`);
  if (examples.length > 0) leaf.addHelpText('after', `\nExamples:\n${examples.join('\n')}`);
}

function commanderOption(spec: CommandOption): Option {
  const option = new Option(spec.flags, spec.description);
  if (spec.defaultValue !== undefined) option.default(spec.defaultValue);
  if (spec.choices) option.choices(spec.choices);
  if (spec.hidden) option.hideHelp();
  if (spec.repeatable) {
    option.argParser((value: string, before: unknown) => [...(Array.isArray(before) ? before : []), value]);
  }
  return option;
}

/** commander passes the positional arguments, then the options, then the command. */
function positionals(given: readonly unknown[]): readonly string[] {
  return given.slice(0, -2).flatMap((value): string[] => {
    if (typeof value === 'string') return [value];
    return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
  });
}

/** Option values by name, for commands that check them. */
export type { OptionValues };
