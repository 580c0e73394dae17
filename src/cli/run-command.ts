import { CommanderError, Option, Command as Parser } from 'commander';
import type { CatalogEntry, Command, CommandContext, CommandOption, OptionValues } from './command.ts';
import { EXIT, usageError } from './command-error.ts';
import { respell, spellings } from './locate.ts';
import { optionName } from './option-values.ts';
import { optionsOf } from './options/option-sets.ts';

/** Environment of a command, and the name with which the user called the program. */
export interface RunOptions {
  readonly calledAs: string;
  readonly context: CommandContext;
}

/**
 * Loads the command, parses the arguments after its name, and runs it. Resolves to the exit code, `EXIT.usage` for
 * arguments that the parser refuses; rejects with the command's own error.
 */
export async function runCommand(
  entry: CatalogEntry,
  args: readonly string[],
  { calledAs, context }: RunOptions,
): Promise<number> {
  let exitCode: number = EXIT.ok;
  const command = await entry.load();
  const name = `${calledAs} ${entry.name}`;
  const parser = new Parser(name)
    .description([entry.summary, ...(command.description ? [command.description] : [])].join('\n\n'))
    .showHelpAfterError(`(${name} --help shows what is possible)`)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text.replace(/^error: /, 'Error: ')),
    });
  for (const argument of command.args ?? []) parser.argument(argument.name, argument.description);
  const { own, rest, dashed } = splitLine(args, command);
  for (const option of optionsOf(command)) parser.addOption(commanderOption(option));
  const examples = (command.examples ?? []).map((line) => `  ${line.replaceAll(/^gpu-rent/g, calledAs)}`);
  if (examples.length > 0) parser.addHelpText('after', `\nExamples:\n${examples.join('\n')}`);
  parser.action(async (...given: unknown[]) => {
    const positional = positionals(given);
    refuseCommandWithoutDashes(positional, command);
    const input = { args: [...positional, ...dashed], options: { ...parser.opts(), ...rest } };
    exitCode = await command.run(input, context);
  });
  try {
    const spelt = respell(own, optionsOf(command));
    const { checkLine } = await import('./options/line-check.ts');
    checkLine(beforeDashes(spelt), { options: optionsOf(command), args: command.args ?? [] });
    const words = await withObjectNames(spelt, command);
    await parser.parseAsync([...words], { from: 'user' });
    return exitCode;
  } catch (error) {
    // commander has printed the help or the error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    throw error;
  }
}

/** A command line in three parts: options and arguments of the command itself, and words for other programs. */
interface Line {
  readonly own: readonly string[];
  /** Value of an option that takes the rest, by name. */
  readonly rest: OptionValues;
  /** Words after `--`, for an argument that is only given there. */
  readonly dashed: readonly string[];
}

function splitLine(args: readonly string[], command: Command): Line {
  const dashes = args.indexOf('--');
  const end = dashes < 0 ? args.length : dashes;
  for (const option of optionsOf(command).filter(({ takesRest }) => takesRest)) {
    const [flag = ''] = spellings(option);
    const at = args.indexOf(flag);
    if (at >= 0 && at < end)
      return { own: args.slice(0, at), rest: { [optionName(flag)]: args.slice(at + 1) }, dashed: [] };
  }
  const isSplit = dashes >= 0 && command.args?.at(-1)?.behindDashes === true;
  return isSplit
    ? { own: args.slice(0, end), rest: {}, dashed: args.slice(end + 1) }
    : { own: args, rest: {}, dashed: [] };
}

function beforeDashes(words: readonly string[]): readonly string[] {
  const at = words.indexOf('--');
  return at < 0 ? words : words.slice(0, at);
}

/** Throws for an extra argument: a machine that bills would run it. */
function refuseCommandWithoutDashes(given: readonly string[], { args = [] }: Command): void {
  const extra = args.at(-1)?.behindDashes ? given[args.length - 1] : undefined;
  if (extra !== undefined)
    throw usageError(`"${extra}" is an argument too many.`, 'Write a command behind --: -- python train.py');
}

/** Joins kind and name for a command that begins with an object: `gpui x` counts as `gpui/x`. */
async function withObjectNames(args: readonly string[], command: Command): Promise<readonly string[]> {
  const [first] = command.args ?? [];
  if (!first || !/\b(gpui|epg|gpuacct)\/name/.test(first.description)) return args;
  const { joinKind } = await import('./objects/object-name.ts');
  const valued = new Set(
    optionsOf(command)
      .filter(({ flags }) => /[<[]/.test(flags))
      .flatMap(spellings),
  );
  return joinKind(args, { takesValue: (flag) => valued.has(flag), several: first.name.includes('...') });
}

function commanderOption(spec: CommandOption): Option {
  const option = new Option(spec.flags, spec.description);
  if (spec.defaultValue !== undefined) option.default(spec.defaultValue);
  if (spec.choices) option.choices(spec.choices);
  if (spec.hidden) option.hideHelp();
  if (spec.group) option.helpGroup(spec.group);
  if (spec.repeatable) {
    option.argParser((value: string, before: unknown) => [...(Array.isArray(before) ? before : []), value]);
  }
  return option;
}

/** Returns the positional arguments, which commander passes before the options and the command. */
function positionals(given: readonly unknown[]): readonly string[] {
  return given.slice(0, -2).flatMap((value): string[] => {
    if (typeof value === 'string') return [value];
    return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
  });
}
