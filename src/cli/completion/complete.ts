import type { CatalogEntry, CommandContext, CommandOption } from '../command.ts';
import { firstWord, spellings } from '../locate.ts';
import { optionsOf } from '../options/option-sets.ts';
import { candidatesFor } from './candidates.ts';

/**
 * Answers a shell in cobra's protocol: one `value<TAB>description` per line, then `:4`. `words` are those behind
 * the program's name, the last one being typed. Never fails: a shell has no use for an error.
 */
export async function complete(
  entries: readonly CatalogEntry[],
  words: readonly string[],
  context: CommandContext,
): Promise<number> {
  const { RootCommand } = await import('@bomb.sh/tab');
  const root = new RootCommand();
  for (const [verb, nouns] of verbsOf(entries)) root.command(verb, nouns.join(', '));
  for (const { name, summary } of entries) root.command(name, summary);
  const line = words.slice(firstWord(words.slice(0, -1)).at);
  const typed = line.filter((word) => !word.startsWith('-'));
  const entry = entries.findLast(({ name }) => `${typed.join(' ')} `.startsWith(`${name} `));
  if (entry) {
    const command = await entry.load();
    const completed = root.command(entry.name, entry.summary);
    for (const option of optionsOf(command)) addOption(completed, asTyped(option, line));
    const candidates = await candidatesFor(command, words, context).catch(() => []);
    const offer = (say: (value: string, description: string) => void) => {
      for (const { value, description } of candidates) say(value, description);
    };
    for (const { name } of command.args ?? []) completed.argument(name, offer, name.includes('...'));
  }
  root.parse(line.length === 0 ? [''] : [...line]);
  return 0;
}

/** The first words of names of two, with what may follow: without them the library finds no second word. */
function verbsOf(entries: readonly CatalogEntry[]): ReadonlyMap<string, readonly string[]> {
  const verbs = new Map<string, readonly string[]>();
  for (const { name } of entries) {
    const [verb = '', noun] = name.split(' ');
    if (noun !== undefined) verbs.set(verb, [...(verbs.get(verb) ?? []), noun]);
  }
  return verbs;
}

/** `--min-` is completed to `--min-load`, though the specification writes `--min_load`. */
function asTyped(option: CommandOption, words: readonly string[]): CommandOption {
  const isDashed = /^--[a-z0-9]+-/.test(words.at(-1) ?? '');
  return isDashed ? { ...option, flags: option.flags.replaceAll('_', '-') } : option;
}

type TabCommand = ReturnType<InstanceType<typeof import('@bomb.sh/tab').RootCommand>['command']>;

function addOption(command: TabCommand, option: CommandOption): void {
  const [long = '', short] = spellings(option).toSorted((a, b) => b.length - a.length);
  const name = long.replace(/^--/, '');
  const alias = short?.replace(/^-/, '');
  if (!/[<[]/.test(option.flags)) {
    if (alias === undefined) command.option(name, option.description);
    else command.option(name, option.description, alias);
    return;
  }
  const offer = (say: (value: string, description: string) => void) => {
    for (const choice of option.choices ?? []) say(choice, '');
  };
  if (alias === undefined) command.option(name, option.description, offer);
  else command.option(name, option.description, offer, alias);
}
