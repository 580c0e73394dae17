import type { CatalogEntry } from '../catalog-entry.ts';
import type { CommandContext, CommandOption } from '../command.ts';
import { spellings } from '../locate.ts';
import { optionsOf } from '../option-sets.ts';
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
  for (const { name, summary } of entries) root.command(name, summary);
  const typed = words.filter((word) => !word.startsWith('-'));
  const entry = entries.findLast(({ name }) => `${typed.join(' ')} `.startsWith(`${name} `));
  if (entry) {
    const command = await entry.load();
    const completed = root.command(entry.name, entry.summary);
    for (const option of optionsOf(command)) addOption(completed, option);
    const candidates = await candidatesFor(command, words, context).catch(() => []);
    const offer = (say: (value: string, description: string) => void) => {
      for (const { value, description } of candidates) say(value, description);
    };
    for (const { name } of command.args ?? []) completed.argument(name, offer, name.includes('...'));
  }
  root.parse(words.length === 0 ? [''] : [...words]);
  return 0;
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
