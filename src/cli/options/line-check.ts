import type { Command, CommandOption } from '../command.ts';
import { CommandError, usageError } from '../command-error.ts';
import { spellings } from '../locate.ts';
import { parseAmount, parseTime } from '../option-values.ts';

/** Options and arguments of a command. */
interface Shape {
  readonly options: readonly CommandOption[];
  readonly args: NonNullable<Command['args']>;
}

/** The fault of one word, and its correction. */
interface Fault {
  readonly message: string;
  readonly remedy: string | undefined;
}

/** An option on a command line. */
interface Given {
  readonly flag: string;
  /** e.g. `<name>`. */
  readonly placeholder: string;
  readonly option: CommandOption;
  /** Undefined if no word follows. */
  readonly value: string | undefined;
  /** True if the value is a separate word that spells an option of the command. */
  readonly isOption: boolean;
}

/** Options of an amount or a time: their values are read before anything else is done. */
const READERS: readonly (readonly [RegExp, (text: string, flag: string) => unknown])[] = [
  [/^<(time|duration)>$/, parseTime],
  [/^<dollars>$/, parseAmount],
];

/**
 * Refuses invalid words: an option or argument without a value (such as an unset variable of a script), an option in
 * place of a value, an invalid time or amount. Throws one usage error that names all of them. `words` come before
 * `--`.
 */
export function checkLine(words: readonly string[], { options, args }: Shape): void {
  const faults: Fault[] = [];
  let position = 0;
  for (const part of readWords(words, options)) {
    if (typeof part !== 'string') {
      faults.push(...faultOf(part));
      continue;
    }
    const argument = args[Math.min(position, args.length - 1)];
    if (part === '' && argument && !argument.mayBeEmpty)
      faults.push({ message: `${argument.name}: the argument is empty.`, remedy: remedyOf(argument.name) });
    position += 1;
  }
  if (faults.length === 0) return;
  const remedies = [...new Set(faults.flatMap(({ remedy }) => remedy ?? []))];
  throw usageError(faults.map(({ message }) => message).join('\n'), remedies.join(' ') || undefined);
}

/** Options with their values, and the other words, in order. Unknown options are left to the parser. */
function readWords(words: readonly string[], options: readonly CommandOption[]): readonly (string | Given)[] {
  const known = new Map(
    options.flatMap((option) => spellings(option).map((flag) => [flag, option] as const)),
  );
  const read: (string | Given)[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const { flag, inline } = parted(words[at] ?? '');
    const option = known.get(flag);
    const placeholder = option && /[<[].*$/.exec(option.flags)?.[0];
    if (option && placeholder !== undefined) {
      const { value, isTaken, isOption } = readValue(placeholder, inline, words[at + 1], known);
      read.push({ flag, placeholder, option, value, isOption });
      if (isTaken && !isOption) at += 1;
    } else if (!option && (flag === '-' || !flag.startsWith('-'))) read.push(words[at] ?? '');
  }
  return read;
}

/** Returns the value of an option: the text after `=`, or the next word, if it counts as the value. */
function readValue(
  placeholder: string,
  inline: string | undefined,
  next: string | undefined,
  known: ReadonlyMap<string, CommandOption>,
): Pick<Given, 'value' | 'isOption'> & { readonly isTaken: boolean } {
  if (inline !== undefined) return { value: inline, isTaken: false, isOption: false };
  const isTaken = placeholder.startsWith('<') || !next?.startsWith('-');
  const isOption = isTaken && next !== undefined && known.has(parted(next).flag);
  return { value: isTaken ? next : undefined, isTaken, isOption };
}

function faultOf({ flag, placeholder, option, value, isOption }: Given): readonly Fault[] {
  const remedy = remedyOf(`${flag} ${placeholder}`);
  if (isOption)
    return [{ message: `${flag}: the value is missing; ${value} is an option of its own.`, remedy }];
  if (value === undefined || option.mayBeEmpty) return [];
  if (value.trim() === '') return [{ message: `${flag}: the value is empty.`, remedy }];
  const [, read] = READERS.find(([form]) => form.test(placeholder)) ?? [];
  try {
    read?.(value, flag);
    return [];
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return [{ message: error.message, remedy: error.remedy }];
  }
}

function remedyOf(form: string): string {
  return form.startsWith('<') ? `Give ${form}.` : `Give ${form}, or leave it out.`;
}

/** `--flag=value` in its parts. */
function parted(text: string): { readonly flag: string; readonly inline: string | undefined } {
  const [, flag = text, inline] = /^(--[^=]+)=(.*)$/s.exec(text) ?? [];
  return { flag, inline };
}
